//! Instants of the store's clock.
//!
//! Always true: a [`Time`] came from a store or from a caller's `run_at`; this crate never asks what time it is (L5).

/// Microseconds since 1970-01-01T00:00:00Z: the finest step that PostgreSQL and every other backend keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// 0001-01-01T00:00:00Z, the first instant a caller may name.
    pub const MIN: Time = Time(-62_135_596_800_000_000);
    /// 9999-12-31T23:59:59.999999Z, the last instant RFC 3339 can spell.
    pub const MAX: Time = Time(253_402_300_799_999_999);

    /// This instant moved by `ms` milliseconds, never beyond [`Time::MAX`].
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Time {
        let micros = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000);
        Time(self.0.saturating_add(micros).min(Time::MAX.0))
    }

    /// Whole milliseconds from `earlier` to this instant, zero if it lies after.
    #[must_use]
    pub fn ms_since(self, earlier: Time) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / 1_000).unwrap_or(0)
    }
}
