//! Makes scripts and styles smaller without a parser: comments that have a line of their own go, and so do blanks that mean nothing.
//!
//! It is no minifier: it relies on how our own files are written (no string over two lines, no comment behind code, no quote or
//! blank in a regular expression), and it renames nothing, so that the page's source stays readable in a browser.

/// Squeezes a script. Line ends stay where a statement could run into the next: everywhere but behind `;`, `{` and `,`.
pub(super) fn js(source: &str) -> String {
    squeeze(source, ";{,", |before, after| {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        // `a + +b` and `a - -b` need their blank.
        word(before) && word(after) || matches!((before, after), ('+', '+') | ('-', '-'))
    })
}

/// Squeezes a style sheet. Blanks before `.`, `#`, `:` and `(` mean something in selectors and conditions.
pub(super) fn css(source: &str) -> String {
    squeeze(source, "", |before, after| !"{}:;,".contains(before) && !"{};".contains(after))
}

/// `joins` are the characters behind which a line may go on.
fn squeeze(source: &str, joins: &str, blank_needed: impl Fn(char, char) -> bool) -> String {
    let mut out = String::with_capacity(source.len());
    for line in source.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//")) {
        if out.chars().next_back().is_some_and(|last| !joins.contains(last)) {
            out.push('\n');
        }
        let (mut quote, mut escaped, mut before) = (None, false, '\n');
        let mut rest = line.chars().peekable();
        while let Some(c) = rest.next() {
            let needless =
                quote.is_none() && c == ' ' && rest.peek().is_some_and(|&after| !blank_needed(before, after));
            if needless {
                continue;
            }
            match quote {
                Some(_) if escaped => escaped = false,
                Some(_) if c == '\\' => escaped = true,
                Some(q) if c == q => quote = None,
                None if c == '\'' || c == '"' => quote = Some(c),
                _ => {}
            }
            out.push(c);
            before = c;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn scripts_keep_their_meaning() {
        let rows = [
            ("  // why\n  const a = b + 1, c = 'x = y';\n", "const a=b+1,c='x = y';"),
            ("return (a + +b) - -c;", "return(a+ +b)- -c;"),
            ("say(\"it's // here\") ;\n\n}", "say(\"it's // here\");}"),
            ("if (a) {\n  b();\n}\nc()\nreturn [\n  1,\n  2\n]", "if(a){b();}\nc()\nreturn[\n1,2\n]"),
            (r"x = 'a\' = b' + c;", r"x='a\' = b'+c;"),
            ("if (e instanceof T) throw new E();", "if(e instanceof T)throw new E();"),
        ];
        for (source, want) in rows {
            assert_eq!(super::js(source), want);
        }
    }

    #[test]
    fn styles_keep_their_meaning() {
        let rows = [
            (
                "main > p a, #b .c { margin: 0 0 1rem; color: var(--a) }",
                "main > p a,#b .c{margin:0 0 1rem;color:var(--a)}",
            ),
            ("@media (a: b) {\n  p :focus { x: 'y ; z'; }\n}", "@media (a:b){\np :focus{x:'y ; z';}\n}"),
        ];
        for (source, want) in rows {
            assert_eq!(super::css(source), want);
        }
    }
}
