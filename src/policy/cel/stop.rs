//! Why an evaluation has no value, and how long it may take.

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stop {
    Fault(Fault),
    /// It depends on a lookup that has not been made.
    Need,
    /// It depends on a lookup that failed.
    Unknown,
}

impl Stop {
    /// Of two reasons the one that counts: a lookup may yet decide, and an unknown fact has a side to fall on.
    pub(super) fn or(self, other: Option<Self>) -> Self {
        match (self, other) {
            (Self::Need, _) | (_, Some(Self::Need)) => Self::Need,
            (Self::Unknown, _) | (_, Some(Self::Unknown)) => Self::Unknown,
            (fault, None) => fault,
            (_, Some(first)) => first,
        }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// An error in an expression: the request cannot be judged by it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Fault {
    /// A value that a function cannot take, such as a text that is no address.
    Argument,
    /// The evaluation took more steps than it may.
    Budget,
    /// A division by zero.
    Division,
    /// An index outside of a list or a text.
    Index,
    /// A key that a map does not have.
    Key,
    /// A number that does not fit.
    Overflow,
    /// A pattern, found while evaluating, that is none or is too large.
    Pattern,
    /// A text or a list larger than it may be.
    Size,
    /// Values that do not fit together, where types were known only while evaluating.
    Type,
}

impl Fault {
    /// What happened, in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Argument => "a function cannot take this value",
            Self::Budget => "the expression takes too many steps",
            Self::Division => "division by zero",
            Self::Index => "an index is out of range",
            Self::Key => "a map does not have the key",
            Self::Overflow => "a number does not fit",
            Self::Pattern => "a pattern is invalid or too large",
            Self::Size => "a value is too large",
            Self::Type => "values of these types do not fit together",
        }
    }
}

/// The most steps of one evaluation, where a step is a part evaluated or [`BYTES`] bytes read. At some 20 ns a step
/// the worst expression takes half a millisecond.
const STEPS: u32 = 25_000;

/// The bytes of text that count as one step.
const BYTES: usize = 64;

/// The largest text that is built, in bytes. The longest target is a quarter of it.
const MAX_TEXT: usize = 64 * 1024;

/// The most items of a list that is built.
const MAX_ITEMS: usize = 4096;

/// What is left of an evaluation's steps.
#[derive(Debug)]
pub(super) struct Budget(u32);

impl Default for Budget {
    fn default() -> Self {
        Self(STEPS)
    }
}

impl Budget {
    /// Takes steps. Once they are used up nothing more is evaluated.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Stop> {
        match u32::try_from(steps).ok().and_then(|steps| self.0.checked_sub(steps)) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                self.0 = 0;
                Err(Fault::Budget.into())
            }
        }
    }

    /// Takes the steps for reading so many bytes.
    pub(super) fn read(&mut self, bytes: usize) -> Result<(), Stop> {
        self.spend(bytes / BYTES)
    }

    /// Allows a text of so many bytes to be built, or refuses it before it is.
    pub(super) fn text(&mut self, bytes: usize) -> Result<(), Stop> {
        if bytes > MAX_TEXT {
            return Err(Fault::Size.into());
        }
        self.read(bytes)
    }

    /// Allows a list of so many items.
    pub(super) fn items(&mut self, items: usize) -> Result<(), Stop> {
        if items > MAX_ITEMS {
            return Err(Fault::Size.into());
        }
        self.spend(items)
    }
}
