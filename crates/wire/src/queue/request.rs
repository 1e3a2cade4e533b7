//! Requests about jobs, queues and limits.

use super::shape;
use crate::problem::Problem;
use crate::read::{Body, Fields, Object};
use crate::request::{Request, backoff, failure, holder, json, narrowed};
use crate::shape::Shape;
use crate::text;
use std::time::Duration;
use tenure::{
    Act, Action, Beat, Change, Claim, Ending, Filter, JobId, LaneOnFailure, NewJob, Rate, Status, Verb, bounds,
};

/// The job that an id names. An id that is not one of ours is simply not on record: it reads as a number that no
/// store draws, so that it gets the same answer as any other absent job.
#[must_use]
pub fn job_id(id: &str) -> JobId {
    id.parse().unwrap_or(JobId(0))
}

/// One job for a queue, or `{"jobs": […]}`.
pub static ENQUEUE: Request<String, Vec<NewJob>> = Request::new(&shape::JOB, jobs).or_many(&shape::JOBS);
/// A claim from a queue, and how long it may wait.
pub static CLAIM: Request<String, (Claim, Duration)> = Request::new(&shape::CLAIM, |object, queue| {
    // Here the queue is not an item of a list.
    bounds::name("queue", &queue)?;
    Ok(claim(object, vec![queue]))
});
/// A claim from several queues, and how long it may wait.
pub static CLAIM_FROM: Request<(), (Claim, Duration)> = Request::new(&shape::CLAIM_FROM, |mut object, ()| {
    let queues = object.texts("queues").unwrap_or_default();
    Ok(claim(object, queues))
});

/// A heartbeat of a job.
pub static HEARTBEAT: Request<JobId, Beat> = Request::new(&shape::HEARTBEAT, |object, job| Ok(beat(object, job)));
/// Ends a claim as done.
pub static COMPLETE: Request<JobId, Ending> = Request::new(&shape::COMPLETE, |it, job| ending(it, job, Verb::Complete));
/// Ends a claim as failed.
pub static FAIL: Request<JobId, Ending> = Request::new(&shape::FAIL, |it, job| ending(it, job, Verb::Fail));
/// Puts a job off.
pub static SNOOZE: Request<JobId, Ending> = Request::new(&shape::SNOOZE, |it, job| ending(it, job, Verb::Snooze));
/// Gives a job back.
pub static RELEASE: Request<JobId, Ending> = Request::new(&shape::RELEASE, |it, job| ending(it, job, Verb::Release));

/// Many heartbeats, each with its id as it was sent.
pub static HEARTBEATS: Request<(), Vec<(String, Beat)>> = Request::new(&shape::HEARTBEATS, |mut object, ()| {
    object.list("heartbeats", |mut object| {
        let id = object.text("id").unwrap_or_default();
        let beat = beat(object, job_id(&id));
        Ok((id, beat))
    })
})
.bulk();
/// Many endings, each with its id as it was sent.
pub static ENDINGS: Request<(), Vec<(String, Ending)>> = Request::new(&shape::ENDINGS, |mut object, ()| {
    object.list_by("endings", ending_shape, |mut object| {
        let id = object.text("id").unwrap_or_default();
        let unsaid =
            || Problem::invalid("missing_field", "verb", "must be sent", "nothing", "`verb` is missing".into());
        let verb = object.word("verb", Verb::parse)?.ok_or_else(unsaid)?;
        let ending = ending(object, job_id(&id), verb)?;
        Ok((id, ending))
    })
})
.bulk();

/// Which job is cancelled, why, and whether by force.
pub static CANCEL: Request<JobId, (JobId, Option<String>, bool)> = Request::new(&shape::CANCEL, |mut object, job| {
    let (reason, force) = why_and_how(&mut object);
    Ok((job, reason, force))
})
.optional();
/// Which job is tried again; there is nothing else to say.
pub static RETRY: Request<JobId, JobId> = Request::new(&shape::RETRY_JOB, |_, job| Ok(job)).optional();

/// A cancel of every job that matches.
pub static CANCEL_ALL: Request<(), Bulk> = Request::new(&shape::CANCEL_ALL, |mut object, ()| {
    let (reason, force) = why_and_how(&mut object);
    let action = Action::Cancel { reason, force };
    Ok(Bulk { filter: filter(&mut object)?, action, before: cursor(&mut object)? })
});
/// A retry of every job that matches: of the failed ones, unless it says otherwise.
pub static RETRY_ALL: Request<(), Bulk> = Request::new(&shape::RETRY_ALL, |mut object, ()| {
    let mut filter = filter(&mut object)?;
    filter.status.get_or_insert(Status::Failed);
    Ok(Bulk { filter, action: Action::Retry, before: cursor(&mut object)? })
});

/// A change of a queue's settings: only of what was sent, and `null` sets it back to its default.
pub static CHANGE: Request<String, (String, Change)> = Request::new(&shape::QUEUE_CHANGE, |mut object, queue| {
    let lane_on_failure = object.word("lane_on_failure", LaneOnFailure::parse)?;
    let change = Change {
        paused: object.set("paused", Object::boolean).map(|paused| paused.unwrap_or(false)),
        max_running: object.set("max_running", running),
        max_running_per_key: object.set("max_running_per_key", running),
        lane_on_failure: object.set("lane_on_failure", |_, _| lane_on_failure),
        retention_ms: object.set("retention_ms", |object, name| object.int(name).map(narrowed)),
        rate_limit: object.set("rate_limit", rate),
        rate_limit_per_key: object.set("rate_limit_per_key", rate),
    };
    Ok((queue, change))
});
/// A change of the engine's limits: the outer `None` leaves it as it is, the inner one is no limit.
pub static LIMITS: Request<(), Option<Option<u32>>> =
    Request::new(&shape::LIMITS_CHANGE, |mut object, ()| Ok(object.set("max_running", running)));

/// An action on every job that matches.
#[derive(Debug)]
pub struct Bulk {
    /// Which jobs.
    pub filter: Filter,
    /// What to do with them.
    pub action: Action,
    /// Where an earlier answer said that it goes on.
    pub before: Option<JobId>,
}

/// Reads one job of a list in a file; what it does not say is as in `template`, its kind included.
pub fn job_line(line: &[u8], template: &NewJob) -> Result<NewJob, Problem> {
    let mut object = Body::parse(line)?.object(&shape::JOB_LINE)?;
    Ok(job(&mut object, template.clone()))
}

fn jobs(mut object: Object<'_>, queue: String) -> Result<Vec<NewJob>, Problem> {
    let template = NewJob::new(queue, "", "null");
    if !object.holds("jobs") {
        return Ok(vec![job(&mut object, template)]);
    }
    object.list("jobs", |mut object| Ok(job(&mut object, template.clone())))
}

pub(crate) fn job(object: &mut Object<'_>, mut job: NewJob) -> NewJob {
    job.kind = object.text("kind").unwrap_or(job.kind);
    job.payload = json(object, "payload").unwrap_or(job.payload);
    job.priority = object.int("priority").map_or(job.priority, narrowed);
    job.run_at = object.time("run_at").or(job.run_at);
    job.attempts_max = object.int("attempts_max").map_or(job.attempts_max, narrowed);
    job.timeout_ms = object.int("timeout_ms").map(narrowed).or(job.timeout_ms);
    job.key = object.text("key").or(job.key);
    job.key_window_ms = object.int("key_window_ms").map(narrowed).or(job.key_window_ms);
    job.ordering_key = object.text("ordering_key").or(job.ordering_key);
    job.limit_key = object.text("limit_key").or(job.limit_key);
    job.backoff = backoff(object, job.backoff.unwrap_or_default()).or(job.backoff);
    job
}

fn claim(mut object: Object<'_>, queues: Vec<String>) -> (Claim, Duration) {
    let mut claim = Claim::new("", object.text("worker").unwrap_or_default());
    claim.queues = queues;
    claim.kinds = object.texts("kinds");
    claim.max = object.int("max").map_or(claim.max, narrowed);
    claim.lease_ms = object.int("lease_ms").map_or(claim.lease_ms, narrowed);
    let wait = Duration::from_millis(object.int("wait_ms").map_or(0, narrowed));
    (claim, wait)
}

fn beat(mut object: Object<'_>, job: JobId) -> Beat {
    let (owner, token) = holder(&mut object);
    let mut beat = Beat::new(job, owner, token);
    beat.progress = json(&mut object, "progress");
    beat.checkpoint = json(&mut object, "checkpoint");
    beat
}

/// The shape of one ending among many. Without a verb that we know, one that refuses it by name.
fn ending_shape(fields: &Fields<'_>, _: &[&'static Shape]) -> &'static Shape {
    match fields.peek("verb").as_deref().and_then(Verb::parse) {
        Some(Verb::Complete) => &shape::EACH_COMPLETE,
        Some(Verb::Fail) => &shape::EACH_FAIL,
        Some(Verb::Snooze) => &shape::EACH_SNOOZE,
        Some(Verb::Release) => &shape::EACH_RELEASE,
        None => &shape::EACH_ENDING,
    }
}

fn ending(mut object: Object<'_>, job: JobId, verb: Verb) -> Result<Ending, Problem> {
    let (owner, token) = holder(&mut object);
    let act = match verb {
        Verb::Complete => Act::Complete { result: json(&mut object, "result") },
        Verb::Fail => {
            let (error, retry) = failure(&mut object)?;
            Act::Fail { error, retry }
        }
        Verb::Snooze => Act::Snooze { delay_ms: object.int("delay_ms").map_or(0, narrowed) },
        Verb::Release => Act::Release,
    };
    Ok(Ending { job, owner, token, act })
}

fn why_and_how(object: &mut Object<'_>) -> (Option<String>, bool) {
    (object.text("reason"), object.boolean("force").unwrap_or(false))
}

/// The jobs of a bulk action. One that names nothing would be all of them: more likely a mistake than a wish.
fn filter(object: &mut Object<'_>) -> Result<Filter, Problem> {
    let read = |mut sent: Object<'_>| {
        let status = sent.word("status", Status::parse)?;
        Ok::<_, Problem>(Filter { queue: sent.text("queue"), status, kind: sent.text("kind") })
    };
    let filter = object.object("filter").map(read).transpose()?.unwrap_or_default();
    if filter == Filter::default() {
        let limit = "at least one of queue, status, kind";
        let message = format!("`filter` must name {limit}: without any it would match every job");
        return Err(Problem::invalid("out_of_bounds", "filter", limit, "none of them", message));
    }
    for (field, name) in [("queue", &filter.queue), ("kind", &filter.kind)] {
        let checked = name.as_deref().map_or(Ok(()), |name| bounds::name(field, name));
        checked.map_err(|refused| refused.within("filter"))?;
    }
    Ok(filter)
}

fn cursor(object: &mut Object<'_>) -> Result<Option<JobId>, Problem> {
    let Some(cursor) = object.text("cursor") else { return Ok(None) };
    let limit = "the next_cursor of an earlier answer";
    let got = text::cut(&cursor, 80);
    let refused = format!("`cursor` must be {limit}; got {got}");
    cursor.parse().map(Some).map_err(|_| Problem::invalid("out_of_bounds", "cursor", limit, &got, refused))
}

fn running(object: &mut Object<'_>, name: &str) -> Option<u32> {
    object.int(name).map(narrowed)
}

fn rate(object: &mut Object<'_>, name: &str) -> Option<Rate> {
    let mut sent = object.object(name)?;
    Some(Rate { max: sent.int("max").map_or(0, narrowed), period_ms: sent.int("period_ms").map_or(0, narrowed) })
}
