//! How a queue behaves, and what limits what runs.

use crate::{Api, START};
use serde_json::{Value, json};

const CLAIM: &str = r#"{"worker":"w1","max":10}"#;

/// What a claim from `q` answers: the payloads it got, and the reason if there are none.
async fn claim(api: &Api) -> (Vec<Value>, Value) {
    let (status, claims) = api.post("/v1/queues/q/claim", CLAIM).await;
    assert_eq!(status, 200);
    let payloads = claims["jobs"].as_array().unwrap().iter().map(|job| job["payload"].clone()).collect();
    (payloads, claims["reason"].clone())
}

#[tokio::test]
async fn x_put_creates_a_queue_and_changes_only_what_is_sent() {
    let (api, _clock) = Api::with_clock().await;
    let set = json!({"paused":true,"max_running":3,"max_running_per_key":2,"lane_on_failure":"block","retention_ms":0,
        "rate_limit":{"max":100,"period_ms":1000},"rate_limit_per_key":{"max":10,"period_ms":60000}});
    let (status, queue) = api.put("/v1/queues/q", set.to_string()).await;
    let mut expected = set.clone();
    expected.as_object_mut().unwrap().extend(
        json!({"name":"q","counts":{"queued":0,"running":0,"completed":0,"failed":0},"counts_capped":[],
            "oldest_queued_at":null,"created_at":"2026-01-01T00:00:00Z"})
        .as_object()
        .unwrap()
        .clone(),
    );
    assert_eq!((status, &queue), (200, &expected));
    assert_eq!(api.get("/v1/queues/q").await, (200, expected.clone()));
    // Nothing sent, nothing changed.
    assert_eq!(api.put("/v1/queues/q", "{}").await, (200, expected.clone()));
    expected["max_running"] = json!(4);
    assert_eq!(api.put("/v1/queues/q", r#"{"max_running":4}"#).await, (200, expected));
}

#[tokio::test]
async fn y_null_sets_a_setting_back() {
    let api = Api::new().await;
    let fields = [
        "paused",
        "max_running",
        "max_running_per_key",
        "lane_on_failure",
        "retention_ms",
        "rate_limit",
        "rate_limit_per_key",
    ];
    let (_, fresh) = api.put("/v1/queues/fresh", "{}").await;
    let set = json!({"paused":true,"max_running":3,"max_running_per_key":2,"lane_on_failure":"block","retention_ms":0,
        "rate_limit":{"max":100,"period_ms":1000},"rate_limit_per_key":{"max":10,"period_ms":60000}});
    api.put("/v1/queues/q", set.to_string()).await;
    let unset: Value =
        fields.iter().map(|field| ((*field).to_owned(), Value::Null)).collect::<serde_json::Map<_, _>>().into();
    let (status, queue) = api.put("/v1/queues/q", unset.to_string()).await;
    assert_eq!(status, 200);
    for field in fields {
        assert_eq!(queue[field], fresh[field], "{field}");
    }
}

#[tokio::test]
async fn q2_a_paused_queue_says_so() {
    let api = Api::new().await;
    api.post("/v1/queues/q/jobs", r#"{"kind":"k","payload":1}"#).await;
    api.put("/v1/queues/q", r#"{"paused":true}"#).await;
    assert_eq!(claim(&api).await, (vec![], json!("paused")));
    api.put("/v1/queues/q", r#"{"paused":false}"#).await;
    assert_eq!(claim(&api).await, (vec![json!(1)], Value::Null));
}

#[tokio::test]
async fn q8_no_more_than_max_running_run() {
    let api = Api::new().await;
    api.post(
        "/v1/queues/q/jobs",
        r#"{"jobs":[{"kind":"k","payload":1},{"kind":"k","payload":2},{"kind":"k","payload":3}]}"#,
    )
    .await;
    api.put("/v1/queues/q", r#"{"max_running":2}"#).await;
    assert_eq!(claim(&api).await.0, [1, 2]);
    assert_eq!(claim(&api).await, (vec![], json!("at_capacity")));
    let (_, explained) = api.get("/v1/jobs/3/explain").await;
    assert_eq!(explained["reasons"][0]["code"], "at_capacity");
    api.put("/v1/queues/q", r#"{"max_running":null}"#).await;
    assert_eq!(claim(&api).await.0, [3]);
}

#[tokio::test]
async fn q8_the_engine_has_a_limit_of_its_own() {
    let api = Api::new().await;
    assert_eq!(api.get("/v1/limits").await, (200, json!({"max_running":null})));
    assert_eq!(api.put("/v1/limits", r#"{"max_running":1}"#).await, (200, json!({"max_running":1})));
    assert_eq!(api.put("/v1/limits", "{}").await, (200, json!({"max_running":1})));
    assert_eq!(api.get("/v1/limits").await, (200, json!({"max_running":1})));
    api.post("/v1/queues/q/jobs", r#"{"jobs":[{"kind":"k","payload":1},{"kind":"k","payload":2}]}"#).await;
    assert_eq!(claim(&api).await.0, [1]);
    assert_eq!(claim(&api).await.1, "at_capacity");
    assert_eq!(api.put("/v1/limits", r#"{"max_running":null}"#).await, (200, json!({"max_running":null})));
    assert_eq!(claim(&api).await.0, [2]);
}

#[tokio::test]
async fn q8_a_tenant_at_its_limit_does_not_hold_up_the_others() {
    let api = Api::new().await;
    let jobs = r#"{"jobs":[{"kind":"k","payload":1,"limit_key":"acme"},{"kind":"k","payload":2,"limit_key":"acme"},
        {"kind":"k","payload":3,"limit_key":"umbrella"}]}"#;
    api.post("/v1/queues/q/jobs", jobs).await;
    api.put("/v1/queues/q", r#"{"max_running_per_key":1}"#).await;
    assert_eq!(claim(&api).await.0, [1, 3]);
    assert_eq!(claim(&api).await.1, "at_capacity");
    let (_, job) = api.get("/v1/jobs/2").await;
    assert_eq!((&job["limit_key"], &job["ordering_key"]), (&json!("acme"), &Value::Null));
    assert_eq!(api.get("/v1/jobs/2/explain").await.1["reasons"][0]["code"], "tenant_at_limit");
}

#[tokio::test]
async fn q2_a_queue_that_used_up_its_rate_says_so() {
    let (api, clock) = Api::with_clock().await;
    api.post("/v1/queues/q/jobs", r#"{"jobs":[{"kind":"k","payload":1},{"kind":"k","payload":2}]}"#).await;
    api.put("/v1/queues/q", r#"{"rate_limit":{"max":1,"period_ms":60000}}"#).await;
    assert_eq!(claim(&api).await.0, [1]);
    assert_eq!(claim(&api).await, (vec![], json!("rate_limited")));
    clock.set(START.plus_ms(60_000));
    // The first one's lease has run out by now, and it comes first again.
    assert_eq!(claim(&api).await.0, [1]);
}

#[tokio::test]
async fn q9_jobs_of_one_ordering_key_run_one_at_a_time() {
    let api = Api::new().await;
    let jobs = r#"{"jobs":[{"kind":"k","payload":1,"ordering_key":"a"},{"kind":"k","payload":2,"ordering_key":"a","priority":9},
        {"kind":"k","payload":3,"ordering_key":"b"}]}"#;
    api.post("/v1/queues/q/jobs", jobs).await;
    assert_eq!(claim(&api).await.0, [1, 3]);
    assert_eq!(claim(&api).await.0, [0; 0]);
    assert_eq!(api.get("/v1/jobs/2").await.1["ordering_key"], "a");
    assert_eq!(api.get("/v1/jobs/2/explain").await.1["reasons"][0]["code"], "behind_in_lane");
    api.post("/v1/jobs/1/cancel", r#"{"force":true}"#).await;
    assert_eq!(claim(&api).await.0, [2]);
}
