//! Calls of functions, and arithmetic.

use super::ast::Operator;
use super::convert;
use super::format;
use super::function::Function;
use super::names::arpa;
use super::run::Run;
use super::stop::{Fault, Stop};
use super::string;
use super::time;
use super::tree::Node;
use super::value::{List, Text, Value};

impl<'a> Run<'a, '_> {
    /// Calls a function. The arguments are evaluated first; one without a value leaves the call without one.
    pub(super) fn call(&mut self, function: Function, args: &'a [Node]) -> Result<Value<'a>, Stop> {
        let mut values: [Value<'a>; 4] = [const { Value::Null }; 4];
        for (value, arg) in values.iter_mut().zip(args) {
            *value = self.value(arg)?;
        }
        for value in &values {
            if let Value::Text(text) = value {
                self.budget.read(text.len())?;
            }
        }
        match (function, &values) {
            (Function::ArpaReverseIp, [Value::Text(text), ..]) => arpa(text).map(Value::owned),
            (Function::Dyn, [value, ..]) => Ok(value.clone()),
            (Function::LookupHost, [Value::Text(name), ..]) => self.lookup_host(name),
            (Function::MissingHeader, [headers @ Value::Map(_), name, ..]) => {
                Ok(Value::Bool(self.get(headers, name)?.is_none()))
            }
            (Function::RandInt, [Value::Int(below), ..]) => self.draw(*below),
            (Function::ReverseDns, [Value::Text(address), ..]) => self.reverse_dns(address),
            (Function::VerifyFcrdns, [Value::Text(address), ..]) => {
                self.verify(address, None::<fn(&str) -> bool>).map(Value::Bool)
            }
            (Function::Segments, [Value::Text(path), ..]) => {
                let rest = path.strip_prefix('/').ok_or(Fault::Argument)?;
                string::split(path, rest, "/", -1, &mut self.budget)
            }
            (Function::Size, [value, ..]) => {
                let size = match value {
                    Value::Bytes(bytes) => bytes.len(),
                    Value::List(list) => list.len(),
                    Value::Map(map) => self.count(map)?,
                    Value::Text(text) => text.chars().count(),
                    _ => return Err(Fault::Type.into()),
                };
                i64::try_from(size).map(Value::Int).map_err(|_| Fault::Overflow.into())
            }
            (Function::Type, [value, ..]) => Ok(Value::Kind(value.kind())),
            (Function::Format, [Value::Text(format), Value::List(list), ..]) => {
                format::format(format, list, &mut self.budget).map(Value::owned)
            }
            (Function::Join, [Value::List(list), separator, ..]) => {
                let separator = match separator {
                    Value::Text(text) => &**text,
                    _ => "",
                };
                string::join(list, separator, &mut self.budget)
            }
            (Function::Get(part), [value, zone, ..]) => {
                let zone = match zone {
                    Value::Text(text) => &**text,
                    _ => "UTC",
                };
                time::get(value, part, zone).map(Value::Int)
            }
            (
                Function::Bool
                | Function::Bytes
                | Function::Double
                | Function::Duration
                | Function::Int
                | Function::Text
                | Function::Timestamp
                | Function::Uint,
                [value, ..],
            ) => convert::convert(function, value, &mut self.budget),
            (function, [Value::Text(text), rest @ ..]) => {
                string::call(function, text, &rest[..args.len() - 1], &mut self.budget)
            }
            _ => Err(Fault::Type.into()),
        }
    }

    pub(super) fn arithmetic(
        &mut self,
        operator: Operator,
        left: Value<'a>,
        right: Value<'a>,
    ) -> Result<Value<'a>, Stop> {
        use Operator as O;
        let zero = matches!(right, Value::Int(0) | Value::Uint(0));
        if zero && matches!(operator, O::Divide | O::Remainder) {
            return Err(Fault::Division.into());
        }
        let value = match (operator, left, right) {
            (O::Add, Value::Int(a), Value::Int(b)) => a.checked_add(b).map(Value::Int),
            (O::Subtract, Value::Int(a), Value::Int(b)) => a.checked_sub(b).map(Value::Int),
            (O::Multiply, Value::Int(a), Value::Int(b)) => a.checked_mul(b).map(Value::Int),
            (O::Divide, Value::Int(a), Value::Int(b)) => a.checked_div(b).map(Value::Int),
            (O::Remainder, Value::Int(a), Value::Int(b)) => a.checked_rem(b).map(Value::Int),
            (O::Add, Value::Uint(a), Value::Uint(b)) => a.checked_add(b).map(Value::Uint),
            (O::Subtract, Value::Uint(a), Value::Uint(b)) => a.checked_sub(b).map(Value::Uint),
            (O::Multiply, Value::Uint(a), Value::Uint(b)) => a.checked_mul(b).map(Value::Uint),
            (O::Divide, Value::Uint(a), Value::Uint(b)) => a.checked_div(b).map(Value::Uint),
            (O::Remainder, Value::Uint(a), Value::Uint(b)) => a.checked_rem(b).map(Value::Uint),
            (O::Add, Value::Double(a), Value::Double(b)) => Some(Value::Double(a + b)),
            (O::Subtract, Value::Double(a), Value::Double(b)) => Some(Value::Double(a - b)),
            (O::Multiply, Value::Double(a), Value::Double(b)) => Some(Value::Double(a * b)),
            (O::Divide, Value::Double(a), Value::Double(b)) => Some(Value::Double(a / b)),
            (O::Add, Value::Text(a), Value::Text(b)) => return self.concat(a, b),
            (O::Add, Value::Bytes(a), Value::Bytes(b)) => {
                self.budget.text(a.len() + b.len())?;
                Some(Value::Bytes([&*a, &*b].concat().into()))
            }
            (O::Add, Value::List(a), Value::List(b)) => {
                self.budget.items(a.len() + b.len())?;
                Some(Value::List(List::Values(a.iter().chain(b.iter()).collect())))
            }
            (operator, left, right) => return time::arithmetic(operator, &left, &right),
        };
        value.ok_or(Stop::Fault(Fault::Overflow))
    }

    fn concat(&mut self, a: Text<'a>, b: Text<'a>) -> Result<Value<'a>, Stop> {
        self.budget.text(a.len() + b.len())?;
        Ok(match (a.is_empty(), b.is_empty()) {
            (_, true) => Value::Text(a),
            (true, _) => Value::Text(b),
            _ => Value::owned([&*a, &*b].concat()),
        })
    }
}
