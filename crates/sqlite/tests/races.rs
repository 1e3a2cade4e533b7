//! Two handles on one file: whoever is second is told so, and nothing is ever half done.

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use support::{File, claim, complete, enqueue, release};
use tenure_core::LostReason;
use tenure_core::queue::{Beat, Claim, Status};
use tenure_store::{QueueStore, Upkeep};

/// Rounds of a race: enough that both orders occur.
const ROUNDS: u64 = 60;
/// Longer than any lease here, so that rounds do not touch each other.
const ROUND_MS: u64 = 10_000;

#[tokio::test(flavor = "multi_thread")]
async fn i1_two_claims_of_one_job_have_one_winner() {
    let file = File::new();
    let (one, other) = (file.open().await, file.open().await);
    for round in 0..ROUNDS {
        let id = enqueue(&one, 1).await[0];
        let (a, b) = tokio::join!(claim(&one, "a", 1), claim(&other, "b", 1));
        assert_eq!(a.len() + b.len(), 1, "round {round}");
        let (store, owner, job) = if a.is_empty() { (&other, "b", &b[0]) } else { (&one, "a", &a[0]) };
        assert_eq!(job.id, id);
        store.finish(vec![complete(id, owner, job.token)]).await.unwrap()[0].unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l4_a_sweep_and_a_completion_never_both_win() {
    let file = File::new();
    let (one, other) = (file.open().await, file.open().await);
    for round in 0..ROUNDS {
        file.at(round * ROUND_MS);
        let id = enqueue(&one, 1).await[0];
        let token = claim(&one, "a", 1).await[0].token;
        let ending = vec![complete(id, "a", token)];
        let (completed, swept) = tokio::join!(one.finish(ending), async {
            file.at(round * ROUND_MS + 1_000);
            other.recover(10).await
        });
        let job = one.job(id).await.unwrap().unwrap();
        match completed.unwrap()[0] {
            Ok(_) => assert_eq!((job.status, swept.unwrap().requeued), (Status::Completed, 0), "round {round}"),
            Err(reason) => {
                assert_eq!((job.status, reason), (Status::Queued, LostReason::Expired), "round {round}");
                let again = claim(&other, "b", 1).await;
                other.finish(vec![complete(id, "b", again[0].token)]).await.unwrap()[0].unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l4_a_heartbeat_and_a_requeue_never_both_win() {
    let file = File::new();
    let (one, other) = (file.open().await, file.open().await);
    for round in 0..ROUNDS {
        file.at(round * ROUND_MS);
        let id = enqueue(&one, 1).await[0];
        let token = claim(&one, "a", 1).await[0].token;
        // A moment before the deadline, so that an accepted heartbeat reaches beyond it.
        file.at(round * ROUND_MS + 999);
        let (beaten, swept) = tokio::join!(one.heartbeat(vec![Beat::new(id, "a", token)]), async {
            file.at(round * ROUND_MS + 1_000);
            other.recover(10).await
        });
        let (kept, requeued) = (beaten.unwrap()[0].is_ok(), swept.unwrap().requeued);
        assert_eq!(requeued, u32::from(!kept), "round {round}");
        let (store, owner, token) =
            if kept { (&one, "a", token) } else { (&other, "b", claim(&other, "b", 1).await[0].token) };
        store.finish(vec![complete(id, owner, token)]).await.unwrap()[0].unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn l5_a_heartbeat_that_waited_for_the_lock_past_its_expiry_is_refused() {
    let file = File::new();
    let store = Arc::new(file.open().await);
    let id = enqueue(&store, 1).await[0];
    let token = claim(&store, "a", 1).await[0].token;
    // Somebody's own long transaction on the same file.
    let other = file.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let beat = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.heartbeat(vec![Beat::new(id, "a", token)]).await.unwrap() }
    });
    while store.lock_waits() == 0 {
        tokio::task::yield_now().await;
    }
    file.at(1_000);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(beat.await.unwrap(), [Err(LostReason::Expired)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn l2_tokens_never_repeat_under_sixteen_claimers_that_release() {
    let file = File::new();
    let stores = [Arc::new(file.open().await), Arc::new(file.open().await)];
    enqueue(&stores[0], 8).await;
    let claimers: Vec<_> = (0..16)
        .map(|n| {
            let store = Arc::clone(&stores[n % 2]);
            tokio::spawn(async move {
                let owner = format!("w{n}");
                let mut tokens = Vec::new();
                while tokens.len() < 25 {
                    for job in claim(&store, &owner, 2).await {
                        tokens.push((job.id, job.token));
                        store.finish(vec![release(job.id, &owner, job.token)]).await.unwrap()[0].unwrap();
                    }
                }
                tokens
            })
        })
        .collect();
    let mut drawn = Vec::new();
    for claimer in claimers {
        drawn.extend(claimer.await.unwrap());
    }
    let different: BTreeSet<_> = drawn.iter().map(|(_, token)| *token).collect();
    assert_eq!(different.len(), drawn.len());
    for id in drawn.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>() {
        let last = stores[0].job(id).await.unwrap().unwrap().token;
        assert_eq!(last, drawn.iter().filter(|(other, _)| *other == id).map(|(_, token)| *token).max());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn q2_a_commit_of_another_handle_wakes_who_waits() {
    let file = File::new();
    let (waiter, other) = (file.open().await, file.open().await);
    let mut listener = waiter.signals().listen(vec!["q".into()]);
    enqueue(&other, 1).await;
    listener.woken().await;
    assert_eq!(claim(&waiter, "a", 1).await.len(), 1);
}

#[tokio::test]
async fn l7_a_row_that_cannot_be_read_never_stops_the_others() {
    let file = File::new();
    let store = file.open().await;
    let ids = enqueue(&store, 5).await;
    // A first attempt, so that there is something to spoil.
    for job in claim(&store, "a", 5).await {
        store.finish(vec![release(job.id, "a", job.token)]).await.unwrap()[0].unwrap();
    }
    let shared = store.claim(Claim::new("q", "a").max(3).lease_ms(1_000).shared(3)).await.unwrap().jobs;
    let each = claim(&store, "a", 2).await;
    let raw = file.raw();
    raw.execute("UPDATE tenure_job SET attempts = 'spoiled' WHERE id = ?1", [shared[1].id.0]).unwrap();
    raw.execute("UPDATE tenure_lease SET units = 'spoiled' WHERE token = ?1", [each[0].token.0]).unwrap();

    file.at(1_000);
    assert_eq!(store.recover(10).await.unwrap().requeued, 3);
    assert_eq!(store.recover(10).await.unwrap().leases, 0, "what was set aside is not tried for ever");
    let free: Vec<_> = claim(&store, "b", 10).await.iter().map(|job| job.id).collect();
    assert_eq!(free, [ids[0], ids[2], ids[4]]);

    // Mended by a person, and tried again when the store is opened next.
    raw.execute("UPDATE tenure_job SET attempts = NULL WHERE attempts = 'spoiled'", []).unwrap();
    let units = format!("[{}]", each[0].id);
    raw.execute("UPDATE tenure_lease SET units = ?1 WHERE units = 'spoiled'", [units]).unwrap();
    drop(store);
    let store = file.open().await;
    assert_eq!(store.recover(10).await.unwrap().requeued, 2);
}
