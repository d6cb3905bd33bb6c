//! Generates the admin service from `proto/`, without protoc.

use std::error::Error;

const PROTO: &str = "proto/tollgate/admin/v1/admin.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROTO}");
    let descriptors = protox::compile([PROTO], ["proto"])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
