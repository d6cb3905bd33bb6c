//! The faces as a proxy meets them: true gRPC and HTTP over loopback, one table of requests through all of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod ask;
mod http;
mod stage;

mod explain;
mod grpc;
mod parity;
mod requesters;
mod solve;
mod web;
