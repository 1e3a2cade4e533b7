//! A history: what was asked of a store and what was answered, and one judge of it for all tests.
//!
//! Whoever works writes down each call before it is asked and after it was answered, apart from the store. A call that
//! was never answered stays open: it may have been carried out, or may be yet, or not, and the judge allows for each.
//!
//! Always true:  moments are of one clock, and only grow · the judge reads nothing but the history and what the store
//! holds in the end · what it cannot know it does not judge.

mod judge;

pub use judge::{Fault, judge};

use std::sync::{Mutex, PoisonError};

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// To add a unit of work.
    Add {
        /// By the name that the caller gives it.
        unit: String,
        /// Units of one lane are worked on one at a time, in the order in which they were added.
        lane: Option<String>,
        /// The limits that it counts against while it is held.
        limits: Vec<String>,
    },
    /// To hold a unit: asked when whoever has claimed it begins, answered when it has stopped, however that came.
    Hold {
        /// What.
        unit: String,
        /// Under which token.
        token: i64,
    },
    /// To end a unit that is held.
    Finish {
        /// What.
        unit: String,
        /// Under which token.
        token: i64,
        /// For good, or to be worked on again.
        last: bool,
    },
}

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It was done.
    Accepted,
    /// It was not done, and never will be.
    Refused,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What was asked.
    pub act: Act,
    /// When.
    pub asked: u64,
    /// When it was answered, and what; `None` as long as nobody knows.
    pub answered: Option<(u64, Answer)>,
}

/// A unit as the store holds it in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// By the name that its caller gave it.
    pub unit: String,
    /// How it stands.
    pub end: End,
}

/// How a unit stands in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It waits, or is held.
    None,
    /// Whoever held it under this token ended it for good.
    By(i64),
    /// It ended otherwise, by an operator for one, and by no holder.
    Otherwise,
    /// It has ended, and the store does not tell how.
    Untold,
}

/// A history as it is written, by many at once.
#[derive(Debug, Default)]
pub struct History {
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    calls: Vec<Call>,
    moment: u64,
}

/// A call that was written down, to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked(usize);

impl History {
    /// Something is about to be asked.
    pub fn ask(&self, act: Act) -> Asked {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.moment += 1;
        let asked = log.moment;
        log.calls.push(Call { act, asked, answered: None });
        Asked(log.calls.len() - 1)
    }

    /// It was answered.
    pub fn answer(&self, asked: Asked, answer: Answer) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.moment += 1;
        let moment = log.moment;
        log.calls[asked.0].answered = Some((moment, answer));
    }

    /// How many calls were accepted that `wanted` asks for.
    pub fn accepted(&self, wanted: impl Fn(&Act) -> bool) -> usize {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let accepted = |call: &&Call| matches!(call.answered, Some((_, Answer::Accepted))) && wanted(&call.act);
        log.calls.iter().filter(accepted).count()
    }

    /// All of it so far.
    pub fn calls(&self) -> Vec<Call> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).calls.clone()
    }
}
