//! Visits of every kind, drawn from a seed: methods, odd paths, hosts, cookies, addresses, agents, forged and repeated headers.

use std::net::Ipv4Addr;
use std::time::Duration;

use tollgate::clearance::{self, Lives};
use tollgate::clock::Clock;
use tollgate::crypto::{Claims, Kind, Ring, Secret, Visitor};

use crate::client::{Ask, BROWSER};

/// Alike in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits fit") % sides
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

/// A visit.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) from: Ipv4Addr,
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) host: &'static str,
    /// Headers that say something about the visitor, in the order they are sent.
    pub(crate) headers: Vec<(String, String)>,
    /// Headers that pretend to be a proxy's.
    pub(crate) forged: Vec<(&'static str, &'static str)>,
}

const METHODS: [&str; 26] = [
    "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "HEAD",
    "HEAD", "POST", "POST", "PUT", "PATCH", "DELETE", "DELETE", "DELETE", "OPTIONS", "TRACE", "get",
];
const HOSTS: [&str; 21] = [
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "shop.example",
    "SHOP.example",
    "shop.example:8080",
    "shop.example.",
    "forbidden.example",
    "FORBIDDEN.example:80",
    "a,b",
    "user@shop.example",
];
const AGENTS: [&str; 15] = [
    BROWSER,
    BROWSER,
    BROWSER,
    BROWSER,
    BROWSER,
    BROWSER,
    BROWSER,
    BROWSER,
    BROWSER,
    BROWSER,
    "BadBot/1.0",
    "GoodBot/2.1",
    "GoodBot/2.1",
    "GoodBot/2.1",
    "curl/8.5.0",
];
const ADDRESSES: [Ipv4Addr; 10] = [
    Ipv4Addr::new(127, 88, 8, 1),
    Ipv4Addr::new(127, 88, 8, 2),
    Ipv4Addr::new(127, 88, 8, 3),
    Ipv4Addr::new(127, 88, 8, 4),
    Ipv4Addr::new(127, 88, 8, 5),
    Ipv4Addr::new(127, 77, 7, 5),
    Ipv4Addr::new(127, 77, 7, 6),
    Ipv4Addr::new(127, 66, 6, 9),
    Ipv4Addr::new(127, 77, 7, 7),
    Ipv4Addr::new(127, 77, 8, 7),
];
const SEGMENTS: [&str; 19] = [
    "open",
    "open",
    "open",
    "open",
    "api",
    "page",
    "page",
    "page",
    "robots.txt",
    "a",
    "b.html",
    "admin",
    ".",
    "..",
    "%61dmin",
    "%2e%2e",
    "op%65n",
    "ADMIN",
    "x;y",
];
const SLASHES: [&str; 21] = [
    "/", "/", "/", "/", "/", "/", "/", "/", "/", "/", "/", "/", "/", "/", "//", "/./", "\\", "%2f", "%5C",
    ";z/", "/.;/",
];
const QUERIES: [&str; 13] =
    ["", "", "", "", "", "", "?x=1", "?x=1", "?/admin", "?drop=1", "?a=b&drop", "?x=%2e%2e/open", "?#"];
const FORGED: [(&str, &str); 16] = [
    ("x-forwarded-uri", "/open/x"),
    ("x-original-uri", "/open/x"),
    ("x-original-url", "http://shop.example/open/x"),
    ("x-rewrite-url", "/open/x"),
    ("x-forwarded-method", "GET"),
    ("x-forwarded-host", "shop.example"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-for", "127.77.7.7"),
    ("x-real-ip", "127.77.7.7"),
    ("x-envoy-external-address", "127.77.7.7"),
    ("x-envoy-original-path", "/open/x"),
    ("forwarded", "for=127.77.7.7;host=shop.example"),
    ("x-tollgate-verdict", "allow"),
    ("x_forwarded_uri", "/open/x"),
    ("x.forwarded.for", "127.77.7.7"),
    ("x-tollgate-ja4", "t13d1516h2_8daaf6152771_b0da82dd1658"),
];

impl Visit {
    /// The next one. `number` tells clearances apart, so that none is worn out.
    pub(crate) fn draw(dice: &mut Dice, number: u8) -> Self {
        let mut path = String::new();
        for _ in 0..=dice.roll(3) {
            let slash = if path.is_empty() { "/" } else { dice.one(&SLASHES) };
            path.push_str(slash);
            path.push_str(dice.one(&SEGMENTS));
        }
        let odd = [
            "/%",
            "/%zz",
            "/admin%00",
            "/100%25",
            "//",
            "/",
            "*",
            "/open/%2561",
            "/%c0%ae%c0%ae/admin",
            "/open/#/../admin",
        ];
        if dice.roll(12) == 0 {
            path = dice.one(&odd).to_owned();
        }
        let target = path + dice.one(&QUERIES);
        let (method, host, agent) = (dice.one(&METHODS), dice.one(&HOSTS), dice.one(&AGENTS));
        let from = ADDRESSES[dice.roll(ADDRESSES.len())];
        // What a script of a page sends, so that a challenge is told from a denial by its header.
        let mut headers = vec![
            ("user-agent".to_owned(), agent.to_owned()),
            ("accept".to_owned(), "application/json".to_owned()),
            ("sec-fetch-mode".to_owned(), "cors".to_owned()),
            ("sec-fetch-dest".to_owned(), "empty".to_owned()),
        ];
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        match dice.roll(20) {
            0 => add("accept-language", "xx".into()),
            1 => add("accept-language", "de,xx".into()),
            2 => ["de", "xx"].map(|language| add("accept-language", language.into())).into_iter().collect(),
            _ => {}
        }
        if dice.roll(12) == 0 {
            add("user-agent", dice.one(&AGENTS).to_owned());
        }
        let held = cookie(host, agent, number);
        match dice.roll(10) {
            0..=2 => add("cookie", format!("tollgate={held}")),
            3 => add("cookie", format!("a=1; tollgate={held}; b=2")),
            4 => ["a=1".to_owned(), format!("tollgate={held}")]
                .map(|line| add("cookie", line))
                .into_iter()
                .collect(),
            5 => add("cookie", format!("tollgate={}", cookie(host, "somebody else", number))),
            6 => add("cookie", format!("tollgate={}A", &held[..69])),
            7 => add("cookie", format!("__Host-tollgate={held}; Tollgate={held};  tollgate={held}")),
            _ => {}
        }
        let forged = (0..dice.roll(4)).map(|_| FORGED[dice.roll(FORGED.len())]).collect();
        Self { from, method, target, host, headers, forged }
    }

    /// As it goes to a proxy.
    pub(crate) fn ask(&self) -> Ask {
        let ask = Ask::bare(self.method, &self.target).add("host", self.host).add("content-length", "0");
        let forged = self.forged.iter().map(|(n, v)| (*n, *v));
        let own = self.headers.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        forged.chain(own).fold(ask, |ask, (name, value)| ask.add(name, value))
    }

    /// The path as it was sent.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The headers with all lines of some names in one.
    pub(crate) fn joined(&self, joins: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let mut joined: Vec<(String, String)> = Vec::new();
        for (name, value) in &self.headers {
            match joined.iter_mut().find(|(known, _)| known == name && joins(name)) {
                Some((_, known)) => known.extend([",", value]),
                None => joined.push((name.clone(), value.clone())),
            }
        }
        joined
    }
}

/// A clearance that the gates of these tests would have sold.
fn cookie(host: &str, agent: &str, number: u8) -> String {
    let ring = Ring::single(Secret::new([7; 32]));
    let host = host.split(':').next().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    let visitor = Visitor { host: &host, agent: agent.as_bytes(), net: b"", ja4: b"" };
    let issued = Clock::System.now().seconds().saturating_sub(60);
    let claims = Claims {
        key_id: 0,
        kind: Kind::Work,
        level: 14,
        issued: u32::try_from(issued).expect("it is not 2106 yet"),
        id: [number; 16],
        binding: visitor.binding(ring.signing()),
    };
    let lives = Lives { work: Duration::from_secs(3600), ..Lives::default() };
    clearance::seal(&ring, &claims, &lives).expect("its key signs").text
}
