//! The verbs of schedules, as plain data.

use super::{Calendar, Definition, Firing, NewSchedule, Schedule, Slot};
use crate::{Result, Verbs};
use tenure_core::Page;
use tenure_core::schedule::rules::keeps_cursor;
use tenure_core::schedule::{Put, Refused};
use tenure_core::{Time, bounds};
use tenure_store::StoreError;

/// How often a change is made anew because somebody else's came first.
const TRIES: usize = 16;

impl Verbs<'_> {
    /// Puts a schedule in place, as it is written here; what it does not say about resting stays as it is.
    ///
    /// Other slots than before begin after now. The same slots go on where they were, so that what came due while
    /// nobody looked is still caught up with (T4).
    pub async fn put_schedule(self, new: NewSchedule) -> Result<Schedule> {
        new.check()?;
        let calendar = Calendar::read(&new.cron, &new.zone)?;
        let NewSchedule { name, cron, catch_up, paused, job, .. } = new;
        let cron = cron.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let zone = calendar.zone().to_owned();
        let written = |found: Option<&Schedule>| {
            let paused = paused.unwrap_or(found.is_some_and(|found| found.definition.paused));
            Some(Definition { cron: cron.clone(), zone: zone.clone(), catch_up, paused, job: job.clone() })
        };
        let put = self.change_schedule(&name, written).await?;
        put.ok_or_else(|| StoreError::broken("a schedule that was put is not there").into())
    }

    /// One schedule.
    pub async fn schedule(self, name: &str) -> Result<Option<Schedule>> {
        Ok(self.tenure.store.schedule(name).await?)
    }

    /// Schedules by name, from after `after`.
    pub async fn schedules(self, after: Option<&str>, limit: u32) -> Result<Page<Schedule>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.schedules(after, limit).await?)
    }

    /// Removes a schedule; its jobs stay. Whether it was there.
    pub async fn remove_schedule(self, name: &str) -> Result<bool> {
        Ok(self.tenure.store.remove_schedule(name).await?)
    }

    /// Lets a schedule rest: no slot is fired, and none counts as missed. `None` if there is no such schedule.
    pub async fn pause_schedule(self, name: &str) -> Result<Option<Schedule>> {
        self.rest(name, true).await
    }

    /// Ends the rest of a schedule; it goes on with the first slot after now. `None` if there is no such schedule.
    pub async fn resume_schedule(self, name: &str) -> Result<Option<Schedule>> {
        self.rest(name, false).await
    }

    /// The last firings of a schedule, newest first, from below `before`; the last hundred are kept.
    pub async fn firings(self, name: &str, before: Option<Time>, limit: u32) -> Result<Page<Firing>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.firings(name, before, limit).await?)
    }

    /// The next `limit` slots that an expression names in a zone, after now by the store's clock.
    pub async fn preview(self, cron: &str, zone: &str, limit: u32) -> Result<Vec<Slot>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        let calendar = Calendar::read(cron, zone)?;
        let now = self.tenure.store.now().await?;
        let slots = std::iter::successors(calendar.next_after(now), |slot| calendar.next_after(*slot));
        Ok(slots.take(limit as usize).map(|at| Slot { at, local: calendar.local(at) }).collect())
    }

    async fn rest(self, name: &str, paused: bool) -> Result<Option<Schedule>> {
        self.change_schedule(name, |found| found.map(|found| Definition { paused, ..found.definition.clone() })).await
    }

    /// Makes a change over what is there, again if another came first; `None` where there is nothing to change.
    async fn change_schedule(
        self,
        name: &str,
        change: impl Fn(Option<&Schedule>) -> Option<Definition>,
    ) -> Result<Option<Schedule>> {
        for _ in 0..TRIES {
            let found = self.tenure.store.schedule(name).await?;
            let Some(definition) = change(found.as_ref()) else { return Ok(None) };
            let next_at = match &found {
                // Then the expression is not asked: one that this version cannot read may still be put to rest.
                Some(found) if keeps_cursor(&found.definition, &definition) => found.next_at,
                _ => self.first_slot(found.as_ref(), &definition).await?,
            };
            let revision = found.map(|found| found.revision);
            match self.tenure.store.put_schedule(Put { name: name.to_owned(), definition, revision, next_at }).await? {
                Ok(schedule) => return Ok(Some(schedule)),
                Err(Refused::Changed | Refused::Behind) => {}
                Err(refused) => return Err(StoreError::broken(format!("a change was refused as {refused}")).into()),
            }
        }
        Err(StoreError::unavailable("others change this schedule all the time").into())
    }

    /// The first slot to come. Should the clock have stepped back since the last firing, what was fired stays fired.
    async fn first_slot(self, found: Option<&Schedule>, definition: &Definition) -> Result<Option<Time>> {
        let now = self.tenure.store.now().await?;
        let last = found.and_then(|found| found.last).map_or(now, |last| last.slot.max(now));
        Ok(Calendar::read(&definition.cron, &definition.zone)?.next_after(last))
    }
}
