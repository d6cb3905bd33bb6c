//! Writes an allow, which is what most questions are answered with, without a message to be built first.

use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;

use super::call;
use super::write::Passing;
use crate::gate::{Decision, Verdict};

/// About as long as an allow is, in bytes.
const USUAL: usize = 512;

/// The `CheckResponse` of an allow, framed. To Envoy any other verdict's code would have to differ, so only an allow can be written.
pub(super) fn encode(decision: &Decision<'_>, passing: &Passing) -> Option<Vec<u8>> {
    if decision.verdict != Verdict::Allow {
        return None;
    }
    Some(call::framed(USUAL, |out| message(out, decision, passing)))
}

fn message(out: &mut Vec<u8>, decision: &Decision<'_>, passing: &Passing) {
    nested(out, 1, |_| {}); // google.rpc.Status, code 0
    nested(out, 3, |out| {
        let mut ours = Vec::with_capacity(4);
        decision.each_header(|name, value| {
            header(out, name, value);
            ours.push(name);
        });
        if let Some(rest) = &passing.cookie {
            header(out, "cookie", rest);
        }
        // Envoy removes after it has set, and names compare without case: what is overwritten must not be removed.
        for name in &passing.remove {
            if ours.iter().all(|own| !name.eq_ignore_ascii_case(own)) {
                text(out, 5, name);
            }
        }
    });
    nested(out, 4, |out| metadata(out, decision));
}

/// A `HeaderValueOption` that replaces whatever the visitor sent.
fn header(out: &mut Vec<u8>, name: &str, value: &str) {
    nested(out, 2, |out| {
        nested(out, 1, |out| {
            text(out, 1, name);
            text(out, 2, value);
        });
        out.extend([3 << 3, HeaderAppendAction::OverwriteIfExistsOrAdd as u8]);
    });
}

/// A `google.protobuf.Struct`: what Envoy's access log can show.
fn metadata(out: &mut Vec<u8>, decision: &Decision<'_>) {
    field(out, "verdict", |out| text(out, 3, decision.verdict.as_str()));
    field(out, "rule", |out| text(out, 3, decision.rule));
    field(out, "weight", |out| {
        out.push(2 << 3 | 1);
        out.extend((decision.weight as f64).to_le_bytes());
    });
    field(out, "id", |out| text(out, 3, decision.id.hex().as_str()));
    field(out, "shadow", |out| match decision.shadow {
        None => out.extend([1 << 3, 0]),
        Some(shadow) => nested(out, 5, |out| {
            field(out, "verdict", |out| text(out, 3, shadow.verdict.as_str()));
            field(out, "rule", |out| text(out, 3, shadow.rule));
        }),
    });
}

/// An entry of a `Struct`; `value` writes the one field of a `Value`.
fn field(out: &mut Vec<u8>, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
    nested(out, 1, |out| {
        text(out, 1, name);
        nested(out, 2, value);
    });
}

fn text(out: &mut Vec<u8>, field: u8, text: &str) {
    nested(out, field, |out| out.extend_from_slice(text.as_bytes()));
}

/// A field with a length: that of what `write` writes.
fn nested(out: &mut Vec<u8>, field: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend([field << 3 | 2, 0]);
    let start = out.len();
    write(out);
    let length = out.len() - start;
    if length < 0x80 {
        out[start - 1] = length as u8;
        return;
    }
    // Seven bits a byte, the lowest first; one byte is there already.
    let more = (1..5).take_while(|byte| length >> (7 * byte) > 0).count();
    out.resize(out.len() + more, 0);
    out.copy_within(start..start + length, start + more);
    for at in 0..=more {
        let last = if at == more { 0 } else { 0x80 };
        out[start - 1 + at] = (length >> (7 * at)) as u8 & 0x7f | last;
    }
}
