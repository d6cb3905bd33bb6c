//! A resolver against a name server on the loopback.

use tokio::runtime::Builder;

use super::*;

#[path = "../../../tests/data/name_server.rs"]
mod name_server;

fn ask(servers: &[SocketAddr], questions: Vec<Question>) -> Vec<Reply> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let life = Duration::from_secs(300);
    let resolver =
        Resolver::new(runtime.handle().clone(), servers, Lives { forward: life, reverse: life }).unwrap();
    runtime.block_on(async {
        let asked: Vec<_> = questions.into_iter().map(|q| resolver.ask(q)).collect();
        let mut replies = Vec::new();
        for reply in asked {
            replies.push(reply.await);
        }
        replies
    })
}

#[test]
fn names_addresses_and_the_block_list_are_answered() {
    let server = name_server::start(&[
        ("1.2.0.192.in-addr.arpa.", "Crawl.good.example."),
        ("2.2.0.192.in-addr.arpa.", "a\\.good.example."),
        ("3.2.0.192.in-addr.arpa.", "broken"),
        ("crawl.good.example.", "192.0.2.1"),
        ("crawl.good.example.", "2001:db8::1"),
        ("1.2.0.192.dnsbl.dronebl.org.", "127.0.0.3"),
        ("2.2.0.192.dnsbl.dronebl.org.", "203.0.113.1"),
    ]);
    let v4 = |last| IpAddr::from([192, 0, 2, last]);
    let rows = [
        (Question::Names(v4(1)), Reply::Names(vec!["Crawl.good.example.".into()])),
        (Question::Names(v4(2)), Reply::Failed),
        (Question::Names(v4(3)), Reply::Failed),
        (Question::Names(v4(4)), Reply::Names(vec![])),
        (Question::Addresses("gone.example".into()), Reply::Addresses(vec![])),
        (Question::Addresses("no..name".into()), Reply::Failed),
        (Question::Listed(v4(1)), Reply::Listed(true)),
        (Question::Listed(v4(2)), Reply::Failed),
        (Question::Listed(v4(3)), Reply::Listed(false)),
    ];
    let (questions, want): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    assert_eq!(ask(&[server], questions), want);
    let replies = ask(&[server], vec![Question::Addresses("crawl.good.example".into())]);
    let [Reply::Addresses(addresses)] = &replies[..] else { panic!("{replies:?}") };
    assert!(addresses.len() == 2 && addresses.contains(&v4(1)), "{addresses:?}");
}

#[test]
fn an_answer_is_kept_as_long_as_it_lives() {
    static ROWS: [name_server::Row; 1] = [("1.2.0.192.in-addr.arpa.", "a.example.")];
    let v4 = |last| IpAddr::from([192, 0, 2, last]);
    for (life, questions) in [(300, 2), (0, 6)] {
        let server = name_server::start(&ROWS);
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let life = Duration::from_secs(life);
        let resolver =
            Resolver::new(runtime.handle().clone(), &[server], Lives { forward: life, reverse: life })
                .unwrap();
        for _ in 0..3 {
            let found = runtime.block_on(resolver.ask(Question::Names(v4(1))));
            assert_eq!(found, Reply::Names(vec!["a.example.".into()]));
            assert_eq!(runtime.block_on(resolver.ask(Question::Names(v4(2)))), Reply::Names(vec![]));
        }
        assert_eq!(name_server::asked(server), questions, "{life:?}");
    }
}

#[test]
fn a_failure_is_kept_for_a_moment_and_one_for_want_of_room_is_not() {
    let server = name_server::start(&[("3.2.0.192.in-addr.arpa.", "broken")]);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let life = Duration::from_secs(300);
    let lives = Lives { forward: life, reverse: life };
    let resolver = Resolver::new(runtime.handle().clone(), &[server], lives).unwrap();
    let question = || Question::Names(IpAddr::from([192, 0, 2, 3]));
    let room = resolver.open.clone().try_acquire_many_owned(MAX_OPEN as u32).unwrap();
    assert_eq!(runtime.block_on(resolver.ask(question())), Reply::Failed);
    assert_eq!((name_server::asked(server), resolver.kept.get(&question())), (0, None));
    drop(room);
    let asked = || {
        assert_eq!(runtime.block_on(resolver.ask(question())), Reply::Failed);
        name_server::asked(server)
    };
    let once = asked();
    assert!(once > 0);
    assert_eq!(asked(), once, "who comes next does not wait again");
}

#[test]
fn more_questions_than_may_be_open_fail_at_once() {
    let server = name_server::start(&[("1.2.0.192.in-addr.arpa.", "dead")]);
    let question = Question::Names(IpAddr::from([192, 0, 2, 1]));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let life = Duration::ZERO;
    let resolver =
        Resolver::new(runtime.handle().clone(), &[server], Lives { forward: life, reverse: life }).unwrap();
    let open: Vec<_> = (0..MAX_OPEN).map(|_| resolver.ask(question.clone())).collect();
    assert_eq!(runtime.block_on(resolver.ask(question)), Reply::Failed);
    drop(open);
}

#[test]
fn an_address_has_a_name_in_the_block_list() {
    for (address, want) in [
        ("192.0.2.1", "1.2.0.192.dnsbl.dronebl.org."),
        ("2001:db8::1", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.dnsbl.dronebl.org."),
    ] {
        assert_eq!(listing(address.parse().unwrap()), want);
    }
}

#[test]
fn a_question_that_panics_is_counted_and_keeps_no_place() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (server, life) = (([127, 0, 0, 1], 1).into(), Duration::from_secs(1));
    let resolver = Resolver::new(runtime.handle().clone(), &[server], Lives { forward: life, reverse: life });
    let panics = Counter::default();
    let resolver = resolver.unwrap().counting(panics.clone());
    let permit = resolver.open.clone().try_acquire_owned().unwrap();
    let asked = resolver.run(async move {
        let _permit = permit;
        tokio::task::yield_now().await;
        panic!("struck")
    });
    let reply: Result<Reply, _> = runtime.block_on(asked);
    assert!(reply.is_err_and(|error| error.is_panic()));
    assert_eq!((panics.get(), resolver.open.available_permits()), (1, MAX_OPEN));
}
