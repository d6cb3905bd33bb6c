//! What is not in a request and is looked up about it: the network and the country of an address, out of files in
//! MaxMind's DB format, and names, out of the DNS. Knows neither requests nor rules; what an answer means is for the
//! policy.

mod databases;
mod resolver;

pub use databases::{Databases, Field, LoadError, Reason};
pub use resolver::{Lives, MAX_OPEN, Question, Reply, Resolver, ResolverError};
