//! Bounded per-client state.
