//! `GET /v1/domains`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure_wire::domain as wire;

/// Domains by name; all of them, or those that want a look.
#[utoipa::path(
    get,
    path = "/v1/domains",
    tag = "domains",
    operation_id = "list_domains",
    params(
        ("state" = Option<String>, Query, description = "Only `blocked` (offsets wait and no live lease works on the one before them) or `expired` ones."),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Domains in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = wire::Domains))
)]
pub(in crate::routes) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<wire::Domains>, Refused> {
    let sent = Parameters::read(&uri, &["state", "cursor", "limit"])?;
    let state = sent.read_as("state", "blocked or expired", tenure::domain::State::parse)?;
    let after = sent.read_as("cursor", "the next_cursor of an earlier page", wire::from_cursor)?;
    let limit = sent.limit()?;
    let page = app.ask(app.tenure.domains(after.as_deref(), state, limit)).await?;
    Ok(Json(page.into()))
}
