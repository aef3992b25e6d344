//! Checks requests against GitHub's own API description.

use std::sync::OnceLock;

use serde_json::{Value, json};
use wiremock::Request;

/// The part of GitHub's description that we call.
fn description() -> &'static Value {
    static DESCRIPTION: OnceLock<Value> = OnceLock::new();
    DESCRIPTION.get_or_init(|| {
        let text = include_str!("../../../github-openapi.json");
        let mut description = serde_json::from_str(text).expect("the description is JSON");
        nullable(&mut description);
        description
    })
}

/// `nullable: true` is a word of `OpenAPI`'s that JSON Schema does not know.
fn nullable(value: &mut Value) {
    if value["nullable"] == true && value["type"].is_string() {
        value["type"] = json!([value["type"], "null"]);
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(nullable),
        Value::Object(fields) => fields.values_mut().for_each(nullable),
        _ => {}
    }
}

/// What in a request contradicts the description: its path, its query, its body.
pub(super) fn check(method: &str, path: &str, request: &Request) -> Vec<String> {
    let description = description();
    let paths = description["paths"].as_object().expect("paths");
    let fits = |template: &str| {
        let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
        // `{path}` and `{ref}` at the end stand for any number of folders.
        let open = matches!(template.last(), Some(&"{path}" | &"{ref}")) && path.len() > template.len();
        (open || template.len() == path.len())
            && template.iter().zip(&path).all(|(t, p)| t.starts_with('{') || t == p)
    };
    // A literal path beats one with parameters.
    let mut templates: Vec<&String> = paths.keys().filter(|template| fits(template)).collect();
    templates.sort_by_key(|template| {
        (template.matches('{').count(), std::cmp::Reverse(template.matches('/').count()))
    });
    let Some(operation) = templates.iter().find_map(|template| {
        let operation = &paths[*template][method.to_lowercase()];
        operation.is_object().then_some(operation)
    }) else {
        return vec![format!("{method} {path}: no such operation")];
    };
    let mut violations = Vec::new();
    let parameters: Vec<&Value> = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|parameter| resolve(description, parameter))
        .collect();
    for (name, _) in request.url.query_pairs() {
        if !parameters
            .iter()
            .any(|parameter| parameter["in"] == "query" && parameter["name"] == name.as_ref())
        {
            violations.push(format!("{method} {path}: unknown query parameter {name}"));
        }
    }
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    if schema.is_object() {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        // The schema may point into the description, so it is checked as a part of it.
        let root = json!({"allOf": [schema], "components": description["components"]});
        let validator = jsonschema::validator_for(&root).expect("a schema");
        violations.extend(validator.iter_errors(&body).map(|error| format!("{method} {path}: {error}")));
        let known = resolve(description, schema)["properties"].as_object().cloned().unwrap_or_default();
        for name in body.as_object().into_iter().flatten().map(|(name, _)| name) {
            if !known.is_empty() && !known.contains_key(name) {
                violations.push(format!("{method} {path}: unknown property {name}"));
            }
        }
    } else if !request.body.is_empty() {
        violations.push(format!("{method} {path}: a body where none is described"));
    }
    violations
}

fn resolve<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => description.pointer(pointer).expect("a reference that leads somewhere"),
        None => value,
    }
}
