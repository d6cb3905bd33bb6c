//! Makes tokens, answers and clearances, right and wrong, byte by byte and with the harness's own keys: none of it goes
//! through the code that the gate makes its own with, except where a puzzle has to be solved.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use tollgate::challenge::{Filler, level_of, policy_id, target_for};
use tollgate::crypto::{Entry, Key, Mac, Ring, Secret, State, Visitor, encode};

/// Another browser than any row's.
const OTHER_AGENT: &str =
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14.7; rv:145.0) Gecko/20100101 Firefox/145.0";
/// The hardest puzzle that is solved for a token that was tampered with.
const MAX_EFFORT: u8 = 14;

/// The keys of the gate under test: what each is to it.
const KEYS: [(u8, State); 3] = [(1, State::Sign), (0, State::Verify), (2, State::Retired)];

fn secret(id: u8) -> Secret {
    Secret::new([0x40 + id; 32])
}

/// The gate's ring: 1 signs, 0 verifies, 2 is retired, 15 is unknown.
pub(crate) fn ring() -> Ring {
    let entries = KEYS.map(|(id, state)| Entry { id, state, secret: secret(id) });
    Ring::new(&entries).expect("one of the keys signs")
}

/// A key of that ring, whatever its state.
fn key(id: u8) -> Key {
    let entry = Entry { id, state: State::Sign, secret: secret(id) };
    Ring::new(&[entry]).expect("one key is a ring").signing().clone()
}

/// What placeholders are made for, unless their parameters say otherwise.
pub(crate) struct Forge {
    /// Unix seconds.
    pub(crate) now: u64,
    /// The row's host, as rules see it.
    pub(crate) host: String,
    /// The row's `User-Agent`.
    pub(crate) agent: Vec<u8>,
    drawn: Cell<u8>,
}

/// The parameters of one placeholder.
struct Params<'t>(BTreeMap<&'t str, &'t str>);

impl<'t> Params<'t> {
    fn text(&self, name: &str) -> Option<&'t str> {
        self.0.get(name).copied()
    }

    fn number<T: TryFrom<i64>>(&self, name: &str) -> Option<T> {
        let text = self.text(name)?;
        let number: i64 = text.parse().unwrap_or_else(|e| panic!("{name}={text}: {e}"));
        Some(T::try_from(number).unwrap_or_else(|_| panic!("{name}={text} does not fit")))
    }

    fn is_set(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// The two things that a MAC is over.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Thing {
    Challenge,
    Clearance,
}

impl Thing {
    const fn signed(self) -> usize {
        match self {
            Self::Challenge => 40,
            Self::Clearance => 36,
        }
    }

    fn field(self, name: &str) -> Range<usize> {
        match (self, name) {
            (_, "version") => 0..1,
            (_, "kind") => 1..2,
            (Self::Challenge, "k") => 2..3,
            (Self::Challenge, "size") => 3..4,
            (Self::Challenge, "target" | "seconds") => 4..8,
            (Self::Challenge, "issued") => 8..12,
            (Self::Challenge, "ttl") => 12..14,
            (Self::Challenge, "policy") => 14..16,
            (Self::Challenge, "id") => 16..32,
            (Self::Challenge, "binding") => 32..40,
            (Self::Challenge, "mac") => 40..56,
            (Self::Clearance, "level") => 2..3,
            (Self::Clearance, "flags") => 3..4,
            (Self::Clearance, "issued") => 4..8,
            (Self::Clearance, "expires") => 8..12,
            (Self::Clearance, "id") => 12..28,
            (Self::Clearance, "binding") => 28..36,
            (Self::Clearance, "mac") => 36..52,
            _ => panic!("no field {name}"),
        }
    }
}

impl Forge {
    pub(crate) fn new(now: u64, host: &str, agent: Vec<u8>) -> Self {
        let host = host.split(':').next().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        Self { now, host, agent, drawn: Cell::new(0) }
    }

    /// Fills in every placeholder of a text.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, from)) = rest.split_once("{{") {
            let (inside, after) =
                from.split_once("}}").unwrap_or_else(|| panic!("{text}: a placeholder has no end"));
            out.push_str(before);
            rest = after;
            let mut words = inside.split_whitespace();
            let name = words.next().unwrap_or_default();
            let params = Params(words.filter_map(|word| word.split_once('=')).collect());
            out.push_str(&match name {
                "clearance" => self.spell(self.clearance(&params), &params),
                "wait_token" => self.wait_link(&params),
                "answer" => self.spell(self.answer(&params), &params),
                "challenge" => {
                    let mut bytes = self.challenge(&params, false);
                    // Two texts of base64 one after the other are no base64: what is meant are the bytes.
                    if let Some((zeros, after)) =
                        rest.strip_prefix("{{zeros k=").and_then(|zeros| zeros.split_once("}}"))
                    {
                        let k: usize = zeros.parse().expect("the number of zeros is a number");
                        bytes.resize(bytes.len() + 4 * k, 0);
                        rest = after;
                    }
                    self.spell(bytes, &params)
                }
                "zeros" => encode(&vec![0; 4 * params.number::<usize>("k").expect("zeros have a number")]),
                _ => panic!("{text}: no placeholder is named {name}"),
            });
        }
        out + rest
    }

    /// The cookie's value that this answer buys when it is right.
    pub(crate) fn bought_by(&self, answer: &[u8]) -> String {
        let token = &answer[..56];
        let target = u32::from_be_bytes(token[4..8].try_into().expect("four bytes"));
        let issued = u32::from_be_bytes(token[8..12].try_into().expect("four bytes"));
        let mut bytes = vec![token[0], 1, level_of(token[2], target), 0];
        bytes.extend(issued.to_be_bytes());
        bytes.extend((issued + 7 * 24 * 3600).to_be_bytes());
        bytes.extend(&token[16..40]);
        let tag = key(token[0] & 15).clearance.tag(&[&bytes]);
        bytes.extend(tag);
        encode(&bytes)
    }

    /// A right answer without any trick, as bytes.
    pub(crate) fn plain_answer(&self) -> Vec<u8> {
        self.answer(&Params(BTreeMap::new()))
    }

    fn challenge(&self, params: &Params<'_>, wait: bool) -> Vec<u8> {
        let wait = params.text("kind").map_or(wait, |kind| kind == "wait");
        let level = params.number("level").unwrap_or(12);
        let k = params.number("k").unwrap_or(16);
        let (a, size, number) = if wait { (level, 0, 3) } else { (k, 10, target_for(level, k.max(1))) };
        // A wait that nobody has begun to wait would be refused for that alone.
        let issued = self.moment(params, "issued", if wait { -10 } else { 0 });
        let mut bytes =
            vec![0, self.kind(params, if wait { 2 } else { 1 }), a, params.number("size").unwrap_or(size)];
        bytes.extend(params.number("target").unwrap_or(number).to_be_bytes());
        bytes.extend(issued.to_be_bytes());
        bytes.extend(params.number::<u16>("ttl").unwrap_or(300).to_be_bytes());
        let policy = params
            .text("policy")
            .map_or_else(|| policy_id("default"), |name| name.parse().unwrap_or_else(|_| policy_id(name)));
        bytes.extend(policy.to_be_bytes());
        bytes.extend(self.id(params));
        bytes.extend(self.binding(params));
        self.seal(bytes, params, Thing::Challenge)
    }

    fn clearance(&self, params: &Params<'_>) -> Vec<u8> {
        let mut bytes = vec![0, self.kind(params, 1), params.number("level").unwrap_or(12)];
        bytes.push(params.number("flags").unwrap_or(0));
        bytes.extend(self.moment(params, "issued", 0).to_be_bytes());
        bytes.extend(self.moment(params, "expires", 3600).to_be_bytes());
        bytes.extend(self.id(params));
        bytes.extend(self.binding(params));
        self.seal(bytes, params, Thing::Clearance)
    }

    /// A token with solutions, which are right wherever there can be any.
    fn answer(&self, params: &Params<'_>) -> Vec<u8> {
        let token = self.challenge(params, false);
        let k = usize::from(token[2]);
        let mut nonces = self.solve(&token).unwrap_or_else(|| vec![0; k]);
        if let (Some(first), true) = (nonces.first().copied(), params.is_set("repeat_first")) {
            nonces.fill(first);
        }
        let unsolved = params.number::<usize>("unsolved").unwrap_or(0);
        for (puzzle, nonce) in nonces.iter_mut().enumerate().rev().take(unsolved) {
            *nonce = self.wrong(&token, puzzle);
        }
        nonces.iter().fold(token, |mut bytes, nonce| {
            bytes.extend(nonce.to_be_bytes());
            bytes
        })
    }

    fn solve(&self, token: &[u8]) -> Option<Vec<u32>> {
        let target = u32::from_be_bytes(token[4..8].try_into().expect("four bytes"));
        if target == 0 || token[2] > 64 || level_of(token[2], target) > MAX_EFFORT {
            return None;
        }
        let filler = Filler::new(token.try_into().expect("a token has 56 bytes"), token[3])?;
        let one = |puzzle| (0..=u32::MAX).find(|nonce| filler.first_u32(puzzle, *nonce) < target);
        (0..u32::from(token[2])).map(one).collect()
    }

    /// A nonce that does not solve this puzzle.
    fn wrong(&self, token: &[u8], puzzle: usize) -> u32 {
        let target = u32::from_be_bytes(token[4..8].try_into().expect("four bytes"));
        let filler =
            Filler::new(token.try_into().expect("a token has 56 bytes"), token[3]).expect("a size of ours");
        let puzzle = u32::try_from(puzzle).expect("at most 64 puzzles");
        (0..).find(|nonce| filler.first_u32(puzzle, *nonce) >= target).expect("most nonces are wrong")
    }

    /// The parameters of a link to the wait lane, its way back genuine whatever was done to the token.
    fn wait_link(&self, params: &Params<'_>) -> String {
        let bytes = self.challenge(params, true);
        let path = b"/page?x=1";
        let tag = self.key(params).way_back.tag(&[&bytes, path]);
        format!("{}&r={}&s={}", self.spell(bytes, params), encode(path), encode(&tag))
    }

    fn kind(&self, params: &Params<'_>, fallback: u8) -> u8 {
        match params.text("kind") {
            None => fallback,
            Some("work") => 1,
            Some("wait") => 2,
            Some(_) => params.number("kind").unwrap_or(fallback),
        }
    }

    /// Seconds from now, as a parameter says.
    fn moment(&self, params: &Params<'_>, name: &str, fallback: i64) -> u32 {
        let offset = params.number(name).unwrap_or(fallback);
        u32::try_from(self.now.saturating_add_signed(offset)).expect("rows stay near the present")
    }

    /// An id that no other placeholder of the row has, and whose text has letters in which the two alphabets differ.
    fn id(&self, params: &Params<'_>) -> [u8; 16] {
        if let Some(seed) = params.number("id") {
            return [seed; 16];
        }
        self.drawn.set(self.drawn.get() + 1);
        let mut id = [0xfb; 16];
        id[15] = self.drawn.get();
        id
    }

    fn key(&self, params: &Params<'_>) -> Key {
        key(match params.text("key") {
            None | Some("sign") => 1,
            Some("verify") => 0,
            Some("retired") => 2,
            Some(other) => panic!("no key is {other}"),
        })
    }

    fn binding(&self, params: &Params<'_>) -> [u8; 8] {
        let agent = match params.text("ua") {
            None => self.agent.clone(),
            Some("other") => OTHER_AGENT.as_bytes().to_vec(),
            Some(named) => named.as_bytes().to_vec(),
        };
        let host = params.text("host").unwrap_or(&self.host);
        Visitor { host, agent: &agent, net: b"", ja4: b"" }.binding(&self.key(params))
    }

    /// Writes the first byte, signs, and then does what the parameters say to what was signed.
    fn seal(&self, mut bytes: Vec<u8>, params: &Params<'_>, thing: Thing) -> Vec<u8> {
        let key = self.key(params);
        let version = params.number("version").unwrap_or(1u8);
        bytes[0] = version << 4 | params.number("kid").unwrap_or(key.id);
        assert_eq!(bytes.len(), thing.signed());
        let tag = mac(&key, params.text("purpose"), thing).tag(&[&bytes]);
        bytes.extend(tag);
        if let Some(field) = params.text("splice") {
            let genuine = Params(BTreeMap::from([
                ("level", "20"),
                ("host", "other.example"),
                ("ua", "other"),
                ("issued", "-2"),
                ("expires", "1800"),
            ]));
            let other = match thing {
                Thing::Challenge => self.challenge(&genuine, bytes[1] == 2),
                Thing::Clearance => self.clearance(&genuine),
            };
            let range = thing.field(field);
            bytes[range.clone()].copy_from_slice(&other[range]);
        }
        if let Some(bit) = params.number::<usize>("flip") {
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
        }
        bytes
    }

    /// The text of a token, spelled as the parameters say.
    fn spell(&self, bytes: Vec<u8>, params: &Params<'_>) -> String {
        let mut text = encode(&bytes);
        if params.is_set("trailing_bits") && !bytes.len().is_multiple_of(3) {
            let last = text.pop().expect("a token has text");
            let spare = if bytes.len() % 3 == 1 { 4 } else { 2 };
            text.push(with_spare_bit(last, spare));
        }
        if params.is_set("std_alphabet") {
            text = text.replace('-', "+").replace('_', "/");
        }
        text.truncate(text.len().saturating_sub(params.number("truncate").unwrap_or(0)));
        "A".repeat(params.number("prepend").unwrap_or(0)) + &text
    }
}

/// The letter with one of its spare bits set.
fn with_spare_bit(letter: char, spare: u32) -> char {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let at = ALPHABET.iter().position(|b| char::from(*b) == letter).expect("it was encoded");
    assert_eq!(at % (1 << spare), 0, "spare bits were zero");
    char::from(ALPHABET[at + 1])
}

fn mac<'k>(key: &'k Key, purpose: Option<&str>, thing: Thing) -> &'k Mac {
    match (purpose, thing) {
        (Some("challenge"), _) | (None, Thing::Challenge) => &key.challenge,
        (Some("clearance"), _) | (None, Thing::Clearance) => &key.clearance,
        (Some("binding"), _) => &key.binding,
        (Some("return"), _) => &key.way_back,
        (Some(other), _) => panic!("no sub-key is for {other}"),
    }
}
