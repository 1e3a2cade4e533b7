//! From a request's JSON to what the library is asked.
//!
//! Reads the shape only: bounds that are more than a type's are the library's to refuse, so that every surface
//! refuses alike.

use crate::problem::{Kind, Problem};
use crate::read::{Body, Fields, Object};
use crate::shape::{self, Shape};
use std::time::Duration;
use tenure::{Act, Backoff, Beat, Claim, Ending, JobId, NewJob, Retry, Token};

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
    let mut objects = object.list("jobs", |_| &shape::JOB)?;
    Ok((objects.iter_mut().map(|object| job(object, template.clone())).collect(), true))
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
    let objects = body.object(&shape::HEARTBEATS)?.list("heartbeats", |_| &shape::EACH_HEARTBEAT)?;
    let read = |mut object: Object<'_>| {
        let id = object.text("id").unwrap_or_default();
        let beat = beat(&mut object, job_id(&id));
        (id, beat)
    };
    Ok(objects.into_iter().map(read).collect())
}

fn beat(object: &mut Object<'_>, job: JobId) -> Beat {
    let (owner, token) = holder(object);
    let mut beat = Beat::new(job, owner, token);
    beat.progress = object.json("progress").map(str::to_owned);
    beat.checkpoint = object.json("checkpoint").map(str::to_owned);
    beat
}

/// Reads an ending of `job` by `verb`, one of [`VERBS`](shape::VERBS). `chance` in −1 … 1 moves the wait of a retry.
pub fn ending(body: Body<'_>, job: JobId, verb: &str, chance: f64) -> Result<Ending, Problem> {
    let shape = match verb {
        "complete" => &shape::COMPLETE,
        "fail" => &shape::FAIL,
        "snooze" => &shape::SNOOZE,
        _ => &shape::RELEASE,
    };
    ending_of(&mut body.object(shape)?, job, verb, chance)
}

/// Reads many endings, each with its id as it was sent. `chance` is drawn for each.
pub fn endings(body: Body<'_>, chance: impl Fn() -> f64) -> Result<Vec<(String, Ending)>, Problem> {
    let objects = body.object(&shape::ENDINGS)?.list("endings", shape_by_verb)?;
    let read = |mut object: Object<'_>| {
        let id = object.text("id").unwrap_or_default();
        let verb = object.text("verb").unwrap_or_default();
        let ending = ending_of(&mut object, job_id(&id), &verb, chance())?;
        Ok((id, ending))
    };
    objects.into_iter().map(read).collect()
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

fn ending_of(object: &mut Object<'_>, job: JobId, verb: &str, chance: f64) -> Result<Ending, Problem> {
    let (owner, token) = holder(object);
    let act = match verb {
        "complete" => Act::Complete { result: object.json("result").map(str::to_owned) },
        "fail" => {
            let error = object.text("error").unwrap_or_default();
            let retry = match (object.boolean("retry"), object.int("retry_in_ms").map(narrowed)) {
                (Some(false), Some(delay_ms)) => return Err(contradicting(&object.place("retry_in_ms"), delay_ms)),
                (Some(false), None) => Retry::Never,
                (_, Some(delay_ms)) => Retry::In { delay_ms },
                (_, None) => Retry::Policy { chance },
            };
            Act::Fail { error, retry }
        }
        "snooze" => Act::Snooze { delay_ms: object.int("delay_ms").map_or(0, narrowed) },
        _ => Act::Release,
    };
    Ok(Ending { job, owner, token, act })
}

fn holder(object: &mut Object<'_>) -> (String, Token) {
    (object.text("worker").unwrap_or_default(), Token(object.int("token").unwrap_or_default()))
}

fn contradicting(place: &str, delay_ms: u64) -> Problem {
    let message = format!("`{place}` says when to try again, but `retry` is false: send one of them");
    let got = delay_ms.to_string();
    Problem { kind: Kind::Invalid, ..Problem::invalid("contradiction", place, "not with retry: false", &got, message) }
}

/// A whole number in a narrower type. The shape's bounds have been checked, so it fits.
fn narrowed<T: TryFrom<i64> + Default>(int: i64) -> T {
    T::try_from(int).unwrap_or_default()
}
