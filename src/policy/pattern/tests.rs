//! Go patterns and their translation.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(pattern: &str, yes: &[&str], no: &[&str]) {
    let compiled = Pattern::compile(pattern).unwrap_or_else(|r| panic!("{pattern}: {}", r.message));
    for text in yes {
        assert!(compiled.is_match(text.as_bytes()), "{pattern} on {text:?}");
    }
    for text in no {
        assert!(!compiled.is_match(text.as_bytes()), "{pattern} on {text:?}");
    }
}

#[test]
fn patterns_mean_what_go_means() {
    check(r"^v\d$", &["v5"], &["v\u{665}"]);
    check(r"\bbot\b", &["\u{e9}bot\u{e9}", "a bot"], &["robot"]);
    check(r"^a\sb$", &["a b", "a\tb", "a\u{c}b"], &["a\u{b}b", "a\u{a0}b"]);
    check(r"^a[[:space:]]b$", &["a\u{b}b"], &["axb"]);
    check(r"^\w+$", &["a_9"], &["\u{e9}"]);
    check(r"^\W$", &["\u{e9}", "-"], &["a", "_"]);
    check(r"^[^\W]$", &["a"], &["-"]);
    check(r"\Qa.b\E+", &["xa.bbb"], &["xaxb"]);
    check(r"\Qa.b", &["a.b"], &["axb"]);
    check(r"\<script\>", &["x<script>y"], &["script"]);
    check(r"a\055b", &["a-b"], &["a5b"]);
    check(r"^\0$", &["\0"], &["0"]);
    check(r"^[a&&b]$", &["a", "&", "b"], &["c"]);
    check(r"^[a~~b]$", &["~"], &["c"]);
    check(r"^[[a]$", &["[", "a"], &["b"]);
    check(r"^[]a]$", &["]", "a"], &["b"]);
    check(r"^[a-]$", &["a", "-"], &["b"]);
    check("^x{$", &["x{"], &["x"]);
    check("^x{,2}$", &["x{,2}"], &["xx"]);
    check("^x{2}$", &["xx"], &["x", "xxx"]);
    check("^x{2,}$", &["xx", "xxxx"], &["x"]);
    check("^x}$", &["x}"], &["x"]);
    check("a|b|", &["", "c"], &[]);
    check("(?i)mozilla", &["MoZilla"], &["mo"]);
    check("(?i:mo)z", &["MOz"], &["moZ"]);
    check("(?s)^.$", &["\n"], &["\n\n"]);
    check("^.$", &["\u{e9}", "\u{fffd}"], &["\n"]);
    check("a$", &["a"], &["a\n"]);
    check("(?m)a$", &["a\nb"], &["ab"]);
    check("(?P<n>a)(?<m>b)", &["ab"], &["a"]);
    check(r"\pL\p{Greek}\P{Greek}\p{^L}", &["a\u{3b1}a1"], &["a\u{3b1}\u{3b1}1"]);
    check(r"\x41\x{42}\n", &["AB\n"], &["AB"]);
    check(r"\+https\:\/\/example\.com", &["+https://example.com"], &["+https://examplexcom"]);
    check("  a  ", &["xax"], &["b"]);
    check("a*?b+?c??", &["b"], &["c"]);
    check("", &["", "a"], &[]);
    check("(a{2}){3}", &["aaaaaa"], &["aaaaa"]);
}

#[test]
fn what_go_refuses_is_refused() {
    let rows = [
        "a(b",
        "a)b",
        "a**",
        "a*+",
        "a++",
        "a{2}{3}",
        "a{1001}",
        "(a{100}){11}",
        "a{3,2}",
        "*a",
        "(*)",
        "|*",
        "a|+",
        "(?x)a b",
        "(?u)a",
        "(?R)a",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?<!a)",
        "(a)\\1",
        "\\8",
        "a\\",
        "a\\ ",
        "\\Z",
        "\\h",
        "\\C",
        "[a",
        "[]",
        "[^]",
        "[z-a]",
        "[a--c]",
        "[a-\\d]",
        "[[:nope:]]",
        "\\p{Nope}",
        "\\p{Alphabetic}",
        "\\p{",
        "\\x{110000}",
        "\\xg0",
        "\\x",
        "(?P<n>a)(?P<n>b)",
        "(?P<>a)",
        "(?P<a-b>a)",
        "(?P=n)",
        "(?-)a",
        "(?i-)a",
        "(?#c)",
        "\\\u{e9}",
    ];
    for pattern in rows {
        assert!(Pattern::compile(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn a_pattern_that_would_grow_too_large_is_refused() {
    let refusal = Pattern::compile(r"(\pL{50}){20}").unwrap_err();
    assert!(refusal.message.contains("MiB"), "{}", refusal.message);
}

#[test]
fn the_place_of_a_mistake_is_told() {
    for (pattern, start) in [("a(b", 1), ("ab**", 3), ("a[z-b]", 2), ("a\\8", 1), ("ab(?=c)", 2)] {
        assert_eq!(Pattern::compile(pattern).unwrap_err().range.start, start, "{pattern}");
    }
}

#[test]
fn what_matches_everything_is_known() {
    for pattern in ["", ".*", "^", "$", "a?", "^.*", "a|", "(?i)x*"] {
        assert!(Pattern::compile(pattern).unwrap().matches_everything(), "{pattern}");
    }
    for pattern in ["^$", ".", "a", "^.*$", r"\b", "^a|$", r"\B"] {
        assert!(!Pattern::compile(pattern).unwrap().matches_everything(), "{pattern}");
    }
}

#[test]
fn each_byte_that_is_no_text_counts_as_one_replacement() {
    assert_eq!(*text(b"a\xe2\x82b"), *"a\u{fffd}\u{fffd}b".as_bytes());
    assert!(matches!(text("\u{e9}".as_bytes()), Cow::Borrowed(_)));
}

proptest! {
    #[test]
    fn no_pattern_panics(pattern in r"[\\\[\](){}?*+|^$.a-cxpQEPd0-9:,&~<>=!iUms \u{e9}-]{0,24}") {
        let _ = Pattern::compile(&pattern);
    }

    #[test]
    fn quoted_text_finds_itself(literal in "[^\\\\]{1,12}") {
        let trimmed = literal.trim();
        let compiled = Pattern::compile(&format!(r"\Q{trimmed}\E")).unwrap();
        prop_assert!(compiled.is_match(trimmed.as_bytes()));
    }
}

#[track_caller]
fn looks_for(pattern: &str, want: Option<&[&str]>) {
    let compiled = Pattern::compile(pattern).unwrap();
    let shown: Option<Vec<_>> =
        compiled.needles().map(|all| all.iter().map(|n| std::str::from_utf8(n).unwrap()).collect());
    assert_eq!(shown.as_deref(), want, "{pattern}");
}

#[test]
fn the_needles_of_a_pattern_are_what_its_matches_hold() {
    looks_for("Googlebot", Some(&["googlebot"]));
    looks_for("(?i:gptbot|claude)", Some(&["claude", "gptbot"]));
    looks_for("^Agent-7\\b.*compatible", Some(&["agent-7"]));
    looks_for("Mozilla/5\\.0 \\(compatible; Robot[0-9]+", Some(&["mozilla/5.0 (compatible; robot"]));
    looks_for("^Mozilla/.*(?:crawl|spider)", Some(&["crawl", "spider"]));
    let k = ["k", "\u{212a}"]
        .map(|k| ["i\u{17f}s", "i\u{17f}\u{17f}", "iss", "is\u{17f}"].map(|iss| format!("{k}{iss}")));
    let mut folded: Vec<_> = k.as_flattened().iter().map(|k| &**k).collect();
    folded.sort_unstable();
    looks_for("(?i)kiss", Some(&folded));
    looks_for("x?bot[0-9]", Some(&["bot"]));
    looks_for("^$", None);
    looks_for(".*", None);
    looks_for("a|", None);
    looks_for("[0-9]+", None);
}

proptest! {
    #[test]
    fn every_match_holds_a_needle(
        parts in prop::collection::vec(prop::sample::select(vec![
            "Goog", "bot", "(?i:kiss)", "(?i:spider|crawl)", "[xy]", "a?", "b+", ".*", "(?:foo|bar){1,2}", r"\.", "[A-Z]", r"\bme\b",
        ]), 1..7),
        text in "(Goog|bot|KISS|kis\u{17f}|spider|CRAWL|x|y|a|b|foo|bar|\\.|Q|me| ){0,8}",
    ) {
        let pattern = Pattern::compile(&parts.concat()).unwrap();
        let lower = text.to_ascii_lowercase();
        if let Some(needles) = pattern.needles().filter(|_| pattern.is_match(text.as_bytes())) {
            let held = needles.iter().any(|n| lower.as_bytes().windows(n.len()).any(|part| part == n));
            prop_assert!(held, "{} in {text}: {needles:?}", pattern.source());
        }
    }
}
