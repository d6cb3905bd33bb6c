//! The policies of a file's sites: each is a main file of its own, loaded beside the one that names it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Load, Source};
use crate::policy::Policy;
use crate::policy::compile::compile;
use crate::policy::document::Place;
use crate::policy::import::{EMBEDDED, Target, resolve};
use crate::policy::read;
use crate::policy::report::Report;

impl Load<'_> {
    /// The policies of sites, each file loaded once; `None` if one of them does not load. Every one is loaded, so that all
    /// problems come at once.
    pub(super) fn sites(&mut self, entries: &[read::Site]) -> Option<Vec<Arc<Policy>>> {
        let mut loaded: HashMap<PathBuf, Option<Arc<Policy>>> = HashMap::new();
        let mut policies = Vec::with_capacity(entries.len());
        for site in entries {
            self.report.rule = Some(format!("sites/{}", site.name));
            let policy = match self.site_target(site) {
                None => None,
                Some(target) => loaded
                    .entry(target.identity())
                    .or_insert_with(|| self.site(&target, &site.policy_place))
                    .clone(),
            };
            policies.push(policy);
        }
        self.report.rule = None;
        policies.into_iter().collect()
    }

    /// The one file that a site names.
    fn site_target(&mut self, site: &read::Site) -> Option<Target> {
        let folder = self.open.first().and_then(|main| main.parent()).map(Path::to_path_buf);
        let message = match resolve(&site.policy, &self.loader.root, folder.as_deref(), self.files) {
            Ok(targets) => match <[Target; 1]>::try_from(targets) {
                Ok([target]) if self.open.contains(&target.identity()) => {
                    format!("the site runs in a circle: `{}` is the file that names it", target.name())
                }
                Ok([target]) => return Some(target),
                Err(several) => format!("`{}` means {} files; a site has one", site.policy, several.len()),
            },
            Err(message) => message,
        };
        self.report.error(&site.policy_place, message).at_key("policy");
        None
    }

    /// Loads the policy of a site as one of its own; what is wrong with it joins what is wrong here.
    fn site(&mut self, target: &Target, place: &Place) -> Option<Arc<Policy>> {
        let source = match target {
            Target::Embedded(name) => Source::Embedded(format!("{EMBEDDED}{name}")),
            Target::File(path) => Source::File(path.clone()),
        };
        let report = Report::named_by(place.file_name());
        let open = self.open.clone();
        let mut load = Load { report, site: true, open, ..Load::new(self.loader, self.files) };
        let rules = load.main(&source, Some(place));
        let sound = !load.report.refuses();
        let problems = load.report.into_problems();
        self.report.absorb(problems);
        let (rules, _) = rules.filter(|_| sound)?;
        Some(Arc::new(compile(rules, &self.loader.defaults)))
    }
}
