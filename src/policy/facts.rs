//! What is not in a request and yet counts: names and addresses, load, the network a visitor comes from, chance.
//! The caller brings it; what is missing is asked for by [`Lookup`], and nothing is ever looked up here.

use std::fmt;
use std::net::IpAddr;

use crate::behaviour::Behaviour;

/// Facts beyond the request. The default is that nothing is known.
#[derive(Clone, Debug, Default)]
pub struct Facts<'m> {
    /// The load averages of one, five and fifteen minutes.
    pub load: [f64; 3],
    /// The number of the network that the visitor's address belongs to, if a database knows it.
    pub asn: Option<u32>,
    /// The country of the visitor's address, two letters in upper case, if a database knows it.
    pub country: Option<[u8; 2]>,
    /// What `randInt` is drawn from; fresh for every request.
    pub chance: u64,
    /// How the sender of the request behaves; read only when a rule that can still count asks for it.
    pub recall: Recall<'m>,
    /// What came of the lookups so far; of two answers to one question the first counts.
    pub answers: Vec<(Lookup, Answer)>,
}

/// Reads how the sender of a request behaves, once somebody asks. The default knows nothing.
#[derive(Clone, Copy, Default)]
pub struct Recall<'m>(Option<&'m dyn Fn() -> Behaviour>);

impl<'m> Recall<'m> {
    /// Reads through this function. One evaluation calls it once at most.
    pub fn new(read: &'m dyn Fn() -> Behaviour) -> Self {
        Self(Some(read))
    }

    pub(super) fn read(self) -> Behaviour {
        self.0.map(|read| read()).unwrap_or_default()
    }
}

impl fmt::Debug for Recall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recall")
    }
}

/// A question to be asked outside.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Lookup {
    /// The addresses of a name, which is in lower case and has no final dot.
    Forward(String),
    /// Whether an address is on the block list.
    Listed(IpAddr),
    /// The names of an address.
    Reverse(IpAddr),
}

/// What came of a question. An answer that does not fit its question counts as a failure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer {
    /// The addresses of a name; none when it does not exist.
    Addresses(Vec<IpAddr>),
    /// No answer in time, or one that says nothing.
    Failed,
    /// Whether the address is listed.
    Listed(bool),
    /// The names of an address, with or without the final dot; none when it has none.
    Names(Vec<String>),
}

impl Facts<'_> {
    /// Adds what came of a question.
    pub fn learn(&mut self, lookup: Lookup, answer: Answer) {
        self.answers.push((lookup, answer));
    }

    pub(super) fn listed(&self, address: IpAddr) -> Option<&Answer> {
        self.find(|l| matches!(l, Lookup::Listed(a) if *a == address))
    }

    pub(super) fn names(&self, address: IpAddr) -> Option<&Answer> {
        self.find(|l| matches!(l, Lookup::Reverse(a) if *a == address))
    }

    pub(super) fn addresses(&self, name: &str) -> Option<&Answer> {
        self.find(|l| matches!(l, Lookup::Forward(n) if n == name))
    }

    /// The first answer counts: a second one cannot change a decision half way.
    fn find(&self, asked: impl Fn(&Lookup) -> bool) -> Option<&Answer> {
        self.answers.iter().find(|(lookup, _)| asked(lookup)).map(|(_, answer)| answer)
    }
}
