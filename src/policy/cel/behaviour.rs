//! The names of signals and figures in expressions: `signal.crawl`, `client.rate_1m`.

use std::ops::Range;

use super::Scope;
use super::ast::{Ast, Kind};
use super::check::{Checker, Typed};
use super::tree::{Node, Variable};
use crate::behaviour::{Figure, Signal};
use crate::policy::document::nearest;

impl Checker {
    /// A signal or a figure, if that is what is named: `signal.crawl`, `client.rate_1m`.
    pub(super) fn behaviour(&mut self, target: &Ast, field: &str, range: &Range<usize>) -> Option<Typed> {
        let Kind::Name(group) = &target.kind else { return None };
        if self.is_local(group) || !is_behaviour(group) {
            return None;
        }
        let name = format!("{group}.{field}");
        if self.scope != Scope::Rule {
            let message = format!("`{name}` is not known {}", self.scope.place());
            return Some(self.fail(range, message, Some(self.scope.help().to_owned())));
        }
        let found = if group == SIGNAL {
            Signal::named(field).map(Variable::Signal)
        } else {
            Figure::named(&name).map(Variable::Figure)
        };
        let Some(variable) = found else {
            let known: Vec<_> =
                behaviours().filter(|known| known.starts_with(&format!("{group}."))).collect();
            let help = match nearest(&name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", known.join(", ")),
            };
            return Some(self.fail(range, format!("there is no `{name}`"), Some(help)));
        };
        self.note(variable);
        Some(Typed { node: Node::Variable(variable), kind: variable.to_type() })
    }
}

/// What the names of signals begin with.
const SIGNAL: &str = "signal";

/// The names of everything that is known of behaviour.
fn behaviours() -> impl Iterator<Item = String> {
    let signals = Signal::all().map(|signal| format!("{SIGNAL}.{}", signal.name()));
    signals.chain(Figure::all().map(|figure| figure.name().to_owned()))
}

/// Whether such names begin with this word.
pub(super) fn is_behaviour(word: &str) -> bool {
    behaviours().any(|name| name.split('.').next() == Some(word))
}
