//! Syncs and their chunks: what planners, workers and operators do with them, and what anyone may read.

use super::{found, nothing};
use crate::api::Api;
use crate::app::App;
use crate::refused::Refused;
use axum::Json;
use axum::http::StatusCode;
use tenure::sync::{Beat, ChunkFilter, Ended, Ending, State, SyncEvent, SyncFilter, SyncId, Unit};
use tenure_wire::reply::Timeline;
use tenure_wire::sync::request::sync_id;
use tenure_wire::sync::{reply, request};

const SYNC: [(&str, &str); 1] = [("id", "The sync.")];
const CHUNK: [(&str, &str); 2] = [("id", "The sync."), ("chunk_hash", "The chunk.")];
const STATES: &str = "AVAILABLE, RUNNING, EXPIRED, COMPLETED or FAILED";

fn id([id]: [String; 1]) -> SyncId {
    sync_id(&id)
}

fn sync([id]: [String; 1]) -> Unit {
    Unit::sync(sync_id(&id))
}

fn chunk([id, hash]: [String; 2]) -> Unit {
    Unit::chunk(sync_id(&id), hash)
}

pub(super) fn routes(api: &mut Api) {
    reads(api);
    plans(api);
    holders(api);
    let about = "Ends a sync at once: whoever holds it or one of its chunks is told `lease_lost` with `cancelled`.";
    api.post("/v1/syncs/{id}/cancel", "operator", "cancel_sync", about)
        .more("The body may be left out. 409 `terminal` if it has ended already.")
        .named(&SYNC)
        .takes(&request::CANCEL, id, |app, (id, why)| async move {
            let state = app.ask(app.operator().verbs().cancel_sync(id, why.as_deref())).await?;
            Ok(Json(reply::SyncCancelled { state }))
        });
}

fn reads(api: &mut Api) {
    api.get("/v1/syncs", "syncs", "list_syncs", "Syncs that match, newest first.")
        .only("matrix_id", "Only of this matrix.")
        .only("state", "Only in this state.")
        .pages("Syncs")
        .lists(|app, [], sent| async move {
            let state = sent.read_as("state", STATES, State::parse)?;
            let filter = SyncFilter { matrix_id: sent.text("matrix_id"), state };
            let before = sent.cursor(|cursor| cursor.parse().ok())?;
            let page = app.ask(app.tenure.verbs().syncs(filter, before, sent.limit()?)).await?;
            Ok(Json(reply::Syncs::from(page)))
        });
    let about = "A sync, how far it has come, and a page of its chunks.";
    api.get("/v1/syncs/{id}", "syncs", "show_sync", about)
        .named(&SYNC)
        .only("state", "Only chunks in this state.")
        .pages("Chunks")
        .lists(|app, name, sent| async move {
            let filter = ChunkFilter { state: sent.read_as("state", STATES, State::parse)? };
            let after = sent.cursor(|cursor| cursor.parse().ok())?.unwrap_or(0);
            let (id, limit) = (id(name), sent.limit()?);
            let info = found("the sync", app.ask(app.tenure.verbs().sync(id)).await?)?;
            let chunks = app.ask(app.tenure.verbs().chunks(id, filter, after, limit)).await?;
            Ok(Json(reply::WholeSync::new(info, chunks)))
        });
    let about = "What happened to a sync and its chunks otherwise than well, oldest first, the latest thousand.";
    api.get("/v1/syncs/{id}/timeline", "syncs", "sync_timeline", about).named(&SYNC).with("SyncTimeline").shows(
        |app, name| async move {
            let events = app.ask(app.tenure.verbs().sync_timeline(id(name))).await?;
            Ok(Json(Timeline::new(found("the sync", events)?, SyncEvent::message)))
        },
    );
}

fn plans(api: &mut Api) {
    let about = "Plans a pass over a matrix, with its chunks: all of them or none.";
    api.post("/v1/syncs", "syncs", "plan_sync", about)
        .more("409 `sync_unfinished` names the sync of that matrix that has not ended.")
        .takes(&request::PLAN, nothing, |app, plan| async move {
            let planned = app.ask(app.tenure.verbs().plan_sync(plan)).await?;
            Ok((StatusCode::CREATED, Json(planned)))
        });
    let about = "Adds chunks to a sync that has not ended; those it has already stay as they are.";
    api.post("/v1/syncs/{id}/chunks", "syncs", "add_chunks", about).named(&SYNC).takes(
        &request::ADD,
        id,
        |app, (id, chunks)| async move { Ok(Json(app.ask(app.tenure.verbs().add_chunks(id, chunks)).await?)) },
    );
}

/// What the holders of syncs and of chunks write.
fn holders(api: &mut Api) {
    async fn beat(app: App, beat: Beat) -> Result<Json<reply::SyncBeaten>, Refused> {
        let lease_expires_at = app.ask(app.tenure.verbs().heartbeat_sync(beat)).await?;
        Ok(Json(reply::SyncBeaten { lease_expires_at }))
    }
    async fn end(app: App, ending: Ending) -> Result<Json<Ended>, Refused> {
        Ok(Json(app.ask(app.tenure.verbs().finish_sync(ending)).await?))
    }
    let about = "Takes the first sync that waits or whose lease ran out, by priority and age.";
    api.post("/v1/syncs/claim", "syncs", "claim_sync", about).takes(
        &request::CLAIM,
        nothing,
        |app, claim| async move {
            Ok(Json(reply::SyncClaimed { job: app.ask(app.tenure.verbs().claim_sync(claim)).await? }))
        },
    );
    api.post("/v1/syncs/{id}/heartbeat", "syncs", "heartbeat_sync", "Renews the lease of a sync.").named(&SYNC).takes(
        &request::HEARTBEAT,
        sync,
        beat,
    );
    api.post(
        "/v1/syncs/{id}/complete",
        "syncs",
        "complete_sync",
        "Completes a sync, once every planned chunk is synced.",
    )
    .more("409 `sync_incomplete` otherwise, with how many are `left` and how many `failed`.")
    .named(&SYNC)
    .takes(&request::COMPLETE, sync, end);
    let about = "Fails a sync, for good; the leases of its chunks end with it.";
    api.post("/v1/syncs/{id}/fail", "syncs", "fail_sync", about).named(&SYNC).takes(&request::FAIL, sync, end);
    let about = "Gives a sync back; its chunks stay with their holders.";
    api.post("/v1/syncs/{id}/release", "syncs", "release_sync", about).named(&SYNC).takes(&request::RELEASE, sync, end);

    let about = "Takes the next chunk of a sync, or the one that is named; needs no lease on the sync.";
    api.post("/v1/syncs/{id}/chunks/claim", "syncs", "claim_chunk", about).named(&SYNC).takes(
        &request::CLAIM_CHUNK,
        id,
        |app, claim| async move {
            Ok(Json(reply::ChunkClaimed::from(app.ask(app.tenure.verbs().claim_chunk(claim)).await?)))
        },
    );
    let of_chunk = "/v1/syncs/{id}/chunks/{chunk_hash}";
    api.post(format!("{of_chunk}/heartbeat"), "syncs", "heartbeat_chunk", "Renews the lease of a chunk.")
        .named(&CHUNK)
        .takes(&request::HEARTBEAT, chunk, beat);
    let about = "Completes a chunk, with its rows and a cursor for its next sync.";
    api.post(format!("{of_chunk}/complete"), "syncs", "complete_chunk", about).named(&CHUNK).takes(
        &request::COMPLETE_CHUNK,
        chunk,
        end,
    );
    let about = "Fails a chunk; it is tried again at once, while it has attempts.";
    api.post(format!("{of_chunk}/fail"), "syncs", "fail_chunk", about).named(&CHUNK).takes(
        &request::FAIL_CHUNK,
        chunk,
        end,
    );
    let about = "Gives a chunk back, without counting the attempt.";
    api.post(format!("{of_chunk}/release"), "syncs", "release_chunk", about).named(&CHUNK).takes(
        &request::RELEASE,
        chunk,
        end,
    );
}
