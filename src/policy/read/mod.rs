//! From nodes to rules: every key checked, every problem collected, nothing decided about requests.

mod behaviour;
mod block;
mod challenge;
mod entry;
mod fields;
mod origin;
mod setting;
mod site;
mod threshold;

pub(super) use block::Lists;
pub(super) use entry::never_there;
pub(super) use entry::{Entry, read as entry};
pub(super) use fields::{Fields, Text};
pub(super) use setting::{name_lives, status, unused};
pub(super) use site::{Site, read as sites};
pub(super) use threshold::{read as thresholds, said as fallback};
