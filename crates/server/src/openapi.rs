//! The OpenAPI document: paths from the routes themselves, request shapes from what reads them, replies from their types.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tenure_wire::Request;
use tenure_wire::shape::Shape;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

/// What is described so far.
#[derive(Default)]
pub(crate) struct Document {
    paths: Map<String, Value>,
    shapes: BTreeMap<&'static str, &'static Shape>,
    replies: Vec<(String, RefOr<Schema>)>,
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

impl Document {
    /// Describes what may be sent.
    pub(crate) fn body<A, T>(&mut self, request: &'static Request<A, T>) -> Value {
        request.shape.with_those_within(&mut self.shapes);
        let mut schema = reference(request.shape.name);
        if let Some(many) = request.many {
            many.with_those_within(&mut self.shapes);
            schema = json!({ "oneOf": [schema, reference(many.name)] });
        }
        json!({ "content": { "application/json": { "schema": schema } } })
    }

    /// A reference to the shape of a reply; it is called `name`, if its type does not say so.
    pub(crate) fn reply<T: ToSchema>(&mut self, name: Option<&str>) -> Value {
        let name = name.map_or_else(|| T::name().into_owned(), str::to_owned);
        T::schemas(&mut self.replies);
        let refer = reference(&name);
        self.replies.push((name, T::schema()));
        refer
    }

    /// Describes one route.
    pub(crate) fn describe(&mut self, path: String, method: &str, mut operation: Value) {
        operation["responses"]["default"] = json!({
            "description": "Not carried out; nothing was changed.",
            "content": { "application/json": { "schema": reference("Error") } }
        });
        let path = self.paths.entry(path).or_insert_with(|| json!({}));
        path[method] = operation;
    }

    /// The document as it is served.
    pub(crate) fn finished(self) -> String {
        let mut schemas: Map<String, Value> = Map::new();
        for (name, reply) in self.replies {
            schemas.insert(name, json!(reply));
        }
        for (name, shape) in self.shapes {
            schemas.insert(name.to_owned(), json!(shape.schema()));
        }
        schemas.insert("Error".to_owned(), error());
        let info = json!({
            "title": "Tenure",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Durable work, held under lease.",
        });
        json!({ "openapi": "3.1.0", "info": info, "paths": self.paths, "components": { "schemas": schemas } })
            .to_string()
    }
}

/// The one shape of every refusal.
fn error() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": { "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": { "type": "string", "description": "Stable: a program may branch on it." },
                "message": { "type": "string", "description": "What was wrong and what to do." },
                "field": { "type": "string" },
                "limit": { "type": "string" },
                "got": { "type": "string" },
                "reason": { "type": "string", "description": "Of `lease_lost`: expired, superseded, finished, cancelled or unknown." },
                "index": { "type": "integer", "description": "Of `dedup_conflict`: which job of the call." },
                "id": { "type": ["string", "null"], "description": "Of `dedup_conflict`: the job or run that holds the key; null if it is another of the same call." }
            },
            "additionalProperties": true
        } }
    })
}
