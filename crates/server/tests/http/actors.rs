//! Who did it, when first and how often (L8): the fields of timelines, on every face.

use crate::{Api, START, answer};
use serde_json::{Value, json};

/// Whoever asks from here.
const HERE: &str = "http:127.0.0.1";

/// The events of a timeline.
async fn events(api: &Api, path: &str) -> Vec<Value> {
    let (status, timeline) = api.get(path).await;
    assert_eq!(status, 200, "{path}: {timeline}");
    timeline["events"].as_array().unwrap().clone()
}

/// What happened by whom, of events that somebody did.
fn acts(events: &[Value]) -> Vec<(&str, &str)> {
    let acted = events.iter().filter_map(|event| Some((event["what"].as_str()?, event["by"].as_str()?)));
    acted.collect()
}

#[tokio::test]
async fn l8_an_act_on_a_job_names_the_address_it_came_from() {
    let api = Api::new().await;
    let (id, _) = api.claimed().await;
    api.post(&format!("/v1/jobs/{id}/cancel"), "").await;
    api.post(&format!("/v1/jobs/{id}/cancel"), r#"{"force":true}"#).await;
    api.post(&format!("/v1/jobs/{id}/retry"), "").await;
    api.post("/v1/jobs/cancel", r#"{"filter":{"queue":"q"}}"#).await;
    api.post("/v1/jobs/retry", r#"{"filter":{"queue":"q"}}"#).await;
    let events = events(&api, &format!("/v1/jobs/{id}/timeline")).await;
    let by = |what| (what, HERE);
    let whats = ["cancel_requested", "cancelled", "retried_by_operator", "cancelled", "retried_by_operator"];
    assert_eq!(acts(&events), whats.map(by));
    // What workers do names them, as ever.
    let claimed = events.iter().find(|event| event["what"] == "claimed").unwrap();
    assert_eq!((&claimed["owner"], &claimed["by"]), (&json!("w1"), &Value::Null));
}

#[tokio::test]
async fn l8_no_header_makes_somebody_else_of_a_caller() {
    let api = Api::new().await;
    let url = format!("http://{}/v1/queues/q", api.address);
    let put = api.client.put(url).header("content-type", "application/json").body(r#"{"paused":true}"#);
    let forged = ["forwarded", "x-forwarded-for", "x-real-ip", "from", "user-agent", "x-actor", "authorization"];
    let put = forged.into_iter().fold(put, |put, header| put.header(header, "for=203.0.113.7"));
    assert_eq!(answer(put.send().await.unwrap()).await.0, 200);
    let events = events(&api, "/v1/queues/q/timeline").await;
    assert_eq!(acts(&events), [("changed", HERE)]);
    assert!(!events[0].to_string().contains("203.0.113.7"), "{events:?}");
}

#[tokio::test]
async fn l8_a_queues_timeline_tells_what_was_changed_and_by_whom() {
    let (api, clock) = Api::with_clock().await;
    assert_eq!(api.get("/v1/queues/q/timeline").await.0, 404);
    api.put("/v1/queues/q", r#"{"paused":true}"#).await;
    clock.set(START.plus_ms(1_000));
    api.put("/v1/queues/q", r#"{"rate_limit":{"max":5,"period_ms":1000},"paused":true}"#).await;
    assert_eq!(api.put("/v1/queues/q", r#"{"max_running":0}"#).await.0, 422);
    let expected = json!([
        {"at":"2026-01-01T00:00:00Z","what":"changed","setting":"paused","from":"false","to":"true","by":HERE,
         "message":"http:127.0.0.1 changed paused from false to true"},
        {"at":"2026-01-01T00:00:01Z","what":"changed","setting":"rate_limit","from":null,"to":"5 in 1000 ms","by":HERE,
         "message":"http:127.0.0.1 changed rate_limit from none to 5 in 1000 ms"},
    ]);
    assert_eq!(json!(events(&api, "/v1/queues/q/timeline").await), expected);
    api.post("/v1/queues/used/jobs", r#"{"kind":"k"}"#).await;
    assert_eq!(api.get("/v1/queues/used/timeline").await, (200, json!({"events":[]})));
}

#[tokio::test]
async fn l8_changes_of_limits_schedules_and_pipelines_name_their_actor() {
    let api = Api::new().await;
    api.put("/v1/limits", r#"{"max_running":9}"#).await;
    let events_of = events(&api, "/v1/limits/timeline").await;
    assert_eq!((&events_of[0]["setting"], &events_of[0]["to"]), (&json!("max_running"), &json!("9")));
    assert_eq!(acts(&events_of), [("changed", HERE)]);

    let schedule = r#"{"cron":"@daily","job":{"queue":"q","kind":"k"}}"#;
    assert!(api.put("/v1/schedules/s", schedule).await.0 < 300);
    api.post("/v1/schedules/s/pause", "").await;
    api.post("/v1/schedules/s/resume", "").await;
    let url = format!("http://{}/v1/schedules/s", api.address);
    assert_eq!(api.client.delete(url).send().await.unwrap().status(), 204);
    let removed = events(&api, "/v1/schedules/s/timeline").await;
    assert_eq!(acts(&removed), ["created", "changed", "changed", "removed"].map(|what| (what, HERE)));

    let pipeline = r#"{"name":"p","version":1,"stages":[{"name":"a"}]}"#;
    assert_eq!(api.post("/v1/pipelines", pipeline).await.0, 201);
    let applied = events(&api, "/v1/pipelines/p/timeline").await;
    assert_eq!(acts(&applied), [("created", HERE)]);
    assert_eq!(applied[0]["message"], "http:127.0.0.1 made version 1");
}

#[tokio::test]
async fn l8_acts_on_domains_syncs_and_runs_name_their_actor() {
    let api = Api::new().await;
    api.post("/v1/domains/d/acquire", r#"{"offset":1}"#).await;
    assert_eq!(api.post("/v1/domains/d/skip", r#"{"offset":1}"#).await.0, 200);
    assert_eq!(api.put("/v1/domains/d", r#"{"max_retries":0}"#).await.0, 200);
    let domain = events(&api, "/v1/domains/d/timeline").await;
    assert_eq!(acts(&domain), [("skipped", HERE), ("changed", HERE)]);
    assert_eq!(domain[1]["message"], "http:127.0.0.1 changed max_retries from 3 to 0");

    let (_, planned) = api.post("/v1/syncs", r#"{"matrix_id":"m","chunks":[{"chunk_hash":"a"}]}"#).await;
    let sync = planned["id"].as_str().unwrap_or_else(|| panic!("{planned}"));
    assert_eq!(api.post(&format!("/v1/syncs/{sync}/cancel"), "").await.0, 200);
    assert_eq!(acts(&events(&api, &format!("/v1/syncs/{sync}/timeline")).await), [("cancelled", HERE)]);

    api.post("/v1/pipelines", r#"{"name":"p","version":1,"stages":[{"name":"a"}]}"#).await;
    let (_, started) = api.post("/v1/pipelines/p/runs", "{}").await;
    let run = started["id"].as_str().unwrap_or_else(|| panic!("{started}"));
    for verb in ["pause", "resume", "cancel", "retry"] {
        assert_eq!(api.post(&format!("/v1/runs/{run}/{verb}"), "").await.0, 200, "{verb}");
    }
    let whats = ["paused", "resumed", "cancelled", "retried_by_operator"].map(|what| (what, HERE));
    assert_eq!(acts(&events(&api, &format!("/v1/runs/{run}/timeline")).await), whats);
}

/// The last event, without what it says.
fn counted(events: &[Value]) -> Value {
    let last = events.last().unwrap();
    json!([last["what"], last["count"], last["first_at"], last["at"]])
}

#[tokio::test]
async fn l8_counted_refusals_tell_the_first_time_and_the_last() {
    let (api, clock) = Api::with_clock().await;
    let (id, _) = api.claimed().await;
    api.post("/v1/domains/d/acquire", r#"{"offset":1}"#).await;
    let (_, planned) = api.post("/v1/syncs", r#"{"matrix_id":"m","chunks":[{"chunk_hash":"a"}]}"#).await;
    let sync = planned["id"].as_str().unwrap();
    api.post("/v1/pipelines", r#"{"name":"p","version":1,"stages":[{"name":"a"}]}"#).await;
    let (_, started) = api.post("/v1/pipelines/p/runs", "{}").await;
    let run = started["id"].as_str().unwrap();
    for second in 1..=3 {
        clock.set(START.plus_ms(second * 1_000));
        api.post(&format!("/v1/jobs/{id}/complete"), r#"{"worker":"zombie","token":7}"#).await;
        api.post("/v1/domains/d/succeed", r#"{"token":"7"}"#).await;
        api.post(&format!("/v1/syncs/{sync}/complete"), r#"{"worker":"zombie","token":7}"#).await;
        api.post(&format!("/v1/runs/{run}/stages/a/complete"), r#"{"worker":"zombie","token":7}"#).await;
    }
    let expected = json!(["refused", 3, "2026-01-01T00:00:01Z", "2026-01-01T00:00:03Z"]);
    for path in [
        format!("/v1/jobs/{id}/timeline"),
        "/v1/domains/d/timeline".to_owned(),
        format!("/v1/syncs/{sync}/timeline"),
        format!("/v1/runs/{run}/timeline"),
    ] {
        let events = events(&api, &path).await;
        assert_eq!(counted(&events), expected, "{path}: {events:?}");
        assert!(events.last().unwrap()["message"].as_str().unwrap().contains("3 times in 2.0 s"), "{path}");
        assert!(events[..events.len() - 1].iter().all(|event| event["first_at"].is_null()), "{path}");
    }
}
