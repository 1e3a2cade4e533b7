//! What happened to a run, one readable sentence each (L8).
//!
//! Abnormal transitions and operator actions are stored as they happen; what goes well is read off the ended claims.

use super::request::History;
use super::unit::{Outcome, Reason, Run, RunId, RunStatus, StageInfo, Verb};
use crate::actor::Actor;
use crate::event::{beginning, times};
use crate::lease::{LostReason, Token};
use crate::time::Time;
use crate::words::words;

words! {
    /// The kinds of events.
    What {
        /// The run was started.
        Started = "started",
        /// A worker claimed a unit.
        Claimed = "claimed",
        /// A unit was completed.
        Completed = "completed",
        /// A holder gave a unit back.
        Released = "released",
        /// A holder cut a stage into segments.
        Split = "split",
        /// A lease ran out.
        Expired = "expired",
        /// A write under a lost lease was refused.
        Refused = "refused",
        /// An attempt failed and the unit waits for the next.
        Retried = "retried",
        /// A unit failed for good.
        Failed = "failed",
        /// An operator cancelled the run.
        Cancelled = "cancelled",
        /// An operator put a unit back after it had ended.
        RetriedByOperator = "retried_by_operator",
        /// An operator had a unit done again because its artifacts were gone or damaged.
        Repaired = "repaired",
        /// An operator paused the run.
        Paused = "paused",
        /// An operator resumed the run.
        Resumed = "resumed",
        /// The run ended.
        Settled = "settled",
    }
}

/// One thing that happened to a run or to one of its units.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = RunEvent))]
pub struct Event {
    /// When, by the store's clock; the last time, where repetitions are counted into one event.
    pub at: Time,
    /// When it happened first, if it happened again.
    pub first_at: Option<Time>,
    /// What: `started`, `claimed`, `split`, `expired`, `refused` …
    pub what: What,
    /// To which run.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub run: RunId,
    /// To which stage; null is the run itself.
    pub stage: Option<String>,
    /// To which segment.
    pub segment: Option<String>,
    /// Under which token.
    pub token: Option<Token>,
    /// By or from whom.
    pub owner: Option<String>,
    /// Who acted, of an operator's act: `cli:USER@HOST`, `http:ADDRESS`, `sql:ROLE`, `lib:PROGRAM`, or what a program
    /// calls itself.
    pub by: Option<String>,
    /// Attempts counted when it happened.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub attempt: Option<u32>,
    /// The write that was refused; `None` for a heartbeat.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub verb: Option<Verb>,
    /// Why it was refused.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub lost: Option<LostReason>,
    /// Why the unit failed.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub reason: Option<Reason>,
    /// When it is tried again.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub until: Option<Time>,
    /// The beginning of what went wrong.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub error: Option<String>,
    /// How often, where repetitions are counted into one event.
    pub count: u32,
}

impl Event {
    /// An event of the run itself.
    #[must_use]
    pub fn of_run(at: Time, run: RunId, what: What) -> Event {
        Event {
            at,
            first_at: None,
            run,
            stage: None,
            segment: None,
            what,
            token: None,
            owner: None,
            by: None,
            attempt: None,
            verb: None,
            lost: None,
            reason: None,
            until: None,
            error: None,
            count: 1,
        }
    }

    /// An event of a unit.
    #[must_use]
    pub fn of_unit(at: Time, run: RunId, stage: &str, segment: Option<&str>, what: What) -> Event {
        let (stage, segment) = (Some(stage.to_owned()), segment.map(str::to_owned));
        Event { stage, segment, ..Event::of_run(at, run, what) }
    }

    /// Under this claim.
    #[must_use]
    pub fn by(mut self, owner: &str, token: Token) -> Event {
        self.owner = Some(owner.to_owned());
        self.token = Some(token);
        self
    }

    /// By this operator.
    #[must_use]
    pub fn acted(mut self, actor: &Actor) -> Event {
        self.by = Some(actor.as_str().to_owned());
        self
    }

    /// With the beginning of an error.
    #[must_use]
    pub fn error(mut self, error: Option<&str>) -> Event {
        self.error = error.map(beginning);
        self
    }

    /// The stage or segment it speaks of; empty for the run itself.
    #[must_use]
    pub fn unit(&self) -> String {
        match (&self.stage, &self.segment) {
            (Some(stage), Some(segment)) => format!("{stage}/{segment}"),
            (Some(stage), None) => stage.clone(),
            (None, _) => String::new(),
        }
    }

    /// The event as a sentence for an operator.
    #[must_use]
    pub fn message(&self) -> String {
        let owner = self.owner.as_deref().unwrap_or("someone");
        let operator = self.by.as_deref().unwrap_or("an operator");
        let token = self.token.map_or("-".to_owned(), |token| token.to_string());
        let attempt = self.attempt.unwrap_or(0);
        let error = self.error.as_deref().map_or(String::new(), |error| format!(": {error}"));
        let unit = self.unit();
        match self.what {
            What::Started => "the run was started".to_owned(),
            What::Settled => "the run ended".to_owned(),
            What::Claimed => format!("{owner} claimed {unit} under token {token}"),
            What::Completed => format!("{owner} completed {unit} under token {token}"),
            What::Released => format!("{owner} gave {unit} back, attempt given back"),
            What::Split => format!("{owner} cut {unit} into segments under token {token}"),
            What::Expired => {
                let then = match self.reason {
                    Some(_) => "it was the last",
                    None => "it is READY again",
                };
                format!("the lease of {owner} on {unit} (token {token}) ran out during attempt {attempt}; {then}")
            }
            What::Retried => {
                let ms = self.until.map_or(0, |until| until.ms_since(self.at));
                format!("attempt {attempt} of {owner} at {unit} failed, next try in {ms} ms{error}")
            }
            What::Failed => {
                let why = self.reason.map_or("it failed", Reason::sentence);
                format!("{unit} failed for good: {why}{error}")
            }
            What::Cancelled if self.stage.is_none() => format!("{operator} cancelled the run{error}"),
            What::Cancelled => format!("the lease of {owner} on {unit} (token {token}) ended with the run"),
            What::RetriedByOperator => format!("{operator} put {unit} back, its attempts begin anew"),
            What::Repaired => format!("{operator} had {unit} done again: its artifacts were gone or damaged"),
            What::Paused => format!("{operator} paused the run"),
            What::Resumed => format!("{operator} resumed the run"),
            What::Refused => {
                let verb = self.verb.map_or("heartbeat", Verb::as_str);
                let lost = self.lost.unwrap_or(LostReason::Unknown);
                let times = times(self.count.into(), self.first_at, self.at);
                format!("refused a {verb} of {unit} from {owner} under token {token}: {}{times}", lost.sentence())
            }
        }
    }
}

/// Everything that is known to have happened to `run`, oldest first.
#[must_use]
pub fn timeline(run: &Run, stages: &[StageInfo], history: History) -> Vec<Event> {
    let mut events = vec![Event::of_run(run.created_at, run.id, What::Started)];
    for attempt in &history.attempts {
        let event = |at, what| {
            let event = Event::of_unit(at, run.id, &attempt.stage, attempt.segment.as_deref(), what);
            event.by(&attempt.owner, attempt.token)
        };
        events.push(event(attempt.claimed_at, What::Claimed));
        let what = match attempt.outcome {
            Outcome::Completed => What::Completed,
            Outcome::Released => What::Released,
            Outcome::Split => What::Split,
            // The others were stored when they happened.
            Outcome::Failed | Outcome::Retried | Outcome::Expired | Outcome::Cancelled => continue,
        };
        events.push(event(attempt.ended_at, what));
    }
    for stage in stages {
        let Some(lease) = &stage.unit.lease else { continue };
        let claimed = Event::of_unit(lease.granted_at, run.id, &stage.unit.stage, None, What::Claimed);
        events.push(claimed.by(&lease.owner, lease.token));
    }
    events.extend(history.events);
    if let Some(at) = run.finished_at.filter(|_| run.status != RunStatus::Running) {
        events.push(Event::of_run(at, run.id, What::Settled));
    }
    // A stable sort: within one instant a claim comes before what happened under it, and the run's end comes last.
    let last = |event: &Event| event.what == What::Settled;
    events.sort_by_key(|event| (event.at, last(event), event.token, event.what != What::Claimed));
    events
}
