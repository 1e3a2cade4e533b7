//! `POST /v1/domains/{domain}/acquire`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::domain as wire;

/// Asks for an offset: acquired if nothing is in flight and it is first, else it waits.
#[utoipa::path(
    post,
    path = "/v1/domains/{domain}/acquire",
    tag = "domains",
    operation_id = "domain_acquire",
    params(("domain" = String, Path, description = "The domain, percent-encoded.")),
    request_body(content = ref("#/components/schemas/DomainAcquire"), content_type = "application/json"),
    responses((status = 200, body = wire::Acquired))
)]
pub(in crate::routes) async fn acquire(
    State(app): State<App>,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<wire::Acquired>, Refused> {
    let acquire = wire::acquire(sent.body()?, &name)?;
    let acquired = app.ask(app.tenure.domain_try_acquire(acquire)).await?;
    Ok(Json(acquired.into()))
}
