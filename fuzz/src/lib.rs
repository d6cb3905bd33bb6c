//! The bodies of the targets, as the test `tests/fuzz` has them.

#[expect(dead_code, reason = "what only the test asks for")]
#[path = "../../tests/fuzz/bodies/mod.rs"]
mod bodies;

/// Feeds one target.
pub fn run(target: &str, bytes: &[u8]) {
    let (_, body) = bodies::TARGETS.iter().find(|(name, _)| *name == target).expect("it is a target");
    body(bytes);
}
