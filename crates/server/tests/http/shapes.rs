//! What the document says may be sent is what the routes read.

use crate::Api;
use serde_json::Value;
use std::collections::BTreeSet;

/// The shapes that an operation names for its body: none, one, or one and a list of it.
fn named(operation: &Value) -> Vec<&str> {
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let either = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or(std::slice::from_ref(schema));
    let name =
        |schema: &'_ Value| schema["$ref"].as_str().map(|name| name.len() - name.rsplit('/').next().unwrap().len());
    either.iter().filter_map(|schema| name(schema).map(|at| &schema["$ref"].as_str().unwrap()[at..])).collect()
}

#[tokio::test]
async fn every_route_reads_the_shape_that_the_document_names() {
    let api = Api::new().await;
    let (_, document) = api.get("/v1/openapi.json").await;
    let mut read = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let shapes = named(operation);
            // Wherever there is a body there is a shape, and the other way round.
            assert_eq!(operation["requestBody"].is_null(), shapes.is_empty(), "{method} {path}");
            for name in shapes {
                let shape = &document["components"]["schemas"][name];
                let fields: BTreeSet<&str> = shape["properties"]
                    .as_object()
                    .map(|of| of.keys().map(String::as_str).collect())
                    .unwrap_or_default();
                // Of two shapes the second is told by its one field.
                let told = if name == "NewJobs" { r#""jobs":[{"kind":"k"}],"# } else { "" };
                let path = path.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
                let path = path.collect::<Vec<_>>().join("/");
                let body = format!(r#"{{{told}"no such field":1}}"#);
                let (status, answer) =
                    if method == "put" { api.put(&path, body).await } else { api.post(&path, body).await };
                let error = &answer["error"];
                assert_eq!((status, error["code"].as_str()), (422, Some("unknown_field")), "{method} {path}: {answer}");
                let known = error["limit"].as_str().unwrap().strip_prefix("one of ").unwrap();
                let known: BTreeSet<&str> = known.split(", ").filter(|field| !field.is_empty()).collect();
                assert_eq!(known, fields, "{method} {path} does not read {name}");
                read += 1;
            }
        }
    }
    assert!(read > 40, "{read}");
}

#[tokio::test]
async fn each_shape_of_an_operator_is_named_for_what_it_does() {
    let (_, document) = Api::new().await.get("/v1/openapi.json").await;
    for (path, shape) in [
        ("/v1/jobs/{id}/retry", "RetryJob"),
        ("/v1/runs/{id}/retry", "RetryRun"),
        ("/v1/runs/{id}/pause", "Rest"),
        ("/v1/runs/{id}/resume", "Rest"),
        ("/v1/schedules/{name}/pause", "Rest"),
        ("/v1/schedules/{name}/resume", "Rest"),
    ] {
        assert_eq!(named(&document["paths"][path]["post"]), [shape], "{path}");
    }
}

#[tokio::test]
async fn the_document_says_that_one_job_may_be_sent_or_many() {
    let (_, document) = Api::new().await.get("/v1/openapi.json").await;
    assert_eq!(named(&document["paths"]["/v1/queues/{queue}/jobs"]["post"]), ["NewJob", "NewJobs"]);
}

/// Descriptions come from the comments of Rust types; who reads the document knows no Rust.
#[tokio::test]
async fn the_document_speaks_of_json_and_not_of_rust() {
    let api = Api::new().await;
    let (_, document) = api.get("/v1/openapi.json").await;
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            Value::String(text) => assert!(!text.contains("`None`") && !text.contains("[`"), "{text}"),
            _ => {}
        }
    }
}
