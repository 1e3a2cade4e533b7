//! What callers did and what they were told, by the machine's clock, which is also the server's.
//!
//! Written by everybody while the stress runs; the judge reads in it what a committed state must agree with.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tenure_core::queue::{Status, Verb};
use tenure_store::conformance::Chance;

/// Of each kind of fault so many are told in full; of the rest, the count.
const TOLD_MAX: u64 = 8;

/// Ids of jobs that ended lately: what an operator may want to retry.
const ENDED_KEPT: usize = 64;

/// Microseconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// A call that put a job into the store: sent and acknowledged then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Put {
    pub(crate) sent: i64,
    pub(crate) told: i64,
}

/// An ending that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) verb: Verb,
    pub(crate) status: Status,
}

/// A value of a setting, as its one changer knows it. [`i64::MAX`] is no limit.
#[derive(Clone, Copy, Debug)]
struct Set {
    sent: i64,
    told: Option<i64>,
    value: i64,
}

/// A setting of a queue, or with an empty name of the engine.
pub(crate) type Setting = (&'static str, &'static str);

#[derive(Default)]
pub(crate) struct Books {
    pub(crate) puts: HashMap<i64, Vec<Put>>,
    /// Enqueued in a transaction that its caller rolled back.
    pub(crate) undone: HashSet<i64>,
    /// An operator asked to retry it.
    pub(crate) retried: HashSet<i64>,
    pub(crate) claims: HashSet<(i64, i64)>,
    pub(crate) endings: HashMap<(i64, i64), Ending>,
    firsts: HashSet<(i64, i64)>,
    ended: Vec<i64>,
    settings: HashMap<Setting, Vec<Set>>,
    pub(crate) counts: BTreeMap<String, u64>,
    faults: BTreeMap<&'static str, u64>,
    told: Vec<String>,
}

/// Shared by all that take part.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Books>);

impl Ledger {
    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self, what: impl Into<String>, n: u64) {
        *self.books().counts.entry(what.into()).or_default() += n;
    }

    /// Something that must not be.
    pub(crate) fn fault(&self, kind: &'static str, what: impl Into<String>) {
        self.books().fault(kind, what.into());
    }

    pub(crate) fn found(&self, kinds: &[&str]) -> bool {
        let books = self.books();
        kinds.iter().all(|kind| books.faults.contains_key(kind))
    }

    pub(crate) fn put(&self, id: i64, sent: i64) {
        self.books().puts.entry(id).or_default().push(Put { sent, told: now() });
    }

    pub(crate) fn claimed(&self, id: i64, token: i64) {
        let mut books = self.books();
        if !books.claims.insert((id, token)) {
            books.fault("token", format!("job {id} was handed out twice under the token {token}"));
        }
    }

    /// An ending was acknowledged; `already` if the answer said so, `None` where it does not say.
    pub(crate) fn ended(&self, id: i64, token: i64, ending: Ending, already: Option<bool>) {
        let mut books = self.books();
        if let Some(first) = books.endings.insert((id, token), ending)
            && first != ending
        {
            books.fault("told", format!("job {id} under {token}: told {first:?}, then {ending:?}"));
        }
        if already == Some(false) && !books.firsts.insert((id, token)) {
            books.fault("told", format!("job {id} under {token}: {ending:?} was accepted twice"));
        }
        if ending.status != Status::Queued {
            if books.ended.len() >= ENDED_KEPT {
                books.ended.remove(0);
            }
            books.ended.push(id);
        }
    }

    pub(crate) fn ended_lately(&self, chance: &mut Chance) -> Option<i64> {
        let books = self.books();
        if books.ended.is_empty() { None } else { Some(books.ended[chance.below(books.ended.len())]) }
    }

    /// A change of a setting is about to be sent.
    pub(crate) fn sets(&self, setting: Setting, value: Option<u32>) {
        let value = value.map_or(i64::MAX, i64::from);
        self.books().settings.entry(setting).or_default().push(Set { sent: now(), told: None, value });
    }

    /// Its last change was acknowledged.
    pub(crate) fn was_set(&self, setting: Setting) {
        if let Some(last) = self.books().settings.get_mut(&setting).and_then(|sets| sets.last_mut()) {
            last.told = Some(now());
        }
    }

    /// What is wrong, in order; empty if nothing is.
    pub(crate) fn faults(&self) -> Vec<String> {
        let books = self.books();
        let mut lines = books.told.clone();
        for (kind, n) in &books.faults {
            if *n > TOLD_MAX {
                lines.push(format!("[{kind}] {n} in all"));
            }
        }
        lines
    }

    /// How many faults of which kind.
    pub(crate) fn kinds(&self) -> BTreeMap<&'static str, u64> {
        self.books().faults.clone()
    }
}

impl Books {
    pub(crate) fn fault(&mut self, kind: &'static str, what: String) {
        let n = self.faults.entry(kind).or_default();
        *n += 1;
        if *n <= TOLD_MAX {
            self.told.push(format!("[{kind}] {what}"));
        }
    }

    /// The most that a claim may have gone by which began and wrote then: the last value that was acknowledged before it
    /// began, or one that was sent since (Q8: a change binds claims that begin after it has committed).
    pub(crate) fn most(&self, setting: Setting, began: i64, wrote: i64) -> i64 {
        let Some(sets) = self.settings.get(&setting) else { return i64::MAX };
        let bound = sets.iter().rposition(|set| set.told.is_some_and(|told| told < began)).unwrap_or(0);
        sets[bound..].iter().filter(|set| set.sent <= wrote).map(|set| set.value).max().unwrap_or(i64::MAX)
    }

    /// Whether some call had put the job there, at `at`, and was answered before `began`.
    pub(crate) fn known_before(&self, id: i64, at: i64, began: i64) -> bool {
        let puts = self.puts.get(&id).map_or(&[][..], Vec::as_slice);
        puts.iter().any(|put| put.sent <= at && at <= put.told && put.told < began)
    }
}
