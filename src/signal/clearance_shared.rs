//! `clearance_shared`: one clearance from five networks or more within ten minutes: bought once, used by a fleet.
//!
//! People move between home, office and the mobile network, which is three. May wrong: a VPN that changes its exit with
//! every connection.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::ClearanceShared,
    figures: &[Figure::ClearanceNetworks],
    raised: |figures| figures.value(Figure::ClearanceNetworks) >= 5,
};
