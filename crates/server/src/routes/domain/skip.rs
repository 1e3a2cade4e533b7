//! `POST /v1/domains/{domain}/skip`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::domain as wire;

/// An operator's word: the offset fails for good wherever it stands; the others keep their order.
#[utoipa::path(
    post,
    path = "/v1/domains/{domain}/skip",
    tag = "domains",
    operation_id = "domain_skip",
    params(("domain" = String, Path, description = "The domain, percent-encoded.")),
    request_body(content = ref("#/components/schemas/DomainSkip"), content_type = "application/json"),
    responses((status = 200, body = wire::Skipped))
)]
pub(in crate::routes) async fn skip(
    By(app): By,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<wire::Skipped>, Refused> {
    let offset = wire::skip(sent.body()?)?;
    let skipped = app.ask(app.tenure.domain(&name).skip(offset)).await?;
    Ok(Json(skipped.into()))
}
