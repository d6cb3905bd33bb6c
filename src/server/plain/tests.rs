//! What is plain, that hyper would have answered the same, and that nobody gains by how the bytes come.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use proptest::prelude::*;
use tokio::io::{DuplexStream, duplex};
use tokio::time::sleep;

use super::super::answer::Answers;
use super::super::connection::Speaks;
use super::super::connection::tests::{jumping, serving, serving_under, to_the_end};
use super::*;
use crate::clock::Clock;

fn served() -> Arc<Serving> {
    serving(Speaks::Both, |live| Answers::Http(Web::new(live, Clock::System)))
}

fn web(serving: &Serving) -> &Web {
    match &serving.answers {
        Answers::Http(web) => web,
        other => panic!("{other:?}"),
    }
}

fn begins(question: &[u8]) -> Result<usize, NotPlain> {
    let mut lines = [const { MaybeUninit::uninit() }; caps::MAX_LINES];
    parse(question, &mut lines).map(|(_, length)| length)
}

#[test]
fn a_question_is_plain_that_ends_with_its_head() {
    for (first, lines) in [
        ("GET / HTTP/1.1", ""),
        ("HEAD /a?b HTTP/1.1", "Host: a\r\n"),
        ("POST /check/a HTTP/1.1", "Content-Length: 0\r\nhost: a\r\n"),
        ("GET / HTTP/1.1", "Connection: Keep-Alive\r\nupgrade: websocket\r\n"),
        ("GET / HTTP/1.1", "x-forwarded-content-length: 5\r\n"),
    ] {
        let question = format!("{first}\r\n{lines}\r\n");
        assert_eq!(begins(question.as_bytes()), Ok(question.len()), "{question}");
        assert_eq!(begins(format!("{question}GET").as_bytes()), Ok(question.len()), "{question}");
        for cut in 0..question.len() {
            assert_eq!(begins(&question.as_bytes()[..cut]), Err(NotPlain::Part), "{question} cut at {cut}");
        }
    }
}

#[test]
fn whatever_else_it_says_is_for_hyper() {
    for first in [
        "GET / HTTP/1.0",
        "PRI * HTTP/2.0",
        "OPTIONS * HTTP/1.1",
        "CONNECT a:443 HTTP/1.1",
        "PROPFIND / HTTP/1.1",
        "get / HTTP/1.1",
        "GET http://a/ HTTP/1.1",
        "GET /a#b HTTP/1.1",
        "GET /\u{fc} HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET /",
    ] {
        assert_eq!(begins(format!("{first}\r\nhost: a\r\n\r\n").as_bytes()), Err(NotPlain::Other), "{first}");
    }
    for line in [
        "content-length: 1",
        "content-length: 00",
        "content-length: +0",
        "content-length: 0, 0",
        "content-length:",
        "Content-Length: 0\r\ncontent-length: 2",
        "transfer-encoding: chunked",
        "Transfer-Encoding: identity",
        "transfer-encoding:",
        "connection: close",
        "Connection: keep-alive, upgrade",
        "connection: keep-alive\r\nConnection: close",
        "expect: 100-continue",
        "transfer-encoding : chunked",
        " folded",
        "no colon",
        "a\0: b",
    ] {
        let question = format!("GET / HTTP/1.1\r\n{line}\r\n\r\n");
        assert_eq!(begins(question.as_bytes()), Err(NotPlain::Other), "{line}");
    }
    // What is no HTTP is found at its first byte.
    assert_eq!(begins(b"\x16\x03\x01\x02\0\x01"), Err(NotPlain::Other));
}

#[test]
fn what_is_too_long_is_refused_or_for_hyper() {
    let crowd = "a: b\r\n".repeat(caps::MAX_LINES + 1);
    assert_eq!(begins(format!("GET / HTTP/1.1\r\n{crowd}\r\n").as_bytes()), Err(NotPlain::Other));
    let most = format!("GET / HTTP/1.1\r\n{}\r\n", &crowd[6..]);
    assert_eq!(begins(most.as_bytes()), Ok(most.len()));

    let long = |length: usize| {
        let rest = format!("\r\nb: {}\r\n\r\n", "b".repeat(100));
        let first = "GET /check/ok HTTP/1.1\r\nhost: a.example\r\na: ";
        format!("{first}{}{rest}", "a".repeat(length - first.len() - rest.len()))
    };
    assert_eq!(begins(long(caps::MAX_HEAD).as_bytes()), Ok(caps::MAX_HEAD));
    assert_eq!(begins(long(caps::MAX_HEAD + 1).as_bytes()), Err(NotPlain::TooLong));
    for (length, status) in [(caps::MAX_HEAD, 200), (caps::MAX_HEAD + 1, 431), (2 * caps::MAX_HEAD, 431)] {
        for piece in [usize::MAX, 7000] {
            let answer = said(long(length).as_bytes(), piece, false);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{length} by {piece}: {answer}");
        }
    }
}

#[test]
fn a_head_is_parsed_at_its_beginning_and_at_its_end() {
    for (bytes, before, may) in [
        (&b"a\r\n\r\nb"[..], 1, true),
        (b"a\r\n\r\nb", 4, true),
        (b"a\r\n\r\nb", 5, false),
        (b"a\r\n\r\nbc", 6, false),
        (b"a\n\nb", 1, true),
        (b"a\n\nbcd", 5, false),
        (b"a\r\nb: c", 1, false),
    ] {
        assert_eq!(may_end_a_head(bytes, before), may, "{} {before}", bytes.escape_ascii());
    }
}

proptest! {
    #[test]
    fn a_plain_target_is_what_hyper_makes_of_it(target in "/[!-~]{0,8}", other in "[!-~]{0,8}") {
        let target = format!("{target}{other}");
        let question = format!("GET {target} HTTP/1.1\r\n\r\n");
        if begins(question.as_bytes()).is_ok() {
            let uri: Uri = target.parse().unwrap();
            prop_assert_eq!(uri.path_and_query().unwrap().as_str(), target);
            prop_assert!(uri.authority().is_none());
        }
    }
}

const QUESTION: &str = "GET /check/x HTTP/1.1\r\nhost: a.example\r\n\r\n";

/// Runs a peer against what answers plain questions and nothing else; yields what the peer does, and what was left for hyper.
fn against<T>(
    serving: &Serving,
    buffer: usize,
    peer: impl AsyncFnOnce(DuplexStream) -> T,
) -> (T, Option<Rest>) {
    jumping().block_on(async {
        let (mut ours, theirs) = duplex(buffer);
        let answering = async {
            let left = answer_all(serving, web(serving), &mut ours, Peer::Unix).await.unwrap();
            drop(ours);
            left
        };
        tokio::join!(peer(theirs), answering)
    })
}

#[test]
fn usual_questions_need_no_hyper_however_they_come() {
    let serving = served();
    let three = QUESTION.repeat(3);
    for piece in [1, 7, QUESTION.len() - 1, QUESTION.len(), QUESTION.len() + 1, three.len()] {
        let (answer, left) = against(&serving, 1 << 16, async |mut stream| {
            for piece in three.as_bytes().chunks(piece) {
                stream.write_all(piece).await.unwrap();
                sleep(Duration::from_millis(1)).await;
            }
            stream.shutdown().await.unwrap();
            to_the_end(stream).await.0
        });
        assert_eq!(String::from_utf8(answer).unwrap().matches("HTTP/1.1 403").count(), 3, "by {piece}");
        assert!(left.is_none(), "by {piece}");
    }
}

/// A lookup that was begun goes on and takes a place of all, so that none may be begun for an answer that is not waited for.
#[test]
fn what_may_have_to_wait_is_asked_once() {
    let policy = "version: tollgate/v1\ndefault: DENY\nbots: [{name: known, action: ALLOW, expression: 'verifyFCrDNS(remoteAddress, \"good\")'}]\n";
    for (serving, waits) in [
        (served(), false),
        (serving_under(policy, Speaks::Both, |live| Answers::Http(Web::new(live, Clock::System))), true),
    ] {
        let face = Face { serving: &serving, web: web(&serving), peer: Peer::Unix };
        let mut out = Vec::new();
        // No runtime that a timer or a lookup could be begun on.
        let answered = face.answer(QUESTION.as_bytes(), &mut out);
        assert_eq!((answered.is_pending(), out.is_empty()), (waits, waits));
    }
}

#[test]
fn who_reads_no_answers_gets_no_more_of_them() {
    let (answers, _) = against(&served(), 1024, async |stream| {
        let (mut answers, mut questions) = tokio::io::split(stream);
        let asked = Cell::new(0);
        let asking = async {
            for _ in 0..10_000 {
                questions.write_all(QUESTION.as_bytes()).await.unwrap();
                asked.set(asked.get() + 1);
            }
            questions.shutdown().await.unwrap();
        };
        let reading = async {
            sleep(caps::UNREAD / 2).await;
            // Of each answer, which has over 300 bytes, and of each question not yet answered.
            let most = TOGETHER / 300 + (2 * ROOM + 2 * 1024) / QUESTION.len();
            assert!((1..=most).contains(&asked.get()), "{}", asked.get());
            let mut all = String::new();
            answers.read_to_string(&mut all).await.unwrap();
            all.matches("HTTP/1.1 403").count()
        };
        tokio::join!(asking, reading).1
    });
    assert_eq!(answers, 10_000);
}

#[test]
fn who_never_reads_is_left() {
    let serving = served();
    jumping().block_on(async {
        let (mut ours, mut theirs) = duplex(1024);
        theirs.write_all(QUESTION.repeat(20).as_bytes()).await.unwrap();
        let start = Instant::now();
        let error = answer_all(&serving, web(&serving), &mut ours, Peer::Unix).await.map(|_| ()).unwrap_err();
        assert_eq!(
            (error.kind(), start.elapsed().as_secs()),
            (io::ErrorKind::TimedOut, caps::UNREAD.as_secs())
        );
    });
}

#[test]
fn who_asks_without_a_pause_leaves_others_their_turn() {
    let (most, _) = against(&served(), 1 << 20, async |mut stream| {
        // All of it is there before the first is answered, and there is room for every answer.
        stream.write_all(QUESTION.repeat(1000).as_bytes()).await.unwrap();
        let (mut all, mut most, mut answers) = (0, 0, vec![0; 1 << 20]);
        while all < 1000 {
            let length = stream.read(&mut answers).await.unwrap();
            let now = String::from_utf8_lossy(&answers[..length]).matches("HTTP/1.1 403").count();
            (all, most) = (all + now, most.max(now));
        }
        most
    });
    // One turn, and one that came while nobody looked.
    assert!((1..=2 * caps::TURN).contains(&most), "{most}");
}

/// Says something in pieces on a connection of its own, after a question that makes all that follows hyper's, or not; returns
/// the answers, but for what differs each time.
fn said(said: &[u8], piece: usize, to_hyper: bool) -> String {
    thread_local! {
        static SERVED: Arc<Serving> = served();
    }
    let differs = regex::Regex::new("[0-9a-f]{32}|[0-9:]{8} GMT|nonce[-=\"][\"]?[A-Za-z0-9_-]{22}").unwrap();
    let serving = SERVED.with(Arc::clone);
    let peer = async |mut stream: DuplexStream| {
        if to_hyper {
            let first = b"GET /check/ok HTTP/1.1\r\nhost: a.example\r\nconnection: keep-alive, te\r\n\r\n";
            stream.write_all(first).await.unwrap();
            let mut answer = vec![0; 4096];
            let length = stream.read(&mut answer).await.unwrap();
            assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
        }
        for piece in said.chunks(piece) {
            // What hyper does not want to hear is not taken.
            drop(stream.write_all(piece).await);
            sleep(Duration::from_millis(1)).await;
        }
        let (answer, seconds) = to_the_end(stream).await;
        let answer = differs.replace_all(&String::from_utf8_lossy(&answer), "*").into_owned();
        // What is left alone is left at one time.
        if seconds >= caps::IDLE.as_secs() { format!("{answer}, and nothing for long") } else { answer }
    };
    jumping().block_on(async {
        let (ours, theirs) = duplex(1 << 20);
        let served = async { serving.converse(false, ours, Peer::Unix).await };
        tokio::join!(peer(theirs), served).0
    })
}

#[test]
fn it_makes_no_difference_who_answers() {
    let forwarded = "x-forwarded-uri: /ok\r\nx-forwarded-host: a.example\r\n";
    for first in [
        "GET /check/ok HTTP/1.1",
        "HEAD /check/x HTTP/1.1",
        "POST /check/x?a#b HTTP/1.1",
        "GET /check/\u{fc} HTTP/1.1",
        "GET /check/ok HTTP/1.0",
        "GET /auth/nginx HTTP/1.1",
        "DELETE /auth/forward HTTP/1.1",
        "GET /auth/forward HTTP/1.1",
        "GET /.tollgate/page HTTP/1.1",
        "POST /.tollgate/answer HTTP/1.1",
        "get / HTTP/1.1",
        "GET / HTTP/9.1",
        "\r\nGET /check/x HTTP/1.1",
        "no question",
    ] {
        for lines in [
            "",
            "content-length: 0\r\n",
            "content-length: 3\r\n",
            "Content-Length: 00\r\n",
            "content-length: 0\r\ntransfer-encoding: chunked\r\n",
            "content-type: application/x-www-form-urlencoded\r\n",
            "connection: close\r\n",
            "Connection: upgrade\r\nupgrade: websocket\r\n",
            "expect: 100-continue\r\n",
            "bad name: x\r\n",
            "X-Forwarded-Uri: /x\r\n",
            "host: b.example\r\n",
        ] {
            // Twice, so that the end of the one is the beginning of the other; and lines end as they should or not.
            let question = format!("{first}\r\nHOST: a.example\r\n{forwarded}{lines}\r\n");
            for said in [question.repeat(2), question.replace("\r\n", "\n").repeat(2)] {
                for piece in [usize::MAX, said.len() / 2, said.len() - 2] {
                    no_difference(said.as_bytes(), piece);
                }
            }
        }
    }
}

/// Says it to hyper and to us.
fn no_difference(bytes: &[u8], piece: usize) {
    let [hyper, ours] = [true, false].map(|to_hyper| said(bytes, piece, to_hyper));
    assert_eq!(ours, hyper, "{} by {piece}", bytes.escape_ascii());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// A usual question with some bytes of it changed.
    #[test]
    fn nor_does_it_when_a_question_is_bent(
        bends in prop::collection::vec((any::<prop::sample::Index>(), 0..3usize, bytes()), 1..4),
        piece in 1..400usize,
    ) {
        let mut said = b"POST /check/x?a=b HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\nX-Forwarded-Proto: https\r\n\r\n\
            GET /auth/forward HTTP/1.1\r\nhost: a.example\r\nx-forwarded-uri: /x\r\nconnection: keep-alive\r\n\r\n".to_vec();
        for (at, taken, put) in bends {
            let at = at.index(said.len());
            let end = said.len().min(at + taken);
            said.splice(at..end, put);
        }
        no_difference(&said, piece);
    }
}

/// What parsers stumble over.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let some = [
        "", "\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", ":", "#", "?", "%", "\0", "\u{ff}", ",", "0", "1",
        "HTTP/1.0", "chunked",
    ];
    let lines = [
        "Transfer-Encoding: chunked",
        "content-length: 1",
        "Connection: close",
        "Expect: 100-continue",
        "x_y: z",
    ];
    let lines = lines.map(|line| format!("\r\n{line}\r\n"));
    let all: Vec<_> = some.map(str::to_owned).into_iter().chain(lines).map(String::into_bytes).collect();
    prop_oneof![prop::sample::select(all), prop::collection::vec(any::<u8>(), 0..3)]
}
