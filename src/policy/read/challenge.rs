//! The `challenge` block of rules and thresholds.

use super::fields::{Fields, Text};
use crate::policy::document::Node;
use crate::policy::load::Defaults;
use crate::policy::report::Report;
use crate::policy::toll::{Algorithm, Block};

/// Where a block stands; how much of it is checked depends on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Use {
    /// In a rule or threshold that uses it, or in a threshold that does not: all of it.
    Checked,
    /// In a rule that does not challenge: only the algorithm's name.
    Ignored,
}

/// Reads a block; `None` if it is refused.
pub(super) fn read(
    node: &Node,
    used: Use,
    text: Text,
    defaults: &Defaults,
    report: &mut Report,
) -> Option<Block> {
    let before = report.len();
    let keys = ["algorithm", "difficulty", "report_as"];
    let fields = Fields::read(node, "challenge.", &keys, &["level", "wait"], text, report)?;
    let algorithm = algorithm(&fields, used, report);
    let level = level(&fields, defaults, report);
    if let (Some(node), Some(high), Some(Algorithm::Metarefresh)) = (fields.get("level"), level, algorithm)
        && high > defaults.wait_max_level
    {
        let message = format!(
            "a wait of level {high} would never be accepted; `wait.max_level` is {}",
            defaults.wait_max_level
        );
        report.error(&node.place, message).at_key("challenge.level");
    }
    let difficulty = fields.integer("difficulty", report);
    let no_wait = fields.boolean("wait", report) == Some(false);
    if fields.get("report_as").is_some() {
        fields.integer("report_as", report);
    }
    if used == Use::Ignored {
        return None;
    }
    if let Some(entry) = fields.entry("report_as") {
        report.lint("L10", &entry.place, "`challenge.report_as` has no effect").at_key("challenge.report_as");
    }
    if let (Some(node), Some(difficulty)) = (fields.get("difficulty"), difficulty) {
        if !(0..=64).contains(&difficulty) {
            let message = format!("`challenge.difficulty` must be 0 to 64, but it is {difficulty}");
            report.error(&node.place, message).at_key("challenge.difficulty");
        } else if level.is_some() && algorithm != Some(Algorithm::Metarefresh) {
            let message = "`challenge.level` and `challenge.difficulty` say the same; give one of them";
            report.error(&node.place, message).at_key("challenge.difficulty");
        }
    } else if algorithm.is_some_and(|a| a != Algorithm::Preact) && level.is_none() {
        let message = "`challenge` without `difficulty` means difficulty 0, not the default";
        report.lint("L21", fields.place, message).at_key("challenge.difficulty");
    }
    let errors = report.has_error_since(before);
    let block =
        Block { algorithm, difficulty: u32::try_from(difficulty.unwrap_or(0)).unwrap_or(0), level, no_wait };
    if let (Some(node), false) = (fields.get("difficulty"), errors)
        && block.is_clamped(defaults)
    {
        let toll = block.toll(defaults);
        let message = match algorithm {
            Some(Algorithm::Metarefresh) => {
                format!("a wait of {} s becomes {} s", block.difficulty, toll.seconds)
            }
            _ => format!(
                "difficulty {} would be 16^{0} attempts; it becomes {} (level {})",
                block.difficulty,
                toll.attempts(),
                toll.level
            ),
        };
        report.lint("L22", &node.place, message).at_key("challenge.difficulty");
    }
    (!errors).then_some(block)
}

fn algorithm(fields: &Fields<'_>, used: Use, report: &mut Report) -> Option<Algorithm> {
    let Some(node) = fields.get("algorithm") else {
        if used == Use::Checked && fields.get("level").is_none() && fields.get("wait").is_none() {
            let message = format!("`challenge` needs an `algorithm`: {}", Algorithm::NAMES.join(", "));
            report.error(fields.place, message).at_key("challenge.algorithm");
        }
        return None;
    };
    let name = fields.text("algorithm", report)?;
    let algorithm = Algorithm::from_name(&name);
    match algorithm {
        None => {
            let message = format!("unknown `challenge.algorithm` `{}`", name.escape_debug());
            let help = format!("there are {}", Algorithm::NAMES.join(", "));
            report.error(&node.place, message).at_key("challenge.algorithm").advise(help);
        }
        Some(Algorithm::Slow) => {
            report.lint("L10", &node.place, "`slow` is the same as `fast`").at_key("challenge.algorithm");
        }
        Some(_) => {}
    }
    algorithm
}

fn level(fields: &Fields<'_>, defaults: &Defaults, report: &mut Report) -> Option<u8> {
    let number = fields.integer("level", report)?;
    let level = u8::try_from(number).ok().filter(|l| (defaults.min_level..=defaults.max_level).contains(l));
    if level.is_none() {
        let node = fields.get("level")?;
        let message = format!(
            "`challenge.level` must be {} to {}, but it is {number}",
            defaults.min_level, defaults.max_level
        );
        let help = "the bounds are the settings `challenge.min_level` and `challenge.max_level`";
        report.error(&node.place, message).at_key("challenge.level").advise(help);
    }
    level
}
