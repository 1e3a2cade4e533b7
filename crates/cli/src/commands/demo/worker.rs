//! A worker of the demo: the library's own worker, with jobs that take a while and do nothing else.

use super::{AT_ONCE, LEASE};
use serde::Deserialize;
use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;
use tenure::{Context, Outcome, Outcomes, Tenure};
use tokio::sync::oneshot;

/// The first argument that makes this binary a worker of the demo.
pub(crate) const WORKER: &str = "__demo-worker";

#[derive(Deserialize)]
struct Task {
    ms: u64,
}

/// Works, if that is what this process was started for.
pub(crate) fn asked() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != WORKER {
        return None;
    }
    let (Some(queue), Some(name), Ok(store)) = (arguments.next(), arguments.next(), std::env::var("TENURE_STORE"))
    else {
        eprintln!("tenure: {WORKER} is started by `tenure demo`, and by nobody else");
        return Some(ExitCode::from(2));
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().ok()?;
    let worked = runtime.block_on(work(&store, &queue, &name));
    Some(if worked.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn work(store: &str, queue: &str, name: &str) -> tenure::Result<()> {
    let (left, demo_ended) = oneshot::channel::<()>();
    // The demo holds the other end: however it ends, so does this.
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(left);
    });
    let tenure = Tenure::open(store).await?;
    let worker = tenure.worker().queue(queue).name(name).lease(LEASE).concurrency(AT_ONCE);
    let worker = worker.grace(Duration::from_secs(1)).cancel_grace(Duration::ZERO).handle_any(handle);
    worker
        .run_until(async {
            let _ = demo_ended.await;
        })
        .await?;
    Ok(())
}

/// Takes its time on the thread, as code does that never heard of leases: frozen in the middle, it goes on afterwards
/// and hands in its result as if nothing had happened.
async fn handle(cx: Context) -> Outcome<Option<String>> {
    let task: Task = serde_json::from_str(&cx.job().payload)?;
    tokio::task::block_in_place(|| std::thread::sleep(Duration::from_millis(task.ms)));
    Outcome::done(cx.token().to_string())
}
