//! Being told to stop. SIGINT and SIGTERM: the first asks, the second insists.

use crate::{Error, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tenure_store::StoreError;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};

type Signalled = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Two futures: the first returns at the first signal, the second at the second.
pub(crate) fn two() -> Result<(Signalled, Signalled)> {
    let cannot =
        |error: std::io::Error| Error::from(StoreError::unavailable(format!("cannot listen to signals: {error}")));
    let mut interrupted = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut terminated = signal(SignalKind::terminate()).map_err(cannot)?;
    let (first, second) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let told = [first.clone(), second.clone()];
    tokio::spawn(async move {
        for told in told {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            }
            told.add_permits(1);
        }
    });
    Ok((Box::pin(told_by(first)), Box::pin(told_by(second))))
}

async fn told_by(semaphore: Arc<Semaphore>) {
    // It is never closed.
    let _ = semaphore.acquire().await;
}

/// Returns when it is told.
pub(crate) async fn told(mut signal: watch::Receiver<bool>) {
    // A sender that is gone tells nothing any more.
    if signal.wait_for(|told| *told).await.is_err() {
        std::future::pending().await
    }
}
