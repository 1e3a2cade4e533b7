//! The same answers, whatever the store.

use crate::Api;
use serde_json::{Value, json};
use std::time::Duration;
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
    let (_, workers) = api.get("/v1/workers").await;
    let names = workers["workers"].as_array().unwrap().iter().map(|worker| (&worker["name"], &worker["running"]));
    assert_eq!(names.collect::<Vec<_>>(), [(&json!("w1"), &json!(0)), (&json!("w2"), &json!(0))]);
    operated(&api).await;
    api.stop().await;
}

/// What an operator does, and the same job twice.
async fn operated(api: &Api) {
    let job = r#"{"kind":"k","payload":{"a":1,"b":2},"key":"once","ordering_key":"lane","limit_key":"acme"}"#;
    let (_, first) = api.post("/v1/queues/ops/jobs", job).await;
    let id = first["jobs"][0]["id"].as_str().unwrap();
    let same = r#"{"kind":"k","payload":{"b":2.0,"a":1},"key":"once"}"#;
    let again = api.post("/v1/queues/ops/jobs", same).await;
    assert_eq!(again, (201, json!({"jobs":[{"id":id,"status":"queued","deduplicated":true}]})));
    let other = r#"{"jobs":[{"kind":"k"},{"kind":"k","payload":7,"key":"once"}]}"#;
    let (status, refused) = api.post("/v1/queues/ops/jobs", other).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("dedup_conflict")));
    assert_eq!((&refused["error"]["index"], &refused["error"]["id"]), (&json!(1), &json!(id)));
    let (_, shown) = api.get(&format!("/v1/jobs/{id}")).await;
    assert_eq!((&shown["ordering_key"], &shown["limit_key"]), (&json!("lane"), &json!("acme")));

    let set = r#"{"paused":true,"max_running":1,"max_running_per_key":1,"lane_on_failure":"block","retention_ms":60000,
        "rate_limit":{"max":5,"period_ms":1000},"rate_limit_per_key":{"max":5,"period_ms":1000}}"#;
    let (status, queue) = api.put("/v1/queues/ops", set).await;
    assert_eq!((status, &queue["max_running"], &queue["rate_limit"]["max"]), (200, &json!(1), &json!(5)), "{queue}");
    assert_eq!(api.get("/v1/queues/ops").await, (200, queue));
    let claim = async |worker: &str| api.post("/v1/queues/ops/claim", json!({"worker":worker}).to_string()).await.1;
    assert_eq!(claim("w1").await["reason"], "paused");
    assert_eq!(api.get(&format!("/v1/jobs/{id}/explain")).await.1["reasons"][0]["code"], "paused");
    let unset =
        r#"{"paused":false,"rate_limit":null,"rate_limit_per_key":null,"lane_on_failure":null,"retention_ms":null}"#;
    let (_, queue) = api.put("/v1/queues/ops", unset).await;
    assert_eq!(
        (&queue["paused"], &queue["rate_limit"], &queue["max_running"]),
        (&json!(false), &Value::Null, &json!(1))
    );
    assert_eq!((&queue["retention_ms"], &queue["lane_on_failure"]), (&json!(604_800_000), &json!("continue")));
    let claimed = claim("w1").await["jobs"][0].clone();
    assert_eq!((&claimed["ordering_key"], &claimed["limit_key"]), (&json!("lane"), &json!("acme")));
    let token = claimed["token"].as_i64().unwrap();
    assert_eq!(claim("w2").await["reason"], "at_capacity");

    let held = json!({"worker":"w1","token":token}).to_string();
    let asked = api.post(&format!("/v1/jobs/{id}/cancel"), r#"{"reason":"enough"}"#).await;
    assert_eq!(asked, (200, json!({"status":"running","cancel_requested":true})));
    assert_eq!(api.post(&format!("/v1/jobs/{id}/heartbeat"), held.clone()).await.1["cancel_requested"], true);
    assert_eq!(api.post(&format!("/v1/jobs/{id}/release"), held).await.1["status"], "failed");
    let refused = api.post(&format!("/v1/jobs/{id}/cancel"), "{}").await;
    assert_eq!((refused.0, &refused.1["error"]["code"]), (409, &json!("terminal")));
    assert_eq!(api.post(&format!("/v1/jobs/{id}/retry"), "{}").await, (200, json!({"status":"queued"})));
    let refused = api.post(&format!("/v1/jobs/{id}/retry"), "{}").await;
    assert_eq!((refused.0, &refused.1["error"]["code"]), (409, &json!("not_terminal")));
    let did = (200, json!({"done":1,"passed_over":0,"next_cursor":null}));
    assert_eq!(api.post("/v1/jobs/cancel", r#"{"filter":{"queue":"ops"}}"#).await, did);
    assert_eq!(api.post("/v1/jobs/retry", r#"{"filter":{"queue":"ops"}}"#).await, did);

    assert_eq!(api.put("/v1/limits", r#"{"max_running":1}"#).await, (200, json!({"max_running":1})));
    assert_eq!(claim("w1").await["jobs"][0]["attempt"], 1);
    assert_eq!(api.post("/v1/queues/q/claim", r#"{"worker":"w1"}"#).await.1["reason"], "at_capacity");
    assert_eq!(api.put("/v1/limits", r#"{"max_running":null}"#).await, (200, json!({"max_running":null})));
    assert_eq!(api.get("/v1/limits").await, (200, json!({"max_running":null})));
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
    // What was found out is believed for a second.
    while api.get("/readyz").await.0 == 204 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
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

/// A server on a file of its own.
async fn on_file(dir: &tempfile::TempDir) -> (Api, std::path::PathBuf) {
    let path = dir.path().join("tenure.db");
    (Api::on(Tenure::open(&format!("sqlite:{}", path.display())).await.unwrap()).await, path)
}

/// A server without its file says so, for reads and writes alike, and is not ready; the process itself is well.
#[cfg(unix)]
#[tokio::test]
async fn c17_a_server_whose_file_is_gone_is_not_ready_and_answers_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (api, path) = on_file(&dir).await;
    let (id, token) = api.claimed().await;
    std::fs::remove_file(&path).unwrap();
    let held = format!(r#"{{"worker":"w1","token":{token}}}"#);
    let answers = [
        api.get("/readyz").await,
        api.post("/v1/queues/q/jobs", r#"{"kind":"k"}"#).await,
        api.post(&format!("/v1/jobs/{id}/heartbeat"), held).await,
        api.get(&format!("/v1/jobs/{id}")).await,
        api.get("/v1/jobs").await,
        api.get("/v1/queues").await,
    ];
    for (status, body) in answers {
        assert_eq!((status, &body["error"]["code"]), (503, &json!("unavailable")), "{body}");
        // Where it lies is for the log alone.
        assert!(!body.to_string().contains("tenure.db"), "{body}");
    }
    assert_eq!(api.get("/healthz").await.0, 204);
}

/// Asking makes nothing in the place of a file that was moved away: put back, it goes on.
#[cfg(unix)]
#[tokio::test]
async fn x_a_server_whose_file_was_moved_away_makes_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let (api, path) = on_file(&dir).await;
    let (id, _) = api.claimed().await;
    let aside = tempfile::tempdir().unwrap();
    let files = || std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    let all = files();
    assert!(all.contains(&"tenure.db".into()), "serving made it");
    all.iter().for_each(|name| std::fs::rename(dir.path().join(name), aside.path().join(name)).unwrap());
    for path in ["/v1/queues", "/v1/queues/q", "/v1/jobs", &format!("/v1/jobs/{id}"), "/v1/workers"] {
        let (status, body) = api.get(path).await;
        assert_eq!((status, &body["error"]["code"]), (503, &json!("unavailable")), "{path}: {body}");
    }
    assert_eq!(files(), [""; 0]);
    all.iter().for_each(|name| std::fs::rename(aside.path().join(name), dir.path().join(name)).unwrap());
    assert_eq!(api.get(&format!("/v1/jobs/{id}")).await.0, 200);
    assert!(path.exists());
}

/// A handle that was not to make a store is told so in the words of HTTP too, without where it was looked for.
#[test]
fn x_an_absent_store_has_a_code_of_its_own() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let opening = Tenure::open("sqlite:/nowhere/tenure.db").create(false);
    let problem = tenure_wire::Problem::from(runtime.block_on(opening.into_future()).unwrap_err());
    assert_eq!((problem.kind, problem.code), (tenure_wire::Kind::NoStore, "store_absent"));
    assert!(!problem.message.contains("nowhere") && problem.detail.unwrap().contains("/nowhere/tenure.db"));
}

/// Whoever asks for work that nobody knows of leaves nothing behind; and of many kinds a bounded part.
#[tokio::test]
async fn i19_claims_of_many_queues_and_kinds_leave_the_store_small() {
    let dir = tempfile::tempdir().unwrap();
    let (api, path) = on_file(&dir).await;
    let bytes = || -> u64 {
        let size = |side: &str| std::fs::metadata(format!("{}{side}", path.display())).map_or(0, |found| found.len());
        size("") + size("-wal")
    };
    let queues: Vec<String> = (0..100).map(|n| format!("unheard-of.{n:0>100}")).collect();
    let kinds: Vec<String> = (0..1_000).map(|n| format!("kind.{n:0>120}")).collect();
    let claim = json!({"queues": queues, "kinds": kinds, "worker": "w", "max": 10}).to_string();
    let before = bytes();
    for _ in 0..3 {
        assert_eq!(api.post("/v1/claim", claim.clone()).await, (200, json!({"jobs": [], "reason": "empty"})));
    }
    assert!(bytes() - before < 1 << 20, "three empty claims took {} bytes", bytes() - before);
    assert_eq!(api.get("/v1/workers").await.1["workers"], json!([]));
    // In queues that there are it is a row for each, of a hundred kinds.
    for queue in &queues[..10] {
        api.put(&format!("/v1/queues/{queue}"), "{}").await;
    }
    let before = bytes();
    for _ in 0..3 {
        assert_eq!(api.post("/v1/claim", claim.clone()).await.0, 200);
    }
    assert!(bytes() - before < 4 << 20, "three empty claims took {} bytes", bytes() - before);
    let (_, workers) = api.get("/v1/workers").await;
    assert_eq!(workers["workers"][0]["queues"].as_array().map(Vec::len), Some(10), "{workers}");
}

/// What a claim answers is bounded in bytes, whatever number is asked for.
#[tokio::test]
async fn q2_a_claim_over_http_takes_what_fits_into_16_mib() {
    let api = Api::new().await;
    let payload = "x".repeat((1 << 20) - 2);
    for _ in 0..18 {
        api.post("/v1/queues/q/jobs", json!({"kind": "k", "payload": payload}).to_string()).await;
    }
    let claim = r#"{"worker":"w","max":1000}"#;
    let counted = async || api.post("/v1/queues/q/claim", claim).await.1["jobs"].as_array().map(Vec::len);
    assert_eq!((counted().await, counted().await), (Some(16), Some(2)));
}
