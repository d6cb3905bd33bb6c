//! Documents: places, scalars, anchors and their budget, and what is no YAML.

use proptest::prelude::*;

use super::*;

fn tree(text: &str) -> Node {
    parse("t.yaml", text).unwrap_or_else(|p| panic!("{p}"))
}

fn place(node: &Node, path: &str) -> (usize, usize) {
    node.find(path).unwrap().value.place.line_and_column()
}

#[test]
fn every_key_and_value_knows_its_place() {
    let root = tree("a: 1\nb:\n  - x: 'y'\n    z: {q: [1, 2]}\n");
    assert_eq!(place(&root, "a"), (1, 4));
    assert_eq!(place(&root, "b"), (3, 3));
    assert_eq!(place(&root, "b.0.x"), (3, 8));
    assert_eq!(place(&root, "b.0.z.q"), (4, 12));
    assert_eq!(root.find("b.0.z").unwrap().place.line_and_column(), (4, 5));
    assert!(root.find("b.1.x").is_none() && root.find("c").is_none() && root.find("a.b").is_none());
}

#[test]
fn places_hold_with_other_encodings_of_the_same_lines() {
    for text in [
        "\u{e9}\u{1f600}: \u{fc}\nb: c\n",
        "a: x\r\nb: c\r\n",
        "\u{feff}a: x\nb: c\n",
        "---\nb: c\n",
        "# \u{e9}\n---\nb: c",
    ] {
        let root = tree(text);
        let entry = root.find("b").unwrap();
        let line = text.lines().position(|l| l.starts_with('b')).unwrap() + 1;
        assert_eq!(entry.value.place.line_and_column(), (line, 4), "{text:?}");
        assert_eq!(entry.value.place.first_line(), ("b: c", 3..4), "{text:?}");
    }
    assert_eq!(tree("{\"a\": {\"b\": 1}}").find("a.b").unwrap().value.place.line_and_column(), (1, 13));
}

#[test]
fn the_place_of_a_part_is_found_where_text_is_written_as_it_reads() {
    let part = |text: &str, range| tree(text).find("a").unwrap().value.place_of(range).line_and_column();
    assert_eq!(part("a: hello", 2..3), (1, 6));
    assert_eq!(part("a: 'hello'", 2..3), (1, 7));
    assert_eq!(part("a: >-\n  hello", 2..3), (2, 5));
    assert_eq!(part("a: \"h\\u0065llo\"", 2..3), (1, 4));
}

#[test]
fn aliases_and_merge_keys_expand() {
    let root = tree("base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: {<<: [{z: 4}, *b]}\nthree: *b\n");
    let number = |path: &str| root.find(path).map(|e| e.value.resolved());
    assert_eq!(number("one.x"), Some(Some(Resolved::Int(1))));
    assert_eq!(number("one.y"), Some(Some(Resolved::Int(3))));
    assert_eq!(number("two.z"), Some(Some(Resolved::Int(4))));
    assert_eq!(number("three.y"), Some(Some(Resolved::Int(2))));
}

#[test]
fn duplicates_are_kept_and_the_last_is_found() {
    let root = tree("a: 1\na: 2\n");
    assert_eq!(root.entries().unwrap().len(), 2);
    assert_eq!(root.find("a").unwrap().value.resolved(), Some(Resolved::Int(2)));
}

#[test]
fn tags_and_quotes_make_text() {
    for text in ["a: !!str 1", "a: '1'", "a: \"1\"", "a: |-\n  1"] {
        assert_eq!(tree(text).find("a").unwrap().value.resolved(), Some(Resolved::Text("1")), "{text}");
    }
}

#[test]
fn what_is_no_yaml_is_refused_with_its_place() {
    for (text, line) in [
        ("a: [1", 2),
        ("a: 1\nb: }", 2),
        ("a: *x", 1),
        ("a: &x [*x]", 1),
        ("{[a]: 1}", 1),
        ("a: {<<: 1}", 1),
        ("\"a", 1),
    ] {
        let problem = parse("t.yaml", text).unwrap_err();
        assert!(problem.line <= line && problem.line > 0, "{text}: {problem}");
        assert!(problem.to_string().contains("t.yaml:"), "{problem}");
    }
}

#[test]
fn growth_is_bounded() {
    let deep = format!("{}1{}", "[".repeat(70), "]".repeat(70));
    assert!(parse("t", &deep).is_err());
    assert!(parse("t", &"[".repeat(100_000)).is_err());
    let mut laughs = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for n in 1..9 {
        let aliases = vec![format!("*a{}", n - 1); 10].join(", ");
        laughs.push_str(&format!("a{n}: &a{n} [{aliases}]\n"));
    }
    let problem = parse("t", &laughs).unwrap_err();
    assert!(problem.message.contains("aliases"), "{problem}");
    let tower: String =
        (1..80).fold("a0: &a0 [1]\n".to_owned(), |t, n| t + &format!("a{n}: &a{n} [*a{}]\n", n - 1));
    assert!(parse("t", &tower).is_err());
}

#[test]
fn documents_are_parted_by_lines_of_dashes() {
    for (text, want) in [
        ("a", vec!["a"]),
        ("a\n---\nb", vec!["a\n", "b"]),
        ("---\na", vec!["", "a"]),
        ("a\n--- # c\nb", vec!["a\n", "b"]),
        ("a\n---b\n", vec!["a\n---b\n"]),
        ("a\n---  \r\nb", vec!["a\n", "b"]),
        (" ---\n", vec![" ---\n"]),
    ] {
        let file = File::new("t", text);
        let got: Vec<_> = file.documents().into_iter().map(|r| text[r].to_owned()).collect();
        assert_eq!(got, want, "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "[ a\\n:\\-\\[\\]{}&*<'\"|>#!,\u{e9}0\t?]{0,60}") {
        let _ = parse("t", &text).map(|n| format!("{n:?}")).map_err(|p| p.to_string());
    }
}
