//! What peers, visitors and the system can do to a gate that runs: it serves whoever behaves, refuses whoever does not, and takes no
//! more memory than its caps say. Each test has a process of its own.

mod frames;
mod gate;
mod http;

mod descriptors;
mod ending;
mod floods;
mod heads;
mod idle;
mod logs;
mod restart;
