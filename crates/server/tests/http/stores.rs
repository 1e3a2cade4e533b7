//! The same answers, whatever the store.

use crate::Api;
use serde_json::{Value, json};
use tenure::Tenure;

/// A job's whole life over HTTP, and a stale write refused, on the store at `url`.
async fn smoke(url: &str) {
    let api = Api::on(Tenure::open(url).await.unwrap()).await;
    let payload = r#"{ "n" : 1.50, "s":"\u00e9" }"#;
    let job = format!(
        r#"{{"jobs":[{{"kind":"k","payload":{payload},"priority":2,"backoff":{{"factor":3}}}},{{"kind":"k"}}]}}"#
    );
    let (status, enqueued) = api.post("/v1/queues/q/jobs", job).await;
    assert_eq!((status, enqueued["jobs"].as_array().map(Vec::len)), (201, Some(2)), "{enqueued}");

    let (_, claims) = api.post("/v1/queues/q/claim", r#"{"worker":"w1","wait_ms":1000}"#).await;
    let (id, token) = (claims["jobs"][0]["id"].as_str().unwrap(), claims["jobs"][0]["token"].as_i64().unwrap());
    assert_eq!((id, &claims["reason"]), (enqueued["jobs"][0]["id"].as_str().unwrap(), &Value::Null));

    let held = |more: Value| {
        let mut body = json!({"worker":"w1","token":token});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body.to_string()
    };
    let (status, _) = api.post(&format!("/v1/jobs/{id}/heartbeat"), held(json!({"checkpoint":{"at":7}}))).await;
    assert_eq!(status, 200);
    let failed = api.post(&format!("/v1/jobs/{id}/fail"), held(json!({"error":"broke","retry_in_ms":0}))).await;
    assert_eq!(failed, (200, json!({"status":"queued","already":false})));

    let (_, claims) = api.post("/v1/claim", r#"{"queues":["q"],"worker":"w2","kinds":["k"]}"#).await;
    assert_eq!(claims["jobs"][0]["checkpoint"], json!({"at":7}));
    assert_eq!(claims["jobs"][0]["attempt"], 2);
    let second = claims["jobs"][0]["token"].as_i64().unwrap();
    let (status, stale) = api.post(&format!("/v1/jobs/{id}/complete"), held(json!({}))).await;
    assert_eq!((status, &stale["error"]["reason"]), (409, &json!("finished")));
    let ending = json!({"endings":[{"id":id,"verb":"complete","worker":"w2","token":second,"result":[1]}]}).to_string();
    let (_, done) = api.post("/v1/finish", ending.clone()).await;
    assert_eq!(done["results"][0], json!({"id":id,"status":"completed","already":false}));
    let (_, again) = api.post("/v1/finish", ending).await;
    assert_eq!(again["results"][0], json!({"id":id,"status":"completed","already":true}));

    let shown =
        api.client.get(format!("http://{}/v1/jobs/{id}", api.address)).send().await.unwrap().text().await.unwrap();
    assert!(shown.contains(payload), "{shown}");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&shown["status"], &shown["result"], &shown["backoff"]["factor"]),
        (&json!("completed"), &json!([1]), &json!(3.0))
    );
    assert_eq!(shown["attempts"].as_array().map(Vec::len), Some(2));
    let (_, timeline) = api.get(&format!("/v1/jobs/{id}/timeline")).await;
    let whats: Vec<&str> = timeline["events"].as_array().unwrap().iter().filter_map(|e| e["what"].as_str()).collect();
    assert_eq!(whats, ["enqueued", "claimed", "retried", "claimed", "refused", "completed"]);
    let (_, queue) = api.get("/v1/queues/q").await;
    assert_eq!(queue["counts"], json!({"queued":1,"running":0,"completed":1,"failed":0}));
    assert_eq!(api.get("/v1/jobs?status=completed").await.1["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(api.get("/v1/jobs/0").await.0, 404);
    api.stop().await;
}

#[tokio::test]
async fn memory_gives_the_answers() {
    smoke("memory:").await;
}

#[tokio::test]
async fn sqlite_gives_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    smoke(&format!("sqlite:{}", folder.path().join("tenure.db").display())).await;
    smoke("sqlite::memory:").await;
}

#[tokio::test]
async fn postgres_gives_the_same_answers() {
    let database = tenure_testing::TestDatabase::create().await.unwrap();
    smoke(database.url()).await;
}

#[tokio::test]
async fn s10_a_lost_store_is_503_and_tells_strangers_nothing() {
    let database = tenure_testing::TestDatabase::create().await.unwrap();
    let name = database.name().to_owned();
    let api = Api::on(Tenure::open(database.url()).await.unwrap()).await;
    assert_eq!(api.get("/readyz").await.0, 204);
    drop(database);
    for path in ["/readyz", "/v1/queues"] {
        let response = api.client.get(format!("http://{}{path}", api.address)).send().await.unwrap();
        assert_eq!(response.status(), 503, "{path}");
        assert!(response.headers().contains_key("retry-after"), "{path}");
        let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
        let body = response.text().await.unwrap();
        assert!(body.contains(&id) && !body.contains(&name) && !body.contains("SELECT"), "{body}");
    }
    // Alive, though not ready.
    assert_eq!(api.get("/healthz").await.0, 204);
}
