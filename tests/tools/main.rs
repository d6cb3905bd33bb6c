//! The commands that work on policies without serving.

mod cases;
mod import;
mod lints;
mod program;
mod replay;
mod shell;
mod show;
