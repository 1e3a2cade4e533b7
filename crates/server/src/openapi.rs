//! The OpenAPI document: paths from the routes themselves, request shapes from the table that reads them.

use serde_json::{Value, json};
use tenure_wire::shape;
use utoipa::openapi::{Components, InfoBuilder, OpenApi};

/// The document as it is served: with what every operation shares.
pub(crate) fn finished(mut openapi: OpenApi) -> String {
    openapi.info = InfoBuilder::new()
        .title("Tenure")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Durable work, held under lease."))
        .build();
    let components = openapi.components.get_or_insert_with(Components::new);
    for shape in shape::ALL {
        components.schemas.insert(shape.name.to_owned(), shape.schema().into());
    }
    // What has no builder of its own is added to the JSON: one error shape for every operation.
    let mut document = serde_json::to_value(&openapi).unwrap_or_default();
    document["components"]["schemas"]["Error"] = json!({
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
    });
    let failed = json!({
        "description": "Not carried out; nothing was changed.",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } }
    });
    if let Some(paths) = document["paths"].as_object_mut() {
        let operations = paths.values_mut().filter_map(Value::as_object_mut).flat_map(|path| path.values_mut());
        for operation in operations {
            operation["responses"]["default"] = failed.clone();
        }
    }
    document.to_string()
}
