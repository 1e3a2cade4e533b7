//! The one source of chance.

/// Splitmix64: small, seedable, and the same everywhere and for ever.
pub struct Chance(u64);

impl Chance {
    /// The same seed draws the same.
    #[must_use]
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(in crate::conformance) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(in crate::conformance) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Something, one time in so many.
    pub(in crate::conformance) fn maybe<T>(&mut self, one_in: usize, some: impl FnOnce(&mut Chance) -> T) -> Option<T> {
        self.one_in(one_in).then(|| some(self))
    }

    /// Something; one time in so many and one, nothing.
    pub(in crate::conformance) fn mostly<T>(&mut self, times: usize, some: impl FnOnce(&mut Chance) -> T) -> Option<T> {
        (!self.one_in(times + 1)).then(|| some(self))
    }

    /// Mostly the latest, sometimes long ago.
    pub(in crate::conformance) fn recent(&mut self) -> usize {
        match self.below(8) {
            0..=4 => self.below(3),
            5..=6 => self.below(12),
            _ => self.below(100),
        }
    }

    pub(in crate::conformance) fn signed_unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
}
