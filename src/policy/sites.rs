//! Several policies, and which request each of them judges: the one that the proxy names, else the one of the host, else
//! the file's own rules. Loads nothing; what a site is made of is read in `read` and loaded in `load`.

use std::collections::HashMap;
use std::sync::Arc;

use super::Policy;
use super::glob::{Globs, Subject, is_name};
use super::read::Site;
use super::report::Report;

/// The name of the file's own rules.
pub(super) const DEFAULT: &str = "default";

/// The longest name of a site, in bytes.
pub(super) const MAX_NAME: usize = 64;

/// The most sites of one file. Globs are tried one after the other; names are found at once.
pub(super) const MAX_SITES: usize = 1000;

/// The policies of a file's sites, in the order of the file.
#[derive(Debug, Default)]
pub struct Sites(pub(super) Vec<(Site, Arc<Policy>)>);

/// The policies of one load. They never change; others take their place together.
#[derive(Debug)]
pub struct Policies {
    /// Name and policy, the default one first.
    all: Vec<(String, Arc<Policy>)>,
    names: HashMap<String, usize>,
    /// Hosts that are names.
    exact: HashMap<String, usize>,
    /// Hosts that are globs, in the order of the file.
    globs: Vec<(Globs, usize)>,
}

impl From<Policy> for Policies {
    /// One policy for every host.
    fn from(policy: Policy) -> Self {
        Self {
            all: vec![(DEFAULT.to_owned(), Arc::new(policy))],
            names: HashMap::from([(DEFAULT.to_owned(), 0)]),
            exact: HashMap::new(),
            globs: Vec::new(),
        }
    }
}

impl Policies {
    /// A file's own rules, and the policies of its sites.
    pub fn new(default: Policy, sites: Sites) -> Self {
        let mut policies = Self::from(default);
        for (site, policy) in sites.0 {
            let at = policies.all.len();
            for host in site.hosts.iter().flat_map(Globs::sources) {
                let host = host.to_ascii_lowercase();
                if is_name(&host) {
                    policies.exact.entry(host).or_insert(at);
                } else {
                    let mut glob = Globs::new(Subject::Host);
                    glob.add(&host).expect("it was compiled when it was read");
                    policies.globs.push((glob, at));
                }
            }
            policies.names.insert(site.name.clone(), at);
            policies.all.push((site.name, policy));
        }
        policies
    }

    /// Every policy with its name: the default one, then those of the sites. Several sites may share one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Arc<Policy>)> {
        self.all.iter().map(|(name, policy)| (name.as_str(), policy))
    }

    /// How many there are, counted by name.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// How many rules they have together; those that sites share count once.
    pub fn rules(&self) -> usize {
        let first = |at: usize| self.all[..at].iter().all(|(_, p)| !Arc::ptr_eq(p, &self.all[at].1));
        (0..self.all.len()).filter(|at| first(*at)).map(|at| self.all[at].1.rules()).sum()
    }

    /// Which of [`Policies::iter`] has this name.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Which of [`Policies::iter`] judges this host, which must be normalised as [`crate::request::Host`] is: a name comes before every
    /// glob, and among globs the first in the file counts; 0, the default one, where no site wants it.
    pub fn of_host(&self, host: &str) -> usize {
        if self.all.len() == 1 {
            return 0;
        }
        let glob = || self.globs.iter().find(|(glob, _)| glob.is_match(host.as_bytes())).map(|(_, at)| *at);
        self.exact.get(host).copied().or_else(glob).unwrap_or(0)
    }
}

/// S1 and S2: hosts that an earlier site takes, and globs that overlap. By their texts alone: what is a glob to one site is
/// held against the others' globs as if it were a host.
pub(super) fn check(sites: &[Site], report: &mut Report) {
    let texts = |site: &Site| {
        site.hosts.iter().flat_map(Globs::sources).map(|host| host.to_ascii_lowercase()).collect::<Vec<_>>()
    };
    let mut before: Vec<(String, &str)> = Vec::new();
    for site in sites {
        report.rule = Some(format!("sites/{}", site.name));
        let own = texts(site);
        let mut taken = 0;
        for host in &own {
            let glob = !is_name(host);
            if let Some((earlier, name)) = before.iter().find(|(earlier, _)| takes(earlier, host)) {
                taken += 1;
                let message =
                    format!("`{host}` never leads here: the site `{name}` above takes it, by `{earlier}`");
                report.lint("S2", &site.place, message).at_key("hosts");
            } else if let Some((earlier, name)) =
                before.iter().find(|(earlier, _)| glob && !is_name(earlier) && takes(host, earlier))
            {
                let message = format!(
                    "`{host}` holds `{earlier}` of the site `{name}`, which comes first and takes it"
                );
                report.lint("S1", &site.place, message).at_key("hosts");
            }
        }
        if taken > 0 && taken == own.len() {
            let message = "no host leads to this site; only a proxy that names it does";
            report.lint("S2", &site.place, message).at_key("hosts");
        }
        before.extend(own.into_iter().map(|host| (host, site.name.as_str())));
    }
    report.rule = None;
}

/// Whether one entry under `hosts` takes whatever another one means, if it stands before it.
fn takes(earlier: &str, later: &str) -> bool {
    if earlier == later {
        return true;
    }
    // A name comes before every glob, wherever it stands. Only `*` is sure to match whatever a star stands for.
    if is_name(earlier) || is_name(later) || earlier.contains(['?', '[', '{', '\\']) {
        return false;
    }
    let mut glob = Globs::new(Subject::Host);
    glob.add(earlier).is_ok() && glob.is_match(later.as_bytes())
}

#[cfg(test)]
mod tests;
