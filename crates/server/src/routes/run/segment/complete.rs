//! `POST /v1/runs/{id}/stages/{stage}/segments/{segment}/complete`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Parts, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure::pipeline::UnitKey;
use tenure_wire::pipeline;

/// Ends the claim as done.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/stages/{stage}/segments/{segment}/complete",
    tag = "runs",
    operation_id = "complete_segment",
    params(
        ("id" = String, Path, description = "The run."),
        ("stage" = String, Path, description = "The stage."),
        ("segment" = String, Path, description = "The segment."),
    ),
    request_body(content = ref("#/components/schemas/UnitComplete"), content_type = "application/json"),
    responses((status = 200, body = pipeline::UnitEnded))
)]
pub(in crate::routes) async fn complete(
    State(app): State<App>,
    Parts([id, stage, segment]): Parts<3>,
    sent: Sent<SINGLE>,
) -> Result<Json<pipeline::UnitEnded>, Refused> {
    let unit = UnitKey::segment(pipeline::run_id(&id), stage, segment);
    let ending = pipeline::ending(sent.body()?, unit, "complete", tenure::by_policy())?;
    Ok(Json(app.ask(app.tenure.stage_worker().finish(ending)).await?.into()))
}
