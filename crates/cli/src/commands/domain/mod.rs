//! `tenure domain`.

mod acquire;
mod fail;
mod heartbeat;
mod list;
mod set;
mod show;
mod skip;
mod succeed;
mod timeline;

use crate::failure::Failure;
use crate::output::{Output, or_dash};
use clap::Subcommand;
use tenure::Tenure;
use tenure_wire::{domain as wire, time};

/// Work in order, one offset at a time for each key.
#[derive(Debug, Subcommand)]
pub(crate) enum Domain {
    /// Ask for an offset
    Acquire(acquire::Acquire),
    /// Say that the offset in flight is done
    Succeed(succeed::Succeed),
    /// Say that a try of the offset in flight failed
    Fail(fail::Fail),
    /// Renew a lease that runs out
    Heartbeat(heartbeat::Heartbeat),
    /// Show where a domain stands
    Show(show::Show),
    /// List domains by name
    List(list::List),
    /// Tell what went otherwise than well
    Timeline(timeline::Timeline),
    /// Give up one offset, and keep the order of the rest
    Skip(skip::Skip),
    /// Set how often an offset is tried
    Set(set::Set),
}

impl Domain {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Domain::Acquire(acquire) => acquire.run(tenure, output).await,
            Domain::Succeed(succeed) => succeed.run(tenure, output).await,
            Domain::Fail(fail) => fail.run(tenure, output).await,
            Domain::Heartbeat(heartbeat) => heartbeat.run(tenure, output).await,
            Domain::Show(show) => show.run(tenure, output).await,
            Domain::List(list) => list.run(tenure, output).await,
            Domain::Timeline(timeline) => timeline.run(tenure, output).await,
            Domain::Skip(skip) => skip.run(tenure, output).await,
            Domain::Set(set) => set.run(tenure, output).await,
        }
    }
}

/// The columns of a domain.
const HEADER: [&str; 7] = ["DOMAIN", "OFFSET", "HOLDER", "RETRIES", "EXPIRES", "WAITING", "OLDEST WAITING"];

fn row(domain: &wire::Domain) -> [String; 7] {
    let lease = domain.lease.as_ref();
    let expires = lease.and_then(|lease| {
        let at = time::show(lease.lease_expires_at?.0);
        Some(if lease.expired { format!("{at} (expired)") } else { at })
    });
    [
        domain.domain.clone(),
        or_dash(lease.map(|lease| lease.offset)),
        or_dash(lease.and_then(|lease| lease.holder.clone())),
        or_dash(lease.map(|lease| lease.retry_count)),
        or_dash(expires),
        domain.backlog_len.to_string(),
        or_dash(domain.backlog_oldest_at.map(|at| time::show(at.0))),
    ]
}

/// A result and what it carries, on one line for a shell to read.
fn result(output: &Output, result: &str, value: Option<String>) {
    output.line(&value.map_or_else(|| result.to_owned(), |value| format!("{result}\t{value}")));
}
