//! The lints by their codes: how much each matters, and what it says. The one table, for reports and for the documentation.

use super::problem::Severity::{self, Info, Warn};

/// A kind of lint.
#[derive(Clone, Copy, Debug)]
pub struct Lint {
    /// The stable code, such as `L7`.
    pub code: &'static str,
    /// How much it matters in a file of Anubis's language.
    pub level: Severity,
    /// What it says.
    pub meaning: &'static str,
}

const fn lint(code: &'static str, level: Severity, meaning: &'static str) -> Lint {
    Lint { code, level, meaning }
}

/// Every lint there is.
pub const LINTS: &[Lint] = &[
    lint("L1", Warn, "more than one document in the main file; only the first counts"),
    lint("L2", Warn, "an unknown key, which is ignored; with the nearest known one"),
    lint("L3", Warn, "a key that is given twice, or in two spellings"),
    lint(
        "L4",
        Warn,
        "a matcher without a value, which is ignored, so that the rule is broader than it looks",
    ),
    lint("L5", Warn, "a number or a boolean that became text, or a number that is read in base 8"),
    lint("L6", Info, "a name that another rule has, or a file that is imported twice"),
    lint(
        "L7",
        Warn,
        "a network with host bits or in its IPv4-mapped form; networks of an ALLOW that hold every address",
    ),
    lint("L8", Warn, "a private network number, or a country code that is none"),
    lint("L9", Warn, "a weight that is 0, or that stands in a rule which does not WEIGH"),
    lint("L10", Info, "`slow` and `report_as`, which have no effect"),
    lint("L11", Warn, "a pattern that matches everything, in a rule that others follow"),
    lint("L12", Warn, "a rule about networks or countries without a database"),
    lint("L13", Warn, "a pattern for a header that also matches when the header is absent"),
    lint("L14", Warn, "a header that no request can show"),
    lint(
        "L15",
        Warn,
        "weights that no threshold judges, thresholds that never judge, thresholds without weights",
    ),
    lint("L16", Warn, "`DEBUG_BENCHMARK`, which challenges"),
    lint("L17", Warn, "a host with a port or in upper case"),
    lint("L18", Warn, "an expression that is constant, or no condition"),
    lint("L19", Warn, "a lookup in headers or query that a visitor can make fail"),
    lint("L20", Info, "a header in a spelling that Anubis would not find"),
    lint("L21", Warn, "a challenge without a difficulty, which means 0"),
    lint("L22", Info, "a difficulty beyond the bounds, with what it becomes"),
    lint("L23", Warn, "a status that not every proxy can send"),
    lint("L24", Info, "a setting of Anubis that has no effect here, with what replaces it"),
    lint("L25", Warn, "an ALLOW by the user agent alone, which anyone can send"),
    lint("L26", Warn, "`verifyFCrDNS` with one argument, which holds for addresses without a name"),
    lint("L27", Warn, "in an ALLOW, a dot that matches any character, or a path pattern without `^`"),
    lint("L28", Warn, "a DENY or CHALLENGE that an ALLOW above it leaves nothing to"),
    lint("L29", Warn, "rules or thresholds below a rule that decides every request"),
    lint("L30", Warn, "a rule that one above it leaves nothing to, though it asks something else"),
    lint("L31", Info, "a rule that adds nothing to one above it, which asks the same"),
    lint("L32", Warn, "a LIMIT in a policy with `learn: false`, under which nothing is counted"),
    lint("S1", Info, "hosts of a site that hold a glob of an earlier one, which takes what that matches"),
    lint("S2", Warn, "hosts of a site that an earlier one takes, or a site that no host leads to"),
];

/// How much a lint matters, by its code.
pub(super) fn level(code: &str) -> Severity {
    LINTS.iter().find(|lint| lint.code == code).map_or(Warn, |lint| lint.level)
}

/// The lints as a Markdown table, for the documentation.
pub fn lint_table() -> String {
    let row = |lint: &Lint| format!("| {} | {} | {} |\n", lint.code, lint.level.as_str(), lint.meaning);
    let rows: String = LINTS.iter().map(row).collect();
    format!("| code | level | |\n|---|---|---|\n{rows}")
}
