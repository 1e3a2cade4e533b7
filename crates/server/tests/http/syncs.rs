//! Syncs over HTTP, on every store.

use crate::Api;
use serde_json::{Value, json};
use tenure::Tenure;
use tenure_testing::TestDatabase;

/// A sync's whole life, a stale write refused, and both matrices' equal hashes apart, on the store at `url`.
async fn smoke(url: &str) {
    let api = Api::on(Tenure::open(url).await.unwrap()).await;
    let plan = r#"{"matrix_id":"orders/7","priority":2,"chunks":[{"chunk_hash":"a/1","payload":{"from":1}},{"chunk_hash":"b"}]}"#;
    let (status, planned) = api.post("/v1/syncs", plan).await;
    assert_eq!((status, &planned["planned"]), (201, &json!(2)), "{planned}");
    let id = planned["id"].as_str().unwrap();
    let (status, unfinished) = api.post("/v1/syncs", plan).await;
    assert_eq!((status, &unfinished["error"]["code"]), (409, &json!("sync_unfinished")));
    assert_eq!(unfinished["error"]["id"], id);
    let (_, other) = api.post("/v1/syncs", r#"{"matrix_id":"other","chunks":[{"chunk_hash":"b"}]}"#).await;
    let other = other["id"].as_str().unwrap();
    let added =
        api.post(&format!("/v1/syncs/{id}/chunks"), r#"{"chunks":[{"chunk_hash":"b"},{"chunk_hash":"c"}]}"#).await;
    assert_eq!(added, (200, json!({"id":id,"planned":3,"added":1,"skipped":0})));

    let (_, claimed) = api.post("/v1/syncs/claim", r#"{"worker":"w1"}"#).await;
    assert_eq!(claimed["job"]["id"], id, "{claimed}");
    let sync_token = claimed["job"]["token"].as_i64().unwrap();
    let held = |token: i64, more: Value| {
        let mut body = json!({"worker":"w1","token":token});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body.to_string()
    };
    let (status, _) = api.post(&format!("/v1/syncs/{id}/heartbeat"), held(sync_token, json!({}))).await;
    assert_eq!(status, 200);
    let (_, chunk) = api.post(&format!("/v1/syncs/{id}/chunks/claim"), r#"{"worker":"w1"}"#).await;
    assert_eq!((&chunk["chunk"]["chunk_hash"], &chunk["chunk"]["payload"]), (&json!("a/1"), &json!({"from":1})));
    let token = chunk["chunk"]["token"].as_i64().unwrap();
    // The hash is percent-encoded in the path.
    let at = |verb: &str| format!("/v1/syncs/{id}/chunks/a%2F1/{verb}");
    let (status, beaten) = api.post(&at("heartbeat"), held(token, json!({}))).await;
    assert!(status == 200 && beaten["lease_expires_at"].is_string(), "{beaten}");
    let complete = held(token, json!({"row_count":41,"cursor":{"at":9}}));
    assert_eq!(api.post(&at("complete"), complete.clone()).await, (200, json!({"state":"COMPLETED","already":false})));
    assert_eq!(api.post(&at("complete"), complete).await, (200, json!({"state":"COMPLETED","already":true})));
    let (status, stale) = api.post(&at("fail"), held(token, json!({"error":"late"}))).await;
    assert_eq!((status, &stale["error"]["reason"]), (409, &json!("finished")));

    let (status, incomplete) = api.post(&format!("/v1/syncs/{id}/complete"), held(sync_token, json!({}))).await;
    assert_eq!((status, &incomplete["error"]["code"]), (409, &json!("sync_incomplete")));
    assert_eq!((&incomplete["error"]["left"], &incomplete["error"]["failed"]), (&json!(2), &json!(0)));
    let (_, b) = api.post(&format!("/v1/syncs/{id}/chunks/claim"), r#"{"worker":"w1","chunk_hash":"b"}"#).await;
    let token = b["chunk"]["token"].as_i64().unwrap();
    let (status, wrong) = api.post(&format!("/v1/syncs/{other}/chunks/b/complete"), held(token, json!({}))).await;
    assert_eq!((status, &wrong["error"]["reason"]), (409, &json!("unknown")), "another matrix");
    let b = |verb: &str| format!("/v1/syncs/{id}/chunks/b/{verb}");
    assert_eq!(api.post(&b("fail"), held(token, json!({"error":"broke"}))).await.1["state"], "AVAILABLE");
    for (hash, verb) in [("b", "release"), ("b", "complete"), ("c", "complete")] {
        let (_, claimed) =
            api.post(&format!("/v1/syncs/{id}/chunks/claim"), r#"{"worker":"w1","lease_ms":60000}"#).await;
        assert_eq!(claimed["chunk"]["chunk_hash"], hash);
        let token = claimed["chunk"]["token"].as_i64().unwrap();
        assert_eq!(api.post(&format!("/v1/syncs/{id}/chunks/{hash}/{verb}"), held(token, json!({}))).await.0, 200);
    }
    let (_, none) = api.post(&format!("/v1/syncs/{id}/chunks/claim"), r#"{"worker":"w1"}"#).await;
    assert_eq!((&none["chunk"], &none["reason"]), (&Value::Null, &json!("done")));
    let done = api.post(&format!("/v1/syncs/{id}/complete"), held(sync_token, json!({}))).await;
    assert_eq!(done, (200, json!({"state":"COMPLETED","already":false})));

    let (_, shown) = api.get(&format!("/v1/syncs/{id}?limit=1")).await;
    assert_eq!((&shown["state"], &shown["matrix_id"]), (&json!("COMPLETED"), &json!("orders/7")));
    assert_eq!((&shown["chunks"][0]["row_count"], &shown["chunks"][0]["cursor"]), (&json!(41), &json!({"at":9})));
    assert_eq!((&shown["progress"]["completed"], &shown["next_cursor"]), (&json!(3), &json!("1")));
    let (_, next) = api.get(&format!("/v1/syncs/{id}?cursor=1&state=COMPLETED")).await;
    assert_eq!(next["chunks"].as_array().map(Vec::len), Some(2));
    let (_, page) = api.get("/v1/syncs?limit=1").await;
    assert_eq!((&page["syncs"][0]["id"], &page["next_cursor"]), (&json!(other), &json!(other)));
    let (_, timeline) = api.get(&format!("/v1/syncs/{id}/timeline")).await;
    let whats: Vec<&str> = timeline["events"].as_array().unwrap().iter().filter_map(|e| e["what"].as_str()).collect();
    assert_eq!(whats.iter().filter(|what| **what == "retried").count(), 1, "{whats:?}");

    let (_, b) = api.post(&format!("/v1/syncs/{other}/chunks/claim"), r#"{"worker":"w1"}"#).await;
    let token = b["chunk"]["token"].as_i64().unwrap();
    assert_eq!(api.post(&format!("/v1/syncs/{other}/cancel"), "").await, (200, json!({"state":"FAILED"})));
    let (status, lost) = api.post(&format!("/v1/syncs/{other}/chunks/b/heartbeat"), held(token, json!({}))).await;
    assert_eq!((status, &lost["error"]["reason"]), (409, &json!("cancelled")));
    let (status, terminal) = api.post(&format!("/v1/syncs/{other}/cancel"), r#"{"reason":"again"}"#).await;
    assert_eq!((status, &terminal["error"]["code"]), (409, &json!("terminal")));
    assert_eq!(api.get(&format!("/v1/syncs/{other}")).await.1["error_message"], "cancelled");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s_a_syncs_life_in_memory() {
    smoke("memory:").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s_a_syncs_life_on_sqlite() {
    smoke("sqlite::memory:").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s_a_syncs_life_on_postgres() {
    let database = TestDatabase::create().await.unwrap();
    smoke(database.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s_a_sync_fails_and_is_released_by_its_holder() {
    let api = Api::new().await;
    let (_, planned) = api.post("/v1/syncs", r#"{"matrix_id":"m"}"#).await;
    let id = planned["id"].as_str().unwrap();
    let claim =
        async || api.post("/v1/syncs/claim", r#"{"worker":"w","matrix_id":"m"}"#).await.1["job"]["token"].as_i64();
    let token = claim().await.unwrap();
    let held = |token: i64| json!({"worker":"w","token":token}).to_string();
    assert_eq!(api.post(&format!("/v1/syncs/{id}/release"), held(token)).await.1["state"], "AVAILABLE");
    let token = claim().await.unwrap();
    let fail = json!({"worker":"w","token":token,"error":"the source is gone"}).to_string();
    assert_eq!(api.post(&format!("/v1/syncs/{id}/fail"), fail).await.1["state"], "FAILED");
    assert_eq!(api.get(&format!("/v1/syncs/{id}")).await.1["error_message"], "the source is gone");
    assert_eq!(claim().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn x_bad_input_about_syncs_is_refused_by_name() {
    let api = Api::new().await;
    let (_, planned) = api.post("/v1/syncs", r#"{"matrix_id":"m","chunks":[{"chunk_hash":"a"}]}"#).await;
    let id = planned["id"].as_str().unwrap();
    let chunk = format!("/v1/syncs/{id}/chunks/a/complete");
    let claim = format!("/v1/syncs/{id}/chunks/claim");
    for (path, body, status, code, field) in [
        ("/v1/syncs", r#"{"chunks":[]}"#, 422, "missing_field", "matrix_id"),
        ("/v1/syncs", r#"{"matrix_id":""}"#, 422, "invalid_name", "matrix_id"),
        ("/v1/syncs", r#"{"matrix_id":"m\u0007"}"#, 422, "unsupported_character", "matrix_id"),
        ("/v1/syncs", r#"{"matrix_id":"n","prioriti":1}"#, 422, "unknown_field", "prioriti"),
        ("/v1/syncs", r#"{"matrix_id":"n","attempts_max":0}"#, 422, "out_of_bounds", "attempts_max"),
        ("/v1/syncs", r#"{"matrix_id":"n","crashes_max":1001}"#, 422, "out_of_bounds", "crashes_max"),
        (
            "/v1/syncs",
            r#"{"matrix_id":"n","skip_if_synced_within_ms":-1}"#,
            422,
            "out_of_bounds",
            "skip_if_synced_within_ms",
        ),
        (
            "/v1/syncs",
            r#"{"matrix_id":"n","chunks":[{"chunk_hash":"a"},{"chunk_hash":"a"}]}"#,
            422,
            "out_of_bounds",
            "chunks[1].chunk_hash",
        ),
        (
            "/v1/syncs",
            r#"{"matrix_id":"n","chunks":[{"chunk_hash":"a","payload":"\ud800"}]}"#,
            422,
            "unsupported_character",
            "chunks[0].payload",
        ),
        ("/v1/syncs", r#"{"matrix_id":"n","chunks":["a"]}"#, 422, "wrong_type", "chunks[0]"),
        ("/v1/syncs/claim", r#"{"worker":"w","lease_ms":0}"#, 422, "out_of_bounds", "lease_ms"),
        ("/v1/syncs/claim", r#"{"worker":"no name"}"#, 422, "invalid_name", "worker"),
        (&claim, r#"{"worker":"w","chunk_hash":""}"#, 422, "invalid_name", "chunk_hash"),
        (&chunk, r#"{"worker":"w","token":1,"row_count":-1}"#, 422, "out_of_bounds", "row_count"),
        (&chunk, r#"{"worker":"w","token":1.5}"#, 422, "wrong_type", "token"),
    ] {
        let (answered, refused) = api.post(path, body).await;
        let error = &refused["error"];
        assert_eq!((answered, &error["code"]), (status, &json!(code)), "{body}: {refused}");
        assert!(error["field"].as_str().is_some_and(|at| at.starts_with(field)), "{body}: {refused}");
    }
    let add = format!("/v1/syncs/{id}/chunks");
    assert_eq!(api.post(&add, r#"{"chunks":[]}"#).await.0, 422);
    assert_eq!(api.post("/v1/syncs/77/chunks", r#"{"chunks":[{"chunk_hash":"a"}]}"#).await.0, 404);
    assert_eq!(api.get("/v1/syncs/77").await.0, 404);
    assert_eq!(api.get("/v1/syncs?state=SLEEPING").await.0, 422);
    assert_eq!(api.get(&format!("/v1/syncs/{id}?cursor=x")).await.0, 422);
    let (status, lost) = api.post("/v1/syncs/77/complete", r#"{"worker":"w","token":1}"#).await;
    assert_eq!((status, &lost["error"]["reason"]), (409, &json!("unknown")));
    let (_, none) = api.post("/v1/syncs/77/chunks/claim", r#"{"worker":"w"}"#).await;
    assert_eq!((&none["chunk"], &none["reason"]), (&Value::Null, &json!("unknown")));
}

#[tokio::test(flavor = "multi_thread")]
async fn x_a_hundred_thousand_chunks_are_planned_over_http() {
    let api = Api::new().await;
    let chunks: Vec<Value> = (0..100_000).map(|n| json!({"chunk_hash": format!("{n:064x}")})).collect();
    let (status, planned) = api.post("/v1/syncs", json!({"matrix_id":"m","chunks":chunks}).to_string()).await;
    assert_eq!((status, &planned["planned"]), (201, &json!(100_000)));
}
