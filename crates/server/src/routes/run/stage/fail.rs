//! `POST /v1/runs/{id}/stages/{stage}/fail`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Parts, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure::pipeline::UnitKey;
use tenure_wire::pipeline;

/// Ends the claim as failed, to be tried again while there are attempts.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/stages/{stage}/fail",
    tag = "runs",
    operation_id = "fail_stage",
    params(
        ("id" = String, Path, description = "The run."),
        ("stage" = String, Path, description = "The stage."),
    ),
    request_body(content = ref("#/components/schemas/Fail"), content_type = "application/json"),
    responses((status = 200, body = pipeline::UnitEnded))
)]
pub(in crate::routes) async fn fail(
    State(app): State<App>,
    Parts([id, stage]): Parts<2>,
    sent: Sent<SINGLE>,
) -> Result<Json<pipeline::UnitEnded>, Refused> {
    let unit = UnitKey::stage(pipeline::run_id(&id), stage);
    let ending = pipeline::ending(sent.body()?, unit, "fail", tenure::by_policy())?;
    Ok(Json(app.ask(app.tenure.stage_worker().finish(ending)).await?.into()))
}
