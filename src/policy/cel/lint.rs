//! What is doubtful in an expression that is sound: lookups without a guard, names that are never there, constants that
//! are never equal.

use std::ops::Range;

use super::Join;
use super::ast::{Ast, Call, Kind, Operator};
use super::constant::Constant;
use super::scene::canonical;
use crate::policy::read::never_there;

/// A finding, by the code of its lint.
#[derive(Debug)]
pub(in crate::policy) struct Finding {
    pub(in crate::policy) code: &'static str,
    pub(in crate::policy) range: Range<usize>,
    pub(in crate::policy) message: String,
    pub(in crate::policy) help: Option<&'static str>,
}

impl Finding {
    pub(super) fn new(code: &'static str, range: Range<usize>, message: impl Into<String>) -> Self {
        Self { code, range, message: message.into(), help: None }
    }
}

/// Looks at the parts of an expression. Each finding comes with the index of its part.
pub(super) fn check(parts: &[Ast], join: Join) -> Vec<(usize, Finding)> {
    let mut known = Known::default();
    for part in parts {
        known.learn(part, join != Join::Any);
    }
    let mut out = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let mut linter = Linter { findings: Vec::new(), known: known.clone() };
        linter.look(part);
        out.extend(linter.findings.into_iter().map(|f| (at, f)));
    }
    out
}

/// The keys that are certain to be there at some place in an expression.
#[derive(Clone, Default)]
struct Known {
    /// The map and the key, a header's in lower case.
    keys: Vec<(String, String)>,
    /// Variables of macros that go through the keys of a map.
    variables: Vec<(String, String)>,
}

impl Known {
    fn add(&mut self, map: &Ast, key: &str) {
        if let Some(map) = request_map(map) {
            self.keys.push((
                map.to_owned(),
                if map == "headers" { key.to_ascii_lowercase() } else { key.to_owned() },
            ));
        }
    }

    fn holds(&self, map: &str, key: &str) -> bool {
        let key = if map == "headers" { key.to_ascii_lowercase() } else { key.to_owned() };
        self.keys.iter().any(|(m, k)| m == map && *k == key)
    }

    /// Learns what is there if a condition is true, or false.
    fn learn(&mut self, ast: &Ast, truth: bool) {
        match &ast.kind {
            Kind::Not(inner) => self.learn(inner, !truth),
            Kind::Logic(or, items) if *or != truth => items.iter().for_each(|i| self.learn(i, truth)),
            Kind::Binary(Operator::In, pair) if truth => {
                if let Some(key) = pair[0].text() {
                    self.add(&pair[1], key);
                }
            }
            Kind::Call(Call { name, target: None, args }) => match (name.as_str(), &args[..]) {
                ("has", [Ast { kind: Kind::Select(map, field), .. }]) if truth => self.add(map, field),
                ("missingHeader", [map, key]) if !truth => {
                    if let Some(key) = key.text() {
                        self.add(map, key);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
}

struct Linter {
    findings: Vec<Finding>,
    known: Known,
}

impl Linter {
    fn add(&mut self, code: &'static str, ast: &Ast, message: impl Into<String>, help: Option<&'static str>) {
        self.findings.push(Finding { code, range: ast.range.clone(), message: message.into(), help });
    }

    /// Looks at a part where more is known than around it.
    fn look_knowing(&mut self, part: &Ast, conditions: &[&Ast], truth: bool) {
        let before = self.known.clone();
        conditions.iter().for_each(|c| self.known.learn(c, truth));
        self.look(part);
        self.known = before;
    }

    fn look(&mut self, ast: &Ast) {
        match &ast.kind {
            Kind::Logic(or, items) => {
                let conditions: Vec<&Ast> = items.iter().collect();
                items.iter().for_each(|i| self.look_knowing(i, &conditions, !or));
                return;
            }
            Kind::Conditional(three) => {
                self.look(&three[0]);
                self.look_knowing(&three[1], &[&three[0]], true);
                self.look_knowing(&three[2], &[&three[0]], false);
                return;
            }
            Kind::Index(pair) => self.lookup(&pair[0], &pair[1], ast),
            Kind::Select(map, field) => self.select(map, field, ast),
            Kind::Binary(operator, pair) => self.compare(*operator, pair),
            Kind::Call(call) if self.call(call, ast) => return,
            _ => {}
        }
        ast.kind.children().for_each(|c| self.look(c));
    }

    fn lookup(&mut self, map: &Ast, key: &Ast, ast: &Ast) {
        let Some(name) = request_map(map) else { return };
        if let Some(key) = key.text() {
            self.header(name, key, ast);
            self.guard(name, key, ast);
        } else if !matches!(&key.kind, Kind::Name(k) if self.known.variables.iter().any(|(m, v)| m == name && v == k))
        {
            self.unguarded(name, ast);
        }
    }

    fn select(&mut self, map: &Ast, field: &str, ast: &Ast) {
        if let Some(name) = request_map(map) {
            self.header(name, field, ast);
            self.guard(name, field, ast);
        }
    }

    fn guard(&mut self, map: &str, key: &str, ast: &Ast) {
        let always = map == "headers" && key.eq_ignore_ascii_case("x-real-ip");
        if !always && !self.known.holds(map, key) {
            self.unguarded(map, ast);
        }
    }

    fn unguarded(&mut self, map: &str, ast: &Ast) {
        let message = format!(
            "without this key in `{map}` the request cannot be decided, and the visitor chooses the keys"
        );
        let help = if map == "headers" {
            "ask first, as in `\"Accept\" in headers && headers[\"Accept\"] == \"...\"`"
        } else {
            "ask first, as in `\"a\" in query && query[\"a\"] == \"...\"`"
        };
        self.add("L19", ast, message, Some(help));
    }

    /// Looks at the name of a header.
    fn header(&mut self, map: &str, name: &str, ast: &Ast) {
        if map != "headers" {
            return;
        }
        if never_there(name) {
            let help = name.eq_ignore_ascii_case("host").then_some("use `host`");
            let message = format!("no request ever shows a rule the header `{}`", name.escape_debug());
            self.add("L14", ast, message, help);
            return;
        }
        let spelled = canonical(name);
        if spelled != name {
            let message = format!("Anubis finds this header only as `{}`", spelled.escape_debug());
            self.add("L20", ast, message, None);
        }
    }

    fn compare(&mut self, operator: Operator, pair: &[Ast; 2]) {
        if let (Operator::In, Some(key), Some(map)) = (operator, pair[0].text(), request_map(&pair[1])) {
            self.header(map, key, &pair[0]);
        }
        if !matches!(operator, Operator::Equal | Operator::NotEqual | Operator::In) {
            return;
        }
        for (host, other) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            if host.is_name("host") {
                self.host(other);
                if let Kind::List(items) = &other.kind {
                    items.iter().for_each(|i| self.host(i));
                }
            }
        }
    }

    /// Looks at a text that `host` is compared with.
    fn host(&mut self, ast: &Ast) {
        let Kind::Constant(Constant::Text(text)) = &ast.kind else { return };
        let port = text.rsplit_once(':').is_some_and(|(name, port)| {
            (!name.contains(':') || name.ends_with(']')) && port.bytes().all(|b| b.is_ascii_digit())
        });
        if port {
            self.add("L17", ast, "`host` never has a port", Some("leave the port out"));
        } else if text.bytes().any(|b| b.is_ascii_uppercase()) {
            self.add("L17", ast, "`host` is always in lower case", Some("write it in lower case"));
        }
    }

    /// Looks at a call; true if its parts were looked at too.
    fn call(&mut self, call: &Call, ast: &Ast) -> bool {
        match (call.name.as_str(), &call.target, &call.args[..]) {
            ("has", None, [Ast { kind: Kind::Select(map, field), .. }]) => {
                if let Some(name) = request_map(map) {
                    self.header(name, field, ast);
                }
                return true;
            }
            ("missingHeader", None, [map, key]) => {
                if let (Some(name), Some(text)) = (request_map(map), key.text()) {
                    self.header(name, text, key);
                }
            }
            ("verifyFCrDNS", None, [_]) => {
                let message = "this is true for every address that has no name";
                self.add("L26", ast, message, Some("add a pattern that the name must match"));
            }
            ("contains" | "endsWith" | "startsWith", Some(host), [text]) if host.is_name("host") => {
                self.host(text)
            }
            (
                "all" | "exists" | "exists_one" | "existsOne" | "filter" | "map",
                Some(range),
                [Ast { kind: Kind::Name(variable), .. }, parts @ ..],
            ) => {
                self.look(range);
                let before = self.known.clone();
                if let Some(map) = request_map(range) {
                    self.known.variables.push((map.to_owned(), variable.clone()));
                }
                parts.iter().for_each(|p| self.look(p));
                self.known = before;
                return true;
            }
            _ => {}
        }
        false
    }
}

/// The name of a map that belongs to the request.
fn request_map(ast: &Ast) -> Option<&'static str> {
    ["headers", "query"].into_iter().find(|n| ast.is_name(n))
}
