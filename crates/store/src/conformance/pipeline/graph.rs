//! Definitions, runs, and the orchestrator.

use super::tools::{Grip, at_once, chain, done, fail, now};
use crate::conformance::Harness;
use crate::conformance::queue::tools::World;
use tenure_core::bounds::{BODY_BYTES_MAX, CLAIM_BYTES_MAX};
use tenure_core::pipeline::{
    Act, Advanced, Applied, Claim, Definition, Filter, NewRun, RETENTION_MS, Reason, RunId, RunStatus, Stage,
    StartRefusal, Status, Taken,
};
use tenure_core::retry::Retry;

scenarios! {
    __pipeline_graph = pipeline::graph;
    y_the_same_version_and_graph_again_is_the_same,
    y_another_graph_under_the_same_version_is_refused,
    p1_a_run_begins_with_every_stage_new,
    x_a_run_of_an_unknown_pipeline_is_absent,
    q7_a_run_is_started_once_under_a_key,
    q7_many_starters_under_one_key_have_one_run,
    x_runs_go_on_under_their_version,
    p2_only_the_orchestrator_makes_a_stage_ready,
    p2_a_stage_waits_for_all_its_prerequisites,
    p1_a_run_is_done_when_all_its_stages_are,
    p4_independent_branches_finish_beside_a_failed_one,
    p5_an_advance_happens_once,
    p5_many_orchestrators_advance_each_stage_once,
    p5_a_step_of_the_orchestrator_is_bounded,
    p5_busy_older_runs_never_hold_up_a_younger_one,
    p5_an_orchestrator_without_retries_may_rest,
    p3_an_output_is_the_input_of_what_follows,
    y_a_claim_of_an_unknown_pipeline_or_stage_is_absent,
    x_units_are_claimed_by_priority_then_age,
    q2_a_claim_of_units_takes_what_fits,
    x_runs_are_listed_newest_first_in_pages,
    x_pipelines_are_listed_by_name,
    i19_a_settled_run_is_kept_seven_days,
}

/// The same version with the same graph changes nothing, whatever the order in which it was written.
pub async fn y_the_same_version_and_graph_again_is_the_same<H: Harness>() {
    let world = World::<H>::open().await;
    let answer = async |definition| world.store.apply_pipeline(definition).await.unwrap();
    assert_eq!(answer(chain()).await, Ok(Applied::Created));
    let mut turned = chain();
    turned.stages.reverse();
    assert_eq!(answer(turned).await, Ok(Applied::Same));
    let stored = world.store.pipeline("p", None).await.unwrap().unwrap();
    assert_eq!((stored.definition, stored.created_at), (chain(), world.now));
}

/// Another graph under a version that is taken is refused.
pub async fn y_another_graph_under_the_same_version_is_refused<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    let other = chain().stage(Stage::new("d"));
    assert_eq!(world.store.apply_pipeline(other.clone()).await.unwrap(), Err(Taken));
    assert_eq!(world.store.apply_pipeline(other.version(2)).await.unwrap(), Ok(Applied::Created));
}

/// A run begins with every stage `NEW`, in the order of its definition.
pub async fn p1_a_run_begins_with_every_stage_new<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    let run = world.begin().await;
    assert_eq!(world.standing(run).await, "a:NEW b:NEW c:NEW");
    let (run, stages) = world.show(run).await;
    assert_eq!((run.status, run.version, run.created_at), (RunStatus::Running, 1, world.now));
    assert_eq!((run.input.as_str(), run.finished_at, run.paused), ("1", None, false));
    assert_eq!(stages[1].unit.needs, ["a"]);
}

/// What is not on record is not started, shown or listed.
pub async fn x_a_run_of_an_unknown_pipeline_is_absent<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    assert_eq!(world.store.start_run(NewRun::new("q", "1")).await.unwrap(), Err(StartRefusal::Absent));
    let version = NewRun { version: Some(2), ..NewRun::new("p", "1") };
    assert_eq!(world.store.start_run(version).await.unwrap(), Err(StartRefusal::Absent));
    assert_eq!(world.store.run(RunId(77)).await.unwrap(), None);
    assert_eq!(world.store.pipeline("p", Some(2)).await.unwrap(), None);
}

/// A run sent again under its key is the same run, by the value of its input and whatever versions came since; another
/// input is refused, another pipeline has keys of its own, and a run that is removed takes its key along.
pub async fn q7_a_run_is_started_once_under_a_key<H: Harness>() {
    let mut world = World::<H>::open().await;
    world.apply(chain()).await;
    world.apply(Definition { name: "other".to_owned(), ..chain() }).await;
    let start = async |new: NewRun| world.store.start_run(new.key("k")).await.unwrap();
    let first = start(NewRun::new("p", r#"{"a":1,"b":[2]}"#)).await.unwrap();
    world.apply(Definition::new("p").version(2).stage(Stage::new("a"))).await;
    assert_eq!(start(NewRun::new("p", r#"{ "b": [2], "a": 1 }"#)).await, Ok(first));
    assert_eq!(start(NewRun::new("p", "3")).await, Err(StartRefusal::KeyTaken(first)));
    let versioned = NewRun { version: Some(2), ..NewRun::new("p", r#"{"a":1,"b":[2]}"#) };
    assert_eq!(start(versioned).await, Err(StartRefusal::KeyTaken(first)));
    assert_ne!(start(NewRun::new("other", "3")).await, Ok(first));
    assert_eq!(world.show(first).await.0.key.as_deref(), Some("k"));
    assert_eq!(world.store.runs(Filter::default(), None, 10).await.unwrap().items.len(), 2);
    world.cancel_run(first).await.unwrap();
    assert_eq!(start(NewRun::new("p", r#"{"a":1,"b":[2]}"#)).await, Ok(first));
    world.pass_ms(RETENTION_MS).await;
    assert_eq!(world.store.prune_runs(10).await.unwrap(), 1);
    let next = world.store.start_run(NewRun::new("p", "3").key("k")).await.unwrap().unwrap();
    assert!(next > first);
}

/// Eight who start at once under one key start one run.
pub async fn q7_many_starters_under_one_key_have_one_run<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    let starters: Vec<_> = (0..8)
        .map(|_| {
            let store = world.store.clone();
            tokio::spawn(async move { store.start_run(NewRun::new("p", "1").key("k")).await.unwrap().unwrap() })
        })
        .collect();
    let mut runs = std::collections::BTreeSet::new();
    for starter in starters {
        runs.insert(starter.await.unwrap());
    }
    assert_eq!(runs.len(), 1);
    assert_eq!(world.store.runs(Filter::default(), None, 10).await.unwrap().items.len(), 1);
}

/// A new version binds runs that begin after it; the others go on as they began.
pub async fn x_runs_go_on_under_their_version<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    let old = world.begin().await;
    world.apply(Definition::new("p").version(2).stage(Stage::new("a"))).await;
    let new = world.begin().await;
    world.advance().await;
    assert_eq!(world.standing(old).await, "a:READY b:NEW c:NEW");
    assert_eq!(world.standing(new).await, "a:READY");
    let units = world.grab_all(Claim::new("p", "a", "w").max(2)).await;
    assert_eq!(units.iter().map(|unit| (unit.run, unit.version)).collect::<Vec<_>>(), [(old, 1), (new, 2)]);
}

/// Nothing is claimable before the orchestrator has looked.
pub async fn p2_only_the_orchestrator_makes_a_stage_ready<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    let run = world.begin().await;
    world.none_of("a").await;
    world.advance().await;
    let grip = world.grab("a", "w").await;
    assert_eq!(world.end(&grip, done("1")).await, now(Status::Done));
    assert_eq!(world.standing(run).await, "a:DONE b:NEW c:NEW");
    world.none_of("b").await;
    world.advance().await;
    assert_eq!(world.standing(run).await, "a:DONE b:READY c:NEW");
}

/// A stage with several prerequisites waits for the last of them.
pub async fn p2_a_stage_waits_for_all_its_prerequisites<H: Harness>() {
    let world = World::<H>::open().await;
    let definition = Definition::new("p").stage(Stage::new("a")).stage(Stage::new("b"));
    let run = world.begun(definition.stage(Stage::new("c").needs(["a", "b"]))).await;
    world.pass("a").await;
    assert_eq!(world.standing(run).await, "a:DONE b:READY c:NEW");
    world.pass("b").await;
    assert_eq!(world.standing(run).await, "a:DONE b:DONE c:READY");
}

/// The orchestrator settles a run once all its stages are `DONE`.
pub async fn p1_a_run_is_done_when_all_its_stages_are<H: Harness>() {
    let mut world = World::<H>::open().await;
    let run = world.begun(chain()).await;
    for stage in ["a", "b"] {
        world.pass(stage).await;
        assert_eq!(world.run_status(run).await, RunStatus::Running);
    }
    world.pass_ms(5).await;
    world.pass("c").await;
    let (run, _) = world.show(run).await;
    assert_eq!((run.status, run.finished_at), (RunStatus::Done, Some(world.now)));
}

/// A run with a failed branch lets the others finish, and then says so.
pub async fn p4_independent_branches_finish_beside_a_failed_one<H: Harness>() {
    let world = World::<H>::open().await;
    let definition = Definition::new("p").stage(Stage::new("a")).stage(Stage::new("a2").needs(["a"]));
    let run = world.begun(definition.stage(Stage::new("b")).stage(Stage::new("b2").needs(["b"]))).await;
    let grip = world.grab("a", "w").await;
    assert_eq!(world.end(&grip, fail(Retry::Never)).await, now(Status::Error));
    world.advance().await;
    assert_eq!(world.run_status(run).await, RunStatus::Running);
    world.pass("b").await;
    assert_eq!(world.run_status(run).await, RunStatus::Running);
    world.pass("b2").await;
    assert_eq!(world.standing(run).await, "a:ERROR a2:NEW b:DONE b2:DONE");
    assert_eq!(world.run_status(run).await, RunStatus::Error);
    assert_eq!(world.stage(run, "a").await.reason, Some(Reason::Failed));
}

/// A second look finds nothing left to do.
pub async fn p5_an_advance_happens_once<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    world.begin().await;
    let first = world.advance().await;
    assert_eq!((first.runs, first.readied, first.settled), (1, 1, 0));
    assert_eq!(world.advance().await, Advanced::default());
}

/// Eight orchestrators at once make each stage `READY` once.
pub async fn p5_many_orchestrators_advance_each_stage_once<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    for _ in 0..20 {
        world.begin().await;
    }
    let looks: Vec<_> = (0..8)
        .map(|_| {
            let store = world.store.clone();
            tokio::spawn(async move {
                let mut readied = 0;
                for _ in 0..20 {
                    readied += store.advance_runs(3).await.unwrap().readied;
                }
                readied
            })
        })
        .collect();
    let mut readied = 0;
    for look in looks {
        readied += look.await.unwrap();
    }
    assert_eq!(readied, 20);
    assert_eq!(world.grab_all(Claim::new("p", "a", "w").max(100)).await.len(), 20);
}

/// A step looks at no more runs than it was asked to.
pub async fn p5_a_step_of_the_orchestrator_is_bounded<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    for _ in 0..5 {
        world.begin().await;
    }
    let mut runs = Vec::new();
    for _ in 0..4 {
        runs.push(world.store.advance_runs(2).await.unwrap().runs);
    }
    assert_eq!(runs, [2, 2, 1, 0]);
}

/// Runs are looked at in the order of their news: one in which something happens all the time waits behind the others.
pub async fn p5_busy_older_runs_never_hold_up_a_younger_one<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    let busy = world.begin().await;
    world.advance().await;
    let young = world.begin().await;
    for _ in 0..3 {
        let grip = world.grab("a", "w").await;
        assert_eq!(grip.key.run, busy);
        world.end(&grip, Act::Release).await.unwrap();
        assert_eq!(world.store.advance_runs(1).await.unwrap().runs, 1);
        if world.stage(young, "a").await.status == Status::Ready {
            return;
        }
    }
    panic!("three looks, and none at the younger run");
}

/// The output of a stage is the input of its successors; with several prerequisites, an object of them.
pub async fn p3_an_output_is_the_input_of_what_follows<H: Harness>() {
    let world = World::<H>::open().await;
    let definition = Definition::new("p").stage(Stage::new("a")).stage(Stage::new("b").needs(["a"]));
    world.begun(definition.stage(Stage::new("c").needs(["a", "b"]))).await;
    let input = async |stage: &str| world.grab_all(Claim::new("p", stage, "w")).await.remove(0);
    for (stage, expected) in [("a", "1"), ("b", "\"a\""), ("c", r#"{"a":"a","b":"b"}"#)] {
        let unit = input(stage).await;
        assert_eq!(unit.input, expected);
        let grip = super::tools::Grip::of(&unit, "w");
        world.end(&grip, done(&format!("\"{stage}\""))).await.unwrap();
        world.advance().await;
    }
}

/// A claim of what no version knows is answered as absent.
pub async fn y_a_claim_of_an_unknown_pipeline_or_stage_is_absent<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    for claim in [Claim::new("q", "a", "w"), Claim::new("p", "z", "w"), Claim::new("p", "a", "w").also("z")] {
        assert_eq!(world.store.claim_units(claim).await.unwrap(), None);
    }
    world.none_of("a").await;
}

/// Units come by priority, then by the age of their runs, over stages.
pub async fn x_units_are_claimed_by_priority_then_age<H: Harness>() {
    let world = World::<H>::open().await;
    let definition = Definition::new("p").stage(Stage::new("a")).stage(Stage::new("b").priority(5));
    world.apply(definition).await;
    let (first, second) = (world.begin().await, world.begin().await);
    world.advance().await;
    let units = world.grab_all(Claim::new("p", "a", "w").also("b").max(3)).await;
    let order: Vec<(RunId, &str)> = units.iter().map(|unit| (unit.run, unit.stage.as_str())).collect();
    assert_eq!(order, [(first, "b"), (second, "b"), (first, "a")]);
}

/// Runs are listed newest first, by pipeline and status.
pub async fn x_runs_are_listed_newest_first_in_pages<H: Harness>() {
    let world = World::<H>::open().await;
    world.apply(chain()).await;
    world.apply(Definition { name: "other".to_owned(), ..chain() }).await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(world.begin().await);
    }
    world.store.start_run(NewRun::new("other", "1")).await.unwrap().unwrap();
    world.cancel_run(runs[0]).await.unwrap();
    let of_p = Filter { pipeline: Some("p".to_owned()), ..Filter::default() };
    let page = world.store.runs(of_p.clone(), None, 2).await.unwrap();
    let ids =
        |page: &tenure_core::Page<tenure_core::pipeline::Run>| page.items.iter().map(|run| run.id).collect::<Vec<_>>();
    assert_eq!((ids(&page), page.more), (vec![runs[2], runs[1]], true));
    let page = world.store.runs(of_p.clone(), Some(runs[1]), 2).await.unwrap();
    assert_eq!((ids(&page), page.more), (vec![runs[0]], false));
    let failed = Filter { status: Some(RunStatus::Error), ..of_p };
    assert_eq!(ids(&world.store.runs(failed, None, 10).await.unwrap()), [runs[0]]);
}

/// Pipelines are listed by name, each with its highest version.
pub async fn x_pipelines_are_listed_by_name<H: Harness>() {
    let world = World::<H>::open().await;
    for (name, version) in [("b", 1), ("a", 1), ("b", 3), ("b", 2)] {
        world.apply(Definition { name: name.to_owned(), version, ..chain() }).await;
    }
    let page = world.store.pipelines(None, 10).await.unwrap();
    let told: Vec<_> = page.items.iter().map(|of| (of.definition.name.as_str(), of.definition.version)).collect();
    assert_eq!(told, [("a", 1), ("b", 3)]);
    let page = world.store.pipelines(Some("a"), 10).await.unwrap();
    assert_eq!((page.items.len(), page.more), (1, false));
    assert!(world.store.pipelines(None, 1).await.unwrap().more);
}

/// A settled run is removed after seven days, an unsettled one never.
pub async fn i19_a_settled_run_is_kept_seven_days<H: Harness>() {
    let mut world = World::<H>::open().await;
    let (settled, open) = (world.begun(chain()).await, world.begin().await);
    let grip = world.grab("a", "w").await;
    world.end(&grip, at_once()).await.unwrap();
    world.cancel_run(settled).await.unwrap();
    world.pass_ms(RETENTION_MS - 1).await;
    assert_eq!(world.store.prune_runs(10).await.unwrap(), 0);
    world.pass_ms(1).await;
    assert_eq!(world.store.prune_runs(10).await.unwrap(), 1);
    assert_eq!(world.store.run(settled).await.unwrap(), None);
    assert!(world.store.run(open).await.unwrap().is_some());
    assert!(world.told(settled).await.is_empty());
}

/// The orchestrator is told when the next retry is due, and of none where there is none: it would look without a rest.
pub async fn p5_an_orchestrator_without_retries_may_rest<H: Harness>() {
    let mut world = World::<H>::open().await;
    let again = async |world: &World<H>| world.store.advance_runs(10).await.unwrap().again_in_ms;
    assert_eq!(again(&world).await, None, "nothing is on record");
    world.begun(chain()).await;
    assert_eq!(again(&world).await, None, "nothing failed");
    let grip = world.grab("a", "w").await;
    world.end(&grip, fail(Retry::In { delay_ms: 5_000 })).await.unwrap();
    assert_eq!(again(&world).await, Some(5_000));
    world.pass_ms(5_000).await;
    assert_eq!(again(&world).await, None, "it is READY");
}

/// A claim carries so many bytes of inputs and no more, whether they are a run's, an output's or several outputs', and at
/// least one unit.
pub async fn q2_a_claim_of_units_takes_what_fits<H: Harness>() {
    let w = World::<H>::open().await;
    let whole = CLAIM_BYTES_MAX / BODY_BYTES_MAX;
    let big = format!("\"{}\"", "x".repeat(BODY_BYTES_MAX - 2));
    let joined = Stage::new("both").needs(["a", "b"]);
    w.apply(Definition::new("p").stage(Stage::new("a")).stage(Stage::new("b")).stage(joined)).await;
    for _ in 0..whole + 2 {
        let run = NewRun::new("p", big.as_str());
        w.store.start_run(run).await.expect("start").expect("the pipeline is on record");
    }
    w.advance().await;
    for stage in ["a", "b"] {
        for expected in [whole, 2, 0] {
            let units = w.grab_all(Claim::new("p", stage, "w").max(100)).await;
            assert_eq!(units.len(), expected, "{stage}");
            assert!(units.iter().all(|unit| unit.attempt == 1 && unit.input.len() == BODY_BYTES_MAX));
            for unit in &units {
                w.end(&Grip::of(unit, "w"), done(&big)).await.expect("held");
            }
        }
    }
    w.advance().await;
    // Two outputs each, and the names around them: seven of these fit, not eight.
    for expected in [7, 7, 4, 0] {
        assert_eq!(w.grab_all(Claim::new("p", "both", "w").max(100)).await.len(), expected);
    }
}
