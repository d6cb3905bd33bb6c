//! The steps of a rotation, each a function of what the file lists. A step that comes too early, or in the wrong order,
//! changes nothing and says what the ring is.

use std::time::Duration;

use anyhow::{Context, bail};

use crate::clock::Timestamp;
use crate::config::{Listed, date};
use crate::crypto::{Entry, Secret, State};

/// What is to be done with the keys of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A new key verifies.
    Add,
    /// A key is taken away, whoever holds what it signed.
    Drop(u8),
    /// The new key signs, and the one that signed verifies.
    Promote,
    /// Keys retire that nobody holds anything of any more.
    Retire,
    /// All of these at once, as far as nobody has to pay once more.
    Rotate,
}

/// What the steps go by.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// The present.
    pub(super) now: Timestamp,
    /// How long something that a key has signed counts at most.
    pub(super) life: Duration,
    /// What says so.
    pub(super) says: String,
}

/// Replicas that got the file late have signed with the former key a little longer.
const LATE: Duration = Duration::from_secs(3600);

impl Step {
    /// Takes the step. `fresh` is the secret of a new key, if there is one. Returns the keys, and what comes next.
    pub(super) fn take(
        self,
        keys: Vec<Listed>,
        fresh: Secret,
        terms: &Terms,
    ) -> anyhow::Result<(Vec<Listed>, String)> {
        let ring = told(&keys, terms.now);
        let step = match self {
            Self::Add => add(keys, fresh, terms),
            Self::Drop(id) => drop_key(keys, id, fresh, terms),
            Self::Promote => promote(keys, terms),
            Self::Retire => retire(keys, terms),
            Self::Rotate => add(keys, fresh, terms)
                .and_then(|(keys, _)| promote(keys, terms))
                .map(|(keys, _)| (retire_due(keys, terms), "every process that has it takes it".to_owned())),
        };
        step.with_context(|| format!("the keys are: {ring}"))
    }
}

fn add(mut keys: Vec<Listed>, fresh: Secret, terms: &Terms) -> anyhow::Result<(Vec<Listed>, String)> {
    if let Some(id) = waiting(&keys)? {
        bail!(
            "key {id} waits to sign: promote it with --promote once every replica has it, or take it away with --drop {id}"
        );
    }
    let id = insert(&mut keys, State::Verify, fresh, terms.now)?;
    Ok((keys, format!("give the file to every replica, then let key {id} sign with --promote")))
}

fn promote(mut keys: Vec<Listed>, terms: &Terms) -> anyhow::Result<(Vec<Listed>, String)> {
    let Some(id) = waiting(&keys)? else { bail!("no key waits to sign: add one with --add first") };
    for key in &mut keys {
        match key.entry.state {
            State::Sign => (key.entry.state, key.signed_until) = (State::Verify, Some(terms.now)),
            State::Verify if key.entry.id == id => key.entry.state = State::Sign,
            State::Retired | State::Verify => {}
        }
    }
    let from = date(terms.now.after(terms.life + LATE));
    Ok((keys, format!("give the file to every replica; --retire ends the former key from {from} on")))
}

fn retire(keys: Vec<Listed>, terms: &Terms) -> anyhow::Result<(Vec<Listed>, String)> {
    let signed = keys.iter().filter(|key| key.entry.state == State::Verify);
    let oldest = signed.filter_map(|key| Some((key.signed_until?, key.entry.id))).min();
    let Some((until, id)) = oldest else {
        bail!(
            "no key has stopped signing, as far as the file says: --promote notes when; --drop ID takes a key away at once"
        );
    };
    let due = until.after(terms.life + LATE);
    if terms.now < due {
        bail!(
            "key {id} cannot retire before {}, in {}: what it signed counts for {} ({}), and an hour is for replicas that got the file late; \
             --drop {id} takes it away at once, and everybody who holds such a clearance pays once more",
            date(due),
            span(due.millis() - terms.now.millis()),
            span(u64::try_from(terms.life.as_millis()).unwrap_or(u64::MAX)),
            terms.says,
        );
    }
    Ok((retire_due(keys, terms), "give the file to every replica, whenever that is convenient".to_owned()))
}

/// Keys that are due retire; those that were retired before are gone.
fn retire_due(mut keys: Vec<Listed>, terms: &Terms) -> Vec<Listed> {
    keys.retain(|key| key.entry.state != State::Retired);
    for key in keys.iter_mut().filter(|key| key.entry.state == State::Verify) {
        if key.signed_until.is_some_and(|until| until.after(terms.life + LATE) <= terms.now) {
            key.entry.state = State::Retired;
        }
    }
    keys
}

fn drop_key(
    mut keys: Vec<Listed>,
    id: u8,
    fresh: Secret,
    terms: &Terms,
) -> anyhow::Result<(Vec<Listed>, String)> {
    let Some(at) = keys.iter().position(|key| key.entry.id == id) else { bail!("there is no key {id}") };
    let dropped = keys.remove(at);
    if dropped.entry.state == State::Sign {
        // Whoever drops the key that signs is in a hurry, so another one signs at once.
        match waiting(&keys).ok().flatten().and_then(|id| keys.iter_mut().find(|key| key.entry.id == id)) {
            Some(key) => key.entry.state = State::Sign,
            None => drop(insert_after(&mut keys, id, State::Sign, fresh, terms.now)?),
        }
    }
    let who = match dropped.entry.state {
        State::Retired => "it was retired, so nobody notices",
        State::Sign | State::Verify => "everybody who holds a clearance of it pays once more",
    };
    Ok((keys, format!("give the file to every replica at once; {who}")))
}

/// The key that verifies and has not signed, if there is one.
fn waiting(keys: &[Listed]) -> anyhow::Result<Option<u8>> {
    let verify = keys.iter().filter(|key| key.entry.state == State::Verify && key.signed_until.is_none());
    let ids: Vec<_> = verify.map(|key| key.entry.id).collect();
    match ids[..] {
        [] => Ok(None),
        [id] => Ok(Some(id)),
        _ => bail!(
            "several keys verify, and the file does not say which of them have signed; write `signed_until: {}`, or when it was, to those that have",
            "2026-01-31T12:00:00Z"
        ),
    }
}

fn insert(keys: &mut Vec<Listed>, state: State, secret: Secret, now: Timestamp) -> anyhow::Result<u8> {
    let signs = keys.iter().find(|key| key.entry.state == State::Sign).map_or(15, |key| key.entry.id);
    insert_after(keys, signs, state, secret, now)
}

/// Puts a new key in front, under the next id that is free.
fn insert_after(
    keys: &mut Vec<Listed>,
    last: u8,
    state: State,
    secret: Secret,
    now: Timestamp,
) -> anyhow::Result<u8> {
    let mut ids = (1..16).map(|step| (last + step) % 16);
    let Some(id) = ids.find(|id| keys.iter().all(|key| key.entry.id != *id)) else {
        bail!("all sixteen ids are taken: end keys with --retire or --drop ID first");
    };
    keys.insert(0, Listed::new(Entry { id, state, secret }, now));
    Ok(id)
}

/// The ring in words, with what is known of its keys' ages.
pub(super) fn told(keys: &[Listed], now: Timestamp) -> String {
    let ago = |at: Timestamp| span(now.millis().saturating_sub(at.millis()));
    let one = |key: &Listed| {
        let made = key.made.map(|made| format!(", made {} ago", ago(made))).unwrap_or_default();
        let does = match (key.entry.state, key.signed_until) {
            (State::Retired, _) => "is retired".to_owned(),
            (State::Sign, _) => "signs".to_owned(),
            (State::Verify, Some(until)) => format!("verifies, signed until {} ago", ago(until)),
            (State::Verify, None) => "verifies, has not signed".to_owned(),
        };
        format!("key {} {does}{made}", key.entry.id)
    };
    keys.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A span of milliseconds in the unit that tells most.
fn span(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use State::{Retired, Sign, Verify};

    use super::*;
    use crate::crypto::Ring;

    const DAY: u64 = 86_400;

    /// A ring, and the day on which steps are taken.
    struct Rotation {
        keys: Vec<Listed>,
        day: u64,
        made: u8,
    }

    impl Rotation {
        fn new() -> Self {
            Self { keys: vec![listed(0, Sign, 0)], day: 0, made: 0 }
        }

        fn on_day(mut self, day: u64) -> Self {
            self.day = day;
            self
        }

        fn try_take(&mut self, step: Step) -> Result<String, String> {
            self.made += 1;
            let now = Timestamp::from_seconds(self.day * DAY);
            let terms = Terms { now, life: Duration::from_secs(7 * DAY), says: "cookie.ttl.work".to_owned() };
            let before = self.shape();
            let result = step.take(self.keys.clone(), Secret::new([self.made; 32]), &terms);
            match result {
                Ok((keys, next)) => {
                    let entries: Vec<_> = keys.iter().map(|key| key.entry.clone()).collect();
                    Ring::new(&entries).unwrap_or_else(|error| panic!("{before:?}, {step:?}: {error}"));
                    self.keys = keys;
                    Ok(next)
                }
                Err(error) => Err(format!("{error:#}")),
            }
        }

        fn take(mut self, step: Step, want: &[(u8, State)]) -> Self {
            self.try_take(step).unwrap_or_else(|error| panic!("{step:?}: {error}"));
            assert_eq!(self.shape(), want, "{step:?}");
            self
        }

        fn refuse(mut self, step: Step, why: &str) -> Self {
            let before = self.shape();
            let error = self.try_take(step).expect_err("it is refused");
            assert!(error.contains(why) && error.contains("the keys are: key "), "{step:?}: {error}");
            assert_eq!(self.shape(), before);
            self
        }

        fn shape(&self) -> Vec<(u8, State)> {
            self.keys.iter().map(|key| (key.entry.id, key.entry.state)).collect()
        }
    }

    fn listed(id: u8, state: State, day: u64) -> Listed {
        Listed::new(Entry { id, state, secret: Secret::new([id; 32]) }, Timestamp::from_seconds(day * DAY))
    }

    #[test]
    fn the_three_steps_in_their_order() {
        Rotation::new()
            .on_day(100)
            .take(Step::Add, &[(1, Verify), (0, Sign)])
            .on_day(101)
            .take(Step::Promote, &[(1, Sign), (0, Verify)])
            .on_day(109)
            .take(Step::Retire, &[(1, Sign), (0, Retired)])
            .on_day(200)
            .take(Step::Add, &[(2, Verify), (1, Sign), (0, Retired)])
            .take(Step::Promote, &[(2, Sign), (1, Verify), (0, Retired)])
            .on_day(208)
            .take(Step::Retire, &[(2, Sign), (1, Retired)]);
    }

    #[test]
    fn the_wrong_order_changes_nothing_and_says_what_to_do() {
        Rotation::new()
            .refuse(Step::Promote, "add one with --add first")
            .refuse(Step::Retire, "no key has stopped signing")
            .take(Step::Add, &[(1, Verify), (0, Sign)])
            .refuse(
                Step::Add,
                "promote it with --promote once every replica has it, or take it away with --drop 1",
            )
            .refuse(Step::Retire, "no key has stopped signing")
            .refuse(Step::Rotate, "key 1 waits to sign")
            .on_day(10)
            .take(Step::Promote, &[(1, Sign), (0, Verify)])
            .refuse(Step::Promote, "no key waits to sign")
            .on_day(17)
            .refuse(
                Step::Retire,
                "before 1970-01-18T01:00:00Z, in 60 min: what it signed counts for 7 days (cookie.ttl.work)",
            )
            .refuse(Step::Drop(7), "there is no key 7")
            .on_day(18)
            .take(Step::Retire, &[(1, Sign), (0, Retired)]);
    }

    #[test]
    fn an_emergency_needs_one_step() {
        Rotation::new().take(Step::Drop(0), &[(1, Sign)]);
        Rotation::new()
            .take(Step::Add, &[(1, Verify), (0, Sign)])
            .take(Step::Drop(0), &[(1, Sign)])
            .take(Step::Add, &[(2, Verify), (1, Sign)])
            .take(Step::Drop(2), &[(1, Sign)])
            .take(Step::Add, &[(2, Verify), (1, Sign)])
            .take(Step::Promote, &[(2, Sign), (1, Verify)])
            .take(Step::Drop(2), &[(3, Sign), (1, Verify)]);
    }

    #[test]
    fn rotating_at_once_keeps_what_somebody_may_hold() {
        let mut rotation = Rotation::new()
            .take(Step::Rotate, &[(1, Sign), (0, Verify)])
            .on_day(8)
            .take(Step::Rotate, &[(2, Sign), (1, Verify), (0, Retired)]);
        for day in (9..200).step_by(3) {
            rotation.day = day;
            rotation.try_take(Step::Rotate).unwrap();
        }
        assert!(rotation.keys.len() < 8, "{:?}", rotation.shape());
        let mut full = Rotation::new();
        let error = (0..16).find_map(|_| full.try_take(Step::Rotate).err()).unwrap();
        assert!(error.contains("all sixteen ids are taken"), "{error}");
    }

    #[test]
    fn a_file_without_dates_is_not_guessed_about() {
        let mut rotation = Rotation::new();
        rotation.keys.extend([listed(3, Verify, 0), listed(4, Verify, 0)]);
        rotation
            .refuse(Step::Add, "write `signed_until: ")
            .refuse(Step::Promote, "write `signed_until: ")
            .take(Step::Drop(3), &[(0, Sign), (4, Verify)]);
    }

    #[test]
    fn a_ring_is_told_with_its_ages() {
        let mut keys = vec![listed(1, Sign, 20), listed(0, Verify, 0), listed(15, Retired, 0)];
        keys[1].signed_until = Some(Timestamp::from_seconds(20 * DAY));
        keys[2].made = None;
        assert_eq!(
            told(&keys, Timestamp::from_seconds(20 * DAY + 5400)),
            "key 1 signs, made 90 min ago; key 0 verifies, signed until 90 min ago, made 20 days ago; key 15 is retired"
        );
    }
}
