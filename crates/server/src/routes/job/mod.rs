//! One job: what its holder writes, what an operator does with it, and what anyone may read.

pub(super) mod cancel;
pub(super) mod complete;
pub(super) mod explain;
pub(super) mod fail;
pub(super) mod heartbeat;
pub(super) mod list;
pub(super) mod release;
pub(super) mod retry;
pub(super) mod show;
pub(super) mod snooze;
pub(super) mod timeline;

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use tenure_wire::{reply, request};

/// Ends the claim of `id` by `verb`.
async fn end(app: App, id: &str, verb: &str, sent: Sent<SINGLE>) -> Result<Json<reply::Ended>, Refused> {
    let ending = request::ending(sent.body()?, request::job_id(id), verb, tenure::by_policy())?;
    let ended = app.ask(app.tenure.finish(ending)).await?;
    Ok(Json(ended.into()))
}
