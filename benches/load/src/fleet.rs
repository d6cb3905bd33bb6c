//! A fleet, simulated: what one core does is measured, and what many together do follows from how they are asked and from what
//! they would have to tell each other. benches/SCALING.md says what comes of it.

use std::collections::HashMap;
use std::fmt::Write as _;

use clap::Args;

use crate::report::count;

/// The flags of `fleet`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Arguments {
    /// Gates
    #[arg(long, default_value_t = 1_000)]
    replicas: usize,
    /// Requests a second, of all together
    #[arg(long, default_value_t = 1e7)]
    rate: f64,
    /// Microseconds of processor time a request, as measured
    #[arg(long, default_value_t = 15.0)]
    micros: f64,
    /// Worker threads of a gate
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Proxies
    #[arg(long, default_value_t = 1_000)]
    proxies: usize,
    /// Threads of a proxy, each with connections of its own
    #[arg(long, default_value_t = 8)]
    threads: usize,
    /// Visitors, of whom the most eager ask most (Zipf)
    #[arg(long, default_value_t = 20_000_000)]
    visitors: u64,
    /// How uneven they are: 1 is what the web is said to be
    #[arg(long, default_value_t = 1.05)]
    exponent: f64,
    /// How many gates are looked at one request at a time; the others are like them
    #[arg(long, default_value_t = 10)]
    watched: usize,
    /// Seconds that are looked at
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

/// Runs all simulations and yields their tables.
pub(crate) fn run(arguments: &Arguments) -> String {
    let mut text = format!(
        "{} gates with {} workers each, {} requests a second, {} us a request, {} proxies with {} threads.\n\n",
        count(arguments.replicas as f64),
        arguments.workers,
        count(arguments.rate),
        arguments.micros,
        count(arguments.proxies as f64),
        arguments.threads
    );
    text.push_str(&balance(arguments));
    text.push('\n');
    text.push_str(&limits());
    text.push('\n');
    text.push_str(&sharing(arguments));
    text
}

/// How evenly connections spread over workers. A worker is full when its connections bring what one core can do, so the
/// fullest one tells how much of the fleet can be used.
fn balance(arguments: &Arguments) -> String {
    let Arguments { replicas, rate, micros, workers, proxies, threads, .. } = arguments;
    let mut random = Random(1);
    let total = replicas * workers;
    let mean = rate * micros / 1e6 / total as f64;
    // Each a way of asking, as the share of all requests that each connection carries, to the worker that has it.
    let mut spread = |name: &str, connections: usize, place: &mut dyn FnMut(&mut Random, usize) -> usize| {
        let mut load = vec![0usize; total];
        (0..connections).for_each(|n| load[place(&mut random, n)] += 1);
        let even = connections as f64 / total as f64;
        let fullest = load.iter().copied().max().unwrap_or(0) as f64 / even;
        let idle = load.iter().filter(|load| **load == 0).count() as f64 / total as f64;
        format!(
            "| {name} | {} | {fullest:.2} | {:.0} % | {:.0} % | {:.0} % |\n",
            count(connections as f64),
            100.0 / fullest,
            idle * 100.0,
            100.0 * mean * fullest
        )
    };
    let mut text = format!(
        "### Connections to workers\n\nEven, a worker is {:.0} % busy.\n\n\
         | how the proxies ask | connections | fullest to even | usable before it is full | workers without any | the fullest is busy |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        mean * 100.0
    );
    let (replicas, workers) = (*replicas, *workers);
    text += &spread(
        "one HTTP/2 connection a thread, to a gate at random",
        proxies * threads,
        &mut |random, _| random.below(total as u64) as usize,
    );
    text +=
        &spread("a gate beside each proxy, one connection a thread", proxies * threads, &mut |random, n| {
            n / threads % replicas * workers + random.below(workers as u64) as usize
        });
    text += &spread(
        "every thread connected to ten gates, requests in turns",
        proxies * threads * 10,
        &mut |random, _| random.below(total as u64) as usize,
    );
    text += &spread(
        "every thread connected to every gate, requests in turns",
        proxies * threads * replicas,
        &mut |random, n| n % replicas * workers + random.below(workers as u64) as usize,
    );
    text
}

/// What a limit of one gate is worth when a visitor's requests spread over several. Exact: no dice are thrown.
fn limits() -> String {
    let mut text = String::from(
        "### Limits without shared state\n\n\
         | gates that a visitor's requests reach | what passes of a limit of 600 a minute | pages until 40 on one gate raise `crawl` |\n\
         | --- | --- | --- |\n",
    );
    for reached in [1, 2, 10, 100, 1_000] {
        writeln!(
            text,
            "| {} | {} | {} |",
            count(reached as f64),
            count(600.0 * reached as f64),
            count(40.0 * reached as f64)
        )
        .expect("a string takes it");
    }
    text
}

/// What gates would have to tell a shared store, if they told it what they count: every request; each visitor once a window; or
/// only of visitors who ask so often that a limit may concern them.
fn sharing(arguments: &Arguments) -> String {
    let Arguments { replicas, rate, visitors, exponent, watched, seconds, .. } = arguments;
    let zipf = Zipf::new(*visitors, *exponent);
    let mut random = Random(2);
    let each = (rate / *replicas as f64) as u64;
    let mut text = format!(
        "### What a shared store would hear\n\nRequests spread at random over the gates; {} visitors, Zipf with exponent {exponent}; \
         {watched} gates watched for {seconds} s.\n\n\
         | what is told | updates a second, one gate | all gates | of requests |\n| --- | --- | --- | --- |\n\
         | every request | {} | {} | 1 |\n",
        count(*visitors as f64),
        count(each as f64),
        count(*rate)
    );
    let mut distinct = 0;
    for window in [1, 10] {
        // How many updates there were with at least so many requests in them.
        let bars = [1u32, 2, 5, 20];
        let mut updates = [0u64; 4];
        for _ in 0..*watched {
            for _ in 0..(seconds / window).max(1) {
                let mut seen: HashMap<u64, u32> = HashMap::new();
                (0..each * window).for_each(|_| *seen.entry(zipf.draw(&mut random)).or_default() += 1);
                distinct = distinct.max(seen.len());
                for times in seen.values() {
                    bars.iter()
                        .zip(&mut updates)
                        .for_each(|(bar, so_many)| *so_many += u64::from(times >= bar));
                }
            }
        }
        let time = (*watched as u64 * (seconds / window).max(1) * window) as f64;
        for (bar, so_many) in bars.iter().zip(updates) {
            let one = so_many as f64 / time;
            let what = if *bar == 1 {
                "each visitor seen".to_owned()
            } else {
                format!("visitors with {bar} requests")
            };
            writeln!(
                text,
                "| {what}, once in {window} s | {} | {} | {:.3} |",
                count(one),
                count(one * *replicas as f64),
                one / each as f64
            )
            .expect("a string takes it");
        }
    }
    writeln!(text, "\nDistinct visitors of one gate in its fullest window: {}.", count(distinct as f64))
        .expect("a string takes it");
    text
}

/// The same numbers every time: a simulation that others can check (SplitMix64).
struct Random(u64);

impl Random {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to but not including 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.part() * bound as f64) as u64
    }
}

/// Ranks from 1 on, each with a weight of its rank to minus the exponent. Drawn by inverting the integral of that, which is
/// near enough where only the crowd's shape matters, and refused where it is not.
struct Zipf {
    exponent: f64,
    low: f64,
    high: f64,
}

impl Zipf {
    fn new(ranks: u64, exponent: f64) -> Self {
        let exponent = if (exponent - 1.0).abs() < 1e-9 { 1.0 + 1e-9 } else { exponent };
        let mut zipf = Self { exponent, low: 0.0, high: 0.0 };
        (zipf.low, zipf.high) = (zipf.integral(1.5) - 1.0, zipf.integral(ranks as f64 + 0.5));
        zipf
    }

    fn integral(&self, x: f64) -> f64 {
        (x.powf(1.0 - self.exponent) - 1.0) / (1.0 - self.exponent)
    }

    fn inverse(&self, y: f64) -> f64 {
        (1.0 + y * (1.0 - self.exponent)).powf(1.0 / (1.0 - self.exponent))
    }

    /// By rejection-inversion (Hörmann and Derflinger, 1996).
    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.high + random.part() * (self.low - self.high);
            let rank = (self.inverse(u) + 0.5).floor().max(1.0);
            if u >= self.integral(rank + 0.5) - rank.powf(-self.exponent) {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_drawn_as_often_as_their_weight_says() {
        let (zipf, mut random, draws) = (Zipf::new(1_000, 1.05), Random(7), 400_000);
        let mut seen = vec![0u32; 1_001];
        (0..draws).for_each(|_| seen[zipf.draw(&mut random) as usize] += 1);
        let weight = |rank: f64| rank.powf(-1.05);
        let whole: f64 = (1..=1_000).map(|rank| weight(f64::from(rank))).sum();
        for rank in [1, 2, 10, 100] {
            let wanted = f64::from(draws) * weight(rank as f64) / whole;
            let got = f64::from(seen[rank]);
            assert!((got - wanted).abs() < 5.0 * wanted.sqrt(), "rank {rank}: {got} instead of {wanted}");
        }
    }

    #[test]
    fn a_fleet_that_everybody_is_connected_to_is_even() {
        let arguments = Arguments {
            replicas: 10,
            rate: 1e4,
            micros: 10.0,
            workers: 1,
            proxies: 10,
            threads: 2,
            visitors: 1_000,
            exponent: 1.05,
            watched: 1,
            seconds: 1,
        };
        let text = run(&arguments);
        let line = text.lines().find(|line| line.contains("to every gate")).unwrap();
        assert!(line.contains("| 200 | 1.00 | 100 % | 0 % | 1 % |"), "{line}");
        assert_eq!(run(&arguments), text, "the dice fall the same way every time");
    }
}
