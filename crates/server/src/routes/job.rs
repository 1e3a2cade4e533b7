//! Jobs: what their holders write, what an operator does with them, and what anyone may read.

use super::{found, nothing};
use crate::api::Api;
use crate::app::App;
use crate::refused::Refused;
use axum::Json;
use tenure::{Ended, Ending, Event, Filter, JobId, Status};
use tenure_wire::queue::request::job_id;
use tenure_wire::queue::{reply, request};
use tenure_wire::reply::Timeline;

const JOB: [(&str, &str); 1] = [("id", "The job.")];

fn job([id]: [String; 1]) -> JobId {
    job_id(&id)
}

pub(super) fn routes(api: &mut Api) {
    reads(api);
    holders(api);
    operators(api);
}

fn reads(api: &mut Api) {
    api.get("/v1/jobs", "jobs", "list_jobs", "Jobs that match, newest first, without their payloads.")
        .only("queue", "Only of this queue.")
        .only("status", "Only in this state: queued, running, completed or failed.")
        .only("kind", "Only of this kind.")
        .pages("Jobs")
        .lists(|app, [], sent| async move {
            let status = sent.read_as("status", "queued, running, completed or failed", Status::parse)?;
            let filter = Filter { queue: sent.text("queue"), status, kind: sent.text("kind") };
            let before = sent.cursor(|cursor| cursor.parse().ok())?;
            let page = app.ask(app.tenure.verbs().jobs(filter, before, sent.limit()?)).await?;
            Ok(Json(reply::Jobs::from(page)))
        });
    api.get("/v1/jobs/{id}", "jobs", "show_job", "All that is known of a job, its claims included.").named(&JOB).shows(
        |app, id| async move {
            let shown = app.ask(app.tenure.verbs().job(job(id))).await?;
            Ok(Json(reply::Job::whole(found("this job", shown)?)))
        },
    );
    let about = "Everything that is known to have happened to a job, oldest first.";
    api.get("/v1/jobs/{id}/timeline", "jobs", "timeline", about).named(&JOB).with("Timeline").shows(
        |app, id| async move {
            let events = app.ask(app.tenure.verbs().timeline(job(id))).await?;
            Ok(Json(Timeline::new(found("this job", events)?, Event::message)))
        },
    );
    let about = "Why a job is not running now, in one sentence and its reasons.";
    api.get("/v1/jobs/{id}/explain", "jobs", "explain", about).named(&JOB).shows(|app, id| async move {
        let explanation = app.ask(app.tenure.verbs().explain(job(id))).await?;
        Ok(Json(found("this job", explanation)?))
    });
}

/// What the holder of a lease writes.
fn holders(api: &mut Api) {
    async fn end(app: App, ending: Ending) -> Result<Json<Ended>, Refused> {
        Ok(Json(app.ask(app.tenure.verbs().finish(ending)).await?))
    }
    api.post("/v1/jobs/{id}/heartbeat", "jobs", "heartbeat", "Renews a lease, and carries progress and a checkpoint.")
        .named(&JOB)
        .takes(&request::HEARTBEAT, job, |app, beat| async move {
            Ok(Json(reply::Beaten::from(app.ask(app.tenure.verbs().heartbeat(beat)).await?)))
        });
    api.post("/v1/jobs/{id}/complete", "jobs", "complete", "Ends a claim as done.")
        .more("The same ending sent again is answered as the first time, with `already`.")
        .named(&JOB)
        .takes(&request::COMPLETE, job, end);
    api.post("/v1/jobs/{id}/fail", "jobs", "fail", "Ends a claim as failed.")
        .more("Tried again by the job's backoff while it has attempts, unless the body says otherwise.")
        .named(&JOB)
        .takes(&request::FAIL, job, end);
    api.post("/v1/jobs/{id}/snooze", "jobs", "snooze", "Puts a job off, without counting the attempt.")
        .named(&JOB)
        .takes(&request::SNOOZE, job, end);
    api.post("/v1/jobs/{id}/release", "jobs", "release", "Gives a job back, without counting the attempt.")
        .named(&JOB)
        .takes(&request::RELEASE, job, end);
    api.post("/v1/heartbeats", "jobs", "heartbeats", "Renews many leases, each answered on its own, in this order.")
        .with("Results_Beaten")
        .takes(&request::HEARTBEATS, nothing, |app, beats| async move {
            let (ids, beats) = beats.into_iter().unzip();
            let answers = app.ask(app.tenure.verbs().heartbeats(beats)).await?;
            Ok(Json(reply::Results::<reply::Beaten>::new(ids, answers)))
        });
    api.post("/v1/finish", "jobs", "finish", "Ends many claims, each answered on its own, in this order.")
        .more("One that is out of bounds refuses the call; a lost lease refuses only its own ending.")
        .with("Results_Ended")
        .takes(&request::ENDINGS, nothing, |app, endings| async move {
            let (ids, endings) = endings.into_iter().unzip();
            let answers = app.ask(app.tenure.verbs().finish_all(endings)).await?;
            Ok(Json(reply::Results::<Ended>::new(ids, answers)))
        });
}

/// What an operator does, with one job or all that match.
fn operators(api: &mut Api) {
    async fn operate(app: App, bulk: request::Bulk) -> Result<Json<reply::Bulk>, Refused> {
        Ok(Json(app.operate(bulk).await?))
    }
    let about = "Ends a job: a waiting one at once, a running one by asking its holder, or with `force` now.";
    api.post("/v1/jobs/{id}/cancel", "operator", "cancel", about)
        .more("The body may be left out. 409 `terminal` if it has ended already.")
        .named(&JOB)
        .takes(&request::CANCEL, job, |app, (id, reason, force)| async move {
            let status = app.ask(app.operator().verbs().cancel(id, reason.as_deref(), force)).await?;
            Ok(Json(reply::Cancelled::from(status)))
        });
    let about = "Puts a finished job back, with its attempts anew; its token keeps growing.";
    api.post("/v1/jobs/{id}/retry", "operator", "retry", about)
        .more("The body may be left out. 409 `not_terminal` if it has not ended.")
        .named(&JOB)
        .takes(&request::RETRY, job, |app, id| async move {
            Ok(Json(reply::Retried { status: app.ask(app.operator().verbs().retry(id)).await? }))
        });
    let in_steps = "Works in small steps for some seconds; if that was not enough, `next_cursor` says where to go on.";
    let about = "Ends every job that matches, as `POST /v1/jobs/{id}/cancel` would.";
    api.post("/v1/jobs/cancel", "operator", "cancel_all", about).more(in_steps).takes(
        &request::CANCEL_ALL,
        nothing,
        operate,
    );
    let about = "Puts every finished job that matches back: the failed ones, unless `status` says `completed`.";
    api.post("/v1/jobs/retry", "operator", "retry_all", about).more(in_steps).takes(
        &request::RETRY_ALL,
        nothing,
        operate,
    );
}
