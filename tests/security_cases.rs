//! Holds `tests/SECURITY_CASES.md` to the sources: no case without its row, no row without a test that exists, and nothing said to
//! be held by rows of the attack table that has none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Every case that must have its row.
const CASES: &str = "
    A01 A02 A04 A05 A07 A08 A10 A11 A12 A14 A15 A17 A18 A20 A21 A23 A24 A26
    B01 B02 B03 B04 B07 B08 B09 B10 B12 B14 B15 B17 B18 B19
    C01 C02 C03 C06 C08 C10 C12 C14 C15
    D01 D03 D05 D07 D08 D09 D11 D13 D14 D15
    E01 E02 E03 E05 E06 E08 E10
    F01 F02 F03 F04 F07 F08 F11 F12 F13 F14 F16 F18 F19 F21 F22 F24
    G01 G02 G04 G05 G07
    H01 H05 H06 H07 H08 H09 H10 H11 H13 H14 H16 H18
    P01 P02 P03 P05 P07 P08 P11 P12
    J01 J03 J04 J05 J06 J08 J10
    K01 K03 K04 K06 K07 K09
    L01 L02 L04 L06 L07 L09 L10 L12
    M01 M02 M04 M06 M07
    wP1 wP2 wP3 wP4 wP5 wP6 wP7 wP8 wP9 wP10 wP11
    wH1 wH2 wH3 wH4 wH5 wH6 wH7 wH8 wH9 wH10 wH11 wH12
    wC1 wC2 wC3 wC4 wC5 wC6
    wT1 wT2 wT3 wT4 wT5 wT6 wT7 wT8 wT9 wT10
    wR1 wR2 wR3 wK1 wK2 wK3 wX1 wO1 wO2 wO3 wO4 wO5 wO6
";

/// The cases of which something is not held yet. Whoever writes such a test takes its case from here, and **open** from the table.
const OPEN: &[&str] = &[];

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()))
}

/// The rows of the table: a case, and what holds it.
fn rows() -> BTreeMap<String, String> {
    let text = read("tests/SECURITY_CASES.md");
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| case ")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [case, about, held] = cells[..] else { panic!("not three cells: {line}") };
        assert!(!about.is_empty() && !held.is_empty(), "an empty cell: {line}");
        assert!(rows.insert(case.to_owned(), held.to_owned()).is_none(), "{case} has two rows");
    }
    rows
}

/// The names of all tests below a folder: functions with an attribute that says so, and those that a macro makes tests of for
/// several fronts.
fn tests(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display())) {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source is text");
            for made in text.split("on_every_front! {").skip(1).chain(text.split("on! {").skip(1)) {
                let list = made.split('}').next().unwrap_or_default();
                let listed = list.split_whitespace().filter(|word| text.contains(&format!("fn {word}(")));
                found.extend(listed.map(str::to_owned));
            }
            let mut lines = text.lines().map(str::trim).peekable();
            while let Some(line) = lines.next() {
                let attribute = line.starts_with("#[test]") || line.starts_with("#[tokio::test");
                // Other attributes may stand between.
                while attribute && lines.peek().is_some_and(|next| next.starts_with("#[")) {
                    lines.next();
                }
                let function =
                    lines.peek().filter(|_| attribute).map(|next| next.trim_start_matches("async "));
                let name = function.and_then(|f| f.strip_prefix("fn ")?.split('(').next());
                found.extend(name.map(str::to_owned));
            }
        }
    }
}

#[test]
fn every_case_has_its_row_and_every_row_its_tests() {
    let rows = rows();
    let cases: BTreeSet<_> = CASES.split_whitespace().collect();
    let (listed, known): (BTreeSet<_>, _) = (rows.keys().map(String::as_str).collect(), cases.clone());
    assert_eq!(
        listed.symmetric_difference(&known).collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "cases without a row, or rows without a case"
    );

    let mut found = BTreeSet::new();
    for folder in ["src", "tests"] {
        tests(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
    }
    assert!(found.len() > 400, "only {} tests were found", found.len());
    assert!(!found.contains("answering") && !found.contains("folder"), "helpers are no tests");
    let table = read("tests/data/attacks.jsonl");
    for (case, held) in &rows {
        let names: Vec<_> =
            held.split('`').skip(1).step_by(2).filter(|name| !name.contains([' ', '/'])).collect();
        for name in &names {
            assert!(found.contains(*name), "{case}: there is no test `{name}`");
        }
        let rows_of_it =
            table.lines().filter(|line| line.starts_with(&format!("{{\"id\": \"{case}."))).count();
        let says_rows = held.starts_with("rows");
        assert_eq!(says_rows, rows_of_it > 0, "{case}: {rows_of_it} rows, and the table says {held}");
        let others = held.split([' ', ';']).filter(|word| cases.contains(word)).count();
        let open = held.contains("**open**");
        assert!(!names.is_empty() || says_rows || others > 0 || open, "{case} is held by nothing");
        assert_eq!(open, OPEN.contains(&case.as_str()), "{case}: {held}");
    }
}

/// What no code can hold is at least said.
#[test]
fn what_only_documents_can_hold_is_in_them() {
    let security = read("SECURITY.md");
    for said in [
        "Work is a price, not a proof of a human",
        "a cache belongs below the gate",
        "failure_mode_allow",
        "satisfy any",
    ] {
        assert!(security.contains(said), "SECURITY.md no longer says {said:?}");
    }
    for file in [
        "examples/envoy/filter-only.yaml",
        "examples/envoy/http-service.yaml",
        "examples/envoy/with-route.yaml",
    ] {
        let text = read(file);
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.starts_with('#')).collect();
        assert!(lines.contains(&"failure_mode_allow: false"), "{file} opens where Tollgate is down");
        assert!(!lines.iter().any(|line| line.contains("failure_mode_allow: true")), "{file}");
    }
    let nginx = read("examples/nginx/nginx.conf");
    let active = nginx.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    for line in active {
        assert!(
            !line.contains("error_page 500")
                && !line.contains("satisfy any")
                && !line.contains("proxy_cache "),
            "{line}"
        );
    }
}
