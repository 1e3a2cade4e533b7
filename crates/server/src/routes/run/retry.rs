//! `POST /v1/runs/{id}/retry`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::pipeline;

/// Tries again what failed for good, or begins again from a stage. 409 `not_terminal` while it runs.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/retry",
    tag = "operator",
    operation_id = "retry_run",
    params(
        ("id" = String, Path, description = "The run."),
    ),
    request_body(content = ref("#/components/schemas/RetryRun"), content_type = "application/json"),
    responses((status = 200, body = pipeline::RunActed))
)]
pub(in crate::routes) async fn retry(
    By(app): By,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<pipeline::RunActed>, Refused> {
    let action = pipeline::retry(sent.optional_body()?)?;
    Ok(Json(app.ask(app.tenure.operate_run(pipeline::run_id(&id), action)).await?.into()))
}
