//! Why is this job not running now? One sentence, and the reasons behind it.
//!
//! Pure: a backend gathers the [`Situation`] in a few cheap reads; what it means is decided here.

use super::job::{Job, JobId, Status};
use super::settings::{Rate, Settings};
use super::worker::{LATELY_MS, Watch};
use crate::explain::{Explanation, Why};
use crate::lease::live;
use crate::time::Time;

/// What bears on whether a job can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Situation {
    /// The job.
    pub job: Job,
    /// Its queue's settings.
    pub settings: Settings,
    /// Jobs running in its queue.
    pub running: u64,
    /// The engine's W.
    pub engine_max: Option<u32>,
    /// Jobs running in the engine; only meant where `engine_max` is set.
    pub engine_running: u64,
    /// Jobs of its tenant running in its queue.
    pub key_running: u64,
    /// The job of its lane whose turn comes before.
    pub ahead: Option<Box<Job>>,
    /// The failed job its lane stopped for.
    pub lane_blocked_by: Option<JobId>,
    /// A few of those who hold jobs of its queue.
    pub holders: Vec<String>,
    /// A few of those who hold jobs of any queue; only where `engine_max` is set.
    pub engine_holders: Vec<String>,
    /// The queue's rate is spent until then.
    pub spent_until: Option<Time>,
    /// Its tenant's rate is spent until then.
    pub key_spent_until: Option<Time>,
    /// Who looked for such a job lately.
    pub watch: Watch,
}

/// Explains a situation at `now`.
#[must_use]
pub fn explain(of: &Situation, now: Time) -> Explanation {
    let reasons = match of.job.status {
        Status::Completed | Status::Failed => vec![finished(&of.job, now)],
        Status::Running => vec![held(&of.job, now)],
        Status::Queued => waiting(of, now),
    };
    Explanation::of(reasons)
}

fn finished(job: &Job, now: Time) -> Why {
    let since = job.finished_at.map_or_else(String::new, |at| format!(" {} ago", span(now.ms_since(at))));
    let message = match (job.status, job.reason) {
        (Status::Failed, Some(reason)) => {
            let error = job.error.as_deref().map_or(String::new(), |error| format!(": {}", first_line(error)));
            format!("it failed{since} ({reason}){error}")
        }
        (status, _) => format!("it is {status}{since}"),
    };
    Why { code: "finished", message }
}

fn held(job: &Job, now: Time) -> Why {
    let Some(lease) = &job.lease else {
        return Why { code: "held", message: "it is running".to_owned() };
    };
    let since = span(now.ms_since(lease.granted_at));
    if live(lease.expires_at, now) {
        let left = span(lease.expires_at.ms_since(now));
        let message = format!("it is running: held by {} since {since}, the lease has {left} left", lease.owner);
        return Why { code: "held", message };
    }
    let ago = span(now.ms_since(lease.expires_at));
    let message = format!("the lease of {} ran out {ago} ago; the next claim or sweep returns it", lease.owner);
    Why { code: "lease_expired", message }
}

/// What keeps a waiting job, the most telling first: what only time or an operator changes, then what others hold, then
/// who is missing. Where nobody holds any job of the queue, a missing worker is what to see to before all else.
fn waiting(of: &Situation, now: Time) -> Vec<Why> {
    let job = &of.job;
    let mut reasons = Vec::new();
    let missing = missing(of, now);
    if job.run_at > now {
        let wait = span(job.run_at.ms_since(now));
        let tried = if job.attempt > 0 {
            format!(", after attempt {} of {}", job.attempt, job.attempts_max)
        } else {
            String::new()
        };
        reasons.push(why("not_due", format!("it is not due for another {wait}{tried}")));
    }
    if of.settings.paused {
        reasons.push(why("paused", format!("the queue {} is paused", job.queue)));
    }
    let (first, last) = if of.holders.is_empty() { (missing, None) } else { (None, missing) };
    reasons.extend(first);
    if let Some(id) = of.lane_blocked_by {
        let message = format!("its lane stopped when job {id} failed; retry that job, or let the lane continue");
        reasons.push(why("lane_blocked", message));
    }
    reasons.extend(full(of));
    if let Some(ahead) = &of.ahead {
        let state = match (ahead.status, &ahead.lease) {
            (Status::Running, Some(lease)) => format!("running at {}", lease.owner),
            (status, _) => status.to_string(),
        };
        let message = format!("job {} of the same ordering key comes first and is {state}", ahead.id);
        reasons.push(why("behind_in_lane", message));
    }
    reasons.extend(spent(of, now));
    reasons.extend(last);
    if reasons.is_empty() {
        reasons.push(in_turn(of));
    }
    reasons
}

/// The limits that are reached, and who holds the slots.
fn full(of: &Situation) -> Vec<Why> {
    let Situation { job, settings, .. } = of;
    let by = |holders: &[String]| {
        if holders.is_empty() { String::new() } else { format!(", held by {}", holders.join(", ")) }
    };
    let mut reasons = Vec::new();
    if let Some(max) = of.engine_max.filter(|max| of.engine_running >= u64::from(*max)) {
        let message = format!("the engine is at its limit of {max} running jobs{}", by(&of.engine_holders));
        reasons.push(why("at_capacity", message));
    }
    if let Some(max) = settings.max_running.filter(|max| of.running >= u64::from(*max)) {
        let message = format!("the queue {} is at its limit of {max} running jobs{}", job.queue, by(&of.holders));
        reasons.push(why("at_capacity", message));
    }
    if let Some(key) = &job.limit_key
        && let Some(max) = settings.max_running_per_key.filter(|max| of.key_running >= u64::from(*max))
    {
        reasons.push(why("tenant_at_limit", format!("`{key}` is at its limit of {max} running jobs")));
    }
    reasons
}

/// The rates that are spent, and until when.
fn spent(of: &Situation, now: Time) -> Vec<Why> {
    let told = |who: String, rate: Option<Rate>, until: Option<Time>| {
        let (rate, until) = rate.zip(until)?;
        let (max, each, wait) = (rate.max, span(rate.period_ms), span(until.ms_since(now)));
        let claims = if max == 1 { "1 claim".to_owned() } else { format!("{max} claims") };
        Some(why("rate_limited", format!("{who} has spent its rate of {claims} each {each}; more in {wait}")))
    };
    let queue = told(format!("the queue {}", of.job.queue), of.settings.rate_limit, of.spent_until);
    let tenant = of.job.limit_key.as_ref();
    let tenant = tenant.and_then(|key| told(format!("`{key}`"), of.settings.rate_limit_per_key, of.key_spent_until));
    queue.into_iter().chain(tenant).collect()
}

/// Nobody has looked for such a job lately. Whether someone will when it is due, a job that is not cannot know.
fn missing(of: &Situation, now: Time) -> Option<Why> {
    let Situation { job, watch, .. } = of;
    if job.run_at > now || !watch.takers.is_empty() {
        return None;
    }
    let lately = format!("in the last {} minutes", LATELY_MS / 60_000);
    let mut message = if watch.others.is_empty() {
        let last = match &watch.last {
            Some((owner, at)) => format!("; {owner} was the last, {} ago", span(now.ms_since(*at))),
            None => ", nor in the last day: is one running?".to_owned(),
        };
        format!("no worker has claimed from the queue {} {lately}{last}", job.queue)
    } else {
        let one = |(owner, kinds): &(String, Vec<String>)| format!("{owner} looks only for {}", kinds.join(", "));
        let others: Vec<String> = watch.others.iter().map(one).collect();
        format!("no worker has claimed kind {} of the queue {} {lately}; {}", job.kind, job.queue, others.join("; "))
    };
    if !of.holders.is_empty() {
        message.push_str(&format!("; jobs of it are held by {}", of.holders.join(", ")));
    }
    Some(why("no_worker_lately", message))
}

/// Nothing stands in the way.
fn in_turn(of: &Situation) -> Why {
    let Situation { job, holders, watch, .. } = of;
    let message = if holders.is_empty() {
        format!(
            "it is due and nothing holds it back; the queue {} is watched by {}",
            job.queue,
            watch.takers.join(", ")
        )
    } else {
        format!("it is due and waits its turn; the queue {} is being worked by {}", job.queue, holders.join(", "))
    };
    why("waiting_for_a_worker", message)
}

fn why(code: &'static str, message: String) -> Why {
    Why { code, message }
}

/// A span as a person would say it.
fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1_000.0),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("").chars().take(200).collect()
}
