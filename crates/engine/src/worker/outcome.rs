//! How a handler ends: its return value is the control flow.

use std::fmt::Display;
use std::time::Duration;
use tenure_core::queue::Act;
use tenure_core::retry::Retry;

/// What a handler returns: a result to keep with the job, or why it stopped. `?` on any error means "try again".
pub type Outcome<T = ()> = Result<T, Stop>;

/// Why a handler did not finish its job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// It went wrong; try again, after the job's backoff or exactly so much later.
    Retry {
        /// What went wrong.
        error: String,
        /// How much later; `None` is the job's backoff.
        after: Option<Duration>,
    },
    /// Not now. The attempt is not counted.
    Snooze {
        /// How much later.
        delay: Duration,
    },
    /// Somebody else should have it, at once. The attempt is not counted.
    Release,
    /// It is no longer wanted: final, and nobody's fault.
    Cancel {
        /// Why.
        why: String,
    },
    /// It went wrong, and trying again is useless.
    Fail {
        /// What went wrong.
        why: String,
    },
}

// `Stop` has no `Display` of its own, so everything that has one converts: errors, boxed errors, plain text.
impl<E: Display> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Retry { error: format!("{error:#}"), after: None }
    }
}

/// The endings by name: `Outcome::done(…)`, `Outcome::retry(…)`. In the [prelude](crate::prelude).
pub trait Outcomes<T>: Sized {
    /// Done, with a result to keep.
    fn done(result: impl Into<T>) -> Self;
    /// Went wrong: try again after the job's backoff.
    fn retry(error: impl Display) -> Self;
    /// Went wrong: try again after exactly this long.
    fn retry_in(error: impl Display, after: Duration) -> Self;
    /// Not now: later, without counting the attempt.
    fn snooze(delay: Duration) -> Self;
    /// Given back for somebody else, without counting the attempt.
    fn release() -> Self;
    /// No longer wanted: final.
    fn cancel(why: impl Display) -> Self;
    /// Went wrong, and trying again is useless.
    fn fail(why: impl Display) -> Self;
}

impl<T> Outcomes<T> for Outcome<T> {
    fn done(result: impl Into<T>) -> Self {
        Ok(result.into())
    }

    fn retry(error: impl Display) -> Self {
        Err(Stop::from(error))
    }

    fn retry_in(error: impl Display, after: Duration) -> Self {
        Err(Stop::Retry { error: error.to_string(), after: Some(after) })
    }

    fn snooze(delay: Duration) -> Self {
        Err(Stop::Snooze { delay })
    }

    fn release() -> Self {
        Err(Stop::Release)
    }

    fn cancel(why: impl Display) -> Self {
        Err(Stop::Cancel { why: why.to_string() })
    }

    fn fail(why: impl Display) -> Self {
        Err(Stop::Fail { why: why.to_string() })
    }
}

impl Stop {
    /// As a failure: what went wrong, and when to try again; `chance` moves a backoff. A face without a word of its own for
    /// "not now" or "not me" has it fail so.
    pub(crate) fn failure(self, chance: f64) -> (String, Retry) {
        match self {
            Stop::Retry { error, after: None } => (error, Retry::Policy { chance }),
            Stop::Retry { error, after: Some(after) } => (error, Retry::In { delay_ms: bounded_ms(after) }),
            Stop::Snooze { delay } => ("put off by its handler".to_owned(), Retry::In { delay_ms: bounded_ms(delay) }),
            Stop::Release => ("given back by its handler".to_owned(), Retry::In { delay_ms: 0 }),
            Stop::Cancel { why } => (why, Retry::Cancel),
            Stop::Fail { why } => (why, Retry::Never),
        }
    }
}

/// What a stop asks of the store for a job; `chance` moves a backoff.
pub(super) fn act(stop: Stop, chance: f64) -> Act {
    match stop {
        Stop::Snooze { delay } => Act::Snooze { delay_ms: bounded_ms(delay) },
        Stop::Release => Act::Release,
        failed => {
            let (error, retry) = failed.failure(chance);
            Act::Fail { error, retry }
        }
    }
}

/// A span as the store takes it: a handler's own arithmetic must not leave its job unfinished.
fn bounded_ms(span: Duration) -> u64 {
    super::ms(span).min(tenure_core::bounds::SPAN_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Outcome<u32> {
        Ok(text.parse::<u32>()?)
    }

    #[test]
    fn a_question_mark_means_retry() {
        assert_eq!(parsed("7"), Ok(7));
        let error = "invalid digit found in string".to_owned();
        assert_eq!(parsed("seven"), Err(Stop::Retry { error, after: None }));
    }

    #[test]
    fn each_ending_is_its_own_act() {
        let retry = |stop: Outcome| match act(stop.unwrap_err(), 0.5) {
            Act::Fail { retry, .. } => retry,
            other => panic!("{other:?}"),
        };
        assert_eq!(retry(Outcome::retry("x")), Retry::Policy { chance: 0.5 });
        assert_eq!(retry(Outcome::retry_in("x", Duration::ZERO)), Retry::In { delay_ms: 0 });
        assert_eq!(retry(Outcome::cancel("x")), Retry::Cancel);
        assert_eq!(retry(Outcome::fail("x")), Retry::Never);
        let endless = Outcome::<()>::snooze(Duration::MAX).unwrap_err();
        assert_eq!(act(endless, 0.0), Act::Snooze { delay_ms: tenure_core::bounds::SPAN_MS_MAX });
    }
}
