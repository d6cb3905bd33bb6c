//! Values while an expression is evaluated: borrowed from the request or the expression where that is possible, and
//! cheap to copy where it is not.

use std::cmp::Ordering;
use std::ops::Deref;
use std::rc::Rc;

use super::constant::Constant;
use super::stop::{Budget, Stop};

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Bool(bool),
    Bytes(Rc<[u8]>),
    Double(f64),
    /// Nanoseconds.
    Duration(i64),
    Int(i64),
    Kind(Kind),
    List(List<'a>),
    Map(Map<'a>),
    Null,
    Text(Text<'a>),
    /// Nanoseconds since 1970; CEL's years 1 to 9999 need more than 64 bits of them.
    Timestamp(i128),
    Uint(u64),
}

/// A text.
#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

/// A list: constants of the expression, or values that came up.
#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    Constants(&'a [Constant]),
    Values(Rc<[Value<'a>]>),
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Constants(items) => items.len(),
            Self::Values(items) => items.len(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<Value<'a>> {
        match self {
            Self::Constants(items) => items.get(at).map(Value::of),
            Self::Values(items) => items.get(at).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

/// A map. Those of a request are looked up in it and never built.
#[derive(Clone, Debug)]
pub(super) enum Map<'a> {
    Entries(Rc<[(Value<'a>, Value<'a>)]>),
    Headers,
    Query,
}

/// The types that a value can have when it is there; also a value itself, as `type(x)` yields it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Bool,
    Bytes,
    Double,
    Duration,
    Int,
    List,
    Map,
    Null,
    Text,
    Timestamp,
    Type,
    Uint,
}

impl Kind {
    /// The type that a name in an expression stands for.
    pub(super) fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Bool,
            Self::Bytes,
            Self::Double,
            Self::Int,
            Self::List,
            Self::Map,
            Self::Null,
            Self::Text,
            Self::Type,
            Self::Uint,
        ];
        all.into_iter().find(|k| k.as_str() == name)
    }

    /// The name that CEL gives it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Bytes => "bytes",
            Self::Double => "double",
            Self::Duration => "google.protobuf.Duration",
            Self::Int => "int",
            Self::List => "list",
            Self::Map => "map",
            Self::Null => "null_type",
            Self::Text => "string",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Type => "type",
            Self::Uint => "uint",
        }
    }
}

impl<'a> Value<'a> {
    /// The value of a constant.
    pub(super) fn of(constant: &'a Constant) -> Self {
        match constant {
            Constant::Bool(value) => Self::Bool(*value),
            Constant::Bytes(bytes) => Self::Bytes((&**bytes).into()),
            Constant::Double(value) => Self::Double(*value),
            Constant::Int(value) => Self::Int(*value),
            Constant::List(items) => Self::List(List::Constants(items)),
            Constant::Null => Self::Null,
            Constant::Text(text) => Self::Text(Text::Borrowed(text)),
            Constant::Uint(value) => Self::Uint(*value),
        }
    }

    /// A text of its own.
    pub(super) fn owned(text: impl Into<Rc<str>>) -> Self {
        Self::Text(Text::Shared(text.into()))
    }

    /// What it is.
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::Bytes(_) => Kind::Bytes,
            Self::Double(_) => Kind::Double,
            Self::Duration(_) => Kind::Duration,
            Self::Int(_) => Kind::Int,
            Self::Kind(_) => Kind::Type,
            Self::List(_) => Kind::List,
            Self::Map(_) => Kind::Map,
            Self::Null => Kind::Null,
            Self::Text(_) => Kind::Text,
            Self::Timestamp(_) => Kind::Timestamp,
            Self::Uint(_) => Kind::Uint,
        }
    }

    /// Whether two values are equal. Numbers are compared by what they are worth, values of other types are different,
    /// and the maps of a request equal nothing, not even themselves, as in Anubis.
    pub(super) fn equals(&self, other: &Self, budget: &mut Budget) -> Result<bool, Stop> {
        budget.spend(1)?;
        Ok(match (self, other) {
            (Self::Kind(a), Self::Kind(b)) => a == b,
            (Self::List(a), Self::List(b)) if a.len() == b.len() => {
                for (a, b) in a.iter().zip(b.iter()) {
                    if !a.equals(&b, budget)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Self::Map(Map::Entries(a)), Self::Map(Map::Entries(b))) if a.len() == b.len() => {
                for (key, value) in a.iter() {
                    match entry(b, key, budget)? {
                        Some(other) if value.equals(&other, budget)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (Self::Null, Self::Null) => true,
            _ => self.order(other) == Some(Ordering::Equal),
        })
    }

    /// How two values are ordered; `None` if they are not, such as a NaN, or values that have no order.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Duration(a), Self::Duration(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some((**a).cmp(&**b)),
            (Self::Timestamp(a), Self::Timestamp(b)) => Some(a.cmp(b)),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(b),
            (Self::Double(a), b) => b.integer().and_then(|b| order_double(b, *a)).map(Ordering::reverse),
            (a, Self::Double(b)) => a.integer().and_then(|a| order_double(a, *b)),
            (a, b) => Some(a.integer()?.cmp(&b.integer()?)),
        }
    }

    fn integer(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(i128::from(*value)),
            Self::Uint(value) => Some(i128::from(*value)),
            _ => None,
        }
    }
}

/// The value of a key among entries.
pub(super) fn entry<'a>(
    entries: &[(Value<'a>, Value<'a>)],
    key: &Value<'_>,
    budget: &mut Budget,
) -> Result<Option<Value<'a>>, Stop> {
    for (known, value) in entries {
        if known.equals(key, budget)? {
            return Ok(Some(value.clone()));
        }
    }
    Ok(None)
}

/// Compares a whole number of 64 bits with a double, exactly.
fn order_double(a: i128, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    if b.abs() >= 1e20 {
        return Some(if b > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is cut on purpose, and smaller than 1e20")]
    let whole = b.trunc() as i128;
    Some(a.cmp(&whole).then_with(|| 0.0_f64.total_cmp(&(b.fract() + 0.0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_different_types_are_compared_by_their_worth() {
        for (a, b, want) in [
            (Value::Int(1), Value::Double(1.5), Some(Ordering::Less)),
            (Value::Int(-1), Value::Double(-1.5), Some(Ordering::Greater)),
            (Value::Int(2), Value::Double(2.0), Some(Ordering::Equal)),
            (Value::Int(0), Value::Double(-0.0), Some(Ordering::Equal)),
            (Value::Uint(u64::MAX), Value::Int(-1), Some(Ordering::Greater)),
            (Value::Double(1e30), Value::Uint(u64::MAX), Some(Ordering::Greater)),
            (Value::Double(f64::NAN), Value::Int(1), None),
            (Value::Int(i64::MAX), Value::Double(9_223_372_036_854_775_808.0), Some(Ordering::Less)),
            (Value::Null, Value::Int(1), None),
        ] {
            assert_eq!(a.order(&b), want, "{a:?} {b:?}");
        }
    }
}
