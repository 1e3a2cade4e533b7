//! `POST /v1/pipelines/{name}/stages/{stage}/claim`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Parts, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::pipeline;

/// Takes stages and segments that are READY, waiting up to `wait_ms` for the first.
#[utoipa::path(
    post,
    path = "/v1/pipelines/{name}/stages/{stage}/claim",
    tag = "pipelines",
    operation_id = "claim_units",
    params(
        ("name" = String, Path, description = "The pipeline, in all its versions."),
        ("stage" = String, Path, description = "The stage."),
    ),
    request_body(content = ref("#/components/schemas/ClaimUnits"), content_type = "application/json"),
    responses((status = 200, body = pipeline::ClaimedUnits))
)]
pub(in crate::routes) async fn claim(
    State(app): State<App>,
    Parts([name, stage]): Parts<2>,
    sent: Sent<SINGLE>,
) -> Result<Json<pipeline::ClaimedUnits>, Refused> {
    let (claim, wait) = pipeline::claim(sent.body()?, &name, &stage)?;
    Ok(Json(app.claim_units(claim, wait).await?.into()))
}
