//! `"%s is %d".format([a, b])`.

use std::fmt::Write as _;

use super::convert::double_text;
use super::stop::{Budget, Fault, Stop};
use super::time;
use super::value::{List, Map, Value};

/// The most digits after the point that may be asked for.
const MAX_PRECISION: usize = 100;

/// Puts the values of a list into a text.
pub(super) fn format(format: &str, list: &List<'_>, budget: &mut Budget) -> Result<String, Stop> {
    let mut out = String::new();
    let mut next = 0;
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let mut precision = None;
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(|c: char| !c.is_ascii_digit()).ok_or(Fault::Argument)?;
            let digits = after[..end].parse().ok().filter(|n| *n <= MAX_PRECISION).ok_or(Fault::Argument)?;
            precision = Some(digits);
            rest = &after[end..];
        }
        let verb = rest.chars().next().ok_or(Fault::Argument)?;
        rest = &rest[verb.len_utf8()..];
        let value = list.get(next).ok_or(Fault::Index)?;
        next += 1;
        one(&mut out, verb, precision.unwrap_or(6), &value, budget)?;
        budget.text(out.len())?;
    }
    out.push_str(rest);
    budget.text(out.len())?;
    Ok(out)
}

fn one(
    out: &mut String,
    verb: char,
    precision: usize,
    value: &Value<'_>,
    budget: &mut Budget,
) -> Result<(), Stop> {
    // Writing to a text cannot fail.
    let written = match (verb, value) {
        ('s', value) => return shown(out, value, budget),
        ('d', Value::Int(n)) => write!(out, "{n}"),
        ('d', Value::Uint(n)) => write!(out, "{n}"),
        ('b', Value::Bool(truth)) => write!(out, "{}", u8::from(*truth)),
        ('b', value) => digits(out, value, |out, n| write!(out, "{n:b}"))?,
        ('o', value) => digits(out, value, |out, n| write!(out, "{n:o}"))?,
        ('x' | 'X', Value::Text(_) | Value::Bytes(_)) => {
            let bytes = match value {
                Value::Text(text) => text.as_bytes(),
                Value::Bytes(bytes) => bytes,
                _ => &[],
            };
            budget.text(out.len() + 2 * bytes.len())?;
            let upper = verb == 'X';
            bytes.iter().try_for_each(|b| if upper { write!(out, "{b:02X}") } else { write!(out, "{b:02x}") })
        }
        ('x', value) => digits(out, value, |out, n| write!(out, "{n:x}"))?,
        ('X', value) => digits(out, value, |out, n| write!(out, "{n:X}"))?,
        ('f' | 'e', value) => {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a number is shown as the nearest double, as in Go"
            )]
            let number = match value {
                Value::Double(n) => *n,
                Value::Int(n) => *n as f64,
                Value::Uint(n) => *n as f64,
                _ => return Err(Fault::Type.into()),
            };
            if !number.is_finite() {
                out.push_str(&double_text(number));
                return Ok(());
            }
            if verb == 'f' { write!(out, "{number:.precision$}") } else { exponent(out, number, precision) }
        }
        _ => return Err(Fault::Argument.into()),
    };
    written.map_err(|_| Fault::Size.into())
}

fn exponent(out: &mut String, number: f64, precision: usize) -> std::fmt::Result {
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    write!(out, "{digits}e{sign}{exponent:0>2}")
}

/// Writes a whole number with its sign in front of its digits.
fn digits(
    out: &mut String,
    value: &Value<'_>,
    with: impl FnOnce(&mut String, u64) -> std::fmt::Result,
) -> Result<std::fmt::Result, Stop> {
    match value {
        Value::Int(n) => {
            if *n < 0 {
                out.push('-');
            }
            Ok(with(out, n.unsigned_abs()))
        }
        Value::Uint(n) => Ok(with(out, *n)),
        _ => Err(Fault::Type.into()),
    }
}

/// Writes any value for a reader.
fn shown(out: &mut String, value: &Value<'_>, budget: &mut Budget) -> Result<(), Stop> {
    budget.spend(1)?;
    match value {
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Bytes(bytes) => out.push_str(&String::from_utf8_lossy(bytes)),
        Value::Double(n) => out.push_str(&double_text(*n)),
        Value::Duration(nanos) => out.push_str(&time::duration_text(*nanos)),
        Value::Int(n) => out.push_str(&n.to_string()),
        Value::Kind(kind) => out.push_str(kind.as_str()),
        Value::List(list) => {
            out.push('[');
            for (at, item) in list.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                shown(out, &item, budget)?;
            }
            out.push(']');
        }
        Value::Map(Map::Entries(entries)) => {
            let mut shown_entries = Vec::with_capacity(entries.len());
            for (key, value) in entries.iter() {
                let mut text = String::new();
                shown(&mut text, key, budget)?;
                text.push_str(": ");
                shown(&mut text, value, budget)?;
                shown_entries.push(text);
            }
            // Entries have no order, so they are shown in one that does not depend on how they came.
            shown_entries.sort_unstable();
            out.push('{');
            out.push_str(&shown_entries.join(", "));
            out.push('}');
        }
        Value::Map(_) => return Err(Fault::Argument.into()),
        Value::Null => out.push_str("null"),
        Value::Text(text) => out.push_str(text),
        Value::Timestamp(nanos) => out.push_str(&time::timestamp_text(*nanos)),
        Value::Uint(n) => out.push_str(&n.to_string()),
    }
    budget.text(out.len())
}
