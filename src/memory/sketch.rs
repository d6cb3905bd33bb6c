//! How many distinct things came, in a few bytes: linear counting (Whang, Vander-Zanden and Taylor, 1990).
//!
//! Each thing sets one of m bits; from the share that is still clear follows how many there were: m ln(m / clear). The
//! standard error with m = 256 bits is 5 % at 100 things and 7 % at 600, with m = 64 it is 9 % at 10 and 17 % at 100;
//! rounding to whole things adds a bias of less than 4 %.
//! A sketch that is full reads m ln(2 m): 1,597 with 256 bits, 311 with 64. It never reads more, and never forgets.

/// A sketch of `WORDS` times 64 bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Distinct<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for Distinct<WORDS> {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

impl<const WORDS: usize> Distinct<WORDS> {
    const BITS: usize = WORDS * 64;

    /// Adds a thing by its keyed hash: whoever cannot compute the hash cannot aim at bits.
    pub(super) fn add(&mut self, hash: u64) {
        let bit = hash as usize % Self::BITS;
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// Both sketches in one: what came to either.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, more)| *word |= more);
        self
    }

    /// About how many distinct things came.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most m ln(2 m), and never negative"
    )]
    pub(super) fn count(&self) -> u32 {
        let set: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        // Up to there rounding changes nothing, and most sketches are nearly empty.
        if set <= 1 {
            return set;
        }
        let (bits, set) = (Self::BITS as f32, set as f32);
        let clear = (bits - set).max(0.5);
        (bits * (bits / clear).ln()).round() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(seed: u64) -> u64 {
        let a = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        c ^ (c >> 31)
    }

    /// Mean and standard deviation of the relative error over 400 sets of `things`, in percent.
    fn error<const WORDS: usize>(things: u64) -> (f64, f64) {
        let errors: Vec<f64> = (0..400)
            .map(|trial| {
                let mut sketch = Distinct::<WORDS>::default();
                (0..things).for_each(|n| (0..3).for_each(|_| sketch.add(mixed(trial << 32 | n))));
                100.0 * (f64::from(sketch.count()) / things as f64 - 1.0)
            })
            .collect();
        let mean = errors.iter().sum::<f64>() / 400.0;
        (mean, (errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / 400.0).sqrt())
    }

    #[test]
    fn the_error_is_what_is_stated() {
        for (things, percent) in [(10, 5.0), (40, 5.0), (100, 6.0), (600, 8.5)] {
            let (mean, deviation) = error::<4>(things);
            assert!(
                mean.abs() < 2.0 && deviation < percent,
                "256 bits, {things}: {mean:.1} ± {deviation:.1} %"
            );
        }
        for (things, percent) in [(3, 14.0), (10, 11.0), (30, 11.0), (100, 19.0)] {
            let (mean, deviation) = error::<1>(things);
            assert!(
                mean.abs() < 4.0 && deviation < percent,
                "64 bits, {things}: {mean:.1} ± {deviation:.1} %"
            );
        }
    }

    #[test]
    fn repeats_do_not_count_and_unions_do_not_count_twice() {
        let mut sketch = Distinct::<4>::default();
        (0..1000).for_each(|_| sketch.add(mixed(1)));
        assert_eq!(sketch.count(), 1);
        assert_eq!(sketch.and(sketch).count(), 1);
        assert_eq!(Distinct::<4>::default().count(), 0);
    }

    #[test]
    fn a_full_sketch_reads_its_most() {
        let mut sketch = (Distinct::<4>::default(), Distinct::<1>::default());
        (0..100_000).for_each(|n| {
            sketch.0.add(mixed(n));
            sketch.1.add(mixed(n));
        });
        assert_eq!((sketch.0.count(), sketch.1.count()), (1597, 311));
    }
}
