//! Generates the admin service from `proto/`.
fn main() {}
