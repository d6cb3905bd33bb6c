//! A robots.txt as RFC 9309 reads it: groups of agents with the paths that they may and may not fetch.

/// How much of a file is read: RFC 9309, 2.5 asks for 500 KiB at least, and nobody reads more.
pub(super) const MAX_FILE: usize = 500 << 10;

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Robots {
    /// In the order of the file; one agent may stand in several, whose rules then count together.
    pub(super) groups: Vec<Group>,
    /// The lines that say nothing known.
    pub(super) strange: Vec<usize>,
}

/// Agents, and what holds for them.
#[derive(Debug)]
pub(super) struct Group {
    /// Product tokens as written, or `*`; never empty.
    pub(super) agents: Vec<String>,
    pub(super) rules: Vec<Rule>,
    /// The line of its first agent.
    pub(super) line: usize,
}

/// One `Allow` or `Disallow`.
#[derive(Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Rule {
    pub(super) allow: bool,
    pub(super) pattern: Pattern,
}

/// A pattern of targets: ASCII, with every octet that a target would escape escaped alike.
#[derive(Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Pattern(String);

/// Records of other conventions, which have nothing to do with who may fetch what.
const OTHERS: [&str; 10] = [
    "sitemap",
    "crawl-delay",
    "host",
    "clean-param",
    "request-rate",
    "visit-time",
    "noindex",
    "content-signal",
    "content-usage",
    "license",
];

impl Robots {
    /// Reads a file. Nothing in it is an error: what is not understood is passed over, as by a crawler.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut robots = Self::default();
        // Agents that follow one another share the rules after them.
        let mut gathering = false;
        for (index, line) in text.replace("\r\n", "\n").split(['\n', '\r']).enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            match key.as_str() {
                "user-agent" => {
                    if !gathering {
                        robots.groups.push(Group { agents: Vec::new(), rules: Vec::new(), line: index + 1 });
                    }
                    gathering = true;
                    if let (Some(group), Some(token)) = (robots.groups.last_mut(), token(value)) {
                        group.agents.push(token);
                    }
                }
                "allow" | "disallow" => {
                    gathering = false;
                    // Rules before any agent are nobody's; an empty pattern matches nothing.
                    if let (Some(group), false) = (robots.groups.last_mut(), value.is_empty()) {
                        group.rules.push(Rule { allow: key == "allow", pattern: Pattern::new(value) });
                    }
                }
                key if OTHERS.contains(&key) => {}
                _ => robots.strange.push(index + 1),
            }
        }
        robots.groups.retain(|group| !group.agents.is_empty());
        robots
    }
}

/// The product token of a `User-agent` line: what stands before a version. `None` where there is nothing.
fn token(value: &str) -> Option<String> {
    if value.starts_with('*') {
        return Some("*".to_owned());
    }
    let token = value.split('/').next().unwrap_or_default().trim();
    let fits = |c: char| c.is_ascii_graphic() || c == ' ';
    (!token.is_empty() && token.chars().all(fits)).then(|| token.to_owned())
}

impl Pattern {
    /// RFC 9309, 2.2.2: escapes of what need not be escaped are undone, and octets beyond ASCII are escaped.
    fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut out = String::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let escaped = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
            let octet =
                escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+')));
            match octet {
                Some(octet) if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) => {
                    out.push(octet.into())
                }
                Some(octet) => out.push_str(&format!("%{octet:02X}")),
                None if byte.is_ascii_graphic() => out.push(byte.into()),
                None => out.push_str(&format!("%{byte:02X}")),
            }
            at += if octet.is_some() { 3 } else { 1 };
        }
        Self(out)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// How specific it is: of several that match, the longest decides (RFC 9309, 2.2.2).
    pub(super) fn length(&self) -> usize {
        self.0.len()
    }

    /// Whether it can match any target: those start with a slash.
    pub(super) fn can_match(&self) -> bool {
        self.0.starts_with(['/', '*'])
    }

    /// What every target that it matches starts with.
    pub(super) fn beginning(&self) -> &str {
        let text = self.0.strip_suffix('$').unwrap_or(&self.0);
        &text[..text.find('*').unwrap_or(text.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], want: &[(&[&str], &[&str])]) {
        let robots = Robots::parse(text);
        let got: Vec<_> = robots
            .groups
            .iter()
            .map(|group| {
                let sign =
                    |rule: &Rule| format!("{}{}", if rule.allow { '+' } else { '-' }, rule.pattern.as_str());
                (group.agents.clone(), group.rules.iter().map(sign).collect::<Vec<_>>())
            })
            .collect();
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        assert_eq!(got, want.iter().map(|(a, r)| (own(a), own(r))).collect::<Vec<_>>());
    }

    #[test]
    fn groups_are_agents_and_the_rules_after_them() {
        check(b"User-agent: a\nDisallow: /x\n", &[(&["a"], &["-/x"])]);
        check(
            b"\xef\xbb\xbfUSER-AGENT : A/1.0 # who\r\nuser-agent:b\r\n\r\nallow:/x#c\r\nDisallow: \r\nUser-agent: *\rDisallow: /",
            &[(&["A", "b"], &["+/x"]), (&["*"], &["-/"])],
        );
        // Other records do not part agents from each other, or from their rules.
        check(
            b"User-agent: a\nSitemap: https://x/\nUser-agent: b\nCrawl-delay: 1\nDisallow: /\n",
            &[(&["a", "b"], &["-/"])],
        );
        check(b"Disallow: /lost\nUser-agent:\nDisallow: /nobody\n", &[]);
        check(b"User-agent: a\nUser-agent: b", &[(&["a", "b"], &[])]);
        check(b"", &[]);
        assert_eq!(Robots::parse(b"<html>\nUser-agent: a\nDissallow: /\nSitemap: x\n").strange, [1, 3]);
    }

    #[test]
    fn patterns_are_escaped_alike() {
        for (text, want) in [
            ("/%7Ejoe", "/~joe"),
            ("/a%3cd", "/a%3Cd"),
            ("/%2f", "/%2F"),
            ("/\u{30c4}", "/%E3%83%84"),
            ("/%E3%83%84", "/%E3%83%84"),
            ("/a b", "/a%20b"),
            ("/100%", "/100%"),
            ("/%zz", "/%zz"),
            ("/%+1", "/%+1"),
            ("/*.php$", "/*.php$"),
        ] {
            assert_eq!(Pattern::new(text).as_str(), want, "{text}");
        }
        assert_eq!(Pattern::new("/a*b").beginning(), "/a");
        assert_eq!(Pattern::new("/a$").beginning(), "/a");
        assert!(!Pattern::new("a").can_match());
    }
}
