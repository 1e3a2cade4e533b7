//! The loop that looks for what is due, and fires it.
//!
//! It needs no leader. Any number of these loops may run, on any number of machines: a slot is fired by whoever is first
//! (T1), and the others are told that it has been. It sleeps until the next slot by the store's clock, and looks again
//! at least every second, for what others have put meanwhile.

use super::calendar::Calendar;
use crate::upkeep::{Met, Pace, Sweep};
use crate::{Error, Result, Verbs};
use std::collections::BTreeSet;
use std::time::Duration;
use tenure_core::Time;
use tenure_core::schedule::rules::{fire_max, plan};
use tenure_core::schedule::{DueSchedule, Fire};

/// Schedules dealt with in one look.
const DUE_MAX: u32 = 500;
/// Up to so long after a slot its look begins, so that many machines do not ask in the same millisecond.
const SPREAD: Duration = Duration::from_millis(20);
/// The shortest wait: a look that came a little early is not followed by a thousand others.
const WAIT_MIN: Duration = Duration::from_millis(1);

/// What one look for due schedules did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// The store's clock when it began.
    pub now: Time,
    /// Jobs it enqueued.
    pub fired: u32,
    /// Slots it dropped, by the policy of their schedule.
    pub missed: u32,
    /// Schedules that somebody else dealt with first.
    pub lost: u32,
    /// Schedules that could not be dealt with, and why; they stop no others.
    pub stuck: Vec<(String, String)>,
    /// Whether more is due already.
    pub more: bool,
    /// The next slot to come.
    pub next_at: Option<Time>,
}

impl Verbs<'_> {
    /// One look: fires what is due by the store's clock, each schedule in a transaction of its own. Safe beside any
    /// number of others (T1).
    pub async fn fire_due(self) -> Result<Looked> {
        let mut due = self.tenure.store.due_schedules(DUE_MAX).await?;
        let mut looked = Looked {
            now: due.now,
            fired: 0,
            missed: 0,
            lost: 0,
            stuck: Vec::new(),
            more: due.schedules.len() >= DUE_MAX as usize,
            next_at: due.next_at,
        };
        // Each begins somewhere else, so that machines that wake together do not queue up at the same row.
        let count = due.schedules.len();
        let turn = ((self.tenure.around.chance() + 1.0) / 2.0 * count as f64) as usize;
        due.schedules.rotate_left(turn.min(count));
        for schedule in &due.schedules {
            match self.fire_one(schedule, &mut looked).await {
                Ok(()) => {}
                // A store that is gone is gone for all of them.
                Err(gone @ Error::Unavailable { .. }) => return Err(gone),
                Err(error) => looked.stuck.push((schedule.name.clone(), error.to_string())),
            }
        }
        // One that cannot be dealt with stays due: to go on at once for its sake would never end.
        looked.more &= looked.fired + looked.missed + looked.lost > 0;
        Ok(looked)
    }

    async fn fire_one(self, due: &DueSchedule, looked: &mut Looked) -> Result<()> {
        let slots = Calendar::read(&due.cron, &due.zone)?.slots(due.next_at, looked.now);
        let plan = plan(due.catch_up, &slots, looked.now, fire_max(due.payload_bytes));
        let fire = Fire {
            name: due.name.clone(),
            revision: due.revision,
            slots: plan.fire,
            missed: plan.missed,
            missed_at: plan.missed_at,
            next_at: plan.next_at,
        };
        match self.tenure.store.fire(fire).await? {
            Ok(fired) => {
                looked.fired += fired.jobs.len() as u32;
                looked.missed += plan.missed;
            }
            Err(_) => looked.lost += 1,
        }
        looked.more |= plan.next_at.is_some_and(|next| next <= looked.now);
        looked.next_at = [looked.next_at, plan.next_at].into_iter().flatten().min();
        Ok(())
    }

    /// Fires what is due, at its time, until the future is dropped.
    pub async fn keep_scheduling(self) {
        let mut told: BTreeSet<String> = BTreeSet::new();
        let look = || async {
            let begun = tokio::time::Instant::now();
            Ok((self.fire_due().await?, begun.elapsed()))
        };
        let met = |(looked, took): (Looked, Duration)| {
            tell(&looked, &mut told);
            met(&looked, took, self.tenure.around.chance())
        };
        Sweep::new(self.tenure, "schedules", Pace::PROMPT).run(look, met).await;
    }
}

/// What a look that took so long met; `chance` in −1 … 1 keeps many machines apart.
fn met(looked: &Looked, took: Duration, chance: f64) -> Met {
    match looked.next_at {
        _ if looked.more => Met::Full,
        None => Met::Little,
        Some(next_at) => {
            let micros = u64::try_from(next_at.0.saturating_sub(looked.now.0)).unwrap_or(0);
            let slot = Duration::from_micros(micros) + SPREAD.mul_f64((1.0 + chance) / 2.0);
            Met::DueIn(slot.saturating_sub(took).max(WAIT_MIN))
        }
    }
}

/// One line for what was dropped, and one for each schedule that is stuck, not one per look.
fn tell(looked: &Looked, told: &mut BTreeSet<String>) {
    if looked.fired > 0 {
        tracing::debug!(jobs = looked.fired, "fired what was due");
    }
    if looked.missed > 0 {
        tracing::warn!(slots = looked.missed, "slots were missed, and dropped by the policy of their schedule");
    }
    for (name, why) in looked.stuck.iter().filter(|(name, _)| !told.contains(name)) {
        tracing::error!(schedule = name, why, "a schedule cannot be fired");
    }
    *told = looked.stuck.iter().map(|(name, _)| name.clone()).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(next_in_ms: Option<i64>, more: bool, chance: f64) -> Duration {
        let now = Time(5_000_000);
        let next_at = next_in_ms.map(|ms| Time(now.0 + ms * 1_000));
        let looked = Looked { now, fired: 0, missed: 0, lost: 0, stuck: Vec::new(), more, next_at };
        { Pace::PROMPT }.step(met(&looked, Duration::ZERO, chance), chance)
    }

    #[test]
    fn t2_it_wakes_at_the_next_slot_and_at_least_every_second() {
        assert_eq!(looked(Some(300), false, -1.0), Duration::from_millis(300));
        assert_eq!(looked(Some(300), false, 1.0), Duration::from_millis(320));
        assert_eq!(looked(Some(60_000), false, 0.0), Duration::from_secs(1));
        assert_eq!(looked(None, false, 0.0), Duration::from_secs(1));
        assert_eq!(looked(Some(-10), false, -1.0), WAIT_MIN);
    }

    #[test]
    fn t3_what_is_left_is_dealt_with_at_once() {
        assert_eq!(looked(Some(60_000), true, 0.0), Duration::ZERO);
    }
}
