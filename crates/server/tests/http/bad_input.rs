//! Bad input gets a clear refusal, and changes nothing.

use crate::Api;
use serde_json::{Value, json};

const ENQUEUE: &str = "/v1/queues/q/jobs";
const CLAIM: &str = "/v1/queues/q/claim";

/// Sends `body`, and expects `status` and `code`, the facts that belong to it, and a store as it was before.
async fn check(api: &Api, path: &str, body: impl Into<Vec<u8>>, status: u16, code: &str) -> Value {
    let body = body.into();
    let shown: String = String::from_utf8_lossy(&body).chars().take(120).collect();
    let before = state(api).await;
    let (got, answer) = api.post(path, body).await;
    assert_eq!((got, answer["error"]["code"].as_str()), (status, Some(code)), "{path} {shown}\n{answer}");
    let error = &answer["error"];
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{shown}");
    if status == 422 {
        for fact in ["field", "limit", "got"] {
            assert!(error[fact].is_string(), "{fact} of {shown}\n{answer}");
        }
    }
    assert_eq!(state(api).await, before, "{path} {shown} changed something");
    answer
}

/// All that can be seen of the store.
async fn state(api: &Api) -> (Value, Value) {
    (api.get("/v1/jobs?limit=1000").await.1, api.get("/v1/queues").await.1)
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn job(payload: &str) -> String {
    format!(r#"{{"kind":"k","payload":{payload}}}"#)
}

#[tokio::test]
async fn what_cannot_be_read_is_400() {
    let api = Api::new().await;
    let utf16: Vec<u8> = r#"{"kind":"k"}"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "body_empty"),
        (b" \n".to_vec(), "body_empty"),
        (b"{".to_vec(), "json_syntax"),
        (b"{\"kind\":\"k\",}".to_vec(), "json_syntax"),
        (b"{'kind':'k'}".to_vec(), "json_syntax"),
        (b"{\"kind\":\"k\"} x".to_vec(), "json_syntax"),
        (b"{\"kind\":\"k\",\"payload\":NaN}".to_vec(), "json_syntax"),
        (b"{\"kind\":\"k\",\"payload\":01}".to_vec(), "json_syntax"),
        (b"{\"kind\":\"a\tb\"}".to_vec(), "json_syntax"),
        (br#"{"kind":"k","kind":"k"}"#.to_vec(), "json_duplicate_key"),
        (br#"{"kind":"k","\u006bind":"k"}"#.to_vec(), "json_duplicate_key"),
        (br#"{"kind":"k","payload":{"a":{"b":1,"b":2}}}"#.to_vec(), "json_duplicate_key"),
        (br#"{"kind":"k","backoff":{"factor":1,"factor":2}}"#.to_vec(), "json_duplicate_key"),
        (br#"{"jobs":[{"kind":"k","kind":"j"}]}"#.to_vec(), "json_duplicate_key"),
        (job(&nested(65)).into_bytes(), "json_too_deep"),
        (job(&nested(10_000)).into_bytes(), "json_too_deep"),
        (nested(10_000).into_bytes(), "json_too_deep"),
        ("[".repeat(100_000).into_bytes(), "json_too_deep"),
        (b"\xff\xfe".to_vec(), "not_utf8"),
        (b"{\"kind\":\"\xc3\x28\"}".to_vec(), "not_utf8"),
        (b"\xef\xbb\xbf{\"kind\":\"k\"}".to_vec(), "not_utf8"),
        (utf16, "not_utf8"),
    ];
    for (body, code) in cases {
        check(&api, ENQUEUE, body, 400, code).await;
    }
    let answer = check(&api, ENQUEUE, "{\n  \"kind\": tru}", 400, "json_syntax").await;
    assert_eq!((&answer["error"]["line"], &answer["error"]["got"]), (&json!(2), &json!("line 2, column 14")));
}

#[tokio::test]
async fn a_wrong_field_is_422_and_named() {
    let api = Api::new().await;
    let (id, token) = api.claimed().await;
    let beat = format!("/v1/jobs/{id}/heartbeat");
    let fail = format!("/v1/jobs/{id}/fail");
    let snooze = format!("/v1/jobs/{id}/snooze");
    let cancel = format!("/v1/jobs/{id}/cancel");
    let retry = format!("/v1/jobs/{id}/retry");
    let held = format!(r#""worker":"w1","token":{token}"#);
    let with = |more: &str| format!("{{{held},{more}}}");
    let cases: Vec<(&str, String, &str, &str)> = vec![
        (ENQUEUE, "[]".into(), "wrong_type", "body"),
        (ENQUEUE, "\"job\"".into(), "wrong_type", "body"),
        (ENQUEUE, "{}".into(), "missing_field", "kind"),
        (ENQUEUE, r#"{"kind":null}"#.into(), "missing_field", "kind"),
        (ENQUEUE, r#"{"kind":1}"#.into(), "wrong_type", "kind"),
        (ENQUEUE, r#"{"kind":""}"#.into(), "invalid_name", "kind"),
        (ENQUEUE, r#"{"kind":"\ud800"}"#.into(), "unsupported_character", "kind"),
        (ENQUEUE, r#"{"kind":"k","priorty":1}"#.into(), "unknown_field", "priorty"),
        (ENQUEUE, r#"{"kind":"k","__proto__":1}"#.into(), "unknown_field", "__proto__"),
        (ENQUEUE, r#"{"kind":"k","key":""}"#.into(), "invalid_name", "key"),
        (ENQUEUE, r#"{"kind":"k","key":7}"#.into(), "wrong_type", "key"),
        (ENQUEUE, r#"{"kind":"k","key":"a\nb"}"#.into(), "unsupported_character", "key"),
        (ENQUEUE, r#"{"kind":"k","key":"a","key_window_ms":0}"#.into(), "out_of_bounds", "key_window_ms"),
        (ENQUEUE, r#"{"kind":"k","key_window_ms":1}"#.into(), "out_of_bounds", "key_window_ms"),
        (ENQUEUE, format!(r#"{{"kind":"k","ordering_key":"{}"}}"#, "x".repeat(257)), "invalid_name", "ordering_key"),
        (ENQUEUE, r#"{"kind":"k","limit_key":"a\u202eb"}"#.into(), "unsupported_character", "limit_key"),
        (ENQUEUE, r#"{"jobs":[{"kind":"k"},{"kind":"k","limit_key":""}]}"#.into(), "invalid_name", "jobs[1].limit_key"),
        (&cancel, r#"{"resaon":"x"}"#.into(), "unknown_field", "resaon"),
        (&cancel, r#"{"force":"yes"}"#.into(), "wrong_type", "force"),
        (&cancel, "[]".into(), "wrong_type", "body"),
        (&retry, r#"{"reason":"x"}"#.into(), "unknown_field", "reason"),
        ("/v1/jobs/cancel", "{}".into(), "missing_field", "filter"),
        ("/v1/jobs/cancel", r#"{"filter":{}}"#.into(), "out_of_bounds", "filter"),
        ("/v1/jobs/retry", r#"{"filter":{}}"#.into(), "out_of_bounds", "filter"),
        ("/v1/jobs/cancel", r#"{"filter":{"queue":null,"kind":null}}"#.into(), "out_of_bounds", "filter"),
        ("/v1/jobs/cancel", r#"{"filter":{"queue":"a b"}}"#.into(), "invalid_name", "filter.queue"),
        ("/v1/jobs/cancel", r#"{"filter":{"status":"done"}}"#.into(), "out_of_bounds", "filter.status"),
        ("/v1/jobs/cancel", r#"{"filter":{"queu":"q"}}"#.into(), "unknown_field", "filter.queu"),
        ("/v1/jobs/cancel", r#"{"filter":{"queue":"q"},"cursor":"x"}"#.into(), "out_of_bounds", "cursor"),
        ("/v1/jobs/retry", r#"{"filter":{"queue":"q"},"force":true}"#.into(), "unknown_field", "force"),
        (ENQUEUE, r#"{"kind":"k","priority":1.0}"#.into(), "wrong_type", "priority"),
        (ENQUEUE, r#"{"kind":"k","priority":1e3}"#.into(), "wrong_type", "priority"),
        (ENQUEUE, r#"{"kind":"k","priority":"1"}"#.into(), "wrong_type", "priority"),
        (ENQUEUE, r#"{"kind":"k","priority":true}"#.into(), "wrong_type", "priority"),
        (ENQUEUE, r#"{"kind":"k","priority":2147483648}"#.into(), "out_of_bounds", "priority"),
        (ENQUEUE, r#"{"kind":"k","priority":-2147483649}"#.into(), "out_of_bounds", "priority"),
        (ENQUEUE, r#"{"kind":"k","priority":99999999999999999999999}"#.into(), "out_of_bounds", "priority"),
        (ENQUEUE, r#"{"kind":"k","attempts_max":0}"#.into(), "out_of_bounds", "attempts_max"),
        (ENQUEUE, r#"{"kind":"k","attempts_max":-1}"#.into(), "out_of_bounds", "attempts_max"),
        (ENQUEUE, r#"{"kind":"k","attempts_max":1001}"#.into(), "out_of_bounds", "attempts_max"),
        (ENQUEUE, r#"{"kind":"k","timeout_ms":0}"#.into(), "out_of_bounds", "timeout_ms"),
        (ENQUEUE, r#"{"kind":"k","timeout_ms":999999999999999}"#.into(), "out_of_bounds", "timeout_ms"),
        (ENQUEUE, r#"{"kind":"k","run_at":0}"#.into(), "wrong_type", "run_at"),
        (ENQUEUE, r#"{"kind":"k","run_at":"2026-02-30T00:00:00Z"}"#.into(), "invalid_time", "run_at"),
        (ENQUEUE, r#"{"kind":"k","run_at":"0000-00-00"}"#.into(), "invalid_time", "run_at"),
        (ENQUEUE, r#"{"kind":"k","run_at":"2026-01-01T00:00:00"}"#.into(), "invalid_time", "run_at"),
        (ENQUEUE, r#"{"kind":"k","run_at":"0000-01-01T00:00:00Z"}"#.into(), "out_of_bounds", "run_at"),
        (ENQUEUE, r#"{"kind":"k","backoff":[]}"#.into(), "wrong_type", "backoff"),
        (ENQUEUE, r#"{"kind":"k","backoff":{"facter":2}}"#.into(), "unknown_field", "backoff.facter"),
        (ENQUEUE, r#"{"kind":"k","backoff":{"factor":0.5}}"#.into(), "out_of_bounds", "backoff.factor"),
        (ENQUEUE, r#"{"kind":"k","backoff":{"factor":1e999}}"#.into(), "out_of_bounds", "backoff.factor"),
        (ENQUEUE, r#"{"kind":"k","backoff":{"jitter":"0.1"}}"#.into(), "wrong_type", "backoff.jitter"),
        (ENQUEUE, r#"{"jobs":{}}"#.into(), "wrong_type", "jobs"),
        (ENQUEUE, r#"{"jobs":[]}"#.into(), "out_of_bounds", "jobs"),
        (ENQUEUE, r#"{"jobs":[{"kind":"k"}],"kind":"k"}"#.into(), "unknown_field", "kind"),
        (ENQUEUE, r#"{"jobs":[{"kind":"k"},{"kind":"-"}]}"#.into(), "invalid_name", "jobs[1].kind"),
        (ENQUEUE, r#"{"jobs":[{"kind":"k"},7]}"#.into(), "wrong_type", "jobs[1]"),
        (ENQUEUE, r#"{"jobs":[{"kind":"k"},{}]}"#.into(), "missing_field", "jobs[1].kind"),
        (CLAIM, "{}".into(), "missing_field", "worker"),
        (CLAIM, r#"{"worker":"a b"}"#.into(), "invalid_name", "worker"),
        (CLAIM, r#"{"worker":"w","max":0}"#.into(), "out_of_bounds", "max"),
        (CLAIM, r#"{"worker":"w","max":1001}"#.into(), "out_of_bounds", "max"),
        (CLAIM, r#"{"worker":"w","lease_ms":0}"#.into(), "out_of_bounds", "lease_ms"),
        (CLAIM, r#"{"worker":"w","lease_ms":99}"#.into(), "out_of_bounds", "lease_ms"),
        (CLAIM, r#"{"worker":"w","lease_ms":-1}"#.into(), "out_of_bounds", "lease_ms"),
        (CLAIM, r#"{"worker":"w","lease_ms":315360000000}"#.into(), "out_of_bounds", "lease_ms"),
        (CLAIM, r#"{"worker":"w","wait_ms":60001}"#.into(), "out_of_bounds", "wait_ms"),
        (CLAIM, r#"{"worker":"w","kinds":[]}"#.into(), "out_of_bounds", "kinds"),
        (CLAIM, r#"{"worker":"w","kinds":"k"}"#.into(), "wrong_type", "kinds"),
        (CLAIM, r#"{"worker":"w","kinds":["k",1]}"#.into(), "wrong_type", "kinds[1]"),
        (CLAIM, r#"{"worker":"w","queues":["q"]}"#.into(), "unknown_field", "queues"),
        ("/v1/claim", r#"{"worker":"w"}"#.into(), "missing_field", "queues"),
        ("/v1/claim", r#"{"worker":"w","queues":[]}"#.into(), "out_of_bounds", "queues"),
        ("/v1/claim", r#"{"worker":"w","queues":["q",""]}"#.into(), "invalid_name", "queues[1]"),
        ("/v1/claim", r#"{"worker":"w","queues":["q"],"kinds":["a b"]}"#.into(), "invalid_name", "kinds[0]"),
        (&beat, r#"{"worker":"w1"}"#.into(), "missing_field", "token"),
        (&beat, r#"{"worker":"w1","token":"1"}"#.into(), "wrong_type", "token"),
        (&beat, r#"{"worker":"w1","token":9007199254740992}"#.into(), "out_of_bounds", "token"),
        (&beat, with(r#""progres":1"#), "unknown_field", "progres"),
        (&beat, with(r#""checkpoint":"\u0000""#), "unsupported_character", "checkpoint"),
        (&fail, with(r#""retry":true"#), "missing_field", "error"),
        (&fail, with(r#""error":"e","retry":"no""#), "wrong_type", "retry"),
        (&fail, with(r#""error":"e","retry_in_ms":-1"#), "out_of_bounds", "retry_in_ms"),
        (&fail, with(r#""error":"e","retry":false,"retry_in_ms":1"#), "contradiction", "retry_in_ms"),
        (&snooze, format!("{{{held}}}"), "missing_field", "delay_ms"),
        ("/v1/finish", r#"{"endings":[]}"#.into(), "out_of_bounds", "endings"),
        ("/v1/finish", format!(r#"{{"endings":[{{"id":"1",{held}}}]}}"#), "missing_field", "endings[0].verb"),
        (
            "/v1/finish",
            format!(r#"{{"endings":[{{"id":"1","verb":"end",{held}}}]}}"#),
            "out_of_bounds",
            "endings[0].verb",
        ),
        ("/v1/finish", format!(r#"{{"endings":[{{"id":1,"verb":"release",{held}}}]}}"#), "wrong_type", "endings[0].id"),
        (
            "/v1/finish",
            format!(
                r#"{{"endings":[{{"id":"{id}","verb":"complete",{held}}},{{"id":"{id}","verb":"release","error":"",{held}}}]}}"#
            ),
            "unknown_field",
            "endings[1].error",
        ),
        ("/v1/heartbeats", format!(r#"{{"heartbeats":[{{{held}}}]}}"#), "missing_field", "heartbeats[0].id"),
    ];
    for (path, body, code, field) in cases {
        let answer = check(&api, path, body.clone(), 422, code).await;
        assert_eq!(answer["error"]["field"], field, "{body}");
    }
}

#[tokio::test]
async fn a_typo_is_told_what_was_probably_meant() {
    let api = Api::new().await;
    let answer = check(&api, ENQUEUE, r#"{"kind":"k","priorty":1}"#, 422, "unknown_field").await;
    assert_eq!(answer["error"]["nearest"], "priority");
    assert!(answer["error"]["message"].as_str().unwrap().contains("did you mean `priority`"));
}

#[tokio::test]
async fn c20_text_that_no_store_keeps_is_refused_with_a_pointer() {
    let api = Api::new().await;
    for payload in [r#"{"a":["\u0000"]}"#, r#"{"a":["\ud800"]}"#, r#"{"a":["\udc00x"]}"#] {
        let answer = check(&api, ENQUEUE, job(payload), 422, "unsupported_character").await;
        assert_eq!(answer["error"]["field"], "payload/a/0");
    }
}

#[tokio::test]
async fn a_name_outside_the_allowed_set_is_refused_wherever_it_stands() {
    let api = Api::new().await;
    let long = "x".repeat(129);
    for queue in [
        "",
        "%20",
        "q%27%3B%20DROP%20TABLE%20work_queue%3B--",
        "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
        "a%0Ab",
        "a%0D",
        "%1B%5B31m",
        "a%00",
        "a%2Fb",
        "%F0%9F%98%80",
        "%7B%7B7*7%7D%7D",
        "-a",
        &long,
    ] {
        let answer = check(&api, &format!("/v1/queues/{queue}/jobs"), r#"{"kind":"k"}"#, 422, "invalid_name").await;
        assert!(!answer.to_string().contains('\u{1b}'), "{answer}");
        let answer = check(&api, &format!("/v1/queues/{queue}/claim"), r#"{"worker":"w"}"#, 422, "invalid_name").await;
        assert_eq!(answer["error"]["field"], "queue");
    }
    for queue in ["NULL", "true", "0", "a.b_c:d-e"] {
        let (status, _) = api.post(&format!("/v1/queues/{queue}/jobs"), r#"{"kind":"k"}"#).await;
        assert_eq!(status, 201, "{queue}");
    }
    let (status, body) = api.post("/v1/queues/%FF/jobs", r#"{"kind":"k"}"#).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!("not_utf8")));
}

#[tokio::test]
async fn a_query_is_read_as_strictly_as_a_body() {
    let api = Api::new().await;
    for (path, code, field) in [
        ("/v1/jobs?stauts=queued", "unknown_field", "stauts"),
        ("/v1/jobs?status=done", "out_of_bounds", "status"),
        ("/v1/jobs?limit=0", "out_of_bounds", "limit"),
        ("/v1/jobs?limit=-1", "out_of_bounds", "limit"),
        ("/v1/jobs?limit=1000000000", "out_of_bounds", "limit"),
        ("/v1/jobs?limit=ten", "out_of_bounds", "limit"),
        ("/v1/jobs?limit=1&limit=2", "repeated_parameter", "limit"),
        ("/v1/jobs?cursor=x", "out_of_bounds", "cursor"),
        ("/v1/jobs?queue=a%20b", "invalid_name", "queue"),
        ("/v1/jobs?kind=%00", "invalid_name", "kind"),
        ("/v1/queues?cursor=%1B", "out_of_bounds", "cursor"),
        ("/v1/queues?status=queued", "unknown_field", "status"),
        ("/v1/workers?cursor=a%20b", "out_of_bounds", "cursor"),
        ("/v1/workers?limit=1001", "out_of_bounds", "limit"),
        ("/v1/workers?queue=q", "unknown_field", "queue"),
        ("/v1/queues/q?limit=1", "unknown_field", "limit"),
        ("/v1/jobs/1?full=1", "unknown_field", "full"),
        ("/v1/queues/a%20b", "invalid_name", "queue"),
    ] {
        let (status, body) = api.get(path).await;
        assert_eq!((status, body["error"]["code"].as_str()), (422, Some(code)), "{path} {body}");
        assert_eq!(body["error"]["field"], field, "{path}");
    }
}

#[tokio::test]
async fn odd_but_valid_input_is_kept_inert() {
    let api = Api::new().await;
    for payload in [
        r#"{"__proto__":{"x":1},"constructor":null}"#,
        r#""${jndi:ldap://x}""#,
        r#""<script>alert(1)</script>""#,
        r#""%s%n{{7*7}}""#,
        "null",
        "-0.0",
        "1e400",
        r#""\u001b[31m\n\u202e""#,
        &nested(64),
    ] {
        let (status, body) = api.post(ENQUEUE, job(payload)).await;
        assert_eq!(status, 201, "{payload} {body}");
        let (status, body) = api.post(ENQUEUE, format!(r#"{{"jobs":[{}]}}"#, job(payload))).await;
        assert_eq!(status, 201, "{payload} {body}");
    }
    let nulls = r#"{"kind":"k","payload":null,"priority":null,"run_at":null,"attempts_max":null,"timeout_ms":null,"backoff":null,
        "key":null,"key_window_ms":null,"ordering_key":null,"limit_key":null}"#;
    assert_eq!(api.post(ENQUEUE, nulls).await.0, 201);
}

#[tokio::test]
async fn x_a_payload_may_be_one_mebibyte_and_not_a_byte_more() {
    let api = Api::new().await;
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let mebibyte = 1 << 20;
    assert_eq!(api.post(ENQUEUE, job(&text(mebibyte))).await.0, 201);
    check(&api, ENQUEUE, job(&text(mebibyte + 1)), 413, "too_large").await;
    check(&api, ENQUEUE, job(&text(3 * mebibyte)), 413, "too_large").await;
    check(&api, ENQUEUE, format!("{}{}", job("1"), " ".repeat(2 * mebibyte)), 413, "too_large").await;
    let bulk = |jobs: usize| format!(r#"{{"jobs":[{}]}}"#, vec![job(&text(mebibyte)); jobs].join(","));
    assert_eq!(api.post(ENQUEUE, bulk(16)).await.0, 201);
    check(&api, ENQUEUE, bulk(17), 413, "too_large").await;
    check(&api, CLAIM, format!(r#"{{"worker":"w"{}}}"#, " ".repeat(2 * mebibyte)), 413, "too_large").await;
}

#[tokio::test]
async fn x_a_call_has_at_most_ten_thousand_jobs() {
    let api = Api::new().await;
    let jobs = |count: usize| format!(r#"{{"jobs":[{}]}}"#, vec![r#"{"kind":"k"}"#; count].join(","));
    check(&api, ENQUEUE, jobs(10_001), 422, "out_of_bounds").await;
    assert_eq!(api.post(ENQUEUE, jobs(10_000)).await.0, 201);
    let (_, queue) = api.get("/v1/queues/q").await;
    assert_eq!((&queue["counts"]["queued"], &queue["counts_capped"]), (&json!(10_000), &json!([])));
    assert_eq!(api.post(ENQUEUE, jobs(1)).await.0, 201);
    let (_, queue) = api.get("/v1/queues/q").await;
    assert_eq!((&queue["counts"]["queued"], &queue["counts_capped"]), (&json!(10_000), &json!(["queued"])));
}

#[tokio::test]
async fn an_object_with_many_keys_is_refused_by_the_first_wrong_one() {
    let api = Api::new().await;
    let keys: Vec<String> = (0..50_000).map(|i| format!("\"k{i}\":0")).collect();
    check(&api, ENQUEUE, format!("{{{}}}", keys.join(",")), 422, "unknown_field").await;
}

#[tokio::test]
async fn a_wrong_setting_is_422_and_changes_nothing() {
    let api = Api::new().await;
    api.put("/v1/queues/q", r#"{"max_running":3,"retention_ms":1000}"#).await;
    let before = (state(&api).await, api.get("/v1/limits").await);
    for (path, body, code, field) in [
        ("/v1/queues/q", r#"{"max_running":0}"#, "out_of_bounds", "max_running"),
        ("/v1/queues/q", r#"{"max_running":-1}"#, "out_of_bounds", "max_running"),
        ("/v1/queues/q", r#"{"max_running":1000001}"#, "out_of_bounds", "max_running"),
        ("/v1/queues/q", r#"{"max_running":99999999999999999999}"#, "out_of_bounds", "max_running"),
        ("/v1/queues/q", r#"{"max_running":"3"}"#, "wrong_type", "max_running"),
        ("/v1/queues/q", r#"{"max_running":1.0}"#, "wrong_type", "max_running"),
        ("/v1/queues/q", r#"{"paused":true,"max_running_per_key":0}"#, "out_of_bounds", "max_running_per_key"),
        ("/v1/queues/q", r#"{"paused":1}"#, "wrong_type", "paused"),
        ("/v1/queues/q", r#"{"lane_on_failure":"stop"}"#, "out_of_bounds", "lane_on_failure"),
        ("/v1/queues/q", r#"{"retention_ms":-1}"#, "out_of_bounds", "retention_ms"),
        ("/v1/queues/q", r#"{"retention_ms":999999999999999}"#, "out_of_bounds", "retention_ms"),
        ("/v1/queues/q", r#"{"retention":1}"#, "unknown_field", "retention"),
        ("/v1/queues/q", r#"{"counts":{}}"#, "unknown_field", "counts"),
        ("/v1/queues/q", r#"{"rate_limit":100}"#, "wrong_type", "rate_limit"),
        ("/v1/queues/q", r#"{"rate_limit":{"max":100}}"#, "missing_field", "rate_limit.period_ms"),
        ("/v1/queues/q", r#"{"rate_limit":{"max":0,"period_ms":1}}"#, "out_of_bounds", "rate_limit.max"),
        (
            "/v1/queues/q",
            r#"{"rate_limit_per_key":{"max":1,"period_ms":0}}"#,
            "out_of_bounds",
            "rate_limit_per_key.period_ms",
        ),
        ("/v1/queues/q", r#"{"rate_limit":{"max":1,"period_ms":86400001}}"#, "out_of_bounds", "rate_limit.period_ms"),
        ("/v1/queues/q", "[]", "wrong_type", "body"),
        ("/v1/queues/a%20b", r#"{"paused":true}"#, "invalid_name", "queue"),
        ("/v1/limits", r#"{"max_running":0}"#, "out_of_bounds", "max_running"),
        ("/v1/limits", r#"{"max_runing":1}"#, "unknown_field", "max_runing"),
        ("/v1/limits", r#"{"max_running":true}"#, "wrong_type", "max_running"),
    ] {
        let (status, answer) = api.put(path, body).await;
        assert_eq!((status, answer["error"]["code"].as_str()), (422, Some(code)), "{body} {answer}");
        assert_eq!(answer["error"]["field"], field, "{body}");
        if body.contains(":0}") && field.contains("max_running") {
            assert!(answer["error"]["message"].as_str().unwrap().contains("use pause"), "{answer}");
        }
    }
    for (body, code) in
        [("", "body_empty"), ("{", "json_syntax"), (r#"{"paused":true,"paused":false}"#, "json_duplicate_key")]
    {
        let (status, answer) = api.put("/v1/queues/q", body).await;
        assert_eq!((status, answer["error"]["code"].as_str()), (400, Some(code)), "{body}");
    }
    assert_eq!((state(&api).await, api.get("/v1/limits").await), before);
}
