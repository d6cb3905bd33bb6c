//! An expression as it is written, with the bytes every part stands on.

use std::ops::Range;

use super::constant::Constant;

/// A part of an expression.
#[derive(Clone, Debug)]
pub(super) struct Ast {
    pub(super) kind: Kind,
    /// The bytes it is blamed at.
    pub(super) range: Range<usize>,
    /// How many levels are below it.
    pub(super) depth: usize,
}

/// What a part is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Binary(Operator, Box<[Ast; 2]>),
    Call(Call),
    Conditional(Box<[Ast; 3]>),
    Constant(Constant),
    Index(Box<[Ast; 2]>),
    List(Vec<Ast>),
    /// `&&` and `||` with all their operands; the flag is the value of an operand that decides.
    Logic(bool, Vec<Ast>),
    Map(Vec<(Ast, Ast)>),
    Name(String),
    Negative(Box<Ast>),
    Not(Box<Ast>),
    Select(Box<Ast>, String),
}

/// A call: `name(args)` or `target.name(args)`.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) target: Option<Box<Ast>>,
    pub(super) args: Vec<Ast>,
}

/// An operator between two operands, but for the logical ones.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Operator {
    Add,
    Divide,
    Equal,
    Greater,
    GreaterOrEqual,
    In,
    Less,
    LessOrEqual,
    Multiply,
    NotEqual,
    Remainder,
    Subtract,
}

impl Operator {
    /// As it is written.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Divide => "/",
            Self::Equal => "==",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Multiply => "*",
            Self::NotEqual => "!=",
            Self::Remainder => "%",
            Self::Subtract => "-",
        }
    }
}

impl Ast {
    pub(super) fn new(kind: Kind, range: Range<usize>) -> Self {
        let depth = kind.children().map(|c| c.depth + 1).max().unwrap_or(0);
        Self { kind, range, depth }
    }

    /// The text, if it is a constant one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Constant(Constant::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether it is this name.
    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Name(n) if n == name)
    }
}

impl Kind {
    /// The parts of it.
    pub(super) fn children(&self) -> impl Iterator<Item = &Ast> {
        let (one, many, pairs): (Option<&Ast>, &[Ast], &[(Ast, Ast)]) = match self {
            Self::Binary(_, pair) | Self::Index(pair) => (None, &**pair, &[]),
            Self::Call(call) => (call.target.as_deref(), &call.args, &[]),
            Self::Conditional(three) => (None, &**three, &[]),
            Self::Constant(_) | Self::Name(_) => (None, &[], &[]),
            Self::List(items) | Self::Logic(_, items) => (None, items, &[]),
            Self::Map(entries) => (None, &[], entries),
            Self::Negative(inner) | Self::Not(inner) | Self::Select(inner, _) => (Some(inner), &[], &[]),
        };
        one.into_iter().chain(many).chain(pairs.iter().flat_map(|(k, v)| [k, v]))
    }
}
