//! What one point of a comparison takes: how many visits a second, at what cost, in how much memory.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use crate::process::{Process, Usage};
use crate::run::{Crew, Measured, Order, Pace};
use crate::script::Script;

/// The latency that 99 of 100 visits must stay below for a rate to count as held, in milliseconds.
pub(crate) const LIMIT_MS: f64 = 10.0;
/// Where the measured processes used less of their core than this, a rate that was missed says nothing of what they can do.
const BUSY: f64 = 0.9;

/// How many rates more are tried while none has been held.
const EXTRA: u32 = 5;

/// How much time a point may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Flat out and not measured: what is touched for the first time, most of the memory for visitors among it, costs more.
    pub(crate) warm_up: Duration,
    /// Flat out again, to know where to look.
    pub(crate) burst: Duration,
    /// Each rate that is tried.
    pub(crate) step: Duration,
    /// How many rates are tried.
    pub(crate) steps: u32,
    /// At the fixed rate, for latency and processor time.
    pub(crate) fixed: Duration,
}

impl Effort {
    /// For a table that is to be kept.
    pub(crate) const FULL: Self = Self::of(1_500, 500, 1_000, 5, 2_000);
    /// For a look.
    pub(crate) const QUICK: Self = Self::of(700, 200, 300, 3, 500);

    const fn of(warm_up: u64, burst: u64, step: u64, steps: u32, fixed: u64) -> Self {
        Self {
            warm_up: Duration::from_millis(warm_up),
            burst: Duration::from_millis(burst),
            step: Duration::from_millis(step),
            steps,
            fixed: Duration::from_millis(fixed),
        }
    }
}

/// Microseconds of processor time for one visit.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Cost {
    pub(crate) user_us: f64,
    pub(crate) kernel_us: f64,
}

impl Cost {
    pub(crate) fn total_us(&self) -> f64 {
        self.user_us + self.kernel_us
    }
}

/// A point, measured once.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Round {
    /// Visits a second with 99 of 100 within the limit.
    pub(crate) capacity: f64,
    /// Visits a second with every lane busy all the time.
    pub(crate) flat_out: f64,
    /// What a visit costs each process, flat out.
    pub(crate) cost_flat_out: BTreeMap<String, Cost>,
    /// The fixed rate, and what holds at it.
    pub(crate) rate: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) p999_ms: f64,
    pub(crate) cost: BTreeMap<String, Cost>,
    /// MiB that each process had in memory, as seconds and sizes.
    pub(crate) memory: BTreeMap<String, Vec<(f64, f64)>>,
    /// What went wrong at the fixed rate.
    pub(crate) faults: BTreeMap<String, u64>,
    /// Whether some rate was missed while the measured core had time left: then it was not they that could do no more.
    pub(crate) idle_at_limit: bool,
}

/// What is measured at a point.
pub(crate) struct Subject<'a> {
    pub(crate) crew: &'a mut Crew,
    pub(crate) script: Rc<Script>,
    /// Whose processor time and memory count.
    pub(crate) processes: Vec<&'a Process>,
    /// The fixed rate, in visits a second.
    pub(crate) rate: f64,
}

impl Subject<'_> {
    /// Measures it once.
    pub(crate) async fn measure(&mut self, effort: &Effort) -> anyhow::Result<Round> {
        let start = Instant::now();
        let mut round = Round::default();
        self.crew.try_once(&self.script).await?;
        self.weigh(start, &mut round);

        let (cold, _) = self.run(Pace::FlatOut, effort.warm_up).await;
        ensure!(cold.failed() == 0, "visits fail while it is cold: {:?}", cold.faults);
        let (flat_out, cost) = self.run(Pace::FlatOut, effort.burst).await;
        round.flat_out = flat_out.rate();
        round.cost_flat_out = cost;
        ensure!(flat_out.failed() == 0, "visits fail: {:?}", flat_out.faults);
        self.weigh(start, &mut round);

        // What can do less than the fixed rate is measured at a rate that it can do.
        round.rate = self.rate.min(round.flat_out * 0.6);
        let (fixed, cost) = self.run(Pace::Exact(round.rate), effort.fixed).await;
        (round.p50_ms, round.p99_ms, round.p999_ms) =
            (fixed.latency_ms(50.0), fixed.latency_ms(99.0), fixed.latency_ms(99.9));
        (round.cost, round.faults) = (cost, fixed.faults);
        self.weigh(start, &mut round);

        self.find_capacity(effort, &mut round).await;
        self.weigh(start, &mut round);
        Ok(round)
    }

    async fn run(&mut self, pace: Pace, time: Duration) -> (Measured, BTreeMap<String, Cost>) {
        let before = self.usage();
        let measured = self.crew.run(&self.script, Order { pace, time, give_up: None }).await;
        let visits = (measured.served + measured.failed()).max(1) as f64;
        let costs = self.processes.iter().zip(before).map(|(process, before)| {
            let spent = process.usage().since(before);
            let cost = Cost { user_us: spent.user / visits, kernel_us: spent.kernel / visits };
            (process.name.clone(), cost)
        });
        let costs = costs.collect();
        (measured, costs)
    }

    /// What each process has used so far.
    fn usage(&self) -> Vec<Usage> {
        self.processes.iter().map(|process| process.usage()).collect()
    }

    /// Notes how much memory each process has.
    fn weigh(&self, start: Instant, round: &mut Round) {
        for process in &self.processes {
            let size = process.usage().rss_kib as f64 / 1024.0;
            let sizes = round.memory.entry(process.name.clone()).or_default();
            sizes.push((start.elapsed().as_secs_f64(), size));
        }
    }

    /// The highest rate that is held, by halving what lies between one that is and one that is not. The first guess is
    /// what it does flat out, which is near.
    async fn find_capacity(&mut self, effort: &Effort, round: &mut Round) {
        let (mut held, mut missed) = (0.0, round.flat_out * 1.08);
        let mut next = round.flat_out * 0.95;
        for step in 0..effort.steps + EXTRA {
            if self.holds(next, effort, round).await {
                held = next;
            } else {
                missed = next;
            }
            // Far down, large steps will do: what is that far from its best is no steady number anyway.
            next =
                if held > 0.0 { (held + missed) / 2.0 } else { missed * if step < 2 { 0.85 } else { 0.6 } };
            if step + 1 >= effort.steps && held > 0.0 {
                break;
            }
        }
        round.capacity = held;
    }

    /// Whether a rate is held. One miss is forgiven: the machine may have done something else for a moment.
    async fn holds(&mut self, rate: f64, effort: &Effort, round: &mut Round) -> bool {
        let give_up = Some(Duration::from_millis(150));
        let mut idle = true;
        for _ in 0..2 {
            let order = Order { pace: Pace::Exact(rate), time: effort.step, give_up };
            let before = self.usage();
            let measured = self.crew.run(&self.script, order).await;
            if measured.failed() == 0 && measured.latency_ms(99.0) <= LIMIT_MS {
                return true;
            }
            let spent = self.usage().into_iter().zip(before).map(|(now, before)| now.since(before).total());
            idle &= spent.sum::<f64>() / 1e6 < measured.elapsed.as_secs_f64() * BUSY;
        }
        round.idle_at_limit |= idle;
        false
    }
}

/// The one in the middle; of two, their mean.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<_> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0]), 2.5);
        assert!(median([]).is_nan());
    }
}
