//! `POST /v1/finish`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{BULK, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::{reply, request};

/// Ends many claims, each answered on its own, in this order.
///
/// One that is out of bounds refuses the call; a lost lease refuses only its own ending.
#[utoipa::path(
    post,
    path = "/v1/finish",
    tag = "jobs",
    request_body(content = ref("#/components/schemas/Endings"), content_type = "application/json"),
    responses((status = 200, body = reply::Results<reply::Ended>))
)]
pub(in crate::routes) async fn finish(
    State(app): State<App>,
    sent: Sent<BULK>,
) -> Result<Json<reply::Results<reply::Ended>>, Refused> {
    let (ids, endings) = request::endings(sent.body()?, tenure::by_policy)?.into_iter().unzip();
    let answers = app.ask(app.tenure.finish_all(endings)).await?;
    Ok(Json(reply::Results::new(ids, answers)))
}
