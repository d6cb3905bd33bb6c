//! What the rounds of a point come to: medians, and how far the rounds lie apart.

use crate::compare::{Name, Point};
use crate::measure::{Cost, Round, median};
use crate::scenario::Scenario;

/// A number and how far its rounds lie from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Middle {
    pub(crate) value: f64,
    /// Half of what lies between the lowest and the highest round, in percent of the value.
    pub(crate) spread: f64,
}

impl Middle {
    fn of(values: &[f64]) -> Self {
        let value = median(values.iter().copied());
        let (low, high) = (
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        Self { value, spread: if value > 0.0 { (high - low) / value * 50.0 } else { 0.0 } }
    }
}

impl Point {
    /// Visits a second within the limit of latency.
    pub(crate) fn capacity(&self) -> Middle {
        self.figure(|round| round.capacity)
    }

    /// Microseconds of processor time a visit at the fixed rate, of one process or of all.
    pub(crate) fn cost(&self, process: Option<&str>) -> Cost {
        let part = |part: fn(&Cost) -> f64| {
            self.figure(|round| {
                let wanted = |name: &String| process.is_none_or(|process| process == name);
                round.cost.iter().filter(|(name, _)| wanted(name)).map(|(_, cost)| part(cost)).sum()
            })
        };
        Cost { user_us: part(|cost| cost.user_us).value, kernel_us: part(|cost| cost.kernel_us).value }
    }

    /// Whether in most rounds a rate was missed while the measured core had time left.
    pub(crate) fn is_idle_at_limit(&self) -> bool {
        self.rounds.iter().filter(|round| round.idle_at_limit).count() * 2 > self.rounds.len()
    }

    /// Any figure of a round.
    pub(crate) fn figure(&self, figure: impl Fn(&Round) -> f64) -> Middle {
        Middle::of(&self.rounds.iter().map(figure).collect::<Vec<_>>())
    }

    /// MiB of one process before the first visit and after the last one, at most.
    pub(crate) fn memory(&self, process: &str) -> Option<(f64, f64)> {
        let sizes = || self.rounds.iter().filter_map(|round| round.memory.get(process)).flatten();
        let first = sizes().next()?.1;
        Some((first, sizes().map(|(_, size)| *size).fold(first, f64::max)))
    }
}

/// The points of a comparison.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a>(pub(crate) &'a [Point]);

impl<'a> Points<'a> {
    pub(crate) fn find(self, series: &str, door: &str, rules: &str, scenario: Scenario) -> Option<&'a Point> {
        self.0.iter().find(|point| {
            let Name { series: s, door: d, rules: r, scenario: sc } = &point.name;
            s == series && d == door && r == rules && *sc == scenario
        })
    }

    /// What a server that decides nothing does with the like: a request with a cookie, or one without.
    pub(crate) fn baseline(self, door: &str, scenario: Scenario) -> Option<&'a Point> {
        let like = if scenario == Scenario::Returning { scenario } else { Scenario::Allowed };
        let protocol = if door == "grpc" { "grpc" } else { "nginx" };
        self.find("baseline", protocol, "", like)
    }

    /// Everybody but Tollgate, the baselines and bare proxies, in their order.
    pub(crate) fn peers(self) -> Vec<&'a str> {
        let mut peers: Vec<&str> = Vec::new();
        for point in self.0 {
            let series = point.name.series.as_str();
            if !matches!(series, "tollgate" | "baseline" | "no gate") && !peers.contains(&series) {
                peers.push(series);
            }
        }
        peers
    }
}
