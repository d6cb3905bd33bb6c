//! What is watched over time, and whether it grows.

use std::fmt;

use crate::measure::median;

/// One look.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) minutes: f64,
    pub(crate) rss_mib: f64,
    pub(crate) descriptors: u64,
    pub(crate) visits: u64,
    pub(crate) errors: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { minutes, rss_mib, descriptors, visits, errors, p50_ms, p99_ms } = self;
        write!(
            f,
            "{minutes:>6.1}  {rss_mib:>10.2}  {descriptors:>11}  {visits:>7}  {errors:>6}  {p50_ms:>7.2}  {p99_ms:>7.2}"
        )
    }
}

/// All looks in their order.
#[derive(Debug, Default)]
pub(crate) struct Trend(Vec<Sample>);

/// The most that memory may grow, in MiB an hour.
const MAX_SLOPE: f64 = 1.0;

impl Trend {
    pub(crate) fn push(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// Prints what it comes to, and yields whether it holds: memory that does not grow by more than a MiB an hour,
    /// descriptors that do not grow, no error at all. The first part is left out of all but errors.
    pub(crate) fn judge(&self, warm_up: f64) -> bool {
        let end = self.0.last().map_or(0.0, |sample| sample.minutes);
        let settled: Vec<_> = self.0.iter().filter(|sample| sample.minutes >= end * warm_up).collect();
        let third = settled.len() / 3;
        if third == 0 {
            println!("too short to judge: three looks after the warm-up are needed");
            return false;
        }
        let (early, late) = (&settled[..third], &settled[settled.len() - third..]);
        let line = slope(&settled.iter().map(|s| (s.minutes / 60.0, s.rss_mib)).collect::<Vec<_>>());
        let most = |part: &[&Sample]| part.iter().map(|s| s.descriptors).max().unwrap_or(0);
        let p99 = |part: &[&Sample]| median(part.iter().map(|s| s.p99_ms));
        let errors: u64 = self.0.iter().map(|sample| sample.errors).sum();
        let visits: u64 = self.0.iter().map(|sample| sample.visits).sum();
        println!(
            "RSS after {:.0} % warm-up: {line:+.2} MiB/h (at most {MAX_SLOPE:.0})\n\
             descriptors: {} in the first third after it, {} in the last (must not grow)\n\
             errors: {errors} of {visits} visits (none may be)\n\
             p99: {:.2} ms in the first third after it, {:.2} ms in the last",
            warm_up * 100.0,
            most(early),
            most(late),
            p99(early),
            p99(late)
        );
        line <= MAX_SLOPE && most(late) <= most(early) && errors == 0
    }
}

/// The slope of the line with the least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (above, below) = points.iter().fold((0.0, 0.0), |(above, below), point| {
        (above + (point.0 - x) * (point.1 - y), below + (point.0 - x) * (point.0 - x))
    });
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(change: impl Fn(usize, &mut Sample)) -> bool {
        let mut trend = Trend::default();
        for n in 0..60 {
            let mut sample = Sample {
                minutes: n as f64,
                rss_mib: 20.0,
                descriptors: 30,
                visits: 100,
                errors: 0,
                p50_ms: 1.0,
                p99_ms: 2.0,
            };
            change(n, &mut sample);
            trend.push(sample);
        }
        trend.judge(0.25)
    }

    #[test]
    fn the_slope_is_that_of_a_line_through_noise() {
        assert!((slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) - 2.0).abs() < 1e-9);
        assert!(slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 3.0), (3.0, 1.0)]).abs() < 1e-9);
        assert_eq!(slope(&[(1.0, 1.0)]), 0.0);
    }

    #[test]
    fn growth_and_errors_fail_and_a_warm_up_does_not() {
        assert!(judged(|_, _| {}));
        assert!(judged(|n, sample| if n < 10 {
            sample.rss_mib = n as f64;
        }));
        assert!(!judged(|n, sample| sample.rss_mib += n as f64 / 30.0), "2 MiB an hour");
        assert!(judged(|n, sample| sample.rss_mib += n as f64 / 120.0), "half a MiB an hour");
        assert!(judged(|n, sample| sample.rss_mib += if n % 10 < 5 { 3.5 } else { 0.0 }), "up and down");
        assert!(!judged(|n, sample| sample.rss_mib += (n / 15) as f64), "in steps");
        assert!(!judged(|n, sample| sample.descriptors += n as u64 / 30));
        assert!(!judged(|n, sample| sample.errors = u64::from(n == 3)));
    }
}
