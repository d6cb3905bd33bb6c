//! Solves puzzles, ours and others'. A file of a peer names the one that it needs.

use std::str::FromStr;

use anyhow::{Context, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A kind of puzzle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Solver {
    /// Ours: yields `answer`.
    Tollgate,
    /// SHA-256 of the challenge's text and a decimal nonce, with so many leading zero digits in hex: yields `id`, `response`
    /// and `nonce`. Anubis calls it `fast`.
    AnubisFast,
}

/// What a solution is called and what it is; `{name}` in a later step of a visit is replaced by it.
pub(crate) type Solution = Vec<(&'static str, String)>;

impl FromStr for Solver {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        match name {
            "tollgate" => Ok(Self::Tollgate),
            "anubis-fast" => Ok(Self::AnubisFast),
            _ => bail!("no solver is called {name}; there are tollgate and anubis-fast"),
        }
    }
}

impl Solver {
    /// Solves what a page asks.
    pub(crate) fn solve(self, page: &[u8]) -> anyhow::Result<Solution> {
        let page = String::from_utf8_lossy(page);
        match self {
            Self::Tollgate => {
                let job = json(&page, "")?;
                let token = job["token"].as_str().context("a page without a token")?;
                Ok(vec![("answer", answer(token)?)])
            }
            Self::AnubisFast => {
                let job = json(&page, "id=\"anubis_challenge\"")?;
                let difficulty = job["rules"]["difficulty"].as_u64().context("no difficulty")?;
                // Before it had an id, the challenge was a text.
                let challenge = &job["challenge"];
                let data = challenge["randomData"].as_str().or_else(|| challenge.as_str());
                let data = data.context("no challenge")?;
                let (nonce, response) = leading_zeros(data, usize::try_from(difficulty)?)?;
                let id = challenge["id"].as_str().unwrap_or_default().to_owned();
                Ok(vec![("id", id), ("response", response), ("nonce", nonce.to_string())])
            }
        }
    }
}

/// The JSON in the script element that holds data and, among its attributes, `mark`.
fn json(page: &str, mark: &str) -> anyhow::Result<Value> {
    let scripts = page.split("<script").skip(1).filter_map(|element| element.split_once('>'));
    let block = scripts.filter(|(tag, _)| tag.contains("application/json") && tag.contains(mark));
    let text = block.filter_map(|(_, rest)| rest.split("</script>").next()).next();
    serde_json::from_str(text.context("a page without a challenge")?).context("a challenge that is no JSON")
}

/// The puzzles of one of our tokens.
struct Puzzles {
    count: u32,
    target: u32,
    message: Vec<u8>,
}

impl Puzzles {
    /// Those of a token, which is what an answer begins with.
    fn of(answer: &[u8]) -> anyhow::Result<Self> {
        ensure!(answer.len() >= TOKEN && answer[1] == 1, "a token that asks no work");
        let (token, size) = (&answer[..TOKEN], 1u16 << answer[3].min(14));
        let seed = Sha256::new().chain_update("tollgate filler 1").chain_update(token).finalize();
        let part = |part: u16| Sha256::new().chain_update(seed).chain_update(part.to_be_bytes()).finalize();
        Ok(Self {
            count: u32::from(token[2]),
            target: u32::from_be_bytes([token[4], token[5], token[6], token[7]]),
            message: (0..size / 32).flat_map(part).collect(),
        })
    }

    fn solves(&mut self, puzzle: u32, nonce: u32) -> bool {
        self.message[..4].copy_from_slice(&puzzle.to_be_bytes());
        self.message[4..8].copy_from_slice(&nonce.to_be_bytes());
        let hash = Sha256::digest(&self.message);
        u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) < self.target
    }
}

/// Bytes of a token.
const TOKEN: usize = 56;

/// The answer to one of our tokens.
pub(crate) fn answer(token: &str) -> anyhow::Result<String> {
    let mut bytes = URL_SAFE_NO_PAD.decode(token).context("a token that cannot be read")?;
    let mut puzzles = Puzzles::of(&bytes)?;
    for puzzle in 0..puzzles.count {
        let nonce = (0..=u32::MAX).find(|nonce| puzzles.solves(puzzle, *nonce));
        bytes.extend(nonce.context("a puzzle without a solution")?.to_be_bytes());
    }
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// An answer that is wrong in its first nonce, which costs a server more than one that is forged.
pub(crate) fn spoiled(answer: &str) -> anyhow::Result<String> {
    let mut bytes = URL_SAFE_NO_PAD.decode(answer)?;
    let mut puzzles = Puzzles::of(&bytes)?;
    let wrong =
        (0..=u32::MAX).find(|nonce| !puzzles.solves(0, *nonce)).context("a puzzle that all solves")?;
    let first = bytes.get_mut(TOKEN..TOKEN + 4).context("an answer without a nonce")?;
    first.copy_from_slice(&wrong.to_be_bytes());
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The smallest nonce whose hash begins with so many zero digits, and that hash.
fn leading_zeros(data: &str, digits: usize) -> anyhow::Result<(u64, String)> {
    ensure!(digits <= 8, "difficulty {digits} takes {} attempts; have the peer ask for less", 1u64 << 32);
    let start = Sha256::new().chain_update(data);
    for nonce in 0u64.. {
        let hash = start.clone().chain_update(nonce.to_string()).finalize();
        let odd = digits % 2 == 1 && hash[digits / 2] >> 4 != 0;
        if !odd && hash[..digits / 2].iter().all(|byte| *byte == 0) {
            return Ok((nonce, hash.iter().map(|byte| format!("{byte:02x}")).collect()));
        }
    }
    bail!("no nonce solves it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_are_those_of_the_hash_in_hex() {
        for digits in 0..=4 {
            let (nonce, response) = leading_zeros("challenge", digits).unwrap();
            assert!(response.starts_with(&"0".repeat(digits)), "{response}");
            let hash = Sha256::digest(format!("challenge{nonce}"));
            assert_eq!(response, hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        }
    }

    #[test]
    fn a_page_of_anubis_is_read_in_both_its_forms() {
        let page = |challenge: &str| {
            format!(
                "<html><script>x</script><script id=\"anubis_version\" type=\"application/json\">\"v\"</script>\
                 <script id=\"anubis_challenge\" type=\"application/json\">{{\"rules\":{{\"difficulty\":1}},\"challenge\":{challenge}}}</script>"
            )
        };
        let solution = Solver::AnubisFast.solve(page(r#"{"id":"7","randomData":"abc"}"#).as_bytes()).unwrap();
        assert_eq!(solution[0], ("id", "7".to_owned()));
        let older = Solver::AnubisFast.solve(page(r#""abc""#).as_bytes()).unwrap();
        assert_eq!((&older[1], &older[2]), (&solution[1], &solution[2]));
        assert!(Solver::AnubisFast.solve(b"<html></html>").is_err());
    }

    /// A token of level 4 with 8 puzzles over 1 KiB; nobody needs its MAC to solve it.
    #[test]
    fn an_answer_meets_every_target() {
        let mut token = [7u8; 56];
        token[..8].copy_from_slice(&[0x10, 1, 8, 10, 0x80, 0, 0, 0]);
        let text = answer(&URL_SAFE_NO_PAD.encode(token)).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        assert_eq!((bytes.len(), &bytes[..TOKEN]), (TOKEN + 8 * 4, &token[..]));
        let mut puzzles = Puzzles::of(&token).unwrap();
        let nonce = |bytes: &[u8], n: usize| {
            u32::from_be_bytes(bytes[TOKEN + n * 4..TOKEN + n * 4 + 4].try_into().unwrap())
        };
        assert!((0..8).all(|n| puzzles.solves(n, nonce(&bytes, n as usize))));
        let spoiled = URL_SAFE_NO_PAD.decode(spoiled(&text).unwrap()).unwrap();
        assert!(!puzzles.solves(0, nonce(&spoiled, 0)));
        assert_eq!(spoiled[TOKEN + 4..], bytes[TOKEN + 4..]);
    }
}
