//! Who did it, and what was changed about settings (L8).

use super::Harness;
use super::tools::{World, complete, plain};
use crate::Store;
use std::sync::Arc;
use tenure_core::Actor;
use tenure_core::changes::{CHANGES_KEPT, CHANGES_KEPT_MS, Changed, Face, Subject, What as Noted};
use tenure_core::domain::{Acquire, Skip, What as DomainWhat};
use tenure_core::pipeline::{self, Definition as Pipeline, NewRun, RunAction, Stage};
use tenure_core::queue::{Action, Change, Claim, JobId, LaneOnFailure, NewJob, Operation, Rate, What};
use tenure_core::schedule::{CatchUp, Definition, Put, Refused, Schedule};
use tenure_core::sync::{NewChunk, Plan, SyncClaim, What as SyncWhat};

scenarios! {
    __queue_actors = queue::actors;
    l8_an_act_on_a_job_names_its_actor,
    l8_a_handle_that_was_not_told_acts_for_an_unnamed_program,
    l8_a_change_of_a_queue_tells_what_was_and_what_is,
    l8_a_change_of_the_engine_names_its_actor,
    l8_a_change_of_a_schedule_names_its_actor,
    l8_an_act_on_a_domain_names_its_actor,
    l8_an_act_on_a_sync_names_its_actor,
    l8_an_act_on_a_run_names_its_actor,
    l8_a_repair_names_its_actor,
    l8_the_last_hundred_changes_are_kept,
    i19_changes_past_their_days_are_forgotten,
    l8_work_is_no_change,
}

const ANN: &str = "cli:ann@desk";
const WEB: &str = "http:127.0.0.1";

/// A handle of the store through which `name` acts.
fn acting<H: Harness>(w: &World<H>, name: &str) -> Arc<dyn Store> {
    w.store.acting_as(Actor::new(name).expect("a name"))
}

async fn operate(store: &Arc<dyn Store>, job: JobId, action: Action) {
    let answers = store.operate(vec![Operation { job, action }]).await.expect("operate");
    answers[0].as_ref().expect("it is in a state for it");
}

fn cancel(force: bool) -> Action {
    Action::Cancel { reason: Some("why".to_owned()), force }
}

async fn changes(store: &Arc<dyn Store>, face: Face, name: &str) -> Vec<Changed> {
    store.changes(Subject::new(face, name)).await.expect("changes")
}

/// Who, which setting, from what to what; `none` is none.
fn told(changes: &[Changed]) -> Vec<String> {
    let one = |changed: &Changed| {
        let what = changed.difference.as_ref().map_or(changed.what.to_string(), ToString::to_string);
        format!("{} {what}", changed.by)
    };
    changes.iter().map(one).collect()
}

/// Cancel, force and retry are told with who did it; what holders do names them as before, and nobody else.
pub async fn l8_an_act_on_a_job_names_its_actor<H: Harness>() {
    let w = World::<H>::open().await;
    let (ann, web) = (acting(&w, ANN), acting(&w, WEB));
    let waiting = w.enqueue(plain()).await;
    operate(&ann, waiting, cancel(false)).await;
    operate(&web, waiting, Action::Retry).await;
    let by: Vec<_> = w.events(waiting).await.into_iter().map(|event| (event.what, event.by)).collect();
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(by, [(What::Cancelled, named(ANN)), (What::RetriedByOperator, named(WEB))]);
    let grip = w.take("worker").await;
    operate(&web, grip.id, cancel(false)).await;
    operate(&ann, grip.id, cancel(true)).await;
    let _ = w.finish(&grip, complete()).await;
    let events = w.events(waiting).await;
    let by: Vec<_> =
        events[2..].iter().map(|event| (event.what, event.owner.as_deref(), event.by.as_deref())).collect();
    let worker = Some("worker");
    let expected = [
        (What::CancelRequested, worker, Some(WEB)),
        (What::Cancelled, worker, Some(ANN)),
        (What::Refused, worker, None),
    ];
    assert_eq!(by, expected);
    assert!(events[3].message().contains(ANN), "{}", events[3].message());
}

/// A handle that was not told whose it is acts for a program without a name.
pub async fn l8_a_handle_that_was_not_told_acts_for_an_unnamed_program<H: Harness>() {
    let w = World::<H>::open().await;
    let id = w.enqueue(plain()).await;
    operate(&w.store, id, cancel(false)).await;
    assert_eq!(w.events(id).await[0].by.as_deref(), Some("lib:"));
}

/// Every setting of a queue: what it was, what it is, and by whom, in the order of the changes.
pub async fn l8_a_change_of_a_queue_tells_what_was_and_what_is<H: Harness>() {
    let mut w = World::<H>::open().await;
    let (ann, web) = (acting(&w, ANN), acting(&w, WEB));
    assert_eq!(changes(&ann, Face::Queue, "q").await, []);
    let pause = |paused| Change { paused: Some(paused), ..Change::default() };
    ann.change("q", pause(true)).await.expect("change");
    w.pass_ms(5).await;
    web.change("q", pause(false)).await.expect("change");
    let all = Change {
        paused: Some(false),
        max_running: Some(Some(5)),
        max_running_per_key: Some(Some(2)),
        lane_on_failure: Some(Some(LaneOnFailure::Block)),
        retention_ms: Some(Some(0)),
        rate_limit: Some(Some(Rate { max: 7, period_ms: 1_000 })),
        rate_limit_per_key: Some(Some(Rate { max: 1, period_ms: 60_000 })),
    };
    ann.change("q", all).await.expect("change");
    // What is as it was leaves nothing.
    web.change("q", all).await.expect("change");
    web.change("q", Change { max_running: Some(None), retention_ms: Some(None), ..Change::default() })
        .await
        .expect("change");
    let changes = changes(&w.store, Face::Queue, "q").await;
    let expected = [
        "cli:ann@desk paused from false to true",
        "http:127.0.0.1 paused from true to false",
        "cli:ann@desk max_running from none to 5",
        "cli:ann@desk max_running_per_key from none to 2",
        "cli:ann@desk lane_on_failure from continue to block",
        "cli:ann@desk retention_ms from 604800000 to 0",
        "cli:ann@desk rate_limit from none to 7 in 1000 ms",
        "cli:ann@desk rate_limit_per_key from none to 1 in 60000 ms",
        "http:127.0.0.1 max_running from 5 to none",
        "http:127.0.0.1 retention_ms from 0 to 604800000",
    ];
    assert_eq!(told(&changes), expected);
    assert_eq!((changes[0].at.plus_ms(5), changes[1].at), (w.now, w.now));
    assert!(changes.iter().all(|changed| changed.what == Noted::Changed));
}

/// The limit of the engine and the epoch of its tokens are the store's.
pub async fn l8_a_change_of_the_engine_names_its_actor<H: Harness>() {
    let w = World::<H>::open().await;
    let (ann, web) = (acting(&w, ANN), acting(&w, WEB));
    ann.set_limit(Some(3)).await.expect("limit");
    ann.set_limit(Some(3)).await.expect("limit");
    web.set_limit(None).await.expect("limit");
    let before = w.store.epoch().await.expect("epoch").count;
    web.new_epoch().await.expect("raised");
    let changes = w.store.changes(Subject::store()).await.expect("changes");
    let raised = format!("{WEB} epoch from {before} to {}", before + 1);
    let mine: Vec<String> = told(&changes).into_iter().filter(|told| !told.starts_with("store ")).collect();
    let expected = ["cli:ann@desk max_running from none to 3", "http:127.0.0.1 max_running from 3 to none", &raised];
    assert_eq!(mine, expected);
}

fn definition() -> Definition {
    Definition {
        cron: "* * * * *".to_owned(),
        zone: "UTC".to_owned(),
        catch_up: CatchUp::Latest,
        paused: false,
        job: NewJob::new("q", "tick", r#"{"n":1}"#),
    }
}

async fn put(store: &Arc<dyn Store>, over: Option<&Schedule>, definition: Definition) -> Result<Schedule, Refused> {
    let revision = over.map(|schedule| schedule.revision);
    let put = Put { name: "s".to_owned(), definition, revision, next_at: None };
    store.put_schedule(put).await.expect("put")
}

/// Put, changed, paused, removed; what was refused or the same leaves nothing. The changes outlive the schedule.
pub async fn l8_a_change_of_a_schedule_names_its_actor<H: Harness>() {
    let w = World::<H>::open().await;
    let (ann, web) = (acting(&w, ANN), acting(&w, WEB));
    let first = put(&ann, None, definition()).await.expect("new");
    assert_eq!(put(&web, Some(&first), definition()).await.as_ref(), Ok(&first));
    let mut other = definition();
    other.zone = "Europe/Berlin".to_owned();
    // Payloads are not repeated: they may hold what should not outlive them.
    other.job = NewJob::new("q", "tick", r#"{"n":2}"#).ordering_key("é".repeat(128));
    let second = put(&web, Some(&first), other.clone()).await.expect("changed");
    assert_eq!(put(&ann, Some(&first), definition()).await, Err(Refused::Changed));
    other.paused = true;
    put(&ann, Some(&second), other).await.expect("paused");
    assert!(web.remove_schedule("s").await.expect("removed"));
    assert!(!web.remove_schedule("s").await.expect("gone"));
    let key = format!("{WEB} job.ordering_key from none to {}", "é".repeat(128));
    let expected = [
        "cli:ann@desk created",
        "http:127.0.0.1 zone from UTC to Europe/Berlin",
        "http:127.0.0.1 job.payload from 7 bytes to 7 bytes",
        &key,
        "cli:ann@desk paused from false to true",
        "http:127.0.0.1 removed",
    ];
    assert_eq!(told(&changes(&w.store, Face::Schedule, "s").await), expected);
}

/// Settings of a domain, and an offset that is skipped wherever it stands.
pub async fn l8_an_act_on_a_domain_names_its_actor<H: Harness>() {
    let w = World::<H>::open().await;
    let (ann, web) = (acting(&w, ANN), acting(&w, WEB));
    w.store.domain_acquire(vec![Acquire::new("d", 1).holder("worker")]).await.expect("acquire");
    ann.domain_skip(vec![Skip::new("d", 1), Skip::new("d", 7)]).await.expect("skip");
    let change = |max_retries, takeovers_max| tenure_core::domain::Change { max_retries, takeovers_max };
    web.domain_change("d", change(Some(Some(0)), None)).await.expect("change");
    ann.domain_change("d", change(Some(None), Some(Some(9)))).await.expect("change");
    ann.domain_change("d", change(Some(Some(3)), Some(Some(9)))).await.expect("change");
    let events = w.store.domain_events("d").await.expect("events");
    let skipped: Vec<_> =
        events.iter().map(|event| (event.what, event.holder.as_deref(), event.by.as_deref())).collect();
    let expected = [(DomainWhat::Skipped, Some("worker"), Some(ANN)), (DomainWhat::Skipped, None, Some(ANN))];
    assert_eq!(skipped, expected);
    let expected = [
        "http:127.0.0.1 max_retries from 3 to 0",
        "cli:ann@desk max_retries from 0 to 3",
        "cli:ann@desk takeovers_max from none to 9",
    ];
    assert_eq!(told(&changes(&w.store, Face::Domain, "d").await), expected);
}

/// Who cancelled a sync. Of its holder the event of the act tells nothing new.
pub async fn l8_an_act_on_a_sync_names_its_actor<H: Harness>() {
    let w = World::<H>::open().await;
    let web = acting(&w, WEB);
    let plan = Plan::new("m").chunks([NewChunk::new("a")]);
    let sync = w.store.plan_sync(plan).await.expect("plan").expect("no other pass").id;
    w.store.claim_sync(SyncClaim::new("worker")).await.expect("claim").expect("it waits");
    web.cancel_sync(sync, Some("why".to_owned())).await.expect("cancel").expect("it runs");
    let events = w.store.sync_events(sync, 10).await.expect("events");
    let by: Vec<_> = events.iter().map(|event| (event.what, event.by.as_deref())).collect();
    assert_eq!(by, [(SyncWhat::Cancelled, Some(WEB))]);
    assert!(events[0].message().contains(WEB), "{}", events[0].message());
}

/// A version put on record; a run paused, resumed, cancelled, tried again and begun anew from a stage.
pub async fn l8_an_act_on_a_run_names_its_actor<H: Harness>() {
    use pipeline::What::{Cancelled, Paused, Resumed, RetriedByOperator};
    let w = World::<H>::open().await;
    let (ann, web) = (acting(&w, ANN), acting(&w, WEB));
    let definition = || Pipeline::new("p").stage(Stage::new("a"));
    ann.apply_pipeline(definition()).await.expect("apply").expect("new");
    web.apply_pipeline(definition()).await.expect("apply").expect("the same");
    let run = w.store.start_run(NewRun::new("p", "1")).await.expect("start").expect("on record");
    w.store.advance_runs(10).await.expect("advance");
    w.store.claim_units(pipeline::Claim::new("p", "a", "worker")).await.expect("claim");
    let acts = [
        (&ann, RunAction::Pause),
        (&web, RunAction::Resume),
        (&ann, RunAction::Cancel { reason: None }),
        (&web, RunAction::Retry),
        (&ann, RunAction::Cancel { reason: None }),
        (&ann, RunAction::RetryFrom { stage: "a".to_owned() }),
    ];
    for (store, action) in acts {
        store.operate_run(run, action).await.expect("operate").expect("in a state for it");
    }
    let events = w.store.run_history(run, 100).await.expect("history").events;
    let by: Vec<_> = events.iter().map(|event| (event.what, event.owner.as_deref(), event.by.as_deref())).collect();
    let expected = [
        (Paused, None, Some(ANN)),
        (Resumed, None, Some(WEB)),
        (Cancelled, None, Some(ANN)),
        // What that meant for the holder.
        (Cancelled, Some("worker"), None),
        (RetriedByOperator, None, Some(WEB)),
        (Cancelled, None, Some(ANN)),
        (RetriedByOperator, None, Some(ANN)),
    ];
    assert_eq!(by, expected);
    let changes = changes(&w.store, Face::Pipeline, "p").await;
    assert_eq!(told(&changes), ["cli:ann@desk version from none to 1"]);
    assert_eq!(changes[0].what, Noted::Created);
}

/// An artifact that is gone is repaired by somebody.
pub async fn l8_a_repair_names_its_actor<H: Harness>() {
    let w = World::<H>::open().await;
    let web = acting(&w, WEB);
    w.store.apply_pipeline(Pipeline::new("p").stage(Stage::new("a"))).await.expect("apply").expect("new");
    let run = w.store.start_run(NewRun::new("p", "1")).await.expect("start").expect("on record");
    w.store.advance_runs(10).await.expect("advance");
    let claims = w.store.claim_units(pipeline::Claim::new("p", "a", "worker")).await.expect("claim");
    let unit = &claims.expect("on record").units[0];
    let act = pipeline::Act::Complete { output: None, record: None };
    let key = pipeline::UnitKey::stage(run, "a");
    let ending = pipeline::Ending { unit: key, owner: "worker".to_owned(), token: unit.token, act };
    w.store.finish_unit(ending).await.expect("finish").expect("held");
    w.store.advance_runs(10).await.expect("advance");
    let repair = RunAction::Repair { units: vec![("a".to_owned(), None)] };
    web.operate_run(run, repair).await.expect("operate").expect("it is done");
    let events = w.store.run_history(run, 100).await.expect("history").events;
    let last = events.last().expect("an event");
    assert_eq!((last.what, last.by.as_deref()), (pipeline::What::Repaired, Some(WEB)));
}

/// Of one queue the last hundred changes are kept, of another its own.
pub async fn l8_the_last_hundred_changes_are_kept<H: Harness>() {
    let w = World::<H>::open().await;
    let limit = |n| Change { max_running: Some(Some(n)), ..Change::default() };
    w.store.change("other", limit(1)).await.expect("change");
    for n in 1..=CHANGES_KEPT as u32 + 5 {
        w.store.change("q", limit(n)).await.expect("change");
    }
    let kept = changes(&w.store, Face::Queue, "q").await;
    assert_eq!(kept.len(), CHANGES_KEPT);
    assert_eq!(told(&kept[..1]), ["lib: max_running from 5 to 6"]);
    assert_eq!(changes(&w.store, Face::Queue, "other").await.len(), 1);
}

/// What is older than ninety days goes with the rest that is no longer kept.
pub async fn i19_changes_past_their_days_are_forgotten<H: Harness>() {
    let mut w = World::<H>::open().await;
    let pause = |paused| Change { paused: Some(paused), ..Change::default() };
    w.store.change("q", pause(true)).await.expect("change");
    w.pass_ms(1).await;
    w.store.change("q", pause(false)).await.expect("change");
    w.pass_ms(CHANGES_KEPT_MS - 2).await;
    w.prune(100).await;
    assert_eq!(changes(&w.store, Face::Queue, "q").await.len(), 2);
    w.pass_ms(1).await;
    w.prune(100).await;
    let left = changes(&w.store, Face::Queue, "q").await;
    assert_eq!(told(&left), ["lib: paused from true to false"]);
}

/// The work itself writes no change: enqueues, claims and endings leave the settings alone.
pub async fn l8_work_is_no_change<H: Harness>() {
    let w = World::<H>::open().await;
    w.fill(2).await;
    let grip = w.take("worker").await;
    w.finish(&grip, complete()).await.expect("held");
    w.claim(Claim::new("q", "worker")).await;
    assert_eq!(changes(&w.store, Face::Queue, "q").await, []);
}
