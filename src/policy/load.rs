//! Loads a policy: reads the file and its imports, collects every problem, and compiles what is sound.

mod lists;
mod site;

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Policy;
use super::compile::compile;
use super::document::{self, File, MAX_FILE, Node, Place};
use super::embedded;
use super::import::{EMBEDDED, Target, resolve};
use super::lint;
use super::problem::{LoadError, Problem, Severity};
use super::rate::MAX_LIMITS;
use super::read::{self, Fields, Lists, Text};
use super::report::Report;
use super::rule::{Asks, Rule, Rules};
use super::sites::{self, Sites};
use crate::files::Files;

/// How deep imports may nest.
const MAX_IMPORT_DEPTH: usize = 16;

/// How many files one policy may import, counting repeats: sixteen levels that import twice would be 65,536.
const MAX_IMPORTS: usize = 10_000;

/// How many rules one policy may have once its imports are expanded.
const MAX_RULES: usize = 200_000;

/// The `version` of a file in Tollgate's own, strict language.
const VERSION: &str = "tollgate/v1";

/// Loads policies.
#[derive(Clone, Debug, Default)]
pub struct Loader {
    /// What relative imports start from, beside the importing file's own directory; empty is the working directory.
    pub root: PathBuf,
    /// What the operator's settings say about challenges.
    pub defaults: Defaults,
    /// The databases that are there.
    pub databases: Databases,
}

/// Which databases of networks are loaded. Rules that need one that is not match nothing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Databases {
    /// The numbers of networks.
    pub asn: bool,
    /// Countries.
    pub country: bool,
}

/// The settings that a policy's challenges depend on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Defaults {
    /// `challenge.level`, if the operator set it.
    pub level: Option<u8>,
    /// The lowest level that a difficulty becomes.
    pub min_level: u8,
    /// The highest level that is ever asked.
    pub max_level: u8,
    /// Whether visitors without scripts may wait.
    pub wait_enabled: bool,
    /// The highest level at which they may.
    pub wait_max_level: u8,
}

impl Defaults {
    /// The level of a challenge that says nothing else.
    pub fn level(&self) -> u8 {
        self.level.unwrap_or(14).clamp(self.min_level, self.max_level)
    }
}

impl Default for Defaults {
    fn default() -> Self {
        Self { level: None, min_level: 12, max_level: 18, wait_enabled: true, wait_max_level: 16 }
    }
}

/// Where a policy comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Source {
    /// A policy of the program: `(data)/quiet.yaml`, or just `quiet.yaml`.
    Embedded(String),
    /// A file.
    File(PathBuf),
    /// A text, with the name that problems show. Its relative imports start from the loader's root.
    Text {
        /// The name.
        name: String,
        /// The policy.
        text: String,
    },
}

impl Source {
    /// Reads the setting `policy`: `(data)/...` is embedded, anything else a file.
    pub fn parse(setting: &str) -> Self {
        match setting.strip_prefix(EMBEDDED) {
            Some(_) => Self::Embedded(setting.to_owned()),
            None => Self::File(PathBuf::from(setting)),
        }
    }
}

/// A policy that loaded with those of its sites, and what is doubtful about them.
#[derive(Debug)]
pub struct Loaded {
    /// The file's own rules.
    pub policy: Policy,
    /// The policies of its sites.
    pub sites: Sites,
    /// Findings that do not refuse them.
    pub lints: Vec<Problem>,
}

impl Loader {
    /// Loads a policy with all it imports and the policies of its sites. An error holds every problem there is, not only
    /// the first.
    pub fn load(&self, source: &Source) -> Result<Loaded, LoadError> {
        self.load_noting(source, &mut Files::default())
    }

    /// The same, and notes every file before it is read, whether or not the policy loads.
    pub fn load_noting(&self, source: &Source, files: &mut Files) -> Result<Loaded, LoadError> {
        let (rules, sites, lints) = self.read(source, files)?;
        Ok(Loaded { policy: compile(rules, &self.defaults), sites, lints })
    }

    /// Reads a policy with all it imports and the policies of its sites, and what is doubtful about them.
    pub(super) fn read(
        &self,
        source: &Source,
        files: &mut Files,
    ) -> Result<(Rules, Sites, Vec<Problem>), LoadError> {
        let mut load = Load::new(self, files);
        let main = load.main(source, None);
        let sites = load.sites(main.as_ref().map_or(&[], |(_, sites)| sites));
        match (main, sites) {
            (Some((rules, entries)), Some(policies)) if !load.report.refuses() => {
                let sites = Sites(entries.into_iter().zip(policies).collect());
                Ok((rules, sites, load.report.into_problems()))
            }
            _ => {
                let mut problems = load.report.into_problems();
                problems.sort_by_key(|p| p.level != Severity::Error);
                Err(LoadError { problems })
            }
        }
    }
}

/// One load in progress.
struct Load<'a> {
    loader: &'a Loader,
    files: &'a mut Files,
    report: Report,
    /// Whether it is a site's policy, which has no sites itself.
    site: bool,
    /// The files that are open, outermost first, by identity.
    open: Vec<PathBuf>,
    /// Every file that was imported, by identity, and how often any was.
    imported: HashSet<PathBuf>,
    imports: usize,
    /// The lists of networks that have a name.
    lists: Lists,
    rules: Vec<Rule>,
    /// How many of the rules ask LIMIT.
    limits: usize,
}

impl<'a> Load<'a> {
    fn new(loader: &'a Loader, files: &'a mut Files) -> Self {
        Self {
            loader,
            files,
            report: Report::default(),
            site: false,
            open: Vec::new(),
            imported: HashSet::new(),
            imports: 0,
            lists: Lists::new(),
            rules: Vec::new(),
            limits: 0,
        }
    }

    /// The rules of a file, and its sites. `place` is where the file is named, if a file names it.
    fn main(&mut self, source: &Source, place: Option<&Place>) -> Option<(Rules, Vec<read::Site>)> {
        let (file, folder) = self.open_main(source, place)?;
        let (node, ignored) = self.main_document(&file)?;
        let keys = [
            "bots",
            "thresholds",
            "status_codes",
            "dnsbl",
            "dns_ttl",
            "store",
            "logging",
            "metrics",
            "honeypot",
            "impressum",
            "openGraph",
        ];
        self.report.strict = self.version(&node)?;
        let strict = self.report.strict;
        if let Some(place) = ignored {
            let message = "only the first document of a policy counts; this one is ignored";
            self.report.lint("L1", &place, message);
        }
        let own: &[&str] = if strict {
            &["version", "shadow", "learn", "sites", "networks", "default"]
        } else {
            &["shadow", "learn", "sites", "networks"]
        };
        let fields = Fields::read(&node, "", &keys, own, Text::Loose, &mut self.report)?;
        if let Some(entry) = fields.entry("sites").filter(|_| self.site) {
            let message = "the policy of a site cannot have `sites` of its own";
            self.report.error(&entry.place, message).at_key("sites");
            return None;
        }
        self.lists(&fields, folder.as_deref());
        let sites = read::sites(fields.get("sites"), &mut self.report);
        sites::check(&sites, &mut self.report);
        self.bots(&fields, folder.as_deref());
        self.report.rule = None;
        let defaults = &self.loader.defaults;
        let thresholds = read::thresholds(fields.get("thresholds"), defaults, &mut self.report);
        let default = read::fallback(fields.get("default"), defaults, &mut self.report);
        let status = read::status(fields.get("status_codes"), &mut self.report);
        let shadow = fields.boolean("shadow", &mut self.report).unwrap_or(false);
        let learn = fields.boolean("learn", &mut self.report).unwrap_or(true);
        let block_list = fields.boolean("dnsbl", &mut self.report).unwrap_or(false);
        let name_lives = read::name_lives(&fields, &mut self.report);
        read::unused(&fields, &mut self.report);
        let rules = std::mem::take(&mut self.rules);
        let rules = Rules {
            rules,
            thresholds,
            place: node.place,
            default,
            shadow,
            learn,
            block_list,
            name_lives,
            status,
        };
        if !self.report.refuses() {
            lint::check(&rules, self.loader.databases, &mut self.report);
        }
        Some((rules, sites))
    }

    /// The main file and its directory.
    fn open_main(&mut self, source: &Source, place: Option<&Place>) -> Option<(Arc<File>, Option<PathBuf>)> {
        match source {
            Source::Text { name, text } => Some((File::new(name.as_str(), text.as_str()), None)),
            Source::Embedded(name) => {
                let plain = name.strip_prefix(EMBEDDED).unwrap_or(name);
                let Some(text) = embedded::text(plain) else {
                    let names: Vec<_> = embedded::names().filter(|n| !n.contains('/')).collect();
                    let message = format!("there is no embedded policy `{}`", plain.escape_debug());
                    let help = format!("there are {}", names.join(", "));
                    self.report.add(Problem::of_file(name.as_str(), message).with_help(help));
                    return None;
                };
                self.open.push(Target::File(PathBuf::from(name)).identity());
                Some((File::new(format!("{EMBEDDED}{plain}"), text), None))
            }
            Source::File(path) => {
                let target = Target::File(path.clone());
                let file = self.open_target(&target, place)?;
                self.open.push(target.identity());
                let folder = path.parent().map(Path::to_path_buf);
                Some((file, folder))
            }
        }
    }

    /// The first document that holds anything, and the place of a later one, which is ignored.
    fn main_document(&mut self, file: &Arc<File>) -> Option<(Node, Option<Place>)> {
        let mut ranges = file.documents().into_iter();
        while let Some(range) = ranges.next() {
            match document::parse_document(file, range) {
                Ok(None) => {}
                Ok(Some(node)) => {
                    let ignored = ranges.find(|r| !file.is_blank(r.clone())).map(|r| file.place(r));
                    return Some((node, ignored));
                }
                Err(problem) => {
                    self.report.add(*problem);
                    return None;
                }
            }
        }
        let help = "a policy needs at least `bots` with one entry";
        self.report.error(&file.start(), "the policy is empty").advise(help);
        None
    }

    /// Whether the file is in Tollgate's own language.
    fn version(&mut self, node: &Node) -> Option<bool> {
        let Some(entry) = node.entry("version") else { return Some(false) };
        match entry.value.resolved() {
            Some(document::Resolved::Text(VERSION)) => Some(true),
            Some(document::Resolved::Text(text)) if text.starts_with("tollgate") => {
                let message = format!("unknown `version` `{}`", text.escape_debug());
                self.report
                    .error(&entry.value.place, message)
                    .at_key("version")
                    .advise(format!("there is {VERSION}"));
                None
            }
            _ => Some(false),
        }
    }

    fn bots(&mut self, fields: &Fields<'_>, folder: Option<&Path>) {
        let help = "give it at least one entry with a name, an action and a matcher, or an import";
        let Some(node) = fields.get("bots") else {
            self.report.error(fields.place, "the policy has no `bots`").at_key("bots").advise(help);
            return;
        };
        match node.items() {
            Some([]) => {
                self.report.error(&node.place, "`bots` is empty").at_key("bots").advise(help);
            }
            Some(entries) => self.entries(entries, folder),
            None => {
                self.report
                    .error(&node.place, format!("`bots` must be a list, but it is {}", node.noun()))
                    .at_key("bots");
            }
        }
    }

    fn entries(&mut self, entries: &[Node], folder: Option<&Path>) {
        for node in entries {
            let entry = read::entry(node, &self.loader.defaults, &self.lists, &mut self.report);
            match entry {
                Some(read::Entry::Import(path, place)) => self.import(&path, &place, folder),
                Some(read::Entry::Rule(_)) if self.rules.len() == MAX_RULES => {
                    self.report.error(&node.place, format!("the policy has more than {MAX_RULES} rules"));
                    return;
                }
                Some(read::Entry::Rule(rule)) => {
                    self.limits += usize::from(matches!(rule.asks, Asks::Limit(_)));
                    self.rules.push(*rule);
                    if self.limits > MAX_LIMITS {
                        let message = format!("the policy has more than {MAX_LIMITS} LIMIT rules");
                        self.report.error(&node.place, message);
                        return;
                    }
                }
                None => {}
            }
        }
        self.report.rule = None;
    }

    fn import(&mut self, import: &str, place: &Place, folder: Option<&Path>) {
        let targets = match resolve(import, &self.loader.root, folder, self.files) {
            Ok(targets) => targets,
            Err(message) => {
                self.report.error(place, message).at_key("import");
                return;
            }
        };
        for target in targets {
            let identity = target.identity();
            if self.open.contains(&identity) {
                let chain: Vec<_> =
                    self.open.iter().chain([&identity]).map(|p| p.display().to_string()).collect();
                let message = format!("imports run in a circle: {}", chain.join(" -> "));
                self.report.error(place, message).at_key("import");
                continue;
            }
            if self.open.len() > MAX_IMPORT_DEPTH || self.imports == MAX_IMPORTS {
                let message = format!(
                    "imports nest deeper than {MAX_IMPORT_DEPTH}, or there are more than {MAX_IMPORTS}"
                );
                self.report.error(place, message).at_key("import");
                return;
            }
            self.imports += 1;
            if !self.imported.insert(identity.clone()) {
                let message = format!("`{}` is imported again, so its rules count twice", target.name());
                self.report.lint("L6", place, message).at_key("import");
            }
            let Some(file) = self.open_target(&target, Some(place)) else { continue };
            let folder = match &target {
                Target::Embedded(_) => None,
                Target::File(path) => path.parent().map(Path::to_path_buf),
            };
            self.open.push(identity);
            self.report.chain.push(place.file_name().to_owned());
            self.imported_file(&file, folder.as_deref());
            self.report.chain.pop();
            self.open.pop();
        }
    }

    /// An imported file is a list of entries, in any number of documents.
    fn imported_file(&mut self, file: &Arc<File>, folder: Option<&Path>) {
        for range in file.documents() {
            match document::parse_document(file, range) {
                Ok(None) => {}
                Ok(Some(node)) if node.is_null() => {}
                Ok(Some(node)) => match node.items() {
                    Some(entries) => self.entries(entries, folder),
                    None => {
                        let message = format!(
                            "an imported file must be a list of entries, but this is {}",
                            node.noun()
                        );
                        self.report.error(&node.place, message);
                    }
                },
                Err(problem) => {
                    self.report.add(*problem);
                }
            }
        }
    }

    /// Reads a file; what goes wrong is reported where it was asked for.
    fn open_target(&mut self, target: &Target, place: Option<&Place>) -> Option<Arc<File>> {
        let text = match target {
            Target::Embedded(name) => {
                embedded::text(name).map(str::to_owned).ok_or_else(|| "it is gone".to_owned())
            }
            Target::File(path) => {
                self.files.note(path);
                read_file(path)
            }
        };
        match text {
            Ok(text) => Some(File::new(target.name(), text)),
            Err(reason) => {
                let message = format!("cannot read policy `{}`: {reason}", target.name());
                match place {
                    Some(place) if self.site => self.report.error(place, message).at_key("policy"),
                    Some(place) => self.report.error(place, message).at_key("import"),
                    None => self.report.add(Problem::of_file(target.name(), message)),
                };
                None
            }
        }
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() > MAX_FILE {
        return Err(format!("it is larger than {} MiB", MAX_FILE >> 20));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..good].iter().filter(|b| **b == b'\n').count() + 1;
        format!("line {line} is no UTF-8")
    })
}

#[cfg(test)]
mod tests;
