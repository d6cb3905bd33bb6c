//! The functions of texts. Positions count characters, as in CEL's string extension.

use super::function::Function;
use super::stop::{Budget, Fault, Stop};
use super::value::{List, Text, Value};

/// What `regexSafe` puts a backslash before.
const SPECIAL: &str = "\\.:*?-[](){}+|^$";

/// Calls a function on a text.
pub(super) fn call<'a>(
    function: Function,
    text: &Text<'a>,
    args: &[Value<'a>],
    budget: &mut Budget,
) -> Result<Value<'a>, Stop> {
    match (function, args) {
        (Function::Contains, [Value::Text(part)]) => Ok(Value::Bool(text.contains(&**part))),
        (Function::EndsWith, [Value::Text(part)]) => Ok(Value::Bool(text.ends_with(&**part))),
        (Function::StartsWith, [Value::Text(part)]) => Ok(Value::Bool(text.starts_with(&**part))),
        (Function::CharAt, [Value::Int(at)]) => {
            let at = position(text, *at)?;
            let c = text[at..].chars().next();
            Ok(part(text, &text[at..at + c.map_or(0, char::len_utf8)]))
        }
        (Function::IndexOf, [Value::Text(part)]) => Ok(found(text, text.find(&**part))),
        (Function::IndexOf, [Value::Text(part), Value::Int(from)]) => {
            let from = position(text, *from)?;
            Ok(found(text, text[from..].find(&**part).map(|at| from + at)))
        }
        (Function::LastIndexOf, [Value::Text(part)]) => Ok(found(text, text.rfind(&**part))),
        (Function::LastIndexOf, [Value::Text(part), Value::Int(from)]) => {
            // The last one that starts at or before the position.
            let end = (position(text, *from)? + part.len()).min(text.len());
            Ok(found(
                text,
                text.as_bytes()[..end]
                    .windows(part.len().max(1))
                    .rposition(|w| w == part.as_bytes())
                    .or_else(|| part.is_empty().then_some(end)),
            ))
        }
        (Function::LowerAscii, []) => changed(text, text.to_ascii_lowercase(), budget),
        (Function::UpperAscii, []) => changed(text, text.to_ascii_uppercase(), budget),
        (Function::Reverse, []) => changed(text, text.chars().rev().collect(), budget),
        (Function::Trim, []) => Ok(part(text, text.trim())),
        (Function::Quote, []) => changed(text, quote(text), budget),
        (Function::RegexSafe, []) => {
            let mut safe = String::with_capacity(text.len());
            for c in text.chars() {
                if SPECIAL.contains(c) {
                    safe.push('\\');
                }
                safe.push(c);
            }
            changed(text, safe, budget)
        }
        (Function::Substring, [Value::Int(from)]) => Ok(part(text, &text[position(text, *from)?..])),
        (Function::Substring, [Value::Int(from), Value::Int(to)]) => {
            let (from, to) = (position(text, *from)?, position(text, *to)?);
            Ok(part(text, text.get(from..to).ok_or(Fault::Index)?))
        }
        (Function::Replace, [Value::Text(old), Value::Text(new)]) => replace(text, old, new, -1, budget),
        (Function::Replace, [Value::Text(old), Value::Text(new), Value::Int(limit)]) => {
            replace(text, old, new, *limit, budget)
        }
        (Function::Split, [Value::Text(separator)]) => split(text, text, separator, -1, budget),
        (Function::Split, [Value::Text(separator), Value::Int(limit)]) => {
            split(text, text, separator, *limit, budget)
        }
        _ => Err(Fault::Type.into()),
    }
}

/// The byte at which a character starts. The end is a position too.
fn position(text: &str, at: i64) -> Result<usize, Fault> {
    let at = usize::try_from(at).map_err(|_| Fault::Index)?;
    if text.is_ascii() {
        return if at <= text.len() { Ok(at) } else { Err(Fault::Index) };
    }
    let ends = std::iter::once(text.len());
    text.char_indices().map(|(byte, _)| byte).chain(ends).nth(at).ok_or(Fault::Index)
}

/// The character at which a byte stands; -1 for none.
fn found<'a>(text: &str, at: Option<usize>) -> Value<'a> {
    let count = at.and_then(|at| text.get(..at)).map(|before| before.chars().count());
    Value::Int(count.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1))
}

/// A part of a text; nothing is copied if the text is borrowed.
fn part<'a>(whole: &Text<'a>, part: &str) -> Value<'a> {
    match whole {
        Text::Borrowed(text) => {
            let from = part.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
            match text.get(from..from.saturating_add(part.len())) {
                Some(part) => Value::Text(Text::Borrowed(part)),
                None => Value::owned(part),
            }
        }
        Text::Shared(text) if text.len() == part.len() => Value::Text(whole.clone()),
        Text::Shared(_) => Value::owned(part),
    }
}

fn changed<'a>(before: &Text<'a>, after: String, budget: &mut Budget) -> Result<Value<'a>, Stop> {
    budget.text(after.len())?;
    Ok(if **before == *after { Value::Text(before.clone()) } else { Value::owned(after) })
}

fn replace<'a>(
    text: &Text<'a>,
    old: &str,
    new: &str,
    limit: i64,
    budget: &mut Budget,
) -> Result<Value<'a>, Stop> {
    let places = text.matches(old).count();
    let times = usize::try_from(limit).map_or(places, |limit| places.min(limit));
    let size = times.checked_mul(new.len()).and_then(|n| n.checked_add(text.len())).ok_or(Fault::Size)?;
    budget.text(size)?;
    changed(text, text.replacen(old, new, times), budget)
}

/// The parts of `rest`, which is `whole` or a part of it, between separators. A negative limit is none.
pub(super) fn split<'a>(
    whole: &Text<'a>,
    rest: &str,
    separator: &str,
    limit: i64,
    budget: &mut Budget,
) -> Result<Value<'a>, Stop> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    if limit > 0 {
        let mut rest = rest;
        while parts.len() + 1 < limit {
            // Without a separator every character is a part.
            let cut = match separator {
                "" => rest.chars().next().map(char::len_utf8).filter(|n| *n < rest.len()).map(|n| (n, n)),
                separator => rest.find(separator).map(|at| (at, at + separator.len())),
            };
            let Some((end, next)) = cut else { break };
            budget.items(parts.len())?;
            parts.push(part(whole, &rest[..end]));
            rest = &rest[next..];
        }
        if !(separator.is_empty() && rest.is_empty()) {
            parts.push(part(whole, rest));
        }
    }
    budget.items(parts.len())?;
    Ok(Value::List(List::Values(parts.into())))
}

/// The texts of a list with a separator between them.
pub(super) fn join<'a>(list: &List<'a>, separator: &str, budget: &mut Budget) -> Result<Value<'a>, Stop> {
    let mut joined = String::new();
    for (at, item) in list.iter().enumerate() {
        let Value::Text(item) = item else { return Err(Fault::Type.into()) };
        if at > 0 {
            joined.push_str(separator);
        }
        budget.text(joined.len() + item.len())?;
        joined.push_str(&item);
    }
    budget.text(joined.len())?;
    Ok(Value::owned(joined))
}

/// A text in quotes, with the escapes that make it a literal.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
