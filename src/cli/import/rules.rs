//! From a robots.txt to a list of rules that holds its agents to it.
//!
//! A group denies what it disallows and says nothing about the rest, so that other rules still count. The longest pattern
//! decides, and an `Allow` wins a tie: a path is denied where a `Disallow` matches and no `Allow` of its length or more does.
//! Paths are judged without their query, so a pattern with a query is followed as far as a rule can see one.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::robots::{Pattern, Robots, Rule};

/// Agents that say themselves that they are robots, and tell where to complain: those that `User-agent: *` speaks to.
/// People's browsers do neither. Cubot makes phones, and Abbot is a name.
const DECLARED: &str = r"(?i:(?:^|[^bu])bots?(?:[^a-z]|$)|(?:^|[^a])bbots?(?:[^a-z]|$)|(?:^|[^c])ubots?(?:[^a-z]|$)|crawler|spider|scraper|slurp)|Bot[A-Z][a-z]|\+https?://";

/// The most tokens in one pattern of agents, and the most paths in one pattern of paths; more make several.
const MAX_TOGETHER: usize = 200;

/// The most paths of all agents together: in 500 KiB some thousand agents and paths can stand, and groups that overlap
/// multiply them.
const MAX_PATHS: usize = 100_000;

/// How many pairs of a `Disallow` and an `Allow` of one agent are compared at most.
const MAX_PAIRS: usize = 4_000_000;

/// What came of a file.
#[derive(Debug)]
pub(super) struct List {
    /// The list, as YAML with comments.
    pub(super) text: String,
    /// How many rules there are.
    pub(super) rules: usize,
    /// What could not be followed to the letter.
    pub(super) notes: Vec<String>,
}

/// Agents of which the same is asked.
struct Party<'r> {
    tokens: Vec<&'r str>,
    line: usize,
    rules: Vec<&'r Rule>,
}

impl Party<'_> {
    /// Whom it is about, in few words.
    fn name(&self) -> String {
        match self.tokens.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("{} and others", many[0]),
        }
    }
}

/// Writes the rules of a file that is called `name`. Refuses one that would make too many of them.
pub(super) fn list(robots: &Robots, name: &str) -> Result<List, String> {
    let (parties, star) = parties(robots)?;
    let named: Vec<&str> = parties.iter().flat_map(|party| &party.tokens).copied().collect();
    let mut list = List { text: String::new(), rules: 0, notes: Vec::new() };
    let mut names = BTreeMap::new();
    for party in &parties {
        let Some(matchers) = list.matchers(party, &[])? else { continue };
        for tokens in party.tokens.chunks(MAX_TOGETHER) {
            let comment = format!("{} (line {}).", tokens.join(", "), party.line);
            let name = unique(&mut names, &slug(tokens[0]));
            list.rule(&name, &comment, &agents(tokens), &matchers);
        }
    }
    if let Some(party) = star {
        let not_named: Vec<String> = named
            .chunks(MAX_TOGETHER)
            .map(|tokens| format!("!userAgent.matches({})", quoted(&agents(tokens))))
            .collect();
        if let Some(matchers) = list.matchers(&party, &not_named)? {
            let comment = format!(
                "Every other robot (line {}): those that say they are one. To hold all agents to it would lock people out.",
                party.line
            );
            let name = unique(&mut names, "others");
            list.rule(&name, &comment, DECLARED, &matchers);
        }
    }
    let mut head = format!(
        "# What {} asks of robots, as rules: made by `tollgate import`, to be imported into a policy.\n# A token that its crawler never sends as its agent, such as Google-Extended, finds nobody here.\n",
        name.escape_debug()
    );
    for note in &list.notes {
        writeln!(head, "# Not to the letter: {note}").expect("a String takes all");
    }
    if list.rules == 0 {
        list.text.push_str("# It disallows nothing.\n[]\n");
    }
    list.text.insert_str(0, &head);
    Ok(list)
}

/// Brings together the groups of each agent, and the agents of which the same is asked. `*` stands apart.
fn parties(robots: &Robots) -> Result<(Vec<Party<'_>>, Option<Party<'_>>), String> {
    let mut agents: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (index, group) in robots.groups.iter().enumerate() {
        for token in &group.agents {
            let at = *known.entry(token.to_ascii_lowercase()).or_insert(agents.len());
            if at == agents.len() {
                agents.push((token, Vec::new()));
            }
            if agents[at].1.last() != Some(&index) {
                agents[at].1.push(index);
            }
        }
    }
    let mut alike: BTreeMap<Vec<usize>, Vec<&str>> = BTreeMap::new();
    for (token, groups) in agents {
        // The group of everybody else is nobody's by name.
        let key = if token == "*" { [&[usize::MAX], &groups[..]].concat() } else { groups };
        alike.entry(key).or_default().push(token);
    }
    let (mut parties, mut star, mut paths) = (Vec::new(), None, 0);
    let mut by_rules: HashMap<Vec<&Rule>, usize> = HashMap::new();
    for (groups, mut tokens) in alike {
        let groups: Vec<_> = groups.iter().filter_map(|index| robots.groups.get(*index)).collect();
        let mut rules: Vec<_> = groups.iter().flat_map(|group| &group.rules).collect();
        paths += rules.len();
        if paths > MAX_PATHS {
            return Err(format!("its agents have more than {MAX_PATHS} paths together"));
        }
        rules.sort_unstable();
        rules.dedup();
        let line = groups.first().map_or(0, |group| group.line);
        if tokens == ["*"] {
            star = Some(Party { tokens, line, rules });
            continue;
        }
        match by_rules.get(&rules) {
            Some(at) => {
                let party: &mut Party<'_> = &mut parties[*at];
                party.tokens.append(&mut tokens);
            }
            None => {
                by_rules.insert(rules.clone(), parties.len());
                parties.push(Party { tokens, line, rules });
            }
        }
    }
    Ok((parties, star))
}

impl List {
    fn rule(&mut self, name: &str, comment: &str, agents: &str, matchers: &str) {
        let comment = comment.escape_debug();
        write!(
            self.text,
            "\n# {comment}\n- name: robots-{name}\n  action: DENY\n  user_agent_regex: {}\n{matchers}",
            single(agents)
        )
        .expect("a String takes all");
        self.rules += 1;
    }

    /// The matchers of paths, as lines of YAML; `None` where nothing is denied.
    fn matchers(&mut self, party: &Party<'_>, conditions: &[String]) -> Result<Option<String>, String> {
        let mut denied = Vec::new();
        let mut allowed = Vec::new();
        for rule in party.rules.iter().copied() {
            let reading = Reading::of(rule);
            if let Some(note) = reading.note {
                self.notes.push(format!("`{}` of {}: {note}", rule.pattern.as_str(), party.name()));
            }
            match reading.part {
                Some(part) if rule.allow => allowed.push((rule, part)),
                Some(part) => denied.push((rule, part)),
                None => {}
            }
        }
        if denied.is_empty() {
            return Ok(None);
        }
        if denied.len() * allowed.len() > MAX_PAIRS {
            return Err(format!(
                "{} has too many paths to compare: {} and {}",
                party.name(),
                denied.len(),
                allowed.len()
            ));
        }
        // RFC 9309, 2.2.2: the file itself is always allowed.
        let hits_itself = |(rule, _): &(&Rule, Part)| "/robots.txt".starts_with(rule.pattern.beginning());
        let itself = denied.iter().any(hits_itself);
        let plain: Option<Vec<String>> = denied
            .iter()
            .map(|(rule, _)| globs(&rule.pattern))
            .collect::<Option<Vec<_>>>()
            .map(|g| g.concat());
        let stands_alone = |(rule, _): &(&Rule, Part)| !allowed.iter().any(|(allow, _)| outdoes(allow, rule));
        if let (Some(globs), false, true) = (plain, itself, denied.iter().all(stands_alone)) {
            let globs: String = globs.iter().map(|glob| format!("    - {glob}\n")).collect();
            let conditions = all(conditions);
            return Ok(Some(format!("  paths:\n{globs}{conditions}")));
        }
        let mut conditions = conditions.to_vec();
        if itself {
            conditions.push("path != \"/robots.txt\"".to_owned());
        }
        if !denied.iter().all(|(rule, _)| rule.pattern.as_str() == "/") || !allowed.is_empty() {
            conditions.push(expression(&denied, &allowed));
        }
        Ok(Some(all(&conditions)))
    }
}

/// The conditions as a matcher.
fn all(conditions: &[String]) -> String {
    match conditions {
        [] => String::new(),
        [one] => format!("  expression: {}\n", single(one)),
        many => {
            let items: String = many.iter().map(|item| format!("      - {}\n", single(item))).collect();
            format!("  expression:\n    all:\n{items}")
        }
    }
}

/// Whether an `Allow` takes something from a `Disallow`: it is as long, and there may be a path that both match.
fn outdoes(allow: &Rule, disallow: &Rule) -> bool {
    let (a, b) = (allow.pattern.beginning(), disallow.pattern.beginning());
    allow.pattern.length() >= disallow.pattern.length() && (a.starts_with(b) || b.starts_with(a))
}

/// Where any `Disallow` matches and no `Allow` that outdoes it. Those with the same `Allow`s stand together.
fn expression(denied: &[(&Rule, Part)], allowed: &[(&Rule, Part)]) -> String {
    let mut together: BTreeMap<Vec<usize>, Vec<&Part>> = BTreeMap::new();
    for (rule, part) in denied {
        let above =
            allowed.iter().enumerate().filter(|(_, (allow, _))| outdoes(allow, rule)).map(|(at, _)| at);
        together.entry(above.collect()).or_default().push(part);
    }
    let terms: Vec<String> = together
        .into_iter()
        .map(|(above, parts)| {
            let above: Vec<&Part> = above.into_iter().map(|at| &allowed[at].1).collect();
            let denied = any_of(&parts);
            if above.is_empty() { denied } else { format!("{denied} && !{}", any_of(&above)) }
        })
        .collect();
    terms.join(" || ")
}

/// A part of a target that a rule can see.
#[derive(Clone, Debug)]
struct Part {
    /// A pattern for the path, from its beginning.
    path: String,
    query: Query,
}

/// What is asked of the query.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Query {
    Any,
    Missing,
    There,
}

/// The condition that any of these parts matches, in parentheses or a call.
fn any_of(parts: &[&Part]) -> String {
    let mut by_query: BTreeMap<Query, Vec<&str>> = BTreeMap::new();
    for part in parts {
        by_query.entry(part.query).or_default().push(&part.path);
    }
    let mut terms = Vec::new();
    for (query, paths) in by_query {
        for paths in paths.chunks(MAX_TOGETHER) {
            let pattern = match paths {
                [one] => format!("^{one}"),
                many => format!("^(?:{})", many.join("|")),
            };
            let matches = format!("path.matches({})", quoted(&pattern));
            terms.push(match query {
                Query::Any => matches,
                Query::Missing => format!("({matches} && size(query) == 0)"),
                Query::There => format!("({matches} && size(query) > 0)"),
            });
        }
    }
    match terms.as_slice() {
        [one] => one.clone(),
        many => format!("({})", many.join(" || ")),
    }
}

/// What a rule of the file comes to.
struct Reading {
    part: Option<Part>,
    note: Option<&'static str>,
}

impl Reading {
    fn of(rule: &Rule) -> Self {
        let text = rule.pattern.as_str();
        if !rule.pattern.can_match() {
            return Self { part: None, note: Some("it starts with no slash, so it matches nothing") };
        }
        let (open, ends) = match text.strip_suffix('$') {
            Some(open) => (open, true),
            None => (text, false),
        };
        let Some((path, query)) = open.split_once('?') else {
            let part = if ends {
                Part { path: format!("{}$", regex(open)), query: Query::Missing }
            } else {
                // A star at the end is what a pattern that is open there says anyway.
                Part { path: regex(open.trim_end_matches('*')), query: Query::Any }
            };
            return Self { part: Some(part), note: None };
        };
        let part = Part { path: format!("{}$", regex(path)), query: Query::There };
        let any_query = query.trim_end_matches('*').is_empty() && !ends;
        match (any_query, rule.allow) {
            (true, _) => Self { part: Some(part), note: None },
            (false, true) => {
                Self { part: Some(part), note: Some("rules do not match queries, so every query is allowed") }
            }
            (false, false) => {
                Self { part: None, note: Some("rules do not match queries, so it is left out") }
            }
        }
    }
}

/// A pattern of the file as a pattern of paths. What is escaped in it may have been decoded in a reading of the path.
fn regex(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let octets = escapes(rest);
        if octets.is_empty() {
            match c {
                '*' => out.push_str(".*"),
                '~' => out.push_str("(?:~|%7[Ee])"),
                _ => push_literal(&mut out, c),
            }
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let written = &rest[..octets.len() * 3];
        rest = &rest[written.len()..];
        match std::str::from_utf8(&octets).ok().filter(|text| !text.contains(['/', '\\', '\0'])) {
            Some(text) => {
                write!(out, "(?:(?i:{written})|").expect("a String takes all");
                text.chars().for_each(|c| push_literal(&mut out, c));
                out.push(')');
            }
            None => write!(out, "(?i:{written})").expect("a String takes all"),
        }
    }
    out
}

/// The octets of the escapes that a text starts with.
fn escapes(text: &str) -> Vec<u8> {
    let octet = |chunk: &[u8]| match chunk {
        [b'%', hex @ ..] if hex.len() == 2 && hex.iter().all(u8::is_ascii_hexdigit) => {
            u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
        }
        _ => None,
    };
    text.as_bytes().chunks(3).map_while(octet).collect()
}

fn push_literal(out: &mut String, c: char) {
    if r"\.+*?()|[]{}^$".contains(c) {
        out.push('\\');
    }
    out.push(c);
}

/// The entries of `paths` that say the same as a pattern, where it is a plain beginning.
fn globs(pattern: &Pattern) -> Option<Vec<String>> {
    let text = pattern.as_str();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
    if !text.starts_with('/') || !text.bytes().all(plain) {
        return None;
    }
    Some(match text.ends_with('/') {
        true => vec![format!("{text}**")],
        false => vec![format!("{text}*"), format!("{text}*/**")],
    })
}

/// The pattern of agents whose product token is one of these.
fn agents(tokens: &[&str]) -> String {
    let escaped = tokens.iter().map(|token| {
        let mut out = String::new();
        token.chars().for_each(|c| push_literal(&mut out, c));
        out
    });
    let tokens: Vec<_> = escaped.collect();
    // A longer token is another one: Googlebot-Image is not Googlebot (RFC 9309, 2.2.1).
    format!("(?i:(?:^|[^a-z_-])(?:{})(?:[^a-z_-]|$))", tokens.join("|"))
}

/// A text of an expression.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text of YAML in single quotes, in which nothing but the quote is special.
fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn slug(token: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    token.chars().map(plain).collect::<String>().trim_matches('-').to_owned()
}

/// The name, with a number behind it if another rule has it.
fn unique(names: &mut BTreeMap<String, usize>, name: &str) -> String {
    let count = names.entry(name.to_owned()).or_insert(0);
    *count += 1;
    if *count == 1 { name.to_owned() } else { format!("{name}-{count}") }
}

#[cfg(test)]
mod tests;
