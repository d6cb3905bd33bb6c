//! The challenge: issue and verify puzzles and waits, and the pages and assets a visitor gets.
//!
//! A challenge is a signed token and nothing else: issuing one stores nothing, and what an accepted answer is worth follows
//! from the token alone. Seals no clearance (that is `clearance`) and counts nobody's answers (that is `memory`).

pub mod canary;
mod check;
mod issue;
mod limits;
pub mod page;
mod puzzle;
mod token;
pub mod way_back;

pub use check::{Answer, Check};
pub use issue::{Stamp, issue_wait, issue_work, policy_id};
pub use limits::Limits;
pub use puzzle::{Filler, MAX_PUZZLES, SIZES, answer_text, level_of, puzzles_for, solve, target_for};
pub use token::Token;
