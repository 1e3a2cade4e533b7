//! What the layout itself holds up for pipelines: a transition that P2 does not list is refused, and the view speaks the
//! words of the document.

mod support;

use support::File;
use tenure_core::pipeline::{Claim, Definition, NewRun, Stage, Status};
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
        let end = "UPDATE unit SET status = ?1, expires_at = NULL";
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
            let sql = "UPDATE unit SET token = coalesce(token, 0) + 1, status = :to, expires_at = ".to_owned() + lease;
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
    let back = hand.execute("UPDATE unit SET token = token - 1", []).unwrap_err().to_string();
    assert!(back.contains("L2"), "{back}");
}

#[tokio::test(flavor = "multi_thread")]
async fn q11_the_view_of_stages_speaks_the_words_of_the_document() {
    let file = File::new();
    let hand = in_state(&file, Status::Running).await;
    let told: (String, String, String, bool) = hand
        .query_row("SELECT stage, status, lease_owner, lease_expires_at LIKE '____-__-__T%Z' FROM stages", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .unwrap();
    assert_eq!(told, ("a".to_owned(), "RUNNING".to_owned(), "w".to_owned(), true));
}
