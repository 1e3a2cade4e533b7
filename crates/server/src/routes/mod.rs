//! The routes: one verb, one file.

mod bulk;
mod domain;
mod job;
mod limits;
mod pipeline;
mod queue;
mod run;
mod schedule;
mod service;
mod sync;
mod worker;

use crate::app::App;
use crate::query;
use crate::refused::Refused;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn;
use tenure_wire::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Every route, and the document that describes exactly these.
pub(crate) fn all() -> OpenApiRouter<App> {
    let lists = OpenApiRouter::new()
        .routes(routes!(job::list::list))
        .routes(routes!(queue::list::list))
        .routes(routes!(domain::list::list))
        .routes(routes!(schedule::list::list))
        .routes(routes!(schedule::firings::firings))
        .routes(routes!(schedule::next::next))
        .routes(routes!(worker::list::list))
        .routes(routes!(pipeline::list::list, pipeline::apply::apply))
        .routes(routes!(run::list::list))
        .routes(routes!(run::segments::segments))
        .route_layer(from_fn(query::of_lists));
    let rest = OpenApiRouter::new()
        .routes(routes!(queue::enqueue::enqueue))
        .routes(routes!(queue::claim::claim))
        .routes(routes!(queue::show::show, queue::change::change))
        .routes(routes!(queue::timeline::timeline))
        .routes(routes!(job::heartbeat::heartbeat))
        .routes(routes!(job::complete::complete))
        .routes(routes!(job::fail::fail))
        .routes(routes!(job::snooze::snooze))
        .routes(routes!(job::release::release))
        .routes(routes!(job::show::show))
        .routes(routes!(job::timeline::timeline))
        .routes(routes!(job::explain::explain))
        .routes(routes!(job::cancel::cancel))
        .routes(routes!(job::retry::retry))
        .routes(routes!(bulk::claim::claim))
        .routes(routes!(bulk::finish::finish))
        .routes(routes!(bulk::heartbeats::heartbeats))
        .routes(routes!(bulk::cancel::cancel))
        .routes(routes!(bulk::retry::retry))
        .routes(routes!(limits::show::show, limits::change::change))
        .routes(routes!(limits::timeline::timeline))
        .routes(routes!(domain::acquire::acquire))
        .routes(routes!(domain::succeed::succeed))
        .routes(routes!(domain::fail::fail))
        .routes(routes!(domain::heartbeat::heartbeat))
        .routes(routes!(domain::skip::skip))
        .routes(routes!(domain::show::show, domain::change::change))
        .routes(routes!(domain::timeline::timeline))
        .routes(routes!(schedule::put::put, schedule::show::show, schedule::remove::remove))
        .routes(routes!(schedule::pause::pause))
        .routes(routes!(schedule::resume::resume))
        .routes(routes!(schedule::timeline::timeline))
        .routes(routes!(pipeline::show::show))
        .routes(routes!(pipeline::timeline::timeline))
        .routes(routes!(pipeline::start::start))
        .routes(routes!(pipeline::claim::claim))
        .routes(routes!(run::show::show))
        .routes(routes!(run::timeline::timeline))
        .routes(routes!(run::explain::explain))
        .routes(routes!(run::cancel::cancel))
        .routes(routes!(run::retry::retry))
        .routes(routes!(run::pause::pause))
        .routes(routes!(run::resume::resume))
        .routes(routes!(run::stage::heartbeat::heartbeat))
        .routes(routes!(run::stage::complete::complete))
        .routes(routes!(run::stage::fail::fail))
        .routes(routes!(run::stage::release::release))
        .routes(routes!(run::stage::split::split))
        .routes(routes!(run::segment::heartbeat::heartbeat))
        .routes(routes!(run::segment::complete::complete))
        .routes(routes!(run::segment::fail::fail))
        .routes(routes!(run::segment::release::release))
        .routes(routes!(service::openapi::openapi))
        .routes(routes!(service::health::health))
        .routes(routes!(service::ready::ready))
        .routes(routes!(service::home::home))
        .route_layer(from_fn(query::none));
    lists.merge(rest).merge(syncs())
}

/// The routes of syncs.
fn syncs() -> OpenApiRouter<App> {
    let rest = OpenApiRouter::new()
        .routes(routes!(sync::claim::claim))
        .routes(routes!(sync::add::add))
        .routes(routes!(sync::heartbeat::heartbeat))
        .routes(routes!(sync::complete::complete))
        .routes(routes!(sync::fail::fail))
        .routes(routes!(sync::release::release))
        .routes(routes!(sync::cancel::cancel))
        .routes(routes!(sync::timeline::timeline))
        .routes(routes!(sync::chunk::claim::claim))
        .routes(routes!(sync::chunk::heartbeat::heartbeat))
        .routes(routes!(sync::chunk::complete::complete))
        .routes(routes!(sync::chunk::fail::fail))
        .routes(routes!(sync::chunk::release::release))
        .route_layer(from_fn(query::none));
    // Lists read their query; a plan shares its address with one.
    OpenApiRouter::new()
        .routes(routes!(sync::list::list, sync::plan::plan))
        .routes(routes!(sync::show::show))
        .route_layer(from_fn(query::of_lists))
        .merge(rest)
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
