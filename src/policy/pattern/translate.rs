//! From Go's regular expression grammar to that of the `regex` crate. The two look alike and differ in a dozen
//! places, so the text is read by Go's rules (regexp/syntax) and written anew; nothing is handed over unread.

use std::fmt::Write as _;

use super::Refusal;

/// The most repetitions, nested ones multiplied, that Go accepts.
const MAX_REPEAT: u32 = 1000;

/// How deep groups may nest.
const MAX_GROUPS: usize = 100;

pub(super) struct Translated {
    pub(super) rust: String,
    pub(super) loose_dot: bool,
}

pub(super) fn translate(go: &str) -> Result<Translated, Refusal> {
    let mut reader = Reader {
        go,
        at: 0,
        out: String::with_capacity(go.len() + 16),
        groups: vec![Group::default()],
        names: Vec::new(),
        loose_dot: false,
    };
    reader.run()?;
    Ok(Translated { rust: reader.out, loose_dot: reader.loose_dot })
}

struct Reader<'a> {
    go: &'a str,
    at: usize,
    out: String,
    groups: Vec<Group>,
    names: Vec<&'a str>,
    loose_dot: bool,
}

/// A group that is open; the first is the whole pattern.
#[derive(Default)]
struct Group {
    start: usize,
    /// The most often that something in it is repeated.
    repeats: u32,
    last: Last,
}

/// What stands before the reader, for repetition.
#[derive(Clone, Copy, Default)]
enum Last {
    /// Something that can be repeated, and how often something in it already is.
    Atom(u32),
    #[default]
    Nothing,
    Repetition,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.go[self.at..]
    }

    fn refuse<T>(&self, from: usize, message: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal::new(from..self.at.max(from + 1), message))
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().expect("the outermost group is never closed")
    }

    fn atom(&mut self) {
        self.group().last = Last::Atom(1);
    }

    fn literal(&mut self, c: char) {
        if c.is_alphanumeric() {
            self.out.push(c);
        } else {
            let _ = write!(self.out, "\\x{{{:X}}}", u32::from(c));
        }
    }

    fn run(&mut self) -> Result<(), Refusal> {
        loop {
            let from = self.at;
            let Some(c) = self.bump() else { break };
            match c {
                '(' => self.open(from)?,
                ')' => self.close(from)?,
                '|' => {
                    self.out.push('|');
                    self.group().last = Last::Nothing;
                }
                '*' | '+' | '?' => self.repeat(from, &c.to_string(), 1)?,
                '{' => match self.counts() {
                    Some((low, high)) => {
                        let most = high.unwrap_or(low);
                        if low.max(most) > MAX_REPEAT || high.is_some_and(|h| h < low) {
                            return self.refuse(
                                from,
                                format!("a count over {MAX_REPEAT}, or a range that ends before it starts"),
                            );
                        }
                        let text = match high {
                            Some(high) => format!("{{{low},{high}}}"),
                            None => format!("{{{low},}}"),
                        };
                        self.repeat(from, &text, most.max(1))?;
                    }
                    None => {
                        self.literal('{');
                        self.atom();
                    }
                },
                '[' => {
                    self.class(from)?;
                    self.atom();
                }
                '\\' => self.escape(from)?,
                '^' | '$' => {
                    self.out.push(c);
                    self.atom();
                }
                '.' => {
                    self.loose_dot |= !self.rest().starts_with(['*', '+', '?', '{']);
                    self.out.push('.');
                    self.atom();
                }
                c => {
                    self.literal(c);
                    self.atom();
                }
            }
        }
        match self.groups.as_slice() {
            [_] => Ok(()),
            [.., open] => Err(Refusal::new(open.start..open.start + 1, "this group is never closed")),
            [] => Ok(()),
        }
    }

    fn open(&mut self, from: usize) -> Result<(), Refusal> {
        if self.groups.len() > MAX_GROUPS {
            return self.refuse(from, format!("groups nest deeper than {MAX_GROUPS}"));
        }
        if !self.eat("?") {
            self.out.push_str("(?:");
        } else if self.eat("P<") || self.eat("<") {
            if self.rest().starts_with(['=', '!']) {
                self.at += 1;
                return self.refuse(from, "look-behind is not supported");
            }
            let end = self.rest().find('>').unwrap_or(0);
            let name = &self.rest()[..end];
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return self.refuse(from, "the name of this group is no word");
            }
            if self.names.contains(&name) {
                return self.refuse(from, format!("two groups are named `{name}`"));
            }
            self.names.push(name);
            self.at += end + 1;
            self.out.push_str("(?:");
        } else {
            return self.flags(from);
        }
        self.groups.push(Group { start: from, repeats: 1, last: Last::Nothing });
        Ok(())
    }

    fn flags(&mut self, from: usize) -> Result<(), Refusal> {
        let start = self.at;
        let (mut minus, mut seen) = (false, false);
        loop {
            match self.bump() {
                Some('i' | 'm' | 's' | 'U') => seen = true,
                Some('-') if !minus => (minus, seen) = (true, false),
                Some(end @ (':' | ')')) if seen || !minus => {
                    let flags = &self.go[start..self.at - 1];
                    if end == ':' {
                        let _ = write!(self.out, "(?{flags}:");
                        self.groups.push(Group { start: from, repeats: 1, last: Last::Nothing });
                    } else if !flags.is_empty() {
                        let _ = write!(self.out, "(?{flags})");
                    }
                    return Ok(());
                }
                Some('=' | '!') if self.at == start + 1 => {
                    return self.refuse(from, "look-ahead is not supported");
                }
                _ => return self.refuse(from, "unknown flag; there are i, m, s and U"),
            }
        }
    }

    fn close(&mut self, from: usize) -> Result<(), Refusal> {
        if self.groups.len() == 1 {
            return self.refuse(from, "this parenthesis closes nothing");
        }
        let repeats = self.groups.pop().map_or(1, |g| g.repeats);
        self.out.push(')');
        self.group().repeats = self.group().repeats.max(repeats);
        self.group().last = Last::Atom(repeats.max(1));
        Ok(())
    }

    fn repeat(&mut self, from: usize, text: &str, times: u32) -> Result<(), Refusal> {
        let inside = match self.group().last {
            Last::Atom(inside) => inside,
            Last::Nothing => return self.refuse(from, "there is nothing to repeat here"),
            Last::Repetition => {
                return self.refuse(from, "a repetition cannot be repeated; put it into a group");
            }
        };
        let repeats = inside.saturating_mul(times);
        if repeats > MAX_REPEAT {
            return self.refuse(from, format!("nested counts multiply to more than {MAX_REPEAT}"));
        }
        self.out.push_str(text);
        if self.eat("?") {
            self.out.push('?');
        }
        let group = self.group();
        group.repeats = group.repeats.max(repeats);
        group.last = Last::Repetition;
        Ok(())
    }

    /// `n}`, `n,}` or `n,m}` after a brace; anything else leaves the brace a brace. The second number is the upper
    /// end, which `n}` has at `n`.
    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        let inside = &self.rest()[..self.rest().find('}')?];
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            let plain = plain && (text == "0" || !text.starts_with('0'));
            plain.then(|| text.parse().unwrap_or(u32::MAX))
        };
        let counts = match inside.split_once(',') {
            None => number(inside).map(|n| (n, Some(n)))?,
            Some((low, "")) => (number(low)?, None),
            Some((low, high)) => (number(low)?, Some(number(high)?)),
        };
        self.at += inside.len() + 1;
        Some(counts)
    }

    fn escape(&mut self, from: usize) -> Result<(), Refusal> {
        match self.rest().chars().next() {
            Some('A' | 'z') => {
                let _ = write!(self.out, "\\{}", &self.rest()[..1]);
                self.at += 1;
            }
            Some(c @ ('b' | 'B')) => {
                let _ = write!(self.out, "(?-u:\\{c})");
                self.at += 1;
            }
            Some('Q') => {
                self.at += 1;
                let quoted = self.rest().split("\\E").next().unwrap_or("");
                self.at += quoted.len();
                self.eat("\\E");
                quoted.chars().for_each(|c| self.literal(c));
                if quoted.is_empty() {
                    return Ok(());
                }
            }
            Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                let (negated, set) = self.perl();
                let _ = write!(self.out, "[{}{set}]", if negated { "^" } else { "" });
            }
            Some('p' | 'P') => {
                let class = self.property(from)?;
                self.out.push_str(&class);
            }
            _ => {
                let c = self.character(from)?;
                self.literal(c);
            }
        }
        self.atom();
        Ok(())
    }

    /// The ASCII sets of `\d`, `\s` and `\w`; Rust's own are Unicode, and its ASCII `\s` has a vertical tab more.
    fn perl(&mut self) -> (bool, &'static str) {
        let c = self.bump().unwrap_or('d');
        let set = match c.to_ascii_lowercase() {
            'd' => "0-9",
            's' => "\\t\\n\\f\\r\\x20",
            _ => "0-9A-Za-z_",
        };
        (c.is_ascii_uppercase(), set)
    }

    /// `\pL`, `\p{Greek}`, `\p{^Greek}`: categories and scripts, but none of the properties that only Rust knows.
    fn property(&mut self, from: usize) -> Result<String, Refusal> {
        let mut negated = self.bump() == Some('P');
        let name = if self.eat("{") {
            let Some(end) = self.rest().find('}') else {
                return self.refuse(from, "this class name is never closed");
            };
            let name = &self.rest()[..end];
            self.at += end + 1;
            name
        } else {
            let start = self.at;
            self.bump();
            &self.go[start..self.at]
        };
        let name = match name.strip_prefix('^') {
            Some(rest) => {
                negated = !negated;
                rest
            }
            None => name,
        };
        let word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let letter = if negated { 'P' } else { 'p' };
        let spellings = [format!("\\{letter}{{gc={name}}}"), format!("\\{letter}{{sc={name}}}")];
        match spellings.into_iter().find(|s| word && regex_syntax::parse(s).is_ok()) {
            Some(class) => Ok(class),
            None => self.refuse(from, "no category or script has this name"),
        }
    }

    /// One escaped character, after the backslash.
    fn character(&mut self, from: usize) -> Result<char, Refusal> {
        let Some(c) = self.bump() else { return self.refuse(from, "nothing follows the last backslash") };
        let octal = |c: &char| ('0'..='7').contains(c);
        match c {
            '1'..='7' if !self.rest().starts_with(|c| octal(&c)) => {
                self.refuse(from, "back-references are not supported")
            }
            '0'..='7' => {
                let mut code = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.rest().chars().next().filter(octal) else { break };
                    code = code * 8 + digit.to_digit(8).unwrap_or(0);
                    self.at += 1;
                }
                char::from_u32(code).map_or_else(|| self.refuse(from, "no character has this code"), Ok)
            }
            'x' => {
                let digits = if self.eat("{") {
                    let end = self.rest().find('}').unwrap_or(0);
                    let digits = &self.rest()[..end];
                    self.at += end + 1;
                    digits
                } else {
                    let two = self.rest().get(..2).unwrap_or("");
                    self.at += two.len();
                    two
                };
                let hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
                let code = u32::from_str_radix(digits, 16).ok().filter(|_| hex);
                self.at = self.at.min(self.go.len());
                code.and_then(char::from_u32)
                    .map_or_else(|| self.refuse(from, "no character has this code"), Ok)
            }
            'a' => Ok('\u{7}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\u{b}'),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok(c),
            'Z' => self.refuse(from, "`\\Z` is not supported; `\\z` is the end of the text"),
            c => self.refuse(from, format!("`\\{}` is no escape", c.escape_default())),
        }
    }

    /// A bracketed class. In Go it is flat: `&&`, `~~`, `--` and an inner `[` are characters, in Rust operators.
    fn class(&mut self, from: usize) -> Result<(), Refusal> {
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let item = self.at;
            let Some(c) = self.rest().chars().next() else {
                return Err(Refusal::new(from..from + 1, "this class is never closed"));
            };
            if c == ']' && !first {
                self.at += 1;
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest().starts_with("[:") && self.posix(item)? {
                continue;
            }
            match self.rest().as_bytes() {
                [b'\\', b'p' | b'P', ..] => {
                    self.at += 1;
                    let class = self.property(item)?;
                    self.out.push_str(&class);
                    continue;
                }
                [b'\\', b'd' | b'D' | b's' | b'S' | b'w' | b'W', ..] => {
                    self.at += 1;
                    let (negated, set) = self.perl();
                    let _ = if negated { write!(self.out, "[^{set}]") } else { write!(self.out, "{set}") };
                    continue;
                }
                _ => {}
            }
            let low = self.member()?;
            let range = matches!(self.rest().as_bytes(), [b'-', next, ..] if *next != b']');
            self.literal(low);
            if range {
                self.at += 1;
                let high = self.member()?;
                if high < low {
                    return self.refuse(item, "this range ends before it starts");
                }
                self.out.push('-');
                self.literal(high);
            }
        }
    }

    fn member(&mut self) -> Result<char, Refusal> {
        let from = self.at;
        match self.bump() {
            Some('\\') => self.character(from),
            Some(c) => Ok(c),
            None => self.refuse(from.saturating_sub(1), "this class is never closed"),
        }
    }

    /// `[:alpha:]` and `[:^alpha:]` in a class; false if it only looks like one.
    fn posix(&mut self, from: usize) -> Result<bool, Refusal> {
        let Some(end) = self.rest().find(":]") else { return Ok(false) };
        let name = self.rest()[..end].trim_start_matches("[:").trim_start_matches('^');
        let known = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        if end < 2 || !known.contains(&name) {
            self.at += end + 2;
            return self.refuse(from, "no class has this name");
        }
        self.out.push_str(&self.rest()[..end + 2]);
        self.at += end + 2;
        Ok(true)
    }
}
