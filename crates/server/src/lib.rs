//! Tenure over HTTP: thin routes over the library, no SQL and no rules.
//!
//! [`router`] is the API as an axum router, to be mounted anywhere; [`Server`] runs it on a loopback address, with
//! recovery beside it. A noun's verbs are in `routes/<noun>.rs`, each beside its description.
//!
//! Always true:
//! - a refusal is `{"error": {"code", "message", …facts}}` and has changed nothing;
//! - what a caller did is never a 5xx, and a 5xx tells no SQL, path or payload: its `x-request-id` finds the rest in
//!   the log;
//! - a web page on another site cannot reach the API: `Host` must be a loopback name, and cross-site writes are refused.

mod api;
mod app;
mod guard;
mod openapi;
mod query;
mod refused;
mod routes;
mod sent;
mod serve;
mod stream;

pub use app::Options;
pub use serve::{ServeError, Server, serve};

use app::App;
use axum::Router;
use axum::middleware::from_fn;
use tenure::Tenure;
use tokio::sync::watch;
use tower_http::catch_panic::CatchPanicLayer;

/// The API on `tenure`.
///
/// Operators' acts name the address they came from where the router is served with axum's `ConnectInfo<SocketAddr>`, and
/// `http:local` where it is not; no header is believed.
pub fn router(tenure: Tenure, options: Options) -> Router {
    // Nobody will stop it: its long-polls end by their own time.
    router_until(tenure, options, watch::channel(false).1)
}

/// The API on `tenure`; long-polls are answered early once `stopping` is true.
fn router_until(tenure: Tenure, options: Options, stopping: watch::Receiver<bool>) -> Router {
    let (router, openapi) = routes::all().finished();
    router
        .fallback(routes::not_found)
        .method_not_allowed_fallback(routes::method_not_allowed)
        .with_state(App::new(tenure, options, stopping, openapi))
        .layer(CatchPanicLayer::custom(refused::panicked))
        .layer(from_fn(guard::guard))
}
