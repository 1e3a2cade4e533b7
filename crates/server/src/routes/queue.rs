//! Queues: what enters them, what leaves them, how they behave and how they stand; the limits of them all, and who claims.

use super::{changes, found, name, nothing};
use crate::api::Api;
use crate::app::App;
use crate::refused::Refused;
use axum::Json;
use axum::http::StatusCode;
use std::time::Duration;
use tenure::changes::{Face, Subject};
use tenure::{Claim, Claims};
use tenure_wire::queue::{reply, request};

const QUEUE: [(&str, &str); 1] = [("queue", "The queue.")];
const NEW_QUEUE: [(&str, &str); 1] = [("queue", "The queue; created if it is new.")];

pub(super) fn routes(api: &mut Api) {
    async fn claim(app: App, (claim, wait): (Claim, Duration)) -> Result<Json<Claims>, Refused> {
        Ok(Json(app.claim(claim, wait).await?))
    }
    let about = "Adds one job, or `{\"jobs\": […]}`: all of them or none, in this order.";
    api.post("/v1/queues/{queue}/jobs", "queues", "enqueue", about)
        .more("One job is a `NewJob`, at most 1 MiB of payload; a list is a `NewJobs`, at most 16 MiB in all.")
        .named(&NEW_QUEUE)
        .takes(&request::ENQUEUE, name, |app, jobs| async move {
            let jobs = app.ask(app.tenure.verbs().enqueue_all(jobs)).await?;
            Ok((StatusCode::CREATED, Json(reply::Enqueued { jobs })))
        });
    let about = "Takes jobs that are due, waiting up to `wait_ms` for the first.";
    api.post("/v1/queues/{queue}/claim", "queues", "claim", about)
        .named(&[("queue", "The queue; one that was never used is empty.")])
        .takes(&request::CLAIM, name, claim);
    let about = "Takes jobs that are due from several queues, waiting up to `wait_ms` for the first.";
    api.post("/v1/claim", "queues", "claim_from", about).takes(&request::CLAIM_FROM, nothing, claim);

    api.get("/v1/queues", "queues", "list_queues", "Queues by name, with what they hold.").pages("Queues").lists(
        |app, [], sent| async move {
            let page = app.ask(app.tenure.verbs().queues(sent.cursor_name()?.as_deref(), sent.limit()?)).await?;
            Ok(Json(reply::Queues::from(page)))
        },
    );
    api.get("/v1/queues/{queue}", "queues", "show_queue", "A queue and what it holds.").named(&QUEUE).shows(
        |app, [name]| async move {
            let queue = app.ask(app.tenure.verbs().queue(&name)).await?;
            Ok(Json(reply::Queue::from(found("this queue", queue)?)))
        },
    );
    let about =
        "Changes the settings that are sent, `null` sets one back to its default. Binds claims that begin after it.";
    api.put("/v1/queues/{queue}", "queues", "change_queue", about).named(&NEW_QUEUE).takes(
        &request::CHANGE,
        name,
        |app, (name, change)| async move {
            Ok(Json(reply::Queue::from(app.ask(app.operator().verbs().change_queue(&name, change)).await?)))
        },
    );
    let about = "What was changed about a queue, oldest first: which setting, from what to what, and by whom.";
    api.get("/v1/queues/{queue}/timeline", "queues", "queue_timeline", about)
        .named(&QUEUE)
        .shows(|app, [name]| changes(app, Subject::new(Face::Queue, name), "this queue"));
    limits(api);

    let about =
        "Workers by name: who claimed in the last day, where and for which kinds, and how many jobs each holds.";
    api.get("/v1/workers", "workers", "list_workers", about).pages("Workers").lists(|app, [], sent| async move {
        let page = app.ask(app.tenure.verbs().workers(sent.cursor_name()?.as_deref(), sent.limit()?)).await?;
        Ok(Json(reply::Workers::from(page)))
    });
}

/// The limits of the whole engine.
fn limits(api: &mut Api) {
    async fn show(app: App, []: [String; 0]) -> Result<Json<reply::Limits>, Refused> {
        let max_running = app.ask(app.tenure.verbs().limit()).await?;
        Ok(Json(reply::Limits { max_running }))
    }
    api.get("/v1/limits", "queues", "show_limits", "The limits of the whole engine.").shows(show);
    let about =
        "Changes the limits that are sent. Lowering one takes nothing away: it stops new claims until fewer run.";
    api.put("/v1/limits", "queues", "change_limits", about).takes(
        &request::LIMITS,
        nothing,
        |app, change| async move {
            let Some(max_running) = change else { return show(app, []).await };
            app.ask(app.operator().verbs().set_limit(max_running)).await?;
            Ok(Json(reply::Limits { max_running }))
        },
    );
    let about =
        "What was changed about the whole store, oldest first, and by whom: its limits, and the epoch of its tokens.";
    api.get("/v1/limits/timeline", "queues", "limits_timeline", about).shows(|app, []| async move {
        let changes = app.ask(app.tenure.verbs().changes(Subject::store())).await?;
        Ok(Json(tenure_wire::reply::Changes::from(changes.unwrap_or_default())))
    });
}
