//! What expressions are worth, what is refused, on which side readings and lookups fall, and properties of all texts.

use proptest::prelude::*;

use super::*;
use crate::policy::facts::{Answer, Facts};
use crate::request::{Headers, Parts, Request};

const HEADERS: [(&str, &str); 6] = [
    ("user-agent", "Mozilla/5.0 Firefox/150.0"),
    ("Accept", "*/*"),
    ("X-A", "1"),
    ("x-a", "2"),
    ("X-Real-IP", "10.0.0.1"),
    ("Content-Length", "101"),
];

fn request<'r>(target: &'r str, headers: &[(&'r str, &'r str)]) -> Request<'r> {
    let headers: Headers<'r> = headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
    let (method, host, scheme) = (&b"POST"[..], &b"Example.com:8443"[..], &b"https"[..]);
    let client = Some("203.0.113.7".parse().unwrap());
    Request::new(Parts { method, target: target.as_bytes(), host, scheme, client, headers }).unwrap()
}

#[track_caller]
fn compiled(text: &str, scope: Scope) -> Expression {
    let outcome = compile(&[text], Join::Single, scope);
    outcome.expression.unwrap_or_else(|| panic!("{text}: {:?}", outcome.refusals))
}

fn known(answers: Vec<(Lookup, Answer)>) -> Facts<'static> {
    Facts { load: [12.5, 1.0, 0.5], chance: 7, answers, ..Facts::default() }
}

/// What a rule makes of an expression: a strict and a lenient one.
fn sides(text: &str, target: &str, facts: &Facts<'_>) -> ([Holds; 2], Vec<Lookup>) {
    let expression = compiled(text, Scope::Rule);
    let request = request(target, &HEADERS);
    let scene = Scene::new(&request, facts);
    let mut lookups = Vec::new();
    let strict = expression.holds(&scene, false, 0, &mut lookups);
    let lenient = expression.holds(&scene, true, 0, &mut Vec::new());
    ([strict, lenient], lookups)
}

#[track_caller]
fn check(text: &str, want: Holds) {
    let (got, lookups) = sides(text, "/a/b?x=1&y=a+b%2F&x=2&z&=e&bad=%zz", &known(Vec::new()));
    assert_eq!((got, lookups), ([want; 2], Vec::new()), "{text}");
}

/// What is true in every CEL.
pub(super) const TRUE_OF_CEL: &[&str] = &[
    // Numbers.
    "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 - 2 - 1 == 4 && -7 / 2 == -3 && -7 % 2 == -1",
    "0x10 == 16 && 3u + 2u == 5u && 1.5 * 2.0 == 3.0 && - -3 == 3 && !!true && -(-3) == 3",
    "-9223372036854775808 < 0 && 9223372036854775807 > 0 && 1.0 / 0.0 > 1e300",
    "1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 1 != 2 && false < true && \"a\" < \"b\" && b\"a\" < b\"b\"",
    "dyn(1) == 1.0 && dyn(1) < 1.5 && dyn(1u) == 1 && [1, \"a\"][1] == \"a\" && dyn(1) != \"1\"",
    "int(3.9) == 3 && int(\"-4\") == -4 && uint(5) == 5u && double(2) == 2.0 && int(7u) == 7 && double(\"1e2\") == 100.0",
    "string(1) == \"1\" && string(1.5) == \"1.5\" && string(true) == \"true\" && string(b\"abc\") == \"abc\"",
    "bool(\"true\") && !bool(\"0\") && bytes(\"abc\") == b\"abc\" && type(1) == int && type(\"\") != int && type(int) == type",
    "type(null) == null_type && type([]) == list && type({}) == map && null == null && type(1.0) == double",
    // Lists and maps.
    "1 in [1, 2] && !(3 in [1, 2]) && \"a\" in {\"a\": 1} && {\"a\": 1}.a == 1 && {\"a\": 1}[\"a\"] == 1 && {1: \"x\"}[1] == \"x\"",
    "[1, 2] + [3] == [1, 2, 3] && [1, 2, 3][2] == 3 && size([1, 2]) == 2 && [[1], []] == [[1], []] && [1] != [2]",
    "[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].map(x, x > 1, x) == [2, 3] && [1, 2].filter(x, x > 1) == [2]",
    "[1, 2, 1].exists_one(x, x == 2) && ![1, 1].existsOne(x, x == 1) && {\"a\": 1, \"b\": 2}.all(k, k < \"c\")",
    "[[1, 2], [3]].exists(x, x.exists(y, y == 3)) && [1].all(path, path == 1)",
    "has({\"a\": 1}.a) && !has({\"a\": 1}.b) && [1, 2,] == [1, 2]",
    // Texts.
    "\"caf\u{e9}\".size() == 4 && \"caf\u{e9}\".charAt(3) == \"\u{e9}\" && \"abc\".charAt(3) == \"\"",
    "\"abcb\".indexOf(\"b\") == 1 && \"abcb\".indexOf(\"b\", 2) == 3 && \"a\".indexOf(\"z\") == -1 && \"abc\".indexOf(\"\", 2) == 2",
    "\"abcb\".lastIndexOf(\"b\") == 3 && \"abcb\".lastIndexOf(\"b\", 2) == 1 && \"a\".lastIndexOf(\"z\") == -1 && \"abc\".lastIndexOf(\"\") == 3",
    "\"aBC\".lowerAscii() == \"abc\" && \"aBc\".upperAscii() == \"ABC\" && \" a\\t\".trim() == \"a\" && \"abc\".reverse() == \"cba\"",
    "\"aXbXc\".replace(\"X\", \"-\") == \"a-b-c\" && \"aXbXc\".replace(\"X\", \"-\", 1) == \"a-bXc\" && \"ab\".replace(\"\", \"-\") == \"-a-b-\"",
    "\"a,b,c\".split(\",\") == [\"a\", \"b\", \"c\"] && \"a,b,c\".split(\",\", 2) == [\"a\", \"b,c\"] && \"abc\".split(\"\") == [\"a\", \"b\", \"c\"] && \"a\".split(\",\", 0) == []",
    "[\"a\", \"b\"].join() == \"ab\" && [\"a\", \"b\"].join(\"-\") == \"a-b\" && \"tacocat\".substring(4) == \"cat\" && \"tacocat\".substring(0, 4) == \"taco\"",
    "strings.quote(\"a\\n\\\"b\") == \"\\\"a\\\\n\\\\\\\"b\\\"\" && \"a\" + \"b\" == \"ab\" && b\"a\" + b\"b\" == b\"ab\"",
    "\"%s is %d%% of %.2f, %x %X %o %b %e\".format([\"a\", 5, 1.0, 255, \"hi\", 8, 5, 1000.0]) == \"a is 5% of 1.00, ff 6869 10 101 1.000000e+03\"",
    "\"%s %s\".format([[1, \"a\", null], {\"k\": true}]) == \"[1, a, null] {k: true}\" && \"%s\".format([type(1)]) == \"int\"",
    "path.matches(\"^/a\") && matches(path, \"b$\") && !path.matches(\"^b\") && \"a\\n\".matches(\"a\\n$\") && path.matches(\"/\" + \"a\")",
    "!\"x\".matches(\" x\") && path.startsWith(\"/\") && \"a\u{e9}\".matches(\"^a.$\")",
];

#[test]
fn what_is_true_of_a_request_holds() {
    TRUE_OF_CEL.iter().for_each(|text| check(text, Holds::Yes));
    check(
        "string(1e30) == \"1e+30\" && string(1e-7) == \"1e-07\" && string(-1.0 / 0.0) == \"-Inf\"",
        Holds::Yes,
    );
    for text in [
        // Variables.
        r#"method == "POST" && host == "example.com" && path == "/a/b""#,
        r#"userAgent.startsWith("Mozilla/") && userAgent.contains("Firefox") && userAgent.endsWith(".0")"#,
        r#"remoteAddress == "203.0.113.7" && contentLength == 101"#,
        "load_1m >= 12.5 && load_5m == 1.0 && load_15m < 1.0",
        ".path == path",
        // Maps of the request.
        r#"headers["Accept"] == "*/*" && headers["accept"] == headers.Accept"#,
        r#"headers["X-A"] == "1,2" && headers["X-Real-Ip"] == remoteAddress"#,
        r#""ACCEPT" in headers && has(headers.accept) && !has(headers.Nope) && !("Host" in headers)"#,
        r#"missingHeader(headers, "Nope") && !missingHeader(headers, "accept")"#,
        r#"query["x"] == "1,2" && query["y"] == "a b/" && query["z"] == "" && query[""] == "e""#,
        r#"!("bad" in query) && !("X" in query) && size(query) == 4 && query.size() == 4"#,
        r#"headers.exists(k, k == "X-A") && headers.exists(k, k == "User-Agent") && size(headers) == 5"#,
        r#"headers.all(k, headers[k] != "nope") && query.exists_one(k, k == "x")"#,
        "headers != headers && !(headers == headers) && query != query && {1: 2} == {1: 2}",
        // Logic absorbs what has no value, whichever side it stands on.
        r#"headers["Nope"] == "1" || true"#,
        r#"true || headers["Nope"] == "1""#,
        r#"!(headers["Nope"] == "1" && false) && !(false && headers["Nope"] == "1")"#,
        r#"true ? true : headers["Nope"] == "1""#,
        r#"["a", "b"].exists(x, x == "b" || headers[x] == "") && [1, 0].exists(x, 1 / x == 1)"#,
        "![1, 0].all(x, 1 / x == 2) && [].all(x, false) && ![].exists(x, true)",
        // What Anubis adds.
        "segments(path) == [\"a\", \"b\"] && segments(\"/\") == [\"\"] && segments(\"/a/\") == [\"a\", \"\"]",
        "regexSafe(\"a.b*c-d{e}\") == \"a\\\\.b\\\\*c\\\\-d\\\\{e\\\\}\" && arpaReverseIP(\"1.2.3.4\") == \"4.3.2.1\"",
        "arpaReverseIP(\"2001:db8::1\") == \"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2\"",
        "randInt(1) == 0 && randInt(10) < 10 && randInt(10) >= 0 && [1, 2, 3, 4].map(x, randInt(1000000)).exists_one(n, n == randInt(1)) == false",
        // Time.
        "timestamp(\"2026-01-02T03:04:05Z\").getFullYear() == 2026 && duration(\"90m\").getHours() == 1",
        "timestamp(\"2026-01-02T03:04:05Z\") + duration(\"1h\") == timestamp(\"2026-01-02T04:04:05Z\")",
        "timestamp(0) < timestamp(\"2026-01-02T03:04:05Z\") && int(timestamp(\"1970-01-01T00:01:00Z\")) == 60 && string(duration(\"1.5s\")) == \"1.5s\"",
        // Comments and lines.
        "true // yes\n && true",
    ] {
        check(text, Holds::Yes);
    }
}

#[test]
fn what_has_no_value_cannot_be_decided() {
    for (text, fault) in [
        (r#"headers["Nope"] == "1""#, Fault::Key),
        (r#"headers["Host"] == "example.com""#, Fault::Key),
        (r#"headers.Nope == "1" && true"#, Fault::Key),
        (r#"!(query["nope"] == "1")"#, Fault::Key),
        (r#"headers["Nope"] == "1" ? true : true"#, Fault::Key),
        (r#"["a"].map(x, headers[x]) == []"#, Fault::Key),
        ("[1][1] == 1", Fault::Index),
        ("[1][-1] == 1", Fault::Index),
        ("\"a\".substring(2) == \"\"", Fault::Index),
        ("\"abc\".substring(2, 1) == \"\"", Fault::Index),
        ("\"a\".charAt(-1) == \"\"", Fault::Index),
        ("\"%s\".format([]) == \"\"", Fault::Index),
        ("1 / 0 == 1", Fault::Division),
        ("1u % 0u == 1u", Fault::Division),
        ("9223372036854775807 + 1 == 0", Fault::Overflow),
        ("-(-9223372036854775808) == 0", Fault::Overflow),
        ("-9223372036854775808 / -1 == 0", Fault::Overflow),
        ("int(1e30) == 0", Fault::Overflow),
        ("uint(-1) == 0u", Fault::Overflow),
        ("int(\"x\") == 0", Fault::Argument),
        ("randInt(0) == 0", Fault::Argument),
        ("segments(\"a\") == []", Fault::Argument),
        ("arpaReverseIP(\"a\") == \"\"", Fault::Argument),
        ("0.0 / 0.0 < 1.0", Fault::Argument),
        ("{1: 1, 1: 2} == {}", Fault::Argument),
        ("timestamp(\"x\") == timestamp(0)", Fault::Argument),
        ("path.matches(\"(\" + path)", Fault::Pattern),
        ("verifyFCrDNS(remoteAddress, \"(\")", Fault::Pattern),
        ("dyn(path) + 1 == 2", Fault::Type),
        ("dyn(path) && true", Fault::Type),
        ("[dyn(1)].all(x, x)", Fault::Type),
        ("dyn(1) in dyn(2)", Fault::Type),
    ] {
        check(text, Holds::Undecided(fault));
    }
}

#[test]
fn what_is_no_condition_is_never_true() {
    for text in ["path", "1", "headers", "dyn(1)", "null", "[true]"] {
        check(text, Holds::No);
    }
}

#[test]
fn the_worst_expression_is_stopped() {
    let list = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]";
    let loops = format!(
        "{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, {list}.all(e, a + b + c + d + e > 0)))))"
    );
    check(&loops, Holds::Undecided(Fault::Budget));
    let segments = format!("/{}", "a/b/c/d/".repeat(10));
    assert_eq!(
        sides("segments(path).exists(s, \"\".matches(s + \"x\"))", &segments, &known(Vec::new())).0,
        [Holds::No; 2]
    );
    let varied: String = (0..2000).map(|n| format!("/{n}")).collect();
    assert_eq!(
        sides("segments(path).exists(s, userAgent.matches(s + \"x\"))", &varied, &known(Vec::new())).0,
        [Holds::Undecided(Fault::Budget); 2]
    );
    let doubled = (0..12).fold("[path]".to_owned(), |list, _| format!("{list}.map(x, x + x + x + x)"));
    check(&format!("{doubled} == []"), Holds::Undecided(Fault::Size));
    for text in ["[", "(", "{1:", "f(", "!", "-", "1?1:", "a.b(", "a["] {
        assert!(compile(&[&text.repeat(10_000)], Join::Single, Scope::Rule).expression.is_none(), "{text}");
    }
    for text in ["1+", "a.b.", "true&&", "true?true:", "1,"] {
        let _ = compile(&[&format!("{}1", text.repeat(10_000))], Join::Single, Scope::Rule);
    }
}

#[test]
fn readings_fall_on_the_side_of_the_rule() {
    for (text, target, strict, lenient) in [
        (r#"path.startsWith("/admin")"#, "/x/../admin", Holds::Yes, Holds::No),
        (r#"path.startsWith("/x")"#, "/x/../admin", Holds::Yes, Holds::No),
        (r#"path.startsWith("/")"#, "/x/../admin", Holds::Yes, Holds::Yes),
        (r#"path.startsWith("/none")"#, "/x/../admin", Holds::No, Holds::No),
        (r#""b" in query && query["b"] == "2""#, "/?a=1;b=2", Holds::Yes, Holds::No),
        (r#"query["a"] == "1;b=2""#, "/?a=1;b=2", Holds::Yes, Holds::No),
        // One true reading wins over a missing key in another, and so does a false one for a lenient rule.
        (r#"query["b"] == "2""#, "/?a=1;b=2", Holds::Yes, Holds::Undecided(Fault::Key)),
        (r#"query["b"] == "3""#, "/?a=1;b=2", Holds::Undecided(Fault::Key), Holds::No),
    ] {
        assert_eq!(sides(text, target, &known(Vec::new())).0, [strict, lenient], "{text} {target}");
    }
}

#[test]
fn no_lenient_rule_believes_several_agents() {
    let facts = Facts::default();
    let headers = [("User-Agent", "Googlebot"), ("User-Agent", "curl")];
    let request = request("/", &headers);
    let scene = Scene::new(&request, &facts);
    for (text, lenient) in [
        (r#"userAgent.contains("Googlebot")"#, Holds::No),
        (r#"headers["user-agent"].contains("Googlebot")"#, Holds::No),
        (r#"has(headers["X-Real-Ip"].x) || "User-Agent" in headers"#, Holds::No),
        (r#"path == "/""#, Holds::Yes),
    ] {
        let Some(expression) = compile(&[text], Join::Single, Scope::Rule).expression else { continue };
        assert_eq!(expression.holds(&scene, true, 0, &mut Vec::new()), lenient, "{text}");
        assert_eq!(expression.holds(&scene, false, 0, &mut Vec::new()), Holds::Yes, "{text}");
    }
}

#[test]
fn lookups_are_asked_for_only_where_they_matter() {
    let ip: std::net::IpAddr = "203.0.113.7".parse().unwrap();
    let reverse = || Lookup::Reverse(ip);
    let forward = |name: &str| Lookup::Forward(name.to_owned());
    let names = |names: &[&str]| (reverse(), Answer::Names(names.iter().map(|n| (*n).to_owned()).collect()));
    let at = |name: &str, address: &str| (forward(name), Answer::Addresses(vec![address.parse().unwrap()]));
    let failed = || vec![(reverse(), Answer::Failed)];
    let need = [Holds::Need; 2];
    let (yes, no, unknown) = ([Holds::Yes; 2], [Holds::No; 2], [Holds::Yes, Holds::No]);
    let verify = r#"verifyFCrDNS(remoteAddress, "\\.example\\.net$")"#;
    for (text, facts, want, lookups) in [
        (verify, vec![], need, vec![reverse()]),
        (verify, vec![names(&["H.example.net."])], need, vec![forward("h.example.net")]),
        (verify, vec![names(&["h.example.net."]), at("h.example.net", "203.0.113.7")], yes, vec![]),
        (verify, vec![names(&["h.example.net."]), at("h.example.net", "203.0.113.8")], no, vec![]),
        (verify, vec![names(&["h.example.org."])], no, vec![]),
        (verify, vec![names(&[])], no, vec![]),
        (verify, failed(), unknown, vec![]),
        (
            verify,
            vec![names(&["h.example.net"]), (forward("h.example.net"), Answer::Failed)],
            unknown,
            vec![],
        ),
        // Any name may lead back once some name matches.
        (verify, vec![names(&["a.example.net", "b.org"]), at("b.org", "203.0.113.7")], yes, vec![]),
        ("verifyFCrDNS(remoteAddress)", vec![names(&[])], yes, vec![]),
        ("verifyFCrDNS(remoteAddress)", failed(), unknown, vec![]),
        ("verifyFCrDNS(\"no address\")", vec![], unknown, vec![]),
        ("reverseDNS(remoteAddress) == []", vec![names(&[])], yes, vec![]),
        ("reverseDNS(remoteAddress) == [\"a.b\"]", vec![names(&["a.b."])], yes, vec![]),
        ("lookupHost(\"A.b.\") == [\"::1\"]", vec![at("a.b", "::1")], yes, vec![]),
        ("lookupHost(\"a b\") == [] && lookupHost(\"::1\") == [\"::1\"]", vec![], yes, vec![]),
        ("lookupHost(\"a\") == lookupHost(\"b\")", vec![], need, vec![forward("a")]),
        // An answer that does not fit is a failure.
        (verify, vec![(reverse(), Answer::Listed(true))], unknown, vec![]),
        // What the other side decides is not asked, and what a failure leaves open has a side.
        ("verifyFCrDNS(remoteAddress) && method == \"GET\"", vec![], no, vec![]),
        ("verifyFCrDNS(remoteAddress) || method == \"POST\"", vec![], yes, vec![]),
        ("verifyFCrDNS(remoteAddress) && method == \"POST\"", vec![], need, vec![reverse()]),
        ("verifyFCrDNS(remoteAddress) && 1 / 0 == 1", vec![], need, vec![reverse()]),
        ("verifyFCrDNS(remoteAddress) && 1 / 0 == 1", failed(), unknown, vec![]),
        ("!verifyFCrDNS(remoteAddress)", failed(), unknown, vec![]),
        (
            "lookupHost(\"a\") == [] && lookupHost(\"b\") == []",
            vec![],
            need,
            vec![forward("a"), forward("b")],
        ),
        ("lookupHost(\"a\") == [] && reverseDNS(remoteAddress) != []", vec![names(&[])], no, vec![]),
    ] {
        let got = sides(text, "/", &known(facts.clone()));
        assert_eq!(got, (want, lookups), "{text} with {facts:?}");
    }
}

#[test]
fn chance_is_given_and_differs_between_rules_but_not_between_readings() {
    let expression = compiled("randInt(1000) == 0 || path != \"\"", Scope::Rule);
    assert!(expression.is_random());
    let draw = |chance, salt| {
        let facts = Facts { chance, ..Facts::default() };
        let request = request("/x/../y", &[]);
        let scene = Scene::new(&request, &facts);
        let drawn = (0..1000).find(|n| {
            let text = format!("path == \"/y\" && randInt(1000) == {n}");
            compiled(&text, Scope::Rule).holds(&scene, false, salt, &mut Vec::new()) == Holds::Yes
        });
        drawn.expect("some number is drawn")
    };
    assert_eq!(draw(1, 0), draw(1, 0));
    assert_ne!((draw(1, 0), draw(1, 1)), (draw(2, 0), draw(2, 1)));
    assert_ne!(draw(1, 0), draw(1, 1));
}

#[test]
fn what_does_not_fit_is_refused_at_its_place() {
    for (text, range, message) in [
        ("nope == 1", 0..4, "`nope` is not known"),
        ("userAgnt == \"\"", 0..8, "is not known"),
        ("true && nope(path)", 8..18, "there is no function `nope`"),
        ("weight > 0", 0..6, "not known in a rule"),
        ("load_1m >= 10", 0..13, "cannot take a double and an int"),
        ("contentLength > 1u", 0..18, "cannot take an int and a uint"),
        ("\"a\" in userAgent", 0..16, "cannot take a string and a string"),
        ("reverseDNS(remoteAddress).endsWith(\"x\")", 26..39, "cannot be called on list(string)"),
        ("segments(headers)", 0..17, "cannot take (map(string, string))"),
        ("path && true", 0..4, "takes a bool"),
        ("!path", 1..5, "takes a bool"),
        ("-path == \"\"", 1..5, "takes an int or a double"),
        ("path ? true : false", 0..4, "takes a bool"),
        ("true ? 1 : \"a\"", 11..14, "one type"),
        ("path.matches(\"a(b\")", 15..16, "is no pattern"),
        ("path.matches(r\"a(b\")", 16..17, "is no pattern"),
        ("path.startsWith()", 5..17, "takes 1 arguments, but 0 are given"),
        ("startsWith(path, \"a\")", 0..21, "is called as"),
        ("path.segments()", 5..15, "is called as"),
        ("headers[1] == \"\"", 8..9, "the keys of this map are string"),
        ("[1][\"a\"] == 1", 4..7, "indexed by an int"),
        ("path[0] == \"\"", 0..4, "no items"),
        ("path.field == 1", 0..10, "no field"),
        ("has(path)", 4..8, "takes a field"),
        ("path.all(x, true)", 0..4, "goes through a list or a map"),
        ("headers.all(\"k\", true)", 12..15, "name of a variable"),
        ("headers.all(k)", 8..14, "is written as"),
        ("headers.all(k, 1)", 15..16, "takes a bool"),
        ("path == null", 0..12, "cannot take a string and a null"),
        ("path == 1", 0..9, "cannot take a string and an int"),
        ("1.5 % 1.0 == 0.0", 0..9, "cannot take a double and a double"),
        ("[1] < [2]", 0..9, "cannot take"),
        ("path = \"/\"", 5..6, "found `=`"),
        ("path and true", 5..8, "found `and`"),
        ("(path == \"/\"", 0..1, "never closed"),
        ("path == \"/", 8..10, "never closed"),
        ("path == '\\d'", 9..11, "is no escape"),
        ("f(1,)", 4..5, "expected a value"),
        ("if == 1", 0..2, "keeps for itself"),
        ("Msg{a: 1}", 0..3, "no message type"),
        ("", 0..1, "ends where a value"),
        ("a ; b", 2..3, "has no meaning"),
        ("9223372036854775808 > 0", 0..19, "number of 64 bits"),
        ("missingHeader(headers)", 0..22, "takes 2 arguments"),
        ("query.x.y == 1", 0..9, "no field"),
    ] {
        let outcome = compile(&[text], Join::Single, Scope::Rule);
        let (_, refusal) = outcome.refusals.first().unwrap_or_else(|| panic!("{text} is not refused"));
        assert!(refusal.message.contains(message), "{text}: {}", refusal.message);
        assert_eq!(refusal.range, range, "{text}: {}", refusal.message);
        assert!(outcome.expression.is_none());
    }
    let both = compile(&["nope == 1 && path + 1 == 2", "a", "path"], Join::All, Scope::Rule);
    assert_eq!(both.refusals.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 0, 1, 2]);
    let help = |text: &str| compile(&[text], Join::Single, Scope::Rule).refusals[0].1.help.clone().unwrap();
    assert_eq!(help("userAgnt == \"\""), "did you mean `userAgent`?");
    assert_eq!(help("path.startWith(\"a\")"), "did you mean `startsWith`?");
    assert_eq!(help("load_1m >= 10"), "write `10.0`");
    assert!(help("\"a\" in path").contains("contains"));
}

#[test]
fn thresholds_see_the_weight_and_no_request() {
    for (text, weight, want) in [
        ("true", 0, Ok(true)),
        ("weight > 0", 1, Ok(true)),
        ("weight >= 10 && weight < 20", 15, Ok(true)),
        ("weight in [1, 2]", 3, Ok(false)),
        ("weight > 1 ? true : false", 2, Ok(true)),
        ("dyn(weight) > 5.5", 6, Ok(true)),
        ("10 / (weight - 1) > 0", 1, Err(Fault::Division)),
        ("10 / (weight - 1) > 0 || true", 1, Ok(true)),
        ("weight + 1 > 0", i64::MAX, Err(Fault::Overflow)),
        ("randInt(1) == 0 && string(weight).size() == 2", 10, Ok(true)),
        ("weight", 5, Ok(false)),
    ] {
        assert_eq!(compiled(text, Scope::Threshold).holds_at(weight, 0), want, "{text} at {weight}");
    }
    for text in
        ["path == \"/\"", "weight > 5.5", "weight > 5u", "segments(\"/\") == []", "weight = 1", "'a'.b()"]
    {
        assert!(compile(&[text], Join::Single, Scope::Threshold).expression.is_none(), "{text}");
    }
}

#[test]
fn lints_see_guards_and_names() {
    for (text, want) in [
        (r#"headers["Accept"] == """#, &["L19"][..]),
        (r#""Accept" in headers && headers["accept"] == """#, &["L20"]),
        (r#"headers["Accept"] == "" && "Accept" in headers"#, &[]),
        (r#"has(headers.Accept) && headers.Accept == """#, &[]),
        (r#"!missingHeader(headers, "Accept") && headers.Accept == """#, &[]),
        (r#"missingHeader(headers, "Accept") || headers.Accept == """#, &[]),
        (r#"!("Accept" in headers) || headers.Accept == """#, &[]),
        (r#"!("Accept" in headers && headers.Accept != "")"#, &[]),
        (r#""Accept" in headers ? headers.Accept == "" : true"#, &[]),
        (r#""Accept" in headers ? true : headers.Accept == """#, &["L19"]),
        (r#""Accept" in headers || headers.Accept == """#, &["L19"]),
        (r#""a" in query && query["A"] == """#, &["L19"]),
        (r#"query.exists(k, query[k] == "")"#, &[]),
        (r#"["a"].exists(k, query[k] == "")"#, &["L19"]),
        (r#"headers["X-Real-Ip"] == """#, &[]),
        (r#""X_A" in headers"#, &["L14"]),
        (r#"missingHeader(headers, "Host")"#, &["L14"]),
        (r#"host == "A.example" || host in ["b:80"]"#, &["L17", "L17"]),
        (r#"host.endsWith(".example:443") || host == "[::1]""#, &["L17"]),
        ("verifyFCrDNS(remoteAddress)", &["L26"]),
        (r#"verifyFCrDNS(remoteAddress, "x")"#, &[]),
        ("1 == 1", &["L18"]),
        ("path", &["L18"]),
        ("randInt(2) == 0", &[]),
    ] {
        let outcome = compile(&[text], Join::Single, Scope::Rule);
        let codes: Vec<_> = outcome.findings.iter().map(|(_, f)| f.code).collect();
        assert_eq!(codes, want, "{text}");
    }
    let all = [r#""Accept" in headers"#, r#"headers["Accept"] == "x""#];
    assert!(compile(&all, Join::All, Scope::Rule).findings.is_empty());
    assert_eq!(compile(&all, Join::Any, Scope::Rule).findings.len(), 1);
}

/// Expressions that are mostly well typed, by type.
pub(super) fn typed(depth: u32) -> [BoxedStrategy<String>; 3] {
    let truth = prop::sample::select(vec!["true", "false", "(\"Accept\" in headers)", "has(headers.x)"]);
    let text =
        prop::sample::select(vec!["path", "\"a\"", "method", "userAgent", "query[\"x\"]", "\"\u{e9}\""]);
    let number = prop::sample::select(vec!["0", "1", "-3", "contentLength", "9223372036854775807"]);
    let mut leaf = [truth, text, number].map(|s| s.prop_map(str::to_owned).boxed());
    for _ in 0..depth {
        let [b, t, n] = leaf.clone();
        let two = |a: &BoxedStrategy<String>, c: &BoxedStrategy<String>| (a.clone(), c.clone());
        let truth = prop_oneof![
            b.clone(),
            two(&b, &b).prop_map(|(x, y)| format!("({x} && {y})")),
            two(&b, &b).prop_map(|(x, y)| format!("({x} || !{y})")),
            two(&t, &t).prop_map(|(x, y)| format!("({x}).startsWith({y})")),
            two(&t, &t).prop_map(|(x, y)| format!("({x} < {y})")),
            two(&t, &t).prop_map(|(x, y)| format!("({x} in [{y}, \"b\"])")),
            two(&n, &n).prop_map(|(x, y)| format!("({x} >= {y})")),
            two(&n, &b).prop_map(|(x, y)| format!("[{x}, 1].exists(i, i == 1 && {y})")),
        ];
        let text = prop_oneof![
            t.clone(),
            two(&t, &t).prop_map(|(x, y)| format!("({x} + {y})")),
            two(&t, &n).prop_map(|(x, y)| format!("({x}).substring({y})")),
            two(&t, &t).prop_map(|(x, y)| format!("({x}).split({y}).join(\"-\")")),
            n.clone().prop_map(|x| format!("string({x})")),
            (b.clone(), t.clone(), t.clone()).prop_map(|(c, x, y)| format!("({c} ? {x} : {y})")),
        ];
        let number = prop_oneof![
            n.clone(),
            two(&n, &n).prop_map(|(x, y)| format!("({x} + {y})")),
            two(&n, &n).prop_map(|(x, y)| format!("({x} / {y})")),
            t.clone().prop_map(|x| format!("size({x})")),
            two(&t, &t).prop_map(|(x, y)| format!("({x}).indexOf({y})")),
            n.prop_map(|x| format!("randInt({x})")),
        ];
        leaf = [truth.boxed(), text.boxed(), number.boxed()];
    }
    leaf
}

proptest! {
    #[test]
    fn no_text_panics(text in "[a-z0-9()!&|<>=+*/%. \\[\\]{},:?\"'\\\\-]{0,60}") {
        for scope in [Scope::Rule, Scope::Threshold] {
            if let Some(expression) = compile(&[&text], Join::Any, scope).expression {
                let _ = expression.holds_at(1, 1);
            }
        }
    }

    #[test]
    fn no_bytes_panic(text in "\\PC{0,40}") {
        let _ = compile(&[&text], Join::Single, Scope::Rule);
    }

    #[test]
    fn what_was_checked_has_no_error_of_types(text in typed(3)[0].clone(), target in "/[a-z%;&=+]{0,12}\\?[a-z%;&=+]{0,12}") {
        let ast = parse::parse(&text, true).map_err(|r| TestCaseError::fail(r.message))?;
        let mut checker = Checker::new(Scope::Rule);
        checker.check(&ast);
        prop_assert!(checker.refusals.is_empty(), "{:?}", checker.refusals);
        prop_assert!(!checker.dynamic);
        let parts = Parts { method: b"GET", target: target.as_bytes(), host: b"a", scheme: b"http", client: None, headers: Headers::default() };
        if let Ok(request) = Request::new(parts) {
            let facts = Facts::default();
            let scene = Scene::new(&request, &facts);
            let held = compiled(&text, Scope::Rule).holds(&scene, false, 0, &mut Vec::new());
            prop_assert_ne!(held, Holds::Undecided(Fault::Type));
        }
    }
}
