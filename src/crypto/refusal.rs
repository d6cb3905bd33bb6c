//! Why a token was not accepted: one reason, one code, one metric label.

/// The reason a challenge, an answer or a clearance was refused. An outcome, not an error: visitors send these.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Refusal {
    /// It belongs to another host, agent, network or fingerprint.
    Binding,
    /// The wait is not over.
    Early,
    /// Its time is over.
    Expired,
    /// The MAC is not ours.
    Forged,
    /// It was issued in the future.
    Future,
    /// Its key id is unknown or retired.
    Key,
    /// It is of a kind that does not count here.
    Kind,
    /// Less was paid than the rule asks.
    Level,
    /// A field lies outside what the loaded policy allows.
    Limits,
    /// It cannot be read: length, alphabet, or a second spelling of the same bytes.
    Malformed,
    /// The network sent too many answers.
    Many,
    /// The answer came from another origin.
    Origin,
    /// Its version is unknown.
    Version,
    /// A nonce does not solve its puzzle.
    Wrong,
}

impl Refusal {
    /// The reason code: the body of a refused answer, the label in metrics, the word in logs.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Binding => "binding",
            Self::Early => "early",
            Self::Expired => "expired",
            Self::Forged => "forged",
            Self::Future => "future",
            Self::Key => "key",
            Self::Kind => "kind",
            Self::Level => "level",
            Self::Limits => "limits",
            Self::Malformed => "malformed",
            Self::Many => "many",
            Self::Origin => "origin",
            Self::Version => "version",
            Self::Wrong => "wrong",
        }
    }
}
