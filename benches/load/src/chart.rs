//! Bars, as SVG.

use plotters::prelude::*;

use crate::scenario::Scenario;
use crate::summary::Points;

/// A bar: what it is called in the legend, how high it is, and how much of that is its darker foot.
struct Bar {
    label: String,
    value: f64,
    foot: Option<f64>,
}

/// A chart: groups of bars, side by side.
struct Chart {
    title: &'static str,
    unit: &'static str,
    groups: Vec<(String, Vec<Bar>)>,
}

type Drawn = Result<String, Box<dyn std::error::Error + Send + Sync>>;

/// Every chart of a comparison, with the name of its file.
pub(crate) fn all(points: Points<'_>) -> anyhow::Result<Vec<(String, String)>> {
    let mut drawn = Vec::new();
    for rules in ["stock", "minimal"] {
        let capacity = Chart {
            title: "Capacity: visits a second, p99 within 10 ms, one core",
            unit: "visits a second",
            groups: groups(points, rules, |point| (point.capacity().value, None)),
        };
        let cost = Chart {
            title: "Processor time of a visit at a fixed rate: user (dark) and kernel",
            unit: "microseconds",
            groups: groups(points, rules, |point| {
                let cost = point.cost(None);
                (cost.total_us(), Some(cost.user_us))
            }),
        };
        for (name, chart) in [("capacity", capacity), ("processor-time", cost)] {
            if chart.groups.iter().any(|(_, bars)| !bars.is_empty()) {
                let svg = chart.draw().map_err(|error| anyhow::anyhow!("{error}"))?;
                drawn.push((format!("{name}-{rules}.svg"), svg));
            }
        }
    }
    Ok(drawn)
}

/// A group for each scenario, a bar for each door, the baselines and the peers.
fn groups(
    points: Points<'_>,
    rules: &str,
    figure: impl Fn(&crate::compare::Point) -> (f64, Option<f64>),
) -> Vec<(String, Vec<Bar>)> {
    let group = |scenario: Scenario| {
        let doors = ["grpc", "nginx", "check", "forward"];
        let ours =
            doors.iter().map(|door| ((*door).to_owned(), points.find("tollgate", door, rules, scenario)));
        let base = ["grpc", "nginx"].into_iter().map(|door| {
            let label = if door == "grpc" { "always OK, grpc" } else { "always 200, http" };
            (label.to_owned(), points.find("baseline", door, "", scenario))
        });
        let peers = points
            .peers()
            .into_iter()
            .map(|peer| (peer.to_owned(), points.find(peer, "own", rules, scenario)));
        let bars = ours.chain(base).chain(peers).filter_map(|(label, point)| {
            let (value, foot) = figure(point?);
            (value.is_finite() && value > 0.0).then_some(Bar { label, value, foot })
        });
        (scenario.as_str().to_owned(), bars.collect())
    };
    Scenario::DECIDED.into_iter().map(group).collect()
}

const COLOURS: [RGBColor; 8] = [
    RGBColor(23, 78, 166),
    RGBColor(10, 125, 79),
    RGBColor(180, 95, 6),
    RGBColor(103, 58, 143),
    RGBColor(120, 120, 120),
    RGBColor(165, 165, 165),
    RGBColor(170, 40, 60),
    RGBColor(0, 120, 130),
];

impl Chart {
    fn draw(&self) -> Drawn {
        let mut svg = String::new();
        let mut labels: Vec<&str> = Vec::new();
        for bar in self.groups.iter().flat_map(|(_, bars)| bars) {
            if !labels.contains(&bar.label.as_str()) {
                labels.push(&bar.label);
            }
        }
        let highest = self.groups.iter().flat_map(|(_, bars)| bars).map(|bar| bar.value).fold(0.0, f64::max);
        {
            let root = SVGBackend::with_string(&mut svg, (960, 480)).into_drawing_area();
            root.fill(&WHITE).map_err(|e| e.to_string())?;
            let mut chart = ChartBuilder::on(&root)
                .caption(self.title, ("sans-serif", 20))
                .margin(12)
                .x_label_area_size(32)
                .y_label_area_size(80)
                .build_cartesian_2d(0.0..self.groups.len() as f64, 0.0..highest * 1.12)
                .map_err(|e| e.to_string())?;
            chart
                .configure_mesh()
                .disable_x_mesh()
                .disable_x_axis()
                .y_desc(self.unit)
                .y_label_formatter(&|value| crate::report::count(*value))
                .draw()
                .map_err(|e| e.to_string())?;
            let width = 0.84 / labels.len().max(1) as f64;
            for (which, label) in labels.iter().enumerate() {
                let colour = COLOURS[which % COLOURS.len()];
                let mut boxes = Vec::new();
                for (at, (_, bars)) in self.groups.iter().enumerate() {
                    let Some(bar) = bars.iter().find(|bar| bar.label == *label) else { continue };
                    let left = at as f64 + 0.08 + which as f64 * width;
                    let corner = |height: f64| (left + width * 0.92, height);
                    let shade = if bar.foot.is_some() { 0.45 } else { 1.0 };
                    boxes.push(Rectangle::new([(left, 0.0), corner(bar.value)], colour.mix(shade).filled()));
                    if let Some(foot) = bar.foot {
                        boxes.push(Rectangle::new([(left, 0.0), corner(foot)], colour.filled()));
                    }
                }
                chart
                    .draw_series(boxes)
                    .map_err(|e| e.to_string())?
                    .label(*label)
                    .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
            }
            for (at, (name, _)) in self.groups.iter().enumerate() {
                let (x, y) = chart.backend_coord(&(at as f64 + 0.5, 0.0));
                let style =
                    ("sans-serif", 15).into_font().color(&BLACK).pos(plotters::style::text_anchor::Pos::new(
                        plotters::style::text_anchor::HPos::Center,
                        plotters::style::text_anchor::VPos::Top,
                    ));
                root.draw(&Text::new(name.as_str(), (x, y + 8), style)).map_err(|e| e.to_string())?;
            }
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperRight)
                .background_style(WHITE.mix(0.85))
                .border_style(RGBColor(200, 200, 200))
                .draw()
                .map_err(|e| e.to_string())?;
            root.present().map_err(|e| e.to_string())?;
        }
        Ok(svg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_holds_its_texts_and_a_box_for_every_bar() {
        let bar = |label: &str, value, foot| Bar { label: label.to_owned(), value, foot };
        let chart = Chart {
            title: "A title",
            unit: "things",
            groups: vec![
                ("first".to_owned(), vec![bar("a", 1.0, None), bar("b", 2.0, Some(0.5))]),
                ("second".to_owned(), vec![bar("b", 3.0, Some(1.0))]),
            ],
        };
        let svg = chart.draw().unwrap();
        for text in ["A title", "things", "first", "second", ">\na\n<", ">\nb\n<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // White ground, box of the legend and its two signs, three bars of which two have a foot.
        assert!(svg.matches("<rect").count() >= 8, "{svg}");
    }
}
