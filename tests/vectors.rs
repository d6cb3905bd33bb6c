//! The test vectors of the challenge, the answer and the clearance, computed by an independent program: every byte and every reason.

use serde_json::Value;
use sha2::{Digest, Sha256};
use tollgate::challenge::{
    Check, Filler, Limits, Stamp, Token, answer_text, issue_wait, issue_work, level_of, solve, way_back,
};
use tollgate::clearance::{Lives, open, seal};
use tollgate::clock::Timestamp;
use tollgate::crypto::{Entry, Kind, Mac, Refusal, Ring, Secret, State, Visitor, encode};

const VECTORS: &str = include_str!("data/challenge_vectors.json");

fn vectors() -> Value {
    serde_json::from_str(VECTORS).expect("the vectors are JSON")
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} is text in {value}"))
}

fn number<T: TryFrom<u64>>(value: &Value) -> T {
    value.as_u64().and_then(|n| T::try_from(n).ok()).unwrap_or_else(|| panic!("{value} fits"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is a list"))
}

fn numbers<T: TryFrom<u64>>(value: &Value) -> Vec<T> {
    list(value).iter().map(number).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digit =
        |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap_or_else(|_| panic!("{text} is hex"));
    (0..text.len()).step_by(2).map(digit).collect()
}

fn bytes<const N: usize>(value: &Value, field: &str) -> [u8; N] {
    hex(text(value, field)).try_into().unwrap_or_else(|_| panic!("{field} has {N} bytes"))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn entry(key: &Value, state: State) -> Entry {
    Entry { id: number(&key["id"]), state, secret: Secret::new(bytes(key, "secret")) }
}

fn ring(all: &Value) -> Ring {
    let state = |key: &Value| match text(key, "state") {
        "sign" => State::Sign,
        "verify" => State::Verify,
        _ => State::Retired,
    };
    let entries: Vec<_> = list(&all["hkdf"]["keys"]).iter().map(|key| entry(key, state(key))).collect();
    Ring::new(&entries).expect("the keys are a ring")
}

/// What a visitor is, owned.
struct Facts {
    host: String,
    agent: String,
    net: Vec<u8>,
    ja4: String,
}

impl Facts {
    fn new(visitor: &Value) -> Self {
        let text = |field| text(visitor, field).to_owned();
        Self {
            host: text("host_text"),
            agent: text("agent_text"),
            net: hex(&text("net")),
            ja4: text("ja4_text"),
        }
    }

    fn visitor(&self) -> Visitor<'_> {
        Visitor { host: &self.host, agent: self.agent.as_bytes(), net: &self.net, ja4: self.ja4.as_bytes() }
    }
}

fn limits(all: &Value) -> Limits {
    let policy = &all["policy"];
    let levels = number(&policy["min_level"])..=number(&policy["max_level"]);
    Limits {
        max_ttl: number(&policy["max_ttl"]),
        policies: numbers(&policy["policy_ids"]).into_iter().map(|id| (id, levels.clone())).collect(),
        max_k: number(&policy["max_k"]),
        sizes: numbers(&policy["sizes"]),
        min_wait: number(&policy["min_wait"]),
        max_wait: number(&policy["max_wait"]),
        max_wait_level: number(&policy["max_wait_level"]),
    }
}

fn lives(all: &Value) -> Lives {
    let life = |field: &str| std::time::Duration::from_secs(number(&all["policy"][field]));
    Lives { work: life("life_work"), wait: life("life_wait") }
}

/// What a case comes to, in the words of the vectors.
fn outcome(all: &Value, case: &Value) -> Result<Value, Refusal> {
    let (ring, limits, lives) = (ring(all), limits(all), lives(all));
    let facts = Facts::new(&all["visitors"][text(case, "visitor")]);
    let (visitor, sent) = (facts.visitor(), text(case, "text").as_bytes());
    let now = Timestamp::from_seconds(number(&case["at"]));
    let check = Check { ring: &ring, limits: &limits, visitor: &visitor, now };
    let claims = match text(case, "op") {
        "answer" => {
            let answer = check.answer(sent)?;
            answer.verify().map(|()| *answer.paid())
        }
        "wait" => check.wait(sent),
        "clearance" => {
            let kinds: Vec<u8> = if case["kinds"].is_null() { vec![1, 2] } else { numbers(&case["kinds"]) };
            let level = if case["need"].is_null() { 0 } else { number(&case["need"]) };
            let accepts = |kind: Kind| kinds.contains(&kind.byte());
            let got = open(&ring, &lives, &visitor, now, sent, accepts, level)?;
            let (kind, id) = (got.kind.as_str(), to_hex(&got.id));
            return Ok(
                serde_json::json!({"kind": kind, "level": got.level, "id": id, "expires": got.expires}),
            );
        }
        other => panic!("{other} is no operation"),
    }?;
    let sealed = seal(&ring, &claims, &lives).expect("the key was there a moment ago").text;
    let mut raw = [0; 52];
    let raw = tollgate::crypto::decode(sealed.as_bytes(), &mut raw).expect("we wrote it");
    Ok(serde_json::json!({"clearance": sealed, "clearance_hex": to_hex(raw)}))
}

#[test]
fn every_case_is_accepted_or_refused_for_exactly_its_reason() {
    let all = vectors();
    let (mut accepted, mut refused) = (0, 0);
    for case in list(&all["cases"]) {
        let (name, expect) = (text(case, "name"), &case["expect"]);
        match outcome(&all, case) {
            Ok(got) => {
                assert_eq!(Some(&got), expect.get("accept"), "{name}");
                accepted += 1;
            }
            Err(why) => {
                assert_eq!(Some(why.code()), expect["refuse"].as_str(), "{name}");
                refused += 1;
            }
        }
    }
    assert_eq!((accepted, refused), (18, 183));
}

#[test]
fn sub_keys_are_derived_by_purpose() {
    for key in list(&vectors()["hkdf"]["keys"]) {
        let ring = Ring::new(&[entry(key, State::Sign)]).unwrap();
        let derived = ring.signing();
        let macs = [
            ("challenge", &derived.challenge),
            ("clearance", &derived.clearance),
            ("binding", &derived.binding),
            ("return", &derived.way_back),
        ];
        for (purpose, mac) in macs {
            assert_eq!(mac.sum(&[b"x"]), Mac::new(&bytes(key, purpose)).sum(&[b"x"]), "{purpose} of {key}");
        }
    }
}

#[test]
fn bindings_tell_visitors_apart() {
    let all = vectors();
    for (name, visitor) in all["visitors"].as_object().unwrap() {
        for key in list(&all["hkdf"]["keys"]) {
            let ring = Ring::new(&[entry(key, State::Sign)]).unwrap();
            let got = Facts::new(visitor).visitor().binding(ring.signing());
            assert_eq!(got, bytes(&visitor["binding"], &key["id"].to_string()), "{name}");
        }
    }
}

#[test]
fn levels_are_whole_logarithms() {
    for row in list(&vectors()["levels"]) {
        assert_eq!(level_of(number(&row["k"]), number(&row["target"])), number::<u8>(&row["level"]), "{row}");
    }
}

#[test]
fn tokens_are_written_and_read_byte_by_byte() {
    for row in list(&vectors()["tokens"]) {
        let token = Token::parse(text(row, "text")).unwrap();
        assert_eq!(token.as_bytes(), &bytes(row, "hex"), "{row}");
        assert_eq!(token.text(), text(row, "text"), "{row}");
    }
}

#[test]
fn tokens_are_issued_byte_by_byte() {
    let all = vectors();
    let (ring, facts) = (ring(&all), Facts::new(&all["visitors"]["plain"]));
    let visitor = facts.visitor();
    let stamp = |id| Stamp {
        ring: &ring,
        visitor: &visitor,
        policy: 7,
        id,
        now: Timestamp::from_seconds(1_800_000_000),
        ttl: std::time::Duration::from_secs(300),
    };
    let named = |name: &str| {
        let row = list(&all["tokens"]).iter().find(|row| text(row, "name") == name);
        text(row.unwrap(), "text").to_owned()
    };
    let id: [u8; 16] = std::array::from_fn(|i| u8::try_from(i).unwrap() * 0x11);
    assert_eq!(issue_work(&stamp(id), 14, 12).text(), named("default"));
    assert_eq!(issue_wait(&stamp(id), 14, 3).text(), named("wait"));
    let id = std::array::from_fn(|i| u8::try_from(i).unwrap());
    assert_eq!(issue_work(&stamp(id), 16, 12).text(), named("level 16"));
}

#[test]
fn fillers_are_derived_from_the_token() {
    for row in list(&vectors()["fillers"]) {
        let filler = Filler::new(&bytes(row, "token"), number(&row["size"])).unwrap();
        let filler = filler.as_bytes();
        assert_eq!(filler[..64], bytes::<64>(row, "first_64"), "{row}");
        assert_eq!(filler[filler.len() - 32..], bytes::<32>(row, "last_32"), "{row}");
        assert_eq!(Sha256::digest(filler)[..], bytes::<32>(row, "sha256"), "{row}");
    }
}

#[test]
fn messages_hash_to_the_same_number() {
    for row in list(&vectors()["messages"]) {
        let filler = Filler::new(&bytes(row, "token"), number(&row["size"])).unwrap();
        let got = filler.first_u32(number(&row["i"]), number(&row["n"]));
        assert_eq!(got, number::<u32>(&row["first_u32"]), "{row}");
        assert_eq!(got.to_be_bytes(), bytes::<32>(row, "sha256")[..4], "{row}");
    }
}

#[test]
fn the_solvers_self_test_holds_here_too() {
    let test = &vectors()["self_test"];
    let filler = Filler::new(&bytes(test, "token"), number(&test["size"])).unwrap();
    let hashes: Vec<u32> = (0..8).map(|n| filler.first_u32(number(&test["i"]), n)).collect();
    assert_eq!(hashes, numbers::<u32>(&test["first_u32"]));
    let target: u32 = number(&test["target"]);
    assert_eq!(hashes.iter().position(|h| *h < target), Some(number(&test["hit"])));
}

#[test]
fn puzzles_are_solved_with_the_smallest_nonces() {
    let all = vectors();
    for row in list(&all["solved"]) {
        let token = list(&all["tokens"]).iter().find(|t| t["name"] == row["name"]).unwrap();
        let token = Token::parse(text(token, "text")).unwrap();
        let nonces = solve(&token);
        assert_eq!(nonces, numbers::<u32>(&row["nonces"]), "{row}");
        assert_eq!(answer_text(&token, &nonces), text(row, "text"), "{row}");
    }
}

#[test]
fn the_way_back_is_signed_with_the_token() {
    let all = vectors();
    let (ring, row) = (ring(&all), &all["return_path"]);
    let token = Token::parse(encode(&bytes::<56>(row, "token"))).unwrap();
    let (path, tag) = (text(row, "path_text").as_bytes(), bytes::<16>(row, "tag"));
    assert_eq!(way_back::sign(&ring, &token, path), tag);
    assert_eq!(way_back::verify(&ring, &token, path, &tag), Ok(()));
    assert_eq!(way_back::verify(&ring, &token, b"/a", &tag), Err(Refusal::Forged));
}
