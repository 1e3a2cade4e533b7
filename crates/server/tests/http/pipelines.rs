//! Pipelines over HTTP: three calls make a worker of anything.

use crate::Api;
use serde_json::{Value, json};

/// The routes of pipelines and runs.
pub(crate) const ROUTES: &[&str] = &[
    "get /v1/pipelines",
    "get /v1/pipelines/{name}",
    "get /v1/pipelines/{name}/timeline",
    "get /v1/runs",
    "get /v1/runs/{id}",
    "get /v1/runs/{id}/explain",
    "get /v1/runs/{id}/stages/{stage}/segments",
    "get /v1/runs/{id}/timeline",
    "post /v1/pipelines",
    "post /v1/pipelines/{name}/runs",
    "post /v1/pipelines/{name}/stages/{stage}/claim",
    "post /v1/runs/{id}/cancel",
    "post /v1/runs/{id}/pause",
    "post /v1/runs/{id}/resume",
    "post /v1/runs/{id}/retry",
    "post /v1/runs/{id}/stages/{stage}/complete",
    "post /v1/runs/{id}/stages/{stage}/fail",
    "post /v1/runs/{id}/stages/{stage}/heartbeat",
    "post /v1/runs/{id}/stages/{stage}/release",
    "post /v1/runs/{id}/stages/{stage}/segments/{segment}/complete",
    "post /v1/runs/{id}/stages/{stage}/segments/{segment}/fail",
    "post /v1/runs/{id}/stages/{stage}/segments/{segment}/heartbeat",
    "post /v1/runs/{id}/stages/{stage}/segments/{segment}/release",
    "post /v1/runs/{id}/stages/{stage}/split",
];

fn video() -> Value {
    json!({"name": "video", "version": 1, "stages": [
        {"name": "fetch"},
        {"name": "encode", "needs": ["fetch"], "segmented": true, "lease_ms": 60_000, "attempts_max": 2},
        {"name": "publish", "needs": ["encode"]},
    ]})
}

impl Api {
    /// Starts a run of `video`.
    pub(crate) async fn video(&self) -> String {
        assert_eq!(self.post("/v1/pipelines", video().to_string()).await.0, 201);
        let (status, run) = self.post("/v1/pipelines/video/runs", r#"{"input":{"file":"a.mov"}}"#).await;
        assert_eq!(status, 201, "{run}");
        assert_eq!(run["stages"][0]["status"], "NEW");
        run["id"].as_str().unwrap().to_owned()
    }

    /// Waits for the server's own orchestrator.
    pub(crate) async fn unit(&self, stage: &str) -> Value {
        let (status, claims) = self
            .post(&format!("/v1/pipelines/video/stages/{stage}/claim"), r#"{"worker":"w","max":1,"wait_ms":20000}"#)
            .await;
        assert_eq!(status, 200, "{claims}");
        claims["units"][0].clone()
    }

    async fn write(&self, unit: &Value, verb: &str, mut body: Value) -> (u16, Value) {
        let (run, stage) = (unit["run"].as_str().unwrap(), unit["stage"].as_str().unwrap());
        let segment = unit["segment"].as_str().map_or(String::new(), |segment| format!("/segments/{segment}"));
        body["worker"] = json!("w");
        body["token"] = unit["token"].clone();
        self.post(&format!("/v1/runs/{run}/stages/{stage}{segment}/{verb}"), body.to_string()).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_from_its_first_stage_to_its_last() {
    let api = Api::new().await;
    let run = api.video().await;
    let unit = api.unit("fetch").await;
    assert_eq!((&unit["run"], &unit["segment"], &unit["join"]), (&json!(run), &json!(null), &json!(false)));
    assert_eq!(unit["input"], json!({"file": "a.mov"}));
    let (status, beaten) = api.write(&unit, "heartbeat", json!({"progress": 0.5})).await;
    assert_eq!((status, &beaten["cancel_requested"]), (200, &json!(false)));
    let artifact = json!({"path": "1/fetch/v1/_/x", "size": 3, "blake3": "ab".repeat(32)});
    let done = json!({"output": "a.mov", "artifacts": [artifact]});
    assert_eq!(api.write(&unit, "complete", done.clone()).await, (200, json!({"status": "DONE", "already": false})));
    assert_eq!(api.write(&unit, "complete", done).await.1["already"], true);
    let unit = api.unit("encode").await;
    let segments = json!({"segments": [{"name": "s0", "input": 1}, {"name": "s1"}]});
    assert_eq!(api.write(&unit, "split", segments).await.1["status"], "NEW");
    for _ in 0..2 {
        let segment = api.unit("encode").await;
        assert!(segment["segment"].is_string(), "{segment}");
        assert_eq!(api.write(&segment, "complete", json!({"output": segment["input"]})).await.0, 200);
    }
    let (_, page) = api.get(&format!("/v1/runs/{run}/stages/encode/segments?limit=1")).await;
    assert_eq!((page["segments"][0]["output"].clone(), page["next_cursor"].is_string()), (json!(1), true));
    for absent in [format!("/v1/runs/{run}/stages/nowhere/segments"), "/v1/runs/777/stages/encode/segments".into()] {
        assert_eq!(api.get(&absent).await.0, 404, "{absent}");
    }
    assert_eq!(api.get(&format!("/v1/runs/{run}/stages/fetch/segments")).await.1["segments"], json!([]));
    let join = api.unit("encode").await;
    assert_eq!(join["join"], true);
    assert_eq!(api.write(&join, "split", json!({"segments": [{"name": "t"}]})).await.0, 409);
    api.write(&join, "complete", json!({})).await;
    let unit = api.unit("publish").await;
    api.write(&unit, "complete", json!({})).await;
    loop {
        let (status, shown) = api.get(&format!("/v1/runs/{run}")).await;
        assert_eq!(status, 200);
        if shown["status"] == "DONE" {
            assert_eq!(shown["stages"][0]["artifacts"][0]["size"], 3);
            assert_eq!(shown["stages"][1]["segments"]["done"], 2);
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(api.post(&format!("/v1/runs/{run}/cancel"), "").await.1["error"]["code"], "terminal");
    let (status, absent) = api.post(&format!("/v1/runs/{run}/retry"), r#"{"stage":"nowhere"}"#).await;
    assert_eq!((status, &absent["error"]["code"]), (404, &json!("no_such_unit")));
    assert_eq!(api.get("/v1/runs?pipeline=video&status=DONE").await.1["runs"][0]["id"], json!(run));
    let (_, timeline) = api.get(&format!("/v1/runs/{run}/timeline")).await;
    assert_eq!(timeline["events"][0]["what"], "started");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_a_graph_that_cannot_be_run_is_refused_by_name() {
    let api = Api::new().await;
    for (stages, named) in [
        (json!([{"name": "a", "needs": ["b"]}, {"name": "b", "needs": ["a"]}]), "a → b → a"),
        (json!([{"name": "a", "needs": ["zebra"]}]), "zebra"),
        (json!([{"name": "a"}, {"name": "a"}]), "stages[1].name"),
    ] {
        let body = json!({"name": "p", "version": 1, "stages": stages});
        let (status, refused) = api.post("/v1/pipelines", body.to_string()).await;
        assert_eq!(status, 422);
        assert!(refused.to_string().contains(named), "{refused}");
    }
    let typo = json!({"name": "p", "version": 1, "stages": [{"name": "a", "lease": 5}]});
    assert_eq!(api.post("/v1/pipelines", typo.to_string()).await.1["error"]["code"], "unknown_field");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn y_versions_absences_and_lost_leases_are_told() {
    let api = Api::new().await;
    let run = api.video().await;
    assert_eq!(api.post("/v1/pipelines", video().to_string()).await.0, 200);
    let mut other = video();
    other["stages"][0]["priority"] = json!(5);
    assert_eq!(api.post("/v1/pipelines", other.to_string()).await.1["error"]["code"], "version_taken");
    assert_eq!(api.post("/v1/pipelines/radio/runs", "{}").await.0, 404);
    let keyed = |input: u32| json!({"input": input, "key": "night 7"}).to_string();
    let (status, first) = api.post("/v1/pipelines/video/runs", keyed(1)).await;
    assert_eq!((status, &first["key"]), (201, &json!("night 7")));
    assert_eq!(api.post("/v1/pipelines/video/runs", keyed(1)).await.1["id"], first["id"]);
    let (status, refused) = api.post("/v1/pipelines/video/runs", keyed(2)).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("dedup_conflict")));
    assert_eq!(refused["error"]["id"], first["id"]);
    let (_, _) = api.post(&format!("/v1/runs/{}/cancel", first["id"].as_str().unwrap()), "").await;
    for path in ["/v1/pipelines/radio/stages/fetch/claim", "/v1/pipelines/video/stages/zebra/claim"] {
        assert_eq!(api.post(path, r#"{"worker":"w"}"#).await.0, 404);
    }
    for path in ["/v1/runs/999", "/v1/runs/zebra", "/v1/runs/999/timeline", "/v1/runs/999/explain"] {
        assert_eq!(api.get(path).await.0, 404, "{path}");
    }
    let unit = api.unit("fetch").await;
    assert_eq!(api.post(&format!("/v1/runs/{run}/retry"), "").await.1["error"]["code"], "not_terminal");
    assert_eq!(api.post(&format!("/v1/runs/{run}/cancel"), r#"{"reason":"no"}"#).await.1["status"], "ERROR");
    let (status, refused) = api.write(&unit, "complete", json!({})).await;
    assert_eq!((status, &refused["error"]["reason"]), (409, &json!("cancelled")));
    assert_eq!(api.post(&format!("/v1/runs/{run}/retry"), "{}").await.1["status"], "RUNNING");
    let (_, told) = api.get(&format!("/v1/runs/{run}/explain")).await;
    assert!(told.to_string().contains("encode waits for fetch"), "{told}");
    assert_eq!(api.post("/v1/runs/999/stages/a/complete", r#"{"worker":"w","token":1}"#).await.0, 409);
    api.stop().await;
}
