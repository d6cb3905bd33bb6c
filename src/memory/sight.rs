//! What memory takes in of one request: whose it is, and what it asks for.

use std::net::IpAddr;

use super::Counted;
use super::key::{Keys, Kind};
use super::outbox::Subject;
use crate::request::{Prefix, Request, name};

/// One request as memory sees it. Holds hashes and numbers only, nothing that the visitor sent, but for the address, which
/// others are asked about under a name of theirs.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    pub(super) who: Subject,
    pub(super) client: Option<u64>,
    pub(super) network: Option<u64>,
    pub(super) asn: Option<u64>,
    pub(super) fingerprint: u64,
    pub(super) site: u64,
    pub(super) agent: u64,
    /// In which order the headers stand that tell the client.
    pub(super) shape: u64,
    pub(super) target: u64,
    pub(super) what: What,
    /// The last number in the target, and the target without it.
    pub(super) number: Option<(u32, u32)>,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum What {
    /// A part of a page that a page led to.
    Asset,
    /// A page; or a part of one that nothing led to, which is how a robot collects them.
    Document,
    /// What scripts do: calls, forms, connections.
    Other,
}

impl Sight {
    pub(super) fn of(keys: &Keys, request: &Request<'_>, asn: Option<u32>) -> Self {
        let head = Head::of(request);
        let agent = keys.of(Kind::Agent, head.agent);
        let whole = agent ^ head.shape.rotate_left(32);
        Self {
            who: Counted::Client(request.client).with_bytes(Subject::new),
            client: request.client.map(|client| keys.of(Kind::Client, &subnet(client))),
            network: request.client.map(|client| keys.of(Kind::Network, Prefix::of(client).as_bytes())),
            asn: asn.map(|asn| keys.of(Kind::Asn, &asn.to_be_bytes())),
            fingerprint: keys.with(Kind::Fingerprint, whole, head.ja4),
            site: keys.of(Kind::Site, request.host.as_bytes()),
            agent,
            shape: head.shape,
            target: keys.of(Kind::Target, request.target.raw),
            what: what(request, &head),
            number: number(keys, request.target.raw),
        }
    }
}

/// The address; of IPv6 the /64, in which one machine moves as it likes. The first byte keeps the families apart.
pub(super) fn subnet(client: IpAddr) -> [u8; 9] {
    let mut bytes = [0; 9];
    match client {
        IpAddr::V4(v4) => {
            bytes[0] = 4;
            bytes[1..5].copy_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            bytes[0] = 6;
            bytes[1..].copy_from_slice(&v6.octets()[..8]);
        }
    }
    bytes
}

/// What memory looks at in the headers, found in one pass. Of a header that stands several times the first line counts.
struct Head<'r> {
    agent: &'r [u8],
    accept: &'r [u8],
    fetch_dest: &'r [u8],
    ja4: &'r [u8],
    /// Whether a page led here.
    led: bool,
    /// Whether another protocol is asked for.
    upgrade: bool,
    /// The order of the headers that a client sends with every request, whatever it asks for, and what they say of
    /// encodings, languages and the platform. Collisions gain nobody anything: whoever wants the shape of a browser sends
    /// the headers of that browser.
    shape: u64,
}

impl<'r> Head<'r> {
    fn of(request: &Request<'r>) -> Self {
        let mut head = Self {
            agent: b"",
            accept: b"",
            fetch_dest: b"",
            ja4: b"",
            led: false,
            upgrade: false,
            shape: 0xcbf2_9ce4_8422_2325,
        };
        for (known, value) in request.headers.known() {
            let first = |place: &mut &'r [u8]| {
                if place.is_empty() {
                    *place = value;
                }
            };
            match known {
                name::TE => head.add(1),
                name::DNT => head.add(2),
                name::ACCEPT => {
                    head.add(3);
                    first(&mut head.accept);
                }
                name::SEC_GPC => head.add(4),
                name::REFERER => head.led |= !value.is_empty(),
                name::UPGRADE => head.upgrade = true,
                name::SEC_CH_UA => head.add(5),
                name::USER_AGENT => {
                    head.add(6);
                    first(&mut head.agent);
                }
                name::ACCEPT_CHARSET => head.add(7),
                name::SEC_FETCH_DEST => first(&mut head.fetch_dest),
                name::X_TOLLGATE_JA4 => first(&mut head.ja4),
                name::ACCEPT_ENCODING => head.add_with(8, value),
                name::ACCEPT_LANGUAGE => head.add_with(9, value),
                name::SEC_CH_UA_MOBILE => head.add(10),
                name::SEC_CH_UA_PLATFORM => head.add_with(11, value),
                _ => {}
            }
        }
        head
    }

    fn add(&mut self, number: u64) {
        self.shape = (self.shape ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn add_with(&mut self, number: u64, value: &[u8]) {
        self.add(number);
        let (words, rest) = value.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        self.add(rest.iter().fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
    }
}

/// The endings of what pages are made of.
const PARTS: [&str; 26] = [
    "css",
    "js",
    "mjs",
    "map",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "svg",
    "ico",
    "webp",
    "avif",
    "bmp",
    "woff",
    "woff2",
    "ttf",
    "otf",
    "eot",
    "mp3",
    "mp4",
    "webm",
    "ogg",
    "wav",
    "m4a",
    "wasm",
    "webmanifest",
];

fn what(request: &Request<'_>, head: &Head<'_>) -> What {
    if !matches!(request.method, "GET" | "HEAD") || head.upgrade {
        return What::Other;
    }
    let like_part = || {
        ending(request.target.path())
            .is_some_and(|ending| PARTS.iter().any(|part| part.as_bytes().eq_ignore_ascii_case(ending)))
    };
    match head.fetch_dest {
        b"" if !like_part() => What::Document,
        // Without a page that led to it, this is somebody who collects parts.
        b"" if !head.led => What::Document,
        b"" => What::Asset,
        b"document" | b"iframe" | b"frame" | b"embed" | b"object" => What::Document,
        b"empty" | b"serviceworker" | b"report" | b"websocket" => What::Other,
        // Who asks for a page as if for an image is counted as who asks for a page.
        _ if head.accept.starts_with(b"text/html") && !like_part() => What::Document,
        _ => What::Asset,
    }
}

/// What stands behind the last dot of a path's last segment.
fn ending(path: &[u8]) -> Option<&[u8]> {
    let name = path.rsplit(|b| *b == b'/').next()?;
    let dot = name.iter().rposition(|b| *b == b'.')?;
    Some(&name[dot + 1..])
}

/// The last number of up to nine digits in a target, and a hash of what stands around it.
fn number(keys: &Keys, target: &[u8]) -> Option<(u32, u32)> {
    let end = target.iter().rposition(u8::is_ascii_digit)? + 1;
    let start = target[..end].iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |at| at + 1);
    if end - start > 9 {
        return None;
    }
    let number = target[start..end].iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    let stem = keys.with(Kind::Stem, (target.len() - end) as u64, &target[..start]);
    Some((number, (stem >> 32) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Parts;

    fn sight(target: &str, client: &str, headers: &[(&str, &str)]) -> Sight {
        let parts = Parts {
            method: b"GET",
            target: target.as_bytes(),
            host: b"example.org",
            scheme: b"https",
            client: client.parse().ok(),
            headers: headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect(),
        };
        Sight::of(&Keys::new(&[7; 16]), &Request::new(parts).unwrap(), None)
    }

    #[test]
    fn pages_parts_and_calls_are_told_apart() {
        let dest = |target: &str, dest: &str, accept: &str| {
            sight(target, "", &[("sec-fetch-dest", dest), ("accept", accept)]).what
        };
        let old = |target: &str, headers: &[(&str, &str)]| sight(target, "", headers).what;
        assert_eq!(dest("/", "document", "text/html,*/*"), What::Document);
        assert_eq!(dest("/a.png", "image", "image/*"), What::Asset);
        assert_eq!(dest("/photo", "image", "image/*"), What::Asset);
        assert_eq!(dest("/api", "empty", "*/*"), What::Other);
        assert_eq!(dest("/page", "image", "text/html"), What::Document, "a page asked for as an image");
        assert_eq!(old("/page", &[]), What::Document);
        assert_eq!(old("/v1.2/page", &[]), What::Document);
        assert_eq!(old("/a.PNG?v=1", &[("referer", "https://example.org/")]), What::Asset);
        assert_eq!(old("/a.png", &[]), What::Document, "nothing led there");
    }

    #[test]
    fn one_machine_is_one_client_and_one_site_one_network() {
        let of = |client: &str| sight("/", client, &[]);
        assert_eq!(of("2001:db8::1").client, of("2001:db8::ffff:1").client);
        assert_ne!(of("2001:db8::1").client, of("2001:db8:0:1::1").client);
        assert_eq!(of("2001:db8::1").network, of("2001:db8:0:1::1").network);
        assert_ne!(of("192.0.2.1").client, of("192.0.2.2").client);
        assert_eq!(of("192.0.2.1").network, of("192.0.2.2").network);
        assert!(of("").client.is_none() && of("").network.is_none());
    }

    #[test]
    fn a_fingerprint_is_agent_order_languages_and_ja4() {
        let base = [("user-agent", "a"), ("accept", "x"), ("accept-language", "en")];
        let of = |headers: &[(&str, &str)]| sight("/", "", headers).fingerprint;
        let same = of(&base);
        assert_eq!(same, of(&[base[0], ("referer", "/x"), ("accept", "y"), base[2], ("cookie", "z")]));
        assert_ne!(same, of(&[base[1], base[0], base[2]]));
        assert_ne!(same, of(&[("user-agent", "b"), base[1], base[2]]));
        assert_ne!(same, of(&[base[0], base[1], ("accept-language", "de")]));
        assert_ne!(same, of(&[base[0], base[1], base[2], ("x-tollgate-ja4", "t13d")]));
    }

    #[test]
    fn numbers_stand_apart_from_what_is_around_them() {
        let of = |target: &str| sight(target, "", &[]).number;
        let (one, two) = (of("/list?page=1").unwrap(), of("/list?page=2").unwrap());
        assert_eq!((one.0, two.0, one.1), (1, 2, two.1));
        assert_eq!(of("/item/41/view").unwrap().0, 41);
        assert_ne!(of("/a/1").unwrap().1, of("/b/1").unwrap().1);
        assert_eq!((of("/"), of("/1234567890")), (None, None));
    }
}
