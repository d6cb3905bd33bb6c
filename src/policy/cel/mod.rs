//! Expressions: CEL, read and checked when a policy loads, and evaluated by a tree of our own.
//!
//! The language is the one that Anubis offers: CEL's standard library with its string extension, and the functions and
//! variables of rules and thresholds. All of it runs here, and nothing is left to a general interpreter: a second set of
//! semantics beside this one would have to agree in every corner about errors that are absorbed, lookups that are not made
//! yet, readings and budgets, and would be more code than the few string functions it saved. The parser is our own for a
//! like reason: the `cel` crate's overflows the stack, which ends the process, on some fifty nested brackets, and a broken
//! file must never end a gate that runs. That crate is the oracle of the tests instead.
//!
//! A text becomes tokens (`token`, `literal`), a tree as it is written (`parse`, `ast`), and a compiled tree (`check`,
//! `tree`), which `run` evaluates. Time is bounded by a budget of steps, memory by a size for every value that is built,
//! the stack by the depth that the parser allows. What an expression cannot know by itself it reads from
//! [`Facts`](super::facts::Facts); a fact that is missing is noted as a [`Lookup`], and nothing waits here.

mod ast;
mod behaviour;
mod call;
mod check;
mod constant;
mod convert;
mod format;
mod function;
mod key;
mod lint;
mod literal;
mod names;
mod parse;
mod run;
mod scene;
mod stop;
mod string;
mod time;
mod token;
mod tree;
mod types;
mod value;

use std::ops::Range;

use ast::Ast;
use check::{Checker, Reads};
use constant::Constant;
use run::{Inputs, Run};
use stop::Stop;
use tree::Node;
use types::Type;
use value::Value;

pub(super) use lint::Finding;
pub(super) use scene::Scene;
pub use stop::Fault;

use super::facts::Lookup;
use super::index::Key;

/// Where an expression stands, and so what it sees.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Scope {
    /// In an entry of `bots`: the request.
    Rule,
    /// In an entry of `thresholds`: the weight.
    Threshold,
}

impl Scope {
    const fn place(self) -> &'static str {
        match self {
            Self::Rule => "in a rule",
            Self::Threshold => "in a threshold",
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Self::Rule => {
                "a rule sees contentLength, headers, host, load_1m, load_5m, load_15m, method, path, query, \
                 remoteAddress and userAgent, signals such as signal.crawl, and figures such as client.rate_1m"
            }
            Self::Threshold => "a threshold sees only `weight`",
        }
    }
}

/// How the texts of one expression belong together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Join {
    /// A list of which all must hold.
    All,
    /// A list of which one must hold.
    Any,
    /// One text.
    Single,
}

/// Why an expression is refused, and where in its text.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) range: Range<usize>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Refusal {
    fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self { range, message: message.into(), help: None }
    }

    fn advise(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// What became of the texts of an expression. Refusals and findings come with the index of their text.
pub(super) struct Outcome {
    /// The expression, if nothing refuses it.
    pub(super) expression: Option<Expression>,
    pub(super) refusals: Vec<(usize, Refusal)>,
    pub(super) findings: Vec<(usize, Finding)>,
}

/// Reads, checks and compiles an expression.
pub(super) fn compile(texts: &[&str], join: Join, scope: Scope) -> Outcome {
    let mut refusals = Vec::new();
    let mut asts: Vec<Ast> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        match parse::parse(text, join != Join::Single) {
            Ok(ast) => asts.push(ast),
            Err(refusal) => refusals.push((at, refusal)),
        }
    }
    // What did not parse hides what else is wrong only in that text.
    let whole = refusals.is_empty();
    let mut checker = Checker::new(scope);
    let mut nodes = Vec::new();
    let mut kind = Type::Bool;
    for (at, ast) in asts.iter().enumerate().filter(|_| whole) {
        if let [_] = texts {
            let typed = checker.check(ast);
            nodes.push(typed.node);
            kind = typed.kind;
        } else {
            nodes.push(checker.condition(ast, "each item of a list"));
        }
        refusals.extend(checker.refusals.drain(..).map(|r| (at, r)));
    }
    let mut findings = Vec::new();
    if let (true, Some(first)) = (refusals.is_empty(), asts.first()) {
        let first = first.range.clone();
        if !matches!(kind, Type::Bool | Type::Dyn) {
            let message = format!("this expression is {} and not a condition; it is never true", kind.noun());
            findings.push((0, Finding::new("L18", first, message)));
        } else if scope == Scope::Rule && !checker.reads.anything {
            findings
                .push((0, Finding::new("L18", first, "this expression looks at nothing, so it is constant")));
        }
        if scope == Scope::Rule {
            findings.extend(lint::check(&asts, join));
        }
    }
    let root = match nodes.len() {
        0 => None,
        1 => nodes.pop(),
        _ => Some(Node::Logic(join == Join::Any, nodes.into())),
    };
    let expression = root.filter(|_| refusals.is_empty()).map(|root| Expression {
        root,
        reads: checker.reads,
        source: joined(texts, join),
    });
    Outcome { expression, refusals, findings }
}

/// The texts as the one text that they amount to.
fn joined(texts: &[&str], join: Join) -> String {
    match texts {
        [one] => (*one).to_owned(),
        _ => {
            let items: Vec<_> = texts.iter().map(|text| format!("( {text} )")).collect();
            items.join(if join == Join::Any { " || " } else { " && " })
        }
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression {
    root: Node,
    reads: Reads,
    source: String,
}

/// Whether an expression holds for a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Holds {
    No,
    /// It depends on the lookups that were noted.
    Need,
    /// It has no value.
    Undecided(Fault),
    Yes,
}

impl Expression {
    /// Whether it holds for a request. A strict rule takes any reading of path and query that holds, a lenient one needs
    /// all of them; what depends on a lookup that failed falls on the rule's strict side. `salt` tells the rules of one
    /// request apart, so that `randInt` draws for each of them. Lookups that are needed are added to `lookups`.
    pub(super) fn holds(
        &self,
        scene: &Scene<'_, '_>,
        lenient: bool,
        salt: u64,
        lookups: &mut Vec<Lookup>,
    ) -> Holds {
        if lenient && self.reads.agent && scene.agents() {
            return Holds::No;
        }
        let decisive = !lenient;
        let mark = lookups.len();
        let chance = run::mixed(scene.facts.chance ^ run::mixed(salt));
        let paths = if self.reads.path { usize::MAX } else { 1 };
        let queries = if self.reads.query { scene.queries() } else { 1 };
        let mut stop = None;
        for path in scene.paths().take(paths) {
            for split in [false, true].into_iter().take(queries) {
                let inputs = Inputs::Request { scene, path, split };
                match self.truth(inputs, chance, lookups) {
                    Ok(truth) if truth == decisive => {
                        lookups.truncate(mark);
                        return if decisive { Holds::Yes } else { Holds::No };
                    }
                    Ok(_) => {}
                    Err(reason) => stop = Some(reason.or(stop)),
                }
            }
        }
        if stop != Some(Stop::Need) {
            lookups.truncate(mark);
        }
        match stop {
            Some(Stop::Need) => Holds::Need,
            Some(Stop::Fault(fault)) => Holds::Undecided(fault),
            Some(Stop::Unknown) => {
                if lenient {
                    Holds::No
                } else {
                    Holds::Yes
                }
            }
            None => {
                if lenient {
                    Holds::Yes
                } else {
                    Holds::No
                }
            }
        }
    }

    /// Whether it holds for a weight.
    pub(super) fn holds_at(&self, weight: i64, chance: u64) -> Result<bool, Fault> {
        match self.truth(Inputs::Weight(weight), run::mixed(chance), &mut Vec::new()) {
            Ok(truth) => Ok(truth),
            Err(Stop::Fault(fault)) => Err(fault),
            Err(Stop::Need | Stop::Unknown) => Err(Fault::Type),
        }
    }

    /// Anything but true is not true.
    fn truth(&self, inputs: Inputs<'_, '_>, chance: u64, lookups: &mut Vec<Lookup>) -> Result<bool, Stop> {
        let mut run = Run::new(inputs, chance);
        let value = run.value(&self.root);
        if value.as_ref().is_err_and(|s| *s == Stop::Need) {
            run.lookups.retain(|l| !lookups.contains(l));
            lookups.append(&mut run.lookups);
        }
        Ok(matches!(value?, Value::Bool(true)))
    }

    /// What a request must show for it to hold, if its form tells.
    pub(super) fn key(&self) -> Option<Key> {
        key::key(&self.root)
    }

    /// The texts it was made of, joined.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is certain that it holds for everything.
    pub(super) fn always_holds(&self) -> bool {
        !self.reads.anything && self.holds_at(0, 0) == Ok(true)
    }

    /// Whether it looks at the `User-Agent` and at nothing else.
    pub(super) fn reads_only_the_agent(&self) -> bool {
        self.reads.agent && !self.reads.others
    }

    /// Whether chance is part of it.
    pub(super) fn is_random(&self) -> bool {
        self.reads.chance
    }

    /// Whether it looks up names or addresses.
    pub(super) fn looks_up(&self) -> bool {
        self.reads.names
    }

    /// Whether it holds only for an address whose name leads back to it and matches a pattern.
    pub(super) fn confirms_names(&self) -> bool {
        confirms_names(&self.root)
    }

    /// Whether it asks what is remembered of an autonomous system.
    pub(super) fn asks_asn(&self) -> bool {
        self.reads.asn
    }

    /// The numbers that are written in it: where its value for a weight may change.
    pub(super) fn literals(&self, out: &mut Vec<i64>) {
        literals(&self.root, out);
    }
}

fn confirms_names(node: &Node) -> bool {
    match node {
        Node::Verify(address, _) => matches!(**address, Node::Variable(tree::Variable::Client)),
        Node::Logic(false, operands) => operands.iter().any(confirms_names),
        Node::Logic(true, operands) => operands.iter().all(confirms_names),
        _ => false,
    }
}

fn literals(node: &Node, out: &mut Vec<i64>) {
    let constants = |constant: &Constant, out: &mut Vec<i64>| match constant {
        Constant::Int(value) => out.push(*value),
        Constant::List(items) => {
            out.extend(items.iter().filter_map(|i| if let Constant::Int(n) = i { Some(*n) } else { None }));
        }
        _ => {}
    };
    match node {
        Node::Constant(constant) => constants(constant, out),
        Node::Binary(_, pair) | Node::Has(pair) | Node::Index(pair) => {
            pair.iter().for_each(|n| literals(n, out))
        }
        Node::Call(_, items) | Node::List(items) | Node::Logic(_, items) => {
            items.iter().for_each(|n| literals(n, out));
        }
        Node::Conditional(three) => three.iter().for_each(|n| literals(n, out)),
        Node::Macro(_, parts) => {
            [&parts.range, &parts.body].into_iter().chain(&parts.condition).for_each(|n| literals(n, out));
        }
        Node::Map(entries) => entries.iter().flat_map(|(k, v)| [k, v]).for_each(|n| literals(n, out)),
        Node::Negative(inner) | Node::Not(inner) | Node::Matches(inner, _) | Node::Verify(inner, _) => {
            literals(inner, out);
        }
        Node::Kind(_) | Node::Local(_) | Node::Variable(_) => {}
    }
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
