//! What the layout itself holds up for pipelines: a transition that P2 does not list is refused, and the view speaks the
//! words of the document.

mod support;

use support::File;
use tenure_core::pipeline::{
    Act, Claim, ClaimedUnit, Definition, Ending, NewRun, Recovered, RunStatus, Stage, Status, UnitKey,
};
use tenure_core::retry::Retry;
use tenure_sqlite::SqliteStore;
use tenure_sqlite::rusqlite::Connection;
use tenure_store::PipelineStore;

/// A file with one run whose only stage stands in each state in turn.
async fn in_state(file: &File, status: Status) -> Connection {
    let store = file.open().await;
    store.apply_pipeline(Definition::new("p").stage(Stage::new("a"))).await.unwrap().unwrap();
    store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
    if status != Status::New {
        store.advance_runs(1).await.unwrap();
    }
    if matches!(status, Status::Running | Status::Done | Status::Error) {
        store.claim_units(Claim::new("p", "a", "w")).await.unwrap().unwrap();
    }
    drop(store);
    let hand = Connection::open(file.path()).unwrap();
    if matches!(status, Status::Done | Status::Error) {
        let end = "UPDATE tenure_unit SET status = ?1, expires_at = NULL";
        hand.execute(end, [status.as_str()]).unwrap();
    }
    hand
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_a_transition_that_is_not_listed_is_refused_by_the_database() {
    for from in Status::ALL.iter().copied() {
        let file = File::new();
        let hand = in_state(&file, from).await;
        for to in Status::ALL.iter().copied().filter(|to| *to != from) {
            hand.execute_batch("SAVEPOINT try").unwrap();
            let lease = if to == Status::Running { "9" } else { "NULL" };
            let sql =
                "UPDATE tenure_unit SET token = coalesce(token, 0) + 1, status = :to, expires_at = ".to_owned() + lease;
            let moved = hand.execute(&sql, &[(":to", to.as_str())]);
            let refused = moved.as_ref().err().map(ToString::to_string).unwrap_or_default();
            assert_eq!(moved.is_ok(), from.may_become(to), "{from} → {to}: {refused}");
            assert!(moved.is_ok() || refused.contains("P2"), "{from} → {to}: {refused}");
            hand.execute_batch("ROLLBACK TO try; RELEASE try").unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_a_claim_without_a_larger_token_is_refused_by_the_database() {
    let file = File::new();
    let hand = in_state(&file, Status::Running).await;
    let back = hand.execute("UPDATE tenure_unit SET token = token - 1", []).unwrap_err().to_string();
    assert!(back.contains("L2"), "{back}");
}

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_view_of_stages_speaks_the_words_of_the_document() {
    let file = File::new();
    let hand = in_state(&file, Status::Running).await;
    let told: (String, String, String, bool) = hand
        .query_row(
            "SELECT stage, status, lease_owner, lease_expires_at LIKE '____-__-__T%Z' FROM tenure_stages",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!(told, ("a".to_owned(), "RUNNING".to_owned(), "w".to_owned(), true));
}

/// Runs of one stage, each claimed for a second by `w`.
async fn claimed_runs(file: &File, count: usize) -> (SqliteStore, Vec<ClaimedUnit>) {
    let store = file.open().await;
    store.apply_pipeline(Definition::new("p").stage(Stage::new("a"))).await.unwrap().unwrap();
    for _ in 0..count {
        store.start_run(NewRun::new("p", "1")).await.unwrap().unwrap();
    }
    store.advance_runs(100).await.unwrap();
    let claim = Claim::new("p", "a", "w").max(100).lease_ms(1_000);
    let units = store.claim_units(claim).await.unwrap().unwrap().units;
    assert_eq!(units.len(), count);
    (store, units)
}

/// What core cannot have written, in the row of a unit.
fn spoil(file: &File, unit: &ClaimedUnit) {
    let spoiled = "UPDATE tenure_unit SET record = 'spoiled' WHERE run = ?1";
    assert_eq!(file.raw().execute(spoiled, [unit.run.0]).unwrap(), 1);
}

fn mend(file: &File) {
    file.raw().execute("UPDATE tenure_unit SET record = NULL WHERE record = 'spoiled'", []).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn l7_a_unit_that_cannot_be_read_never_stops_the_others() {
    let file = File::new();
    let (store, units) = claimed_runs(&file, 4).await;
    spoil(&file, &units[0]);
    spoil(&file, &units[2]);
    file.at(1_000);
    // The oldest deadline is the spoiled one's, and is not in the way of the others for longer than one look.
    let mut returned = 0;
    for _ in 0..4 {
        returned += store.recover_units(1).await.unwrap().returned;
    }
    assert_eq!(returned, 2);
    assert_eq!(
        store.recover_units(10).await.unwrap(),
        Recovered::default(),
        "what was set aside is not tried for ever"
    );
    let free = store.claim_units(Claim::new("p", "a", "v").max(9)).await.unwrap().unwrap().units;
    assert_eq!(free.iter().map(|unit| unit.run).collect::<Vec<_>>(), [units[1].run, units[3].run]);

    // Mended by a person, and tried again when the store is opened next.
    mend(&file);
    drop(store);
    let store = file.open().await;
    assert_eq!(store.recover_units(10).await.unwrap(), Recovered { returned: 2, failed: 0 });
}

#[tokio::test(flavor = "multi_thread")]
async fn l7_a_claim_recovers_around_a_unit_that_cannot_be_read() {
    let file = File::new();
    let (store, units) = claimed_runs(&file, 2).await;
    spoil(&file, &units[0]);
    file.at(1_000);
    let free = store.claim_units(Claim::new("p", "a", "v").max(9)).await.unwrap().unwrap().units;
    assert_eq!(free.iter().map(|unit| unit.run).collect::<Vec<_>>(), [units[1].run]);
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_a_run_that_cannot_be_read_never_stops_the_orchestrator() {
    let file = File::new();
    let (store, units) = claimed_runs(&file, 4).await;
    let end = async |unit: &ClaimedUnit, act: Act| {
        let key = UnitKey::stage(unit.run, "a");
        store.finish_unit(Ending { unit: key, owner: "w".into(), token: unit.token, act }).await.unwrap().unwrap();
    };
    let again = || Act::Fail { error: "it broke".into(), retry: Retry::In { delay_ms: 0 } };
    end(&units[0], again()).await;
    end(&units[1], again()).await;
    end(&units[2], Act::Complete { output: None, record: None }).await;
    end(&units[3], Act::Complete { output: None, record: None }).await;
    spoil(&file, &units[0]);
    spoil(&file, &units[2]);
    let (mut retried, mut settled) = (0, 0);
    for _ in 0..4 {
        let advanced = store.advance_runs(1).await.unwrap();
        (retried, settled) = (retried + advanced.retried, settled + advanced.settled);
    }
    assert_eq!((retried, settled), (1, 1), "the others go on");
    let status = async |unit: &ClaimedUnit| store.run(unit.run).await.unwrap().unwrap().0.status;
    assert_eq!(status(&units[3]).await, RunStatus::Done);

    mend(&file);
    drop(store);
    let store = file.open().await;
    let advanced = store.advance_runs(9).await.unwrap();
    assert_eq!((advanced.retried, advanced.settled), (1, 1), "and so do they once mended");
}
