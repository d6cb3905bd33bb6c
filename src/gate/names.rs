//! What the policy wants to have looked up about a request: asked before the decision, which itself waits for nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::decide::ROUNDS;
use super::named::Named;
use super::{Gate, Moment};
use crate::lookup::{Question, Reply};
use crate::policy::{Answer, Facts, Judged, Lookup, Recall};
use crate::request::{Request, Unfit};

/// How long all lookups of one request may take together; what is not there by then has failed.
const DEADLINE: Duration = Duration::from_millis(50);

impl Gate {
    /// Whether the decision about any request can hang on a lookup. Where it cannot, [`Gate::look_up`] need not be called.
    pub fn looks_up(&self) -> bool {
        self.all.iter().any(|named| named.resolver.is_some())
    }

    /// Looks up what the decision about a request hangs on, and adds it to the moment. `policy` is what the decision will be
    /// given. Takes 50 ms at most. Must run on a tokio runtime with a clock.
    pub async fn look_up(
        &self,
        policy: Option<&str>,
        request: &Result<Request<'_>, Unfit>,
        moment: &mut Moment,
    ) {
        let by = self.named(policy, request);
        let (Some(resolver), Ok(request)) = (&by.resolver, request) else { return };
        let rounds = async {
            for _ in 0..ROUNDS {
                let lookups = self.needs(by, request, moment);
                if lookups.is_empty() {
                    return;
                }
                let asked: Vec<_> =
                    lookups.into_iter().map(|lookup| (resolver.ask(question(&lookup)), lookup)).collect();
                for (reply, lookup) in asked {
                    let reply = answer(reply.await);
                    moment.known.push((lookup, reply));
                }
            }
        };
        // Whether all were answered in time shows in what is known.
        tokio::time::timeout(DEADLINE, rounds).await.unwrap_or_default();
    }

    /// What must be known next. A panic is left to the decision, which meets it again and is contained.
    fn needs(&self, by: &Named, request: &Request<'_>, moment: &Moment) -> Vec<Lookup> {
        let judged = || {
            let facts = self.facts(by, request, moment);
            let sight = self.state.memory.sight(request, facts.asn);
            let recall = || self.behaviour(request, &sight, moment.now);
            by.policy.evaluate(request, &Facts { recall: Recall::new(&recall), ..facts }, &mut ())
        };
        match catch_unwind(AssertUnwindSafe(judged)) {
            Ok(Judged::Need(lookups)) => lookups,
            _ => Vec::new(),
        }
    }
}

fn question(lookup: &Lookup) -> Question {
    match lookup {
        Lookup::Forward(name) => Question::Addresses(name.clone()),
        Lookup::Listed(address) => Question::Listed(*address),
        Lookup::Reverse(address) => Question::Names(*address),
    }
}

fn answer(reply: Reply) -> Answer {
    match reply {
        Reply::Addresses(addresses) => Answer::Addresses(addresses),
        Reply::Failed => Answer::Failed,
        Reply::Listed(listed) => Answer::Listed(listed),
        Reply::Names(names) => Answer::Names(names),
    }
}
