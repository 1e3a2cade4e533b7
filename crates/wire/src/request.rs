//! From a request's JSON to what the library is asked.
//!
//! Reads the shape only: bounds that are more than a type's are the library's to refuse, so that every surface
//! refuses alike.

pub mod sync;

use crate::problem::{Kind, Problem};
use crate::read::{Body, Fields, Object};
use crate::shape::{self, Shape};
use crate::text;
use std::time::Duration;
use tenure::schedule::{CatchUp, NewSchedule};
use tenure::{
    Act, Action, Backoff, Beat, Change, Claim, Ending, Filter, JobId, LaneOnFailure, NewJob, Rate, Retry, Status,
    Token, bounds,
};

/// The job that an id names. An id that is not one of ours is simply not on record: it reads as a number that no
/// store draws, so that it gets the same answer as any other absent job.
#[must_use]
pub fn job_id(id: &str) -> JobId {
    id.parse().unwrap_or(JobId(0))
}

/// Reads one job, or `{"jobs": […]}`, for `queue`; also tells whether it was the list, which may be longer.
pub fn jobs(body: Body<'_>, queue: &str) -> Result<(Vec<NewJob>, bool), Problem> {
    let template = NewJob::new(queue, "", "null");
    let mut object = body.object_by(|fields| if fields.has("jobs") { &shape::JOBS } else { &shape::JOB })?;
    if !object.holds("jobs") {
        return Ok((vec![job(&mut object, template)], false));
    }
    let jobs = object.list("jobs", |_| &shape::JOB, |mut object| Ok(job(&mut object, template.clone())))?;
    Ok((jobs, true))
}

/// Reads one job of a list in a file; what it does not say is as in `template`, its kind included.
pub fn job_line(line: &[u8], template: &NewJob) -> Result<NewJob, Problem> {
    let mut object = Body::parse(line)?.object(&shape::JOB_LINE)?;
    Ok(job(&mut object, template.clone()))
}

fn job(object: &mut Object<'_>, mut job: NewJob) -> NewJob {
    if let Some(kind) = object.text("kind") {
        job.kind = kind;
    }
    if let Some(payload) = object.json("payload") {
        job.payload = payload.to_owned();
    }
    if let Some(priority) = object.int("priority") {
        job.priority = narrowed(priority);
    }
    if let Some(run_at) = object.time("run_at") {
        job.run_at = Some(run_at);
    }
    if let Some(attempts_max) = object.int("attempts_max") {
        job.attempts_max = narrowed(attempts_max);
    }
    if let Some(timeout_ms) = object.int("timeout_ms") {
        job.timeout_ms = Some(narrowed(timeout_ms));
    }
    if let Some(key) = object.text("key") {
        job.key = Some(key);
    }
    if let Some(key_window_ms) = object.int("key_window_ms") {
        job.key_window_ms = Some(narrowed(key_window_ms));
    }
    if let Some(ordering_key) = object.text("ordering_key") {
        job.ordering_key = Some(ordering_key);
    }
    if let Some(limit_key) = object.text("limit_key") {
        job.limit_key = Some(limit_key);
    }
    if let Some(mut sent) = object.object("backoff") {
        let default = job.backoff.unwrap_or_default();
        job.backoff = Some(Backoff {
            initial_ms: sent.int("initial_ms").map_or(default.initial_ms, narrowed),
            factor: sent.number("factor").unwrap_or(default.factor),
            max_ms: sent.int("max_ms").map_or(default.max_ms, narrowed),
            jitter: sent.number("jitter").unwrap_or(default.jitter),
        });
    }
    job
}

/// Reads a claim from `queue`, and how long it may wait.
pub fn claim(body: Body<'_>, queue: &str) -> Result<(Claim, Duration), Problem> {
    // Here the queue is not an item of a list.
    tenure::bounds::name("queue", queue)?;
    Ok(claim_of(body.object(&shape::CLAIM)?, vec![queue.to_owned()]))
}

/// Reads a claim from several queues, and how long it may wait.
pub fn claim_from(body: Body<'_>) -> Result<(Claim, Duration), Problem> {
    let mut object = body.object(&shape::CLAIM_FROM)?;
    let queues = object.texts("queues").unwrap_or_default();
    Ok(claim_of(object, queues))
}

fn claim_of(mut object: Object<'_>, queues: Vec<String>) -> (Claim, Duration) {
    let mut claim = Claim::new("", object.text("worker").unwrap_or_default());
    claim.queues = queues;
    claim.kinds = object.texts("kinds");
    claim.max = object.int("max").map_or(claim.max, narrowed);
    claim.lease_ms = object.int("lease_ms").map_or(claim.lease_ms, narrowed);
    let wait = Duration::from_millis(object.int("wait_ms").map_or(0, narrowed));
    (claim, wait)
}

/// Reads a heartbeat for `job`.
pub fn heartbeat(body: Body<'_>, job: JobId) -> Result<Beat, Problem> {
    Ok(beat(&mut body.object(&shape::HEARTBEAT)?, job))
}

/// Reads many heartbeats, each with its id as it was sent.
pub fn heartbeats(body: Body<'_>) -> Result<Vec<(String, Beat)>, Problem> {
    body.object(&shape::HEARTBEATS)?.list(
        "heartbeats",
        |_| &shape::EACH_HEARTBEAT,
        |mut object| {
            let id = object.text("id").unwrap_or_default();
            let beat = beat(&mut object, job_id(&id));
            Ok((id, beat))
        },
    )
}

fn beat(object: &mut Object<'_>, job: JobId) -> Beat {
    let (owner, token) = holder(object);
    let mut beat = Beat::new(job, owner, token);
    beat.progress = object.json("progress").map(str::to_owned);
    beat.checkpoint = object.json("checkpoint").map(str::to_owned);
    beat
}

/// Reads an ending of `job` by `verb`, one of [`VERBS`](shape::VERBS). A retry that does not say when is `by_policy`.
pub fn ending(body: Body<'_>, job: JobId, verb: &str, by_policy: Retry) -> Result<Ending, Problem> {
    let shape = match verb {
        "complete" => &shape::COMPLETE,
        "fail" => &shape::FAIL,
        "snooze" => &shape::SNOOZE,
        _ => &shape::RELEASE,
    };
    ending_of(&mut body.object(shape)?, job, verb, by_policy)
}

/// Reads many endings, each with its id as it was sent. A retry `by_policy` is drawn for each.
pub fn endings(body: Body<'_>, by_policy: impl Fn() -> Retry) -> Result<Vec<(String, Ending)>, Problem> {
    body.object(&shape::ENDINGS)?.list("endings", shape_by_verb, |mut object| {
        let id = object.text("id").unwrap_or_default();
        let verb = object.text("verb").unwrap_or_default();
        let ending = ending_of(&mut object, job_id(&id), &verb, by_policy())?;
        Ok((id, ending))
    })
}

/// The shape of one ending among many. Without a verb that we know, one that refuses it by name.
fn shape_by_verb(fields: &Fields<'_>) -> &'static Shape {
    match fields.peek("verb").as_deref() {
        Some("complete") => &shape::EACH_COMPLETE,
        Some("fail") => &shape::EACH_FAIL,
        Some("snooze") => &shape::EACH_SNOOZE,
        Some("release") => &shape::EACH_RELEASE,
        _ => &shape::EACH_ENDING,
    }
}

fn ending_of(object: &mut Object<'_>, job: JobId, verb: &str, by_policy: Retry) -> Result<Ending, Problem> {
    let (owner, token) = holder(object);
    let act = match verb {
        "complete" => Act::Complete { result: object.json("result").map(str::to_owned) },
        "fail" => {
            let error = object.text("error").unwrap_or_default();
            let retry = match (object.boolean("retry"), object.int("retry_in_ms").map(narrowed)) {
                (Some(false), Some(delay_ms)) => return Err(contradicting(&object.place("retry_in_ms"), delay_ms)),
                (Some(false), None) => Retry::Never,
                (_, Some(delay_ms)) => Retry::In { delay_ms },
                (_, None) => by_policy,
            };
            Act::Fail { error, retry }
        }
        "snooze" => Act::Snooze { delay_ms: object.int("delay_ms").map_or(0, narrowed) },
        _ => Act::Release,
    };
    Ok(Ending { job, owner, token, act })
}

/// Reads why a job is cancelled, and whether by force.
pub fn cancel(body: Body<'_>) -> Result<(Option<String>, bool), Problem> {
    Ok(why_and_how(&mut body.object(&shape::CANCEL)?))
}

fn why_and_how(object: &mut Object<'_>) -> (Option<String>, bool) {
    (object.text("reason"), object.boolean("force").unwrap_or(false))
}

/// Reads a retry, which says nothing.
pub fn retry(body: Body<'_>) -> Result<(), Problem> {
    body.object(&shape::RETRY_JOB).map(drop)
}

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

/// Reads a cancel of every job that matches.
pub fn cancel_all(body: Body<'_>) -> Result<Bulk, Problem> {
    let mut object = body.object(&shape::CANCEL_ALL)?;
    let (reason, force) = why_and_how(&mut object);
    let action = Action::Cancel { reason, force };
    Ok(Bulk { filter: filter(&mut object)?, action, before: cursor(&mut object)? })
}

/// Reads a retry of every job that matches: of the failed ones, unless it says otherwise.
pub fn retry_all(body: Body<'_>) -> Result<Bulk, Problem> {
    let mut object = body.object(&shape::RETRY_ALL)?;
    let mut filter = filter(&mut object)?;
    filter.status.get_or_insert(Status::Failed);
    Ok(Bulk { filter, action: Action::Retry, before: cursor(&mut object)? })
}

/// The jobs of a bulk action. One that names nothing would be all of them: more likely a mistake than a wish.
fn filter(object: &mut Object<'_>) -> Result<Filter, Problem> {
    let read = |mut sent: Object<'_>| Filter {
        queue: sent.text("queue"),
        status: sent.text("status").as_deref().and_then(Status::parse),
        kind: sent.text("kind"),
    };
    let filter = object.object("filter").map(read).unwrap_or_default();
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
    let refused =
        |()| Problem::invalid("out_of_bounds", "cursor", limit, &got, format!("`cursor` must be {limit}; got {got}"));
    cursor.parse().map(Some).map_err(refused)
}

/// Reads a change of a queue's settings: only of what was sent, and `null` sets it back to its default.
pub fn change(body: Body<'_>) -> Result<Change, Problem> {
    let mut object = body.object(&shape::QUEUE_CHANGE)?;
    Ok(Change {
        paused: object.set("paused", Object::boolean).map(|paused| paused.unwrap_or(false)),
        max_running: object.set("max_running", running),
        max_running_per_key: object.set("max_running_per_key", running),
        lane_on_failure: object
            .set("lane_on_failure", |object, name| object.text(name).as_deref().and_then(LaneOnFailure::parse)),
        retention_ms: object.set("retention_ms", |object, name| object.int(name).map(narrowed)),
        rate_limit: object.set("rate_limit", rate),
        rate_limit_per_key: object.set("rate_limit_per_key", rate),
    })
}

/// Reads a schedule called `name`.
pub fn schedule(body: Body<'_>, name: &str) -> Result<NewSchedule, Problem> {
    let mut object = body.object(&shape::SCHEDULE)?;
    let template = |mut sent: Object<'_>| {
        let queue = sent.text("queue").unwrap_or_default();
        job(&mut sent, NewJob::new(queue, "", "null"))
    };
    let job = object.object("job").map_or_else(|| NewJob::new("", "", "null"), template);
    let mut schedule = NewSchedule::new(name, object.text("cron").unwrap_or_default(), job);
    if let Some(zone) = object.text("zone") {
        schedule.zone = zone;
    }
    if let Some(catch_up) = object.text("catch_up").as_deref().and_then(CatchUp::parse) {
        schedule.catch_up = catch_up;
    }
    schedule.paused = object.boolean("paused");
    Ok(schedule)
}

/// Reads a pause or a resume, which says nothing.
pub fn rest(body: Body<'_>) -> Result<(), Problem> {
    body.object(&shape::REST).map(drop)
}

/// Reads a change of the engine's limits: the outer `None` leaves it as it is, the inner one is no limit.
pub fn limits(body: Body<'_>) -> Result<Option<Option<u32>>, Problem> {
    Ok(body.object(&shape::LIMITS_CHANGE)?.set("max_running", running))
}

fn running(object: &mut Object<'_>, name: &str) -> Option<u32> {
    object.int(name).map(narrowed)
}

fn rate(object: &mut Object<'_>, name: &str) -> Option<Rate> {
    let mut sent = object.object(name)?;
    Some(Rate { max: sent.int("max").map_or(0, narrowed), period_ms: sent.int("period_ms").map_or(0, narrowed) })
}

pub(crate) fn holder(object: &mut Object<'_>) -> (String, Token) {
    (object.text("worker").unwrap_or_default(), Token(object.int("token").unwrap_or_default()))
}

pub(crate) fn contradicting(place: &str, delay_ms: u64) -> Problem {
    let message = format!("`{place}` says when to try again, but `retry` is false: send one of them");
    let got = delay_ms.to_string();
    Problem { kind: Kind::Invalid, ..Problem::invalid("contradiction", place, "not with retry: false", &got, message) }
}

/// A whole number in a narrower type. The shape's bounds have been checked, so it fits.
pub(crate) fn narrowed<T: TryFrom<i64> + Default>(int: i64) -> T {
    T::try_from(int).unwrap_or_default()
}
