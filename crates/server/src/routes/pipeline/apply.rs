//! `POST /v1/pipelines`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use axum::http::StatusCode;
use tenure::pipeline::Applied;
use tenure_wire::{Problem, pipeline};

/// Puts a version of a pipeline on record: 201 if it is new, 200 if the same graph was there; another graph is 409.
#[utoipa::path(
    post,
    path = "/v1/pipelines",
    tag = "pipelines",
    operation_id = "apply_pipeline",
    request_body(content = ref("#/components/schemas/NewPipeline"), content_type = "application/json"),
    responses((status = 201, body = pipeline::Pipeline))
)]
pub(in crate::routes) async fn apply(
    By(app): By,
    sent: Sent<SINGLE>,
) -> Result<(StatusCode, Json<pipeline::Pipeline>), Refused> {
    let definition = pipeline::definition(sent.body()?)?;
    let (name, version) = (definition.name.clone(), definition.version);
    let applied = app.ask(app.tenure.apply_pipeline(definition)).await?;
    let info = app.ask(app.tenure.pipeline(&name, Some(version))).await?;
    let status = if applied == Applied::Created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(info.ok_or_else(|| Problem::absent("this pipeline"))?.into())))
}
