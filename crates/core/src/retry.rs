//! When a failed attempt may run again (Q6).
//!
//! Exponential backoff with jitter, computed by repeated multiplication so that every backend, SQL included, arrives
//! at the same millisecond.

use crate::bounds::{self, Invalid};

/// Whether and when a failed unit is tried again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Retry {
    /// By its backoff; `chance` in −1 … 1 moves the wait.
    Policy {
        /// Drawn by the caller, so that backends agree.
        chance: f64,
    },
    /// After exactly this long; 0 is now.
    In {
        /// Milliseconds.
        delay_ms: u64,
    },
    /// By its backoff, as [`Policy`](Retry::Policy), after an attempt that outlived `timeout_ms`: the last one
    /// ends it with reason `timeout`.
    TimedOut {
        /// Drawn by the caller, so that backends agree.
        chance: f64,
    },
    /// Not at all.
    Never,
    /// Not at all, and it is nobody's fault: the handler found it no longer wanted. Reason `cancelled`.
    Cancel,
}

impl Retry {
    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        match self {
            Retry::In { delay_ms } => bounds::within("retry_in_ms", *delay_ms, 0, bounds::SPAN_MS_MAX),
            Retry::Policy { chance } | Retry::TimedOut { chance } => bounds::within_f64("chance", *chance, -1.0, 1.0),
            Retry::Never | Retry::Cancel => Ok(()),
        }
    }
}

/// A unit's own backoff: `initial_ms × factor^(n−1)`, at most `max_ms`, moved by up to `jitter` of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = JobBackoff))]
pub struct Backoff {
    /// The wait after the first failed attempt.
    pub initial_ms: u64,
    /// How much longer each further wait is.
    pub factor: f64,
    /// No wait is longer than this, before jitter.
    pub max_ms: u64,
    /// The share of the wait that chance may add or take, 0 to 1.
    pub jitter: f64,
}

impl Default for Backoff {
    /// 1 s × 2^(n−1), at most an hour, ±20 %.
    fn default() -> Self {
        Backoff { initial_ms: 1_000, factor: 2.0, max_ms: 3_600_000, jitter: 0.2 }
    }
}

impl Backoff {
    /// The wait after `attempt` (from 1) failed; `chance` lies in −1 … 1 and is drawn by the caller.
    #[must_use]
    pub fn delay_ms(&self, attempt: u32, chance: f64) -> u64 {
        let ceiling = self.max_ms as f64;
        let mut wait = (self.initial_ms as f64).min(ceiling);
        // At most 1,000 attempts exist; growth stops as soon as it cannot matter.
        for _ in 1..attempt {
            if wait >= ceiling || self.factor <= 1.0 {
                break;
            }
            wait = (wait * self.factor).min(ceiling);
        }
        (wait * (1.0 + self.jitter * chance.clamp(-1.0, 1.0))).floor() as u64
    }

    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        bounds::within("backoff.initial_ms", self.initial_ms, 0, bounds::SPAN_MS_MAX)?;
        bounds::within("backoff.max_ms", self.max_ms, 0, bounds::SPAN_MS_MAX)?;
        bounds::within_f64("backoff.factor", self.factor, 1.0, 100.0)?;
        bounds::within_f64("backoff.jitter", self.jitter, 0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q6_waits_double_up_to_an_hour() {
        let waits: Vec<u64> = [1, 2, 3, 12, 13, 1_000].map(|n| Backoff::default().delay_ms(n, 0.0)).to_vec();
        assert_eq!(waits, [1_000, 2_000, 4_000, 2_048_000, 3_600_000, 3_600_000]);
    }

    #[test]
    fn q6_chance_moves_a_wait_by_a_fifth_at_most() {
        assert_eq!(Backoff::default().delay_ms(1, -1.0), 800);
        assert_eq!(Backoff::default().delay_ms(1, 1.0), 1_200);
    }
}
