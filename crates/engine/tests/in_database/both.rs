//! What holds for the transactions of every driver.

use crate::postgres::Postgres;
use crate::sqlite::Sqlite;
use crate::{App, START, claimed, job, queued};
use tenure::{Act, Claim, Ending, Error, LostReason, NewJob, Reason, Retry, Status, Token, bounds};

/// Stamps each claim for each driver.
macro_rules! stamp {
    ($($claim:ident),+ $(,)?) => {
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $claim() {
                super::$claim::<super::Postgres>().await;
            })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $claim() {
                super::$claim::<super::Sqlite>().await;
            })+
        }
    };
}

stamp! {
    q10_a_job_and_its_row_are_committed_together,
    q10_a_rollback_takes_the_job_and_its_row,
    q10_many_jobs_are_added_in_their_order_or_none,
    q10_every_field_of_a_job_arrives,
    q10_work_is_completed_with_what_it_wrote_or_not_at_all,
    q10_work_fails_with_what_it_wrote_or_not_at_all,
    q10_a_final_failure_is_final,
    q10_held_passes_while_held_and_says_why_it_is_lost,
    l4_a_finish_after_expiry_is_refused_in_a_transaction_that_held,
    l12_an_ending_sent_again_in_a_transaction_is_already,
    q7_a_key_is_remembered_in_a_transaction_as_anywhere,
    q7_another_body_under_a_key_refuses_the_whole_call,
    x_bad_input_leaves_the_transaction_usable,
}

async fn q10_a_job_and_its_row_are_committed_together<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let mut tx = app.begin().await;
    A::write(&mut tx).await;
    let enqueued = tenure.enqueue(job()).in_tx(&mut tx).await.unwrap();
    assert_eq!((enqueued.status, enqueued.deduplicated), (Status::Queued, false));
    assert_eq!(queued(&tenure).await, 0, "not before the commit");
    A::commit(tx).await;
    assert_eq!((queued(&tenure).await, app.effects().await), (1, 1));
    assert_eq!(tenure.verbs().claim(Claim::new("q", "w")).await.unwrap().jobs[0].id, enqueued.id);
}

async fn q10_a_rollback_takes_the_job_and_its_row<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let mut tx = app.begin().await;
    A::write(&mut tx).await;
    tenure.enqueue(job().key("k").ordering_key("l").limit_key("t")).in_tx(&mut tx).await.unwrap();
    A::rollback(tx).await;
    assert_eq!((queued(&tenure).await, app.effects().await), (0, 0));
    let again = tenure.enqueue(NewJob::new("q", "kind", "2").key("k")).await.unwrap();
    assert!(!again.deduplicated, "the key was rolled back too");
}

async fn q10_many_jobs_are_added_in_their_order_or_none<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let jobs: Vec<NewJob> = (0..5).map(|n| NewJob::new("q", "kind", n.to_string())).collect();
    let mut tx = app.begin().await;
    let enqueued = tenure.verbs().enqueue_all_in(&mut tx, &jobs).await.unwrap();
    A::commit(tx).await;
    let claimed = tenure.verbs().claim(Claim::new("q", "w").max(10)).await.unwrap().jobs;
    let (ids, payloads): (Vec<_>, Vec<_>) = claimed.into_iter().map(|job| (job.id, job.payload)).unzip();
    assert_eq!(ids, enqueued.iter().map(|job| job.id).collect::<Vec<_>>());
    assert_eq!(payloads, ["0", "1", "2", "3", "4"]);

    let mut tx = app.begin().await;
    let none = tenure.verbs().enqueue_all_in(&mut tx, &[]).await.unwrap_err();
    assert_eq!(none.code(), "out_of_bounds");
    A::commit(tx).await;
}

async fn q10_every_field_of_a_job_arrives<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let backoff = tenure::Backoff { initial_ms: 7, factor: 3.0, max_ms: 70, jitter: 0.0 };
    let sent = NewJob::new("q", "kind", "{ \"a\":1.0 }")
        .priority(-3)
        .run_at(START.plus_ms(60_000))
        .attempts_max(2)
        .timeout_ms(9_000)
        .backoff(backoff)
        .ordering_key("lane")
        .limit_key("tenant");
    let mut tx = app.begin().await;
    let id = tenure.enqueue(sent).in_tx(&mut tx).await.unwrap().id;
    A::commit(tx).await;
    let job = tenure.verbs().job(id).await.unwrap().unwrap();
    assert_eq!((job.payload.as_str(), job.priority, job.run_at), ("{ \"a\":1.0 }", -3, START.plus_ms(60_000)));
    assert_eq!((job.attempts_max, job.timeout_ms, job.backoff), (2, Some(9_000), Some(backoff)));
    assert_eq!((job.ordering_key.as_deref(), job.limit_key.as_deref()), (Some("lane"), Some("tenant")));
}

async fn q10_work_is_completed_with_what_it_wrote_or_not_at_all<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let held = claimed(&tenure).await;
    let mut tx = app.begin().await;
    A::write(&mut tx).await;
    let ended = tenure.verbs().complete_in(&mut tx, held.id, "w", held.token, None).await.unwrap();
    assert_eq!((ended.status, ended.already), (Status::Completed, false));
    A::rollback(tx).await;
    assert_eq!(tenure.verbs().job(held.id).await.unwrap().unwrap().status, Status::Running);
    assert_eq!(app.effects().await, 0);

    let mut tx = app.begin().await;
    A::write(&mut tx).await;
    tenure.verbs().complete_in(&mut tx, held.id, "w", held.token, Some("7".into())).await.unwrap();
    A::commit(tx).await;
    let job = tenure.verbs().job(held.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.result.as_deref()), (Status::Completed, Some("7")));
    assert_eq!(app.effects().await, 1);
    assert_eq!(tenure.verbs().queue("q").await.unwrap().unwrap().counts.running, 0);
}

async fn q10_work_fails_with_what_it_wrote_or_not_at_all<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let held = claimed(&tenure).await;
    let mut tx = app.begin().await;
    tenure.verbs().fail_in(&mut tx, held.id, "w", held.token, "boom").await.unwrap();
    A::rollback(tx).await;
    assert_eq!(tenure.verbs().job(held.id).await.unwrap().unwrap().status, Status::Running);

    let mut tx = app.begin().await;
    A::write(&mut tx).await;
    let ended = tenure.verbs().fail_in(&mut tx, held.id, "w", held.token, "boom").await.unwrap();
    assert_eq!(ended.status, Status::Queued, "it is tried again by its backoff");
    A::commit(tx).await;
    let job = tenure.verbs().job(held.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.error.as_deref()), (Status::Queued, Some("boom")));
    assert!(job.run_at > START);
    assert_eq!(app.effects().await, 1);
}

async fn q10_a_final_failure_is_final<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let held = claimed(&tenure).await;
    let act = Act::Fail { error: "é".repeat(bounds::ERROR_BYTES_MAX), retry: Retry::Never };
    let mut tx = app.begin().await;
    let ending = Ending { job: held.id, owner: "w".into(), token: held.token, act };
    assert_eq!(tenure.verbs().finish_in(&mut tx, ending).await.unwrap().status, Status::Failed);
    A::commit(tx).await;
    let job = tenure.verbs().job(held.id).await.unwrap().unwrap();
    assert_eq!((job.status, job.reason), (Status::Failed, Some(Reason::Failed)));
    assert!(job.error.unwrap().ends_with("… (cut)"));
}

async fn q10_held_passes_while_held_and_says_why_it_is_lost<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let first = claimed(&tenure).await;
    assert_eq!(held(&mut app, &first, "w").await, None);
    assert_eq!(held(&mut app, &first, "other").await, Some(LostReason::Unknown));
    let never = tenure::ClaimedJob { token: Token(first.token.0 + 1), ..first.clone() };
    assert_eq!(held(&mut app, &never, "w").await, Some(LostReason::Unknown));

    app.clock().set(START.plus_ms(1_000)).await;
    assert_eq!(held(&mut app, &first, "w").await, Some(LostReason::Expired), "at the instant of expiry");
    let second = tenure.verbs().claim(Claim::new("q", "w")).await.unwrap().jobs.remove(0);
    assert_eq!(held(&mut app, &first, "w").await, Some(LostReason::Superseded));
    assert_eq!(held(&mut app, &second, "w").await, None);
    tenure.verbs().complete(second.id, "w", second.token, None).await.unwrap();
    assert_eq!(held(&mut app, &second, "w").await, Some(LostReason::Finished));

    let third = claimed(&tenure).await;
    tenure.verbs().cancel(third.id, None, true).await.unwrap();
    assert_eq!(held(&mut app, &third, "w").await, Some(LostReason::Cancelled));
}

/// Why the lease is lost, asked in a transaction of its own.
async fn held<A: App>(app: &mut A, job: &tenure::ClaimedJob, owner: &str) -> Option<LostReason> {
    let tenure = app.tenure().clone();
    let mut tx = app.begin().await;
    let held = tenure.verbs().held_in(&mut tx, job.id, owner, job.token).await;
    A::rollback(tx).await;
    match held {
        Ok(()) => None,
        Err(Error::LeaseLost(reason)) => Some(reason),
        Err(error) => panic!("{error}"),
    }
}

async fn l4_a_finish_after_expiry_is_refused_in_a_transaction_that_held<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let job = claimed(&tenure).await;
    let clock = app.clock();
    let mut tx = app.begin().await;
    tenure.verbs().held_in(&mut tx, job.id, "w", job.token).await.unwrap();
    A::write(&mut tx).await;
    clock.set(START.plus_ms(1_000)).await;
    let late = tenure.verbs().complete_in(&mut tx, job.id, "w", job.token, None).await.unwrap_err();
    assert!(matches!(late, Error::LeaseLost(LostReason::Expired)), "{late}");
    A::rollback(tx).await;
    assert_eq!(app.effects().await, 0);
}

async fn l12_an_ending_sent_again_in_a_transaction_is_already<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let job = claimed(&tenure).await;
    tenure.verbs().complete(job.id, "w", job.token, None).await.unwrap();
    let mut tx = app.begin().await;
    let again = tenure.verbs().complete_in(&mut tx, job.id, "w", job.token, None).await.unwrap();
    assert_eq!((again.status, again.already), (Status::Completed, true));
    A::commit(tx).await;
    let mut tx = app.begin().await;
    let other = tenure.verbs().fail_in(&mut tx, job.id, "w", job.token, "boom").await.unwrap_err();
    assert!(matches!(other, Error::LeaseLost(LostReason::Finished)), "{other}");
    A::rollback(tx).await;
}

async fn q7_a_key_is_remembered_in_a_transaction_as_anywhere<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let id = tenure.enqueue(job().key("k")).await.unwrap().id;
    let mut tx = app.begin().await;
    let again = tenure.enqueue(NewJob::new("q", "kind", " 1.0").key("k")).in_tx(&mut tx).await.unwrap();
    A::commit(tx).await;
    assert_eq!((again.id, again.deduplicated), (id, true));
    assert_eq!(queued(&tenure).await, 1);
}

async fn q7_another_body_under_a_key_refuses_the_whole_call<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let id = tenure.enqueue(job().key("k")).await.unwrap().id;
    let mut tx = app.begin().await;
    A::write(&mut tx).await;
    let other = NewJob::new("q", "kind", "2").key("k");
    let refused = tenure.verbs().enqueue_all_in(&mut tx, &[job(), other]).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Conflict { index: 1, with } if *with == tenure::KeyHolder::Job(id)),
        "{refused:?}"
    );
    A::rollback(tx).await;
    assert_eq!((queued(&tenure).await, app.effects().await), (1, 0));
}

async fn x_bad_input_leaves_the_transaction_usable<A: App>() {
    let mut app = A::open().await;
    let tenure = app.tenure().clone();
    let held = claimed(&tenure).await;
    let mut tx = app.begin().await;
    A::write(&mut tx).await;
    let syntax = tenure.enqueue(NewJob::new("q", "kind", "{")).in_tx(&mut tx).await.unwrap_err();
    assert_eq!(syntax.code(), "json_syntax");
    let bulk = [job(), NewJob::new("-", "kind", "1")];
    let named = tenure.verbs().enqueue_all_in(&mut tx, &bulk).await.unwrap_err();
    assert!(matches!(&named, Error::Invalid(invalid) if invalid.field == "jobs[1].queue"), "{named}");
    let result = tenure.verbs().complete_in(&mut tx, held.id, "w", held.token, Some("nope".into())).await.unwrap_err();
    assert!(matches!(&result, Error::Invalid(invalid) if invalid.field == "result"), "{result}");
    let owner = tenure.verbs().held_in(&mut tx, held.id, "\0", held.token).await.unwrap_err();
    assert!(matches!(&owner, Error::Invalid(invalid) if invalid.field == "worker"), "{owner}");
    let ending = Ending { job: held.id, owner: "w".into(), token: held.token, act: Act::Release };
    let act = tenure.verbs().finish_in(&mut tx, ending).await.unwrap_err();
    assert!(matches!(&act, Error::Invalid(invalid) if invalid.field == "act"), "{act}");

    tenure.verbs().complete_in(&mut tx, held.id, "w", held.token, None).await.unwrap();
    A::commit(tx).await;
    assert_eq!(app.effects().await, 1);
    assert_eq!(tenure.verbs().job(held.id).await.unwrap().unwrap().status, Status::Completed);
}
