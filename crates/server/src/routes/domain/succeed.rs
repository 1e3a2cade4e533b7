//! `POST /v1/domains/{domain}/succeed`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::domain as wire;

/// The offset in flight is done; answers which one waits first.
#[utoipa::path(
    post,
    path = "/v1/domains/{domain}/succeed",
    tag = "domains",
    operation_id = "domain_succeed",
    params(("domain" = String, Path, description = "The domain, percent-encoded.")),
    request_body(content = ref("#/components/schemas/DomainHeld"), content_type = "application/json"),
    responses((status = 200, body = wire::Finished))
)]
pub(in crate::routes) async fn succeed(
    State(app): State<App>,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<wire::Finished>, Refused> {
    let token = wire::token(sent.body()?)?;
    let answer = app.ask(app.tenure.domain(&name).succeed(token)).await?;
    Ok(Json(answer.into()))
}
