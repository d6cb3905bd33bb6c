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
    /// What `*.example.com` is everything below, such as `example.com`, with its place among the globs.
    below: HashMap<String, (usize, usize)>,
    /// All other globs, with their places.
    globs: Vec<(Globs, (usize, usize))>,
}

impl From<Policy> for Policies {
    /// One policy for every host.
    fn from(policy: Policy) -> Self {
        Self {
            all: vec![(DEFAULT.to_owned(), Arc::new(policy))],
            names: HashMap::from([(DEFAULT.to_owned(), 0)]),
            exact: HashMap::new(),
            below: HashMap::new(),
            globs: Vec::new(),
        }
    }
}

impl Policies {
    /// A file's own rules, and the policies of its sites.
    pub fn new(default: Policy, sites: Sites) -> Self {
        let mut policies = Self::from(default);
        let mut places = 0..;
        for (site, policy) in sites.0 {
            let at = policies.all.len();
            for host in site.hosts.iter().flat_map(Globs::sources) {
                let host = host.to_ascii_lowercase();
                if is_name(&host) {
                    policies.exact.entry(host).or_insert(at);
                    continue;
                }
                let place = (places.next().unwrap_or(usize::MAX), at);
                match host.strip_prefix("*.").filter(|below| is_name(below)) {
                    Some(below) => {
                        policies.below.entry(below.to_owned()).or_insert(place);
                    }
                    None => policies.globs.push((compiled(&host), place)),
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
        let globs = || {
            let ends = host.match_indices('.').filter_map(|(dot, _)| self.below.get(&host[dot + 1..]));
            let first = ends.min().copied();
            let earlier = |place: &(usize, usize)| first.is_none_or(|first| *place < first);
            let mut others = self.globs.iter().take_while(|(_, place)| earlier(place));
            others.find(|(glob, _)| glob.is_match(host.as_bytes())).map(|(_, place)| *place).or(first)
        };
        self.exact.get(host).copied().or_else(|| globs().map(|(_, at)| at)).unwrap_or(0)
    }
}

/// A glob of hosts; it was compiled before, when it was read.
fn compiled(host: &str) -> Globs {
    let mut glob = Globs::new(Subject::Host);
    glob.add(host).expect("it was compiled when it was read");
    glob
}

/// An entry under `hosts` that stands above others.
struct Above<'s> {
    host: String,
    /// `None` for a name: it comes before every glob, wherever it stands.
    glob: Option<Globs>,
    site: &'s str,
}

impl Above<'_> {
    /// Whether it takes whatever another glob means. Only `*` is sure to match whatever a star stands for.
    fn takes(&self, later: &str) -> bool {
        let sure = !self.host.contains(['?', '[', '{', '\\']);
        self.glob.as_ref().is_some_and(|glob| sure && glob.is_match(later.as_bytes()))
    }
}

/// S1 and S2: hosts that an earlier site takes, and globs that overlap. By their texts alone: what is a glob to one site is
/// held against the others' globs as if it were a host.
pub(super) fn check(sites: &[Site], report: &mut Report) {
    let mut above: Vec<Above<'_>> = Vec::new();
    let mut equal: HashMap<String, usize> = HashMap::new();
    for site in sites {
        report.rule = Some(format!("sites/{}", site.name));
        let texts = site.hosts.iter().flat_map(Globs::sources).map(|host| host.to_ascii_lowercase());
        let own: Vec<_> = texts
            .map(|host| Above { glob: (!is_name(&host)).then(|| compiled(&host)), host, site: &site.name })
            .collect();
        let mut taken = 0;
        for Above { host, glob, .. } in &own {
            let same = equal.get(host).map(|at| &above[*at]);
            let globs = || above.iter().filter(|_| glob.is_some());
            if let Some(Above { host: earlier, site: name, .. }) =
                same.or_else(|| globs().find(|above| above.takes(host)))
            {
                taken += 1;
                let message =
                    format!("`{host}` never leads here: the site `{name}` above takes it, by `{earlier}`");
                report.lint("S2", &site.place, message).at_key("hosts");
            } else if let Some(held) = globs().find(|above| {
                let this = glob.as_ref().filter(|_| !host.contains(['?', '[', '{', '\\']));
                above.glob.is_some() && this.is_some_and(|glob| glob.is_match(above.host.as_bytes()))
            }) {
                let (earlier, name) = (&held.host, held.site);
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
        for entry in own {
            equal.entry(entry.host.clone()).or_insert(above.len());
            above.push(entry);
        }
    }
    report.rule = None;
}

#[cfg(test)]
mod tests;
