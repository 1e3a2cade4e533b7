//! Bad input about pipelines and runs gets a clear refusal, and changes nothing.

use crate::Api;
use crate::pipelines::ROUTES;
use serde_json::{Value, json};

/// A run whose first stage is held.
struct Held {
    api: Api,
    run: String,
    token: i64,
}

impl Held {
    async fn new() -> Held {
        let api = Api::new().await;
        let run = api.video().await;
        let token = api.unit("fetch").await["token"].as_i64().unwrap();
        Held { api, run, token }
    }

    /// All that can be seen of pipelines, without when the lease runs out.
    async fn state(&self) -> [Value; 4] {
        let run = format!("/v1/runs/{}", self.run);
        [
            self.api.get(&run).await.1,
            self.api.get(&format!("{run}/timeline")).await.1,
            self.api.get("/v1/runs").await.1,
            self.api.get("/v1/pipelines").await.1,
        ]
    }

    /// A route's address with its names filled in.
    fn filled(&self, path: &str, name: &str, stage: &str, segment: &str) -> String {
        let path = path.replace("{id}", &self.run).replace("{name}", name);
        path.replace("{stage}", stage).replace("{segment}", segment)
    }

    async fn send(&self, method: &str, path: &str, body: String) -> (u16, Value) {
        if method == "get" { self.api.get(path).await } else { self.api.post(path, body).await }
    }

    async fn check(&self, method: &str, path: &str, body: &str, status: u16, code: &str) -> Value {
        let before = self.state().await;
        let (got, answer) = self.send(method, path, body.to_owned()).await;
        let shown: String = body.chars().take(200).collect();
        assert_eq!((got, answer["error"]["code"].as_str()), (status, Some(code)), "{method} {path} {shown}\n{answer}");
        if status == 422 {
            for fact in ["field", "limit", "got"] {
                assert!(answer["error"][fact].is_string(), "{fact} of {shown}\n{answer}");
            }
        }
        assert_eq!(self.state().await, before, "{method} {path} {shown} changed something");
        answer["error"]["field"].clone()
    }
}

/// The routes as method and address.
fn routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().filter_map(|route| route.split_once(' '))
}

/// Whether the body may say who holds what.
fn of_holder(path: &str) -> bool {
    path.contains("{id}/stages/")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_a_parameter_that_it_does_not_read() {
    let held = Held::new().await;
    for (method, path) in routes() {
        let path = format!("{}?stray=1", held.filled(path, "video", "fetch", "s0"));
        assert_eq!(held.check(method, &path, "{}", 422, "unknown_field").await, "stray", "{path}");
    }
    let body = r#"{"matrix_id":"m","chunks":[]}"#;
    assert_eq!(held.check("post", "/v1/syncs?stray=1", body, 422, "unknown_field").await, "stray");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_body_refuses_a_field_that_it_does_not_know() {
    let held = Held::new().await;
    for (method, path) in routes().filter(|(method, _)| *method == "post") {
        let address = held.filled(path, "video", "fetch", "s0");
        assert_eq!(held.check(method, &address, r#"{"stray":1}"#, 422, "unknown_field").await, "stray", "{path}");
        assert_eq!(held.check(method, &address, "[]", 422, "wrong_type").await, "body", "{path}");
        held.check(method, &address, "{", 400, "json_syntax").await;
        held.check(method, &address, r#"{"a":1,"a":2}"#, 400, "json_duplicate_key").await;
        if of_holder(path) {
            for (body, code, field) in [
                (r#"{"token":1}"#, "missing_field", "worker"),
                (r#"{"worker":"w"}"#, "missing_field", "token"),
                (r#"{"worker":7,"token":1}"#, "wrong_type", "worker"),
                (r#"{"worker":"w","token":"1"}"#, "wrong_type", "token"),
                (r#"{"worker":"w","token":-1}"#, "out_of_bounds", "token"),
                (r#"{"worker":"w","token":9007199254740992}"#, "out_of_bounds", "token"),
            ] {
                assert_eq!(held.check(method, &address, body, 422, code).await, field, "{path} {body}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_out_of_bounds_is_refused_wherever_it_stands() {
    let held = Held::new().await;
    let long = "x".repeat(129);
    let done = r#"{"worker":"w","token":1}"#;
    for name in [long.as_str(), "%20", "a%0Ab", "%00", "-a", "%F0%9F%98%80", "a%2Fb", "%1B%5B31m"] {
        for (path, body, field) in [
            (format!("/v1/pipelines/{name}/runs"), "{}", "pipeline"),
            (format!("/v1/pipelines/{name}/stages/fetch/claim"), r#"{"worker":"w"}"#, "pipeline"),
            (format!("/v1/pipelines/video/stages/{name}/claim"), r#"{"worker":"w"}"#, "stage"),
            (format!("/v1/runs/1/stages/{name}/heartbeat"), done, "stage"),
            (format!("/v1/runs/1/stages/{name}/complete"), done, "stage"),
            (format!("/v1/runs/1/stages/{name}/release"), done, "stage"),
            (format!("/v1/runs/1/stages/encode/segments/{name}/complete"), done, "segment"),
            (format!("/v1/runs/1/stages/encode/segments/{name}/heartbeat"), done, "segment"),
        ] {
            assert_eq!(held.check("post", &path, body, 422, "invalid_name").await, field, "{path}");
        }
        for (path, field) in
            [(format!("/v1/pipelines/{name}"), "pipeline"), (format!("/v1/runs/1/stages/{name}/segments"), "stage")]
        {
            assert_eq!(held.check("get", &path, "", 422, "invalid_name").await, field, "{path}");
        }
        for path in [format!("/v1/runs/{name}"), format!("/v1/runs/{name}/timeline")] {
            held.check("get", &path, "", 404, "not_found").await;
        }
        held.check("post", &format!("/v1/runs/{name}/cancel"), "", 404, "not_found").await;
    }
    held.check("get", "/v1/pipelines/%FF", "", 400, "not_utf8").await;
    held.check("post", "/v1/runs/1/stages/%FF/complete", done, 400, "not_utf8").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_field_is_422_and_named() {
    let held = Held::new().await;
    let stage = |stage: Value| json!({"name": "p", "version": 1, "stages": [stage]}).to_string();
    let run = format!("/v1/runs/{}", held.run);
    let fetch = |verb: &str| format!("{run}/stages/fetch/{verb}");
    let with = |more: &str| format!(r#"{{"worker":"w","token":{},{more}}}"#, held.token);
    let artifact = |artifact: Value| with(&format!(r#""artifacts":[{artifact}]"#));
    let hash = "ab".repeat(32);
    let apply = "/v1/pipelines".to_owned();
    let claim = "/v1/pipelines/video/stages/fetch/claim".to_owned();
    let cases: Vec<(&String, String, &str, &str)> = vec![
        (&apply, "{}".into(), "missing_field", "name"),
        (&apply, r#"{"name":"p","stages":[]}"#.into(), "missing_field", "version"),
        (&apply, r#"{"name":"p","version":0,"stages":[{"name":"a"}]}"#.into(), "out_of_bounds", "version"),
        (&apply, r#"{"name":"p","version":2147483648,"stages":[{"name":"a"}]}"#.into(), "out_of_bounds", "version"),
        (&apply, r#"{"name":"p","version":"1","stages":[{"name":"a"}]}"#.into(), "wrong_type", "version"),
        (&apply, r#"{"name":"p","version":1,"stages":[]}"#.into(), "out_of_bounds", "stages"),
        (&apply, r#"{"name":"p","version":1,"stages":{}}"#.into(), "wrong_type", "stages"),
        (&apply, r#"{"name":"p","version":1,"stages":["a"]}"#.into(), "wrong_type", "stages[0]"),
        (&apply, r#"{"name":"a b","version":1,"stages":[{"name":"a"}]}"#.into(), "invalid_name", "name"),
        (&apply, stage(json!({})), "missing_field", "stages[0].name"),
        (&apply, stage(json!({"name": "a b"})), "invalid_name", "stages[0].name"),
        (&apply, stage(json!({"name": "a", "needs": "b"})), "wrong_type", "stages[0].needs"),
        (&apply, stage(json!({"name": "a", "needs": [1]})), "wrong_type", "stages[0].needs[0]"),
        (&apply, stage(json!({"name": "a", "needs": ["b"]})), "out_of_bounds", "stages[0].needs"),
        (&apply, stage(json!({"name": "a", "lease_ms": 99})), "out_of_bounds", "stages[0].lease_ms"),
        (&apply, stage(json!({"name": "a", "lease_ms": 1.0})), "wrong_type", "stages[0].lease_ms"),
        (&apply, stage(json!({"name": "a", "attempts_max": 0})), "out_of_bounds", "stages[0].attempts_max"),
        (&apply, stage(json!({"name": "a", "attempts_max": 1001})), "out_of_bounds", "stages[0].attempts_max"),
        (&apply, stage(json!({"name": "a", "priority": "1"})), "wrong_type", "stages[0].priority"),
        (&apply, stage(json!({"name": "a", "segmented": 1})), "wrong_type", "stages[0].segmented"),
        (&apply, stage(json!({"name": "a", "backoff": {"factor": 0.5}})), "out_of_bounds", "stages[0].backoff.factor"),
        (&apply, stage(json!({"name": "a", "backoff": {"x": 1}})), "unknown_field", "stages[0].backoff.x"),
        (&claim, "{}".into(), "missing_field", "worker"),
        (&claim, r#"{"worker":"a b"}"#.into(), "invalid_name", "worker"),
        (&claim, r#"{"worker":"w","max":0}"#.into(), "out_of_bounds", "max"),
        (&claim, r#"{"worker":"w","max":1001}"#.into(), "out_of_bounds", "max"),
        (&claim, r#"{"worker":"w","lease_ms":99}"#.into(), "out_of_bounds", "lease_ms"),
        (&claim, r#"{"worker":"w","wait_ms":60001}"#.into(), "out_of_bounds", "wait_ms"),
    ];
    for (path, body, code, field) in cases {
        assert_eq!(held.check("post", path, &body, 422, code).await, field, "{body}");
    }
    let more: Vec<(String, String, &str, &str)> = vec![
        ("/v1/pipelines/video/runs".into(), r#"{"version":0}"#.into(), "out_of_bounds", "version"),
        ("/v1/pipelines/video/runs".into(), r#"{"input":"\u0000"}"#.into(), "unsupported_character", "input"),
        ("/v1/pipelines/video/runs".into(), r#"{"key":""}"#.into(), "invalid_name", "key"),
        ("/v1/pipelines/video/runs".into(), r#"{"key":7}"#.into(), "wrong_type", "key"),
        ("/v1/pipelines/video/runs".into(), r#"{"key":"a\u202eb"}"#.into(), "unsupported_character", "key"),
        ("/v1/pipelines/video/runs".into(), json!({"key": "x".repeat(257)}).to_string(), "invalid_name", "key"),
        (fetch("fail"), with(r#""retry":true"#), "missing_field", "error"),
        (fetch("fail"), with(r#""error":"e","retry":false,"retry_in_ms":1"#), "contradiction", "retry_in_ms"),
        (fetch("fail"), with(r#""error":"e","retry_in_ms":-1"#), "out_of_bounds", "retry_in_ms"),
        (fetch("split"), with(r#""segments":[]"#), "out_of_bounds", "segments"),
        (fetch("split"), with(r#""segments":[{"name":"a b"}]"#), "invalid_name", "segments[0].name"),
        (fetch("split"), with(r#""segments":[{"name":"a"},{"name":"a"}]"#), "out_of_bounds", "segments[1].name"),
        (fetch("split"), with(r#""segments":[{"name":"a","x":1}]"#), "unknown_field", "segments[0].x"),
        (fetch("complete"), artifact(json!({"size": 1, "blake3": hash})), "missing_field", "artifacts[0].path"),
        (
            fetch("complete"),
            artifact(json!({"path": "../x", "size": 1, "blake3": hash})),
            "invalid_name",
            "artifacts[0].path",
        ),
        (
            fetch("complete"),
            artifact(json!({"path": "/x", "size": 1, "blake3": hash})),
            "invalid_name",
            "artifacts[0].path",
        ),
        (
            fetch("complete"),
            artifact(json!({"path": "1/encode/v1/_/x", "size": 1, "blake3": hash})),
            "out_of_bounds",
            "artifacts[0].path",
        ),
        (
            fetch("heartbeat"),
            artifact(json!({"path": "x", "size": -1, "blake3": hash})),
            "out_of_bounds",
            "artifacts[0].size",
        ),
        (
            fetch("heartbeat"),
            artifact(json!({"path": "x", "size": 1, "blake3": "AB"})),
            "out_of_bounds",
            "artifacts[0].blake3",
        ),
        (format!("{run}/cancel"), r#"{"force":true}"#.into(), "unknown_field", "force"),
        (format!("{run}/cancel"), r#"{"reason":1}"#.into(), "wrong_type", "reason"),
        (format!("{run}/retry"), r#"{"stage":"a b"}"#.into(), "invalid_name", "stage"),
        (format!("{run}/pause"), r#"{"reason":"x"}"#.into(), "unknown_field", "reason"),
        (format!("{run}/resume"), r#"{"reason":"x"}"#.into(), "unknown_field", "reason"),
    ];
    for (path, body, code, field) in more {
        assert_eq!(held.check("post", &path, &body, 422, code).await, field, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_of_a_list_is_read_as_strictly_as_a_body() {
    let held = Held::new().await;
    for (path, code, field) in [
        ("/v1/runs?stauts=DONE", "unknown_field", "stauts"),
        ("/v1/runs?status=done", "out_of_bounds", "status"),
        ("/v1/runs?pipeline=a%20b", "invalid_name", "pipeline"),
        ("/v1/runs?cursor=x", "out_of_bounds", "cursor"),
        ("/v1/runs?limit=0", "out_of_bounds", "limit"),
        ("/v1/runs?limit=1&limit=2", "repeated_parameter", "limit"),
        ("/v1/pipelines?cursor=%1B", "out_of_bounds", "cursor"),
        ("/v1/pipelines?cursor=%00", "out_of_bounds", "cursor"),
        ("/v1/pipelines?limit=1001", "out_of_bounds", "limit"),
        ("/v1/runs/1/stages/encode/segments?cursor=x", "out_of_bounds", "cursor"),
        ("/v1/runs/1/stages/encode/segments?limit=ten", "out_of_bounds", "limit"),
    ] {
        assert_eq!(held.check("get", path, "", 422, code).await, field, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn x_an_input_may_be_one_mebibyte_and_not_a_byte_more() {
    let held = Held::new().await;
    let input = |bytes: usize| format!(r#"{{"input":"{}"}}"#, "x".repeat(bytes - 2));
    let start = "/v1/pipelines/video/runs";
    held.check("post", start, &input((1 << 20) + 1), 413, "too_large").await;
    held.check("post", start, &input(3 << 20), 413, "too_large").await;
    assert_eq!(held.api.post(start, input(1 << 20)).await.0, 201);
    let deep = format!(r#"{{"input":{}{}}}"#, "[".repeat(65), "]".repeat(65));
    held.check("post", start, &deep, 400, "json_too_deep").await;
}
