//! Conversions between types.

use super::function::Function;
use super::stop::{Budget, Fault, Stop};
use super::time;
use super::value::{Text, Value};

/// Two to the power of 63 and of 64, the first doubles that do not fit.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// Converts a value.
pub(super) fn convert<'a>(
    function: Function,
    value: &Value<'a>,
    budget: &mut Budget,
) -> Result<Value<'a>, Stop> {
    let same = matches!(
        (function, value),
        (Function::Bool, Value::Bool(_))
            | (Function::Bytes, Value::Bytes(_))
            | (Function::Double, Value::Double(_))
            | (Function::Duration, Value::Duration(_))
            | (Function::Int, Value::Int(_))
            | (Function::Text, Value::Text(_))
            | (Function::Timestamp, Value::Timestamp(_))
            | (Function::Uint, Value::Uint(_))
    );
    if same {
        return Ok(value.clone());
    }
    match function {
        Function::Bool => boolean(value),
        Function::Bytes => match value {
            Value::Text(text) => Ok(Value::Bytes(text.as_bytes().into())),
            _ => Err(Fault::Type.into()),
        },
        Function::Double => double(value).map(Value::Double),
        Function::Duration => match value {
            Value::Text(text) => {
                time::parse_duration(text).map(Value::Duration).ok_or(Stop::Fault(Fault::Argument))
            }
            _ => Err(Fault::Type.into()),
        },
        Function::Int => int(value),
        Function::Text => {
            let text = text(value)?;
            budget.text(text.len())?;
            Ok(Value::Text(text))
        }
        Function::Timestamp => time::timestamp(value),
        Function::Uint => uint(value),
        _ => Err(Fault::Type.into()),
    }
}

/// The spellings that Go takes for a boolean.
fn boolean<'a>(value: &Value<'_>) -> Result<Value<'a>, Stop> {
    let Value::Text(text) = value else { return Err(Fault::Type.into()) };
    match &**text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
        _ => Err(Fault::Argument.into()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a double is the nearest one to a number, as in Go")]
fn double(value: &Value<'_>) -> Result<f64, Stop> {
    match value {
        Value::Int(value) => Ok(*value as f64),
        Value::Uint(value) => Ok(*value as f64),
        Value::Text(text) => text.parse().map_err(|_| Fault::Argument.into()),
        _ => Err(Fault::Type.into()),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked, and the fraction is cut as in Go")]
fn int<'a>(value: &Value<'_>) -> Result<Value<'a>, Stop> {
    let number = match value {
        Value::Double(value) if *value > -TWO_63 && *value < TWO_63 => Some(*value as i64),
        Value::Double(_) => None,
        Value::Uint(value) => i64::try_from(*value).ok(),
        Value::Timestamp(nanos) => i64::try_from(nanos.div_euclid(1_000_000_000)).ok(),
        Value::Text(text) => return text.parse().map(Value::Int).map_err(|_| Fault::Argument.into()),
        _ => return Err(Fault::Type.into()),
    };
    number.map(Value::Int).ok_or(Stop::Fault(Fault::Overflow))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked, and the fraction is cut as in Go"
)]
fn uint<'a>(value: &Value<'_>) -> Result<Value<'a>, Stop> {
    let number = match value {
        Value::Double(value) if *value >= 0.0 && *value < TWO_64 => Some(*value as u64),
        Value::Double(_) => None,
        Value::Int(value) => u64::try_from(*value).ok(),
        Value::Text(text) => return text.parse().map(Value::Uint).map_err(|_| Fault::Argument.into()),
        _ => return Err(Fault::Type.into()),
    };
    number.map(Value::Uint).ok_or(Stop::Fault(Fault::Overflow))
}

fn text<'a>(value: &Value<'a>) -> Result<Text<'a>, Stop> {
    let text = match value {
        Value::Bool(value) => value.to_string(),
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec()).map_err(|_| Fault::Argument)?,
        Value::Double(value) => double_text(*value),
        Value::Duration(nanos) => time::duration_text(*nanos),
        Value::Int(value) => value.to_string(),
        Value::Text(text) => return Ok(text.clone()),
        Value::Timestamp(nanos) => time::timestamp_text(*nanos),
        Value::Uint(value) => value.to_string(),
        _ => return Err(Fault::Type.into()),
    };
    Ok(Text::Shared(text.into()))
}

/// A double in the shortest form that reads back, as Go's `%g`: large and small ones with an exponent.
pub(super) fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let size = value.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}
