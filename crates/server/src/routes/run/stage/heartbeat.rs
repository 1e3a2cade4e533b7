//! `POST /v1/runs/{id}/stages/{stage}/heartbeat`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Parts, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure::pipeline::UnitKey;
use tenure_wire::pipeline;

/// Renews the lease, and records progress and what was made.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/stages/{stage}/heartbeat",
    tag = "runs",
    operation_id = "heartbeat_stage",
    params(
        ("id" = String, Path, description = "The run."),
        ("stage" = String, Path, description = "The stage."),
    ),
    request_body(content = ref("#/components/schemas/UnitHeartbeat"), content_type = "application/json"),
    responses((status = 200, body = pipeline::UnitBeaten))
)]
pub(in crate::routes) async fn heartbeat(
    State(app): State<App>,
    Parts([id, stage]): Parts<2>,
    sent: Sent<SINGLE>,
) -> Result<Json<pipeline::UnitBeaten>, Refused> {
    let unit = UnitKey::stage(pipeline::run_id(&id), stage);
    let beat = pipeline::heartbeat(sent.body()?, unit)?;
    Ok(Json(app.ask(app.tenure.stage_worker().heartbeat(beat)).await?.into()))
}
