//! The routes: a noun's verbs are in one file, each beside its description.

mod domain;
mod job;
mod pipeline;
mod queue;
mod run;
mod schedule;
mod service;
mod sync;

use crate::api::Api;
use crate::app::App;
use crate::refused::Refused;
use axum::Json;
use axum::http::{StatusCode, Uri};
use tenure::changes::Subject;
use tenure_wire::Problem;
use tenure_wire::reply::Changes;

/// Every route, and the document that describes exactly these.
pub(crate) fn all() -> Api {
    let mut api = Api::default();
    for add in [
        queue::routes,
        job::routes,
        schedule::routes,
        domain::routes,
        sync::routes,
        pipeline::routes,
        run::routes,
        service::routes,
    ] {
        add(&mut api);
    }
    api
}

/// What a name alone stands for.
fn name([name]: [String; 1]) -> String {
    name
}

/// What is about nothing but itself.
fn nothing([]: [String; 0]) {}

/// What was asked for, unless it is not on record.
fn found<T>(what: &str, found: Option<T>) -> Result<T, Problem> {
    found.ok_or_else(|| Problem::absent(what))
}

/// What was changed about a subject, oldest first.
async fn changes(app: App, of: Subject, what: &str) -> Result<Json<Changes>, Refused> {
    let changes = app.ask(app.tenure.verbs().changes(of)).await?;
    Ok(Json(found(what, changes)?.into()))
}

/// An address that is none of ours.
pub(crate) async fn not_found(uri: Uri) -> Refused {
    // `/v1/queues//jobs` names a queue, badly.
    if uri.path().starts_with("/v1/queues//")
        && let Err(refused) = tenure::bounds::name("queue", "")
    {
        return Problem::from(refused).into();
    }
    if uri.path().starts_with("/v1/domains//")
        && let Err(refused) = tenure::bounds::key("domain", "")
    {
        return Problem::from(refused).into();
    }
    Refused::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address; /v1/openapi.json lists what is")
}

/// An address of ours, under a method it does not know. The router adds `Allow`.
pub(crate) async fn method_not_allowed() -> Refused {
    let message = "this address does not know this method; `Allow` lists those it does";
    Refused::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
}
