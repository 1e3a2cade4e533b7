//! `tenure domain`.

use super::{found, named};
use crate::failure::Failure;
use crate::output::{Output, or_dash};
use crate::span;
use clap::{Args, Subcommand};
use tenure::domain::{Change, DomainInfo, Event, State, token_of};
use tenure::{Tenure, bounds};
use tenure_wire::domain::{reply, request};
use tenure_wire::{Problem, text};

/// Work in order, one offset at a time for each key.
#[derive(Debug, Subcommand)]
pub(crate) enum Domain {
    /// Ask for an offset
    Acquire(Acquire),
    /// Say that the offset in flight is done
    #[command(after_help = "Example:\n  tenure domain succeed acct-42 1099511627777")]
    Succeed(Held),
    /// Say that a try of the offset in flight failed
    #[command(after_help = "Example:\n  tenure domain fail acct-42 1099511627777")]
    Fail(Held),
    /// Renew a lease that runs out
    #[command(after_help = "Example:\n  tenure domain heartbeat acct-42 1099511627777")]
    Heartbeat(Held),
    /// Show where a domain stands
    Show(Show),
    /// List domains by name
    List(List),
    /// Tell what went otherwise than well
    Timeline(Timeline),
    /// Give up one offset, and keep the order of the rest
    Skip(Skip),
    /// Set how often an offset is tried
    Set(Set),
}

impl Domain {
    pub(super) fn only_reads(&self) -> bool {
        match self {
            Domain::Show(_) | Domain::List(_) | Domain::Timeline(_) => true,
            Domain::Acquire(_)
            | Domain::Succeed(_)
            | Domain::Fail(_)
            | Domain::Heartbeat(_)
            | Domain::Skip(_)
            | Domain::Set(_) => false,
        }
    }

    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        match self {
            Domain::Acquire(acquire) => acquire.run(tenure, output).await,
            Domain::Succeed(held) => finished(output, tenure.verbs().domain_succeed(held.held()).await?.into()),
            Domain::Fail(held) => finished(output, tenure.verbs().domain_fail(held.held()).await?.into()),
            Domain::Heartbeat(held) => {
                let beaten = tenure.verbs().domain_heartbeat(held.held()).await?;
                output.show(&beaten, |output, beaten| {
                    let until = beaten.lease_expires_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
                    result(output, "RENEWED", Some(until));
                });
                Ok(())
            }
            Domain::Show(show) => show.run(tenure, output).await,
            Domain::List(list) => list.run(tenure, output).await,
            Domain::Timeline(timeline) => timeline.run(tenure, output).await,
            Domain::Skip(skip) => skip.run(tenure, output).await,
            Domain::Set(set) => set.run(tenure, output).await,
        }
    }
}

/// A domain and the token under which its offset in flight is held.
#[derive(Debug, Args)]
pub(crate) struct Held {
    /// The domain: any text of 1 to 256 bytes
    domain: String,

    /// The token that acquire printed
    token: String,
}

impl Held {
    fn held(self) -> tenure::domain::Held {
        let token = token_of(&self.token);
        tenure::domain::Held::new(self.domain, token)
    }
}

/// Tells how an offset ended.
fn finished(output: &Output, finished: reply::Finished) -> Result<(), Failure> {
    output.show(&finished, |output, finished| {
        let count = finished.retry_count.map(|count| count.to_string());
        result(output, finished.result, finished.offset.map(|offset| offset.to_string()).or(count));
    });
    Ok(())
}

/// Ask for an offset: it is acquired, or waits behind the one in flight.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tenure domain acquire acct-42 1\n  tenure domain acquire acct-42 1 --holder worker-7 --lease 30s"
)]
pub(crate) struct Acquire {
    /// The domain: any text of 1 to 256 bytes
    domain: String,

    /// The offset, 0 to 2^63 − 1
    offset: u64,

    /// Who asks: then no other is told the token
    #[arg(long)]
    holder: Option<String>,

    /// How long the lease lasts without a heartbeat, such as 30s; for ever if left out
    #[arg(long, value_name = "SPAN", value_parser = span::ms)]
    lease: Option<u64>,
}

impl Acquire {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let (domain, holder) = (self.domain.into(), self.holder.map(Into::into));
        let acquire = tenure::domain::Acquire { domain, offset: self.offset, holder, lease_ms: self.lease };
        let acquired = tenure.verbs().domain_try_acquire(acquire).await?;
        output.show(&reply::Acquired::from(acquired), |output, acquired| {
            result(output, acquired.result, acquired.token.clone());
            if let Some(expired) = acquired.expired_offset {
                output.note(&format!("the lease of offset {expired} ran out: acquire it again first"));
            }
        });
        Ok(())
    }
}

/// Show where a domain stands: what is in flight for whom, what waits, and its settings.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure domain show acct-42")]
pub(crate) struct Show {
    /// The domain
    domain: String,
}

impl Show {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let found = found(&named("domain", &self.domain), tenure.verbs().domain(&self.domain).await?)?;
        output.show(&found, |output, domain| {
            output.table(HEADER, [row(domain)]);
            output.line("");
            settings(output, domain);
        });
        Ok(())
    }
}

/// List domains by name, all of them or those that want a look.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tenure domain list\n  tenure domain list --state blocked")]
pub(crate) struct List {
    /// Only those: blocked (offsets wait, and no live lease works on the one before them) or expired
    #[arg(long, value_parser = state)]
    state: Option<State>,

    /// Where an earlier page said that the next begins
    #[arg(long)]
    cursor: Option<String>,

    /// Domains in a page, 1 to 1,000
    #[arg(long, default_value_t = bounds::LIST_DEFAULT)]
    limit: u32,
}

impl List {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let after = self.cursor.as_deref().map(|cursor| request::from_cursor(cursor).ok_or_else(|| wrong(cursor)));
        let page = tenure.verbs().domains(after.transpose()?.as_deref(), self.state, self.limit).await?;
        output.show(&reply::Domains::from(page), |output, page| {
            output.table(HEADER, page.domains.iter().map(row));
            output.more(&page.next_cursor);
        });
        Ok(())
    }
}

fn state(text: &str) -> Result<State, String> {
    State::parse(text).ok_or_else(|| "use blocked or expired".to_owned())
}

fn wrong(cursor: &str) -> Problem {
    let (limit, got) = ("the cursor of an earlier page", text::cut(cursor, 80));
    Problem::invalid("out_of_bounds", "cursor", limit, &got, format!("`cursor` must be {limit}; got {got}"))
}

/// Tell what went otherwise than well in a domain, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure domain timeline acct-42")]
pub(crate) struct Timeline {
    /// The domain
    domain: String,
}

impl Timeline {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let found = found(&named("domain", &self.domain), tenure.verbs().domain_timeline(&self.domain).await?)?;
        output.timeline(found, Event::message, |event| (event.at, event.what.as_str()));
        Ok(())
    }
}

/// Give up one offset, wherever it stands: it counts as failed, and the rest keeps its order.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tenure domain skip acct-42 17")]
pub(crate) struct Skip {
    /// The domain: any text of 1 to 256 bytes
    domain: String,

    /// The offset, 0 to 2^63 − 1
    offset: u64,
}

impl Skip {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let skipped = reply::Skipped { result: tenure.domain(&self.domain).skip(self.offset).await? };
        output.show(&skipped, |output, skipped| result(output, skipped.result.as_str(), None));
        Ok(())
    }
}

/// A count, or the word that sets it back. (Not an `Option`, which clap would read as a flag that may be left out.)
#[derive(Clone, Copy, Debug)]
struct Given(Option<u32>);

/// Set how often an offset is tried, and how often it may be taken over.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tenure domain set acct-42 --max-retries 5 --takeovers-max 3\n  tenure domain set acct-42 --max-retries default --takeovers-max none"
)]
pub(crate) struct Set {
    /// The domain: any text of 1 to 256 bytes
    domain: String,

    /// Tries after the first, 0 to 1,000; or default (3)
    #[arg(long, value_name = "N|default", value_parser = count)]
    max_retries: Option<Given>,

    /// How often one offset may be acquired again after its lease ran out, 1 to 1,000; or none
    #[arg(long, value_name = "N|none", value_parser = count)]
    takeovers_max: Option<Given>,
}

impl Set {
    pub(crate) async fn run(self, tenure: &Tenure, output: &Output) -> Result<(), Failure> {
        let given = |set: Option<Given>| set.map(|Given(count)| count);
        let change = Change { max_retries: given(self.max_retries), takeovers_max: given(self.takeovers_max) };
        let domain = tenure.verbs().domain_change(&self.domain, change).await?;
        output.show(&domain, settings);
        Ok(())
    }
}

fn count(text: &str) -> Result<Given, String> {
    if matches!(text, "default" | "none") {
        return Ok(Given(None));
    }
    text.parse().map(|count| Given(Some(count))).map_err(|_| "use a whole number, default or none".to_owned())
}

/// The columns of a domain.
const HEADER: [&str; 7] = ["DOMAIN", "OFFSET", "HOLDER", "RETRIES", "EXPIRES", "WAITING", "OLDEST WAITING"];

fn row(domain: &DomainInfo) -> [String; 7] {
    let lease = domain.lease.as_ref();
    let expires = lease.and_then(|lease| {
        let at = lease.lease_expires_at?.to_string();
        Some(if lease.expired { format!("{at} (expired)") } else { at })
    });
    [
        domain.name.to_string(),
        or_dash(lease.map(|lease| lease.offset)),
        or_dash(lease.and_then(|lease| lease.holder.as_deref())),
        or_dash(lease.map(|lease| lease.retry_count)),
        or_dash(expires),
        domain.backlog_len.to_string(),
        or_dash(domain.backlog_oldest_at),
    ]
}

/// How often an offset is tried, under the names of `--json`.
fn settings(output: &Output, domain: &DomainInfo) {
    output.line(&format!("{:<20}  {}", "max_retries", domain.settings.max_retries));
    let takeovers = domain.settings.takeovers_max.map_or_else(|| "none".to_owned(), |max| max.to_string());
    output.line(&format!("{:<20}  {takeovers}", "takeovers_max"));
}

/// A result and what it carries, on one line for a shell to read.
fn result(output: &Output, result: &str, value: Option<String>) {
    output.line(&value.map_or_else(|| result.to_owned(), |value| format!("{result}\t{value}")));
}
