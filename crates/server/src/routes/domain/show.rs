//! `GET /v1/domains/{domain}`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, domain as wire};

/// Where a domain stands: its lease without the token, its backlog, its settings.
#[utoipa::path(
    get,
    path = "/v1/domains/{domain}",
    tag = "domains",
    operation_id = "show_domain",
    params(("domain" = String, Path, description = "The domain, percent-encoded.")),
    responses((status = 200, body = wire::Domain))
)]
pub(in crate::routes) async fn show(State(app): State<App>, Named(name): Named) -> Result<Json<wire::Domain>, Refused> {
    let found = app.ask(app.tenure.domain(&name).show()).await?;
    Ok(Json(found.ok_or_else(|| Problem::absent("this domain"))?.into()))
}
