//! Pipelines under everything at once: workers that finish, fail, split, forget and come back late, two orchestrators, a
//! sweeper, operators, backends that are killed and statements that are timed out. Whatever happens, what is written down is
//! legal at every instant, no two claims of a unit overlap, and at the end every run settles.

use crate::support::{connect, database};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use tenure_core::Token;
use tenure_core::pipeline::{
    Act, Beat, Claim, ClaimedUnit, Definition, Ending, NewRun, NewSegment, RunAction, RunId, RunStatus, Stage, UnitKey,
};
use tenure_core::retry::Retry;
use tenure_postgres::PostgresStore;
use tenure_store::conformance::{Chance, Seed};
use tenure_store::{PipelineStore, Result, StoreError};

const LASTS: Duration = Duration::from_secs(10);
/// For what was begun to come to its end, on a busy machine.
const SETTLES_WITHIN: Duration = Duration::from_secs(120);
const WORKERS: u64 = 6;
const STAGES: [&str; 4] = ["a", "b", "c", "d"];

/// What must hold whenever anybody looks.
const LAWS: [(&str, &str); 7] = [
    (
        "P1: nothing runs or is handed out in a settled run",
        "select count(*) from tenure.run r join tenure.unit x on x.run = r.id
          where r.status <> 'RUNNING' and (x.status = 'RUNNING' or (x.status = 'READY' and x.open))",
    ),
    (
        "P1: all stages of a DONE run are DONE",
        "select count(*) from tenure.run r join tenure.unit x on x.run = r.id and x.segment = ''
          where r.status = 'DONE' and x.status <> 'DONE'",
    ),
    (
        "P2: nothing begins before its prerequisites are DONE",
        "select count(*) from tenure.unit u cross join unnest(u.needs) as n(name)
           join tenure.unit d on d.run = u.run and d.stage = n.name and d.segment = ''
          where u.segment = '' and u.status in ('READY', 'RUNNING', 'DONE') and d.status <> 'DONE'",
    ),
    (
        "P6: no join before its segments are DONE",
        "select count(*) from tenure.unit u join tenure.unit s on s.run = u.run and s.stage = u.stage and s.segment <> ''
          where u.segment = '' and u.split and u.status in ('READY', 'RUNNING', 'DONE') and s.status <> 'DONE'",
    ),
    (
        "P6: only a stage that was split has segments",
        "select count(*) from tenure.unit u join tenure.unit s on s.run = u.run and s.stage = u.stage and s.segment <> ''
          where u.segment = '' and not u.split",
    ),
    (
        "X: a paused run hands out nothing",
        "select count(*) from tenure.run r join tenure.unit x on x.run = r.id
          where r.paused and x.status = 'READY' and x.open",
    ),
    (
        "P4: what is READY is handed out, unless its run is paused or its stage has failed",
        "select count(*) from tenure.run r join tenure.unit x on x.run = r.id and x.status = 'READY' and not x.open
          where r.status = 'RUNNING' and not r.paused
            and not exists (select from tenure.unit s where s.run = x.run and s.stage = x.stage and s.segment = ''
                               and s.reason is not null)",
    ),
];

/// Commits that take their time now and then: what is in flight stays so for long enough to be met.
const SLOW_COMMITS: &str = "
    create function slow_commit() returns trigger language plpgsql as $$
    begin
        perform pg_sleep(case when random() < 0.3 then 0.02 * random() else 0 end);
        return null;
    end $$;
    create constraint trigger slow_commit after update on tenure.unit deferrable initially deferred
        for each row execute function slow_commit()";

/// What several tasks share.
struct Floor {
    over: AtomicBool,
    last_run: AtomicI64,
}

/// A store that is killed or timed out now and then says so, and nothing else goes wrong.
fn lived<T>(answer: Result<T>) -> Option<T> {
    match answer {
        Ok(answer) => Some(answer),
        Err(StoreError::Unavailable { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

fn ending(unit: &ClaimedUnit, owner: &str, act: Act) -> Ending {
    let key = UnitKey { run: unit.run, stage: unit.stage.clone(), segment: unit.segment.clone() };
    Ending { unit: key, owner: owner.to_owned(), token: unit.token, act }
}

/// Works, badly. Answers which claims it was told to have completed.
async fn work(store: PostgresStore, floor: Arc<Floor>, mut chance: Chance, n: u64) -> Vec<(UnitKey, Token)> {
    let (owner, mut held, mut done) = (format!("w{n}"), Vec::new(), Vec::new());
    while !floor.over.load(Ordering::Relaxed) {
        match chance.below(100) {
            0..4 => {
                if let Some(Ok(run)) = lived(store.start_run(NewRun::new("p", "1")).await) {
                    floor.last_run.fetch_max(run.0, Ordering::Relaxed);
                }
            }
            4..45 if held.len() < 5 => {
                let claim = STAGES[1..].iter().fold(Claim::new("p", "a", &owner), |claim, stage| claim.also(*stage));
                let claims = lived(store.claim_units(claim.max(1 + chance.below(2) as u32)).await);
                held.extend(claims.into_iter().flat_map(|claims| claims.expect("the stages are known").units));
            }
            45..85 if !held.is_empty() => {
                let unit: ClaimedUnit = held.swap_remove(chance.below(held.len()));
                let splits = unit.segmented && !unit.join && unit.segment.is_none() && chance.below(10) < 7;
                let fail = |retry| Act::Fail { error: "it broke".into(), retry };
                let act = match chance.below(9) {
                    _ if splits => Act::Split { segments: ["x", "y", "z"].map(|n| NewSegment::new(n, "1")).into() },
                    0 => fail(Retry::Never),
                    1 => fail(Retry::In { delay_ms: chance.pick(&[0, 20]) }),
                    2 => Act::Release,
                    // Forgotten: its lease runs out.
                    3 => continue,
                    _ => Act::Complete { output: Some("1".into()), record: None },
                };
                let completes = matches!(act, Act::Complete { .. });
                let ending = ending(&unit, &owner, act);
                let (key, token) = (ending.unit.clone(), ending.token);
                if let Some(Ok(_)) = lived(store.finish_unit(ending).await)
                    && completes
                {
                    done.push((key, token));
                }
            }
            85..95 if !held.is_empty() => {
                let beat = |unit: &ClaimedUnit| {
                    let Ending { unit, owner, token, .. } = ending(unit, &owner, Act::Release);
                    Beat::new(unit, &owner, token)
                };
                lived(store.beat_units(held.iter().map(beat).collect()).await);
            }
            _ => tokio::time::sleep(Duration::from_millis(chance.below(5) as u64)).await,
        }
    }
    done
}

async fn orchestrate(store: PostgresStore, floor: Arc<Floor>, mut chance: Chance) {
    while !floor.over.load(Ordering::Relaxed) {
        lived(store.advance_runs(chance.pick(&[1, 5, 100])).await);
        lived(store.recover_units(chance.pick(&[1, 100])).await);
    }
}

async fn operate(store: PostgresStore, floor: Arc<Floor>, mut chance: Chance) {
    while !floor.over.load(Ordering::Relaxed) {
        let last = floor.last_run.load(Ordering::Relaxed);
        let run = RunId((last - chance.below(6) as i64).max(1));
        let stage = chance.pick(&STAGES).to_owned();
        let segment = (stage == "c" && chance.one_in(2)).then(|| "x".to_owned());
        let action = match chance.below(8) {
            0 => RunAction::Cancel { reason: None },
            1 => RunAction::Pause,
            2 | 3 => RunAction::Resume,
            4 => RunAction::RetryFrom { stage },
            5 => RunAction::Repair { units: vec![(stage, segment)] },
            _ => RunAction::Retry,
        };
        // Refused as often as not: it depends on where the run stands.
        let _ = lived(store.operate_run(run, action).await);
        tokio::time::sleep(Duration::from_millis(chance.below(20) as u64)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_every_run_settles_whatever_happened_to_it() {
    let seed = Seed::or(0x5eed);
    let database = database().await;
    let (hand, url) = (connect(database.url()).await, database.url());
    // A deadlock is found before the statements that are in it time out.
    let quick = format!("alter database {} set deadlock_timeout = '20ms'", database.name());
    hand.batch_execute(&quick).await.unwrap();
    let calm = PostgresStore::open(url).await.unwrap();
    let stage = |name: &str| Stage::new(name).lease_ms(300).attempts_max(3);
    let graph = Definition::new("p").stage(stage("a")).stage(stage("b").needs(["a"]));
    let graph = graph.stage(stage("c").needs(["a"]).segmented()).stage(stage("d").needs(["b", "c"]));
    calm.apply_pipeline(graph).await.unwrap().unwrap();
    hand.batch_execute(SLOW_COMMITS).await.unwrap();

    let floor = Arc::new(Floor { over: AtomicBool::new(false), last_run: AtomicI64::new(1) });
    let open = async || PostgresStore::open(url).await.unwrap();
    let (mut workers, mut others) = (Vec::new(), Vec::new());
    for n in 0..WORKERS {
        workers.push(tokio::spawn(work(open().await, floor.clone(), seed.chance(n), n)));
    }
    for n in 0..2 {
        others.push(tokio::spawn(orchestrate(open().await, floor.clone(), seed.chance(100 + n))));
        others.push(tokio::spawn(operate(open().await, floor.clone(), seed.chance(200 + n))));
    }
    // From here on every new session is a hurried one; the kills make them so.
    let hurry = format!("alter database {} set statement_timeout = '250ms'", database.name());
    hand.batch_execute(&hurry).await.unwrap();
    let (mut chance, begun, mut looks, mut killed) = (seed.chance(300), Instant::now(), 0, 0);
    while begun.elapsed() < LASTS {
        for (law, broken) in LAWS {
            let broken: i64 = hand.query_one(broken, &[]).await.unwrap().get(0);
            assert_eq!(broken, 0, "{law}");
        }
        looks += 1;
        if chance.one_in(4) {
            let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                         where datname = current_database() and pid <> pg_backend_pid() and pid % 4 = $1";
            killed += hand.query_one(kill, &[&(chance.below(4) as i32)]).await.unwrap().get::<_, i64>(0);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    floor.over.store(true, Ordering::Relaxed);
    let mut completed = HashMap::new();
    for worker in workers {
        for (key, token) in worker.await.unwrap() {
            assert!(completed.insert(token, key).is_none(), "token {token} was drawn twice (L2)");
        }
    }
    for other in others {
        other.await.unwrap();
    }
    hand.batch_execute(&format!("alter database {} reset statement_timeout", database.name())).await.unwrap();
    hand.batch_execute(
        "select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()",
    )
    .await
    .unwrap();

    let paused = "select id from tenure.run where status = 'RUNNING' and paused";
    for row in hand.query(paused, &[]).await.unwrap() {
        while lived(calm.operate_run(RunId(row.get(0)), RunAction::Resume).await).is_none() {}
    }
    let running = "select count(*) from tenure.run where status = 'RUNNING'";
    hand.batch_execute("drop trigger slow_commit on tenure.unit").await.unwrap();
    let begun = Instant::now();
    while hand.query_one(running, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        assert!(begun.elapsed() < SETTLES_WITHIN, "some run never settles");
        lived(calm.recover_units(1_000).await);
        lived(calm.advance_runs(1_000).await);
        let claim = STAGES[1..].iter().fold(Claim::new("p", "a", "last"), |claim, stage| claim.also(*stage));
        let claims = lived(calm.claim_units(claim.max(100)).await).flatten().unwrap_or_default();
        for unit in &claims.units {
            let act = Act::Complete { output: None, record: None };
            lived(calm.finish_unit(ending(unit, "last", act)).await);
        }
    }
    for (law, broken) in LAWS {
        assert_eq!(hand.query_one(broken, &[]).await.unwrap().get::<_, i64>(0), 0, "{law}");
    }
    // Claims of one unit in the order of their tokens: each began after the one before had ended (L1, L2).
    let overlaps = "select count(*) from (
                        select a.claimed_at < lag(a.ended_at) over (partition by a.run, a.stage, a.segment order by a.token)
                               as too_early from tenure.unit_attempt a) x where x.too_early";
    assert_eq!(hand.query_one(overlaps, &[]).await.unwrap().get::<_, i64>(0), 0, "claims overlap");
    // What a worker was told is what is on record.
    let recorded = "select token from tenure.unit_attempt where verb = 'complete'";
    let recorded: std::collections::HashSet<i64> =
        hand.query(recorded, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert!(completed.keys().all(|token| recorded.contains(&token.0)), "a completion was lost");
    // One lock order, and nobody who sweeps ever waits: there is nothing to be caught in (L10).
    let deadlocks = "select deadlocks from pg_stat_database where datname = current_database()";
    assert_eq!(hand.query_one(deadlocks, &[]).await.unwrap().get::<_, i64>(0), 0, "deadlocks");
    let many = "select count(*) from tenure.run where status = $1";
    let of = async |status: RunStatus| hand.query_one(many, &[&status.as_str()]).await.unwrap().get::<_, i64>(0);
    let (well, ill) = (of(RunStatus::Done).await, of(RunStatus::Error).await);
    assert!(well > 0 && ill > 0 && killed > 0 && looks > 5, "{well} DONE, {ill} ERROR, {killed} killed, {looks} looks");
}
