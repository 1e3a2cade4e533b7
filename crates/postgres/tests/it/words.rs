//! What a row may hold that core does not know is a broken store, never a guess.

use crate::support::{connect, database};
use tenure_core::queue::{Act, Claim, Ending, NewJob};
use tenure_core::retry::{Backoff, Retry};
use tenure_postgres::PostgresStore;
use tenure_store::QueueStore;

#[tokio::test(flavor = "multi_thread")]
async fn l12_an_ended_claim_with_a_verb_or_backoff_nobody_knows_is_a_broken_row() {
    let database = database().await;
    let store = PostgresStore::open(database.url()).await.unwrap();
    let hand = connect(database.url()).await;
    let new = NewJob::new("q", "k", "1").backoff(Backoff::default());
    let id = store.enqueue(vec![new]).await.unwrap().unwrap().remove(0).id;
    let job = store.claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    let act = Act::Fail { error: "no".into(), retry: Retry::In { delay_ms: 0 } };
    let ended = store.finish(vec![Ending { job: id, owner: "w".into(), token: job.token, act }]).await.unwrap();
    ended[0].unwrap();
    store.job(id).await.unwrap();
    for damage in [
        r#"update tenure.job set attempts = jsonb_set(attempts, '{0,verb}', '"explode"')"#,
        "update tenure.job set attempts = null, backoff = '{1,2}'",
    ] {
        hand.batch_execute(damage).await.unwrap();
        let error = store.job(id).await.unwrap_err();
        assert_eq!(error.code(), "store_broken", "{damage}: {error}");
    }
}
