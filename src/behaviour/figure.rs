//! Figures: whole numbers with a name, a subject and a meaning.

/// Whom a figure is about: the part of its name before the dot.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Subject {
    /// The autonomous system of the visitor's address.
    Asn,
    /// This process.
    Attack,
    /// The clearance that came along.
    Clearance,
    /// The visitor's address; of IPv6 its /64.
    Client,
    /// The agent, what it accepts, the order in which it says so, and the JA4 if the proxy tells it.
    Fingerprint,
    /// The visitor's /24 or /48.
    Network,
    /// The host that is asked.
    Site,
}

/// Makes the enum, and its table of names and meanings, out of one list.
macro_rules! figures {
    ($($variant:ident, $subject:ident, $name:literal, $meaning:literal;)*) => {
        /// A number that memory keeps.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Figure { $(#[doc = $meaning] $variant,)* }

        const TABLE: &[(Figure, Subject, &str, &str)] =
            &[$((Figure::$variant, Subject::$subject, $name, $meaning),)*];
    };
}

figures! {
    AsnRate, Asn, "asn.rate_1m", "requests a minute";
    AsnUnsolved, Asn, "asn.unsolved", "challenges less accepted answers, over ten minutes";
    Attack, Attack, "attack.level", "0, or which of the two load marks is passed";
    ClearanceNetworks, Clearance, "clearance.networks_10m", "distinct networks that showed it";
    ClearanceRate, Clearance, "clearance.rate_1m", "requests a minute";
    ClientAgents, Client, "client.agents_5m", "distinct user agents";
    ClientAnswered, Client, "client.answered_5m", "answers that were accepted";
    ClientAssets, Client, "client.assets_5m", "requests for parts of pages";
    ClientChallenged, Client, "client.challenged_5m", "challenges";
    ClientCleared, Client, "client.cleared_5m", "requests that a clearance let through";
    ClientDisrepute, Client, "client.disrepute", "1 from 20 misdeeds on, until fewer than 5 are left";
    ClientDocuments, Client, "client.documents_5m", "requests for pages, and for parts that no page led to";
    ClientDocumentsNow, Client, "client.documents_10s", "the same, in ten seconds";
    ClientGap, Client, "client.gap_ms", "the mean time between two such requests, in milliseconds";
    ClientGaps, Client, "client.gaps", "how many such times the mean rests on, up to 255";
    ClientGapLag, Client, "client.gap_lag", "how much such a time depends on the one before, in percent";
    ClientGapSpread, Client, "client.gap_spread", "their standard deviation, in percent of the mean";
    ClientMisdeeds, Client, "client.misdeeds", "points for probes and refusals, halved every half hour";
    ClientPaths, Client, "client.paths_5m", "distinct targets among the documents";
    ClientProbes, Client, "client.probes_1h", "requests for what only scanners ask for";
    ClientProducts, Client, "client.products_1h", "distinct products whose doors it tried";
    ClientRate, Client, "client.rate_1m", "requests a minute";
    ClientRefused, Client, "client.refused_5m", "requests that were challenged, denied or limited";
    ClientShapes, Client, "client.shapes_5m", "distinct orders of headers";
    ClientSteps, Client, "client.steps", "documents in a row that count a number up";
    ClientTraps, Client, "client.traps_1h", "links followed, or pages asked for, that only robots find";
    FingerprintAssets, Fingerprint, "fingerprint.assets_5m", "requests for parts of pages";
    FingerprintDocuments, Fingerprint, "fingerprint.documents_5m", "requests for pages";
    FingerprintNetworks, Fingerprint, "fingerprint.networks_5m", "distinct networks";
    FingerprintPaths, Fingerprint, "fingerprint.paths_5m", "distinct targets among the documents";
    FingerprintRate, Fingerprint, "fingerprint.rate_1m", "requests a minute";
    NetworkAnswered, Network, "network.answered_10m", "answers that were accepted";
    NetworkChallenged, Network, "network.challenged_10m", "challenges";
    NetworkClients, Network, "network.clients_10m", "distinct clients";
    NetworkRate, Network, "network.rate_1m", "requests a minute";
    NetworkUnsolved, Network, "network.unsolved", "challenges less accepted answers, over ten minutes";
    SiteAssets, Site, "site.assets_1h", "requests for parts of pages";
    SiteDocuments, Site, "site.documents_1h", "requests for pages";
}

impl Figure {
    /// How many there are.
    pub const COUNT: usize = TABLE.len();

    /// Every figure, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(figure, ..)| *figure)
    }

    /// The figure of this name, such as `client.rate_1m`.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|(_, _, known, _)| *known == name).map(|(figure, ..)| *figure)
    }

    /// The name in policies and explanations.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].2
    }

    /// Whom it is about.
    pub const fn subject(self) -> Subject {
        TABLE[self as usize].1
    }

    /// What it counts, in words.
    pub const fn meaning(self) -> &'static str {
        TABLE[self as usize].3
    }
}

/// Every figure about one request. What nothing is known about is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    values: [u32; Figure::COUNT],
    /// Whether there is evidence of an address.
    address: bool,
    /// Whether it is known which autonomous system that belongs to.
    asn: bool,
}

impl Default for Figures {
    fn default() -> Self {
        Self { values: [0; Figure::COUNT], address: false, asn: false }
    }
}

impl Figures {
    /// Figures that are all 0, of a request with or without evidence of an address.
    pub fn with_evidence(address: bool) -> Self {
        Self { address, ..Self::default() }
    }

    /// The same, with the number of the network that the address belongs to.
    pub fn and_asn(self, asn: bool) -> Self {
        Self { asn, ..self }
    }

    /// Sets a figure.
    pub fn set(&mut self, figure: Figure, value: u32) {
        self.values[figure as usize] = value;
    }

    /// The value; 0 where nothing is known.
    pub fn value(&self, figure: Figure) -> u32 {
        self.values[figure as usize]
    }

    /// The value, unless it is about an address or a number of which there is no evidence.
    pub fn known(&self, figure: Figure) -> Option<u32> {
        let known = match figure.subject() {
            Subject::Client | Subject::Network => self.address,
            Subject::Asn => self.asn,
            Subject::Attack | Subject::Clearance | Subject::Fingerprint | Subject::Site => true,
        };
        known.then(|| self.value(figure))
    }

    /// The named figures as text: `client.rate_1m 12, client.paths_5m 9`.
    pub fn text(&self, figures: &[Figure]) -> String {
        let parts: Vec<_> = figures.iter().map(|f| format!("{} {}", f.name(), self.value(*f))).collect();
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_is_found_by_its_name_and_stands_in_its_place() {
        for (at, figure) in Figure::all().enumerate() {
            assert_eq!(figure as usize, at);
            assert_eq!(Figure::named(figure.name()), Some(figure));
            let subject = format!("{:?}", figure.subject()).to_lowercase();
            assert_eq!(figure.name().split('.').next(), Some(&*subject));
        }
        let names: Vec<_> = Figure::all().map(Figure::name).collect();
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)));
        assert_eq!(Figure::named("client.rate"), None);
    }

    #[test]
    fn without_evidence_a_figure_is_unknown_and_not_zero() {
        let mut figures = Figures::with_evidence(false);
        figures.set(Figure::FingerprintRate, 7);
        assert_eq!(figures.known(Figure::ClientRate), None);
        assert_eq!(figures.known(Figure::AsnRate), None);
        assert_eq!(figures.and_asn(true).known(Figure::AsnRate), Some(0));
        assert_eq!(figures.known(Figure::FingerprintRate), Some(7));
    }
}
