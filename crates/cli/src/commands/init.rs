//! `tenure init`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::{Address, Tenure};
use tenure_wire::store::Initialised;

/// Make the store, if it is not there yet: the file, or the schema in a database. Says what it made; a second time, that it
/// is there. Commands that write make it too, when they are first used; those that only read never do.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure init
  tenure init --store postgres://owner@db.example/work")]
pub(crate) struct Init {}

impl Init {
    pub(crate) async fn run(self, store: &Address, output: &Output) -> Result<(), Failure> {
        let opening = Tenure::open(store.as_str());
        let found = opening.clone().create(false).await;
        let created = found.as_ref().is_err_and(|error| error.code() == "store_absent");
        let opened = if created { opening.await } else { found };
        let tenure = opened.map_err(|error| Failure::opening(store, error))?;
        let store = tenure.describe().await?;
        output.show(&Initialised { created, store }, |output, reply| {
            let what = if reply.created { "made a store" } else { "the store is there already" };
            output.line(&format!("{what}: {}", reply.store));
        });
        Ok(())
    }
}
