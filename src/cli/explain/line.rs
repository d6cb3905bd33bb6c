//! The lines of `explain --requests`: a JSON request in, a JSON verdict out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::behaviour::Figure;
use crate::clock::Timestamp;
use crate::gate::{Decision, Gate, Moment, Verdict};
use crate::policy::{Step, Trace};
use crate::request::{Parts, Request, Unfit, parse_address};
use crate::signal::Finding;

/// What holds where a request does not say.
pub(in crate::cli) const METHOD: &str = "GET";
pub(in crate::cli) const HOST: &str = "localhost";
pub(in crate::cli) const SCHEME: &str = "https";

/// A text that is borrowed from its line where it holds no escapes; serde does that only through a type of its own.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A request as a line describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked<'a> {
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    target: Text<'a>,
    #[serde(borrow)]
    host: Option<Text<'a>>,
    #[serde(borrow)]
    scheme: Option<Text<'a>>,
    #[serde(borrow)]
    client: Option<Text<'a>>,
    #[serde(borrow, default)]
    headers: Vec<(Text<'a>, Text<'a>)>,
    #[serde(borrow)]
    policy: Option<Text<'a>>,
    at: Option<f64>,
}

/// The last moment that a line may name, in seconds: in the year 5138.
const LAST: f64 = 1e11;

impl<'a> Asked<'a> {
    pub(super) fn new(method: &'a str, target: &'a str, host: &'a str, scheme: &'a str) -> Self {
        let text = |text: &'a str| Text(Cow::Borrowed(text));
        Self {
            method: Some(text(method)),
            target: text(target),
            host: Some(text(host)),
            scheme: Some(text(scheme)),
            client: None,
            headers: Vec::new(),
            policy: None,
            at: None,
        }
    }

    pub(super) fn set_client(&mut self, client: &'a str) {
        self.client = Some(Text(client.into()));
    }

    pub(super) fn set_policy(&mut self, name: &'a str) {
        self.policy = Some(Text(name.into()));
    }

    pub(super) fn add_header(&mut self, name: &'a str, value: &'a str) {
        self.headers.push((Text(name.into()), Text(value.into())));
    }

    /// The facts. As on a face, an address that is none is no evidence.
    pub(super) fn parts(&self) -> Parts<'_> {
        Parts {
            method: bytes(&self.method, METHOD),
            target: self.target.0.as_bytes(),
            host: bytes(&self.host, HOST),
            scheme: bytes(&self.scheme, SCHEME),
            client: self.client.as_ref().and_then(|c| parse_address(c.0.as_bytes())),
            headers: self.headers.iter().map(|(n, v)| (n.0.as_bytes(), v.0.as_bytes())).collect(),
        }
    }

    /// When it was asked, if the line says so. Such a request is taken in, and counts for those behind it.
    pub(super) fn at(&self) -> Result<Option<Timestamp>, String> {
        match self.at {
            None => Ok(None),
            Some(at) if (0.0..=LAST).contains(&at) => {
                Ok(Some(Timestamp::default().after(Duration::from_secs_f64(at))))
            }
            Some(at) => Err(format!("`at` is {at}, and must be seconds since 1970")),
        }
    }

    pub(super) fn policy(&self) -> Option<&str> {
        self.policy.as_ref().map(|p| &*p.0)
    }
}

fn bytes<'t>(text: &'t Option<Text<'_>>, fallback: &'static str) -> &'t [u8] {
    text.as_ref().map_or(fallback, |text| &*text.0).as_bytes()
}

/// A verdict as a line says it.
#[derive(Serialize)]
pub(in crate::cli) struct Judged<'j> {
    verdict: &'static str,
    rule: &'j str,
    policy: &'j str,
    weight: i64,
    challenge: Option<Asks>,
    shadow: Option<Shadowed<'j>>,
    signals: Vec<&'static str>,
    /// What is remembered of the sender, before this request.
    figures: Option<BTreeMap<&'static str, u32>>,
    trace: &'j [Step],
}

/// What is known of a request's sender.
#[derive(Default)]
pub(in crate::cli) struct Known {
    /// Every signal, raised or not.
    pub(super) findings: Vec<Finding>,
    pub(super) figures: Vec<(Figure, u32)>,
}

impl Known {
    /// Nothing is known of who sent a request that is not fit to be judged.
    pub(in crate::cli) fn of(gate: &Gate, request: &Result<Request<'_>, Unfit>, moment: &Moment) -> Self {
        request.as_ref().map_or_else(
            |_| Self::default(),
            |request| {
                let (findings, figures) = gate.findings(request, moment);
                Self { findings, figures }
            },
        )
    }
}

/// What a challenge asks for.
#[derive(Serialize)]
pub(super) struct Asks {
    pub(super) kind: &'static str,
    pub(super) attempts: u64,
    pub(super) level: u8,
}

#[derive(Serialize)]
struct Shadowed<'j> {
    verdict: &'static str,
    rule: &'j str,
}

impl<'j> Judged<'j> {
    /// Figures are told where every step is.
    pub(in crate::cli) fn new(decision: &Decision<'j>, known: &Known, trace: &'j Trace) -> Self {
        let figures = || known.figures.iter().map(|(figure, value)| (figure.name(), *value)).collect();
        let raised = known.findings.iter().filter(|finding| finding.raised);
        Self {
            signals: raised.map(|finding| finding.signal.name()).collect(),
            figures: (!trace.matches_only).then(figures),
            verdict: decision.verdict.as_str(),
            rule: decision.rule,
            policy: decision.policy,
            weight: decision.weight,
            challenge: asks(decision),
            shadow: decision.shadow.map(|s| Shadowed { verdict: s.verdict.as_str(), rule: s.rule }),
            trace: &trace.steps,
        }
    }
}

/// What the visitor would have to do, where that is the verdict.
pub(super) fn asks(decision: &Decision<'_>) -> Option<Asks> {
    let toll = decision.toll.filter(|_| decision.verdict == Verdict::Challenge)?;
    Some(Asks { kind: toll.kind.as_str(), attempts: toll.attempts(), level: toll.level })
}
