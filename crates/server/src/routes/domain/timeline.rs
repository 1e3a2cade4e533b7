//! `GET /v1/domains/{domain}/timeline`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, domain as wire};

/// What went otherwise than well in a domain, oldest first.
#[utoipa::path(
    get,
    path = "/v1/domains/{domain}/timeline",
    tag = "domains",
    operation_id = "domain_timeline",
    params(("domain" = String, Path, description = "The domain, percent-encoded.")),
    responses((status = 200, body = wire::Timeline))
)]
pub(in crate::routes) async fn timeline(
    State(app): State<App>,
    Named(name): Named,
) -> Result<Json<wire::Timeline>, Refused> {
    let found = app.ask(app.tenure.domain(&name).timeline()).await?;
    Ok(Json(found.ok_or_else(|| Problem::absent("this domain"))?.into()))
}
