//! The scenarios of a comparison, and what a visit of each consists of.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::face::Face;
use crate::purse::Paid;
use crate::script::Script;
use crate::visitor::{self, Step};

/// What visitors do.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scenario {
    /// A program passes because nothing speaks against it.
    Allowed,
    /// A robot is refused.
    Denied,
    /// Browsers are challenged, and nobody answers.
    Flood,
    /// A browser is challenged, answers and passes.
    Solved,
    /// A browser passes with its clearance.
    Returning,
    /// As `allowed`, and the app's page is 1 MiB.
    AllowedLarge,
    /// As `allowed`, and 1 MiB is sent to the app.
    UploadLarge,
}

impl Scenario {
    /// Those that a decision endpoint can be asked about.
    pub(crate) const DECIDED: [Self; 5] =
        [Self::Allowed, Self::Denied, Self::Flood, Self::Solved, Self::Returning];
    /// All of them: bodies only pass where there is a proxy.
    pub(crate) const ALL: [Self; 7] = [
        Self::Allowed,
        Self::Denied,
        Self::Flood,
        Self::Solved,
        Self::Returning,
        Self::AllowedLarge,
        Self::UploadLarge,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Flood => "flood",
            Self::Solved => "solved",
            Self::Returning => "returning",
            Self::AllowedLarge => "allowed-large",
            Self::UploadLarge => "upload-large",
        }
    }

    /// The visits of those who have not paid, or the visits of each who has.
    pub(crate) fn visits(self, paid: &[Paid], https: bool) -> Vec<Vec<Step>> {
        match self {
            Self::Allowed => vec![vec![visitor::reader("/articles/2026/a-page?from=feed")]],
            Self::Denied => vec![vec![visitor::robot("/articles/2026/a-page?from=feed")]],
            Self::Flood => vec![vec![visitor::browser("/articles/2026/a-page?from=feed")]],
            Self::Solved => paid.iter().map(|paid| paid.visit(https)).collect(),
            Self::Returning => paid.iter().map(|paid| vec![paid.returning(https)]).collect(),
            Self::AllowedLarge => vec![vec![visitor::large(false)]],
            Self::UploadLarge => vec![vec![visitor::large(true)]],
        }
    }

    /// The script for a face. Without visitors who have paid, so many addresses take turns.
    pub(crate) fn script(self, face: Face, paid: &[Paid], clients: u64) -> Rc<Script> {
        let freeze = |steps: Vec<Step>| {
            steps.iter().filter(|step| face.takes_part(step)).map(|step| face.freeze(step)).collect()
        };
        let visits = self.visits(paid, face != Face::Plain).into_iter().map(freeze).collect();
        Rc::new(Script::Known { visits, clients })
    }
}
