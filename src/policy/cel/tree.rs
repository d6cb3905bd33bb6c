//! The compiled form of an expression: names resolved, types checked, patterns ready.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::ast::Operator;
use super::constant::Constant;
use super::function::Function;
use super::stop::{Budget, Fault, Stop};
use super::value::Kind;
use crate::behaviour::{Figure, Signal};
use crate::policy::pattern::Pattern;

/// A part of a compiled expression.
#[derive(Debug)]
pub(super) enum Node {
    Binary(Operator, Box<[Self; 2]>),
    Call(Function, Box<[Self]>),
    Conditional(Box<[Self; 3]>),
    Constant(Constant),
    /// Whether a map has a key.
    Has(Box<[Self; 2]>),
    Index(Box<[Self; 2]>),
    Kind(Kind),
    List(Box<[Self]>),
    /// A variable of a macro, counted from the outermost one.
    Local(usize),
    /// Operands of which one with this value decides.
    Logic(bool, Box<[Self]>),
    Macro(Macro, Box<Loop>),
    Map(Box<[(Self, Self)]>),
    Matches(Box<Self>, Search),
    Negative(Box<Self>),
    Not(Box<Self>),
    Variable(Variable),
    Verify(Box<Self>, Search),
}

/// What a rule or a threshold may look at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Variable {
    Agent,
    Client,
    ContentLength,
    /// A number that memory keeps.
    Figure(Figure),
    Headers,
    Host,
    /// A load average: of one, five and fifteen minutes.
    Load(usize),
    Method,
    Path,
    Query,
    Signal(Signal),
    Weight,
}

/// A macro over the items of a list or the keys of a map.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Macro {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

/// What a macro goes through, and what it evaluates for each item.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) range: Node,
    /// The condition of a `map` that has one.
    pub(super) condition: Option<Node>,
    pub(super) body: Node,
}

/// A pattern, known when the policy loads or only when it is evaluated.
#[derive(Debug)]
pub(super) enum Search {
    Ready(Pattern),
    /// A constant that is no pattern, where that is an error only once it is evaluated.
    Broken,
    Late(Box<Node>, Cache),
}

/// How many patterns that came up at run time are kept for each place in an expression.
const CACHED: usize = 256;

/// The longest pattern that is compiled at run time, in bytes.
const MAX_LATE: usize = 1024;

/// The steps that compiling a pattern at run time takes, and those for each byte of it.
const STEPS_TO_COMPILE: (usize, usize) = (100, 4);

/// The last patterns that came up at run time.
#[derive(Default)]
pub(super) struct Cache(Mutex<VecDeque<Late>>);

/// A pattern that came up; `None` is what was no pattern.
type Late = (Box<str>, Option<Arc<Pattern>>);

impl Cache {
    /// The compiled pattern. What comes up often is compiled once; what a visitor varies costs a bounded compilation each
    /// time, which counts as steps of the evaluation. An error if it is too long, too large or no pattern.
    pub(super) fn get(&self, text: &str, budget: &mut Budget) -> Result<Arc<Pattern>, Stop> {
        let fault = Stop::Fault(Fault::Pattern);
        if text.len() > MAX_LATE {
            return Err(fault);
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pattern)) = known.iter().find(|(known, _)| **known == *text) {
            return pattern.clone().ok_or(fault);
        }
        // Others may go on while this one compiles.
        drop(known);
        budget.spend(STEPS_TO_COMPILE.0 + STEPS_TO_COMPILE.1 * text.len())?;
        let pattern = Pattern::compile_late(text).ok().map(Arc::new);
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() == CACHED {
            list.pop_front();
        }
        list.push_back((text.into(), pattern.clone()));
        pattern.ok_or(fault)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cache")
    }
}
