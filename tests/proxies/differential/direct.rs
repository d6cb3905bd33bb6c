//! Asks the faces themselves, as an honest proxy would, and takes only one answer from all four.

use envoy_types::pb::envoy::config::core::v3::address::Address as Place;
use envoy_types::pb::envoy::config::core::v3::{Address, HeaderMap, HeaderValue, SocketAddress};
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Peer, Request};
use envoy_types::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient;
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest};
use tokio::runtime::{Builder, Runtime};
use tonic::transport::Channel;

use super::Heard;
use super::visit::Visit;
use crate::client::{Ask, Reply};
use crate::site::Site;

/// The faces of one gate.
pub(crate) struct Direct {
    http: std::net::SocketAddr,
    runtime: Runtime,
    grpc: AuthorizationClient<Channel>,
}

impl Direct {
    pub(crate) fn new(site: &Site) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be had");
        let url = format!("http://{}", site.grpc());
        let grpc = runtime.block_on(AuthorizationClient::connect(url)).expect("it listens");
        Self { http: site.behind_the_door(), runtime, grpc }
    }

    /// The verdict of all four.
    pub(crate) fn verdict(&mut self, visit: &Visit) -> Heard {
        let want = self.over_grpc(visit);
        let others = [
            ("nginx", self.over_nginx(visit)),
            ("forward", self.over_forward(visit)),
            ("check", self.over_check(visit)),
        ];
        for (face, heard) in others {
            // Over HTTP the question itself holds the target on this face, and an HTTP server takes no fragment for a part of it.
            let below = face == "check" && matches!(heard, Heard::Refused(_)) && want == Heard::Deny;
            let cut = face == "check" && visit.target.contains('#');
            assert!(heard == want || below || cut, "{face} says {heard:?}, grpc {want:?}: {visit:?}");
        }
        want
    }

    fn over_grpc(&mut self, visit: &Visit) -> Heard {
        let header = |(name, value): &(String, String)| HeaderValue {
            key: name.clone(),
            value: String::new(),
            raw_value: value.clone().into_bytes(),
        };
        let http = HttpRequest {
            method: visit.method.into(),
            path: visit.target.clone(),
            host: visit.host.into(),
            scheme: "http".into(),
            header_map: Some(HeaderMap { headers: visit.headers.iter().map(header).collect() }),
            ..HttpRequest::default()
        };
        let socket = SocketAddress { address: visit.from.to_string(), ..SocketAddress::default() };
        let source = Peer {
            address: Some(Address { address: Some(Place::SocketAddress(socket)) }),
            ..Peer::default()
        };
        let request = Request { http: Some(http), ..Request::default() };
        let attributes =
            AttributeContext { source: Some(source), request: Some(request), ..AttributeContext::default() };
        let question = CheckRequest { attributes: Some(attributes) };
        let answer = self.runtime.block_on(self.grpc.check(question)).expect("it answers").into_inner();
        match answer.http_response {
            Some(HttpResponse::OkResponse(_)) => Heard::Allow,
            Some(HttpResponse::DeniedResponse(denied)) => {
                let challenged = denied
                    .headers
                    .iter()
                    .filter_map(|h| h.header.as_ref())
                    .any(|h| h.key == "tollgate-challenge");
                if challenged { Heard::Challenge } else { Heard::Deny }
            }
            other => panic!("{other:?} for {visit:?}"),
        }
    }

    fn over_nginx(&self, visit: &Visit) -> Heard {
        let ask = Ask::bare("GET", "/auth/nginx").add("host", "gate").add("x-original-uri", &visit.target);
        match self.described(ask, "x-original-method", visit).status {
            200 => Heard::Allow,
            401 => Heard::Challenge,
            403 => Heard::Deny,
            status => Heard::Refused(status),
        }
    }

    fn over_forward(&self, visit: &Visit) -> Heard {
        let ask = Ask::bare("GET", "/auth/forward").add("host", "gate").add("x-forwarded-uri", &visit.target);
        heard(&self.described(ask, "x-forwarded-method", visit))
    }

    fn described(&self, ask: Ask, method: &str, visit: &Visit) -> Reply {
        let ask = ask
            .add(method, visit.method)
            .add("x-forwarded-host", visit.host)
            .add("x-forwarded-proto", "http");
        self.with_headers(ask, visit)
    }

    fn over_check(&self, visit: &Visit) -> Heard {
        let ask = Ask::bare(visit.method, format!("/check{}", visit.target)).add("host", visit.host);
        heard(&self.with_headers(ask, visit))
    }

    fn with_headers(&self, ask: Ask, visit: &Visit) -> Reply {
        let ask = ask.add("x-forwarded-for", visit.from.to_string());
        visit.headers.iter().fold(ask, |ask, (name, value)| ask.add(name, value.as_str())).send(self.http)
    }
}

fn heard(reply: &Reply) -> Heard {
    match reply.status {
        200 => Heard::Allow,
        403 if reply.header("tollgate-challenge").is_some() => Heard::Challenge,
        403 => Heard::Deny,
        status => Heard::Refused(status),
    }
}
