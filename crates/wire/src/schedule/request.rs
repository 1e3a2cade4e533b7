//! Requests about schedules.

use super::shape;
use crate::queue::request::job;
use crate::request::Request;
use tenure::NewJob;
use tenure::schedule::{CatchUp, NewSchedule};

/// A schedule, as it shall be.
pub static PUT: Request<String, NewSchedule> = Request::new(&shape::SCHEDULE, |mut object, name| {
    let template = |queue: String| NewJob::new(queue, "", "null");
    let job = match object.object("job") {
        Some(mut sent) => {
            let queue = sent.text("queue").unwrap_or_default();
            job(&mut sent, template(queue))
        }
        None => template(String::new()),
    };
    let mut schedule = NewSchedule::new(name, object.text("cron").unwrap_or_default(), job);
    schedule.zone = object.text("zone").unwrap_or(schedule.zone);
    schedule.catch_up = object.word("catch_up", CatchUp::parse)?.unwrap_or(schedule.catch_up);
    schedule.paused = object.boolean("paused");
    Ok(schedule)
});
/// Which schedule rests or goes on; there is nothing else to say.
pub static REST: Request<String, String> = Request::new(&crate::shape::REST, |_, name| Ok(name)).optional();
