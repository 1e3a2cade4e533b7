//! Schedules over HTTP.

use crate::{Api, START, answer};
use serde_json::{Value, json};
use tenure::Tenure;
use tenure_memory::MemoryStore;
use tenure_store::Clock;

const NIGHTLY: &str = r#"{"cron":"30 2 * * *","zone":"Europe/Berlin","catch_up":"all",
    "job":{"queue":"reports","kind":"nightly","payload":{"b" :1, "a":[]},"priority":3,"attempts_max":2,"timeout_ms":5000,
    "ordering_key":"r","limit_key":"t","backoff":{"initial_ms":7}}}"#;

async fn delete(api: &Api, path: &str) -> (u16, Value) {
    answer(api.client.delete(format!("http://{}{path}", api.address)).send().await.unwrap()).await
}

#[tokio::test]
async fn t4_a_schedule_is_put_shown_listed_and_removed() {
    let (api, _clock) = Api::with_clock().await;
    let (status, put) = api.put("/v1/schedules/nightly", NIGHTLY).await;
    let expected = json!({"name":"nightly","cron":"30 2 * * *","zone":"Europe/Berlin","catch_up":"all","paused":false,
        "job":{"queue":"reports","kind":"nightly","payload":{"b":1,"a":[]},"priority":3,"attempts_max":2,"timeout_ms":5000,
            "ordering_key":"r","limit_key":"t","backoff":{"initial_ms":7,"factor":2.0,"max_ms":3_600_000,"jitter":0.2}},
        "next_at":"2026-01-01T01:30:00Z","last":null,"fired":0,"missed":0,"missed_at":null,
        "created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"});
    assert_eq!((status, &put), (200, &expected));
    assert_eq!(api.get("/v1/schedules/nightly").await, (200, expected.clone()));
    api.put("/v1/schedules/b", r#"{"cron":"@hourly","job":{"queue":"q","kind":"k"}}"#).await;
    let (_, first) = api.get("/v1/schedules?limit=1").await;
    assert_eq!((&first["schedules"][0]["name"], &first["next_cursor"]), (&json!("b"), &json!("b")));
    let (_, second) = api.get("/v1/schedules?limit=1&cursor=b").await;
    assert_eq!(second, json!({"schedules":[expected],"next_cursor":null}));
    assert_eq!(delete(&api, "/v1/schedules/b").await, (204, Value::Null));
    assert_eq!(delete(&api, "/v1/schedules/b").await.0, 404);
    assert_eq!(api.get("/v1/schedules/b").await.0, 404);
}

#[tokio::test]
async fn t1_firings_name_slot_and_job() {
    let clock = Clock::manual(START);
    let tenure = Tenure::on(MemoryStore::with_clock(clock.clone()));
    let api = Api::on(tenure.clone()).await;
    api.put("/v1/schedules/s", r#"{"cron":"@hourly","catch_up":"all","job":{"queue":"q","kind":"k","payload":7}}"#)
        .await;
    clock.set(START.plus_ms(3 * 3_600_000));
    // Whoever is first: this look, or the server's own.
    while tenure.verbs().schedule("s").await.unwrap().unwrap().fired < 3 {
        tenure.verbs().fire_due().await.unwrap();
    }
    let (status, page) = api.get("/v1/schedules/s/firings?limit=2").await;
    assert_eq!(status, 200);
    let firing = |hour: u32| json!({"slot":format!("2026-01-01T0{hour}:00:00Z"),"fired_at":"2026-01-01T03:00:00Z","job":hour.to_string()});
    assert_eq!(page, json!({"firings":[firing(3),firing(2)],"next_cursor":"2026-01-01T02:00:00Z"}));
    let (_, rest) = api.get("/v1/schedules/s/firings?cursor=2026-01-01T02:00:00Z").await;
    assert_eq!(rest, json!({"firings":[firing(1)],"next_cursor":null}));
    let (_, job) = api.get("/v1/jobs/2").await;
    assert_eq!(
        (&job["run_at"], &job["payload"], &job["queue"]),
        (&json!("2026-01-01T02:00:00Z"), &json!(7), &json!("q"))
    );
    assert_eq!(api.get("/v1/schedules/s").await.1["last"], firing(3));
}

#[tokio::test]
async fn t5_the_slots_to_come_are_told_in_the_zone() {
    let (api, _clock) = Api::with_clock().await;
    api.put("/v1/schedules/nightly", NIGHTLY).await;
    let (status, slots) = api.get("/v1/schedules/nightly/next?limit=2").await;
    let slot = |at: &str, local: &str| json!({"at":at,"local":local});
    let expected = [
        slot("2026-01-01T01:30:00Z", "2026-01-01T02:30:00+01:00"),
        slot("2026-01-02T01:30:00Z", "2026-01-02T02:30:00+01:00"),
    ];
    assert_eq!((status, slots), (200, json!({"slots":expected})));
}

#[tokio::test]
async fn t4_pause_and_resume() {
    let (api, _clock) = Api::with_clock().await;
    api.put("/v1/schedules/s", r#"{"cron":"@hourly","job":{"queue":"q","kind":"k"}}"#).await;
    assert_eq!(api.post("/v1/schedules/s/pause", "").await.1["paused"], true);
    // A definition sent again does not end the rest.
    let again = r#"{"cron":"@daily","job":{"queue":"q","kind":"k"}}"#;
    assert_eq!(api.put("/v1/schedules/s", again).await.1["paused"], true);
    let (status, resumed) = api.post("/v1/schedules/s/resume", "{}").await;
    assert_eq!((status, &resumed["paused"], &resumed["cron"]), (200, &json!(false), &json!("@daily")));
    for verb in ["pause", "resume"] {
        assert_eq!(api.post(&format!("/v1/schedules/none/{verb}"), "").await.0, 404);
    }
    for list in ["firings", "next"] {
        assert_eq!(api.get(&format!("/v1/schedules/none/{list}")).await.0, 404);
    }
}

#[tokio::test]
async fn x_a_bad_schedule_is_422_and_named() {
    let api = Api::new().await;
    let job = r#""job":{"queue":"q","kind":"k"}"#;
    for (name, body, code, field) in [
        ("s", format!(r#"{{"cron":"0 25 * * *",{job}}}"#), "out_of_bounds", "cron"),
        ("s", format!(r#"{{"cron":"@dayly",{job}}}"#), "out_of_bounds", "cron"),
        ("s", format!(r#"{{"cron":"",{job}}}"#), "out_of_bounds", "cron"),
        ("s", format!(r#"{{"cron":"{}",{job}}}"#, "1,".repeat(200)), "out_of_bounds", "cron"),
        ("s", format!(r#"{{"cron":"* * * * *\u0000",{job}}}"#), "out_of_bounds", "cron"),
        ("s", format!(r#"{{"cron":"0 0 30 2 *",{job}}}"#), "out_of_bounds", "cron"),
        ("s", format!(r#"{{"cron":7,{job}}}"#), "wrong_type", "cron"),
        ("s", format!(r#"{{"cron":"@daily","zone":"Berlin",{job}}}"#), "out_of_bounds", "zone"),
        ("s", format!(r#"{{"cron":"@daily","catch_up":"some",{job}}}"#), "out_of_bounds", "catch_up"),
        ("s", format!(r#"{{"cron":"@daily","when":1,{job}}}"#), "unknown_field", "when"),
        ("s", r#"{"cron":"@daily"}"#.to_owned(), "missing_field", "job"),
        ("s", r#"{"cron":"@daily","job":{"kind":"k"}}"#.to_owned(), "missing_field", "job.queue"),
        ("s", r#"{"cron":"@daily","job":{"queue":"q","kind":"k","key":"x"}}"#.to_owned(), "unknown_field", "job.key"),
        ("s", r#"{"cron":"@daily","job":{"queue":"a b","kind":"k"}}"#.to_owned(), "invalid_name", "job.queue"),
        ("a%20b", format!(r#"{{"cron":"@daily",{job}}}"#), "invalid_name", "name"),
    ] {
        let (status, refused) = api.put(&format!("/v1/schedules/{name}"), body.clone()).await;
        let error = &refused["error"];
        assert_eq!((status, error["code"].as_str()), (422, Some(code)), "{body}\n{refused}");
        assert_eq!(error["field"], field, "{body}\n{refused}");
    }
    let (_, refused) = api.put("/v1/schedules/s", format!(r#"{{"cron":"@daily","zone":"Europe/Berln",{job}}}"#)).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("did you mean `Europe/Berlin`?"), "{refused}");
    assert_eq!(api.get("/v1/schedules").await.1["schedules"], json!([]));
    assert_eq!(api.get("/v1/schedules?limit=0").await.0, 422);
    assert_eq!(api.get("/v1/schedules/s?limit=1").await.0, 422);
}
