//! `POST /v1/runs/{id}/stages/{stage}/split`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{BULK, Parts, Sent};
use axum::Json;
use axum::extract::State;
use tenure::pipeline::UnitKey;
use tenure_wire::pipeline;

/// Cuts the stage into segments, which others work on.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/stages/{stage}/split",
    tag = "runs",
    operation_id = "split_stage",
    params(
        ("id" = String, Path, description = "The run."),
        ("stage" = String, Path, description = "The stage."),
    ),
    request_body(content = ref("#/components/schemas/UnitSplit"), content_type = "application/json"),
    responses((status = 200, body = pipeline::UnitEnded))
)]
pub(in crate::routes) async fn split(
    State(app): State<App>,
    Parts([id, stage]): Parts<2>,
    sent: Sent<BULK>,
) -> Result<Json<pipeline::UnitEnded>, Refused> {
    let unit = UnitKey::stage(pipeline::run_id(&id), stage);
    let ending = pipeline::ending(sent.body()?, unit, "split", tenure::by_policy())?;
    Ok(Json(app.ask(app.tenure.stage_worker().finish(ending)).await?.into()))
}
