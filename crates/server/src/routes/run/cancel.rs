//! `POST /v1/runs/{id}/cancel`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::pipeline;

/// Ends a run now; its holders are told `lease_lost` with `cancelled`. The body may be left out. 409 `terminal` if it has ended.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/cancel",
    tag = "operator",
    operation_id = "cancel_run",
    params(
        ("id" = String, Path, description = "The run."),
    ),
    request_body(content = ref("#/components/schemas/CancelRun"), content_type = "application/json"),
    responses((status = 200, body = pipeline::RunActed))
)]
pub(in crate::routes) async fn cancel(
    By(app): By,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<pipeline::RunActed>, Refused> {
    let action = pipeline::cancel(sent.optional_body()?)?;
    Ok(Json(app.ask(app.tenure.operate_run(pipeline::run_id(&id), action)).await?.into()))
}
