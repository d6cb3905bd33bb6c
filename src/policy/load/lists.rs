//! `networks`: lists of networks with a name, for rules that say `remote_networks`.

use std::path::Path;

use ipnet::IpNet;

use super::{Load, Target, read_file, resolve};
use crate::policy::document::Entry;
use crate::policy::network_list::{self, Refusal};
use crate::policy::problem::Problem;
use crate::policy::read::{Fields, Text};

impl Load<'_> {
    /// Reads every list. One that is refused is kept empty, so that the rules which name it are not blamed too.
    pub(super) fn lists(&mut self, fields: &Fields<'_>, folder: Option<&Path>) {
        let Some(node) = fields.get("networks") else { return };
        let Some(entries) = node.entries() else {
            let message = format!("`networks` must map names to lists, but it is {}", node.noun());
            self.report.error(&node.place, message).at_key("networks");
            return;
        };
        for entry in entries {
            let list = self.list(entry, folder).unwrap_or_default();
            if self.lists.insert(entry.key.clone(), list).is_some() {
                let message =
                    format!("`networks.{}` is given twice; the last one counts", entry.key.escape_debug());
                self.report.lint("L3", &entry.place, message).at_key("networks");
            }
        }
    }

    fn list(&mut self, entry: &Entry, folder: Option<&Path>) -> Option<Vec<IpNet>> {
        let fields =
            Fields::read(&entry.value, "networks.", &[], &["file", "inline"], Text::Exact, &mut self.report)?;
        match (fields.get("file"), fields.get("inline")) {
            (Some(node), None) => {
                let file = fields.text("file", &mut self.report)?;
                let targets = resolve(&file, &self.loader.root, folder, self.files);
                let targets =
                    targets.map_err(|message| self.report.error(&node.place, message).at_key("file")).ok()?;
                let mut all = Vec::new();
                for target in targets {
                    match read(&target) {
                        Ok(networks) => all.extend(networks),
                        Err(refusal) => {
                            let message = format!("this list of networks is refused: {}", refusal.message);
                            let mut problem = Problem::of_file(target.name(), message);
                            problem.line = refusal.line.unwrap_or(0);
                            problem.column = refusal.line.map_or(0, |_| 1);
                            self.report.add(problem).at_key("file");
                        }
                    }
                }
                Some(all)
            }
            (None, Some(node)) => {
                let texts = fields.texts("inline", &mut self.report)?;
                if texts.is_empty() {
                    self.report.error(&node.place, "this list of networks is empty").at_key("inline");
                }
                let mut all = Vec::new();
                for (text, node) in texts {
                    match network_list::network(&text) {
                        Ok(network) => all.push(network),
                        Err(message) => {
                            self.report.error(&node.place, message).at_key("inline");
                        }
                    }
                }
                Some(all)
            }
            _ => {
                let message =
                    format!("`networks.{}` needs either `file` or `inline`", entry.key.escape_debug());
                self.report.error(&entry.place, message).at_key("networks");
                None
            }
        }
    }
}

fn read(target: &Target) -> Result<Vec<IpNet>, Refusal> {
    let unread = |message| Refusal { line: None, message };
    match target {
        Target::Embedded(name) => Err(unread(format!("`{name}` holds rules"))),
        Target::File(path) => network_list::parse(&read_file(path).map_err(unread)?),
    }
}
