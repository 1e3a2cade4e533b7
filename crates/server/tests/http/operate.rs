//! Cancel, retry and explain, one job or many; and the same job twice.

use crate::{Api, START};
use serde_json::{Value, json};
use std::time::Duration;
use tenure::Tenure;
use tenure_server::Options;

fn code(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["error"]["code"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn l11_a_waiting_job_is_cancelled_at_once() {
    let api = Api::new().await;
    api.post("/v1/queues/q/jobs", r#"{"kind":"k"}"#).await;
    let cancelled = api.post("/v1/jobs/1/cancel", r#"{"reason":"wrong customer"}"#).await;
    assert_eq!(cancelled, (200, json!({"status":"failed","cancel_requested":false})));
    let (_, job) = api.get("/v1/jobs/1").await;
    assert_eq!((&job["status"], &job["reason"]), (&json!("failed"), &json!("cancelled")));
    let (_, timeline) = api.get("/v1/jobs/1/timeline").await;
    let last = timeline["events"].as_array().unwrap().last().unwrap();
    assert_eq!(last["what"], "cancelled");
    assert!(last["message"].as_str().unwrap().contains("wrong customer"), "{last}");
    assert_eq!(api.post("/v1/queues/q/claim", r#"{"worker":"w1"}"#).await.1["reason"], "empty");
}

#[tokio::test]
async fn l11_the_holder_of_a_running_job_is_asked_with_its_next_heartbeat() {
    let (api, _clock) = Api::with_clock().await;
    let (id, token) = api.claimed().await;
    // The body may be left out.
    let asked = api.post(&format!("/v1/jobs/{id}/cancel"), "").await;
    assert_eq!(asked, (200, json!({"status":"running","cancel_requested":true})));
    assert_eq!(api.get(&format!("/v1/jobs/{id}")).await.1["cancel_requested"], true);
    let held = json!({"worker":"w1","token":token});
    let beaten = api.post(&format!("/v1/jobs/{id}/heartbeat"), held.to_string()).await;
    assert_eq!(beaten, (200, json!({"lease_expires_at":"2026-01-01T00:00:30Z","cancel_requested":true})));
    let beats = json!({"heartbeats":[{"id":id,"worker":"w1","token":token}]}).to_string();
    assert_eq!(api.post("/v1/heartbeats", beats).await.1["results"][0]["cancel_requested"], true);
    let released = api.post(&format!("/v1/jobs/{id}/release"), held.to_string()).await;
    assert_eq!(released, (200, json!({"status":"failed","already":false})));
    assert_eq!(api.get(&format!("/v1/jobs/{id}")).await.1["reason"], "cancelled");
}

#[tokio::test]
async fn l11_force_ends_the_lease_now() {
    let api = Api::new().await;
    let (id, token) = api.claimed().await;
    let cancelled = api.post(&format!("/v1/jobs/{id}/cancel"), r#"{"force":true}"#).await;
    assert_eq!(cancelled, (200, json!({"status":"failed","cancel_requested":false})));
    let held = json!({"worker":"w1","token":token}).to_string();
    let (status, lost) = api.post(&format!("/v1/jobs/{id}/complete"), held).await;
    assert_eq!((status, &lost["error"]["reason"]), (409, &json!("cancelled")));
}

#[tokio::test]
async fn l9_an_ended_job_is_retried_under_a_larger_token() {
    let api = Api::new().await;
    let (id, token) = api.claimed().await;
    let held = json!({"worker":"w1","token":token,"error":"broke","retry":false}).to_string();
    api.post(&format!("/v1/jobs/{id}/fail"), held).await;
    for body in ["{}", ""] {
        let again = api.post(&format!("/v1/jobs/{id}/retry"), body).await;
        assert_eq!(again, (200, json!({"status":"queued"})));
        api.post(&format!("/v1/jobs/{id}/cancel"), "{}").await;
    }
    api.post(&format!("/v1/jobs/{id}/retry"), "{}").await;
    let (_, claims) = api.post("/v1/queues/q/claim", r#"{"worker":"w2"}"#).await;
    assert_eq!(claims["jobs"][0]["attempt"], 1);
    assert!(claims["jobs"][0]["token"].as_i64().unwrap() > token);
}

#[tokio::test]
async fn y_an_operator_action_that_does_not_fit_is_refused() {
    let api = Api::new().await;
    api.post("/v1/queues/q/jobs", r#"{"kind":"k"}"#).await;
    assert_eq!(code(&api.post("/v1/jobs/1/retry", "{}").await), (409, "not_terminal"));
    api.post("/v1/jobs/1/cancel", "{}").await;
    assert_eq!(code(&api.post("/v1/jobs/1/cancel", "{}").await), (409, "terminal"));
    for path in ["/v1/jobs/9/cancel", "/v1/jobs/9/retry", "/v1/jobs/x/cancel", "/v1/jobs/01/retry"] {
        assert_eq!(code(&api.post(path, "{}").await), (404, "not_found"), "{path}");
    }
}

#[tokio::test]
async fn many_jobs_are_cancelled_and_retried_by_filter() {
    let api = Api::new().await;
    let jobs = r#"{"jobs":[{"kind":"a"},{"kind":"b"},{"kind":"a"}]}"#;
    api.post("/v1/queues/q/jobs", jobs).await;
    api.post("/v1/queues/other/jobs", jobs).await;
    let did = |done: u64| (200, json!({"done":done,"passed_over":0,"next_cursor":null}));
    let cancel = r#"{"filter":{"queue":"q","kind":"a"},"reason":"not now"}"#;
    assert_eq!(api.post("/v1/jobs/cancel", cancel).await, did(2));
    assert_eq!(api.post("/v1/jobs/cancel", cancel).await, did(0));
    assert_eq!(api.get("/v1/queues/q").await.1["counts"]["failed"], 2);
    assert_eq!(api.get("/v1/queues/other").await.1["counts"]["queued"], 3);
    assert_eq!(api.post("/v1/jobs/cancel", r#"{"filter":{"status":"queued"}}"#).await, did(4));
    assert_eq!(api.post("/v1/jobs/retry", r#"{"filter":{"kind":"a","queue":"other"}}"#).await, did(2));
    assert_eq!(api.post("/v1/jobs/retry", r#"{"filter":{"status":"completed"}}"#).await, did(0));
    assert_eq!(api.post("/v1/jobs/retry", r#"{"filter":{"status":"failed"}}"#).await, did(4));
    assert_eq!(api.get("/v1/jobs?status=queued").await.1["jobs"].as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn a_retry_by_filter_takes_only_failed_jobs_unless_told() {
    let api = Api::new().await;
    let (id, token) = api.claimed().await;
    api.post(&format!("/v1/jobs/{id}/complete"), json!({"worker":"w1","token":token}).to_string()).await;
    assert_eq!(api.post("/v1/jobs/retry", r#"{"filter":{"queue":"q"}}"#).await.1["done"], 0);
    let completed = r#"{"filter":{"queue":"q","status":"completed"}}"#;
    assert_eq!(api.post("/v1/jobs/retry", completed).await.1["done"], 1);
}

#[tokio::test]
async fn a_running_job_is_asked_by_a_cancel_of_many_and_ended_by_force() {
    let api = Api::new().await;
    let (id, _) = api.claimed().await;
    assert_eq!(api.post("/v1/jobs/cancel", r#"{"filter":{"queue":"q"}}"#).await.1["done"], 1);
    let (_, job) = api.get(&format!("/v1/jobs/{id}")).await;
    assert_eq!((&job["status"], &job["cancel_requested"]), (&json!("running"), &json!(true)));
    assert_eq!(api.post("/v1/jobs/cancel", r#"{"filter":{"queue":"q"},"force":true}"#).await.1["done"], 1);
    assert_eq!(api.get(&format!("/v1/jobs/{id}")).await.1["status"], "failed");
}

#[tokio::test]
async fn a_bulk_action_that_runs_out_of_time_goes_on_at_its_cursor() {
    // No time beyond the first step of 500.
    let options = Options { bulk_time: Duration::ZERO, ..Options::default() };
    let api = Api::with(Tenure::open("memory:").await.unwrap(), options).await;
    let jobs = vec![r#"{"kind":"k"}"#; 1_100].join(",");
    api.post("/v1/queues/q/jobs", format!(r#"{{"jobs":[{jobs}]}}"#)).await;
    let mut cursor = Value::Null;
    for done in [500, 500, 100] {
        let body = json!({"filter":{"queue":"q"},"cursor":cursor});
        let (status, answer) = api.post("/v1/jobs/cancel", body.to_string()).await;
        assert_eq!((status, &answer["done"]), (200, &json!(done)));
        cursor = answer["next_cursor"].clone();
        assert_eq!(cursor.is_null(), done == 100, "{answer}");
    }
    assert_eq!(api.get("/v1/queues/q").await.1["counts"]["failed"], 1_100);
}

#[tokio::test]
async fn explain_says_why_a_job_is_not_running() {
    let (api, _clock) = Api::with_clock().await;
    api.post("/v1/queues/q/jobs", r#"{"kind":"k","run_at":"2026-01-01T00:01:30Z"}"#).await;
    let (status, explained) = api.get("/v1/jobs/1/explain").await;
    let message = "it is not due for another 1 min 30 s";
    let expected = json!({"summary":message,"reasons":[{"code":"not_due","message":message}]});
    assert_eq!((status, explained), (200, expected));
    api.put("/v1/queues/q", r#"{"paused":true}"#).await;
    let (_, explained) = api.get("/v1/jobs/1/explain").await;
    assert_eq!(explained["reasons"][1]["code"], "paused");
    api.post("/v1/queues/r/jobs", r#"{"kind":"k"}"#).await;
    let (_, explained) = api.get("/v1/jobs/2/explain").await;
    assert_eq!(explained["reasons"][0]["code"], "no_worker_lately");
    let (_, explained) = {
        api.post("/v1/jobs/1/cancel", "{}").await;
        api.get("/v1/jobs/1/explain").await
    };
    assert_eq!(explained["reasons"][0]["code"], "finished");
}

#[tokio::test]
async fn q7_the_same_key_and_body_is_the_same_job() {
    let (api, clock) = Api::with_clock().await;
    let job = r#"{"kind":"k","payload":{"a":1,"b":[1.0]},"key":"welcome-7","key_window_ms":60000}"#;
    let first = api.post("/v1/queues/q/jobs", job).await;
    assert_eq!(first, (201, json!({"jobs":[{"id":"1","status":"queued","deduplicated":false}]})));
    // The payload is compared as a JSON value.
    let same = r#"{"kind":"k","payload":{ "b":[1],"a":1.0 },"key":"welcome-7"}"#;
    let again = api.post("/v1/queues/q/jobs", same).await;
    assert_eq!(again, (201, json!({"jobs":[{"id":"1","status":"queued","deduplicated":true}]})));
    // Keys are a queue's own.
    assert_eq!(api.post("/v1/queues/other/jobs", same).await.1["jobs"][0]["deduplicated"], false);
    api.post("/v1/jobs/1/cancel", "{}").await;
    clock.set(START.plus_ms(60_000));
    assert_eq!(api.post("/v1/queues/q/jobs", job).await.1["jobs"][0]["deduplicated"], false);
}

#[tokio::test]
async fn q7_another_body_under_a_key_refuses_the_whole_call() {
    let api = Api::new().await;
    api.post("/v1/queues/q/jobs", r#"{"kind":"k","payload":1,"key":"a"}"#).await;
    let refused = api.post("/v1/queues/q/jobs", r#"{"kind":"k","payload":2,"key":"a"}"#).await;
    assert_eq!(code(&refused), (409, "dedup_conflict"));
    assert_eq!((&refused.1["error"]["index"], &refused.1["error"]["id"]), (&json!(0), &json!("1")));
    let many = r#"{"jobs":[{"kind":"k"},{"kind":"other","payload":1,"key":"a"}]}"#;
    let refused = api.post("/v1/queues/q/jobs", many).await;
    assert_eq!((&refused.1["error"]["index"], &refused.1["error"]["id"]), (&json!(1), &json!("1")));
    let among = r#"{"jobs":[{"kind":"k","payload":1,"key":"b"},{"kind":"k","payload":2,"key":"b"}]}"#;
    let refused = api.post("/v1/queues/q/jobs", among).await;
    assert_eq!(code(&refused), (409, "dedup_conflict"));
    assert_eq!((&refused.1["error"]["index"], &refused.1["error"]["id"]), (&json!(1), &Value::Null));
    assert_eq!(api.get("/v1/queues/q").await.1["counts"]["queued"], 1);
}
