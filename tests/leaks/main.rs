//! What must stay in: secrets, whatever command prints it at whatever level, and bytes of visitors that would forge a line of the log.
//!
//! The program runs as operators run it. Each secret is a canary: its bytes are looked for, in every spelling, in all that was printed.

mod canary;
mod commands;
mod exposure;
mod log;
mod serving;
