//! The load averages of this machine, which expressions may ask for.

use std::fs;
use std::time::Duration;

/// How often they are read. The kernel itself computes them anew every 5 s.
pub(super) const EVERY: Duration = Duration::from_secs(15);

/// The averages of one, five and fifteen minutes; zero where the system does not tell (proc(5), `/proc/loadavg`).
pub(super) fn averages() -> [f64; 3] {
    fs::read_to_string("/proc/loadavg").map(|text| parse(&text)).unwrap_or_default()
}

fn parse(text: &str) -> [f64; 3] {
    let mut numbers = text.split_ascii_whitespace().map(|word| word.parse().unwrap_or_default());
    std::array::from_fn(|_| numbers.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_three_numbers_count() {
        assert_eq!(parse("0.42 1.50 12.00 3/612 4711\n"), [0.42, 1.5, 12.0]);
        assert_eq!(parse("x 1"), [0.0, 1.0, 0.0]);
        assert_eq!(parse(""), [0.0; 3]);
    }
}
