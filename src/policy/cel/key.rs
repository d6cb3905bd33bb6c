//! What a request must show for an expression to hold, as far as its form tells: a rule can be filed under that.
//!
//! An operand that is false decides a conjunction whatever the others are, errors and lookups included, so that the key of
//! one operand speaks for the whole. What can be an error by itself has no key: `headers["X"]` without the header is one.

use super::ast::Operator;
use super::constant::Constant;
use super::function::Function;
use super::tree::{Node, Search, Variable};
use crate::policy::index::Key;
use crate::policy::pattern::Needles;
use crate::policy::read::never_there;

/// The best key there is.
pub(super) fn key(node: &Node) -> Option<Key> {
    match node {
        Node::Logic(false, operands) => operands.iter().filter_map(key).reduce(Key::better),
        Node::Logic(true, operands) => {
            let keys: Option<Vec<_>> = operands.iter().map(key).collect();
            let mut keys = keys?.into_iter();
            let first = keys.next()?;
            keys.try_fold(first, Key::either)
        }
        Node::Binary(Operator::Equal, pair) => match &**pair {
            [subject, Node::Constant(text)] | [Node::Constant(text), subject] => of(subject, needles(text)?),
            _ => None,
        },
        Node::Binary(Operator::In, pair) => match &**pair {
            [Node::Constant(Constant::Text(name)), Node::Variable(Variable::Headers)] => header(name),
            [subject, Node::Constant(list @ Constant::List(_))] => of(subject, needles(list)?),
            _ => None,
        },
        Node::Has(pair) => match &**pair {
            [Node::Variable(Variable::Headers), Node::Constant(Constant::Text(name))] => header(name),
            _ => None,
        },
        Node::Call(Function::Contains | Function::EndsWith | Function::StartsWith, args) => match &**args {
            [subject, Node::Constant(text)] => of(subject, needles(text)?),
            _ => None,
        },
        Node::Matches(subject, Search::Ready(pattern)) => of(subject, pattern.needles()?.clone()),
        _ => None,
    }
}

/// A text, or each of a list: none of them may be empty.
fn needles(constant: &Constant) -> Option<Needles> {
    let text = |constant: &Constant| match constant {
        Constant::Text(text) if !text.is_empty() => Some(text.to_ascii_lowercase().into_bytes()),
        _ => None,
    };
    match constant {
        Constant::List(items) if items.is_empty() => None,
        Constant::List(items) => items.iter().map(text).collect(),
        other => Some(vec![text(other)?]),
    }
}

fn of(subject: &Node, needles: Needles) -> Option<Key> {
    match subject {
        Node::Variable(Variable::Agent) => Some(Key::Agent(needles)),
        Node::Variable(Variable::Host) => Some(Key::Host(needles)),
        Node::Variable(Variable::Path) => Some(Key::Path(needles)),
        // Needles are found in any case.
        Node::Call(Function::LowerAscii | Function::UpperAscii, args) => of(args.first()?, needles),
        _ => None,
    }
}

/// `X-Real-Ip` reads as the client's address, whether or not it was sent.
fn header(name: &str) -> Option<Key> {
    let sent = !never_there(name) && !name.eq_ignore_ascii_case("x-real-ip");
    sent.then(|| Key::Header(name.to_ascii_lowercase(), Needles::new()))
}
