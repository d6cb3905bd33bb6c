//! A gate that is killed between a challenge and its answer, and another in its place.

use tollgate::challenge::{Token, answer_text, solve};

use crate::gate::{Gate, Start};
use crate::http::{Reply, ask};

const HEAD: &str = "host: a.example\r\nx-forwarded-host: a.example\r\nx-forwarded-proto: http\r\nuser-agent: Mozilla/5.0\r\n";

fn start(keys: bool) -> Gate {
    let settings = if keys {
        "challenge: {size: 10, level: 12}\nkeys: {secret: 0707070707070707070707070707070707070707070707070707070707070707}\n"
    } else {
        "challenge: {size: 10, level: 12}\n"
    };
    Start { settings, ..Start::default() }.go()
}

fn header(reply: &Reply, name: &str) -> Option<String> {
    let text = reply.text().split("\r\n\r\n").next()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

fn visit(gate: &Gate, cookie: &str) -> Reply {
    ask(
        gate.http,
        format!("GET /auth/forward HTTP/1.1\r\n{HEAD}x-forwarded-uri: /other\r\ncookie: {cookie}\r\n\r\n"),
    )
}

/// A right answer to a challenge of this gate.
fn solved(gate: &Gate) -> String {
    let page = visit(gate, "a=1");
    assert_eq!(page.status, 403, "{}", page.text());
    let token = header(&page, "tollgate-challenge").expect("a program gets a token");
    let token = Token::parse(token.as_bytes()).expect("it is one");
    answer_text(&token, &solve(&token))
}

fn answer(gate: &Gate, answer: &str) -> (u16, Option<String>) {
    let reply = ask(
        gate.http,
        format!(
            "POST /.tollgate/answer HTTP/1.1\r\n{HEAD}tollgate-answer: {answer}\r\ncontent-length: 0\r\n\r\n"
        ),
    );
    (reply.status, header(&reply, "set-cookie").and_then(|c| Some(c.split_once(';')?.0.to_owned())))
}

#[test]
fn with_a_key_an_answer_outlives_the_gate_that_asked() {
    let gate = start(true);
    let right = solved(&gate);
    let before = answer(&gate, &right);
    // Dropped, it is killed as by the system.
    drop(gate);
    let gate = start(true);
    let after = answer(&gate, &right);
    assert_eq!((after.0, &after), (204, &before), "and buys the same clearance");
    assert_eq!(visit(&gate, &after.1.expect("a clearance")).status, 200);
}

#[test]
fn without_a_key_a_restart_costs_one_fresh_challenge() {
    let gate = start(false);
    let right = solved(&gate);
    let (_, old) = answer(&gate, &right);
    drop(gate);
    let gate = start(false);
    assert_eq!(answer(&gate, &right), (403, None));
    assert_eq!(visit(&gate, &old.expect("a clearance")).status, 403);
    let (status, cookie) = answer(&gate, &solved(&gate));
    assert_eq!(status, 204);
    assert_eq!(visit(&gate, &cookie.expect("a clearance")).status, 200);
}
