//! The policies that are part of the program: `policies/` of the repository.

/// Names as they stand after `(data)/`, with their texts.
const FILES: [(&str, &str); 5] = [
    ("bots/ai-scrapers.yaml", include_str!("../../policies/bots/ai-scrapers.yaml")),
    ("common/keep-internet-working.yaml", include_str!("../../policies/common/keep-internet-working.yaml")),
    ("observe.yaml", include_str!("../../policies/observe.yaml")),
    ("quiet.yaml", include_str!("../../policies/quiet.yaml")),
    ("strict.yaml", include_str!("../../policies/strict.yaml")),
];

/// The text of an embedded file.
pub(super) fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// Every name there is.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}
