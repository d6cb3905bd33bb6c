//! Literals of text and bytes: quotes, raw forms and escapes.

use std::ops::Range;

use super::Refusal;
use super::token::Token;

/// How a literal begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// The length of the prefix: `r`, `b` or `br` in any case.
    prefix: usize,
    bytes: bool,
    raw: bool,
    quote: &'static str,
}

/// The opening of a literal at the start of `rest`, if there is one.
pub(super) fn opening(rest: &str) -> Option<Opening> {
    let bytes = rest.starts_with(['b', 'B']);
    let after = &rest[usize::from(bytes)..];
    let raw = after.starts_with(['r', 'R']);
    let prefix = usize::from(bytes) + usize::from(raw);
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|q| rest[prefix..].starts_with(q))?;
    Some(Opening { prefix, bytes, raw, quote })
}

/// Reads the literal at the start of `rest`; `at` is where that stands in the expression.
pub(super) fn read(rest: &str, at: usize, opening: Opening) -> Result<(Token, usize), Refusal> {
    let Opening { prefix, bytes, raw, quote } = opening;
    let start = prefix + quote.len();
    let mut out = Vec::new();
    let mut here = start;
    loop {
        let tail = &rest[here..];
        if tail.starts_with(quote) {
            break;
        }
        match tail.chars().next() {
            None => return Err(Refusal::new(at..at + rest.len(), "this text is never closed")),
            Some('\n' | '\r') if quote.len() == 1 => {
                let help = "close it on the same line, or quote it with three quotes";
                return Err(
                    Refusal::new(at..at + here, "this text runs over the end of its line").advise(help)
                );
            }
            Some('\\') if !raw => here += escape(tail, at + here, bytes, &mut out)?,
            Some('\\') => {
                // A raw text keeps its escapes, but an escaped quote does not close it.
                let length = 1 + tail[1..].chars().next().map_or(0, char::len_utf8);
                out.extend_from_slice(&tail.as_bytes()[..length]);
                here += length;
            }
            Some('\r') => {
                out.push(b'\n');
                here += if tail.starts_with("\r\n") { 2 } else { 1 };
            }
            Some(c) => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                here += c.len_utf8();
            }
        }
    }
    let length = here + quote.len();
    if bytes {
        return Ok((Token::Bytes(out), length));
    }
    match String::from_utf8(out) {
        Ok(text) => Ok((Token::Text(text), length)),
        Err(_) => Err(Refusal::new(at..at + length, "this text is no valid UTF-8")),
    }
}

/// Reads one escape at the start of `tail` and answers its length.
fn escape(tail: &str, at: usize, bytes: bool, out: &mut Vec<u8>) -> Result<usize, Refusal> {
    let bad = |length: usize| {
        let shown: String = tail.chars().take(length).collect();
        let range: Range<usize> = at..at + shown.len();
        Refusal::new(range, format!("`{}` is no escape", shown.escape_debug()))
            .advise("write `\\\\` for a backslash, or a raw text such as r\"\\.\"")
    };
    let kind = tail[1..].chars().next().ok_or_else(|| bad(1))?;
    let simple = match kind {
        'a' => Some(7),
        'b' => Some(8),
        'f' => Some(12),
        'n' => Some(b'\n'),
        'r' => Some(b'\r'),
        't' => Some(b'\t'),
        'v' => Some(11),
        '\\' => Some(b'\\'),
        '?' => Some(b'?'),
        '"' => Some(b'"'),
        '\'' => Some(b'\''),
        '`' => Some(b'`'),
        _ => None,
    };
    if let Some(byte) = simple {
        out.push(byte);
        return Ok(2);
    }
    let (skip, digits, radix) = match kind {
        'x' | 'X' => (2, 2, 16),
        'u' if !bytes => (2, 4, 16),
        'U' if !bytes => (2, 8, 16),
        '0'..='3' => (1, 3, 8),
        _ => return Err(bad(2)),
    };
    let length = skip + digits;
    let code = tail
        .get(skip..length)
        .filter(|d| d.bytes().all(|b| b.is_ascii_alphanumeric()))
        .and_then(|d| u32::from_str_radix(d, radix).ok())
        .ok_or_else(|| bad(length))?;
    match (bytes, u8::try_from(code), char::from_u32(code)) {
        (true, Ok(byte), _) => out.push(byte),
        (false, _, Some(c)) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        _ => return Err(bad(length)),
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str) {
        let (token, length) = read(text, 0, opening(text).unwrap()).unwrap();
        assert_eq!((token, length), (Token::Text(want.to_owned()), text.len()), "{text}");
    }

    #[test]
    fn escapes_and_quotes_are_those_of_cel() {
        check(r#""a\"b""#, "a\"b");
        check(r"'\x41\u00e9\U0001F600\101'", "A\u{e9}\u{1f600}A");
        check(r#"r"\.\"""#, r#"\.\""#);
        check("'''a\n'b'\r\n'''", "a\n'b'\n");
        check(r"'\a\b\f\v\?\`'", "\u{7}\u{8}\u{c}\u{b}?`");
        check("''", "");
        let bytes = r"b'\xff\303é'";
        let want = Token::Bytes(vec![0xff, 0xc3, 0xc3, 0xa9]);
        assert_eq!(read(bytes, 0, opening(bytes).unwrap()).unwrap().0, want);
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        for text in
            ["'a", "\"a\n\"", r"'\d'", r"'\ud800'", r"b'\u0041'", r"'\4'", r"'\x4'", r"'\", r"'\é'", "'''a'"]
        {
            assert!(read(text, 0, opening(text).unwrap()).is_err(), "{text}");
        }
    }
}
