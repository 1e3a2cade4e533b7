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
        let (plain, mut schemas): (Map<_, _>, Map<_, _>) =
            schemas.into_iter().partition(|(_, schema)| is_plain(schema));
        schemas.values_mut().for_each(|schema| spell_out(schema, &plain));
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

/// Whether it is text or a number: an instant, an id, a token, a word.
fn is_plain(schema: &Value) -> bool {
    schema["type"].as_str().is_some_and(|of| !["object", "array", "null"].contains(&of))
}

/// Writes a plain value out where it stands, and the fields of what stands within another with those of the other, so
/// that the document names only what a reader looks up.
fn spell_out(schema: &mut Value, plain: &Map<String, Value>) {
    match schema {
        Value::Array(items) => return items.iter_mut().for_each(|item| spell_out(item, plain)),
        Value::Object(members) => members.values_mut().for_each(|member| spell_out(member, plain)),
        _ => return,
    }
    let named = schema["$ref"].as_str().and_then(|name| plain.get(name.rsplit('/').next()?));
    if let (Some(Value::Object(of)), Value::Object(members)) = (named, &mut *schema) {
        members.remove("$ref");
        for (name, value) in of {
            members.entry(name).or_insert_with(|| value.clone());
        }
    }
    if let Some([one, other]) = schema["oneOf"].as_array().map(Vec::as_slice)
        && is_plain(one)
    {
        let mut or_null = one.clone();
        or_null["type"] = json!([one["type"], other["type"]]);
        *schema = or_null;
    }
    if let Some(parts) = schema["allOf"].as_array().filter(|parts| parts.iter().all(|part| part["type"] == "object")) {
        let properties = parts.iter().filter_map(|part| part["properties"].as_object()).flatten();
        let required = parts.iter().filter_map(|part| part["required"].as_array()).flatten();
        let properties: Map<String, Value> = properties.map(|(name, of)| (name.clone(), of.clone())).collect();
        let required: Vec<&Value> = required.collect();
        *schema = json!({
            "type": "object", "description": schema["description"], "properties": properties, "required": required
        });
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
