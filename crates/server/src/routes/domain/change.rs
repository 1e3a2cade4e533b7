//! `PUT /v1/domains/{domain}`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::domain as wire;

/// Changes the settings that are sent, `null` sets one back to its default.
#[utoipa::path(
    put,
    path = "/v1/domains/{domain}",
    tag = "domains",
    operation_id = "change_domain",
    params(("domain" = String, Path, description = "The domain, percent-encoded; made if it is new.")),
    request_body(content = ref("#/components/schemas/DomainChange"), content_type = "application/json"),
    responses((status = 200, body = wire::Domain))
)]
pub(in crate::routes) async fn change(
    By(app): By,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<wire::Domain>, Refused> {
    let change = wire::change(sent.body()?)?;
    let domain = app.ask(app.tenure.domain(&name).change(change)).await?;
    Ok(Json(domain.into()))
}
