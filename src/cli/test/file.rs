//! A test file: the policy it is about, and its cases. Every mistake is found before the first case is judged.

use std::path::Path;

use super::ask::{self, Ask, HeaderSets};
use super::expect::Expected;
use super::keys::Keys;
use crate::cli::input;
use crate::policy::document::{self, MAX_FILE, Node};
use crate::policy::{Problem, Source};

/// What a test file says.
pub(super) struct Suite {
    /// The file, as it was named.
    pub(super) name: String,
    /// The policy; `None` is the one in force.
    pub(super) policy: Option<Source>,
    pub(super) cases: Vec<Case>,
}

/// One case: requests, and what is expected of each of them.
pub(super) struct Case {
    pub(super) name: String,
    /// The line it stands on.
    pub(super) line: usize,
    pub(super) asks: Vec<Ask>,
    pub(super) expected: Expected,
}

/// Reads a test file.
pub(super) fn read(path: &Path) -> Result<Suite, Vec<Problem>> {
    let name = input::name(path);
    let text = input::read(path, MAX_FILE).map_err(|error| error.to_string()).and_then(|(bytes, longer)| {
        if longer {
            return Err(format!("it is larger than {} MiB", MAX_FILE >> 20));
        }
        String::from_utf8(bytes).map_err(|_| "it is no UTF-8".to_owned())
    });
    let text =
        text.map_err(|reason| vec![Problem::of_file(&name, format!("cannot read the test file: {reason}"))])?;
    let folder = path.parent().filter(|_| !input::is_stdin(path)).unwrap_or_else(|| Path::new(""));
    parse(&name, &text, folder)
}

/// Reads the text of a test file. `folder` is what a relative path to the policy counts from.
pub(super) fn parse(name: &str, text: &str, folder: &Path) -> Result<Suite, Vec<Problem>> {
    let root = document::parse(name, text).map_err(|problem| vec![*problem])?;
    let mut problems = Vec::new();
    let suite = suite(name, &root, folder, &mut problems);
    match suite {
        Some(suite) if problems.is_empty() => Ok(suite),
        _ => Err(problems),
    }
}

fn suite(name: &str, root: &Node, folder: &Path, problems: &mut Vec<Problem>) -> Option<Suite> {
    let known = ["policy", "rules", "headers", "request", "cases"];
    let keys = Keys::read(root, "a test file", &known, problems)?;
    let policy = keys.text("policy", problems).map(|text| relative(text, folder));
    let rules = keys.texts("rules", problems).map(|lists| policy_of(name, &lists, folder));
    if let (Some(node), true) = (keys.get("rules"), policy.is_some()) {
        problems.push(node.problem("a test file is about a `policy` or about lists of `rules`, not both"));
    }
    let policy = policy.or(rules);
    let sets = HeaderSets::read(keys.get("headers"), problems);
    let defaults = keys.get("request");
    let help = "write `cases:` and below it entries such as `- {name: secrets are denied, request: {target: /.env}, expect: deny}`";
    let Some(list) = keys.get("cases") else {
        problems.push(root.problem("the test file has no `cases`").with_help(help));
        return None;
    };
    let Some(items) = list.items().filter(|items| !items.is_empty()) else {
        problems.push(list.problem("`cases` must be a list with at least one case").with_help(help));
        return None;
    };
    let cases = items.iter().filter_map(|item| case(item, defaults, &sets, problems)).collect();
    Some(Suite { name: name.to_owned(), policy, cases })
}

fn case(
    node: &Node,
    defaults: Option<&Node>,
    sets: &HeaderSets<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Case> {
    let keys = Keys::read(node, "a case", &["name", "request", "expect"], problems)?;
    let name = keys.text("name", problems);
    if name.is_none_or(str::is_empty) {
        problems.push(node.problem("a case needs a `name` that says what it promises"));
    }
    let asks = ask::read(node, defaults, keys.get("request"), sets, problems);
    let Some(expect) = keys.get("expect") else {
        let help = "such as `expect: deny`, or `expect: {verdict: deny, rule: bot/NAME}`";
        problems.push(node.problem("a case needs an `expect`").with_help(help));
        return None;
    };
    let expected = Expected::read(expect, problems)?;
    let (line, _) = node.place.line_and_column();
    Some(Case { name: name?.to_owned(), line, asks, expected })
}

/// A policy or a list, from the folder of the test file.
fn relative(text: &str, folder: &Path) -> Source {
    match Source::parse(text) {
        Source::File(path) => Source::File(folder.join(path)),
        source => source,
    }
}

/// The policy that imports lists of rules, and says nothing else.
fn policy_of(name: &str, lists: &[(&str, &Node)], folder: &Path) -> Source {
    let mut text = "bots:\n".to_owned();
    for (list, _) in lists {
        let path = match relative(list, folder) {
            Source::File(path) => path.display().to_string(),
            _ => (*list).to_owned(),
        };
        // JSON's texts are YAML's.
        text.push_str(&format!("- import: {}\n", serde_json::Value::from(path)));
    }
    Source::Text { name: format!("the rules of {name}"), text }
}
