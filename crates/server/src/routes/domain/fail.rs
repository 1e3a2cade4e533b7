//! `POST /v1/domains/{domain}/fail`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::domain as wire;

/// A try of the offset in flight failed: it may be tried again, or it was the last.
#[utoipa::path(
    post,
    path = "/v1/domains/{domain}/fail",
    tag = "domains",
    operation_id = "domain_fail",
    params(("domain" = String, Path, description = "The domain, percent-encoded.")),
    request_body(content = ref("#/components/schemas/DomainHeld"), content_type = "application/json"),
    responses((status = 200, body = wire::Finished))
)]
pub(in crate::routes) async fn fail(
    State(app): State<App>,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<wire::Finished>, Refused> {
    let token = wire::token(sent.body()?)?;
    let answer = app.ask(app.tenure.domain(&name).fail(token)).await?;
    Ok(Json(answer.into()))
}
