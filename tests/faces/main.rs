//! The faces as a proxy meets them: true gRPC and HTTP over loopback, one table of requests through all of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

#[path = "../data/mmdb.rs"]
mod mmdb;
#[path = "../data/name_server.rs"]
mod name_server;

mod ask;
mod http;
mod served;
mod stage;

mod clock;
mod explain;
mod faults;
mod grpc;
mod http2;
mod lookups;
mod parity;
mod reload;
mod requesters;
mod rotation;
mod sites;
mod solve;
mod web;
