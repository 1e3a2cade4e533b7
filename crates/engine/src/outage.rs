//! A store that does not answer: told once when that begins, and once when it is over, with how long it took.
//!
//! Every loop of a process asks through [`Outage::watch`], so that an outage is one event and not one line for each of
//! them and each try. Always true: no more than two lines in [`QUIET`], whatever fails and however often.

use crate::Error;
use crate::clock::Moment;
use crate::surroundings::Surroundings;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tenure_store::StoreError;

/// After the end of an outage no other is told for as long: where some calls are answered and others are not, each answer
/// would end one.
const QUIET: Duration = Duration::from_secs(10);

/// What failed and was not asked again for as long is taken for answered: its loop may have ended.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Whether the store answers, as far as this process knows.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    around: Surroundings,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    began: Option<Moment>,
    told: bool,
    /// What is not answered, and since when not again. A store may answer reads and no writes.
    failed_at: BTreeMap<&'static str, Moment>,
    /// When the end of one was told last.
    ended_at: Option<Moment>,
    /// What the store answers with another error than that it is away: told once each, until it goes well.
    failing: BTreeSet<&'static str>,
}

/// What there is to tell.
#[derive(Debug, PartialEq)]
enum News {
    Away,
    Back(Duration),
}

impl State {
    fn failed(&mut self, what: &'static str, now: Moment) -> Option<News> {
        self.failed_at.insert(what, now);
        self.began.get_or_insert(now);
        let quiet = self.ended_at.is_some_and(|at| at.until(now) < QUIET);
        if self.told || quiet {
            return None;
        }
        self.told = true;
        Some(News::Away)
    }

    /// A call for `what` that was sent at `asked_at` was answered. One that was under way when others failed proves
    /// nothing, and neither does one of another kind.
    fn answered(&mut self, what: &'static str, asked_at: Moment, now: Moment) -> Option<News> {
        let began = self.began?;
        self.failed_at.retain(|failed, at| if *failed == what { asked_at <= *at } else { at.until(now) < FORGOTTEN });
        if !self.failed_at.is_empty() {
            return None;
        }
        self.began = None;
        if !std::mem::take(&mut self.told) {
            return None;
        }
        self.ended_at = Some(now);
        Some(News::Back(began.until(now)))
    }
}

impl Outage {
    pub(crate) fn within(around: Surroundings) -> Outage {
        Outage { around, ..Outage::default() }
    }

    /// Asks the store for `what`, and tells if the answer is news.
    pub(crate) async fn watch<T, E: OfStore>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let asked_at = self.around.now();
        let answer = call.await;
        let met = answer.as_ref().err().and_then(|error| Some((error, error.of_store()?)));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((error, Trouble::Away)) = met {
            if state.failed(what, self.around.now()).is_some() {
                tracing::warn!(%error, "the store does not answer: {what} cannot go on");
            }
            return answer;
        }
        if let Some(News::Back(span)) = state.answered(what, asked_at, self.around.now()) {
            tracing::warn!("the store answers again, after {:.1} s", span.as_secs_f64());
        }
        match met {
            Some((error, Trouble::Failing)) if state.failing.insert(what) => {
                tracing::warn!(%error, "{what} cannot go on")
            }
            Some(_) => {}
            None => drop(state.failing.remove(what)),
        }
        answer
    }
}

/// What is wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It does not answer: waiting mends it.
    Away,
    /// It answers, and cannot do it.
    Failing,
}

/// An error that may be the store's.
pub(crate) trait OfStore: std::fmt::Display {
    /// What is wrong with the store, if it is the store's.
    fn of_store(&self) -> Option<Trouble>;
}

impl OfStore for StoreError {
    fn of_store(&self) -> Option<Trouble> {
        let away = matches!(self, StoreError::Unavailable { .. });
        Some(if away { Trouble::Away } else { Trouble::Failing })
    }
}

impl OfStore for Error {
    fn of_store(&self) -> Option<Trouble> {
        match self {
            Error::Unavailable { .. } => Some(Trouble::Away),
            Error::Store(_) | Error::Corrupt { .. } => Some(Trouble::Failing),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c6_an_outage_is_told_once_and_its_length_at_its_end() {
        let (mut state, start) = (State::default(), Moment::now());
        let at = |ms| start.after(Duration::from_millis(ms));
        assert_eq!(state.failed("claims", at(0)), Some(News::Away));
        assert_eq!(state.failed("claims", at(900)), None);
        assert_eq!(state.answered("claims", at(500), at(950)), None, "it was sent before the last failure");
        assert_eq!(state.answered("claims", at(3_000), at(3_001)), Some(News::Back(Duration::from_millis(3_001))));
        assert_eq!(state.answered("claims", at(3_002), at(3_003)), None);
    }

    #[test]
    fn c6_reads_that_are_answered_do_not_end_an_outage_of_writes() {
        let (mut state, start) = (State::default(), Moment::now());
        let at = |ms| start.after(Duration::from_millis(ms));
        assert_eq!(state.failed("endings", at(0)), Some(News::Away));
        assert_eq!(state.answered("looks", at(10), at(11)), None);
        assert_eq!(state.answered("endings", at(20), at(21)), Some(News::Back(Duration::from_millis(21))));
        // Whoever was not answered may never ask again.
        assert_eq!(state.failed("endings", at(30_000)), Some(News::Away));
        assert_eq!(state.answered("looks", at(30_001), at(30_002)), None);
        assert!(state.answered("looks", at(95_000), at(95_001)).is_some());
    }

    #[test]
    fn c6_where_some_calls_fail_and_others_do_not_two_lines_are_told_in_ten_seconds() {
        let (mut state, start) = (State::default(), Moment::now());
        let mut told = 0;
        for second in 0..100_u64 {
            let at = |ms: u64| start.after(Duration::from_millis(second * 1_000 + ms));
            told += usize::from(state.failed("claims", at(0)).is_some());
            told += usize::from(state.answered("claims", at(1), at(2)).is_some());
        }
        assert_eq!(told, 20);
    }
}
