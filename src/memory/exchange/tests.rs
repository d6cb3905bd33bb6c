//! Replicas that meet in this process, on a clock of the test's own.

use std::net::IpAddr;
use std::time::Duration;

use super::*;
use crate::behaviour::{Figure, Probe};
use crate::crypto::{Ring, Secret};
use crate::memory::shared::{InProcess, Shared};
use crate::memory::tests::{CHROME, see};
use crate::memory::{Counted, DEFAULT_BYTES, Deed, Fate, Limit, MIN_BYTES, Pace};

/// What a clearance may do, by default.
const LIMIT: Limit = Limit { count: 600, per: Duration::from_secs(60), burst: 120 };

const REPLICAS: Others = Others { file: false, replicas: true };

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + ms)
}

/// Replicas, each with a secret of its own, and where they meet.
struct Fleet {
    replicas: Vec<Memory>,
    shared: InProcess,
    mac: Mac,
}

impl Fleet {
    fn new(replicas: u8) -> Self {
        let one = |n| Memory::new(DEFAULT_BYTES, &[n; 16]).exchanging(REPLICAS);
        let mac = Ring::single(Secret::new([7; 32])).signing().memory.clone();
        Self { replicas: (0..replicas).map(one).collect(), shared: InProcess::default(), mac }
    }

    /// Every replica tells and asks once. `up` says whether the server can be reached.
    fn meet(&mut self, up: bool, now: Timestamp) {
        for replica in &self.replicas {
            let asks = replica.asks(&self.mac, usize::MAX, now);
            if !up {
                asks.iter().for_each(|ask| replica.take_back(ask));
                continue;
            }
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let replies = runtime.block_on(self.shared.exchange(&asks, now)).unwrap();
            assert_eq!(replies.len(), asks.len());
            asks.iter().zip(replies).for_each(|(ask, reply)| replica.settle(ask, reply, now));
        }
    }

    fn take(&self, replica: usize, ms: u64) -> bool {
        let counted = Counted::Clearance(&[9; 16]);
        self.replicas[replica].take(&Pace::new(LIMIT), 1, counted, at(ms)).is_ok()
    }

    /// How many calls of one clearance pass in so many seconds: `call` says for every millisecond which replica gets one,
    /// and replicas meet every quarter of a second.
    fn passes(&mut self, seconds: u64, mut call: impl FnMut(u64) -> Option<usize>) -> u64 {
        let mut passed = 0;
        for ms in 0..seconds * 1000 {
            passed += u64::from(call(ms).is_some_and(|replica| self.take(replica, ms)));
            if ms % 250 == 249 {
                self.meet(true, at(ms));
            }
        }
        passed
    }

    fn does(&self, replica: usize, client: &str, fate: Fate, ms: u64) {
        let sight = see(&self.replicas[replica], client, "/", CHROME);
        self.replicas[replica].record(&sight, None, Deed { fate, probe: None, trap: false }, at(ms));
    }

    fn misdeeds(&self, replica: usize, client: &str, ms: u64) -> u32 {
        let sight = see(&self.replicas[replica], client, "/", CHROME);
        self.replicas[replica].tell(&sight, None, at(ms)).value(Figure::ClientMisdeeds)
    }
}

/// What the limit allows in so many seconds.
fn allowed(seconds: u64) -> u64 {
    // The last of them would be welcome when the time is over.
    u64::from(LIMIT.burst) + seconds * 10 - 1
}

#[test]
fn three_replicas_let_through_what_one_would() {
    assert_eq!(Fleet::new(1).passes(60, |_| Some(0)), allowed(60));
    // Hammered at once, each spends the burst before it can hear of the others; what was too much is missing afterwards.
    let passed = Fleet::new(3).passes(60, |ms| Some(ms as usize % 3));
    assert!((allowed(60)..=allowed(60) * 11 / 10).contains(&passed), "{passed}");
    let passed = Fleet::new(3).passes(600, |ms| Some(ms as usize % 3));
    assert!((allowed(600) * 98 / 100..=allowed(600) * 102 / 100).contains(&passed), "{passed}");
    // Three times what is allowed, each replica a little less than it would let through by itself.
    let spread = |ms: u64| ms.is_multiple_of(34).then_some(ms as usize / 34 % 3);
    let passed = Fleet::new(3).passes(120, spread);
    assert!((allowed(120) * 98 / 100..=allowed(120) * 105 / 100).contains(&passed), "{passed}");
}

#[test]
fn who_moves_from_one_replica_to_the_next_wins_nothing() {
    // A burst at each, in turn, just as long as it takes for the burst to come back where nothing is heard of the others.
    let hops = |ms: u64| Some(ms as usize / 4_000 % 3);
    let passed = Fleet::new(3).passes(600, hops);
    assert!((allowed(600) * 90 / 100..=allowed(600) * 110 / 100).contains(&passed), "{passed}");
}

#[test]
fn who_keeps_to_the_limit_is_never_limited_however_it_is_spread() {
    for (replicas, gap) in [(1, 101), (3, 101), (3, 104), (8, 101)] {
        let mut calls = 0;
        let passed = Fleet::new(replicas).passes(300, |ms| {
            let called = ms % gap == 0;
            calls += u64::from(called);
            called.then_some((ms / gap) as usize * 7 % usize::from(replicas))
        });
        assert_eq!(passed, calls, "{replicas} replicas, a call every {gap} ms");
    }
}

#[test]
fn a_latecomer_knows_after_one_meeting() {
    let mut fleet = Fleet::new(2);
    let passed = (0..2000).filter(|ms| fleet.take(0, *ms)).count();
    assert_eq!(passed, 139);
    fleet.meet(true, at(2000));
    assert!((2000..2003).all(|ms| fleet.take(1, ms)), "nothing is known yet");
    fleet.meet(true, at(2003));
    assert!(!fleet.take(1, 2003));
}

#[test]
fn a_server_that_lost_all_is_told_by_the_first_who_knows() {
    let mut fleet = Fleet::new(3);
    let mut passed = fleet.passes(10, |ms| Some(ms as usize % 3));
    fleet.shared.clear();
    for ms in 10_000..60_000 {
        passed += u64::from(fleet.take(ms as usize % 3, ms));
        if ms % 250 == 249 {
            fleet.meet(true, at(ms));
        }
    }
    assert!(passed <= allowed(60) * 11 / 10, "{passed}");
}

#[test]
fn without_a_server_each_counts_for_itself_and_tells_later() {
    let mut fleet = Fleet::new(2);
    let mut passed = 0;
    for ms in 0..20_000 {
        passed += u64::from(fleet.take(0, ms));
        if ms % 250 == 249 {
            fleet.meet(false, at(ms));
        }
    }
    assert_eq!(passed, allowed(20));
    assert_eq!(fleet.shared.names(), 0);
    fleet.meet(true, at(20_000));
    assert_eq!(fleet.shared.names(), 0, "nobody came, and nobody is told of");
    assert!(fleet.take(0, 20_150));
    fleet.meet(true, at(20_160));
    assert_eq!(fleet.shared.names(), 1);
    (0..3).for_each(|_| assert!(fleet.take(1, 20_170)));
    fleet.meet(true, at(20_180));
    assert!(!fleet.take(1, 20_190));
}

#[test]
fn a_bad_name_gets_around_and_so_does_what_makes_it_good() {
    let mut fleet = Fleet::new(2);
    let bad = "192.0.2.1";
    fleet.does(1, bad, Fate::Passed, 0);
    fleet.meet(true, at(10));
    (0..8).for_each(|n| fleet.does(0, bad, Fate::Denied, 20 + n));
    (0..4).for_each(|n| fleet.does(1, bad, Fate::Denied, 20 + n));
    fleet.meet(true, at(250));
    fleet.meet(true, at(260));
    // Both add up, and whoever sees the client is told within a second.
    fleet.does(0, bad, Fate::Passed, 700);
    fleet.does(1, bad, Fate::Passed, 700);
    fleet.meet(true, at(750));
    assert_eq!((fleet.misdeeds(0, bad, 760), fleet.misdeeds(1, bad, 760)), (24, 24));
    let sight = see(&fleet.replicas[1], bad, "/", CHROME);
    fleet.replicas[1].answered(&sight, at(800));
    fleet.meet(true, at(900));
    fleet.does(0, bad, Fate::Passed, 1300);
    fleet.meet(true, at(1400));
    assert_eq!((fleet.misdeeds(0, bad, 1500), fleet.misdeeds(1, bad, 1500)), (16, 16));
    assert_eq!(fleet.misdeeds(0, "192.0.2.2", 1500), 0);
    // A bad name is one until few points are left, for those who only heard of it as well.
    let bad_at = |fleet: &Fleet, replica: usize, ms| {
        let sight = see(&fleet.replicas[replica], bad, "/", CHROME);
        fleet.replicas[replica].tell(&sight, None, at(ms)).value(Figure::ClientDisrepute)
    };
    assert_eq!((bad_at(&fleet, 0, 1500), bad_at(&fleet, 1, 1500)), (1, 1));
}

#[test]
fn what_could_not_be_told_is_told_once_and_a_lost_score_is_told_whole() {
    let mut fleet = Fleet::new(2);
    let bad = "192.0.2.1";
    (0..10).for_each(|n| fleet.does(0, bad, Fate::Denied, n));
    fleet.meet(false, at(100));
    (0..10).for_each(|n| fleet.does(0, bad, Fate::Denied, 200 + n));
    fleet.meet(true, at(300));
    assert_eq!(fleet.misdeeds(0, bad, 310), 40);
    fleet.shared.clear();
    (0..2).for_each(|n| fleet.does(0, bad, Fate::Denied, 800 + n));
    fleet.meet(true, at(900));
    fleet.does(1, bad, Fate::Passed, 910);
    fleet.meet(true, at(950));
    assert_eq!((fleet.misdeeds(0, bad, 960), fleet.misdeeds(1, bad, 960)), (44, 44));
}

#[test]
fn who_comes_once_and_who_is_good_has_no_name_on_the_server() {
    let mut fleet = Fleet::new(2);
    for n in 0..2_000_u32 {
        let client = IpAddr::from(n.to_be_bytes()).to_string();
        fleet.does(0, &client, if n % 2 == 0 { Fate::Passed } else { Fate::Challenged }, n.into());
        let counted = Counted::Client(client.parse().ok());
        fleet.replicas[0].take(&Pace::new(LIMIT), 7, counted, at(n.into())).unwrap();
        let id = [n.to_be_bytes(); 4].concat().try_into().unwrap();
        fleet.replicas[0].take(&Pace::new(LIMIT), 1, Counted::Clearance(&id), at(n.into())).unwrap();
    }
    fleet.meet(true, at(3000));
    assert_eq!(fleet.shared.names(), 0);
}

#[test]
fn names_are_the_same_for_all_who_have_the_key_and_tell_things_apart() {
    let mac = |byte| Ring::single(Secret::new([byte; 32])).signing().memory.clone();
    let names = |secret: u8, key: u8| {
        let memory = Memory::new(MIN_BYTES, &[secret; 16]).exchanging(REPLICAS);
        for client in ["192.0.2.1", "192.0.2.2"] {
            let probe = Some(Probe::Never);
            memory.record(
                &see(&memory, client, "/", CHROME),
                None,
                Deed { fate: Fate::Denied, probe, trap: false },
                at(0),
            );
            for limit in [1, 2] {
                let pace = Pace::new(Limit { burst: 2, ..LIMIT });
                memory.take(&pace, limit, Counted::Client(client.parse().ok()), at(0)).unwrap();
            }
        }
        let mut names: Vec<_> = memory.asks(&mac(key), 100, at(1)).iter().map(|ask| ask.name).collect();
        names.sort_unstable();
        names
    };
    let ours = names(1, 7);
    assert_eq!(ours.len(), 6);
    assert!(ours.windows(2).all(|pair| pair[0] != pair[1]));
    assert_eq!(ours, names(2, 7));
    assert!(names(1, 8).iter().all(|name| !ours.contains(name)));
}

#[test]
fn a_list_that_nobody_reads_takes_no_more_than_it_has() {
    let memory = Memory::new(MIN_BYTES, &[7; 16]).exchanging(REPLICAS);
    let (before, most) = (memory.bytes(), memory.max_bytes());
    for n in 0..20_000_u32 {
        let client = IpAddr::from(n.to_be_bytes()).to_string();
        let deed = Deed { fate: Fate::Denied, probe: Some(Probe::Never), trap: false };
        memory.record(&see(&memory, &client, "/", CHROME), None, deed, at(n.into()));
    }
    assert!(before < memory.bytes() && memory.bytes() <= most && most <= MIN_BYTES);
    let mac = Ring::single(Secret::new([7; 32])).signing().memory.clone();
    let read = memory.asks(&mac, usize::MAX, at(20_000)).len();
    assert!(read > 0 && read < 1000, "{read}");
    assert!(memory.asks(&mac, usize::MAX, at(20_000)).is_empty());
    // There is room again.
    let deed = Deed { fate: Fate::Denied, probe: None, trap: false };
    memory.record(&see(&memory, "192.0.2.1", "/", CHROME), None, deed, at(20_001));
    assert_eq!(memory.asks(&mac, usize::MAX, at(20_002)).len(), 1);
}

/// One process with a file, and the rows that it would write after a client did this.
fn kept(does: impl Fn(&Memory)) -> (Memory, Vec<Option<Kept>>) {
    let memory = Memory::new(DEFAULT_BYTES, &[1; 16]).exchanging(Others { file: true, replicas: false });
    does(&memory);
    let mac = Ring::single(Secret::new([7; 32])).signing().memory.clone();
    let row = |mut ask: Ask| {
        assert_eq!(
            ask.worth_keeping(None, at(0)),
            None,
            "nothing is written in the place of what was not read"
        );
        memory.recalled(&mut ask, None, at(0));
        ask.worth_keeping(None, at(0))
    };
    let rows = memory.asks(&mac, 100, at(0)).into_iter().map(row).collect();
    (memory, rows)
}

fn deny(memory: &Memory, client: &str, times: u64, trap: bool) {
    let sight = see(memory, client, "/", CHROME);
    for n in 0..times {
        let deed = Deed { fate: Fate::Denied, probe: None, trap: trap && n == 0 };
        memory.record(&sight, None, deed, at(0));
    }
}

#[test]
fn who_did_next_to_nothing_is_not_kept_and_who_did_is() {
    let (_, rows) = kept(|memory| deny(memory, "192.0.2.1", 2, false));
    assert_eq!(rows, [None]);
    let (_, rows) = kept(|memory| deny(memory, "192.0.2.1", 11, true));
    let row = rows[0].unwrap();
    assert_eq!((row.score, row.traps), (Score { points: 32.0, bad: true }, 1));
    assert_eq!((row.written, row.trapped), (1_800_000_000, 1_800_000_000));
    // Who made good has its row written anew, or taken away.
    let (_, rows) = kept(|memory| memory.answered(&see(memory, "192.0.2.1", "/", CHROME), at(0)));
    assert_eq!(rows, [None], "there is nothing to make good");
}

#[test]
fn what_was_kept_counts_on_and_counts_once() {
    let (memory, _) = kept(|_| {});
    let mac = Ring::single(Secret::new([7; 32])).signing().memory.clone();
    let row = Kept {
        score: Score { points: 40.0, bad: true },
        written: 1_800_000_000,
        traps: 2,
        trapped: 1_800_000_100,
    };
    let now = at(1_800_000);
    let told = |figure| memory.tell(&see(&memory, "192.0.2.1", "/", CHROME), None, now).value(figure);
    let come = |points| {
        let deed = Deed { fate: Fate::Denied, probe: None, trap: false };
        (0..points / 2).for_each(|_| memory.record(&see(&memory, "192.0.2.1", "/", CHROME), None, deed, now));
    };
    come(2);
    assert_eq!((told(Figure::ClientMisdeeds), told(Figure::ClientTraps)), (2, 0));
    for _ in 0..2 {
        let mut asks = memory.asks(&mac, 100, now);
        asks.iter_mut().for_each(|ask| memory.recalled(ask, Some(&row), now));
        // Half an hour later half of it is left.
        assert_eq!((told(Figure::ClientMisdeeds), told(Figure::ClientDisrepute)), (22, 1));
        assert_eq!(told(Figure::ClientTraps), 2);
        for ask in asks {
            let again = ask.worth_keeping(None, now).unwrap();
            assert_eq!((again.score.points.round(), again.traps, again.trapped), (22.0, 2, 1_800_000_100));
        }
    }
    come(6);
    let asks = memory.asks(&mac, 100, now);
    assert!(
        matches!(asks[..], [Ask { about: About::Misdeeds(Misdeeds { known: true, .. }), .. }]),
        "{asks:?}"
    );
    assert_eq!(told(Figure::ClientMisdeeds), 28);
    // The traps are forgotten an hour after the last, the name later.
    let later = at(3_600_000);
    let told = memory.tell(&see(&memory, "192.0.2.1", "/", CHROME), None, later);
    assert_eq!((told.value(Figure::ClientTraps), told.value(Figure::ClientDisrepute)), (0, 1));
}

#[test]
fn whom_the_file_says_nothing_about_in_time_is_asked_about_again() {
    let memory = Memory::new(DEFAULT_BYTES, &[1; 16]).exchanging(Others { file: true, replicas: false });
    let mac = Ring::single(Secret::new([7; 32])).signing().memory.clone();
    let come = |ms| {
        let deed = Deed { fate: Fate::Passed, probe: None, trap: false };
        memory.record(&see(&memory, "192.0.2.1", "/", CHROME), None, deed, at(ms));
        memory.asks(&mac, 100, at(ms))
    };
    let mut asks = come(0);
    deny(&memory, "192.0.2.1", 5, false);
    memory.postpone(&mut asks[0]);
    let mut asks = memory.asks(&mac, 100, at(1));
    memory.postpone(&mut asks[0]);
    assert!(
        matches!(asks[0].about, About::Misdeeds(misdeeds) if misdeeds.more == 0.0 && misdeeds.own.points == 0.0)
    );
    // At once, where there is something to tell of it.
    let asks = come(2);
    assert!(matches!(asks[0].about, About::Misdeeds(misdeeds) if misdeeds.more == 10.0));
    assert!(come(100).is_empty());
    let mut asks = come(500);
    assert_eq!(asks.len(), 1);
    memory.recalled(&mut asks[0], None, at(500));
    assert!(come(1000).is_empty() && come(100_000).is_empty(), "it is known, and did nothing new");
}

#[test]
fn points_count_once_where_the_file_is_slow_and_others_know_nothing() {
    let memory = Memory::new(DEFAULT_BYTES, &[1; 16]).exchanging(Others { file: true, replicas: true });
    let mac = Ring::single(Secret::new([7; 32])).signing().memory.clone();
    let told =
        || memory.tell(&see(&memory, "192.0.2.1", "/", CHROME), None, at(0)).value(Figure::ClientMisdeeds);
    // A server without the name says what it is told.
    let meet = |ask: &Ask| {
        let About::Misdeeds(misdeeds) = ask.about else { panic!("{ask:?}") };
        memory.settle(ask, Reply::Misdeeds(misdeeds.own), at(0));
    };
    deny(&memory, "192.0.2.1", 2, false);
    for turn in 0..10 {
        for mut ask in memory.asks(&mac, 100, at(0)) {
            memory.postpone(&mut ask);
            meet(&ask);
        }
        assert_eq!(told(), 4, "turn {turn}");
        let deed = Deed { fate: Fate::Passed, probe: None, trap: false };
        memory.record(&see(&memory, "192.0.2.1", "/", CHROME), None, deed, at((turn + 1) * 500));
    }
    // What is done while the file is asked is not told yet.
    for mut ask in memory.asks(&mac, 100, at(0)) {
        deny(&memory, "192.0.2.1", 9, false);
        memory.recalled(&mut ask, None, at(0));
        assert!(matches!(ask.about, About::Misdeeds(misdeeds) if misdeeds.own.points == 4.0));
        meet(&ask);
    }
    assert_eq!(told(), 22);
}

#[test]
fn who_only_ever_went_into_a_trap_is_told_of() {
    let (_, rows) = kept(|memory| memory.trapped(&see(memory, "192.0.2.1", "/", CHROME), None, at(0)));
    assert_eq!(rows.into_iter().map(|row| row.unwrap().traps).collect::<Vec<_>>(), [1]);
}
