//! Each route does what it says, in exactly the documented shape.

use crate::{Api, START};
use serde_json::{Value, json};
use tenure::Time;

const T0: &str = "2026-01-01T00:00:00Z";
const T1: &str = "2026-01-01T00:00:01Z";

fn second_later() -> Time {
    START.plus_ms(1_000)
}

#[tokio::test]
async fn enqueue_answers_ids_of_one_job_and_of_many() {
    let api = Api::new().await;
    let one = api.post("/v1/queues/q/jobs", r#"{"kind":"k","payload":{}}"#).await;
    assert_eq!(one, (201, json!({"jobs":[{"id":"1","status":"queued","deduplicated":false}]})));
    let many = api.post("/v1/queues/q/jobs", r#"{"jobs":[{"kind":"k"},{"kind":"k","payload":null}]}"#).await;
    assert_eq!(many.0, 201);
    assert_eq!(many.1["jobs"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_claim_hands_out_every_documented_field() {
    let (api, _clock) = Api::with_clock().await;
    let job = json!({"kind":"k","payload":{"n":1},"priority":-3,"attempts_max":7,"timeout_ms":5000,
        "run_at":"2025-12-31T23:00:00-01:00","backoff":{"initial_ms":5},"ordering_key":"user 7","limit_key":"acme"});
    assert_eq!(api.post("/v1/queues/q/jobs", job.to_string()).await.0, 201);
    let claimed = api.post("/v1/queues/q/claim", r#"{"worker":"w1","kinds":["k"],"lease_ms":1000}"#).await;
    let expected = json!({"jobs":[{
        "id":"1","queue":"q","kind":"k","payload":{"n":1},"priority":-3,"attempt":1,"attempts_max":7,"token":1,
        "lease_expires_at":T1,"checkpoint":null,"created_at":T0,"run_at":T0,"timeout_ms":5000,
        "ordering_key":"user 7","limit_key":"acme",
    }],"reason":null});
    assert_eq!(claimed, (200, expected));
}

#[tokio::test]
async fn an_empty_claim_says_why() {
    let api = Api::new().await;
    let empty = api.post("/v1/queues/never-used/claim", r#"{"worker":"w1"}"#).await;
    assert_eq!(empty, (200, json!({"jobs":[],"reason":"empty"})));
}

#[tokio::test]
async fn one_claim_takes_from_several_queues_by_priority() {
    let api = Api::new().await;
    api.post("/v1/queues/a/jobs", r#"{"kind":"k","payload":1}"#).await;
    api.post("/v1/queues/b/jobs", r#"{"kind":"k","payload":2,"priority":1}"#).await;
    let (_, claims) = api.post("/v1/claim", r#"{"queues":["a","b"],"worker":"w1","max":10}"#).await;
    let queues: Vec<&Value> = claims["jobs"].as_array().unwrap().iter().map(|job| &job["queue"]).collect();
    assert_eq!(queues, ["b", "a"]);
}

#[tokio::test]
async fn a_payload_comes_back_byte_for_byte() {
    let api = Api::new().await;
    let payload = r#"{ "b" : 1.50e+2,  "a":"\u00e9\/", "c":123456789012345678901234567890 }"#;
    api.post("/v1/queues/q/jobs", format!(r#"{{"kind":"k","payload":{payload}}}"#)).await;
    let url = format!("http://{}/v1/jobs/1", api.address);
    let shown = api.client.get(url).send().await.unwrap().text().await.unwrap();
    assert!(shown.contains(payload), "{shown}");
    let url = format!("http://{}/v1/queues/q/claim", api.address);
    let claim = api.client.post(url).header("content-type", "application/json").body(r#"{"worker":"w"}"#);
    let claimed = claim.send().await.unwrap().text().await.unwrap();
    assert!(claimed.contains(payload), "{claimed}");
}

#[tokio::test]
async fn a_heartbeat_renews_and_carries_progress_and_a_checkpoint() {
    let (api, clock) = Api::with_clock().await;
    let (id, token) = api.claimed().await;
    clock.set(second_later());
    let body = json!({"worker":"w1","token":token,"progress":{"done":1},"checkpoint":[7]});
    let beaten = api.post(&format!("/v1/jobs/{id}/heartbeat"), body.to_string()).await;
    assert_eq!(beaten, (200, json!({"lease_expires_at":"2026-01-01T00:00:31Z","cancel_requested":false})));
    let (_, job) = api.get(&format!("/v1/jobs/{id}")).await;
    assert_eq!((&job["progress"], &job["checkpoint"]), (&json!({"done":1}), &json!([7])));
    assert_eq!((&job["attempts"][0]["beats"], &job["attempts"][0]["last_beat_at"]), (&json!(1), &json!(T1)));
    api.post(&format!("/v1/jobs/{id}/release"), json!({"worker":"w1","token":token}).to_string()).await;
    let (_, next) = api.post("/v1/queues/q/claim", r#"{"worker":"w2"}"#).await;
    assert_eq!(next["jobs"][0]["checkpoint"], json!([7]));
}

#[tokio::test]
async fn a_completed_job_shows_all_fields() {
    let (api, clock) = Api::with_clock().await;
    let (id, token) = api.claimed().await;
    clock.set(second_later());
    let body = json!({"worker":"w1","token":token,"result":{"ok":true}}).to_string();
    let done = api.post(&format!("/v1/jobs/{id}/complete"), body.clone()).await;
    assert_eq!(done, (200, json!({"status":"completed","already":false})));
    let again = api.post(&format!("/v1/jobs/{id}/complete"), body).await;
    assert_eq!(again, (200, json!({"status":"completed","already":true})));
    let expected = json!({
        "id":"1","queue":"q","kind":"k","status":"completed","reason":null,"payload":{"n":1},"priority":0,"attempt":1,
        "attempts_max":5,"created_at":T0,"run_at":T0,"started_at":T0,"updated_at":T1,"finished_at":T1,
        "timeout_ms":null,"backoff":null,"ordering_key":null,"limit_key":null,"cancel_requested":false,"worker":null,"token":1,"lease_expires_at":null,"error":null,
        "result":{"ok":true},"progress":null,"checkpoint":null,
        "attempts":[{"token":1,"worker":"w1","claimed_at":T0,"ended_at":T1,"outcome":"completed","error":null,
            "beats":0,"last_beat_at":null,"longest_gap_ms":0}],
    });
    assert_eq!(api.get("/v1/jobs/1").await, (200, expected));
}

#[tokio::test]
async fn a_running_job_names_its_holder() {
    let (api, _clock) = Api::with_clock().await;
    let (id, token) = api.claimed().await;
    let (_, job) = api.get(&format!("/v1/jobs/{id}")).await;
    assert_eq!((&job["worker"], &job["token"]), (&json!("w1"), &json!(token)));
    assert_eq!((&job["status"], &job["lease_expires_at"]), (&json!("running"), &json!("2026-01-01T00:00:30Z")));
    assert_eq!((&job["attempts"][0]["outcome"], &job["attempts"][0]["ended_at"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn fail_retries_by_policy_exactly_or_never() {
    let (api, _clock) = Api::with_clock().await;
    for (more, status, run_at) in [
        (json!({"retry_in_ms":1000}), "queued", Some(T1)),
        (json!({"retry":true,"retry_in_ms":0}), "queued", Some(T0)),
        (json!({"retry":null}), "queued", None),
        (json!({"retry":false}), "failed", None),
    ] {
        let (id, token) = api.claimed().await;
        let mut body = json!({"worker":"w1","token":token,"error":"broke"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let failed = api.post(&format!("/v1/jobs/{id}/fail"), body.to_string()).await;
        assert_eq!(failed, (200, json!({"status":status,"already":false})), "{more}");
        let (_, job) = api.get(&format!("/v1/jobs/{id}")).await;
        assert_eq!(job["error"], "broke");
        if let Some(run_at) = run_at {
            assert_eq!(job["run_at"], run_at, "{more}");
            // Out of the way of the next round.
            let (_, claims) = api.post("/v1/queues/q/claim", r#"{"worker":"w1"}"#).await;
            if let Some(token) = claims["jobs"][0]["token"].as_i64() {
                let done = json!({"worker":"w1","token":token}).to_string();
                api.post(&format!("/v1/jobs/{id}/complete"), done).await;
            }
        }
        assert_eq!(job["reason"], if status == "failed" { json!("failed") } else { Value::Null });
    }
}

#[tokio::test]
async fn snooze_and_release_put_the_job_back() {
    let (api, _clock) = Api::with_clock().await;
    let (id, token) = api.claimed().await;
    let body = json!({"worker":"w1","token":token,"delay_ms":1000}).to_string();
    let snoozed = api.post(&format!("/v1/jobs/{id}/snooze"), body).await;
    assert_eq!(snoozed, (200, json!({"status":"queued","already":false})));
    let (_, job) = api.get(&format!("/v1/jobs/{id}")).await;
    assert_eq!((&job["run_at"], &job["attempt"]), (&json!(T1), &json!(0)));
    let (id, token) = api.claimed().await;
    let released = api.post(&format!("/v1/jobs/{id}/release"), json!({"worker":"w1","token":token}).to_string()).await;
    assert_eq!(released, (200, json!({"status":"queued","already":false})));
}

#[tokio::test]
async fn many_endings_are_each_answered_on_their_own() {
    let api = Api::new().await;
    let (first, token) = api.claimed().await;
    let (second, other) = api.claimed().await;
    let body = json!({"endings":[
        {"id":first,"verb":"complete","worker":"w1","token":token,"result":1},
        {"id":second,"verb":"fail","worker":"someone-else","token":other,"error":"no"},
        {"id":"not ours","verb":"release","worker":"w1","token":1},
        {"id":second,"verb":"snooze","worker":"w1","token":other,"delay_ms":5},
    ]});
    let (status, answer) = api.post("/v1/finish", body.to_string()).await;
    assert_eq!(status, 200);
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results[0], json!({"id":first,"status":"completed","already":false}));
    assert_eq!((&results[1]["id"], &results[1]["error"]["code"]), (&json!(second), &json!("lease_lost")));
    assert_eq!((&results[2]["id"], &results[2]["error"]["reason"]), (&json!("not ours"), &json!("unknown")));
    assert!(results[2]["error"]["message"].is_string());
    assert_eq!(results[3], json!({"id":second,"status":"queued","already":false}));
}

#[tokio::test]
async fn many_heartbeats_are_each_answered_on_their_own() {
    let (api, _clock) = Api::with_clock().await;
    let (id, token) = api.claimed().await;
    let body = json!({"heartbeats":[
        {"id":id,"worker":"w1","token":token,"progress":"half"},
        {"id":"999","worker":"w1","token":token},
    ]});
    let (status, answer) = api.post("/v1/heartbeats", body.to_string()).await;
    assert_eq!(status, 200);
    let renewed = json!({"id":id,"lease_expires_at":"2026-01-01T00:00:30Z","cancel_requested":false});
    assert_eq!(answer["results"][0], renewed);
    assert_eq!(answer["results"][1]["error"]["reason"], "unknown");
}

#[tokio::test]
async fn a_lost_lease_is_a_conflict_with_its_reason() {
    let (api, clock) = Api::with_clock().await;
    let (id, token) = api.claimed().await;
    let complete = |worker: &str, token: i64| json!({"worker":worker,"token":token}).to_string();
    let lost = |answer: (u16, Value), reason: &str| {
        assert_eq!((answer.0, &answer.1["error"]["code"]), (409, &json!("lease_lost")));
        assert_eq!(answer.1["error"]["reason"], reason);
        assert!(answer.1["error"]["message"].is_string());
    };
    let path = format!("/v1/jobs/{id}/complete");
    lost(api.post(&path, complete("w2", token)).await, "unknown");
    lost(api.post(&path, complete("w1", token + 1)).await, "unknown");
    lost(api.post("/v1/jobs/999/complete", complete("w1", token)).await, "unknown");
    lost(api.post("/v1/jobs/%00%F0%9F%98%80/complete", complete("w1", token)).await, "unknown");
    clock.set(START.plus_ms(30_000));
    lost(api.post(&path, complete("w1", token)).await, "expired");
    api.post("/v1/queues/q/claim", r#"{"worker":"w2"}"#).await;
    lost(api.post(&path, complete("w1", token)).await, "superseded");
    let (_, timeline) = api.get(&format!("/v1/jobs/{id}/timeline")).await;
    let whats: Vec<&Value> = timeline["events"].as_array().unwrap().iter().map(|event| &event["what"]).collect();
    assert!(whats.contains(&&json!("refused")) && whats.contains(&&json!("expired")), "{whats:?}");
}

#[tokio::test]
async fn a_timeline_tells_what_happened() {
    let (api, _clock) = Api::with_clock().await;
    let (id, token) = api.claimed().await;
    let (status, timeline) = api.get(&format!("/v1/jobs/{id}/timeline")).await;
    assert_eq!(status, 200);
    let claimed = format!("w1 claimed it under token {token}");
    let expected = json!({"events":[
        {"at":T0,"first_at":null,"what":"enqueued","token":null,"owner":null,"by":null,"count":1,"message":"entered the queue"},
        {"at":T0,"first_at":null,"what":"claimed","token":token,"owner":"w1","by":null,"count":1,"message":claimed},
    ]});
    assert_eq!(timeline, expected);
}

#[tokio::test]
async fn jobs_are_listed_newest_first_in_pages_without_payloads() {
    let api = Api::new().await;
    api.post("/v1/queues/q/jobs", r#"{"jobs":[{"kind":"a"},{"kind":"b"},{"kind":"a"}]}"#).await;
    let (status, page) = api.get("/v1/jobs?queue=q&status=queued&kind=a&limit=1").await;
    assert_eq!((status, page["jobs"][0]["id"].as_str()), (200, Some("3")));
    let job = page["jobs"][0].as_object().unwrap();
    assert!(!job.contains_key("payload") && !job.contains_key("attempts"), "{job:?}");
    let cursor = page["next_cursor"].as_str().unwrap();
    let (_, page) = api.get(&format!("/v1/jobs?queue=q&kind=a&limit=1&cursor={cursor}")).await;
    assert_eq!((page["jobs"][0]["id"].as_str(), &page["next_cursor"]), (Some("1"), &Value::Null));
}

#[tokio::test]
async fn a_queue_counts_what_it_holds() {
    let (api, _clock) = Api::with_clock().await;
    api.claimed().await;
    api.post("/v1/queues/q/jobs", r#"{"kind":"k"}"#).await;
    let queue = json!({"name":"q","paused":false,"max_running":null,"max_running_per_key":null,
        "lane_on_failure":"continue","retention_ms":604_800_000,"rate_limit":null,"rate_limit_per_key":null,"counts":{"queued":1,"running":1,"completed":0,"failed":0},"counts_capped":[],
        "oldest_queued_at":T0,"created_at":T0});
    assert_eq!(api.get("/v1/queues/q").await, (200, queue.clone()));
    assert_eq!(api.get("/v1/queues").await, (200, json!({"queues":[queue],"next_cursor":null})));
}

#[tokio::test]
async fn queues_are_listed_in_pages() {
    let api = Api::new().await;
    for queue in ["b", "a", "c"] {
        api.post(&format!("/v1/queues/{queue}/jobs"), r#"{"kind":"k"}"#).await;
    }
    let (_, page) = api.get("/v1/queues?limit=2").await;
    assert_eq!((&page["queues"][0]["name"], &page["queues"][1]["name"]), (&json!("a"), &json!("b")));
    let cursor = page["next_cursor"].as_str().unwrap();
    let (_, page) = api.get(&format!("/v1/queues?limit=2&cursor={cursor}")).await;
    assert_eq!((&page["queues"][0]["name"], &page["next_cursor"]), (&json!("c"), &Value::Null));
}

#[tokio::test]
async fn workers_are_listed_in_pages_with_what_they_hold() {
    let (api, clock) = Api::with_clock().await;
    api.post("/v1/queues/q/jobs", r#"{"jobs":[{"kind":"k"},{"kind":"k"}]}"#).await;
    api.post("/v1/queues/q/claim", r#"{"worker":"b","max":2,"lease_ms":600000}"#).await;
    api.put("/v1/queues/r", "{}").await;
    clock.set(START.plus_ms(90_000));
    api.post("/v1/claim", r#"{"worker":"a","queues":["q","r"],"kinds":["y","x"]}"#).await;
    let (status, page) = api.get("/v1/workers?limit=1").await;
    let looked = |queue: &str| json!({"queue":queue,"kinds":["x","y"],"kinds_capped":false,"last_seen_at":"2026-01-01T00:01:30Z"});
    let worker = json!({
        "name":"a","running":0,"running_capped":false,"first_seen_at":"2026-01-01T00:01:30Z",
        "last_seen_at":"2026-01-01T00:01:30Z","queues":[looked("q"),looked("r")],"queues_capped":false
    });
    assert_eq!((status, page), (200, json!({"workers":[worker],"next_cursor":"a"})));
    let (_, page) = api.get("/v1/workers?cursor=a").await;
    assert_eq!((&page["workers"][0]["name"], &page["workers"][0]["running"]), (&json!("b"), &json!(2)));
    assert_eq!((&page["workers"][0]["queues"][0]["kinds"], &page["next_cursor"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn what_is_not_on_record_is_not_found() {
    let api = Api::new().await;
    for path in [
        "/v1/jobs/1",
        "/v1/jobs/007",
        "/v1/jobs/x'--",
        "/v1/jobs/1/timeline",
        "/v1/jobs/1/explain",
        "/v1/queues/none",
        "/v1/queues/none/timeline",
        "/v1/schedules/none/timeline",
        "/v1/pipelines/none/timeline",
        "/v1/nothing",
        "/x",
    ] {
        let (status, body) = api.get(path).await;
        assert_eq!((status, &body["error"]["code"]), (404, &json!("not_found")), "{path}");
    }
}

#[tokio::test]
async fn the_service_answers_for_itself() {
    let api = Api::new().await;
    assert_eq!(api.get("/healthz").await, (204, Value::Null));
    assert_eq!(api.get("/readyz").await, (204, Value::Null));
    let (status, home) = api.get("/").await;
    assert!(status == 200 && home.as_str().unwrap().contains("/v1"));
}

#[tokio::test]
async fn the_openapi_document_names_exactly_the_routes() {
    let api = Api::new().await;
    let (status, document) = api.get("/v1/openapi.json").await;
    assert_eq!(status, 200);
    let mut routes: Vec<String> = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        routes.extend(methods.as_object().unwrap().keys().map(|method| format!("{method} {path}")));
    }
    routes.sort();
    let expected = [
        "delete /v1/schedules/{name}",
        "get /",
        "get /healthz",
        "get /readyz",
        "get /v1/domains",
        "get /v1/domains/{domain}",
        "get /v1/domains/{domain}/timeline",
        "get /v1/jobs",
        "get /v1/jobs/{id}",
        "get /v1/jobs/{id}/explain",
        "get /v1/jobs/{id}/timeline",
        "get /v1/limits",
        "get /v1/limits/timeline",
        "get /v1/openapi.json",
        "get /v1/queues",
        "get /v1/queues/{queue}",
        "get /v1/queues/{queue}/timeline",
        "get /v1/schedules",
        "get /v1/schedules/{name}",
        "get /v1/schedules/{name}/firings",
        "get /v1/schedules/{name}/next",
        "get /v1/schedules/{name}/timeline",
        "get /v1/syncs",
        "get /v1/syncs/{id}",
        "get /v1/syncs/{id}/timeline",
        "get /v1/workers",
        "post /v1/claim",
        "post /v1/domains/{domain}/acquire",
        "post /v1/domains/{domain}/fail",
        "post /v1/domains/{domain}/heartbeat",
        "post /v1/domains/{domain}/skip",
        "post /v1/domains/{domain}/succeed",
        "post /v1/finish",
        "post /v1/heartbeats",
        "post /v1/jobs/cancel",
        "post /v1/jobs/retry",
        "post /v1/jobs/{id}/cancel",
        "post /v1/jobs/{id}/complete",
        "post /v1/jobs/{id}/fail",
        "post /v1/jobs/{id}/heartbeat",
        "post /v1/jobs/{id}/release",
        "post /v1/jobs/{id}/retry",
        "post /v1/jobs/{id}/snooze",
        "post /v1/queues/{queue}/claim",
        "post /v1/queues/{queue}/jobs",
        "post /v1/schedules/{name}/pause",
        "post /v1/schedules/{name}/resume",
        "post /v1/syncs",
        "post /v1/syncs/claim",
        "post /v1/syncs/{id}/cancel",
        "post /v1/syncs/{id}/chunks",
        "post /v1/syncs/{id}/chunks/claim",
        "post /v1/syncs/{id}/chunks/{chunk_hash}/complete",
        "post /v1/syncs/{id}/chunks/{chunk_hash}/fail",
        "post /v1/syncs/{id}/chunks/{chunk_hash}/heartbeat",
        "post /v1/syncs/{id}/chunks/{chunk_hash}/release",
        "post /v1/syncs/{id}/complete",
        "post /v1/syncs/{id}/fail",
        "post /v1/syncs/{id}/heartbeat",
        "post /v1/syncs/{id}/release",
        "put /v1/domains/{domain}",
        "put /v1/limits",
        "put /v1/queues/{queue}",
        "put /v1/schedules/{name}",
    ];
    let mut expected = expected.to_vec();
    expected.extend(crate::pipelines::ROUTES);
    expected.sort_unstable();
    assert_eq!(routes, expected);
    // A client that is made from the document has one method for each operation.
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let mut ids: Vec<&str> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), expected.len());
    // Every reference leads somewhere.
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
}
