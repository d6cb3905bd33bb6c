//! Collects the problems of one load. Reading goes on after each of them, so that all come at once.

use super::code;
use super::document::Place;
use super::problem::{Problem, Severity};

/// Warns in every file: what the status is mapped to is fine, and which faces are asked is not the policy's business.
const ALWAYS_WARN: &str = "L23";

/// The problems so far, and where the reader is.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Whether the main file is `version: tollgate/v1`, where warnings refuse.
    pub(super) strict: bool,
    /// The rule or threshold that is being read.
    pub(super) rule: Option<String>,
    /// The files that led to the one that is being read, outermost first.
    pub(super) chain: Vec<String>,
    problems: Vec<Problem>,
}

impl Report {
    /// One for a file that another file names.
    pub(super) fn named_by(file: &str) -> Self {
        Self { chain: vec![file.to_owned()], ..Self::default() }
    }

    /// Adds an error at a place.
    pub(super) fn error(&mut self, place: &Place, message: impl Into<String>) -> &mut Problem {
        self.add(Problem::new(place, message))
    }

    /// Adds a lint by its code. A warning is an error in a `version: tollgate/v1` file.
    pub(super) fn lint(
        &mut self,
        code: &'static str,
        place: &Place,
        message: impl Into<String>,
    ) -> &mut Problem {
        let level = match (code::level(code), self.strict) {
            (Severity::Warn, true) if code != ALWAYS_WARN => Severity::Error,
            (level, _) => level,
        };
        let mut problem = Problem::new(place, message);
        (problem.level, problem.code) = (level, Some(code));
        self.add(problem)
    }

    /// Adds a problem that was found elsewhere, with the rule and the chain of this moment.
    pub(super) fn add(&mut self, mut problem: Problem) -> &mut Problem {
        problem.rule = problem.rule.or_else(|| self.rule.clone());
        problem.chain.clone_from(&self.chain);
        self.problems.push(problem);
        self.problems.last_mut().expect("one was just pushed")
    }

    /// Adds what was found in a file that was loaded by itself.
    pub(super) fn absorb(&mut self, problems: Vec<Problem>) {
        self.problems.extend(problems);
    }

    /// How many problems there are so far.
    pub(super) fn len(&self) -> usize {
        self.problems.len()
    }

    /// Whether a problem that refuses the file was found after there were `before`.
    pub(super) fn has_error_since(&self, before: usize) -> bool {
        self.problems[before..].iter().any(|p| p.level == Severity::Error)
    }

    /// Whether any problem refuses the file.
    pub(super) fn refuses(&self) -> bool {
        self.problems.iter().any(|p| p.level == Severity::Error)
    }

    /// Everything that was found.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}
