//! Signals: named facts that a detector derives from a request or from memory.

/// Makes the enum and its table out of one list.
macro_rules! signals {
    ($($variant:ident, $name:literal, $meaning:literal;)*) => {
        /// What a detector can find.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Signal { $(#[doc = $meaning] $variant,)* }

        const TABLE: &[(Signal, &str, &str)] = &[$((Signal::$variant, $name, $meaning),)*];
    };
}

signals! {
    AgentRotation, "agent_rotation", "one client under many names, with one order of headers";
    AncientAgent, "ancient_agent", "a browser that cannot open the sites of today";
    BrowserLiar, "browser_liar", "a browser whose headers contradict its name";
    Burst, "burst", "more pages in ten seconds than a person opens";
    ClearanceShared, "clearance_shared", "one clearance from many networks";
    CookieIgnored, "cookie_ignored", "solves, and never shows what that bought";
    Crawl, "crawl", "walks from page to page and never comes back to one";
    DocumentsOnly, "documents_only", "pages without any of their parts, on a site whose pages have parts";
    FingerprintSpread, "fingerprint_spread", "one fingerprint that walks a site from many networks";
    NoLanguage, "no_language", "a browser that speaks no language";
    Persists, "persists", "goes on after it was refused";
    Probe, "probe", "asked for what only scanners ask for";
    RegularTiming, "regular_timing", "pages at the beat of a clock";
    Reputation, "reputation", "did too much of all this lately";
    Trap, "trap", "took a link that no person sees, or asked for a page that was planted";
    Unsolved, "unsolved", "a network that takes challenges and does not solve them";
    WildcardAcceptNavigation, "wildcard_accept_navigation", "opens a page and accepts anything for it";
}

impl Signal {
    /// How many there are.
    pub const COUNT: usize = TABLE.len();

    /// Every signal, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(signal, ..)| *signal)
    }

    /// The signal of this name.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|(_, known, _)| *known == name).map(|(signal, ..)| *signal)
    }

    /// The name in policies, explanations and metrics.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// What it says, in words.
    pub const fn meaning(self) -> &'static str {
        TABLE[self as usize].2
    }
}

/// A set of signals.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Signals(u32);

impl Signals {
    /// Adds a signal.
    pub fn add(&mut self, signal: Signal) {
        self.0 |= 1 << signal as u32;
    }

    /// Whether a signal is among them.
    pub const fn has(self, signal: Signal) -> bool {
        self.0 >> signal as u32 & 1 == 1
    }

    /// Whether all of the others are among them.
    pub const fn has_all(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether one of the others is among them.
    pub const fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Both sets in one.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Each of them, by name.
    pub fn iter(self) -> impl Iterator<Item = Signal> {
        Signal::all().filter(move |signal| self.has(*signal))
    }
}

impl FromIterator<Signal> for Signals {
    fn from_iter<I: IntoIterator<Item = Signal>>(signals: I) -> Self {
        let mut set = Self::default();
        signals.into_iter().for_each(|signal| set.add(signal));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_is_found_by_its_name_and_fits_into_a_set() {
        const { assert!(Signal::COUNT <= 32) };
        for (at, signal) in Signal::all().enumerate() {
            assert_eq!((signal as usize, Signal::named(signal.name())), (at, Some(signal)));
            let one: Signals = [signal].into_iter().collect();
            assert!(one.iter().eq([signal]));
        }
    }

    #[test]
    fn sets_answer_all_and_any() {
        let of = |signals: &[Signal]| signals.iter().copied().collect::<Signals>();
        let seen = of(&[Signal::Burst, Signal::Crawl]);
        assert!(seen.has_all(of(&[Signal::Crawl])) && !seen.has_all(of(&[Signal::Crawl, Signal::Probe])));
        assert!(seen.has_any(of(&[Signal::Crawl, Signal::Probe])) && !seen.has_any(of(&[Signal::Probe])));
        assert!(seen.has_all(Signals::default()) && !seen.has_any(Signals::default()));
    }
}
