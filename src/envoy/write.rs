//! Writes Envoy's `CheckResponse`, in one place.
//!
//! To Envoy an empty message and rpc code 0 mean "allow", whatever else stands in the message. So the code is never chosen:
//! it follows from the one of three outcomes that is written, and there is no fourth. Allows, which are most, `allow.rs` writes.

use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderValue, HeaderValueOption};
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{CheckResponse, DeniedHttpResponse};
use envoy_types::pb::envoy::r#type::v3::HttpStatus;
use envoy_types::pb::google::protobuf::value::Kind;
use envoy_types::pb::google::protobuf::{Struct, Value};
use envoy_types::pb::google::rpc;
use prost::Message as _;
use tonic::Code;

use super::read::Question;
use super::{allow, call};
use crate::gate::{Answer, Decision, Response, Verdict};
use crate::request::{Request, cookies_without};

/// What changes about a request on its way to the app, apart from our own headers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Passing {
    /// Headers that must not arrive.
    pub(super) remove: Vec<String>,
    /// The `Cookie` header without ours, where it held ours and something else.
    pub(super) cookie: Option<String>,
}

impl Passing {
    /// Looks for what the app must not see: names that pose as ours, and our cookie.
    pub(super) fn of(question: &Question<'_>, request: Option<&Request<'_>>, cookie_names: &[&str]) -> Self {
        let mut passing = Self::default();
        passing.remove.extend(question.aliases().iter().map(|name| (*name).to_owned()));
        match request
            .and_then(|request| cookies_without(&request.headers, cookie_names))
            .map(String::from_utf8)
        {
            Some(Ok(rest)) if rest.is_empty() => passing.remove.push("cookie".to_owned()),
            Some(Ok(rest)) => passing.cookie = Some(rest),
            // Envoy takes header values from text fields alone: the app's other cookies would arrive mangled.
            Some(Err(_)) | None => {}
        }
        passing
    }
}

/// Writes an answer, framed.
pub(super) fn encode(answer: Answer<'_>, passing: impl FnOnce() -> Passing) -> Vec<u8> {
    match answer {
        Answer::Allow(decision) => allow::encode(&decision, &passing()).unwrap_or_else(failure),
        Answer::Public(response) => {
            respond(Refusal::Denied(deny(&response)), fields([("verdict", text("public"))]))
        }
        Answer::Refuse(decision, response) => respond(Refusal::Denied(deny(&response)), metadata(&decision)),
        Answer::Undecided(decision, response) => {
            respond(Refusal::Unavailable(unavailable(&response)), metadata(&decision))
        }
    }
}

/// What Envoy hears when not even the gate could be asked: undecided.
pub(super) fn failure() -> Vec<u8> {
    let verdict = text(Verdict::Undecided.as_str());
    respond(Refusal::Unavailable(unavailable(&Response::empty(503))), fields([("verdict", verdict)]))
}

/// What is not let through.
enum Refusal {
    Denied(DeniedHttpResponse),
    /// Not even decided.
    Unavailable(DeniedHttpResponse),
}

/// The only place that makes such a message. `ErrorResponse` lets Envoy's own failure mode judge, as a failed call would.
fn respond(http: Refusal, metadata: Struct) -> Vec<u8> {
    let (code, http) = match http {
        Refusal::Denied(response) => (Code::PermissionDenied, HttpResponse::DeniedResponse(response)),
        Refusal::Unavailable(response) => (Code::Internal, HttpResponse::ErrorResponse(response)),
    };
    let message = CheckResponse {
        status: Some(rpc::Status { code: code.into(), ..rpc::Status::default() }),
        dynamic_metadata: Some(metadata),
        http_response: Some(http),
    };
    call::framed(message.encoded_len(), |out| message.encode_raw(out))
}

fn deny(response: &Response) -> DeniedHttpResponse {
    let lines = response.headers();
    let headers = lines.iter().enumerate().map(|(at, (name, value))| {
        let again = lines[..at].iter().any(|(earlier, _)| earlier == name);
        let action = if again {
            HeaderAppendAction::AppendIfExistsOrAdd
        } else {
            HeaderAppendAction::OverwriteIfExistsOrAdd
        };
        header(name, value.clone().into_owned(), action)
    });
    DeniedHttpResponse {
        status: Some(HttpStatus { code: response.status().into() }),
        headers: headers.collect(),
        // Bytes that are no UTF-8 would make Envoy refuse the whole message. Mending goes letter by letter, so what is whole is not.
        body: String::from_utf8(response.body().to_vec())
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

fn unavailable(response: &Response) -> DeniedHttpResponse {
    DeniedHttpResponse { status: Some(HttpStatus { code: 503 }), ..deny(response) }
}

fn header(name: &str, value: String, action: HeaderAppendAction) -> HeaderValueOption {
    HeaderValueOption {
        header: Some(HeaderValue { key: name.to_owned(), value, ..HeaderValue::default() }),
        append_action: action.into(),
        ..HeaderValueOption::default()
    }
}

/// What Envoy's access log can show, on an allow and on a refusal alike.
fn metadata(decision: &Decision<'_>) -> Struct {
    let shadow = decision.shadow.map_or(Kind::NullValue(0), |shadow| {
        Kind::StructValue(fields([("verdict", text(shadow.verdict.as_str())), ("rule", text(shadow.rule))]))
    });
    fields([
        ("verdict", text(decision.verdict.as_str())),
        ("rule", text(decision.rule)),
        ("weight", Kind::NumberValue(decision.weight as f64)),
        ("id", Kind::StringValue(decision.id.to_string())),
        ("shadow", shadow),
    ])
}

fn text(value: &str) -> Kind {
    Kind::StringValue(value.to_owned())
}

fn fields<const N: usize>(fields: [(&str, Kind); N]) -> Struct {
    let fields = fields.map(|(name, kind)| (name.to_owned(), Value { kind: Some(kind) }));
    Struct { fields: fields.into_iter().collect() }
}

#[cfg(test)]
mod tests;
