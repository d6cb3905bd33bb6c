//! Values that are written in an expression.

use super::types::Type;

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    Bool(bool),
    Bytes(Box<[u8]>),
    Double(f64),
    Int(i64),
    List(Box<[Self]>),
    Null,
    Text(Box<str>),
    Uint(u64),
}

impl Constant {
    /// Its type, but for a list, whose type its parts decide.
    pub(super) fn simple_type(&self) -> Type {
        match self {
            Self::Bool(_) => Type::Bool,
            Self::Bytes(_) => Type::Bytes,
            Self::Double(_) => Type::Double,
            Self::Int(_) => Type::Int,
            Self::List(_) => Type::List(Box::new(Type::Free)),
            Self::Null => Type::Null,
            Self::Text(_) => Type::Text,
            Self::Uint(_) => Type::Uint,
        }
    }
}
