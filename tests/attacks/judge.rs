//! Says whether what came of a row satisfies it, and whether it is an answer that its face may give at all.

use tollgate::gate::Verdict;
use tonic::Code;

use crate::ask::{Outcome, forge};
use crate::row::{Expect, Face, Or, Row};

/// Statuses with which the HTTP layer refuses before anybody decides.
const LAYER: [u16; 4] = [400, 413, 414, 431];

/// Why the outcome does not satisfy the row.
pub(crate) fn judge(row: &Row, outcome: &Outcome) -> Result<(), String> {
    sound(row, outcome)?;
    let status = outcome.status;
    let refused_below = outcome.verdict.is_none() && status.is_none_or(|status| LAYER.contains(&status));
    let satisfied = match row.expect {
        Expect::Allow => outcome.verdict == Some(Verdict::Allow) && outcome.allowed,
        Expect::Challenge => outcome.verdict == Some(Verdict::Challenge) && offers_a_challenge(row, outcome),
        Expect::Deny => outcome.verdict == Some(Verdict::Deny) || refused_below,
        Expect::Limit => outcome.verdict == Some(Verdict::Limit),
        Expect::NotAllow => !outcome.allowed && status.is_none_or(|status| status >= 300),
        Expect::Refuse => {
            refuses(outcome) || (row.or_else == Some(Or::Same) && is_the_plain_one(row, outcome))
        }
    };
    if satisfied { Ok(()) } else { Err(format!("expected {:?}", row.expect)) }
}

/// What no answer may be, whatever the row expects.
fn sound(row: &Row, outcome: &Outcome) -> Result<(), String> {
    let broken = |what: &str| Err(format!("{what}, which no answer may be"));
    let status = outcome.status.unwrap_or(0);
    if row.face != Face::Public {
        if (300..400).contains(&status) {
            return broken("a redirect");
        }
        if outcome.verdict.is_some_and(|verdict| status != expressed(row.face, verdict)) {
            return broken("a status that is not its verdict's");
        }
        let allows = outcome.verdict == Some(Verdict::Allow);
        if outcome.allowed != allows && (outcome.allowed || allows) && status != 203 && status != 204 {
            return broken("an allow that was not decided");
        }
    }
    let code = match outcome.verdict {
        Some(Verdict::Allow) => Code::Ok,
        Some(Verdict::Undecided) => Code::Internal,
        _ => Code::PermissionDenied,
    };
    if outcome.code.is_some() && outcome.verdict.is_some() && outcome.code != Some(code.into()) {
        return broken("a code that is not its verdict's");
    }
    if outcome.header("set-cookie").is_some() && !matches!(status, 204 | 303) {
        return broken("a cookie beside a refusal");
    }
    let decided = outcome.verdict.is_some() || row.face == Face::Public;
    if decided && status >= 400 && outcome.header("cache-control").is_none_or(|v| !v.contains("no-store")) {
        return broken("a refusal that may be cached");
    }
    if ["etag", "last-modified", "access-control-allow-origin"]
        .iter()
        .any(|name| outcome.header(name).is_some())
    {
        return broken("a refusal that can be kept or read across origins");
    }
    if row.face == Face::Nginx && decided_bytes(outcome) > 4096 {
        return broken("headers that do not fit nginx's buffer, or a body");
    }
    if outcome.body.contains("\"><script>")
        || outcome.headers.iter().any(|(_, value)| value.contains("<script"))
    {
        return broken("markup of a visitor's");
    }
    Ok(())
}

/// The bytes of an answer to nginx, which must hold no body.
fn decided_bytes(outcome: &Outcome) -> usize {
    let lines: usize = outcome.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    if outcome.verdict.is_some() && !outcome.body.is_empty() { usize::MAX } else { lines }
}

/// The status of a verdict on a face.
const fn expressed(face: Face, verdict: Verdict) -> u16 {
    match (verdict, face) {
        (Verdict::Allow, _) => 200,
        (Verdict::Challenge, Face::Nginx) => 401,
        (Verdict::Limit, Face::Nginx) | (Verdict::Challenge | Verdict::Deny, _) => 403,
        (Verdict::Limit, _) => 429,
        (Verdict::Undecided, Face::Nginx) => 500,
        (Verdict::Undecided, _) => 503,
    }
}

/// Whether a challenge comes with the answer, where the face can carry one.
fn offers_a_challenge(row: &Row, outcome: &Outcome) -> bool {
    row.face == Face::Nginx
        || outcome.header("tollgate-challenge").is_some()
        || outcome.body.contains("id=\"job\"")
        || (row.request.method.as_deref() == Some("HEAD") && outcome.body.is_empty())
}

fn refuses(outcome: &Outcome) -> bool {
    let is_4xx = outcome.status.is_some_and(|status| (400..500).contains(&status));
    is_4xx
        && !outcome.allowed
        && outcome.header("set-cookie").is_none()
        && outcome.header("location").is_none()
}

/// Whether the answer was accepted, and bought what its plain spelling buys.
fn is_the_plain_one(row: &Row, outcome: &Outcome) -> bool {
    let forge = forge(row);
    let cookie = outcome.header("set-cookie").and_then(|cookie| cookie.split_once('=')?.1.split(';').next());
    outcome.status == Some(204) && cookie == Some(&forge.bought_by(&forge.plain_answer()))
}
