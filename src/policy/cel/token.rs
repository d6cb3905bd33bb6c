//! From text to tokens: the lexical grammar of CEL, with the bytes each token stands on.

use std::ops::Range;

use super::Refusal;
use super::literal;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Bytes(Vec<u8>),
    Double(f64),
    End,
    Int(u64),
    /// A word: a name, or one of `true`, `false`, `null`, `in`.
    Word,
    /// An operator or a bracket.
    Sign(&'static str),
    Text(String),
    Uint(u64),
}

/// Signs; a longer one stands before its own beginning.
const SIGNS: [&str; 26] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}", "=", "`",
];

/// Splits a text into tokens; the last one is [`Token::End`]. `open` says that a comment runs to the very end, so
/// that whatever is appended to the text belongs to it.
pub(super) struct Tokens {
    pub(super) list: Vec<(Token, Range<usize>)>,
    pub(super) open: Option<Range<usize>>,
}

impl Tokens {
    pub(super) fn read(text: &str) -> Result<Self, Refusal> {
        let mut tokens = Self { list: Vec::new(), open: None };
        let mut at = 0;
        loop {
            at += text[at..].len() - text[at..].trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']).len();
            let rest = &text[at..];
            if rest.starts_with("//") {
                let length = rest.find('\n').map_or(rest.len(), |n| n + 1);
                tokens.open = (!rest.contains('\n')).then_some(at..text.len());
                at += length;
                continue;
            }
            if rest.is_empty() {
                tokens.list.push((Token::End, at..at));
                return Ok(tokens);
            }
            let (token, length) = one(rest, at)?;
            tokens.list.push((token, at..at + length));
            at += length;
        }
    }
}

fn one(rest: &str, at: usize) -> Result<(Token, usize), Refusal> {
    if let Some(opening) = literal::opening(rest) {
        return literal::read(rest, at, opening);
    }
    if rest.starts_with(|c: char| c.is_ascii_digit())
        || (rest.starts_with('.') && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
    {
        return number(rest, at);
    }
    let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    if word > 0 {
        return Ok((Token::Word, word));
    }
    if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    let c = rest.chars().next().unwrap_or(' ');
    Err(Refusal::new(at..at + c.len_utf8(), format!("`{}` has no meaning here", c.escape_debug())))
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), Refusal> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let hex = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")).map(|h| {
        let length = h.bytes().take_while(u8::is_ascii_hexdigit).count();
        (&h[..length], length + 2)
    });
    let (text, radix, mut length) = match hex {
        Some((hex, length)) if length > 2 => (hex, 16, length),
        _ => (&rest[..digits(rest)], 10, digits(rest)),
    };
    if radix == 10 {
        let fraction = match rest[length..].strip_prefix('.') {
            Some(after) if digits(after) > 0 => digits(after) + 1,
            _ => 0,
        };
        let exponent = exponent(&rest[length + fraction..]);
        if fraction + exponent > 0 {
            length += fraction + exponent;
            let value: f64 = rest[..length].parse().unwrap_or(f64::INFINITY);
            if value.is_infinite() {
                let message = format!("`{}` is too large for a double", &rest[..length]);
                return Err(Refusal::new(at..at + length, message));
            }
            return Ok((Token::Double(value), length));
        }
    }
    let value = u64::from_str_radix(text, radix);
    let unsigned = rest[length..].starts_with(['u', 'U']);
    length += usize::from(unsigned);
    match value {
        Ok(value) if unsigned => Ok((Token::Uint(value), length)),
        // The largest number that a sign in front makes fit; without the sign the parser refuses it.
        Ok(value) if value <= i64::MIN.unsigned_abs() => Ok((Token::Int(value), length)),
        _ => {
            let message = format!("`{}` does not fit into 64 bits", &rest[..length]);
            Err(Refusal::new(at..at + length, message))
        }
    }
}

/// The length of an exponent such as `e-3`; 0 when there is none.
fn exponent(text: &str) -> usize {
    let Some(after) = text.strip_prefix(['e', 'E']) else { return 0 };
    let sign = usize::from(after.starts_with(['+', '-']));
    match after[sign..].bytes().take_while(u8::is_ascii_digit).count() {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        Tokens::read(text).unwrap().list.into_iter().map(|(t, _)| t).collect()
    }

    #[test]
    fn numbers_have_the_type_that_their_spelling_says() {
        for (text, want) in [
            ("0", Token::Int(0)),
            ("0x1F", Token::Int(31)),
            ("9223372036854775808", Token::Int(1 << 63)),
            ("7u", Token::Uint(7)),
            ("0xFFFFFFFFFFFFFFFFU", Token::Uint(u64::MAX)),
            ("1.5", Token::Double(1.5)),
            (".5", Token::Double(0.5)),
            ("1e3", Token::Double(1000.0)),
            ("2.5E-1", Token::Double(0.25)),
        ] {
            assert_eq!(tokens(text), [want, Token::End], "{text}");
        }
        assert_eq!(tokens("1.a"), [Token::Int(1), Token::Sign("."), Token::Word, Token::End]);
        assert_eq!(tokens("1e"), [Token::Int(1), Token::Word, Token::End]);
        for text in ["9223372036854775809", "18446744073709551616u", "1e999"] {
            assert!(Tokens::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_comment_that_nothing_ends_is_noticed() {
        assert!(Tokens::read("a // b").unwrap().open.is_some());
        assert!(Tokens::read("a // b\n").unwrap().open.is_none());
        assert!(Tokens::read("// a\nb").unwrap().open.is_none());
        assert_eq!(tokens("\"// no\""), [Token::Text("// no".to_owned()), Token::End]);
    }
}
