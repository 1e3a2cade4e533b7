//! docs/guide/schedules.md

use serde::{Deserialize, Serialize};
use tenure::schedule::CatchUp;
use tenure::{Job, Tenure};

#[derive(Serialize, Deserialize, Job)]
#[job(queue = "reports")]
struct Nightly {
    format: String,
}

#[tokio::test]
async fn a_schedule_is_put_in_place() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let report = Nightly { format: "pdf".into() };

    let nightly = tenure.schedule("nightly-report");
    nightly.cron("30 2 * * *").zone("Europe/Berlin").enqueues(report).await?; // at every start of your program

    assert!(nightly.info().await?.next_at > Some(tenure.now().await?));

    let next = nightly.next(3).await?; // the next three slots
    nightly.pause().await?;
    nightly.resume().await?;
    let all = nightly.cron("30 2 * * *").zone("Europe/Berlin").catch_up(CatchUp::All);

    assert_eq!(next.len(), 3);
    assert_eq!(all.enqueues(Nightly { format: "csv".into() }).await?.definition.catch_up, CatchUp::All);
    Ok(())
}

#[tokio::test]
async fn upkeep_is_a_future_to_run_beside_the_work() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let your_work = std::future::ready(());

    tokio::select! {
        () = tenure.upkeep() => {} // fires what is due, until it is dropped
        () = your_work => {}
    }
    Ok(())
}
