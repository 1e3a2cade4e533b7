//! Pipelines beside transactions that are held open on another connection: what is in flight there stands for a slow
//! commit, and decides nothing that it should not.

use crate::support::{Postgres, connect};
use std::time::Duration;
use tenure_core::pipeline::{
    Act, Beat, Claim, ClaimedUnit, Definition, Ended, Ending, NewRun, NewSegment, Refusal, RunAction, RunId, RunStatus,
    Stage, Status, Unit, UnitKey,
};
use tenure_core::retry::Retry;
use tenure_core::{LostReason, Time, Token};
use tenure_store::Store;
use tenure_store::conformance::Harness;
use tokio_postgres::Client;

/// 2026-01-01T00:00:00Z.
const START: Time = Time(1_767_225_600_000_000);
const LEASE_MS: u64 = 30_000;
/// Far more than anything takes that does not wait for a lock.
const PATIENCE: Duration = Duration::from_secs(20);

/// A run whose stage `cut` was split, and a connection that keeps transactions open.
struct Bench {
    postgres: Postgres,
    store: std::sync::Arc<dyn Store>,
    hand: Client,
    run: RunId,
}

impl Bench {
    /// With these segments; beside `cut` there is a stage `a`, which is not split yet, and `b` which needs it.
    async fn with(segments: &[&str]) -> Bench {
        let postgres = Postgres::open(START).await;
        let (store, hand) = (postgres.store(), connect(postgres.database.url()).await);
        let graph = Definition::new("p").stage(Stage::new("cut").segmented()).stage(Stage::new("a").segmented());
        store.apply_pipeline(graph.stage(Stage::new("b").needs(["a"]))).await.unwrap().unwrap();
        let run = store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
        let bench = Bench { postgres, store, hand, run };
        bench.advance().await;
        let cut = bench.claim("cut").await;
        let segments = segments.iter().map(|name| NewSegment::new(*name, "1")).collect();
        bench.end(&cut, Act::Split { segments }).await.unwrap();
        bench.advance().await;
        bench
    }

    async fn advance(&self) -> tenure_core::pipeline::Advanced {
        self.store.advance_runs(100).await.unwrap()
    }

    async fn claim_all(&self, stage: &str) -> Vec<ClaimedUnit> {
        self.store.claim_units(Claim::new("p", stage, "w").max(9).lease_ms(LEASE_MS)).await.unwrap().unwrap().units
    }

    async fn claim(&self, stage: &str) -> ClaimedUnit {
        let claim = Claim::new("p", stage, "w").lease_ms(LEASE_MS);
        self.store.claim_units(claim).await.unwrap().unwrap().units.remove(0)
    }

    async fn end(&self, unit: &ClaimedUnit, act: Act) -> Result<Ended, Refusal> {
        self.store.finish_unit(ending(unit, act)).await.unwrap()
    }

    async fn status(&self) -> RunStatus {
        self.store.run(self.run).await.unwrap().unwrap().0.status
    }

    async fn segment(&self, name: &str) -> Unit {
        let page = self.store.segments(self.run, "cut", None, 100).await.unwrap();
        page.items.into_iter().find(|unit| unit.segment.as_deref() == Some(name)).unwrap()
    }

    /// A transaction on the other connection that does `sql` and stays open.
    async fn hold(&self, sql: &str) {
        self.hand.batch_execute(&format!("begin; {sql}")).await.unwrap();
    }

    async fn let_go(&self) {
        self.hand.batch_execute("commit").await.unwrap();
    }

    /// A claim of `cut` that is not committed yet.
    async fn claim_in_flight(&self) -> ClaimedUnit {
        self.hand.batch_execute("begin").await.unwrap();
        let sql = "select segment, token from tenure.claim_units('p', array['cut'], 'w', 1, null, 100)";
        let row = self.hand.query_one(sql, &[]).await.unwrap();
        let (segment, token): (&str, i64) = (row.get(0), row.get(1));
        ClaimedUnit {
            run: self.run,
            pipeline: "p".into(),
            version: 1,
            stage: "cut".into(),
            segment: Some(segment.to_owned()),
            join: false,
            segmented: false,
            input: "1".into(),
            attempt: 1,
            attempts_max: 5,
            token: Token(token),
            lease_expires_at: START,
            lease_ms: LEASE_MS,
            record: None,
        }
    }

    /// Until somebody waits for a lock in this database.
    async fn until_somebody_waits(&self) {
        let waits = "select count(*) from pg_locks where not granted
                        and pid in (select pid from pg_stat_activity where datname = current_database())";
        let waiting = async {
            while self.hand.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("it waits for the lock");
    }
}

fn key(unit: &ClaimedUnit) -> UnitKey {
    UnitKey { run: unit.run, stage: unit.stage.clone(), segment: unit.segment.clone() }
}

fn ending(unit: &ClaimedUnit, act: Act) -> Ending {
    Ending { unit: key(unit), owner: "w".into(), token: unit.token, act }
}

fn beat(unit: &ClaimedUnit) -> Beat {
    Beat::new(key(unit), "w", unit.token)
}

fn done() -> Act {
    Act::Complete { output: None, record: None }
}

fn fail(retry: Retry) -> Act {
    Act::Fail { error: "it broke".into(), retry }
}

async fn at_once<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("{what} waited for a lock"))
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_a_cancel_beside_a_claim_in_flight_leaves_nothing_running() {
    let bench = Bench::with(&["s0", "s1"]).await;
    let claimed = bench.claim_in_flight().await;
    let cancel = bench.store.operate_run(bench.run, RunAction::Cancel { reason: None });
    let meanwhile = async {
        bench.until_somebody_waits().await;
        bench.let_go().await;
    };
    let (cancelled, ()) = tokio::join!(cancel, meanwhile);
    assert_eq!(cancelled.unwrap(), Ok(RunStatus::Error));
    for name in ["s0", "s1"] {
        assert_eq!(bench.segment(name).await.status, Status::Error, "{name}");
    }
    assert_eq!(bench.store.beat_units(vec![beat(&claimed)]).await.unwrap(), [Err(LostReason::Cancelled)]);
    assert_eq!(bench.end(&claimed, done()).await, Err(Refusal::Lost(LostReason::Cancelled)));
}

/// Whatever becomes READY while its stage fails for good is not handed out, and holds the run up no longer.
async fn is_not_handed_out(bench: &Bench) {
    assert_eq!(bench.claim_all("cut").await, [], "a segment of a failed stage was handed out");
    for unit in bench.claim_all("a").await {
        bench.end(&unit, done()).await.unwrap();
    }
    bench.advance().await;
    for unit in bench.claim_all("b").await {
        bench.end(&unit, done()).await.unwrap();
    }
    bench.advance().await;
    assert_eq!(bench.status().await, RunStatus::Error);
    assert_eq!(bench.segment("s0").await.status, Status::Ready);
    assert_eq!(bench.claim_all("cut").await, [], "a segment was handed out in a settled run");
}

#[tokio::test(flavor = "multi_thread")]
async fn y_a_segment_released_beside_its_stages_failure_is_not_handed_out() {
    let bench = Bench::with(&["s0", "s1"]).await;
    let (first, second) = (bench.claim("cut").await, bench.claim("cut").await);
    let release =
        "select * from tenure.finish_unit($1, 'cut', 's0', 'w', $2, 'release', null, null, null, null, null, null,
                                                    null, null)";
    bench.hold("").await;
    bench.hand.query(release, &[&bench.run.0, &first.token.0]).await.unwrap();
    at_once("the failure of a segment", bench.end(&second, fail(Retry::Never))).await.unwrap();
    bench.let_go().await;
    is_not_handed_out(&bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn y_a_segment_recovered_beside_its_stages_failure_is_not_handed_out() {
    let bench = Bench::with(&["s0", "s1"]).await;
    bench.claim("cut").await;
    bench.postgres.set_clock(START.plus_ms(LEASE_MS / 2)).await;
    let second = bench.claim("cut").await;
    bench.postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    bench.hold("select * from tenure.recover_pipeline(100, null, null)").await;
    at_once("the failure of a segment", bench.end(&second, fail(Retry::Never))).await.unwrap();
    bench.let_go().await;
    is_not_handed_out(&bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn y_a_segment_tried_again_beside_its_stages_failure_is_not_handed_out() {
    let bench = Bench::with(&["s0", "s1"]).await;
    let (first, second) = (bench.claim("cut").await, bench.claim("cut").await);
    bench.end(&first, fail(Retry::In { delay_ms: 0 })).await.unwrap();
    bench.hold("select * from tenure.advance_runs(100)").await;
    at_once("the failure of a segment", bench.end(&second, fail(Retry::Never))).await.unwrap();
    bench.let_go().await;
    is_not_handed_out(&bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_a_run_is_not_settled_over_a_claim_in_flight() {
    let bench = Bench::with(&["s0", "s1"]).await;
    for unit in bench.claim_all("a").await {
        bench.end(&unit, done()).await.unwrap();
    }
    bench.advance().await;
    for unit in bench.claim_all("b").await {
        bench.end(&unit, done()).await.unwrap();
    }
    bench.advance().await;
    let failing = bench.claim("cut").await;
    let claimed = bench.claim_in_flight().await;
    at_once("the failure of a segment", bench.end(&failing, fail(Retry::Never))).await.unwrap();
    at_once("the orchestrator", bench.advance()).await;
    assert_eq!(bench.status().await, RunStatus::Running, "somebody is about to hold s1");
    bench.let_go().await;
    bench.advance().await;
    assert_eq!((bench.status().await, bench.segment("s1").await.status), (RunStatus::Running, Status::Running));
    assert_eq!(bench.end(&claimed, done()).await, Ok(Ended { status: Status::Done, already: false }));
    bench.advance().await;
    assert_eq!(bench.status().await, RunStatus::Error);
}

/// A segment ends while an orchestrator looks: its stage can be joined since then, and is not stuck.
#[tokio::test(flavor = "multi_thread")]
async fn p1_a_run_is_not_settled_over_what_can_start_since_the_look_began() {
    let bench = Bench::with(&["s0"]).await;
    let last = bench.claim("cut").await;
    let whole = bench.claim("a").await;
    let segments = ["z0", "z1"].map(|name| NewSegment::new(name, "1")).into();
    bench.end(&whole, Act::Split { segments }).await.unwrap();
    let (first, second) = (bench.claim("a").await, bench.claim("a").await);
    bench.hold("").await;
    let release =
        "select * from tenure.finish_unit($1, 'a', 'z1', 'w', $2, 'release', null, null, null, null, null, null, null,
                                                    null)";
    bench.hand.query(release, &[&bench.run.0, &second.token.0]).await.unwrap();
    bench.end(&first, fail(Retry::Never)).await.unwrap();
    bench.let_go().await;
    // The look is stopped where it closes `z1`, halfway between what can start and what can still move.
    let stop = "create function stop() returns trigger language plpgsql as
                    'begin perform pg_advisory_xact_lock(7); return new; end';
                create trigger stop before update on tenure.unit for each row
                    when (new.status = 'READY' and old.open and not new.open) execute function stop();
                select pg_advisory_lock(7)";
    bench.hand.batch_execute(stop).await.unwrap();
    let meanwhile = async {
        bench.until_somebody_waits().await;
        bench.end(&last, done()).await.unwrap();
        bench.hand.batch_execute("select pg_advisory_unlock(7)").await.unwrap();
    };
    let (looked, ()) = tokio::join!(bench.advance(), meanwhile);
    assert_eq!(looked.settled, 0, "the join of `cut` can start");
    bench.advance().await;
    let join = bench.claim("cut").await;
    assert!(join.join);
    bench.end(&join, done()).await.unwrap();
    bench.advance().await;
    assert_eq!(bench.status().await, RunStatus::Error);
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_a_claim_that_came_to_nothing_does_not_keep_a_run_open() {
    let bench = Bench::with(&["s0", "s1"]).await;
    let failing = bench.claim("cut").await;
    bench.claim_in_flight().await;
    at_once("the failure of a segment", bench.end(&failing, fail(Retry::Never))).await.unwrap();
    at_once("the orchestrator", bench.advance()).await;
    bench.hand.batch_execute("rollback").await.unwrap();
    for stage in ["a", "b"] {
        let unit = bench.claim(stage).await;
        bench.end(&unit, done()).await.unwrap();
        bench.advance().await;
    }
    assert_eq!(bench.status().await, RunStatus::Error);
}

/// An operator has the run and is about to lock its units; the orchestrator has something to do in that run, both to try
/// again and to look at.
#[tokio::test(flavor = "multi_thread")]
async fn l10_the_orchestrator_waits_for_no_operator_and_stands_in_no_ones_way() {
    let bench = Bench::with(&["s0", "s1"]).await;
    let failed = bench.claim("cut").await;
    bench.end(&failed, fail(Retry::In { delay_ms: 0 })).await.unwrap();
    let done_stage = bench.claim("a").await;
    bench.end(&done_stage, done()).await.unwrap();
    bench.hold(&format!("select from tenure.run where id = {} for update", bench.run)).await;
    let advanced = at_once("the orchestrator", bench.advance()).await;
    assert_eq!((advanced.runs, advanced.retried, advanced.readied), (0, 0, 0));
    // Another orchestrator is in the middle of its step while the operator goes on.
    let other = connect(bench.postgres.database.url()).await;
    other.batch_execute("begin; select * from tenure.advance_runs(100)").await.unwrap();
    let cancel = format!("select * from tenure.operate_run({}, 'cancel', 'x', null, null, null, null)", bench.run);
    at_once("the cancel", bench.hand.batch_execute(&cancel)).await.unwrap();
    bench.let_go().await;
    other.batch_execute("commit").await.unwrap();
    assert_eq!(bench.status().await, RunStatus::Error);
}

#[tokio::test(flavor = "multi_thread")]
async fn l10_what_an_operator_held_up_is_done_in_the_next_step() {
    let bench = Bench::with(&["s0", "s1"]).await;
    let failed = bench.claim("cut").await;
    bench.end(&failed, fail(Retry::In { delay_ms: 0 })).await.unwrap();
    let done_stage = bench.claim("a").await;
    bench.end(&done_stage, done()).await.unwrap();
    bench.hold(&format!("select from tenure.run where id = {} for update", bench.run)).await;
    at_once("the orchestrator", bench.advance()).await;
    bench.let_go().await;
    let advanced = bench.advance().await;
    assert_eq!((advanced.runs, advanced.retried, advanced.readied), (1, 1, 1));
}

/// Where a stage's row is held, the look passes it by and comes again.
#[tokio::test(flavor = "multi_thread")]
async fn l10_the_orchestrator_waits_for_no_stage() {
    let bench = Bench::with(&["s0"]).await;
    let first = bench.claim("a").await;
    bench.end(&first, done()).await.unwrap();
    bench.hold("select from tenure.unit where stage = 'b' for update").await;
    assert_eq!(at_once("the orchestrator", bench.advance()).await.readied, 0);
    bench.let_go().await;
    assert_eq!(bench.advance().await.readied, 1);
}

/// Recovery in a claim and in a sweep, with every row it might want held by somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn l7_recovery_waits_for_nobody() {
    let bench = Bench::with(&["s0", "s1", "s2"]).await;
    let unit = bench.claim("cut").await;
    let spent = "update tenure.unit set attempts_max = 1 where segment = 's0'";
    bench.hand.batch_execute(spent).await.unwrap();
    bench.postgres.set_clock(START.plus_ms(LEASE_MS)).await;
    let of_run = format!("where run = {}", bench.run);
    for held in [
        format!("select from tenure.run where id = {} for update", bench.run),
        format!("select from tenure.unit {of_run} and segment = '' for update"),
        format!("select from tenure.unit {of_run} and segment = 's0' for update"),
    ] {
        bench.hold(&held).await;
        let recovered = at_once(&held, bench.store.recover_units(100)).await.unwrap();
        assert_eq!(recovered, tenure_core::pipeline::Recovered::default(), "{held}");
        bench.let_go().await;
    }
    // Its neighbours are being claimed while it fails its stage.
    bench.hold(&format!("select from tenure.unit {of_run} and segment = 's1' for update")).await;
    assert_eq!(at_once("recovery", bench.store.recover_units(100)).await.unwrap().failed, 1);
    bench.let_go().await;
    assert_eq!(bench.end(&unit, done()).await, Err(Refusal::Lost(LostReason::Expired)));
    assert_eq!(bench.claim_all("cut").await, []);
}

/// The clock is read after the last lock: what had to wait past its deadline is refused.
#[tokio::test(flavor = "multi_thread")]
async fn l4_a_write_that_waited_past_its_deadline_is_refused() {
    for (held, act) in [
        ("select from tenure.unit where segment = 's0' for update", Some(done())),
        ("select from tenure.unit where segment = 's0' for update", Some(fail(Retry::Never))),
        ("select from tenure.unit where segment = 's0' for update", None),
        ("select from tenure.unit where stage = 'cut' and segment = '' for update", Some(fail(Retry::Never))),
        ("select from tenure.run for update", Some(Act::Release)),
    ] {
        let bench = Bench::with(&["s0", "s1"]).await;
        let unit = bench.claim("cut").await;
        bench.hold(held).await;
        let write = async {
            match act.clone() {
                Some(act) => bench.end(&unit, act).await.map(drop),
                None => {
                    let beaten = bench.store.beat_units(vec![beat(&unit)]).await.unwrap().remove(0);
                    beaten.map(drop).map_err(Refusal::Lost)
                }
            }
        };
        let meanwhile = async {
            bench.until_somebody_waits().await;
            bench.postgres.set_clock(START.plus_ms(LEASE_MS)).await;
            bench.let_go().await;
        };
        let (answer, ()) = tokio::join!(write, meanwhile);
        assert_eq!(answer, Err(Refusal::Lost(LostReason::Expired)), "{held}: {act:?}");
    }
}

/// A heartbeat waits for its own row and nothing else: not for the run, the stage, a neighbour, nor for what another
/// heartbeat in the same batch speaks of.
#[tokio::test(flavor = "multi_thread")]
async fn l10_a_heartbeat_waits_for_nothing_but_its_own_row() {
    let bench = Bench::with(&["s0", "s1"]).await;
    let (first, second) = (bench.claim("cut").await, bench.claim("cut").await);
    let stale = Beat { token: Token(1), ..beat(&second) };
    let held = "select from tenure.run for update; select from tenure.unit where segment <> 's0' for update";
    bench.hold(held).await;
    let beats = vec![stale.clone(), beat(&first), stale];
    let beaten = at_once("a heartbeat", bench.store.beat_units(beats)).await.unwrap();
    assert_eq!(beaten[0], Err(LostReason::Unknown));
    assert!(beaten[1].is_ok());
    bench.let_go().await;
}

/// An ending by somebody who does not hold the unit waits for nobody who does.
#[tokio::test(flavor = "multi_thread")]
async fn l3_a_stale_ending_is_refused_without_waiting_for_the_holder() {
    let bench = Bench::with(&["s0", "s1"]).await;
    let unit = bench.claim("cut").await;
    bench.hold("select from tenure.unit where segment = 's0' for update").await;
    let stale = ClaimedUnit { token: Token(1), ..unit };
    let refused = at_once("a stale ending", bench.end(&stale, done())).await;
    assert_eq!(refused, Err(Refusal::Lost(LostReason::Unknown)));
    bench.let_go().await;
}
