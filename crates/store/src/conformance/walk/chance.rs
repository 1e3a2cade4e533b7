//! The one source of chance of all tests.

use super::{command, from_env};

/// The seed of a test: `TENURE_SEED`, or what the test says. A test that fails while it has one prints the command that
/// draws the same again.
pub struct Seed {
    number: u64,
    again: String,
}

impl Seed {
    /// `number`, unless another is asked for. For the thread of the test itself, after which it is called.
    #[must_use]
    pub fn or(number: u64) -> Seed {
        let number = from_env("TENURE_SEED").unwrap_or(number);
        Seed { number, again: command(&format!("TENURE_SEED={number} ")) }
    }

    /// The chance of one of those who take part.
    #[must_use]
    pub fn chance(&self, participant: u64) -> Chance {
        Chance::of(self.number, participant)
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("again: {}", self.again);
        }
    }
}

/// Splitmix64: small, seedable, and the same everywhere and for ever.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The same seed draws the same.
    #[must_use]
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// What one of several participants draws, each something else.
    #[must_use]
    pub fn of(seed: u64, participant: u64) -> Chance {
        let mut chance = Chance(seed ^ participant.wrapping_mul(0xd6e8_feb8_6659_fd93));
        chance.next();
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 on.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// True one time in so many.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// True so many times of a hundred.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
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

    /// A number in −1 … 1.
    pub fn signed_unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_the_one_command_that_draws_the_same_again() {
        let seed = Seed::or(7);
        assert!(seed.again.starts_with(&format!("TENURE_SEED={} cargo test ", seed.number)), "{}", seed.again);
        assert!(seed.again.ends_with("a_seed_names_the_one_command_that_draws_the_same_again"), "{}", seed.again);
        assert_eq!(seed.chance(1).below(1_000_000), Chance::of(seed.number, 1).below(1_000_000));
    }
}
