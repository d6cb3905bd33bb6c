//! Real proxies, configured by the files in `examples/`, in front of the real program: what visitors and the app see then.
//!
//! Each test starts an app, Tollgate and a proxy on a loopback address of its own and stops them by their pid. A program that is
//! missing is said aloud and skipped; with `CI` set that is a failure. What the gate decides about odd requests is tested elsewhere.

mod app;
mod client;
mod program;
mod site;

mod basics;
mod behaviour;
mod bodies;
mod cache;
mod differential;
mod drain;
mod example;
mod failure;
mod header;
mod in_line;
mod load;
mod path;
mod sites;
mod toll;
