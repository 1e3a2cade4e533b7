//! `tenure schedule next`.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use tenure::Tenure;
use tenure_wire::{reply, time};

/// Preview the slots of a schedule, or of an expression that is not put in place yet.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tenure schedule next nightly-report
  tenure schedule next --cron '30 2 * * *' --zone Europe/Berlin --count 3")]
pub(crate) struct Next {
    /// The schedule
    #[arg(required_unless_present = "cron", conflicts_with = "cron")]
    schedule: Option<String>,

    /// An expression instead
    #[arg(long, value_name = "EXPR")]
    cron: Option<String>,

    /// The zone in which that expression is read
    #[arg(long, requires = "cron", default_value = "UTC")]
    zone: String,

    /// How many slots, 1 to 1,000
    #[arg(long, default_value_t = 10)]
    count: u32,
}

impl Next {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let (cron, zone) = match (self.cron, self.schedule) {
            (Some(cron), _) => (cron, self.zone),
            (None, name) => {
                let name = name.unwrap_or_default();
                let definition = tenure.schedule(&name).await?.ok_or_else(|| super::absent(&name))?.definition;
                (definition.cron, definition.zone)
            }
        };
        let slots = tenure.preview(&cron, &zone, self.count).await?;
        output.show(&reply::Slots::from(slots), |output, slots| {
            output.table(["SLOT", "LOCAL"], slots.slots.iter().map(|slot| [time::show(slot.at.0), slot.local.clone()]));
        });
        Ok(())
    }
}
