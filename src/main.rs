//! The `tollgate` program.

use std::process::ExitCode;

/// A gRPC call costs about a fifth less CPU than with the C library's allocator.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tollgate::cli::run(std::env::args_os(), std::env::vars_os())
}
