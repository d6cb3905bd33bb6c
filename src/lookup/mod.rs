//! What is not in a request and is looked up about it: the network and the country of an address, out of files in
//! MaxMind's DB format. Files are read into memory once; nothing here watches them or speaks to the network, and what an
//! answer means for a request is for the policy.

mod databases;

pub use databases::{Databases, Field, LoadError, Reason};
