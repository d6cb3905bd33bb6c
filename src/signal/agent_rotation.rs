//! `agent_rotation`: one client under six names within five minutes, whose headers come in one or two orders: one program
//! that changes its name.
//!
//! People who share an address differ in more than the agent: in the order of headers, in languages and encodings. May
//! wrong: an office in which everybody has the same browser in six versions.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::AgentRotation,
    figures: &[Figure::ClientAgents, Figure::ClientShapes],
    raised: |figures| {
        let [agents, shapes] = [Figure::ClientAgents, Figure::ClientShapes].map(|f| figures.value(f));
        agents >= 6 && shapes * 3 <= agents
    },
};
