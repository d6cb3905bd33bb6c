//! Every detector: what raises it, and what comes close and does not.

use super::*;
use crate::request::{Headers, Parts};

fn asked<'a>(scheme: &'a str, headers: &[(&'a str, &'a str)]) -> Request<'a> {
    let headers: Headers<'a> = headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
    let (scheme, client) = (scheme.as_bytes(), None);
    Request::new(Parts { method: b"GET", target: b"/", host: b"example.org", scheme, client, headers })
        .unwrap()
}

/// Whether figures raise a signal.
fn raises(signal: Signal, values: &[(Figure, u32)]) -> bool {
    let mut figures = Figures::with_evidence(true);
    values.iter().for_each(|(figure, value)| figures.set(*figure, *value));
    detect(&asked("https", &[]), &figures).has(signal)
}

/// Whether headers raise a signal.
fn shows(signal: Signal, scheme: &str, headers: &[(&str, &str)]) -> bool {
    detect(&asked(scheme, headers), &Figures::default()).has(signal)
}

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";
const SAFARI: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15";
const BRANDS: (&str, &str) =
    ("sec-ch-ua", "\"Chromium\";v=\"153\", \"Google Chrome\";v=\"153\", \"Not_A Brand\";v=\"24\"");
const NAVIGATES: (&str, &str) = ("sec-fetch-mode", "navigate");

#[test]
fn every_signal_has_one_detector_and_silence_raises_none() {
    let mut signals: Vec<_> = explain(&asked("https", &[]), &Figures::default()).into_iter().collect();
    assert!(signals.iter().all(|finding| !finding.raised && !finding.why.is_empty()), "{signals:?}");
    signals.dedup_by_key(|finding| finding.signal);
    assert_eq!(signals.len(), Signal::COUNT);
    assert_eq!(detect(&asked("https", &[]), &Figures::default()), Signals::default());
}

#[test]
fn an_explanation_says_what_detection_says() {
    let mut figures = Figures::with_evidence(true);
    figures.set(Figure::ClientSteps, 33);
    let request = asked("https", &[("user-agent", CHROME)]);
    let raised: Signals = explain(&request, &figures)
        .iter()
        .filter(|finding| finding.raised)
        .map(|finding| finding.signal)
        .collect();
    assert_eq!(raised, detect(&request, &figures));
    let crawl =
        explain(&request, &figures).into_iter().find(|finding| finding.signal == Signal::Crawl).unwrap();
    assert!(crawl.why.contains("client.steps 33"), "{}", crawl.why);
}

#[test]
fn browser_liar() {
    let lies = |scheme, headers: &[(&str, &str)]| shows(Signal::BrowserLiar, scheme, headers);
    let windows = ("sec-ch-ua-platform", "\"Windows\"");
    assert!(!lies("https", &[("user-agent", CHROME), BRANDS, NAVIGATES, windows]));
    assert!(lies("https", &[("user-agent", CHROME), BRANDS, windows]), "no Sec-Fetch-Mode");
    assert!(!lies("http", &[("user-agent", CHROME)]), "over http nothing is missed");
    assert!(lies("https", &[("user-agent", CHROME), NAVIGATES, ("sec-ch-ua-platform", "\"Linux\"")]));
    let old = BRANDS.1.replace("153", "120");
    assert!(lies("https", &[("user-agent", CHROME), NAVIGATES, ("sec-ch-ua", &old)]));
    assert!(lies("https", &[("user-agent", FIREFOX), NAVIGATES, BRANDS]), "Firefox has no brands");
    assert!(!lies("https", &[("user-agent", FIREFOX), NAVIGATES]));
    assert!(!lies("https", &[("user-agent", SAFARI)]), "Safari may leave fetch metadata out");
    let app = format!("{CHROME} SomeApp/1.0");
    assert!(!lies("https", &[("user-agent", &app)]), "an app is no plain browser");
    let phone = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36";
    assert!(
        !lies("https", &[("user-agent", phone), NAVIGATES, ("sec-ch-ua-platform", "\"Android\"")]),
        "desktop site"
    );
}

#[test]
fn ancient_agent() {
    let ancient = |agent: &str| shows(Signal::AncientAgent, "https", &[("user-agent", agent)]);
    assert!(ancient("Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)"));
    assert!(ancient(&CHROME.replace("Chrome/153", "Chrome/49")));
    assert!(ancient(&FIREFOX.replace("Firefox/150", "Firefox/52")));
    assert!(
        !ancient(CHROME) && !ancient(FIREFOX) && !ancient(SAFARI) && !ancient("curl/7.1") && !ancient("")
    );
}

#[test]
fn no_language() {
    let mute = |headers: &[(&str, &str)]| shows(Signal::NoLanguage, "http", headers);
    assert!(mute(&[("user-agent", CHROME)]) && mute(&[("user-agent", CHROME), ("accept-language", "")]));
    assert!(
        !mute(&[("user-agent", CHROME), ("accept-language", "de")]) && !mute(&[("user-agent", "curl/8.0")])
    );
}

#[test]
fn wildcard_accept_navigation() {
    let document = ("sec-fetch-dest", "document");
    let wild = |headers: &[(&str, &str)]| shows(Signal::WildcardAcceptNavigation, "https", headers);
    assert!(wild(&[NAVIGATES, document, ("accept", "*/*")]));
    assert!(!wild(&[NAVIGATES, document, ("accept", "text/html,*/*;q=0.8")]) && !wild(&[("accept", "*/*")]));
}

#[test]
fn trap() {
    assert!(raises(Signal::Trap, &[(Figure::ClientTraps, 1)]) && !raises(Signal::Trap, &[]));
}

#[test]
fn burst() {
    let bursts = |pages, agents| {
        raises(Signal::Burst, &[(Figure::ClientDocumentsNow, pages), (Figure::ClientAgents, agents)])
    };
    assert!(bursts(21, 1) && !bursts(20, 1) && !bursts(80, 4) && bursts(81, 4) && bursts(21, 0));
}

#[test]
fn crawl() {
    let walks = |pages, paths, agents| {
        let values =
            [(Figure::ClientDocuments, pages), (Figure::ClientPaths, paths), (Figure::ClientAgents, agents)];
        raises(Signal::Crawl, &values)
    };
    assert!(walks(40, 39, 1) && walks(5_000, 1_597, 1));
    assert!(!walks(39, 39, 1), "too few pages");
    assert!(!walks(40, 30, 1), "a person comes back");
    assert!(!walks(79, 79, 2) && walks(80, 80, 2), "two behind one address");
    assert!(
        raises(Signal::Crawl, &[(Figure::ClientSteps, 20)])
            && !raises(Signal::Crawl, &[(Figure::ClientSteps, 19)])
    );
}

#[test]
fn agent_rotation() {
    let rotates = |agents, shapes| {
        raises(Signal::AgentRotation, &[(Figure::ClientAgents, agents), (Figure::ClientShapes, shapes)])
    };
    assert!(
        rotates(6, 1)
            && rotates(6, 2)
            && rotates(40, 3)
            && !rotates(5, 1)
            && !rotates(6, 3)
            && !rotates(40, 30)
    );
}

#[test]
fn fingerprint_spread() {
    let spreads = |pages, paths, networks, assets| {
        let values = [
            (Figure::FingerprintDocuments, pages),
            (Figure::FingerprintPaths, paths),
            (Figure::FingerprintNetworks, networks),
            (Figure::FingerprintAssets, assets),
        ];
        raises(Signal::FingerprintSpread, &values)
    };
    assert!(spreads(200, 198, 60, 0) && spreads(4_000, 1_597, 800, 0));
    assert!(!spreads(119, 119, 60, 0), "too few pages");
    assert!(!spreads(200, 198, 39, 0), "too few networks");
    assert!(!spreads(200, 100, 60, 0), "people read the same pages");
    assert!(!spreads(200, 198, 60, 100), "people load the parts of pages");
    assert!(!spreads(700, 690, 60, 0), "few networks that read much");
}

#[test]
fn what_is_refused_unanswered_or_unsolved() {
    use Figure as F;
    let persists = |refused, answered| {
        raises(Signal::Persists, &[(F::ClientRefused, refused), (F::ClientAnswered, answered)])
    };
    assert!(persists(20, 0) && !persists(19, 0) && !persists(200, 1));
    let unsolved = |taken, solved| {
        raises(Signal::Unsolved, &[(F::NetworkChallenged, taken), (F::NetworkAnswered, solved)])
    };
    assert!(
        unsolved(50, 0) && unsolved(50, 2) && !unsolved(49, 0) && !unsolved(50, 3) && !unsolved(1000, 50)
    );
    let ignores = |answered, cleared| {
        raises(Signal::CookieIgnored, &[(F::ClientAnswered, answered), (F::ClientCleared, cleared)])
    };
    assert!(ignores(3, 0) && !ignores(2, 0) && !ignores(9, 1));
}

#[test]
fn clearance_shared_probe_and_reputation() {
    use Figure as F;
    let one = |signal, figure, value| raises(signal, &[(figure, value)]);
    assert!(
        one(Signal::ClearanceShared, F::ClearanceNetworks, 5)
            && !one(Signal::ClearanceShared, F::ClearanceNetworks, 4)
    );
    assert!(one(Signal::Probe, F::ClientProbes, 1));
    assert!(one(Signal::Probe, F::ClientProducts, 3) && !one(Signal::Probe, F::ClientProducts, 2));
    assert!(
        one(Signal::Reputation, F::ClientDisrepute, 1) && !one(Signal::Reputation, F::ClientMisdeeds, 19)
    );
}

#[test]
fn documents_only() {
    let bare = |pages, parts, site_parts, site_pages| {
        let values = [
            (Figure::ClientPaths, pages),
            (Figure::ClientAssets, parts),
            (Figure::SiteAssets, site_parts),
            (Figure::SiteDocuments, site_pages),
        ];
        raises(Signal::DocumentsOnly, &values)
    };
    assert!(bare(15, 0, 1_000, 500));
    assert!(!bare(14, 0, 1_000, 500) && !bare(15, 1, 1_000, 500), "too few pages, or a part");
    assert!(!bare(15, 0, 40, 50) && !bare(15, 0, 60, 500), "parts do not come through the gate");
}

#[test]
fn regular_timing() {
    let regular = |gaps, mean, spread, lag| {
        let values = [
            (Figure::ClientGaps, gaps),
            (Figure::ClientGap, mean),
            (Figure::ClientGapSpread, spread),
            (Figure::ClientGapLag, lag),
        ];
        raises(Signal::RegularTiming, &values)
    };
    assert!(regular(20, 500, 5, 0) && regular(20, 2_000, 50, 95));
    assert!(!regular(19, 500, 5, 0), "too few");
    assert!(!regular(20, 500, 120, 10), "people");
    assert!(!regular(20, 50, 5, 0), "parts of a page");
}
