//! docs/guide/domains.md

use std::time::Duration;
use tenure::domain::{Acquired, FailedTry, Succeeded, Work, offsets};
use tenure::{Result, Tenure};

async fn apply(_: &str, _: u64) -> std::result::Result<(), String> {
    Ok(())
}

async fn post(work: Work) -> std::result::Result<(), String> {
    apply(&work.domain, work.offset).await
}

#[tokio::test]
async fn an_offset_is_acquired_and_completed() -> Result<()> {
    let tenure = Tenure::open("memory:").await?;

    let account = tenure.domain("acct-42");
    let acquired = account.try_acquire(17).await?;
    match acquired.answer() {
        Acquired::Enqueued { .. } => { /* another offset is in flight; 17 waits behind it */ }
        Acquired::AlreadyProcessed | Acquired::AlreadyFailed => { /* done before: acknowledge it */ }
        _ => {}
    }
    if let Some(held) = acquired.held() {
        match apply("acct-42", 17).await {
            Ok(()) => println!("done; next: {:?}", held.complete().await?),
            Err(_) => match held.fail().await? {
                FailedTry::RetryScheduled { held, retry_count } => println!("{retry_count}; still {}", held.offset),
                FailedTry::GaveUp { next_hint } => println!("given up; next: {next_hint:?}"),
            },
        }
    }

    assert_eq!(account.try_acquire(17).await?, Acquired::AlreadyProcessed);
    let first = account.try_acquire(18).await?.held().expect("nothing is in flight");
    assert_eq!(account.try_acquire(19).await?, Acquired::Enqueued { expired_offset: None });

    let advanced = first.advance(None).await?; // 18 is done, and 19, which waited, is asked for
    assert_eq!(advanced.succeeded, Succeeded::NextHint { offset: 19 });
    assert!(matches!(&advanced.next, Some((19, Ok(next))) if next.answer().token().is_some()));
    Ok(())
}

#[tokio::test]
async fn a_named_holder_renews_its_lease() -> Result<()> {
    let tenure = Tenure::open("memory:").await?;

    let account = tenure.domain("acct-42").worker("worker-7").lease(Duration::from_secs(30));
    let held = account.try_acquire(1).await?.held().expect("nothing is in flight");
    held.heartbeat().await?;

    assert_eq!(tenure.domain("acct-42").try_acquire(1).await?, Acquired::HeldByOther);
    account.change().max_retries(5).takeovers_max(3).await?;
    Ok(())
}

#[tokio::test]
async fn a_worker_works_through_offsets() -> Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let messages = [("acct-42", 1), ("acct-42", 2), ("acct-43", 1)];

    let worker = tenure.domain_worker().name("worker-7").lease(Duration::from_secs(30)).concurrency(64);
    let report = worker.run(offsets(messages), post).await?; // async fn(Work) -> Result<(), _>

    assert_eq!(report.completed, 3);
    Ok(())
}
