//! What an operator sets on a queue, and on the engine.

use crate::bounds::{self, Invalid};
use crate::changes::Difference;
use crate::time::Time;
use crate::words::words;

words! {
    /// What a lane does after one of its jobs failed for good (Q9). A cancelled job never blocks.
    LaneOnFailure {
        /// The next job runs.
        Continue = "continue",
        /// The lane stops until that job is retried, or the queue is set to continue.
        Block = "block",
    }
}

/// At most `max` claims in each period. Periods are aligned to the clock, so two of them may meet in one burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = QueueRate))]
pub struct Rate {
    /// Claims in one period.
    pub max: u32,
    /// The period's length.
    pub period_ms: u64,
}

impl Rate {
    /// Refuses what is out of bounds.
    pub fn check(&self, field: &str) -> Result<(), Invalid> {
        bounds::within(&format!("{field}.max"), self.max.into(), 1, bounds::RUNNING_MAX)?;
        bounds::within(&format!("{field}.period_ms"), self.period_ms, 1, bounds::RATE_PERIOD_MS_MAX)
    }

    /// The number of the period that `now` lies in, counted from 1970 on.
    #[must_use]
    pub fn period(&self, now: Time) -> i64 {
        now.0.div_euclid(self.micros())
    }

    /// When the period that `now` lies in is over.
    #[must_use]
    pub fn period_end(&self, now: Time) -> Time {
        Time(self.period(now).saturating_add(1).saturating_mul(self.micros()))
    }

    fn micros(&self) -> i64 {
        i64::try_from(self.period_ms).unwrap_or(i64::MAX).saturating_mul(1_000).max(1)
    }
}

/// How long finished jobs are kept by default: seven days.
pub const RETENTION_MS_DEFAULT: u64 = 7 * 24 * 3_600 * 1_000;

/// How a queue behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Settings {
    /// No claims while it is paused.
    pub paused: bool,
    /// At most so many jobs running (Q8).
    pub max_running: Option<u32>,
    /// At most so many jobs running for each `limit_key` (Q8).
    pub max_running_per_key: Option<u32>,
    /// What the jobs of an `ordering_key` do after one failed for good (Q9): `continue` or `block`.
    pub lane_on_failure: LaneOnFailure,
    /// How long finished jobs are kept; 0 is not at all.
    pub retention_ms: u64,
    /// Claims of the queue in each period.
    pub rate_limit: Option<Rate>,
    /// Claims of each `limit_key` in each period.
    pub rate_limit_per_key: Option<Rate>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            paused: false,
            max_running: None,
            max_running_per_key: None,
            lane_on_failure: LaneOnFailure::Continue,
            retention_ms: RETENTION_MS_DEFAULT,
            rate_limit: None,
            rate_limit_per_key: None,
        }
    }
}

/// A change of settings: the outer `None` leaves a setting as it is, the inner one sets it back to its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Pause or resume.
    pub paused: Option<bool>,
    /// The queue's W.
    pub max_running: Option<Option<u32>>,
    /// The W of each `limit_key`.
    pub max_running_per_key: Option<Option<u32>>,
    /// What lanes do after a final failure.
    pub lane_on_failure: Option<Option<LaneOnFailure>>,
    /// How long finished jobs are kept.
    pub retention_ms: Option<Option<u64>>,
    /// Claims of the queue in each period.
    pub rate_limit: Option<Option<Rate>>,
    /// Claims of each `limit_key` in each period.
    pub rate_limit_per_key: Option<Option<Rate>>,
}

impl Change {
    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        check_running("max_running", self.max_running.flatten())?;
        check_running("max_running_per_key", self.max_running_per_key.flatten())?;
        if let Some(Some(ms)) = self.retention_ms {
            bounds::within("retention_ms", ms, 0, bounds::SPAN_MS_MAX)?;
        }
        self.rate_limit.flatten().map_or(Ok(()), |rate| rate.check("rate_limit"))?;
        self.rate_limit_per_key.flatten().map_or(Ok(()), |rate| rate.check("rate_limit_per_key"))
    }
}

/// Refuses a W out of bounds; 0 would mean that nothing ever runs.
pub fn check_running(field: &str, max: Option<u32>) -> Result<(), Invalid> {
    let Some(max) = max else { return Ok(()) };
    bounds::within(field, max.into(), 1, bounds::RUNNING_MAX).map_err(|mut refusal| {
        if max == 0 {
            refusal.limit.push_str(" or null; with 0 no work would ever run, use pause instead");
        }
        refusal
    })
}

impl Settings {
    /// What `to` has otherwise.
    #[must_use]
    pub fn differences(&self, to: &Settings) -> Vec<Difference> {
        let number = |max: &Option<u32>| max.map(|max| max.to_string());
        let rate = |rate: &Option<Rate>| rate.map(|rate| format!("{} in {} ms", rate.max, rate.period_ms));
        [
            Difference::between("paused", &self.paused, &to.paused, |paused| Some(paused.to_string())),
            Difference::between("max_running", &self.max_running, &to.max_running, number),
            Difference::between("max_running_per_key", &self.max_running_per_key, &to.max_running_per_key, number),
            Difference::between("lane_on_failure", &self.lane_on_failure, &to.lane_on_failure, |lane| {
                Some(lane.to_string())
            }),
            Difference::between("retention_ms", &self.retention_ms, &to.retention_ms, |ms| Some(ms.to_string())),
            Difference::between("rate_limit", &self.rate_limit, &to.rate_limit, rate),
            Difference::between("rate_limit_per_key", &self.rate_limit_per_key, &to.rate_limit_per_key, rate),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// These settings with a change.
    #[must_use]
    pub fn changed(self, change: &Change) -> Settings {
        let default = Settings::default();
        Settings {
            paused: change.paused.unwrap_or(self.paused),
            max_running: change.max_running.unwrap_or(self.max_running),
            max_running_per_key: change.max_running_per_key.unwrap_or(self.max_running_per_key),
            lane_on_failure: change
                .lane_on_failure
                .map_or(self.lane_on_failure, |set| set.unwrap_or(default.lane_on_failure)),
            retention_ms: change.retention_ms.map_or(self.retention_ms, |set| set.unwrap_or(default.retention_ms)),
            rate_limit: change.rate_limit.unwrap_or(self.rate_limit),
            rate_limit_per_key: change.rate_limit_per_key.unwrap_or(self.rate_limit_per_key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_a_change_touches_only_what_was_sent() {
        let set = Settings::default().changed(&Change { max_running: Some(Some(3)), ..Change::default() });
        let paused = set.changed(&Change { paused: Some(true), ..Change::default() });
        assert_eq!((paused.max_running, paused.paused), (Some(3), true));
        let unset = paused.changed(&Change { max_running: Some(None), ..Change::default() });
        assert_eq!((unset.max_running, unset.paused), (None, true));
    }

    #[test]
    fn x_a_limit_of_zero_is_refused_and_says_to_pause() {
        let refused = Change { max_running: Some(Some(0)), ..Change::default() }.check().unwrap_err();
        assert!(refused.to_string().contains("pause"), "{refused}");
    }
}
