//! Holds a comparison against `benches/budgets.toml`: ratios of capacities within the one run.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use crate::compare::{Name, Point};
use crate::summary::Points;

/// The part of the file that is about load. The micro-benches have the rest.
#[derive(Debug, Deserialize)]
struct File {
    load: Vec<Budget>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    name: String,
    point: Name,
    to: Name,
    at_least: f64,
}

/// What holds and what does not, as Markdown, and whether all of it holds.
pub(crate) fn judge(file: &Path, points: &[Point]) -> anyhow::Result<(String, bool)> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let budgets: File = toml::from_str(&text).with_context(|| format!("{} is wrong", file.display()))?;
    Ok(verdicts(&budgets.load, points))
}

fn verdicts(budgets: &[Budget], points: &[Point]) -> (String, bool) {
    let find = |name: &Name| {
        let Name { series, door, rules, scenario } = name;
        Points(points).find(series, door, rules, *scenario)
    };
    let (mut text, mut all) = (String::new(), true);
    for budget in budgets {
        // What was left out of the run is not judged.
        let Some((point, base)) = find(&budget.point).zip(find(&budget.to)) else { continue };
        let ratio = point.capacity().value / base.capacity().value;
        // Not a number where nothing was held: that is no pass.
        let holds = ratio >= budget.at_least;
        let told = !point.is_idle_at_limit() && !base.is_idle_at_limit();
        all &= holds && told;
        let verdict = match (told, holds) {
            (false, _) => "**not told** (†)",
            (true, true) => "holds",
            (true, false) => "**missed**",
        };
        writeln!(text, "| {} | {ratio:.2} | {:.2} | {verdict} |", budget.name, budget.at_least)
            .expect("a string takes it");
    }
    if !text.is_empty() {
        text =
            format!("\n## Budgets\n\n| ratio | measured | at least | |\n| --- | --- | --- | --- |\n{text}");
    }
    (text, all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Round;

    fn point(series: &str, capacity: f64) -> Point {
        let text = format!("series = \"{series}\"\ndoor = \"grpc\"\nrules = \"\"\nscenario = \"allowed\"");
        let round = Round { capacity, ..Round::default() };
        Point { name: toml::from_str(&text).unwrap(), requests: 1, rounds: vec![round] }
    }

    fn judged(ours: f64, theirs: f64) -> bool {
        let points = [point("a", ours), point("b", theirs)];
        let budget = Budget {
            name: "a to b".to_owned(),
            point: points[0].name.clone(),
            to: points[1].name.clone(),
            at_least: 0.85,
        };
        verdicts(&[budget], &points).1
    }

    #[test]
    fn a_budget_holds_from_its_bound_on_and_never_without_a_number() {
        assert!(judged(85.0, 100.0));
        assert!(!judged(84.0, 100.0));
        assert!(!judged(0.0, 0.0));
    }

    #[test]
    fn what_was_measured_beside_other_programs_passes_nothing() {
        let mut points = [point("a", 100.0), point("b", 100.0)];
        let [point, to] = [&points[0], &points[1]].map(|point| point.name.clone());
        let budget = [Budget { name: "a to b".to_owned(), point, to, at_least: 0.85 }];
        assert!(verdicts(&budget, &points).1);
        points[1].rounds[0].idle_at_limit = true;
        assert!(!verdicts(&budget, &points).1);
    }

    #[test]
    fn the_budgets_of_this_repository_can_be_read() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../budgets.toml");
        assert!(judge(&file, &[]).unwrap().1);
    }
}
