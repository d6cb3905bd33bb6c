//! Panics on demand, for tests of what becomes of a request then. In no other build.

use std::cell::Cell;

thread_local! {
    static ARMED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Has the next request of this thread panic where it comes to `place`.
pub(crate) fn arm(place: &'static str) {
    ARMED.set(Some(place));
}

/// Panics if it was armed.
pub(super) fn strike(place: &'static str) {
    if ARMED.get() == Some(place) {
        ARMED.set(None);
        panic!("struck at {place}");
    }
}
