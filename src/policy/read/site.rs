//! The entries of `sites`: each a name, the hosts that it is for, and the file of its policy.

use super::block::globs;
use super::fields::{Fields, Text};
use crate::policy::document::{Node, Place};
use crate::policy::glob::{Globs, Subject};
use crate::policy::report::Report;
use crate::policy::sites::{DEFAULT, MAX_NAME, MAX_SITES};

/// A site as a file describes it.
#[derive(Debug)]
pub(in crate::policy) struct Site {
    /// The name: what a proxy hints at, and what challenges carry.
    pub(in crate::policy) name: String,
    /// Where the name stands.
    pub(in crate::policy) place: Place,
    /// The hosts; `None` where only a hint leads there.
    pub(in crate::policy) hosts: Option<Globs>,
    /// The file of its policy, as written.
    pub(in crate::policy) policy: String,
    /// Where that stands.
    pub(in crate::policy) policy_place: Place,
}

/// Reads `sites`. No file of Anubis has the key, so that a stranger in it is an error in every file.
pub(in crate::policy) fn read(node: Option<&Node>, report: &mut Report) -> Vec<Site> {
    let Some(node) = node else { return Vec::new() };
    let Some(entries) = node.entries() else {
        let message = format!("`sites` must be a map of names, but it is {}", node.noun());
        report.error(&node.place, message).at_key("sites").advise(EXAMPLE);
        return Vec::new();
    };
    if entries.len() > MAX_SITES {
        let message = format!("there are {} sites, and {MAX_SITES} are allowed", entries.len());
        report.error(&node.place, message).at_key("sites");
        return Vec::new();
    }
    let mut sites: Vec<Site> = Vec::with_capacity(entries.len());
    for entry in entries {
        report.rule = Some(format!("sites/{}", entry.key.escape_debug()));
        if let Some(fault) = fault(&entry.key) {
            report.error(&entry.place, fault).at_key("sites");
        } else if sites.iter().any(|site| site.name == entry.key) {
            report.error(&entry.place, "another site has this name too").at_key("sites");
        }
        sites.extend(site(&entry.key, &entry.place, &entry.value, report));
    }
    report.rule = None;
    sites
}

const EXAMPLE: &str = "write `sites: {shop: {hosts: [shop.example, \"*.shop.example\"], policy: shop.yaml}}`";

fn site(name: &str, place: &Place, node: &Node, report: &mut Report) -> Option<Site> {
    if node.entries().is_none() {
        let message = format!("a site must be a map, but this is {}", node.noun());
        report.error(&node.place, message).at_key("sites").advise(EXAMPLE);
        return None;
    }
    let before = report.len();
    let strict = std::mem::replace(&mut report.strict, true);
    let fields = Fields::read(node, "", &[], &["hosts", "policy"], Text::Exact, report);
    report.strict = strict;
    let fields = fields?;
    let hosts = globs(&fields, "hosts", Subject::Host, report);
    let policy = fields.text("policy", report).filter(|path| !path.is_empty());
    if policy.is_none() && !report.has_error_since(before) {
        let message = "a site needs a `policy`: the file that judges its requests";
        report.error(place, message).at_key("policy").advise(EXAMPLE);
    }
    let (policy, policy_place) = (policy?, fields.get("policy")?.place.clone());
    Some(Site { name: name.to_owned(), place: place.clone(), hosts, policy, policy_place })
}

/// What is wrong with a name: it must fit into the path of a question, `/auth/nginx/NAME`.
fn fault(name: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    if name == DEFAULT {
        return Some(format!(
            "`{DEFAULT}` is the name of this file's own rules; call the site something else"
        ));
    }
    (name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(plain)).then(|| {
        format!(
            "`{}` is no name of a site; use up to {MAX_NAME} letters, digits, `-` and `_`",
            name.escape_debug()
        )
    })
}
