//! What the schema itself holds up for pipelines.

use crate::support::{connect, database};
use tenure_core::pipeline::{Claim, Definition, NewRun, Stage, Status};
use tenure_postgres::PostgresStore;
use tenure_store::PipelineStore;

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_transition_that_is_not_listed_is_refused_by_the_database() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    store.apply_pipeline(Definition::new("p").stage(Stage::new("a"))).await.unwrap().unwrap();
    store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
    let hand = connect(database.url()).await;
    for from in Status::ALL.iter().copied() {
        for to in Status::ALL.iter().copied().filter(|to| *to != from) {
            // The trigger watches updates; a state is set up beneath it.
            hand.batch_execute(&format!(
                "begin; alter table tenure.unit disable trigger unit_guard;
                 update tenure.unit set status = '{from}', token = 1,
                        expires_at = case when '{from}' = 'RUNNING' then now() end;
                 alter table tenure.unit enable trigger unit_guard"
            ))
            .await
            .unwrap();
            let moved = hand
                .batch_execute(&format!(
                    "update tenure.unit set status = '{to}', token = token + 1,
                            expires_at = case when '{to}' = 'RUNNING' then now() end"
                ))
                .await;
            let code = moved.as_ref().err().and_then(|error| error.code()).map(|code| code.code().to_owned());
            assert_eq!(code.is_none(), from.may_become(to), "{from} → {to}: {code:?}");
            assert!(code.is_none_or(|code| code == "TE004"), "{from} → {to}");
            hand.batch_execute("rollback").await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_view_of_stages_speaks_the_words_of_the_document() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    store.apply_pipeline(Definition::new("p").stage(Stage::new("a"))).await.unwrap().unwrap();
    store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
    store.advance_runs(1).await.unwrap();
    store.claim_units(Claim::new("p", "a", "w")).await.unwrap().unwrap();
    let hand = connect(database.url()).await;
    let sql = "select stage, status, lease_owner, lease_expires_at is not null as held from tenure.stages";
    let row = hand.query_one(sql, &[]).await.unwrap();
    let told: (&str, &str, &str, bool) = (row.get(0), row.get(1), row.get(2), row.get(3));
    assert_eq!(told, ("a", "RUNNING", "w", true));
}

/// Finishers, sweepers, orchestrators and an operator on the same runs: every deadlock is tried again unseen.
#[tokio::test(flavor = "multi_thread")]
async fn c9_everyone_at_once_on_the_same_runs_loses_nothing() {
    let database = database().await;
    let store = std::sync::Arc::new(PostgresStore::open(database.url()).await.unwrap());
    let definition =
        Definition::new("p").stage(Stage::new("a").attempts_max(1_000)).stage(Stage::new("b").needs(["a"]));
    store.apply_pipeline(definition).await.unwrap().unwrap();
    let mut runs = Vec::new();
    for _ in 0..20 {
        runs.push(store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap());
    }
    let mut tasks = Vec::new();
    for n in 0..8u64 {
        let (store, runs) = (store.clone(), runs.clone());
        tasks.push(tokio::spawn(async move {
            use tenure_core::pipeline::{Act, Ending, RunAction, UnitKey};
            for turn in 0..40u64 {
                store.advance_runs(3).await.unwrap();
                let claim = Claim::new("p", "a", "w").also("b").max(3).lease_ms(100);
                for unit in store.claim_units(claim).await.unwrap().unwrap().units {
                    let act = match (turn + n) % 3 {
                        0 => Act::Release,
                        _ => Act::Complete { output: None, record: None },
                    };
                    let unit_key = UnitKey::stage(unit.run, unit.stage);
                    let ending = Ending { unit: unit_key, owner: "w".to_owned(), token: unit.token, act };
                    let _ = store.finish_unit(ending).await.unwrap();
                }
                store.recover_units(5).await.unwrap();
                let run = runs[((turn * 7 + n) % 20) as usize];
                let action = if turn % 2 == 0 { RunAction::Pause } else { RunAction::Resume };
                let _ = store.operate_run(run, action).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    for run in &runs {
        let _ = store.operate_run(*run, tenure_core::pipeline::RunAction::Resume).await.unwrap();
    }
    loop {
        store.advance_runs(100).await.unwrap();
        let claim = Claim::new("p", "a", "w").also("b").max(100);
        let units = store.claim_units(claim).await.unwrap().unwrap().units;
        for unit in units {
            use tenure_core::pipeline::{Act, Ending, UnitKey};
            let act = Act::Complete { output: None, record: None };
            let unit_key = UnitKey::stage(unit.run, unit.stage);
            let ending = Ending { unit: unit_key, owner: "w".to_owned(), token: unit.token, act };
            store.finish_unit(ending).await.unwrap().unwrap();
        }
        let mut open = 0;
        for run in &runs {
            open += usize::from(!store.run(*run).await.unwrap().unwrap().0.status.terminal());
        }
        if open == 0 {
            break;
        }
    }
}
