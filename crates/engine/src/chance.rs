//! Chance, for jitter only: nothing here must be hard to guess.

use std::hash::{BuildHasher, RandomState};
use tenure_core::retry::Retry;

/// A retry by the job's own backoff, its jitter drawn now; for an [`Ending`](crate::Ending) made by hand.
#[must_use]
pub fn by_policy() -> Retry {
    Retry::Policy { chance: signed_unit() }
}

/// A number in −1 … 1.
pub(crate) fn signed_unit() -> f64 {
    ((bits() >> 11) as f64 / (1u64 << 53) as f64) * 2.0 - 1.0
}

/// Bits that differ each time.
pub(crate) fn bits() -> u64 {
    // Each RandomState is keyed anew by the standard library from the system's randomness and a counter.
    RandomState::new().hash_one(0u8)
}
