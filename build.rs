//! Generates the admin service from `proto/`, without protoc.

use std::error::Error;

const PROTO: &str = "proto/tollgate/admin/v1/admin.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROTO}");
    let descriptors = protox::compile([PROTO], ["proto"])?;
    // Nothing calls our own service from Rust but tests, which generate no code of their own.
    tonic_prost_build::configure().build_client(true).build_server(true).compile_fds(descriptors)?;
    Ok(())
}
