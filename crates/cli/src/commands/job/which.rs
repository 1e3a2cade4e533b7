//! Which jobs an operator means: one by its id, or all that match.

use super::status;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::Moving;
use clap::Args;
use std::io::{self, IsTerminal};
use tenure::{Action, Bulk, Filter, JobId, Status, Tenure, bounds};
use tenure_wire::queue::{reply, request};
use tenure_wire::text;

/// Jobs read at a time to count them.
const COUNT_STEP: u32 = 500;

/// One job, or all that match.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The job's id, as `tenure enqueue` printed it
    #[arg(required_unless_present_any = ["queue", "status", "kind"], conflicts_with_all = ["queue", "status", "kind"])]
    id: Option<String>,

    /// All jobs of this queue
    #[arg(long)]
    queue: Option<String>,

    /// All jobs in this state: queued, running, completed or failed
    #[arg(long, value_parser = status)]
    status: Option<Status>,

    /// All jobs of this kind
    #[arg(long)]
    kind: Option<String>,

    /// Do not ask before acting on all jobs that match
    #[arg(long, conflicts_with = "id")]
    yes: bool,
}

impl Which {
    /// Without someone to ask, acting on many jobs needs `--yes`.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let asks = io::stdin().is_terminal() && io::stderr().is_terminal();
        if self.id.is_none() && !self.yes && !asks {
            return Err(Failure::usage("this acts on all jobs that match, and nobody is here to ask: add --yes"));
        }
        Ok(())
    }

    /// The one job that was named.
    pub(crate) fn one(&self) -> Option<JobId> {
        self.id.as_deref().map(request::job_id)
    }

    /// Carries `action` out on all jobs that match. Without `--status` those in the state `default` are meant.
    pub(crate) async fn all(
        self,
        verb: &str,
        action: Action,
        default: Option<Status>,
        tenure: &Tenure,
        output: &Output,
    ) -> Result<(), Failure> {
        let filter = Filter { queue: self.queue, status: self.status.or(default), kind: self.kind };
        if !self.yes {
            let meant = |state: &&Status| filter.status.is_none_or(|only| only == **state);
            let acted_on = |state: &&Status| state.terminal() == (action == Action::Retry);
            let states: Vec<Status> = Status::ALL.iter().filter(meant).filter(acted_on).copied().collect();
            let (count, more) = count(tenure, &filter, &states).await?;
            if count == 0 {
                return told(output, Bulk::default());
            }
            let jobs = if more { format!("more than {count}") } else { count.to_string() };
            eprint!("{verb} {jobs} jobs ({})? [y/N] ", text::escaped(&shown(&filter)));
            let mut answer = String::new();
            io::stdin().read_line(&mut answer).map_err(|error| Failure::unreadable("the answer", &error))?;
            if !agreed(&answer) {
                return Err(Failure::declined());
            }
        }
        let progress = Moving::new();
        let mut so_far = Bulk::default();
        let bulk = tenure.verbs().operate_all(filter, action, |bulk| {
            so_far = bulk;
            progress.draw(&format!("{} done", bulk.done));
        });
        let bulk = bulk.await;
        progress.end();
        let after = |error| match so_far.done {
            0 => Failure::from(error),
            done => Failure::from(error).while_doing(&format!("after {done} jobs were done")),
        };
        told(output, bulk.map_err(after)?)
    }
}

fn told(output: &Output, bulk: Bulk) -> Result<(), Failure> {
    output.show(&reply::Bulk { bulk, next_cursor: None }, |output, reply::Bulk { bulk, .. }| {
        output.table(["DONE", "PASSED OVER"], [[bulk.done.to_string(), bulk.passed_over.to_string()]]);
    });
    Ok(())
}

fn agreed(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn shown(filter: &Filter) -> String {
    let parts = [
        filter.queue.as_ref().map(|queue| format!("queue {queue}")),
        filter.status.map(|status| status.to_string()),
        filter.kind.as_ref().map(|kind| format!("kind {kind}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How many jobs match in these states, and whether it stopped counting there.
async fn count(tenure: &Tenure, filter: &Filter, states: &[Status]) -> Result<(u64, bool), Failure> {
    let mut count = 0;
    for state in states {
        let filter = Filter { status: Some(*state), ..filter.clone() };
        let mut before = None;
        loop {
            let page = tenure.verbs().jobs(filter.clone(), before, COUNT_STEP).await?;
            count += page.items.len() as u64;
            before = page.items.last().map(|job| job.id);
            if count >= bounds::COUNT_MAX && page.more {
                return Ok((count, true));
            }
            if !page.more {
                break;
            }
        }
    }
    Ok((count, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        assert!(["y", "Y\n", " yes \r\n"].into_iter().all(agreed));
        assert!(!["", "\n", "n", "yeah", "y y"].into_iter().any(agreed));
    }

    #[tokio::test]
    async fn jobs_are_counted_in_the_states_that_are_meant() {
        let tenure = Tenure::open("memory:").await.unwrap();
        tenure.enqueue_all(vec![tenure::NewJob::new("q", "k", "1"); 3]).await.unwrap();
        tenure.verbs().claim(tenure::Claim::new("q", "w")).await.unwrap();
        let filter = Filter { queue: Some("q".to_owned()), ..Filter::default() };
        assert_eq!(count(&tenure, &filter, &[Status::Queued, Status::Running]).await.unwrap(), (3, false));
        assert_eq!(count(&tenure, &filter, &[Status::Failed]).await.unwrap(), (0, false));
        assert_eq!(shown(&filter), "queue q");
    }
}
