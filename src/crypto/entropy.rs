//! Randomness as a value: drawn once a request, passed down as an argument.

use std::cell::RefCell;
use std::fmt;

/// The randomness of one request.
#[derive(Clone, Copy)]
pub struct Seed {
    /// The decision's id: the support id of pages, logs and metrics.
    pub decision: [u8; 16],
    /// The id of a challenge issued for this request; becomes the clearance's id.
    pub challenge: [u8; 16],
    /// The nonce of a page's content security policy.
    pub nonce: [u8; 16],
}

const SEED: usize = 48;
/// How much is drawn from the system at once: a system call costs more than a decision.
const BUFFER: usize = SEED * 32;

impl Seed {
    /// Draws fresh randomness. Fails only where the system has none to give.
    pub fn draw() -> Result<Self, getrandom::Error> {
        thread_local! {
            static DRAWN: RefCell<([u8; BUFFER], usize)> = const { RefCell::new(([0; BUFFER], BUFFER)) };
        }
        DRAWN.with_borrow_mut(|(buffer, used)| {
            if *used == BUFFER {
                fill(buffer)?;
                *used = 0;
            }
            let mut bytes = [0; SEED];
            bytes.copy_from_slice(&buffer[*used..*used + SEED]);
            buffer[*used..*used + SEED].fill(0);
            *used += SEED;
            Ok(Self::from_bytes(&bytes))
        })
    }

    /// A seed from given bytes, for tests and for replay.
    pub fn from_bytes(bytes: &[u8; SEED]) -> Self {
        let part = |at: usize| std::array::from_fn(|i| bytes[at + i]);
        Self { decision: part(0), challenge: part(16), nonce: part(32) }
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(redacted)")
    }
}

/// Fills a buffer with the system's randomness.
#[expect(clippy::disallowed_methods, reason = "this is the one place that asks the system for randomness")]
pub fn fill(buffer: &mut [u8]) -> Result<(), getrandom::Error> {
    getrandom::fill(buffer)
}
