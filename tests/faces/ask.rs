//! One request of a visitor, as each kind of proxy would describe it.

use envoy_types::pb::envoy::config::core::v3::address::Address as Place;
use envoy_types::pb::envoy::config::core::v3::{Address, HeaderMap, HeaderValue, SocketAddress};
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Peer, Request};
use envoy_types::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient;
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest, CheckResponse};
use envoy_types::pb::google::protobuf::value::Kind;
use tollgate::gate::Verdict;

use crate::http::{Connection, Reply};
use crate::stage::Stage;

pub(crate) const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// A visitor's request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) host: &'static str,
    pub(crate) scheme: &'static str,
    pub(crate) client: &'static str,
    pub(crate) headers: Vec<(String, String)>,
    /// The policy that the proxy names, where its kind can.
    pub(crate) policy: Option<&'static str>,
}

impl Ask {
    /// A browser's GET over TLS, from an address that no rule knows.
    pub(crate) fn get(target: &str) -> Self {
        let headers = vec![("user-agent".into(), BROWSER.into())];
        let (host, client) = ("example.com", "198.51.100.7");
        Self { method: "GET", target: target.into(), host, scheme: "https", client, headers, policy: None }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    fn lines(&self) -> String {
        self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
    }

    /// As Envoy's HTTP service asks.
    pub(crate) fn check(&self) -> String {
        let Self { method, target, host, scheme, client, .. } = self;
        format!(
            "{method} /check{target} HTTP/1.1\r\nhost: {host}\r\nx-forwarded-proto: {scheme}\r\nx-forwarded-for: {client}\r\n{}\r\n",
            self.lines()
        )
    }

    /// As nginx asks.
    pub(crate) fn nginx(&self) -> String {
        let Self { method, target, host, scheme, client, .. } = self;
        format!(
            "GET /auth/nginx{} HTTP/1.1\r\nhost: tollgate\r\nx-original-method: {method}\r\nx-original-uri: {target}\r\nx-forwarded-host: {host}\r\nx-forwarded-proto: {scheme}\r\nx-forwarded-for: {client}\r\n{}\r\n",
            self.hint(),
            self.lines()
        )
    }

    /// As Traefik and Caddy ask.
    pub(crate) fn forward(&self) -> String {
        let Self { method, target, host, scheme, client, .. } = self;
        format!(
            "GET /auth/forward{} HTTP/1.1\r\nhost: tollgate\r\nx-forwarded-method: {method}\r\nx-forwarded-uri: {target}\r\nx-forwarded-host: {host}\r\nx-forwarded-proto: {scheme}\r\nx-forwarded-for: {client}\r\n{}\r\n",
            self.hint(),
            self.lines()
        )
    }

    fn hint(&self) -> String {
        self.policy.map_or_else(String::new, |name| format!("/{name}"))
    }

    /// As nginx asks for the page in place of a refused request.
    pub(crate) fn error_page(&self) -> String {
        self.forward().replacen(" /auth/forward ", " /.tollgate/page ", 1)
    }

    /// As a proxy passes a request to the public prefix.
    pub(crate) fn public(&self) -> String {
        self.check().replacen(" /check", " ", 1)
    }

    /// As Envoy asks over gRPC; `raw` is its `encode_raw_headers`.
    pub(crate) fn grpc(&self, raw: bool) -> CheckRequest {
        let mut http = HttpRequest {
            method: self.method.into(),
            path: self.target.clone(),
            host: self.host.into(),
            scheme: "http".into(),
            ..HttpRequest::default()
        };
        let facts = [
            (":method", self.method),
            (":path", &self.target),
            (":authority", self.host),
            ("x-forwarded-proto", self.scheme),
        ];
        let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let lines = facts.iter().chain(&self.headers);
        if raw {
            let headers = lines.map(|(key, value)| HeaderValue {
                key: key.clone(),
                raw_value: value.clone().into_bytes(),
                ..HeaderValue::default()
            });
            http.header_map = Some(HeaderMap { headers: headers.collect() });
        } else {
            for (name, value) in lines {
                let joined = http.headers.entry(name.clone()).or_default();
                if !joined.is_empty() {
                    joined.push(',');
                }
                joined.push_str(value);
            }
        }
        let socket = SocketAddress { address: self.client.into(), ..SocketAddress::default() };
        let address = Address { address: Some(Place::SocketAddress(socket)) };
        let attributes = AttributeContext {
            source: Some(Peer { address: Some(address), ..Peer::default() }),
            request: Some(Request { http: Some(http), ..Request::default() }),
            context_extensions: self
                .policy
                .map(|name| ("tollgate_policy".to_owned(), name.to_owned()))
                .into_iter()
                .collect(),
            ..AttributeContext::default()
        };
        CheckRequest { attributes: Some(attributes) }
    }
}

/// Asks Envoy's question.
pub(crate) async fn grpc(stage: &Stage, check: CheckRequest) -> CheckResponse {
    let mut client = AuthorizationClient::connect(format!("http://{}", stage.grpc)).await.unwrap();
    client.check(check).await.unwrap().into_inner()
}

/// The status and the name of what a gRPC answer means to Envoy.
pub(crate) fn outcome(response: &CheckResponse) -> (i32, &'static str, i32) {
    let code = response.status.as_ref().unwrap().code;
    match response.http_response.as_ref().expect("never an empty message") {
        HttpResponse::OkResponse(_) => (code, "ok", 200),
        HttpResponse::DeniedResponse(page) => (code, "denied", page.status.unwrap().code),
        HttpResponse::ErrorResponse(page) => (code, "error", page.status.unwrap().code),
    }
}

/// A word of the dynamic metadata.
pub(crate) fn word(response: &CheckResponse, name: &str) -> Option<String> {
    match response.dynamic_metadata.as_ref()?.fields.get(name)?.kind.as_ref()? {
        Kind::StringValue(word) => Some(word.clone()),
        _ => None,
    }
}

/// Asks every face and demands this verdict in each one's own words. The answers of check, nginx and forward come back.
pub(crate) async fn every_face(stage: &Stage, ask: &Ask, want: Verdict) -> [Reply; 3] {
    for raw in [false, true] {
        let response = grpc(stage, ask.grpc(raw)).await;
        assert_eq!(word(&response, "verdict").as_deref(), Some(want.as_str()), "grpc, raw {raw}: {ask:?}");
        let expected = match want {
            Verdict::Allow => (0, "ok", 200),
            Verdict::Challenge => (7, "denied", 401),
            Verdict::Deny => (7, "denied", 403),
            Verdict::Limit => (7, "denied", 429),
            Verdict::Undecided => (13, "error", 503),
        };
        assert_eq!(outcome(&response), expected, "grpc, raw {raw}: {ask:?}");
    }
    let mut connection = Connection::open(stage.http).await;
    let replies = [
        connection.ask(ask.check()).await,
        connection.ask(ask.nginx()).await,
        connection.ask(ask.forward()).await,
    ];
    let (visitors, nginxs) = match want {
        Verdict::Allow => (200, 200),
        Verdict::Challenge => (401, 401),
        Verdict::Deny => (403, 403),
        Verdict::Limit => (429, 403),
        Verdict::Undecided => (503, 500),
    };
    let statuses = replies.each_ref().map(|reply| reply.status);
    assert_eq!(statuses, [visitors, nginxs, visitors], "check, nginx, forward: {ask:?}");
    replies
}
