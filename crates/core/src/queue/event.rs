//! What happened to a job, one readable sentence each (L8).
//!
//! Abnormal transitions and operator actions are stored as they happen; what goes well is read off the job and its
//! attempts, so that the hot path writes no event. [`timeline`] merges both.

use super::job::{Job, JobId, Outcome, Reason};
use super::request::Verb;
use crate::actor::Actor;
use crate::event::{beginning, rounded, times};
use crate::lease::{LostReason, Token};
use crate::time::Time;
use crate::words::words;

words! {
    /// The kinds of events.
    What {
        /// It entered the queue.
        Enqueued = "enqueued",
        /// A worker claimed it.
        Claimed = "claimed",
        /// Its lease ran out.
        Expired = "expired",
        /// A write under a lost lease was refused.
        Refused = "refused",
        /// An attempt failed and it waits for the next.
        Retried = "retried",
        /// It was completed.
        Completed = "completed",
        /// It failed for good.
        Failed = "failed",
        /// Its holder put it off.
        Snoozed = "snoozed",
        /// Its holder gave it back.
        Released = "released",
        /// An operator asked its holder to stop.
        CancelRequested = "cancel_requested",
        /// It ended because an operator asked for it.
        Cancelled = "cancelled",
        /// An operator put it back after it had ended.
        RetriedByOperator = "retried_by_operator",
    }
}

/// One thing that happened to one job.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Event {
    /// When, by the store's clock; the last time, where repetitions are counted into one event.
    pub at: Time,
    /// When it happened first, if it happened again.
    pub first_at: Option<Time>,
    /// To which job.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub job: JobId,
    /// What: `enqueued`, `claimed`, `expired`, `refused` …
    pub what: What,
    /// Under which token.
    pub token: Option<Token>,
    /// By or from whom.
    pub owner: Option<String>,
    /// Who acted, of an operator's act: `cli:USER@HOST`, `http:ADDRESS`, `sql:ROLE`, `lib:PROGRAM`, or what a program
    /// calls itself.
    pub by: Option<String>,
    /// Attempts counted when it happened; `None` where the attempt was not counted.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub attempt: Option<u32>,
    /// The write that was refused; `None` for a heartbeat.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub verb: Option<Verb>,
    /// Why it was refused.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub lost: Option<LostReason>,
    /// Why the job failed.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub reason: Option<Reason>,
    /// When it is due again.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub until: Option<Time>,
    /// The beginning of what went wrong.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub error: Option<String>,
    /// How often, where repetitions are counted into one event.
    pub count: u32,
}

/// Tokens whose refusals a job keeps: far more than claims that could still write late, few enough for one page. The
/// ones whose last came longest ago are forgotten.
pub const REFUSALS_KEPT: usize = 100;

impl Event {
    /// An event with nothing but its time, job and kind.
    #[must_use]
    pub fn new(at: Time, job: JobId, what: What) -> Event {
        Event {
            at,
            first_at: None,
            job,
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

    /// The event as a sentence for an operator.
    #[must_use]
    pub fn message(&self) -> String {
        let owner = self.owner.as_deref().unwrap_or("someone");
        let operator = self.by.as_deref().unwrap_or("an operator");
        let token = self.token.map_or("-".to_owned(), |token| token.to_string());
        let attempt = self.attempt.unwrap_or(0);
        let error = self.error.as_deref().map_or(String::new(), |error| format!(": {error}"));
        match self.what {
            What::Enqueued => "entered the queue".to_owned(),
            What::Claimed => format!("{owner} claimed it under token {token}"),
            What::Completed => format!("{owner} completed it under token {token}"),
            What::Snoozed => format!("{owner} put it off, attempt given back"),
            What::Released => format!("{owner} gave it back, attempt given back"),
            What::Retried => {
                format!("attempt {attempt} of {owner} failed, next try {}{error}", self.wait())
            }
            What::Failed => match self.reason {
                Some(Reason::Failed) => format!("{owner} failed it for good{error}"),
                Some(Reason::AttemptsSpent) => {
                    format!("attempt {attempt} of {owner} failed, and it was the last{error}")
                }
                Some(Reason::CrashLimit) => {
                    format!("failed for good: the lease of attempt {attempt} ran out at {owner}, and it was the last")
                }
                Some(Reason::Timeout) => format!("attempt {attempt} of {owner} took too long, and it was the last"),
                Some(Reason::Cancelled) => format!("{owner} found it no longer wanted{error}"),
                None => "failed for good".to_owned(),
            },
            What::CancelRequested => format!("{operator} asked {owner} to stop{error}"),
            What::Cancelled => format!("cancelled by {operator}{error}"),
            What::RetriedByOperator => format!("{operator} put it back, its attempts begin anew"),
            What::Expired if self.attempt.is_none() => {
                format!("the lease of {owner} (token {token}) ran out before it was started; attempt given back")
            }
            What::Expired => format!("the lease of {owner} (token {token}) ran out during attempt {attempt}"),
            What::Refused => {
                let verb = self.verb.map_or("heartbeat", Verb::as_str);
                let lost = self.lost.unwrap_or(LostReason::Unknown);
                let times = times(self.count.into(), self.first_at, self.at);
                format!("refused a {verb} from {owner} under token {token}: {}{times}", lost.sentence())
            }
        }
    }

    /// The wait until it is due again.
    fn wait(&self) -> String {
        let ms = self.until.map_or(0, |until| until.ms_since(self.at));
        if ms == 0 { "at once".to_owned() } else { format!("in {}", rounded(ms)) }
    }
}

/// Counts a refusal into the event of its token and reason; another token's, or another reason's, is another event (L8).
pub(super) fn count_refusal(events: &mut Vec<Event>, refused: Event) {
    let same =
        |event: &&mut Event| (event.what, event.token, event.lost) == (What::Refused, refused.token, refused.lost);
    if let Some(event) = events.iter_mut().find(same) {
        *event = Event { count: event.count + 1, first_at: event.first_at.or(Some(event.at)), ..refused };
        return;
    }
    events.push(refused);
    let refusals = || events.iter().enumerate().filter(|(_, event)| event.what == What::Refused);
    if refusals().count() > REFUSALS_KEPT
        && let Some((oldest, _)) = refusals().min_by_key(|(place, event)| (event.at, *place))
    {
        events.remove(oldest);
    }
}

/// Everything that is known to have happened to `job`, oldest first: `stored` events and what the job itself tells.
#[must_use]
pub fn timeline(job: &Job, stored: Vec<Event>) -> Vec<Event> {
    let mut events = vec![Event::new(job.created_at, job.id, What::Enqueued)];
    for attempt in job.all_attempts() {
        events.push(Event::new(attempt.claimed_at, job.id, What::Claimed).by(&attempt.owner, attempt.token));
        let what = match attempt.outcome {
            Some(Outcome::Completed) => What::Completed,
            Some(Outcome::Snoozed) => What::Snoozed,
            Some(Outcome::Released) => What::Released,
            // The others were stored when they happened.
            Some(Outcome::Failed | Outcome::Retried | Outcome::Expired | Outcome::Cancelled) | None => continue,
        };
        let ended_at = attempt.ended_at.unwrap_or(attempt.claimed_at);
        events.push(Event::new(ended_at, job.id, what).by(&attempt.owner, attempt.token));
    }
    events.extend(stored);
    // A stable sort: within one instant a claim comes before what happened under it.
    events.sort_by_key(|event| (event.at, event.token, event.what != What::Claimed));
    events
}
