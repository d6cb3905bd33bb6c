//! A tree as YAML text again, one that reads as the same tree. Comments, anchors and styles are not kept.

use std::fmt::Write as _;

use super::{Entry, Node, Resolved, Scalar, Value};

/// Writes a value in block style. Every line is indented by this many blanks but the first, which goes on where the text is.
pub(crate) fn write(node: &Node, indent: usize, out: &mut String) {
    match &node.value {
        Value::Scalar(scalar) => write_scalar(scalar, indent, out),
        Value::List(items) if items.is_empty() => out.push_str("[]"),
        Value::Map(entries) if entries.is_empty() => out.push_str("{}"),
        Value::List(items) => {
            for (at, item) in items.iter().enumerate() {
                begin_line(at, indent, out);
                out.push_str("- ");
                write(item, indent + 2, out);
            }
        }
        Value::Map(entries) => {
            for (at, entry) in entries.iter().enumerate() {
                begin_line(at, indent, out);
                write_entry(entry, indent, out);
            }
        }
    }
}

/// Writes a key and its value.
pub(crate) fn write_entry(entry: &Entry, indent: usize, out: &mut String) {
    let before = out.len();
    // A plain `<<` would merge.
    write_text(&entry.key, entry.key != "<<", out);
    if out.len() - before > MAX_KEY {
        out.insert_str(before, "? ");
        begin_line(1, indent, out);
    }
    out.push(':');
    let nested = match &entry.value.value {
        Value::List(items) => !items.is_empty(),
        Value::Map(entries) => !entries.is_empty(),
        Value::Scalar(_) => false,
    };
    if nested {
        begin_line(1, indent + 2, out);
    } else {
        out.push(' ');
    }
    write(&entry.value, indent + 2, out);
}

/// The longest key, in bytes as it is written, that stands on one line with its value; YAML allows 1024 characters.
const MAX_KEY: usize = 1000;

fn begin_line(at: usize, indent: usize, out: &mut String) {
    if at > 0 {
        write!(out, "\n{:indent$}", "").expect("a String takes all");
    }
}

fn write_scalar(scalar: &Scalar, indent: usize, out: &mut String) {
    match scalar.resolve() {
        Resolved::Null => out.push_str("null"),
        // As it was written: `010` stays what it was taken for.
        Resolved::Bool(_) | Resolved::Float(_) | Resolved::Int(_) => out.push_str(scalar.text()),
        Resolved::Text(text) if is_block(text) => {
            out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
            for line in text.lines() {
                if line.is_empty() {
                    out.push('\n');
                } else {
                    write!(out, "\n{:indent$}{line}", "").expect("a String takes all");
                }
            }
        }
        Resolved::Text(text) => write_text(text, true, out),
    }
}

/// Whether a text is best written as lines: several, none of which a reader would change.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let plain = |c: char| matches!(c, ' '..='~');
    body.contains('\n')
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && body.split('\n').all(|line| line.chars().all(plain) && !line.ends_with(' '))
}

/// A text on one line: plain where nothing in it means anything, else quoted.
fn write_text(text: &str, may_be_plain: bool, out: &mut String) {
    let printable = text.chars().all(|c| matches!(c, ' '..='~'));
    let starts = text
        .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '(' | '^' | '_' | '$' | '\\'));
    let plain = may_be_plain
        && printable
        && starts
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && matches!(Scalar::new(text, true).resolve(), Resolved::Text(_));
    if plain {
        out.push_str(text);
    } else if printable {
        write!(out, "'{}'", text.replace('\'', "''")).expect("a String takes all");
    } else {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                c if c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}') => {
                    write!(out, "\\u{:04x}", u32::from(c)).expect("a String takes all");
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parse;
    use super::*;

    /// A tree without its places.
    fn shape(node: &Node) -> String {
        match &node.value {
            Value::Scalar(scalar) => format!("{:?}", scalar.resolve()),
            Value::List(items) => format!("{:?}", items.iter().map(shape).collect::<Vec<_>>()),
            Value::Map(entries) => {
                format!("{{{:?}}}", entries.iter().map(|e| (&e.key, shape(&e.value))).collect::<Vec<_>>())
            }
        }
    }

    #[track_caller]
    fn check(text: &str) {
        let tree = parse("a.yaml", text).unwrap_or_else(|problem| panic!("{text}\n{problem}"));
        let mut written = String::new();
        write(&tree, 0, &mut written);
        let again =
            parse("b.yaml", &written).unwrap_or_else(|problem| panic!("{text}\n{written}\n{problem}"));
        assert_eq!(shape(&again), shape(&tree), "{text}\n---\n{written}");
    }

    #[test]
    fn every_form_reads_as_itself() {
        for text in [
            "a: 1\nb: [x, 'y', \"z\\n\", {c: d, e: []}, {}]",
            "- - a\n  - b\n- {x: [1, [2]]}",
            "a: 010\nb: yes\nc: ~\nd:\ne: 1e3\nf: 0x1f\ng: .inf\nh: '010'\ni: 'yes'\nj: ''",
            "a: |\n  x\n    y\n\n  z\nb: |-\n  p\n  q\nc: >\n  folded\n  text\nd: |+\n  x\n\n",
            "a: '(?i:b)'\nb: ^/x$\nc: '#d'\nd: 'e #f'\ne: 'g: h'\nf: 'i:'\ng: '- j'\nh: '*'\ni: '!x'",
            "x: &m {a: b}\ny: {<<: *m, c: d}\nz: *m\n'<<': e",
            "é: ü\n\"\\t\": \"\\u0007\\u2028\\x85\"\n'': a",
            "null",
            "text",
        ] {
            check(text);
        }
        let long = "\\a".repeat(200);
        check(&format!("- a: {{\"{long}\": [b, {{\"{long}x\": c}}], \"{long}y\": {{d: e}}}}\n  f: g"));
    }

    proptest! {
        #[test]
        fn every_text_reads_as_itself(key in "\\PC{0,12}|[ -~\\n\t]{0,12}", text in "\\PC{0,24}|[ -~\\n]{0,24}|[a :#'\"|>-]{0,8}") {
            let tree = |text: &str| serde_json::Value::from(text).to_string();
            check(&format!("{{{}: [{}, {{a: {1}}}]}}", tree(&key), tree(&text)));
        }
    }
}
