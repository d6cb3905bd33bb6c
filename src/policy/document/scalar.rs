//! Scalars: plain text resolves as YAML 1.1 does, as the policies that exist were written for it.

/// A scalar as written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Scalar {
    text: String,
    plain: bool,
}

/// What a scalar stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Resolved<'a> {
    Bool(bool),
    Float(f64),
    Int(i64),
    Null,
    Text(&'a str),
}

impl Scalar {
    /// Quoted text, or plain text, which may stand for something else.
    pub(super) fn new(text: impl Into<String>, plain: bool) -> Self {
        Self { text: text.into(), plain }
    }

    /// The text, once quotes and escapes are gone.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is plain and looks like an octal number without saying so: `010` is 8, which few people expect.
    pub(crate) fn looks_octal(&self) -> bool {
        let digits = self.text.trim_start_matches(['+', '-']);
        self.plain
            && digits.len() > 1
            && digits.starts_with('0')
            && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    }

    /// What it stands for.
    pub(crate) fn resolve(&self) -> Resolved<'_> {
        if !self.plain {
            return Resolved::Text(&self.text);
        }
        match self.text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Resolved::Null,
            "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
                Resolved::Bool(true)
            }
            "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
                Resolved::Bool(false)
            }
            text => number(text).unwrap_or(Resolved::Text(text)),
        }
    }
}

impl Resolved<'_> {
    /// What it is, for messages.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Float(_) | Self::Int(_) => "a number",
            Self::Null => "empty",
            Self::Text(_) => "text",
        }
    }
}

fn number(text: &str) -> Option<Resolved<'static>> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return None;
    }
    let digits = text.replace('_', "");
    integer(&digits).map(Resolved::Int).or_else(|| float(&digits).map(Resolved::Float))
}

/// An integer in base 0: `0x`, `0o`, `0b`, and a leading zero for octal.
fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    i64::from_str_radix(&format!("{sign}{digits}"), radix).ok()
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.trim_start_matches(['+', '-']);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => {
            return Some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
        }
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let shape = unsigned.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    let digit = unsigned.bytes().any(|b| b.is_ascii_digit());
    (shape && digit && text.len() <= unsigned.len() + 1).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_resolves_as_yaml_1_1() {
        let rows = [
            ("y", Resolved::Bool(true)),
            ("On", Resolved::Bool(true)),
            ("NO", Resolved::Bool(false)),
            ("off", Resolved::Bool(false)),
            ("oN", Resolved::Text("oN")),
            ("", Resolved::Null),
            ("~", Resolved::Null),
            ("NULL", Resolved::Null),
            ("010", Resolved::Int(8)),
            ("0o17", Resolved::Int(15)),
            ("0x1f", Resolved::Int(31)),
            ("-0b11", Resolved::Int(-3)),
            ("1_000", Resolved::Int(1000)),
            ("+5", Resolved::Int(5)),
            ("0", Resolved::Int(0)),
            ("08", Resolved::Float(8.0)),
            ("1.", Resolved::Float(1.0)),
            ("1e3", Resolved::Float(1000.0)),
            (".5", Resolved::Float(0.5)),
            ("-.inf", Resolved::Float(f64::NEG_INFINITY)),
            ("9223372036854775808", Resolved::Float(9_223_372_036_854_775_808.0)),
            ("1:30", Resolved::Text("1:30")),
            ("2026-01-02", Resolved::Text("2026-01-02")),
            ("1h", Resolved::Text("1h")),
            ("-", Resolved::Text("-")),
            ("--1", Resolved::Text("--1")),
            ("0x", Resolved::Text("0x")),
            ("inf", Resolved::Text("inf")),
            ("1.2.3.4", Resolved::Text("1.2.3.4")),
        ];
        for (text, want) in rows {
            assert_eq!(Scalar::new(text, true).resolve(), want, "{text}");
            assert_eq!(Scalar::new(text, false).resolve(), Resolved::Text(text), "quoted {text}");
        }
    }
}
