//! Domains over HTTP, in exactly the documented shape.

use crate::Api;
use serde_json::{Value, json};
use tenure::Time;

async fn acquire(api: &Api, domain: &str, body: Value) -> (u16, Value) {
    api.post(&format!("/v1/domains/{domain}/acquire"), body.to_string()).await
}

async fn held(api: &Api, domain: &str, verb: &str, token: &str) -> (u16, Value) {
    api.post(&format!("/v1/domains/{domain}/{verb}"), json!({ "token": token }).to_string()).await
}

/// Acquires an offset, and answers its token.
async fn token(api: &Api, domain: &str, body: Value) -> String {
    let (status, acquired) = acquire(api, domain, body).await;
    assert_eq!((status, &acquired["result"]), (200, &json!("ACQUIRED")), "{acquired}");
    acquired["token"].as_str().unwrap().to_owned()
}

fn code(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["error"]["code"].as_str().unwrap_or("no error"))
}

#[tokio::test]
async fn d1_the_documents_words_are_the_answers() {
    let api = Api::new().await;
    let first = token(&api, "acct-42", json!({ "offset": 1 })).await;
    assert_eq!(first, "1");
    assert_eq!(
        acquire(&api, "acct-42", json!({ "offset": 1 })).await.1,
        json!({ "result": "ALREADY_ACQUIRED", "token": "1" })
    );
    assert_eq!(acquire(&api, "acct-42", json!({ "offset": 2 })).await.1, json!({ "result": "ENQUEUED" }));
    let (status, hint) = held(&api, "acct-42", "succeed", &first).await;
    assert_eq!((status, hint), (200, json!({ "result": "NEXT_HINT", "offset": 2 })));
    let refused = acquire(&api, "acct-42", json!({ "offset": 3 })).await;
    assert_eq!(code(&refused), (409, "backlog_ordering"));
    assert_eq!((&refused.1["error"]["expected"], &refused.1["error"]["got"]), (&json!(2), &json!(3)));
    let second = token(&api, "acct-42", json!({ "offset": 2 })).await;
    for n in 1..=3 {
        let (_, retry) = held(&api, "acct-42", "fail", &second).await;
        assert_eq!(retry, json!({ "result": "RETRY_SCHEDULED", "retry_count": n }));
    }
    assert_eq!(held(&api, "acct-42", "fail", &second).await.1, json!({ "result": "GIVE_UP_NO_BACKLOG" }));
    assert_eq!(acquire(&api, "acct-42", json!({ "offset": 2 })).await.1, json!({ "result": "ALREADY_FAILED" }));
    assert_eq!(acquire(&api, "acct-42", json!({ "offset": 1 })).await.1, json!({ "result": "ALREADY_PROCESSED" }));
}

#[tokio::test]
async fn d1_hard_errors_are_409() {
    let api = Api::new().await;
    assert_eq!(code(&held(&api, "never", "succeed", "1").await), (409, "lease_not_found"));
    let held_token = token(&api, "a", json!({ "offset": 1 })).await;
    for verb in ["succeed", "fail", "heartbeat"] {
        for wrong in ["2", "abc", "", "01", "-1"] {
            assert_eq!(code(&held(&api, "a", verb, wrong).await), (409, "token_mismatch"), "{verb} {wrong:?}");
        }
    }
    assert_eq!(held(&api, "a", "succeed", &held_token).await.0, 200);
    assert_eq!(code(&held(&api, "a", "succeed", &held_token).await), (409, "lease_not_found"));
}

#[tokio::test]
async fn d3_d4_holder_lease_and_takeover() {
    let (api, clock) = Api::with_clock().await;
    let body = json!({ "offset": 7, "holder": "bob", "lease_ms": 1000 });
    let first = token(&api, "a", body.clone()).await;
    assert_eq!(acquire(&api, "a", json!({ "offset": 7 })).await.1, json!({ "result": "HELD_BY_OTHER" }));
    let (_, beaten) = held(&api, "a", "heartbeat", &first).await;
    assert_eq!(beaten, json!({ "lease_expires_at": "2026-01-01T00:00:01Z" }));
    clock.set(Time(crate::START.0 + 1_000_000));
    let lost = held(&api, "a", "succeed", &first).await;
    assert_eq!((code(&lost), &lost.1["error"]["reason"]), ((409, "lease_lost"), &json!("expired")));
    let (_, waits) = acquire(&api, "a", json!({ "offset": 8 })).await;
    assert_eq!(waits, json!({ "result": "ENQUEUED", "expired_offset": 7 }));
    let (_, blocked) = api.get("/v1/domains?state=blocked").await;
    assert_eq!(blocked["domains"][0]["domain"], "a");
    let second = token(&api, "a", json!({ "offset": 7, "holder": "eve" })).await;
    assert!(second.parse::<i64>().unwrap() > first.parse::<i64>().unwrap());
    assert_eq!(code(&held(&api, "a", "fail", &first).await), (409, "token_mismatch"));
    let (_, timeline) = api.get("/v1/domains/a/timeline").await;
    let whats: Vec<&str> = timeline["events"].as_array().unwrap().iter().map(|e| e["what"].as_str().unwrap()).collect();
    assert_eq!(whats, ["expired", "taken_over", "refused", "refused"]);
}

#[tokio::test]
async fn a_domain_shows_everything_but_the_token() {
    let (api, _clock) = Api::with_clock().await;
    token(&api, "a", json!({ "offset": 3, "holder": "bob" })).await;
    acquire(&api, "a", json!({ "offset": 9 })).await;
    let (status, shown) = api.get("/v1/domains/a").await;
    let expected = json!({
        "domain": "a",
        "lease": {
            "offset": 3, "holder": "bob", "acquired_at": "2026-01-01T00:00:00Z", "retry_count": 0, "takeovers": 0,
            "lease_ms": null, "lease_expires_at": null, "expired": false
        },
        "backlog_len": 1, "backlog_head": 9, "backlog_oldest_at": "2026-01-01T00:00:00Z",
        "max_retries": 3, "takeovers_max": null, "created_at": "2026-01-01T00:00:00Z"
    });
    assert_eq!((status, shown), (200, expected));
    assert_eq!(code(&api.get("/v1/domains/never").await), (404, "not_found"));
    assert_eq!(code(&api.get("/v1/domains/never/timeline").await), (404, "not_found"));
}

#[tokio::test]
async fn d7_skip_and_settings() {
    let api = Api::new().await;
    let (_, changed) = api.put("/v1/domains/a", r#"{"max_retries":0,"takeovers_max":2}"#).await;
    assert_eq!((&changed["max_retries"], &changed["takeovers_max"]), (&json!(0), &json!(2)));
    let (_, changed) = api.put("/v1/domains/a", r#"{"takeovers_max":null}"#).await;
    assert_eq!((&changed["max_retries"], &changed["takeovers_max"]), (&json!(0), &json!(null)));
    assert_eq!(api.post("/v1/domains/a/skip", r#"{"offset":4}"#).await.1, json!({ "result": "SKIPPED" }));
    assert_eq!(api.post("/v1/domains/a/skip", r#"{"offset":4}"#).await.1, json!({ "result": "ALREADY_FAILED" }));
    let held_token = token(&api, "a", json!({ "offset": 1 })).await;
    assert_eq!(held(&api, "a", "fail", &held_token).await.1, json!({ "result": "GIVE_UP_NO_BACKLOG" }));
}

#[tokio::test]
async fn x_names_are_percent_encoded_and_lists_are_paged() {
    let api = Api::new().await;
    for name in ["acct%2F42", "%D0%BA%D0%BB%D1%8E%D1%87", "a%20b"] {
        token(&api, name, json!({ "offset": 0 })).await;
    }
    let (_, first) = api.get("/v1/domains?limit=2").await;
    let names = |page: &Value| -> Vec<String> {
        page["domains"].as_array().unwrap().iter().map(|domain| domain["domain"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&first), ["a b", "acct/42"]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let (_, last) = api.get(&format!("/v1/domains?limit=2&cursor={cursor}")).await;
    assert_eq!((names(&last), &last["next_cursor"]), (vec!["ключ".to_owned()], &json!(null)));
    assert_eq!(api.get("/v1/domains/acct%2F42").await.1["domain"], "acct/42");
}

#[tokio::test]
async fn x_bad_input_is_refused_by_name() {
    let api = Api::new().await;
    for (path, body, status, expected) in [
        ("/v1/domains/a/acquire", r#"{}"#, 422, "missing_field"),
        ("/v1/domains/a/acquire", r#"{"offset":-1}"#, 422, "out_of_bounds"),
        ("/v1/domains/a/acquire", r#"{"offset":9223372036854775808}"#, 422, "out_of_bounds"),
        ("/v1/domains/a/acquire", r#"{"offset":"1"}"#, 422, "wrong_type"),
        ("/v1/domains/a/acquire", r#"{"offset":1,"lease_ms":99}"#, 422, "out_of_bounds"),
        ("/v1/domains/a/acquire", r#"{"offset":1,"holder":"not a name"}"#, 422, "invalid_name"),
        ("/v1/domains/a/acquire", r#"{"offset":1,"hodler":"x"}"#, 422, "unknown_field"),
        ("/v1/domains/a/succeed", r#"{"token":1}"#, 422, "wrong_type"),
        ("/v1/domains/a/skip", r#"{"offset":1.5}"#, 422, "wrong_type"),
        ("/v1/domains//acquire", r#"{"offset":1}"#, 422, "invalid_name"),
        ("/v1/domains/a%0Ab/acquire", r#"{"offset":1}"#, 422, "unsupported_character"),
    ] {
        let answer = api.post(path, body).await;
        assert_eq!(code(&answer), (status, expected), "{path} {body}: {}", answer.1);
    }
    for body in [r#"{"max_retries":1001}"#, r#"{"takeovers_max":0}"#, r#"{"max_retries":-1}"#] {
        assert_eq!(code(&api.put("/v1/domains/a", body).await), (422, "out_of_bounds"), "{body}");
    }
    let long = format!("/v1/domains/{}/acquire", "x".repeat(257));
    assert_eq!(code(&api.post(&long, r#"{"offset":1}"#).await), (422, "invalid_name"));
    assert_eq!(code(&api.get("/v1/domains?state=idle").await), (422, "out_of_bounds"));
    assert_eq!(code(&api.get("/v1/domains?cursor=zz").await), (422, "out_of_bounds"));
    assert_eq!(code(&api.get("/v1/domains/a").await), (404, "not_found"), "nothing was made on the way");
}
