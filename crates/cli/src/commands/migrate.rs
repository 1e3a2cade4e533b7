//! `tenure migrate`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::{Address, Tenure};
use tenure_wire::store::{Migrated, Roles};

/// Bring the schema of a PostgreSQL store to this version; prints its number. Every other store looks after itself: an
/// SQLite file is upgraded whenever it is opened.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tenure migrate --store postgres://owner@db.example/work\n  \
                  tenure migrate --store postgres://owner@db.example/work --print-roles | psql work")]
pub(crate) struct Migrate {
    /// Change nothing; print the SQL that sets up roles with no more rights than they need, to be run by an
    /// administrator after every migration
    #[arg(long)]
    print_roles: bool,
}

impl Migrate {
    pub(crate) async fn run(self, store: &Address, output: &Output) -> Result<(), Failure> {
        if self.print_roles {
            let script = Tenure::roles(store.as_str()).map_err(|error| Failure::opening(store, error))?;
            output.show(&Roles { script }, |output, reply| match &reply.script {
                Some(script) => output.line(script.trim_end()),
                None => output.note("this store has no roles: whoever may open it may do everything"),
            });
            return Ok(());
        }
        let version = Tenure::migrate(store.as_str()).await.map_err(|error| Failure::opening(store, error))?;
        output.show(&Migrated { version }, |output, reply| match reply.version {
            Some(version) => output.line(&version.to_string()),
            None => output.note("nothing to do: this store upgrades itself whenever it is opened"),
        });
        Ok(())
    }
}
