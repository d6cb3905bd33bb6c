//! `asns` and `geoip`: where on the internet, and where on earth, a visitor comes from.

use super::fields::{Fields, Text};
use crate::policy::document::{Node, Resolved};
use crate::policy::report::Report;

/// The numbers of `asns.match`. An empty list is no matcher.
pub(super) fn asns(fields: &Fields<'_>, report: &mut Report) -> Option<Vec<u32>> {
    let node = fields.get("asns")?;
    let inner = Fields::read(node, "asns.", &["match"], &[], Text::Exact, report)?;
    let list = inner.get("match")?;
    let Some(items) = list.items() else {
        report
            .error(&list.place, format!("`asns.match` must be a list, but it is {}", list.noun()))
            .at_key("asns.match");
        return None;
    };
    Some(items.iter().filter_map(|item| asn(item, report)).collect())
}

fn asn(node: &Node, report: &mut Report) -> Option<u32> {
    let number = match node.resolved() {
        Some(Resolved::Int(number)) => u32::try_from(number).ok(),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and in range"
        )]
        Some(Resolved::Float(n)) if n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&n) => {
            Some(n as u32)
        }
        _ => None,
    };
    let Some(number) = number else {
        let message =
            "the number of a network must be a whole number of 32 bits, without quotes and without `AS`";
        report.error(&node.place, message).at_key("asns.match");
        return None;
    };
    // RFC 6996: private use; RFC 7300: the last ones; RFC 5398: documentation; RFC 7607: 0.
    if matches!(number, 0 | 64_496..=64_511 | 64_512..=65_535 | 65_536..=65_551 | 4_200_000_000..=u32::MAX) {
        let message = format!("{number} is a private or reserved number, so that no visitor comes from it");
        report.lint("L8", &node.place, message).at_key("asns.match");
    }
    Some(number)
}

/// The countries of `geoip.countries`, in upper case. A code that is none matches nothing.
pub(super) fn countries(fields: &Fields<'_>, report: &mut Report) -> Option<Vec<[u8; 2]>> {
    let node = fields.get("geoip")?;
    let inner = Fields::read(node, "geoip.", &["countries"], &[], Text::Exact, report)?;
    let items = inner.texts("countries", report)?;
    let mut countries = Vec::new();
    for (text, node) in items {
        let code = <[u8; 2]>::try_from(text.to_ascii_uppercase().as_bytes());
        match code.ok().filter(|code| code.iter().all(u8::is_ascii_uppercase)) {
            Some(code) => countries.push(code),
            None => {
                let message = format!(
                    "`{}` is no country code of two letters, so that it matches nothing",
                    text.escape_debug()
                );
                report.lint("L8", &node.place, message).at_key("geoip.countries");
            }
        }
    }
    Some(countries)
}
