//! The same five hundred visits through real nginx, through real Envoy in its three ways of asking, and to the faces directly: one
//! verdict. What a proxy refuses or rewrites by itself is counted apart, and is only of the kinds that are known.

mod direct;
mod visit;

use std::collections::BTreeMap;

use crate::client::Reply;
use crate::site::{Front, Site};
use direct::Direct;
use visit::{Dice, Visit};

/// How many visits.
const VISITS: usize = 500;

/// What a visitor hears.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Heard {
    Allow,
    Challenge,
    Deny,
    /// A status from the proxy itself, or below the face.
    Refused(u16),
}

/// A way through a real proxy.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Way {
    EnvoyHttp,
    EnvoyJoined,
    EnvoyRaw,
    Nginx,
}

impl Way {
    const ALL: [Self; 4] = [Self::EnvoyHttp, Self::EnvoyJoined, Self::EnvoyRaw, Self::Nginx];

    fn start(self) -> Option<Site> {
        const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/proxies/differential/policy.yaml");
        let joined = [("encode_raw_headers: true", "encode_raw_headers: false")];
        let (front, edits) = match self {
            Self::EnvoyHttp => (Front::HttpService, &[][..]),
            Self::EnvoyJoined => (Front::FilterOnly, &joined[..]),
            Self::EnvoyRaw => (Front::FilterOnly, &[][..]),
            Self::Nginx => (Front::Nginx, &[][..]),
        };
        Site::start_with(front, edits, &["--policy", POLICY])
    }

    /// The visit as the gate is told of it, where that differs from how it was sent, and how.
    fn rewritten(self, visit: &Visit) -> Option<(Visit, &'static str)> {
        let mut seen = visit.clone();
        let mut how = None;
        if self != Self::Nginx && normal(visit.path()) != visit.path() {
            seen.target = visit.target.replacen(visit.path(), &normal(visit.path()), 1);
            how = Some("path normalised");
        }
        seen.headers = match self {
            Self::EnvoyHttp | Self::EnvoyJoined => visit.joined(|_| true),
            // Of the names that it knows as standing once, such as this, Envoy itself makes one line.
            Self::EnvoyRaw => visit.joined(|name| name == "user-agent"),
            Self::Nginx => visit.headers.clone(),
        };
        if seen.headers != visit.headers {
            how = Some("lines joined");
        }
        how.map(|how| (seen, how))
    }

    /// What it refuses itself, and what for.
    fn refuses(self, visit: &Visit, status: u16) -> Option<&'static str> {
        let path = visit.path().to_ascii_lowercase();
        let slash = path.contains("%2f") || path.contains("%5c");
        match (self, status) {
            (_, 400) if matches!(visit.host, "a,b" | "user@shop.example") => Some("a host that is none"),
            (_, 400) if visit.target.contains('#') => Some("a fragment"),
            (_, 400) if path.contains("%00") => Some("a NUL"),
            (_, 400) if path == "*" => Some("an asterisk"),
            (_, 400) if path.contains("%zz") || path.ends_with('%') => Some("a bad escape"),
            (_, 400 | 405) if matches!(visit.method, "TRACE" | "get") => Some("a method"),
            (Self::Nginx, 400) => above_the_root(&path).then_some("above the root"),
            (_, 307) => slash.then_some("redirected to a path with slashes"),
            _ => None,
        }
    }
}

/// Whether a path leads above its root, as nginx reads it.
fn above_the_root(path: &str) -> bool {
    let decoded = path.replace("%2e", ".").replace("%2f", "/");
    let mut depth = 0;
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

/// A path as Envoy hands it on: unreserved bytes decoded, backslashes turned, dots resolved, slashes merged.
fn normal(path: &str) -> String {
    let decoded = ["%61", "%65", "%2e", "%2E"].iter().zip(["a", "e", ".", "."]);
    let plain = decoded.fold(path.replace('\\', "/"), |path, (escape, letter)| path.replace(escape, letter));
    let segments: Vec<&str> = plain.split('/').collect();
    let mut kept: Vec<&str> = Vec::new();
    // A dot segment is one with parameters too.
    let is_dots = |segment: &str, dots: &str| segment.split(';').next() == Some(dots);
    for segment in &segments[1..] {
        match *segment {
            "" => {}
            dot if is_dots(dot, ".") => {}
            dots if is_dots(dots, "..") => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    let mut out = format!("/{}", kept.join("/"));
    if !kept.is_empty()
        && segments.last().is_some_and(|last| ["", ".", ".."].iter().any(|dots| is_dots(last, dots)))
    {
        out.push('/');
    }
    out
}

fn heard(reply: &Reply) -> Heard {
    let ours = reply.header("x-robots-tag").is_some();
    if reply.all("set-cookie").any(|cookie| cookie.starts_with("app=")) {
        return Heard::Allow;
    }
    match reply.status {
        403 if ours && reply.header("tollgate-challenge").is_some() => Heard::Challenge,
        403 if ours => Heard::Deny,
        status => Heard::Refused(status),
    }
}

#[test]
fn five_hundred_visits_get_one_verdict_whichever_way_they_come() {
    let mut sites = Vec::new();
    for way in Way::ALL {
        let Some(site) = way.start() else { return };
        sites.push((way, site));
    }
    let mut direct = Direct::new(&sites[3].1);
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut counts: BTreeMap<(Option<Way>, &str), usize> = BTreeMap::new();
    for number in 0..VISITS {
        let visit = Visit::draw(&mut dice, u8::try_from(number % 50).expect("below 50"));
        let want = direct.verdict(&visit);
        *counts.entry((None, name(want))).or_default() += 1;
        for (way, site) in &sites {
            let heard = heard(&visit.ask().send_from(site.door(), visit.from));
            let what = match (heard, way.rewritten(&visit)) {
                (Heard::Refused(status), _) => way
                    .refuses(&visit, status)
                    .unwrap_or_else(|| panic!("{number}: {way:?} refuses with {status}: {visit:?}")),
                (_, None) => {
                    assert_eq!(heard, want, "{number}: {way:?} {visit:?}");
                    name(heard)
                }
                (_, Some((seen, how))) => {
                    let want = direct.verdict(&seen);
                    assert_eq!(heard, want, "{number}: {way:?}, {how}: {visit:?} as {seen:?}");
                    how
                }
            };
            *counts.entry((Some(*way), what)).or_default() += 1;
        }
    }
    for ((way, what), count) in &counts {
        println!("{}: {what} {count}", way.map_or("faces".to_owned(), |way| format!("{way:?}")));
    }
    for verdict in ["allow", "challenge", "deny"] {
        for way in Way::ALL {
            assert!(
                counts.get(&(Some(way), verdict)).is_some_and(|count| *count >= 30),
                "{way:?}: few are {verdict}"
            );
        }
    }
}

fn name(heard: Heard) -> &'static str {
    match heard {
        Heard::Allow => "allow",
        Heard::Challenge => "challenge",
        Heard::Deny => "deny",
        Heard::Refused(_) => "refused",
    }
}
