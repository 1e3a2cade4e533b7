//! A typed job and its handler, run by a worker.
//!
//! ```text
//! cargo run -p tenure --example worker
//! ```

use serde::{Deserialize, Serialize};
use tenure::prelude::*;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "resize", queue = "images")]
struct Resize {
    asset: u64,
}

async fn resize(cx: Context, job: Resize) -> Outcome<String> {
    cx.checkpoint(&"decoded").await?; // survives a crash; `?` means: try again
    Outcome::done(format!("images/{}.webp", job.asset)) // or retry, snooze, cancel, fail
}

#[tokio::main]
pub(crate) async fn main() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?; // or sqlite:tenure.db, or postgres://…
    let id = tenure.enqueue(Resize { asset: 42 }).key("asset-42").await?.id;

    // Drained, it ends when nothing is left to do.
    let report = tenure.worker().concurrency(16).handle(resize).drain().await?; // or run_until_signalled()
    let file: String = tenure.job(id).wait().await?;
    assert_eq!((report.completed, report.refused), (1, 0));
    println!("job {id} is {} with {file}", tenure.job(id).info().await?.status);
    Ok(())
}
