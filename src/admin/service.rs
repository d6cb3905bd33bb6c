//! The admin API over gRPC.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;
use tonic::{Request, Response, Status};

use super::Admin;
use super::proto::admin_server;
use super::proto::{
    Challenge, ExplainRequest, ExplainResponse, Finding, ReloadRequest, ReloadResponse, Shadow, StatsRequest,
    StatsResponse, Step,
};
use crate::crypto::Seed;
use crate::gate::{Decision, Moment, Verdict};
use crate::policy::Trace;
use crate::request::{self, Parts, parse_address};

/// Answers the API's calls.
pub(super) struct Service(pub(super) Admin);

#[tonic::async_trait]
impl admin_server::Admin for Service {
    async fn explain(&self, request: Request<ExplainRequest>) -> Result<Response<ExplainResponse>, Status> {
        let asked = request.into_inner();
        let client = match asked.client.as_str() {
            "" => None,
            text => Some(
                parse_address(text.as_bytes())
                    .ok_or_else(|| Status::invalid_argument("client is no address"))?,
            ),
        };
        let parts = Parts {
            method: asked.method.as_bytes(),
            target: asked.target.as_bytes(),
            host: asked.host.as_bytes(),
            scheme: asked.scheme.as_bytes(),
            client,
            headers: asked.headers.iter().map(|h| (h.name.as_bytes(), h.value.as_slice())).collect(),
        };
        let seed = Seed::draw().map_err(|_| Status::unavailable("the system has no randomness"))?;
        let mut moment =
            Moment { now: self.0.clock.now(), seed, known: Vec::new(), origin: None, learn: true };
        let policy = Some(asked.policy.as_str()).filter(|name| !name.is_empty());
        let gate = self.0.live.load_full();
        let request = request::Request::new(parts);
        gate.look_up(policy, &request, &mut moment).await;
        let mut trace = Trace::default();
        let decision = gate.explain(policy, &request, &moment, &mut trace);
        let (findings, figures) =
            request.as_ref().map_or_else(|_| Default::default(), |request| gate.findings(request, &moment));
        let signals = findings.into_iter().map(|finding| Finding {
            signal: finding.signal.name().to_owned(),
            raised: finding.raised,
            why: finding.why,
        });
        let figures = figures.into_iter().map(|(figure, value)| (figure.name().to_owned(), value));
        Ok(Response::new(ExplainResponse {
            signals: signals.collect(),
            figures: figures.collect(),
            ..explained(&decision, trace)
        }))
    }

    async fn stats(&self, _: Request<StatsRequest>) -> Result<Response<StatsResponse>, Status> {
        self.0.state.clock_trouble(&self.0.clock);
        Ok(Response::new(StatsResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ready: self.0.ready.load(Ordering::Acquire),
            attack_level: self.0.state.attack(self.0.clock.now()).into(),
            metrics: self.0.state.text(self.0.clock.now()),
        }))
    }

    async fn reload(&self, _: Request<ReloadRequest>) -> Result<Response<ReloadResponse>, Status> {
        let (answer, outcome) = oneshot::channel();
        let ending = |_| Status::unavailable("the process is ending");
        self.0.reload.send(answer).await.map_err(|_| ending(()))?;
        match outcome.await.map_err(|_| ending(()))? {
            Ok(()) => Ok(Response::new(ReloadResponse {})),
            Err(problems) => Err(Status::failed_precondition(problems)),
        }
    }
}

fn explained(decision: &Decision<'_>, trace: Trace) -> ExplainResponse {
    ExplainResponse {
        verdict: decision.verdict.as_str().to_owned(),
        rule: decision.rule.to_owned(),
        policy: decision.policy.to_owned(),
        weight: decision.weight,
        challenge: decision.toll.filter(|_| decision.verdict == Verdict::Challenge).map(|toll| Challenge {
            kind: toll.kind.as_str().to_owned(),
            attempts: toll.attempts(),
            level: u32::from(toll.level),
        }),
        shadow: decision
            .shadow
            .map(|s| Shadow { verdict: s.verdict.as_str().to_owned(), rule: s.rule.to_owned() }),
        trace: trace
            .steps
            .into_iter()
            .map(|s| Step {
                rule: s.rule.to_string(),
                action: s.action.to_string(),
                matched: s.matched,
                why: s.why.to_string(),
            })
            .collect(),
        signals: Vec::new(),
        figures: HashMap::new(),
    }
}
