//! The scenarios of schedules: one act each, named after the rule it shows.

use crate::Store;
use crate::conformance::Harness;
use crate::conformance::queue::tools::{START, World};
use std::sync::Arc;
use tenure_core::Time;
use tenure_core::queue::{Claim, Filter, JobId, NewJob, Status};
use tenure_core::retry::Backoff;
use tenure_core::schedule::rules::FIRINGS_KEPT;
use tenure_core::schedule::{CatchUp, Definition, Fire, Fired, Firing, Put, Refused, Schedule};

scenarios! {
    __schedule_scenarios = schedule::scenarios;
    t4_a_schedule_is_kept_as_it_was_put,
    t1_a_due_slot_becomes_a_job,
    t1_a_firing_sent_again_is_refused,
    t1_many_schedulers_fire_a_slot_once,
    t4_a_firing_under_an_older_definition_is_refused,
    t4_a_schedule_put_again_is_another_one,
    t2_nothing_fires_before_its_time,
    a6_a_clock_that_steps_back_fires_nothing_twice,
    a6_a_change_never_goes_back_over_a_fired_slot,
    t3_slots_are_caught_up_in_their_order,
    t3_dropped_slots_are_counted,
    t1_slots_only_go_onward,
    t4_a_resting_schedule_fires_nothing,
    t4_the_same_slots_keep_their_cursor,
    t4_the_same_definition_again_changes_nothing,
    t4_a_change_is_made_over_what_was_seen,
    t4_many_creators_have_one_winner,
    t4_a_removed_schedule_leaves_its_jobs,
    t2_due_schedules_come_the_longest_first,
    t2_a_schedule_can_come_to_its_end,
    x_schedules_are_listed_by_name_in_pages,
    x_the_last_firings_are_kept,
    q2_a_firing_wakes_who_waits,
    t1_two_handles_see_the_same_schedules,
}

/// Minutes after the start.
fn slot(minutes: i64) -> Time {
    Time(START.0 + minutes * 60_000_000)
}

fn definition() -> Definition {
    Definition {
        cron: "* * * * *".to_owned(),
        zone: "UTC".to_owned(),
        catch_up: CatchUp::Latest,
        paused: false,
        job: NewJob::new("q", "tick", r#"{ "n": 1 }"#),
    }
}

fn new(name: &str, definition: Definition) -> Put {
    Put { name: name.to_owned(), definition, revision: None, next_at: Some(slot(1)) }
}

fn over(schedule: &Schedule, definition: Definition, next_at: Time) -> Put {
    Put { name: schedule.name.clone(), definition, revision: Some(schedule.revision), next_at: Some(next_at) }
}

fn firing(schedule: &Schedule, slots: &[Time], next_at: Time) -> Fire {
    Fire {
        name: schedule.name.clone(),
        revision: schedule.revision,
        slots: slots.to_vec(),
        missed: 0,
        missed_at: None,
        next_at: Some(next_at),
    }
}

async fn put<H: Harness>(w: &World<H>, put: Put) -> Schedule {
    w.store.put_schedule(put).await.expect("put").expect("accepted")
}

/// The schedule `s`, first due a minute after the start.
async fn minutely<H: Harness>(w: &World<H>) -> Schedule {
    put(w, new("s", definition())).await
}

async fn fire<H: Harness>(w: &World<H>, fire: Fire) -> Result<Fired, Refused> {
    w.store.fire(fire).await.expect("fire")
}

async fn look<H: Harness>(w: &World<H>) -> Schedule {
    w.store.schedule("s").await.expect("schedule").expect("it is there")
}

async fn jobs(store: &Arc<dyn Store>) -> usize {
    store.jobs(Filter::default(), None, 1_000).await.expect("jobs").items.len()
}

/// A new schedule is kept as it was put, down to every field of its job.
pub async fn t4_a_schedule_is_kept_as_it_was_put<H: Harness>() {
    let w = World::<H>::open().await;
    let backoff = Backoff { initial_ms: 7, factor: 1.5, max_ms: 9_000, jitter: 0.25 };
    let job = NewJob::new("reports", "nightly", "{\"b\" :1,\"a\": [ ]}")
        .priority(-3)
        .attempts_max(9)
        .timeout_ms(5_000)
        .ordering_key("konto/é 42")
        .limit_key("tenant")
        .backoff(backoff);
    let zone = "Europe/Berlin".to_owned();
    let definition = Definition { cron: "30 2 * * *".to_owned(), zone, catch_up: CatchUp::All, paused: true, job };
    let schedule = put(&w, new("s", definition.clone())).await;
    assert_eq!(schedule.definition, definition);
    assert_eq!((schedule.created_at, schedule.updated_at, schedule.next_at), (START, START, Some(slot(1))));
    assert_eq!((schedule.last, schedule.fired, schedule.missed, schedule.missed_at), (None, 0, 0, None));
    assert_eq!(look(&w).await, schedule);
}

/// What is due fires: the job is in the queue, as the definition says, with its slot as `run_at`.
pub async fn t1_a_due_slot_becomes_a_job<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(1)).await;
    let fired = fire(&w, firing(&schedule, &[slot(1)], slot(2))).await.expect("due");
    assert_eq!(fired.at, slot(1));
    let claimed = w.claim(Claim::new("q", "a").max(10)).await;
    assert_eq!(claimed.len(), 1);
    assert_eq!((claimed[0].id, claimed[0].run_at), (fired.jobs[0], slot(1)));
    assert_eq!((claimed[0].kind.as_str(), claimed[0].payload.as_str()), ("tick", r#"{ "n": 1 }"#));
    let after = look(&w).await;
    let last = Firing { slot: slot(1), fired_at: slot(1), job: fired.jobs[0] };
    assert_eq!((after.last, after.fired, after.next_at), (Some(last), 1, Some(slot(2))));
    assert!(after.revision > schedule.revision);
}

/// The same firing sent again, as after a lost reply, is refused and enqueues nothing.
pub async fn t1_a_firing_sent_again_is_refused<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(1)).await;
    let sent = firing(&schedule, &[slot(1)], slot(2));
    fire(&w, sent.clone()).await.expect("due");
    assert_eq!(fire(&w, sent).await, Err(Refused::Changed));
    assert_eq!(jobs(&w.store).await, 1);
}

/// Sixteen schedulers on two handles that looked at the same moment have one winner.
pub async fn t1_many_schedulers_fire_a_slot_once<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(2)).await;
    let handles = [w.store.clone(), w.harness.another().await];
    let schedulers: Vec<_> = (0..16)
        .map(|n| {
            let (store, sent) = (handles[n % 2].clone(), firing(&schedule, &[slot(1), slot(2)], slot(3)));
            tokio::spawn(async move { store.fire(sent).await.expect("fire") })
        })
        .collect();
    let mut won = 0;
    for scheduler in schedulers {
        match scheduler.await.expect("no panic") {
            Ok(fired) => won += fired.jobs.len(),
            Err(refused) => assert_eq!(refused, Refused::Changed),
        }
    }
    assert_eq!((won, jobs(&w.store).await), (2, 2));
}

/// A firing that was made from an older definition is refused.
pub async fn t4_a_firing_under_an_older_definition_is_refused<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(1)).await;
    let other = Definition { job: NewJob::new("q", "other", "2"), ..definition() };
    let changed = put(&w, over(&schedule, other, slot(2))).await;
    assert_eq!(fire(&w, firing(&schedule, &[slot(1)], slot(2))).await, Err(Refused::Changed));
    fire(&w, firing(&changed, &[slot(1)], slot(2))).await.expect("under the new one");
    assert_eq!(w.claim(Claim::new("q", "a")).await[0].kind, "other");
}

/// A schedule that was removed and put again has no revision it had before.
pub async fn t4_a_schedule_put_again_is_another_one<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    assert!(w.store.remove_schedule("s").await.expect("remove"));
    let again = minutely(&w).await;
    assert!(again.revision > schedule.revision);
    w.set(slot(1)).await;
    assert_eq!(fire(&w, firing(&schedule, &[slot(1)], slot(2))).await, Err(Refused::Changed));
}

/// The store's clock decides: what it does not see yet is not fired, one microsecond before neither.
pub async fn t2_nothing_fires_before_its_time<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    assert_eq!(fire(&w, firing(&schedule, &[slot(1)], slot(2))).await, Err(Refused::NotDue));
    w.set(Time(slot(1).0 - 1)).await;
    assert_eq!(fire(&w, firing(&schedule, &[slot(1)], slot(2))).await, Err(Refused::NotDue));
    assert_eq!(w.store.due_schedules(10).await.expect("due").schedules, []);
    w.set(slot(1)).await;
    assert_eq!(fire(&w, firing(&schedule, &[slot(1), slot(2)], slot(3))).await, Err(Refused::NotDue));
    assert_eq!((jobs(&w.store).await, look(&w).await), (0, schedule));
}

/// A clock that steps back makes nothing due that was fired.
pub async fn a6_a_clock_that_steps_back_fires_nothing_twice<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(1)).await;
    fire(&w, firing(&schedule, &[slot(1)], slot(2))).await.expect("due");
    w.set(START).await;
    w.set(slot(1)).await;
    assert_eq!(w.store.due_schedules(10).await.expect("due").schedules, []);
    let now = look(&w).await;
    assert_eq!(fire(&w, firing(&now, &[slot(1)], slot(3))).await, Err(Refused::NotDue));
    w.set(slot(2)).await;
    assert_eq!(fire(&w, firing(&now, &[slot(1)], slot(3))).await, Err(Refused::Behind));
    fire(&w, firing(&now, &[slot(2)], slot(3))).await.expect("the next one is due");
    assert_eq!(jobs(&w.store).await, 2);
}

/// A definition put while the clock is back cannot bring the cursor back over what was fired.
pub async fn a6_a_change_never_goes_back_over_a_fired_slot<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(5)).await;
    fire(&w, firing(&schedule, &[slot(5)], slot(6))).await.expect("due");
    w.set(slot(2)).await;
    let now = look(&w).await;
    let other = Definition { cron: "*/2 * * * *".to_owned(), ..definition() };
    for back in [4, 5] {
        let refused = w.store.put_schedule(over(&now, other.clone(), slot(back))).await.expect("put");
        assert_eq!(refused, Err(Refused::Behind));
    }
    assert_eq!(look(&w).await, now);
    assert_eq!(put(&w, over(&now, other, slot(6))).await.next_at, Some(slot(6)));
}

/// Several slots of one firing are jobs in their order.
pub async fn t3_slots_are_caught_up_in_their_order<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(30)).await;
    let fired = fire(&w, firing(&schedule, &[slot(1), slot(7), slot(8)], slot(9))).await.expect("due");
    let claimed = w.claim(Claim::new("q", "a").max(10)).await;
    let claimed: Vec<(JobId, Time)> = claimed.iter().map(|job| (job.id, job.run_at)).collect();
    assert_eq!(claimed, fired.jobs.iter().copied().zip([slot(1), slot(7), slot(8)]).collect::<Vec<_>>());
    let due = w.store.due_schedules(10).await.expect("due");
    assert_eq!(due.schedules.iter().map(|due| due.next_at).collect::<Vec<_>>(), [slot(9)], "it is still due");
}

/// Dropped slots are counted, with or without something fired beside them.
pub async fn t3_dropped_slots_are_counted<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(10)).await;
    let dropping = Fire { missed: 9, missed_at: Some(slot(9)), ..firing(&schedule, &[slot(10)], slot(11)) };
    fire(&w, dropping).await.expect("due");
    let after = look(&w).await;
    assert_eq!((after.fired, after.missed, after.missed_at), (1, 9, Some(slot(9))));
    w.set(slot(20)).await;
    let fired = fire(&w, Fire { missed: 3, missed_at: Some(slot(13)), ..firing(&after, &[], slot(21)) }).await;
    assert_eq!(fired, Ok(Fired { at: slot(20), jobs: vec![] }));
    let after = look(&w).await;
    assert_eq!((after.fired, after.missed, after.missed_at), (1, 12, Some(slot(13))));
    assert_eq!(after.last.map(|last| last.slot), Some(slot(10)), "the last firing stays");
}

/// Slots that go back, repeat, or lie beyond where the cursor moves to are refused.
pub async fn t1_slots_only_go_onward<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(9)).await;
    for (slots, next) in [
        (vec![slot(0)], slot(9)),
        (vec![slot(3), slot(2)], slot(9)),
        (vec![slot(3), slot(3)], slot(9)),
        (vec![slot(3)], slot(3)),
        (vec![slot(3)], slot(2)),
        (vec![], slot(1)),
    ] {
        assert_eq!(fire(&w, firing(&schedule, &slots, next)).await, Err(Refused::Behind), "{slots:?}");
    }
    let late = Fire { missed: 1, missed_at: Some(slot(4)), ..firing(&schedule, &[slot(3)], slot(9)) };
    assert_eq!(fire(&w, late).await, Err(Refused::Behind));
    assert_eq!((jobs(&w.store).await, look(&w).await), (0, schedule));
}

/// A schedule that rests is neither due nor fired; after its rest it begins where it is told.
pub async fn t4_a_resting_schedule_fires_nothing<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    let resting = put(&w, over(&schedule, Definition { paused: true, ..definition() }, slot(1))).await;
    w.set(slot(5)).await;
    let due = w.store.due_schedules(10).await.expect("due");
    assert_eq!((due.schedules.len(), due.next_at), (0, None));
    assert_eq!(fire(&w, firing(&resting, &[slot(1)], slot(6))).await, Err(Refused::Paused));
    let resumed = put(&w, over(&resting, definition(), slot(6))).await;
    assert_eq!(resumed.next_at, Some(slot(6)), "what came due meanwhile was not wanted");
}

/// A change that leaves the slots as they are leaves the cursor too: what came due is still owed.
pub async fn t4_the_same_slots_keep_their_cursor<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(7)).await;
    let other = Definition { catch_up: CatchUp::All, job: NewJob::new("q", "other", "2"), ..definition() };
    let changed = put(&w, over(&schedule, other, slot(8))).await;
    assert_eq!((changed.next_at, changed.updated_at, changed.created_at), (Some(slot(1)), slot(7), START));
    let moved = Definition { zone: "Asia/Kolkata".to_owned(), ..definition() };
    assert_eq!(put(&w, over(&changed, moved, slot(8))).await.next_at, Some(slot(8)), "other slots begin anew");
}

/// Putting what is there already changes nothing, its revision included: every start of a program may do it.
pub async fn t4_the_same_definition_again_changes_nothing<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(7)).await;
    assert_eq!(put(&w, over(&schedule, definition(), slot(8))).await, schedule);
    assert_eq!(look(&w).await, schedule);
}

/// A change made from an older look, or of one that is gone or there already, is refused.
pub async fn t4_a_change_is_made_over_what_was_seen<H: Harness>() {
    let w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    let other = Definition { cron: "*/2 * * * *".to_owned(), ..definition() };
    let refused = async |put| w.store.put_schedule(put).await.expect("put").expect_err("refused");
    assert_eq!(refused(new("s", other.clone())).await, Refused::Changed);
    let changed = put(&w, over(&schedule, other.clone(), slot(2))).await;
    assert_eq!(refused(over(&schedule, definition(), slot(2))).await, Refused::Changed);
    w.store.remove_schedule("s").await.expect("remove");
    assert_eq!(refused(over(&changed, definition(), slot(2))).await, Refused::Changed);
    assert_eq!(w.store.schedule("s").await.expect("schedule"), None);
}

/// Many who create one schedule at once have one winner.
pub async fn t4_many_creators_have_one_winner<H: Harness>() {
    let w = World::<H>::open().await;
    let handles = [w.store.clone(), w.harness.another().await];
    let creators: Vec<_> = (0..16)
        .map(|n| {
            let store = handles[n % 2].clone();
            tokio::spawn(async move { store.put_schedule(new("s", definition())).await.expect("put").is_ok() })
        })
        .collect();
    let mut won = 0;
    for creator in creators {
        won += usize::from(creator.await.expect("no panic"));
    }
    assert_eq!(won, 1);
}

/// What is removed is gone with its firings; its jobs stay.
pub async fn t4_a_removed_schedule_leaves_its_jobs<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(1)).await;
    let fired = fire(&w, firing(&schedule, &[slot(1)], slot(2))).await.expect("due");
    assert!(w.store.remove_schedule("s").await.expect("remove"));
    assert!(!w.store.remove_schedule("s").await.expect("remove"), "it was gone");
    assert_eq!(w.store.schedule("s").await.expect("schedule"), None);
    assert_eq!(w.store.firings("s", None, 10).await.expect("firings").items, []);
    let now = Fire { revision: schedule.revision, ..firing(&schedule, &[slot(1)], slot(2)) };
    assert_eq!(fire(&w, now).await, Err(Refused::Absent));
    assert_eq!(w.job(fired.jobs[0]).await.status, Status::Queued);
}

/// What is due comes the longest first, as many as asked for, and the next to come is told.
pub async fn t2_due_schedules_come_the_longest_first<H: Harness>() {
    let mut w = World::<H>::open().await;
    for (name, first) in [("a", 3), ("b", 1), ("c", 1), ("d", 9), ("e", 7)] {
        put(&w, Put { next_at: Some(slot(first)), ..new(name, definition()) }).await;
    }
    put(&w, Put { next_at: None, ..new("never", definition()) }).await;
    let names = |due: &tenure_core::schedule::Due| due.schedules.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let due = w.store.due_schedules(10).await.expect("due");
    assert_eq!((due.now, names(&due).len(), due.next_at), (START, 0, Some(slot(1))));
    w.set(slot(3)).await;
    let due = w.store.due_schedules(10).await.expect("due");
    assert_eq!((names(&due), due.next_at), (vec!["b".into(), "c".into(), "a".into()], Some(slot(7))));
    assert_eq!(names(&w.store.due_schedules(2).await.expect("due")), ["b", "c"]);
    let first = &due.schedules[0];
    assert_eq!((first.cron.as_str(), first.zone.as_str(), first.catch_up), ("* * * * *", "UTC", CatchUp::Latest));
    assert_eq!((first.next_at, first.payload_bytes), (slot(1), r#"{ "n": 1 }"#.len() as u64));
}

/// A schedule without a next slot is never due, and lives on.
pub async fn t2_a_schedule_can_come_to_its_end<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(1)).await;
    fire(&w, Fire { next_at: None, ..firing(&schedule, &[slot(1)], slot(2)) }).await.expect("due");
    w.set(slot(1_000)).await;
    let due = w.store.due_schedules(10).await.expect("due");
    assert_eq!((due.schedules.len(), due.next_at), (0, None));
    let now = look(&w).await;
    assert_eq!(fire(&w, firing(&now, &[slot(2)], slot(3))).await, Err(Refused::NotDue));
}

/// Schedules are listed by name, in pages, whole.
pub async fn x_schedules_are_listed_by_name_in_pages<H: Harness>() {
    let w = World::<H>::open().await;
    for name in ["b", "a", "C", "a:1", "a-1"] {
        put(&w, new(name, definition())).await;
    }
    let page = async |after: Option<&str>| w.store.schedules(after, 2).await.expect("schedules");
    let first = page(None).await;
    assert_eq!(first.items.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["C", "a"]);
    let second = page(Some("a")).await;
    assert_eq!(second.items.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["a-1", "a:1"]);
    let last = page(Some("a:1")).await;
    assert_eq!((first.more, second.more, last.more, last.items.len()), (true, true, false, 1));
    assert_eq!(w.store.schedule("b").await.expect("schedule").as_ref(), last.items.first());
}

/// The last firings are kept, newest first, in pages; older ones go.
pub async fn x_the_last_firings_are_kept<H: Harness>() {
    let mut w = World::<H>::open().await;
    let mut schedule = minutely(&w).await;
    w.set(slot(1_000)).await;
    let mut all = Vec::new();
    for n in 0..3 {
        let slots: Vec<Time> = (1 + n * 50..=(n + 1) * 50).map(slot).collect();
        let fired = fire(&w, firing(&schedule, &slots, slot((n + 1) * 50 + 1))).await.expect("due");
        all.extend(slots.iter().zip(&fired.jobs).map(|(slot, job)| Firing {
            slot: *slot,
            fired_at: fired.at,
            job: *job,
        }));
        schedule = look(&w).await;
    }
    all.reverse();
    all.truncate(FIRINGS_KEPT);
    let first = w.store.firings("s", None, 60).await.expect("firings");
    let second = w.store.firings("s", first.items.last().map(|last| last.slot), 60).await.expect("firings");
    assert_eq!((first.more, second.more), (true, false));
    assert_eq!([first.items, second.items].concat(), all);
    assert_eq!((schedule.fired, schedule.last), (150, Some(all[0])));
}

/// A firing wakes whoever waits for its queue.
pub async fn q2_a_firing_wakes_who_waits<H: Harness>() {
    let mut w = World::<H>::open().await;
    let schedule = minutely(&w).await;
    w.set(slot(1)).await;
    let mut listener = w.store.signals().listen(vec!["q".to_owned()]);
    fire(&w, firing(&schedule, &[slot(1)], slot(2))).await.expect("due");
    let woken = tokio::time::timeout(std::time::Duration::from_secs(20), listener.woken()).await;
    assert!(woken.is_ok(), "no hint came");
}

/// Two handles are one set of schedules.
pub async fn t1_two_handles_see_the_same_schedules<H: Harness>() {
    let mut w = World::<H>::open().await;
    let other = w.harness.another().await;
    let schedule = minutely(&w).await;
    assert_eq!(other.schedule("s").await.expect("schedule").as_ref(), Some(&schedule));
    w.set(slot(1)).await;
    other.fire(firing(&schedule, &[slot(1)], slot(2))).await.expect("fire").expect("due");
    assert_eq!(fire(&w, firing(&schedule, &[slot(1)], slot(2))).await, Err(Refused::Changed));
}
