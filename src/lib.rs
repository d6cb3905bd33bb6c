//! Tollgate: the service a proxy asks about every request, whether to allow it, refuse it, or ask a small proof of work first.
//!
//! The rooms, from the ground up; a room imports only rooms of a lower level (`tests/layering.rs`):
//!
//! - level 0: [`behaviour`], [`clock`], [`crypto`], [`files`], [`metrics`], [`request`]: the words for how somebody behaves, time, keys, what was read, counters, and what a visitor asks for
//! - level 1: [`challenge`], [`clearance`], [`lookup`], [`memory`], [`policy`], [`signal`]: the puzzle, the cookie it buys, whose an address is, who does how much, the rules, what gives robots away
//! - level 2: [`gate`]: turns a request into a verdict
//! - level 3: [`envoy`], [`web`], [`admin`]: the faces a proxy talks to, and the operator's
//! - level 4 to 6: [`config`], [`server`], [`cli`]: settings, the running process, the commands

pub mod behaviour;
pub mod clock;
pub mod crypto;
pub mod files;
pub mod metrics;
pub mod request;

pub mod challenge;
pub mod clearance;
pub mod lookup;
pub mod memory;
pub mod policy;
pub mod signal;

pub mod gate;

pub mod admin;
pub mod envoy;
pub mod web;

pub mod config;
pub mod server;

pub mod cli;
