//! Schedules: jobs that are enqueued by the clock.

use super::{changes, found, name};
use crate::api::Api;
use crate::refused::Refused;
use axum::Json;
use axum::http::StatusCode;
use tenure::changes::{Face, Subject};
use tenure::schedule::Schedule;
use tenure_wire::Problem;
use tenure_wire::schedule::{reply, request};

const SCHEDULE: [(&str, &str); 1] = [("name", "The schedule.")];
const THIS: &str = "this schedule";

fn shown(schedule: Option<Schedule>) -> Result<Json<Schedule>, Refused> {
    Ok(Json(found(THIS, schedule)?))
}

pub(super) fn routes(api: &mut Api) {
    let about = "Schedules by name, with how they stand.";
    api.get("/v1/schedules", "schedules", "list_schedules", about).pages("Schedules").lists(
        |app, [], sent| async move {
            let page = app.ask(app.tenure.verbs().schedules(sent.cursor_name()?.as_deref(), sent.limit()?)).await?;
            Ok(Json(reply::Schedules::from(page)))
        },
    );
    let about = "The last firings of a schedule, newest first: each slot, when it was fired and its job. The last hundred are kept.";
    api.get("/v1/schedules/{name}/firings", "schedules", "list_firings", about)
        .named(&SCHEDULE)
        .pages("Firings")
        .lists(|app, [name], sent| async move {
            let (before, limit) = (sent.cursor(|cursor| cursor.parse().ok())?, sent.limit()?);
            found(THIS, app.ask(app.tenure.verbs().schedule(&name)).await?)?;
            Ok(Json(reply::Firings::from(app.ask(app.tenure.verbs().firings(&name, before, limit)).await?)))
        });
    let about = "The slots to come after now, whether the schedule rests or not.";
    api.get("/v1/schedules/{name}/next", "schedules", "next_slots", about)
        .named(&SCHEDULE)
        .limit("How many, 1 to 1,000; default 100.")
        .lists(|app, [name], sent| async move {
            let limit = sent.limit()?;
            let definition = found(THIS, app.ask(app.tenure.verbs().schedule(&name)).await?)?.definition;
            let slots = app.ask(app.tenure.verbs().preview(&definition.cron, &definition.zone, limit)).await?;
            Ok(Json(reply::Slots { slots }))
        });
    let about = "Puts a schedule in place, as it is sent; only `paused` stays as it is unless sent.";
    api.put("/v1/schedules/{name}", "schedules", "put_schedule", about)
        .more(
            "Other slots than before begin after now. The same slots go on where they were, so that what came due while \
             nobody\nlooked is still caught up with.",
        )
        .named(&[("name", "The schedule; created if it is new.")])
        .takes(&request::PUT, name, |app, schedule| async move {
            shown(Some(app.ask(app.operator().verbs().put_schedule(schedule)).await?))
        });
    api.get("/v1/schedules/{name}", "schedules", "show_schedule", "A schedule and how it stands.")
        .named(&SCHEDULE)
        .shows(|app, [name]| async move { shown(app.ask(app.tenure.verbs().schedule(&name)).await?) });
    let about = "Removes a schedule and the record of its firings; the jobs it enqueued stay.";
    api.delete("/v1/schedules/{name}", "schedules", "remove_schedule", about)
        .named(&SCHEDULE)
        .answers("It is gone.")
        .shows(|app, [name]| async move {
            let was_there = app.ask(app.operator().verbs().remove_schedule(&name)).await?;
            if was_there { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::absent(THIS).into()) }
        });
    let about = "Lets a schedule rest: no slot is fired, and none counts as missed.";
    api.post("/v1/schedules/{name}/pause", "schedules", "pause_schedule", about)
        .more("The body may be left out.")
        .named(&SCHEDULE)
        .takes(&request::REST, name, |app, name| async move {
            shown(app.ask(app.operator().verbs().pause_schedule(&name)).await?)
        });
    let about = "Ends the rest of a schedule: it goes on with the first slot after now.";
    api.post("/v1/schedules/{name}/resume", "schedules", "resume_schedule", about)
        .more("The body may be left out.")
        .named(&SCHEDULE)
        .takes(&request::REST, name, |app, name| async move {
            shown(app.ask(app.operator().verbs().resume_schedule(&name)).await?)
        });
    let about = "What was changed about a schedule, oldest first, and by whom.";
    api.get("/v1/schedules/{name}/timeline", "schedules", "schedule_timeline", about)
        .named(&[("name", "The schedule; it may have been removed.")])
        .shows(|app, [name]| changes(app, Subject::new(Face::Schedule, name), THIS));
}
