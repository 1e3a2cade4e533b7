//! What may happen to one schedule.

use super::request::{CatchUp, Definition, Fire, Refused, Slots};
use crate::bounds;
use crate::time::Time;

/// Slots fired in one transaction: it stays short, and its jobs stay below a bulk call.
pub const FIRE_MAX: usize = 100;
/// Slots that [`CatchUp::All`] catches up with at most: a per-minute schedule's last seventeen hours.
pub const CATCH_UP_MAX: usize = 1_000;
/// Missed slots that are looked at one by one, and counted exactly.
pub const SLOTS_SEEN_MAX: usize = 10_000;
/// Under [`CatchUp::None`] a slot this old is missed.
pub const LATE_MS: u64 = 60_000;
/// Firings that are kept with their schedule, to be looked at.
pub const FIRINGS_KEPT: usize = 100;

/// What to do about the slots that are due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// To fire now, oldest first.
    pub fire: Vec<Time>,
    /// How many are dropped.
    pub missed: u32,
    /// The last of these.
    pub missed_at: Option<Time>,
    /// Where the cursor moves to.
    pub next_at: Option<Time>,
}

/// Applies the policy to what is due (T3); `max` slots at most are fired at once.
#[must_use]
pub fn plan(catch_up: CatchUp, slots: &Slots, now: Time, max: usize) -> Plan {
    let due = &slots.due;
    let wanted = match catch_up {
        CatchUp::All => due.len().min(CATCH_UP_MAX),
        CatchUp::Latest => due.len().min(1),
        CatchUp::None => due.last().filter(|slot| now.ms_since(**slot) < LATE_MS).map_or(0, |_| 1),
    };
    let (missed, wanted) = due.split_at(due.len() - wanted);
    let (fire, later) = wanted.split_at(wanted.len().min(max.max(1)));
    Plan {
        fire: fire.to_vec(),
        missed: u32::try_from(missed.len()).unwrap_or(u32::MAX),
        missed_at: missed.last().copied(),
        next_at: later.first().copied().or(slots.next),
    }
}

/// Slots that may be fired in one transaction, for jobs with so large a payload.
#[must_use]
pub fn fire_max(payload_bytes: u64) -> usize {
    let payload_bytes = usize::try_from(payload_bytes).unwrap_or(usize::MAX).max(1);
    (bounds::BULK_BYTES_MAX / payload_bytes).clamp(1, FIRE_MAX)
}

/// A schedule as far as a firing is judged by it.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Its revision.
    pub revision: i64,
    /// Whether it rests.
    pub paused: bool,
    /// Its cursor.
    pub next_at: Option<Time>,
}

/// Whether a firing is accepted (T1, T2); the first that applies is the answer.
pub fn judge(standing: Standing, fire: &Fire, now: Time) -> Result<(), Refused> {
    if standing.revision != fire.revision {
        return Err(Refused::Changed);
    }
    if standing.paused {
        return Err(Refused::Paused);
    }
    let cursor = standing.next_at.filter(|cursor| *cursor <= now).ok_or(Refused::NotDue)?;
    let touched = || fire.slots.iter().copied().chain(fire.missed_at);
    if touched().any(|slot| slot > now) {
        return Err(Refused::NotDue);
    }
    let onward = fire.slots.windows(2).all(|pair| pair[0] < pair[1])
        && touched().all(|slot| slot >= cursor)
        && fire.missed_at.zip(fire.slots.first()).is_none_or(|(missed, first)| missed < *first)
        && fire.next_at.is_none_or(|next| next > cursor && touched().all(|slot| slot < next));
    if onward { Ok(()) } else { Err(Refused::Behind) }
}

/// Whether a change leaves the cursor where it is (T4): the same slots go on, and those that came due meanwhile are
/// still owed. Other slots, or the end of a rest, begin after now.
#[must_use]
pub fn keeps_cursor(before: &Definition, after: &Definition) -> bool {
    let resumed = before.paused && !after.paused;
    before.cron == after.cron && before.zone == after.zone && !resumed
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_000_000_000);

    fn slots(due: impl IntoIterator<Item = i64>) -> Slots {
        Slots { due: due.into_iter().map(Time).collect(), next: Some(Time(NOW.0 + 1)) }
    }

    /// A slot each second, the last of `count` at now.
    fn seconds(count: i64) -> Slots {
        slots((0..count).map(|n| NOW.0 - (count - 1 - n) * 1_000_000))
    }

    #[test]
    fn t3_one_due_slot_is_fired_under_every_policy() {
        for policy in CatchUp::ALL {
            let plan = plan(*policy, &seconds(1), NOW, FIRE_MAX);
            assert_eq!((plan.fire, plan.missed, plan.next_at), (vec![NOW], 0, Some(Time(NOW.0 + 1))), "{policy}");
        }
    }

    #[test]
    fn t3_latest_drops_all_but_the_last_and_counts_them() {
        let plan = plan(CatchUp::Latest, &seconds(5), NOW, FIRE_MAX);
        assert_eq!((plan.fire, plan.missed, plan.missed_at), (vec![NOW], 4, Some(Time(NOW.0 - 1_000_000))));
    }

    #[test]
    fn t3_none_drops_a_slot_that_is_a_minute_old() {
        let late = |ms: i64| plan(CatchUp::None, &slots([NOW.0 - ms * 1_000]), NOW, FIRE_MAX);
        assert_eq!(late(59_999).fire.len(), 1);
        assert_eq!((late(60_000).fire, late(60_000).missed), (vec![], 1));
        assert_eq!(late(60_000).next_at, Some(Time(NOW.0 + 1)), "the cursor moves on");
    }

    #[test]
    fn t3_all_goes_on_where_the_last_step_ended() {
        let slots = seconds(250);
        let first = plan(CatchUp::All, &slots, NOW, FIRE_MAX);
        assert_eq!((first.fire.len(), first.missed), (100, 0));
        assert_eq!((first.fire[0], first.next_at), (slots.due[0], Some(slots.due[100])));
    }

    #[test]
    fn t3_all_catches_up_with_the_last_thousand() {
        let slots = seconds(1_003);
        let first = plan(CatchUp::All, &slots, NOW, FIRE_MAX);
        assert_eq!((first.missed, first.missed_at, first.fire[0]), (3, Some(slots.due[2]), slots.due[3]));
    }

    #[test]
    fn nothing_due_only_moves_the_cursor() {
        let plan = plan(CatchUp::All, &slots([]), NOW, FIRE_MAX);
        assert_eq!(plan, Plan { next_at: Some(Time(NOW.0 + 1)), ..Plan::default() });
    }

    #[test]
    fn x_large_payloads_are_fired_fewer_at_a_time() {
        assert_eq!((fire_max(0), fire_max(100), fire_max(1 << 20), fire_max(u64::MAX)), (100, 100, 16, 1));
    }

    fn fire(slots: &[i64], next: i64) -> Fire {
        let slots = slots.iter().copied().map(Time).collect();
        Fire { name: "s".into(), revision: 7, slots, missed: 0, missed_at: None, next_at: Some(Time(next)) }
    }

    #[test]
    fn t1_a_firing_is_judged_by_revision_rest_clock_and_cursor() {
        let standing = Standing { revision: 7, paused: false, next_at: Some(Time(10)) };
        let judged = |standing, fire: &Fire, now| judge(standing, fire, Time(now));
        assert_eq!(judged(standing, &fire(&[10, 20], 30), 20), Ok(()));
        assert_eq!(judged(Standing { revision: 8, ..standing }, &fire(&[10], 20), 10), Err(Refused::Changed));
        assert_eq!(judged(Standing { paused: true, ..standing }, &fire(&[10], 20), 10), Err(Refused::Paused));
        assert_eq!(judged(standing, &fire(&[10], 20), 9), Err(Refused::NotDue), "a clock that stepped back");
        assert_eq!(judged(standing, &fire(&[10, 20], 30), 19), Err(Refused::NotDue));
        assert_eq!(judged(Standing { next_at: None, ..standing }, &fire(&[10], 20), 10), Err(Refused::NotDue));
        for (slots, next) in [(vec![9], 30), (vec![20, 10], 30), (vec![10, 10], 30), (vec![10], 10), (vec![], 10)] {
            assert_eq!(judged(standing, &fire(&slots, next), 20), Err(Refused::Behind), "{slots:?} {next}");
        }
        let missed = Fire { missed: 1, missed_at: Some(Time(15)), ..fire(&[12], 30) };
        assert_eq!(judged(standing, &missed, 20), Err(Refused::Behind), "what is dropped is older");
    }
}
