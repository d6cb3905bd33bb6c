//! The one place where a verdict becomes an answer.

use tracing::warn;

use super::named::Named;
use super::{Decision, DecisionId, Face, Gate, Moment, Response, Verdict};
use crate::request::{Request, Unfit};

/// A finished answer to a face. There is no way to say "nothing", which Envoy would take for an allow.
#[derive(Debug)]
pub enum Answer<'g> {
    /// Let the request through to the app.
    Allow(Decision<'g>),
    /// The visitor asked for something of ours, and here it is.
    Public(Response),
    /// Challenge, deny or limit, with what the visitor gets.
    Refuse(Decision<'g>, Response),
    /// Cannot decide, with what the visitor gets.
    Undecided(Decision<'g>, Response),
}

impl Gate {
    /// Decides, and builds what the visitor gets. The public prefix is answered in line where the face can carry it.
    pub fn answer(
        &self,
        face: Face,
        policy: Option<&str>,
        request: &Result<Request<'_>, Unfit>,
        moment: &Moment,
    ) -> Answer<'_> {
        if let Ok(asked) = request
            && self.is_public(asked)
        {
            match face {
                Face::Check | Face::Grpc => {
                    return Answer::Public(self.public_endpoint(asked, None, moment));
                }
                Face::Forward => return self.route_missing(self.named(policy, request), moment),
                Face::Nginx => {}
            }
        }
        let decision = self.decide(face, policy, request, moment);
        match decision.verdict {
            Verdict::Allow => Answer::Allow(decision),
            Verdict::Undecided => Answer::Undecided(decision, self.undecided(&decision)),
            Verdict::Challenge | Verdict::Deny | Verdict::Limit => {
                Answer::Refuse(decision, self.refusal(face, request, &decision, moment))
            }
        }
    }

    /// Forward can carry no success in line, since any 2xx would ask the app: its proxies need a route.
    fn route_missing<'g>(&'g self, by: &'g Named, moment: &Moment) -> Answer<'g> {
        if self.state.metrics.prefix_without_route.inc() == 0 {
            warn!(
                prefix = self.prefix(),
                "a proxy asked the forward face about the public prefix: give that prefix a route of its own to the http listener"
            );
        }
        let decision =
            Decision::bare(&by.name, Verdict::Deny, "prefix/no-route", DecisionId::new(moment.seed.decision));
        self.state.count(Face::Forward, &decision);
        let text =
            format!("The proxy has no route for {}: send it to Tollgate's http listener.\n", self.prefix());
        Answer::Refuse(decision, self.plain(403, text))
    }
}
