//! Peers that are slow, by a clock that jumps.

use axum::Router;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::sleep;

use super::*;
use crate::clock::Clock;
use crate::config::{self, Sources};
use crate::envoy::Authorization;
use crate::web::Web;

const POLICY: &str = "version: tollgate/v1\ndefault: ALLOW\nbots: [{name: x, action: DENY, paths: [/x]}]\n";

/// Has a peer talk to one connection of a listener; how long that takes is told by the runtime's clock, which jumps to whatever
/// happens next.
fn talk<T: Future>(speaks: Speaks, peer: impl FnOnce(DuplexStream, Arc<State>) -> T) -> T::Output {
    talk_to(speaks, |live| answers(speaks, live), |stream, state, _| peer(stream, state))
}

fn answers(speaks: Speaks, live: Live) -> Answers {
    match speaks {
        Speaks::Both => Answers::Http(Web::new(live, Clock::System)),
        Speaks::Http2 => {
            Answers::Grpc { authorization: Authorization::new(live, Clock::System), health: Router::new() }
        }
    }
}

fn talk_to<T: Future>(
    speaks: Speaks,
    answers: impl FnOnce(Live) -> Answers,
    peer: impl FnOnce(DuplexStream, Arc<State>, CancellationToken) -> T,
) -> T::Output {
    let (serving, runtime) = (serving(speaks, answers), jumping());
    runtime.block_on(async {
        let (ours, theirs) = duplex(1 << 16);
        let (state, stop) = (serving.state.clone(), serving.stop.clone());
        let served = async { serving.converse(false, ours, Peer::Unix).await };
        tokio::join!(peer(theirs, state, stop), served).0
    })
}

/// What serves the connections of a listener, under a policy that denies /x and allows the rest.
pub(in crate::server) fn serving(speaks: Speaks, answers: impl FnOnce(Live) -> Answers) -> Arc<Serving> {
    serving_under(POLICY, speaks, answers)
}

/// The same under another policy.
pub(in crate::server) fn serving_under(
    policy: &'static str,
    speaks: Speaks,
    answers: impl FnOnce(Live) -> Answers,
) -> Arc<Serving> {
    let loaded = config::load(&Sources { policy: Some(("a policy", policy)), ..Sources::default() }).unwrap();
    let (gate, _runtime) = crate::server::gate(loaded).unwrap();
    let state = gate.state().clone();
    let live: Live = Arc::new(arc_swap::ArcSwap::from_pointee(gate));
    Arc::new(Serving {
        speaks,
        answers: answers(live),
        patience: caps::ANSWER,
        stop: CancellationToken::new(),
        tasks: TaskTracker::new(),
        places: Places::new(1, Default::default()),
        live: None,
        state,
    })
}

/// A runtime whose clock jumps to whatever happens next.
pub(in crate::server) fn jumping() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// Reads to the end; returns what came, and after how many seconds it ended.
pub(in crate::server) async fn to_the_end(mut stream: DuplexStream) -> (Vec<u8>, u64) {
    let (start, mut all) = (Instant::now(), Vec::new());
    stream.read_to_end(&mut all).await.unwrap();
    (all, start.elapsed().as_secs())
}

fn ended(state: &State, why: &str) -> bool {
    let line = format!("tollgate_connections_ended_total{{why=\"{why}\"}} 1\n");
    state.text(crate::clock::Timestamp::default()).contains(&line)
}

fn undecided(state: &State, missing: &str) -> bool {
    let line = format!("tollgate_undecided_total{{missing=\"{missing}\"}} 1\n");
    state.text(crate::clock::Timestamp::default()).contains(&line)
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

/// A gRPC question's head on stream 1, with or without its end.
fn question() -> Vec<u8> {
    let mut block = vec![0x83, 0x86];
    for (name, value) in [
        (":path", "/envoy.service.auth.v3.Authorization/Check"),
        (":authority", "gate"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
    }
    let mut frame = vec![0, 0, u8::try_from(block.len()).unwrap(), 1, 4, 0, 0, 0, 1];
    frame.extend(block);
    frame
}

#[test]
fn who_says_nothing_is_left() {
    for speaks in [Speaks::Both, Speaks::Http2] {
        for said in [&b""[..], b"G", b"PRI * HT", PREFACE] {
            if speaks == Speaks::Http2 && said == b"G" {
                // That is no HTTP/2, and not waited for.
                continue;
            }
            talk(speaks, |mut stream, state| async move {
                stream.write_all(said).await.unwrap();
                let (_, seconds) = to_the_end(stream).await;
                assert_eq!(seconds, caps::IDLE.as_secs(), "{speaks:?} {said:?}");
                // The end is counted behind the close.
                sleep(Duration::from_secs(1)).await;
                assert!(ended(&state, "slow"), "{speaks:?} {said:?}");
            });
        }
    }
}

#[test]
fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
    talk(Speaks::Both, |mut stream, state| async move {
        let start = Instant::now();
        for byte in b"GET /check/x HTTP/1.1\r\nhost: a.example\r\n" {
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(Duration::from_secs(10)).await;
        }
        let seconds = start.elapsed().as_secs();
        assert!((75..=90).contains(&seconds), "{seconds}");
        assert!(ended(&state, "slow"));
    });
}

#[test]
fn an_idle_connection_outlives_the_proxys_own_patience_and_not_for_ever() {
    talk(Speaks::Both, |mut stream, _| async move {
        for pause in [0, 65, 65] {
            sleep(Duration::from_secs(pause)).await;
            stream.write_all(b"GET /check/ok HTTP/1.1\r\nhost: a.example\r\n\r\n").await.unwrap();
            let mut head = [0; 12];
            stream.read_exact(&mut head).await.unwrap();
            assert_eq!(&head, b"HTTP/1.1 200", "after {pause} s");
            sleep(Duration::from_secs(1)).await;
            let mut rest = [0; 4096];
            let _ = stream.read(&mut rest).await.unwrap();
        }
        let (_, seconds) = to_the_end(stream).await;
        assert!((70..=75).contains(&seconds), "{seconds}");
    });
}

#[test]
fn a_question_whose_message_does_not_come_is_given_up() {
    // The message, or the rest of it, is never sent; or comes a byte at a time.
    for drip in [false, true] {
        talk(Speaks::Http2, |mut stream, state| async move {
            stream.write_all(PREFACE).await.unwrap();
            stream.write_all(&question()).await.unwrap();
            let start = Instant::now();
            let answered = async {
                let mut seen = Vec::new();
                // A head on stream 1.
                while !seen.windows(5).any(|w| w[0] == 1 && w[2..] == [0, 0, 0]) || !undecided(&state, "body")
                {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).await.unwrap();
                    seen.push(byte[0]);
                }
            };
            if drip {
                // Reading and writing at once needs no more than frames that are there already.
                drop(answered);
                stream.write_all(b"\x00\x00\x05\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x64").await.unwrap();
                while !undecided(&state, "body") {
                    stream.write_all(b"\x00\x00\x01\x00\x00\x00\x00\x00\x01\x00").await.unwrap();
                    sleep(Duration::from_secs(1)).await;
                }
            } else {
                answered.await;
            }
            let seconds = start.elapsed().as_secs();
            assert!((15..=16).contains(&seconds), "{seconds}");
        });
    }
}

#[test]
fn a_form_that_does_not_come_is_given_up() {
    talk(Speaks::Both, |mut stream, _| async move {
        let head = "POST /.tollgate/answer HTTP/1.1\r\nhost: a.example\r\ncontent-length: 100\r\n\
                    content-type: application/x-www-form-urlencoded\r\n\r\na=";
        stream.write_all(head.as_bytes()).await.unwrap();
        let (answer, seconds) = to_the_end(stream).await;
        assert!(answer.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer));
        assert!(seconds <= 15, "{seconds}");
    });
}

/// A connection that was opened before the end and speaks just behind it, with a request that takes far longer to arrive than the
/// last word.
#[test]
fn who_speaks_up_just_behind_the_end_is_answered() {
    let form = b"POST /.tollgate/answer HTTP/1.1\r\nhost: a.example\r\ncontent-length: 100\r\n\
                 content-type: application/x-www-form-urlencoded\r\n\r\na=";
    let question = [PREFACE, &question()].concat();
    // Of two, the first is the last that is answered.
    let plain =
        b"GET /check/ok HTTP/1.1\r\nhost: a.example\r\n\r\nGET /check/x HTTP/1.1\r\nhost: a.example\r\n\r\n";
    for (speaks, said, seconds) in [
        (Speaks::Both, &plain[..], 0),
        (Speaks::Both, form, 10),
        (Speaks::Http2, &question, caps::ANSWER.as_secs()),
    ] {
        talk_to(
            speaks,
            |live| answers(speaks, live),
            |mut stream, state, stop| async move {
                sleep(Duration::from_secs(1)).await;
                stop.cancel();
                sleep(LAST_WORD / 2).await;
                stream.write_all(said).await.unwrap();
                let (answer, took) = to_the_end(stream).await;
                let text = String::from_utf8_lossy(&answer);
                match speaks {
                    Speaks::Both if seconds == 0 => {
                        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
                        assert!(text.contains("\r\nconnection: close\r\n"), "{text}");
                        assert_eq!(text.matches("HTTP/1.1").count(), 1, "{text}");
                    }
                    Speaks::Both => assert!(text.starts_with("HTTP/1.1 408"), "{text}"),
                    Speaks::Http2 => assert!(undecided(&state, "body"), "{text:?}"),
                }
                // A peer of HTTP/2 that does not answer a ping is waited for longer.
                assert!(took >= seconds, "after {took} s: {text:?}");
            },
        );
    }
}

#[test]
fn who_says_nothing_behind_the_end_is_left() {
    for speaks in [Speaks::Both, Speaks::Http2] {
        talk_to(
            speaks,
            |live| answers(speaks, live),
            |stream, _, stop| async move {
                stop.cancel();
                assert_eq!(to_the_end(stream).await.1, 0, "{speaks:?}");
            },
        );
    }
}

#[test]
fn a_peer_that_is_gone_without_a_word_is_missed() {
    talk(Speaks::Http2, |mut stream, _| async move {
        stream.write_all(PREFACE).await.unwrap();
        stream.write_all(&question()).await.unwrap();
        // It does not answer when it is asked whether it is there.
        let (_, seconds) = to_the_end(stream).await;
        assert!((60..=100).contains(&seconds), "{seconds}");
    });
}

/// Whatever a listener serves, the admin's API included.
#[test]
fn a_panic_ends_one_request_and_the_connection_goes_on() {
    let answers = |_| {
        let answer = |request: Request<axum::body::Body>| async move {
            assert!(request.uri().path() != "/panic", "struck");
            // One that has waited before it panics is polled by the connection again.
            tokio::task::yield_now().await;
            assert!(request.uri().path() != "/panic/later", "struck");
            "all is well"
        };
        Answers::Routes(Router::new().fallback(answer))
    };
    talk_to(Speaks::Both, answers, |mut stream, state, _| async move {
        let mut panics = 0;
        for (path, status) in [("/", 200), ("/panic", 500), ("/", 200), ("/panic/later", 500), ("/", 200)] {
            let request = format!("GET {path} HTTP/1.1\r\nhost: a.example\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut head = [0; 12];
            stream.read_exact(&mut head).await.unwrap();
            assert_eq!(head, format!("HTTP/1.1 {status}").as_bytes(), "{path}");
            sleep(Duration::from_secs(1)).await;
            let mut rest = [0; 4096];
            let _ = stream.read(&mut rest).await.unwrap();
            panics += u64::from(status == 500);
            assert_eq!(state.metrics.panics.get(), panics, "{path}");
        }
    });
}

#[test]
fn nor_does_one_over_a_plain_question() {
    talk(Speaks::Both, |mut stream, state| async move {
        for (struck, status) in [(false, 200), (true, 503), (false, 200)] {
            if struck {
                crate::gate::fault::arm("decide");
            }
            stream.write_all(b"GET /check/ok HTTP/1.1\r\nhost: a.example\r\n\r\n").await.unwrap();
            let mut answer = [0; 4096];
            let length = stream.read(&mut answer).await.unwrap();
            assert!(answer[..length].starts_with(format!("HTTP/1.1 {status}").as_bytes()), "{status}");
        }
        assert_eq!(state.metrics.panics.get(), 1);
    });
}
