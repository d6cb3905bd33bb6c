//! The known name that somebody probably meant.

/// The nearest of `known` to `name`, if it is near enough to be a slip: a third of its letters at most.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let best = known.into_iter().map(|k| (distance(&name, &k.to_ascii_lowercase()), k)).min()?;
    (best.0 <= (best.1.len() / 3).max(1)).then_some(best.1)
}

/// Insertions, deletions and substitutions between two texts, by bytes; names are ASCII and short.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 64 {
        return a.len();
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_name_and_another_word_does_not() {
        let known = ["action", "path_regex", "user_agent_regex", "weight"];
        for (name, want) in [
            ("acton", Some("action")),
            ("ACTIONS", Some("action")),
            ("user_agent_regexp", Some("user_agent_regex")),
            ("paths_regex", Some("path_regex")),
            ("note", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), want, "{name}");
        }
    }
}
