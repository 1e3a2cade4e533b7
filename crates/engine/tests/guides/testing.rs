//! docs/guide/testing.md

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure::prelude::*;
use tenure::testing::{Doomed, TestEngine};

#[derive(Serialize, Deserialize, Job)]
#[job(key = "order")]
struct Charge {
    order: u64,
}

/// The other side keeps one charge for each order, however often it is asked.
#[derive(Clone, Default)]
struct Payments(Arc<Mutex<BTreeSet<u64>>>);

impl Payments {
    async fn charge(&self, order: u64) -> Result<(), String> {
        self.0.lock().unwrap().insert(order);
        Ok(())
    }

    fn charged(&self) -> Vec<u64> {
        self.0.lock().unwrap().iter().copied().collect()
    }
}

async fn checkout(tenure: &Tenure, order: u64) -> tenure::Result<()> {
    tenure.enqueue(Charge { order }).await.map(drop)
}

async fn charge(cx: Context, job: Charge) -> Outcome {
    cx.state::<Payments>().charge(job.order).await?;
    cx.reached("charged").await;
    Outcome::done(())
}

#[tokio::test]
async fn a_charge_survives_a_crash() -> tenure::Result<()> {
    let engine = TestEngine::new(); // everything a Tenure can do
    checkout(&engine, 7).await?;
    tenure::assert_enqueued!(engine, Charge { order: 7 });

    let payments = Payments::default();
    let worker = || engine.worker().state(payments.clone()).handle(charge);
    Doomed::new(worker()).kill_at("charged").drain().await?; // dies there, as by SIGKILL

    engine.advance(Duration::from_secs(30)); // its lease runs out
    assert_eq!(worker().drain().await?.completed, 1);
    assert_eq!(payments.charged(), [7]); // was your handler idempotent?
    Ok(())
}
