//! The words for how somebody behaves: figures that memory keeps, and signals that detectors derive.
//! Counts nothing and judges nothing; `memory` fills the figures, `signal` reads them, and policies name both.

mod figure;
mod signal;

pub use figure::{Figure, Figures, Subject};
pub use signal::{Signal, Signals};

/// What scanners ask for, in two tiers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Probe {
    /// No site has it where visitors could ask for it.
    Never,
    /// Sites that run this product have it; there are 16 products.
    Product(u8),
}

/// Everything that is known about how the sender of one request behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Behaviour {
    /// What was counted.
    pub figures: Figures,
    /// What that and the request's headers show.
    pub signals: Signals,
}
