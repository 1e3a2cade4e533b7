//! What the library promises about one schedule: policies, changes, rests and refusals, on a clock that the test moves.

use tenure::schedule::{CatchUp, NewSchedule};
use tenure::{Filter, NewJob, Tenure, Time};
use tenure_memory::MemoryStore;
use tenure_store::Clock;

/// 2026-01-01T00:00:00Z.
const START: Time = Time(1_767_225_600_000_000);

fn minute(n: i64) -> Time {
    Time(START.0 + n * 60_000_000)
}

fn open() -> (Tenure, Clock) {
    let clock = Clock::manual(START);
    (Tenure::on(MemoryStore::with_clock(clock.clone())), clock)
}

fn every_minute(catch_up: CatchUp) -> NewSchedule {
    NewSchedule::new("s", "* * * * *", NewJob::new("q", "tick", "1")).catch_up(catch_up)
}

/// The slots that have become jobs, oldest first.
async fn fired(tenure: &Tenure) -> Vec<Time> {
    while tenure.verbs().fire_due().await.unwrap().more {}
    let jobs = tenure.verbs().jobs(Filter::default(), None, 1_000).await.unwrap().items;
    jobs.iter().rev().map(|job| job.run_at).collect()
}

async fn missed(tenure: &Tenure) -> (u64, Option<Time>) {
    let schedule = tenure.verbs().schedule("s").await.unwrap().unwrap();
    (schedule.missed, schedule.missed_at)
}

#[tokio::test]
async fn t3_latest_fires_the_last_missed_slot_once() {
    let (tenure, clock) = open();
    tenure.verbs().put_schedule(every_minute(CatchUp::Latest)).await.unwrap();
    clock.set(Time(minute(30).0 + 5));
    assert_eq!(fired(&tenure).await, [minute(30)]);
    assert_eq!(missed(&tenure).await, (29, Some(minute(29))));
}

#[tokio::test]
async fn t3_none_fires_only_what_is_on_time() {
    let (tenure, clock) = open();
    tenure.verbs().put_schedule(every_minute(CatchUp::None)).await.unwrap();
    clock.set(Time(minute(30).0 + 59_999_999));
    assert_eq!(fired(&tenure).await, [minute(30)], "the last one is on time");
    let hourly = NewSchedule { cron: "@hourly".into(), ..every_minute(CatchUp::None) };
    tenure.verbs().put_schedule(hourly).await.unwrap();
    clock.set(minute(61));
    assert_eq!(fired(&tenure).await, [minute(30)], "a minute late is missed");
    assert_eq!(missed(&tenure).await, (30, Some(minute(60))));
}

#[tokio::test]
async fn t3_all_fires_each_and_of_very_many_the_last_thousand() {
    let (tenure, clock) = open();
    tenure.verbs().put_schedule(every_minute(CatchUp::All)).await.unwrap();
    clock.set(minute(250));
    assert_eq!(fired(&tenure).await, (1..=250).map(minute).collect::<Vec<_>>());
    assert_eq!(missed(&tenure).await, (0, None));
    clock.set(minute(1_500));
    while tenure.verbs().fire_due().await.unwrap().more {}
    let schedule = tenure.verbs().schedule("s").await.unwrap().unwrap();
    assert_eq!((schedule.fired, schedule.missed, schedule.missed_at), (1_250, 250, Some(minute(500))));
}

#[tokio::test]
async fn t4_putting_it_again_after_an_absence_still_catches_up() {
    let (tenure, clock) = open();
    tenure.verbs().put_schedule(every_minute(CatchUp::All)).await.unwrap();
    clock.set(minute(3));
    let other = NewSchedule { job: NewJob::new("q", "other", "2"), ..every_minute(CatchUp::All) };
    tenure.verbs().put_schedule(other).await.unwrap();
    assert_eq!(fired(&tenure).await, [minute(1), minute(2), minute(3)]);
    let jobs = tenure.verbs().jobs(Filter::default(), None, 10).await.unwrap().items;
    assert!(jobs.iter().all(|job| job.kind == "other"), "under the definition that is there when they are fired");
}

#[tokio::test]
async fn t4_other_slots_begin_after_now_and_a_rest_is_not_missed() {
    let (tenure, clock) = open();
    tenure.verbs().put_schedule(every_minute(CatchUp::All)).await.unwrap();
    clock.set(minute(10));
    let twice = NewSchedule { cron: "*/2  * * * *".into(), ..every_minute(CatchUp::All) };
    let changed = tenure.verbs().put_schedule(twice.clone()).await.unwrap();
    assert_eq!((changed.next_at, changed.definition.cron.as_str()), (Some(minute(12)), "*/2 * * * *"));
    tenure.verbs().pause_schedule("s").await.unwrap().unwrap();
    clock.set(minute(21));
    assert_eq!(fired(&tenure).await, []);
    // What a program puts does not end the rest that an operator asked for.
    assert!(tenure.verbs().put_schedule(twice).await.unwrap().definition.paused);
    assert_eq!(tenure.verbs().resume_schedule("s").await.unwrap().unwrap().next_at, Some(minute(22)));
    clock.set(minute(22));
    assert_eq!((fired(&tenure).await, missed(&tenure).await), (vec![minute(22)], (0, None)));
    assert_eq!(tenure.verbs().pause_schedule("other").await.unwrap(), None);
}

#[tokio::test]
async fn a6_a_clock_that_steps_back_and_on_fires_nothing_twice() {
    let (tenure, clock) = open();
    tenure.verbs().put_schedule(every_minute(CatchUp::All)).await.unwrap();
    clock.set(minute(60));
    assert_eq!(fired(&tenure).await.len(), 60);
    clock.set(minute(0));
    assert_eq!(fired(&tenure).await.len(), 60);
    // Put with other slots while the clock is back: what was fired stays fired.
    let twice = NewSchedule { cron: "*/2 * * * *".into(), ..every_minute(CatchUp::All) };
    assert_eq!(tenure.verbs().put_schedule(twice).await.unwrap().next_at, Some(minute(62)));
    clock.set(minute(62));
    assert_eq!(fired(&tenure).await.len(), 61);
}

#[tokio::test]
async fn x_what_makes_no_sense_is_refused_by_field() {
    let (tenure, _clock) = open();
    let good = every_minute(CatchUp::Latest);
    let job = || NewJob::new("q", "k", "1");
    for (bad, field) in [
        (NewSchedule { name: "a b".into(), ..good.clone() }, "name"),
        (NewSchedule { cron: "* * *".into(), ..good.clone() }, "cron"),
        (NewSchedule { cron: "1,".repeat(200), ..good.clone() }, "cron"),
        (NewSchedule { cron: "é * * * *".into(), ..good.clone() }, "cron"),
        (NewSchedule { zone: "Mars".into(), ..good.clone() }, "zone"),
        (NewSchedule { zone: "x".repeat(65), ..good.clone() }, "zone"),
        (NewSchedule { job: NewJob::new("", "k", "1"), ..good.clone() }, "job.queue"),
        (NewSchedule { job: NewJob::new("q", "k", "{"), ..good.clone() }, "job.payload"),
        (NewSchedule { job: job().run_at(START), ..good.clone() }, "job.run_at"),
        (NewSchedule { job: job().key("k"), ..good.clone() }, "job.key"),
    ] {
        match tenure.verbs().put_schedule(bad).await.unwrap_err() {
            tenure::Error::Invalid(refused) => assert_eq!(refused.field, field, "{refused}"),
            other => panic!("{field}: {other}"),
        }
    }
    assert!(tenure.verbs().schedules(None, 10).await.unwrap().items.is_empty());
}

#[tokio::test(start_paused = true)]
async fn t2_keep_scheduling_wakes_at_the_slot() {
    let (tenure, clock) = open();
    let each_second = NewSchedule::new("s", "* * * * * *", NewJob::new("q", "tick", "1"));
    tenure.verbs().put_schedule(each_second).await.unwrap();
    // The runtime's clock is moved by the runtime, and the store's follows it.
    let begun = tokio::time::Instant::now();
    let follow = async {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            clock.set(Time(START.0 + begun.elapsed().as_micros() as i64));
        }
    };
    let until = tokio::time::sleep(std::time::Duration::from_millis(10_500));
    tokio::select! { () = follow => {}, () = tenure.verbs().keep_scheduling() => {}, () = until => {} }
    let firings = tenure.verbs().firings("s", None, 100).await.unwrap().items;
    assert_eq!(firings.len(), 10);
    for firing in firings {
        let late_ms = firing.fired_at.ms_since(firing.slot);
        assert!(late_ms < 30, "{late_ms} ms after the slot, of which 20 are spread");
    }
}
