//! Domains: offsets in order, one at a time, under a token.

use super::{found, name};
use crate::api::Api;
use axum::Json;
use tenure::domain::Event;
use tenure::domain::Held;
use tenure_wire::domain::{reply, request};
use tenure_wire::reply::Timeline;

const DOMAIN: [(&str, &str); 1] = [("domain", "The domain, percent-encoded.")];
const THIS: &str = "this domain";

pub(super) fn routes(api: &mut Api) {
    let about = "Domains by name; all of them, or those that want a look.";
    api.get("/v1/domains", "domains", "list_domains", about)
        .only(
            "state",
            "Only `blocked` (offsets wait and no live lease works on the one before them) or `expired` ones.",
        )
        .pages("Domains")
        .lists(|app, [], sent| async move {
            let state = sent.read_as("state", "blocked or expired", tenure::domain::State::parse)?;
            let after = sent.cursor(request::from_cursor)?;
            let page = app.ask(app.tenure.verbs().domains(after.as_deref(), state, sent.limit()?)).await?;
            Ok(Json(reply::Domains::from(page)))
        });
    let about = "Where a domain stands: its lease without the token, its backlog, its settings.";
    api.get("/v1/domains/{domain}", "domains", "show_domain", about).named(&DOMAIN).shows(|app, [name]| async move {
        let shown = app.ask(app.tenure.verbs().domain(&name)).await?;
        Ok(Json(found(THIS, shown)?))
    });
    let about = "Changes the settings that are sent, `null` sets one back to its default.";
    api.put("/v1/domains/{domain}", "domains", "change_domain", about)
        .named(&[("domain", "The domain, percent-encoded; made if it is new.")])
        .takes(&request::CHANGE, name, |app, (name, change)| async move {
            Ok(Json(app.ask(app.operator().verbs().domain_change(&name, change)).await?))
        });
    let about = "What went otherwise than well in a domain, oldest first.";
    api.get("/v1/domains/{domain}/timeline", "domains", "domain_timeline", about)
        .named(&DOMAIN)
        .with("DomainTimeline")
        .shows(|app, [name]| async move {
            let events = app.ask(app.tenure.verbs().domain_timeline(&name)).await?;
            Ok(Json(Timeline::new(found(THIS, events)?, Event::message)))
        });

    let about = "Asks for an offset: acquired if nothing is in flight and it is first, else it waits.";
    api.post("/v1/domains/{domain}/acquire", "domains", "domain_acquire", about).named(&DOMAIN).takes(
        &request::ACQUIRE,
        name,
        |app, acquire| async move {
            Ok(Json(reply::Acquired::from(app.ask(app.tenure.verbs().domain_try_acquire(acquire)).await?)))
        },
    );
    let about = "The offset in flight is done; answers which one waits first.";
    api.post("/v1/domains/{domain}/succeed", "domains", "domain_succeed", about).named(&DOMAIN).takes(
        &request::HELD,
        name,
        |app, (name, token)| async move {
            Ok(Json(reply::Finished::from(app.ask(app.tenure.verbs().domain_succeed(Held::new(name, token))).await?)))
        },
    );
    let about = "A try of the offset in flight failed: it may be tried again, or it was the last.";
    api.post("/v1/domains/{domain}/fail", "domains", "domain_fail", about).named(&DOMAIN).takes(
        &request::HELD,
        name,
        |app, (name, token)| async move {
            Ok(Json(reply::Finished::from(app.ask(app.tenure.verbs().domain_fail(Held::new(name, token))).await?)))
        },
    );
    let about = "Renews a lease that runs out.";
    api.post("/v1/domains/{domain}/heartbeat", "domains", "domain_heartbeat", about).named(&DOMAIN).takes(
        &request::HELD,
        name,
        |app, (name, token)| async move {
            Ok(Json(app.ask(app.tenure.verbs().domain_heartbeat(Held::new(name, token))).await?))
        },
    );
    let about = "An operator's word: the offset fails for good wherever it stands; the others keep their order.";
    api.post("/v1/domains/{domain}/skip", "domains", "domain_skip", about).named(&DOMAIN).takes(
        &request::SKIP,
        name,
        |app, (name, offset)| async move {
            Ok(Json(reply::Skipped { result: app.ask(app.operator().domain(&name).skip(offset)).await? }))
        },
    );
}
