//! The commands that work on policies without serving.

mod cases;
mod lints;
mod program;
