//! Judges enqueues: one key, one job (I9).

use super::{Ledger, Met, Wrong};
use std::collections::BTreeMap;
use tenure_core::Time;
use tenure_core::bounds::KEY_WINDOW_MS_DEFAULT;
use tenure_core::queue::{NewJob, Status};

/// Which body a job has: its kind, and the number of its payload's value in the walk's own table. Texts of one value
/// have one number, so that nothing here compares JSON.
pub(in super::super) type Body = (usize, usize);

#[derive(Debug)]
pub(super) struct Key {
    unit: usize,
    body: Body,
    until: Time,
}

impl Ledger {
    /// What the dedup key of a job stands for now.
    fn known(&self, job: &NewJob, now: Time) -> Option<&Key> {
        let key = self.keys.get(&(job.queue.clone(), job.key.clone()?))?;
        (key.until > now || !self.units[key.unit].over()).then_some(key)
    }

    /// The first item of a call that sends another body under a key: which, and the unit that has the key.
    pub(in super::super) fn conflict(&self, jobs: &[(NewJob, Body)], now: Time) -> Option<(usize, Option<usize>)> {
        let mut sent: BTreeMap<(&str, &str), Body> = BTreeMap::new();
        for (index, (job, body)) in jobs.iter().enumerate() {
            let Some(name) = job.key.as_deref() else { continue };
            if let Some(key) = self.known(job, now).filter(|key| key.body != *body) {
                return Some((index, Some(key.unit)));
            }
            if *sent.entry((&job.queue, name)).or_insert(*body) != *body {
                return Some((index, None));
            }
        }
        None
    }

    /// One accepted item of a call: `unit` is the index of the job it was answered with, if that was known before.
    pub(in super::super) fn accepted(
        &mut self,
        job: &NewJob,
        body: Body,
        unit: Option<usize>,
        deduplicated: bool,
        status: Status,
        now: Time,
    ) -> Result<(), Wrong> {
        let expected = self.known(job, now).map(|key| key.unit);
        if deduplicated != expected.is_some() || unit != expected {
            let answer = if deduplicated { "an old" } else { "a new" };
            return Err(format!("I9: {answer} job {unit:?} for {:?}, which stands for {expected:?}", job.key));
        }
        let stands = expected.map_or(Status::Queued, |unit| self.units[unit].status());
        if status != stands {
            return Err(format!("Q7: {unit:?} is told as {status}, and is {stands}"));
        }
        match expected {
            Some(unit) => {
                self.met(if self.units[unit].gone { Met::DedupAfterRemoval } else { Met::Deduplicated });
            }
            None => {
                if let Some(name) = &job.key {
                    let until = now.plus_ms(job.key_window_ms.unwrap_or(KEY_WINDOW_MS_DEFAULT));
                    let key = Key { unit: self.units.len(), body, until };
                    if self.keys.insert((job.queue.clone(), name.clone()), key).is_some() {
                        self.met(Met::KeyUsedAgain);
                    }
                }
                self.enqueued(job, now);
            }
        }
        Ok(())
    }

    /// Pruning forgets keys past their window whose job has ended.
    pub(super) fn forget_keys(&mut self, now: Time) {
        let units = &self.units;
        self.keys.retain(|_, key| key.until > now || !units[key.unit].over());
    }
}
