//! Why is this job not running now? One sentence, and the reasons behind it.
//!
//! Pure: a backend gathers the [`Situation`] in one or two cheap reads; what it means is decided here.

use super::job::{Job, JobId, Status};
use super::settings::Settings;
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
}

/// One reason, with a stable code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// `finished`, `held`, `lease_expired`, `not_due`, `paused`, `at_capacity`, `tenant_at_limit`, `behind_in_lane`,
    /// `lane_blocked` or `waiting_for_a_worker`.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// One sentence: the first reason.
    pub summary: String,
    /// All of them, the most telling first.
    pub reasons: Vec<Why>,
}

/// Explains a situation at `now`.
#[must_use]
pub fn explain(of: &Situation, now: Time) -> Explanation {
    let reasons = match of.job.status {
        Status::Completed | Status::Failed => vec![finished(&of.job, now)],
        Status::Running => vec![held(&of.job, now)],
        Status::Queued => waiting(of, now),
    };
    Explanation { summary: reasons[0].message.clone(), reasons }
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

fn waiting(of: &Situation, now: Time) -> Vec<Why> {
    let job = &of.job;
    let mut reasons = Vec::new();
    let mut add = |code, message| reasons.push(Why { code, message });
    if job.run_at > now {
        let wait = span(job.run_at.ms_since(now));
        let tried = if job.attempt > 0 {
            format!(", after attempt {} of {}", job.attempt, job.attempts_max)
        } else {
            String::new()
        };
        add("not_due", format!("it is not due for another {wait}{tried}"));
    }
    if of.settings.paused {
        add("paused", format!("the queue {} is paused", job.queue));
    }
    let by = || if of.holders.is_empty() { String::new() } else { format!(", held by {}", of.holders.join(", ")) };
    if let Some(max) = of.engine_max.filter(|max| of.engine_running >= u64::from(*max)) {
        add("at_capacity", format!("the engine is at its limit of {max} running jobs{}", by()));
    }
    if let Some(max) = of.settings.max_running.filter(|max| of.running >= u64::from(*max)) {
        add("at_capacity", format!("the queue {} is at its limit of {max} running jobs{}", job.queue, by()));
    }
    if let Some(key) = &job.limit_key
        && let Some(max) = of.settings.max_running_per_key.filter(|max| of.key_running >= u64::from(*max))
    {
        add("tenant_at_limit", format!("`{key}` is at its limit of {max} running jobs"));
    }
    if let Some(ahead) = &of.ahead {
        let state = match (ahead.status, &ahead.lease) {
            (Status::Running, Some(lease)) => format!("running at {}", lease.owner),
            (status, _) => status.to_string(),
        };
        add("behind_in_lane", format!("job {} of the same ordering key comes first and is {state}", ahead.id));
    }
    if let Some(id) = of.lane_blocked_by {
        add("lane_blocked", format!("its lane stopped when job {id} failed; retry that job, or let the lane continue"));
    }
    if reasons.is_empty() {
        let message = if of.holders.is_empty() {
            format!(
                "it is due and nothing holds it back, but nobody holds any job of the queue {}: is a worker running?",
                job.queue
            )
        } else {
            format!(
                "it is due and waits its turn; the queue {} is being worked by {}",
                job.queue,
                of.holders.join(", ")
            )
        };
        reasons.push(Why { code: "waiting_for_a_worker", message });
    }
    reasons
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
