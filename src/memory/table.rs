//! A table of fixed size: cells by key, in buckets with a lock each.
//!
//! A bucket has six seats and two places at the door. A new key takes an empty seat, else it stands at the door, where the
//! one that stood longest leaves for it. A key that comes back while it stands there takes the seat of one that is worth
//! less; worth is how often a key came, halved for every minute that it stays away. So keys that come once push out nothing
//! but each other, however many there are, and a key that keeps coming is pushed out only by one that comes more.
//!
//! Two threads meet only where their keys share a bucket, and then for some 50 ns.

use std::fmt;
use std::mem::size_of;
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};

use crate::clock::Timestamp;

/// The places of a bucket: seats first, then the door.
const WAYS: usize = SEATS + 2;
/// How many keys a bucket holds that are safe from those which come once.
const SEATS: usize = 6;
/// Buckets that come into being together, when the first key of one of them comes.
const SEGMENT: usize = 32;
/// How long a key must stay away for its worth to be halved, in seconds.
const HALVED: u32 = 60;

/// Cells by key, as many as fit into a number of bytes that is set once.
pub(super) struct Table<C> {
    segments: Box<[OnceLock<Segment<C>>]>,
}

type Segment<C> = Box<[Mutex<Bucket<C>>]>;

/// A few cells that share a lock. Keys stand together, so that a search reads one line of the processor's cache.
struct Bucket<C> {
    /// 0 is an empty place.
    keys: [u64; WAYS],
    /// When each key came last, in seconds.
    seen: [u32; WAYS],
    worth: [u8; WAYS],
    cells: [C; WAYS],
}

impl<C: Default> Default for Bucket<C> {
    fn default() -> Self {
        Self {
            keys: [0; WAYS],
            seen: [0; WAYS],
            worth: [0; WAYS],
            cells: std::array::from_fn(|_| C::default()),
        }
    }
}

impl<C: Default> Table<C> {
    /// A table that never takes more than `bytes`, but has one segment at least. Memory is taken as keys come.
    pub(super) fn new(bytes: usize) -> Self {
        let segment = SEGMENT * size_of::<Mutex<Bucket<C>>>() + size_of::<OnceLock<Segment<C>>>();
        let segments = (bytes / segment).max(1);
        Self { segments: (0..segments).map(|_| OnceLock::new()).collect() }
    }

    /// The most bytes it takes.
    pub(super) fn max_bytes(&self) -> usize {
        let segment = SEGMENT * size_of::<Mutex<Bucket<C>>>() + size_of::<OnceLock<Segment<C>>>();
        self.segments.len() * segment
    }

    /// The bytes it has taken so far.
    pub(super) fn bytes(&self) -> usize {
        let taken = self.segments.iter().filter(|segment| segment.get().is_some()).count();
        taken * SEGMENT * size_of::<Mutex<Bucket<C>>>()
            + self.segments.len() * size_of::<OnceLock<Segment<C>>>()
    }

    /// Runs `change` on the cell of a key, which is a new one if the key is not there. That the key came counts for it.
    pub(super) fn with<T>(&self, key: u64, now: Timestamp, change: impl FnOnce(&mut C) -> T) -> T {
        let (key, second) = (key.max(1), seconds(now));
        let mut bucket = self.bucket(key).lock().unwrap_or_else(PoisonError::into_inner);
        let place = bucket.place(key, second);
        change(&mut bucket.cells[place])
    }

    /// The same, unless another thread has the cell or a neighbour of it in hand: then nothing is done.
    pub(super) fn with_free(&self, key: u64, now: Timestamp, change: impl FnOnce(&mut C)) {
        let (key, second) = (key.max(1), seconds(now));
        let mut bucket = match self.bucket(key).try_lock() {
            Ok(bucket) => bucket,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let place = bucket.place(key, second);
        change(&mut bucket.cells[place]);
    }

    /// Runs `read` on the cell of a key, if it is there. Changes no cell.
    pub(super) fn look<T>(&self, key: u64, read: impl FnOnce(&C) -> T) -> Option<T> {
        let key = key.max(1);
        let bucket = self.bucket(key).lock().unwrap_or_else(PoisonError::into_inner);
        bucket.find(key).map(|place| read(&bucket.cells[place]))
    }

    /// Runs `change` on the cell of a key, if it is there. Nobody came for it, so it counts for nothing.
    pub(super) fn change<T>(&self, key: u64, change: impl FnOnce(&mut C) -> T) -> Option<T> {
        let key = key.max(1);
        let mut bucket = self.bucket(key).lock().unwrap_or_else(PoisonError::into_inner);
        bucket.find(key).map(|place| change(&mut bucket.cells[place]))
    }

    fn bucket(&self, key: u64) -> &Mutex<Bucket<C>> {
        // The upper half of the key, scaled to the number of buckets; the cells use the lower one.
        let buckets = self.segments.len() * SEGMENT;
        let at = ((key >> 32) as usize * buckets) >> 32;
        let segment =
            self.segments[at / SEGMENT].get_or_init(|| (0..SEGMENT).map(|_| Mutex::default()).collect());
        &segment[at % SEGMENT]
    }
}

impl<C: Default> Bucket<C> {
    fn find(&self, key: u64) -> Option<usize> {
        self.keys.iter().position(|known| *known == key)
    }

    /// The place of a key that comes now, found or made.
    fn place(&mut self, key: u64, second: u32) -> usize {
        match self.find(key) {
            Some(place) => {
                self.worth[place] = self.worth_at(place, second).saturating_add(1);
                self.seen[place] = second;
                if place < SEATS { place } else { self.seat(place, second) }
            }
            None => {
                let place = self.room();
                (self.keys[place], self.seen[place], self.worth[place]) = (key, second, 1);
                self.cells[place] = C::default();
                place
            }
        }
    }

    /// The place that a new key takes: an empty one, else that of whoever stood longest at the door.
    fn room(&self) -> usize {
        self.find(0).unwrap_or_else(|| (SEATS..WAYS).min_by_key(|place| self.seen[*place]).unwrap_or(SEATS))
    }

    /// Gives a key at the door the seat of one that is worth less, if there is one.
    fn seat(&mut self, from: usize, second: u32) -> usize {
        let Some((worth, seat)) = (0..SEATS).map(|seat| (self.worth_at(seat, second), seat)).min() else {
            return from;
        };
        if worth >= self.worth[from] {
            return from;
        }
        self.keys.swap(from, seat);
        self.seen.swap(from, seat);
        self.worth.swap(from, seat);
        self.cells.swap(from, seat);
        seat
    }

    fn worth_at(&self, place: usize, second: u32) -> u8 {
        let halvings = second.saturating_sub(self.seen[place]) / HALVED;
        self.worth[place].checked_shr(halvings).unwrap_or(0)
    }
}

impl<C> fmt::Debug for Table<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("segments", &self.segments.len()).finish_non_exhaustive()
    }
}

/// Seconds since 1970, which fit until 2106 and stay there.
fn seconds(now: Timestamp) -> u32 {
    u32::try_from(now.seconds()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    /// A number whose every bit depends on the seed.
    fn mixed(seed: u64) -> u64 {
        let a = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
    }

    fn add(table: &Table<u32>, key: u64, now: Timestamp) -> u32 {
        table.with(key, now, |count| {
            *count += 1;
            *count
        })
    }

    #[test]
    fn a_key_finds_its_own_cell_again() {
        let table = Table::new(1 << 16);
        for round in 1..=3 {
            assert!((0..100).all(|key| add(&table, mixed(key), START) == round), "round {round}");
        }
        assert_eq!(table.look(mixed(5), |count| *count), Some(3));
        assert_eq!(table.look(mixed(1000), |count| *count), None);
        assert_eq!([add(&table, 0, START), add(&table, 0, START), add(&table, 1, START)], [1, 2, 3]);
    }

    #[test]
    fn a_million_keys_that_come_once_push_out_nobody_who_keeps_coming() {
        let table: Table<u32> = Table::new(1 << 20);
        let active = 2_000;
        let places = table.max_bytes() / size_of::<Mutex<Bucket<u32>>>() * WAYS;
        assert!(active * 10 < places && places < 100_000, "{places} places are few against a million");
        let mut now = START;
        for visitor in 0..active as u64 {
            for _ in 0..3 {
                add(&table, mixed(visitor), now);
            }
        }
        for flood in 0..1_000_000_u64 {
            add(&table, mixed(1 << 40 | flood), now);
            if flood % 50 == 0 {
                // Each of them comes every 100 s, while a thousand others come every second.
                now = now.after(Duration::from_millis(50));
                add(&table, mixed(flood / 50 % active as u64), now);
            }
        }
        let kept = (0..active as u64).filter(|visitor| {
            table.look(mixed(*visitor), |count| *count == 3 + 1_000_000 / 50 / active as u32) == Some(true)
        });
        assert_eq!(kept.count(), active);
        assert!(table.bytes() <= table.max_bytes() && table.max_bytes() <= 1 << 20);
    }

    #[test]
    fn who_comes_in_the_middle_of_a_flood_and_stays_finds_a_seat() {
        let table: Table<u32> = Table::new(1 << 20);
        for flood in 0..200_000 {
            add(&table, mixed(1 << 40 | flood), START);
        }
        // A person asks for a page and its parts while the flood goes on.
        let mut kept = 0;
        for visitor in 0..500_u64 {
            for part in 0..5 {
                add(&table, mixed(visitor), START);
                add(&table, mixed(1 << 41 | visitor << 4 | part), START);
            }
            kept += usize::from(table.look(mixed(visitor), |count| *count == 5) == Some(true));
        }
        assert_eq!(kept, 500);
    }

    #[test]
    fn who_stays_away_gives_up_a_seat_to_those_who_come() {
        let table: Table<u32> = Table::new(0);
        let places = SEGMENT * WAYS;
        let crowd = |base: u64, now| {
            for key in (0..2).flat_map(|_| 0..places as u64 * 2) {
                add(&table, mixed(base + key), now);
            }
        };
        crowd(0, START);
        let later = START.after(Duration::from_secs(3600));
        crowd(1 << 32, later);
        crowd(1 << 32, later);
        let kept =
            (0..places as u64 * 2).filter(|key| table.look(mixed(1 << 32 | key), |_| ()).is_some()).count();
        assert!(kept > places * SEATS / WAYS / 2, "{kept} of {places}");
    }

    #[test]
    fn a_clock_that_is_set_back_breaks_nothing() {
        let table = Table::new(0);
        for now in [START, Timestamp::default(), Timestamp::from_millis(u64::MAX), START] {
            for key in 0..1000 {
                add(&table, mixed(key), now);
            }
        }
    }

    #[test]
    fn memory_is_taken_as_keys_come_and_never_more_than_was_said() {
        let table: Table<[u64; 8]> = Table::new(4 << 20);
        assert!(table.bytes() < 4 << 12);
        for key in 0..200_000 {
            table.with(mixed(key), START, |cell| cell[0] = key);
        }
        assert_eq!(table.bytes(), table.max_bytes());
        assert!(table.max_bytes() <= 4 << 20 && table.max_bytes() > 3 << 20);
    }

    #[test]
    fn threads_count_together() {
        let table: Table<u32> = Table::new(1 << 16);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..1000 {
                        add(&table, mixed(n % 10), START);
                    }
                });
            }
        });
        assert!((0..10).all(|key| table.look(mixed(key), |count| *count) == Some(400)));
    }
}
