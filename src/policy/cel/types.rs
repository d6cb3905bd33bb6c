//! The types of CEL as they are known before anything is evaluated.

use std::fmt;

/// A type.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Type {
    Bool,
    Bytes,
    Double,
    Duration,
    /// Known only when it is evaluated.
    Dyn,
    /// Of what an empty list or map would hold: fits everywhere.
    Free,
    Int,
    /// A type as a value.
    Kind,
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
    Null,
    Text,
    Timestamp,
    Uint,
}

impl Type {
    /// A list of text.
    pub(super) fn texts() -> Self {
        Self::List(Box::new(Self::Text))
    }

    /// Whether nothing is known about it yet.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Dyn | Self::Free)
    }

    /// Whether a value of one type may stand where the other is wanted.
    pub(super) fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (a, b) if a.is_open() || b.is_open() => true,
            (Self::List(a), Self::List(b)) => a.fits(b),
            (Self::Map(a, x), Self::Map(b, y)) => a.fits(b) && x.fits(y),
            (Self::Null, Self::Duration | Self::Timestamp)
            | (Self::Duration | Self::Timestamp, Self::Null) => true,
            (a, b) => a == b,
        }
    }

    /// The one type for values of both: the same, or dynamic.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Free, b) => b,
            (a, Self::Free) => a,
            (Self::List(a), Self::List(b)) => Self::List(Box::new(a.join(*b))),
            (Self::Map(a, x), Self::Map(b, y)) => Self::Map(Box::new(a.join(*b)), Box::new(x.join(*y))),
            (a, b) if a == b => a,
            _ => Self::Dyn,
        }
    }

    /// The name with its article, for messages.
    pub(super) fn noun(&self) -> String {
        format!("{} {self}", if *self == Self::Int { "an" } else { "a" })
    }

    /// Whether it holds a part that is only known when it is evaluated.
    #[cfg(test)]
    pub(super) fn has_dyn(&self) -> bool {
        match self {
            Self::Dyn | Self::Free => true,
            Self::List(a) => a.has_dyn(),
            Self::Map(a, b) => a.has_dyn() || b.has_dyn(),
            _ => false,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::Bytes => "bytes",
            Self::Double => "double",
            Self::Duration => "duration",
            Self::Dyn | Self::Free => "dyn",
            Self::Int => "int",
            Self::Kind => "type",
            Self::List(item) => return write!(f, "list({item})"),
            Self::Map(key, value) => return write!(f, "map({key}, {value})"),
            Self::Null => "null",
            Self::Text => "string",
            Self::Timestamp => "timestamp",
            Self::Uint => "uint",
        })
    }
}
