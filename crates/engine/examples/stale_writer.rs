//! A worker stalls, its lease runs out, another takes over, and the first wakes up and writes.
//!
//! Tenure refuses that write by itself. A database of your own can refuse it too, if it remembers the largest token it
//! has seen: [`Asset`] is such a row.
//!
//! ```text
//! cargo run -p tenure --example stale_writer
//! ```

use std::time::Duration;
use tenure::{Error, LostReason, NewJob, Tenure, Token, What};

/// A row of the user's own, in any database:
/// `update asset set file = $2, last_token = $3 where id = $1 and last_token <= $3`.
#[derive(Default)]
struct Asset {
    file: Option<&'static str>,
    last_token: i64,
}

impl Asset {
    /// Writes unless a later holder has written already; whether it did.
    fn write(&mut self, file: &'static str, token: Token) -> bool {
        if self.last_token > token.0 {
            return false;
        }
        *self = Asset { file: Some(file), last_token: token.0 };
        true
    }
}

#[tokio::main]
pub(crate) async fn main() -> tenure::Result<()> {
    let tenure = Tenure::open("memory:").await?;
    let id = tenure.enqueue(NewJob::new("images", "resize", r#"{"asset":42}"#)).await?.id;
    let mut asset = Asset::default();

    // Alice claims the job for a tenth of a second and is not heard of again.
    let images = tenure.queue("images");
    let alice = images.claim().worker("alice").lease(Duration::from_millis(100)).one().await?.expect("one waits");

    // Bob waits for work. Nobody sweeps: the claim itself returns what ran out.
    let bob = images.claim().worker("bob").wait(Duration::from_secs(10)).one().await?.expect("it comes back");
    assert_eq!((bob.id, bob.attempt), (id, 2));
    assert!(bob.token > alice.token);
    assert!(asset.write("42-by-bob.webp", bob.token()));

    // Alice wakes up in the middle of her handler, and believes that she still holds the job.
    assert!(!asset.write("42-by-alice.webp", alice.token()), "the row has seen a larger token");
    let refused = alice.complete(&()).await.map_err(Error::from);
    assert!(matches!(refused, Err(Error::LeaseLost(LostReason::Superseded))));

    bob.complete(&()).await?;
    assert_eq!(asset.file, Some("42-by-bob.webp"));

    let timeline = tenure.job(id).timeline().await?;
    let told: Vec<What> = timeline.iter().map(|event| event.what).collect();
    assert_eq!(told, [What::Enqueued, What::Claimed, What::Expired, What::Claimed, What::Refused, What::Completed]);
    timeline.iter().for_each(|event| println!("{:<10} {}", event.what.as_str(), event.message()));
    Ok(())
}
