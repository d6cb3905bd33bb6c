//! The challenge: issue and verify puzzles and waits, and the pages and assets a visitor gets.

pub mod page;
