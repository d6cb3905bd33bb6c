//! What fuzzers and tests feed with bytes: one function a target, which panics where an invariant does not hold.
//!
//! The bodies are those of `fuzz/` and of the test beside them, so that both hold the same. Each asserts what its input may not
//! do, most of them against a second, naive implementation; that nothing panics goes without saying.

mod accept_language;
mod answer;
mod check_request;
mod clearance;
mod cookie;
mod expression;
mod fixture;
mod forwarded;
mod naive;
mod policy;
mod question;
mod readings;
mod token;

/// What is done with an input.
pub(crate) type Body = fn(&[u8]);

/// Every target: its name, which its corpus has too, and its body.
pub(crate) const TARGETS: &[(&str, Body)] = &[
    ("accept_language", accept_language::run),
    ("answer", answer::run),
    ("check_request", check_request::run),
    ("clearance", clearance::run),
    ("cookie", cookie::run),
    ("expression", expression::run),
    ("forwarded", forwarded::run),
    ("policy", policy::run),
    ("question", question::run),
    ("readings", readings::run),
    ("token", token::run),
];

/// What must be let through, so that "nothing else is" says something.
#[cfg(test)]
pub(crate) mod control {
    pub(crate) use super::answer::accepted;
    pub(crate) use super::check_request::is_allowed;
    pub(crate) use super::clearance::opens;
    pub(crate) use super::question::status;
    pub(crate) use super::token::is_served;
}
