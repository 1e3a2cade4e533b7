//! `POST /v1/domains/{domain}/heartbeat`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::domain as wire;

/// Renews a lease that runs out.
#[utoipa::path(
    post,
    path = "/v1/domains/{domain}/heartbeat",
    tag = "domains",
    operation_id = "domain_heartbeat",
    params(("domain" = String, Path, description = "The domain, percent-encoded.")),
    request_body(content = ref("#/components/schemas/DomainHeld"), content_type = "application/json"),
    responses((status = 200, body = wire::Beaten))
)]
pub(in crate::routes) async fn heartbeat(
    State(app): State<App>,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<wire::Beaten>, Refused> {
    let token = wire::token(sent.body()?)?;
    let answer = app.ask(app.tenure.domain(&name).heartbeat(token)).await?;
    Ok(Json(answer.into()))
}
