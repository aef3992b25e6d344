//! The mutation `updateRefs`, as the official schema describes it.

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::{World, answer};

/// The node id of the repository.
pub const REPOSITORY: &str = "R_demo";

/// The fields of the schema's input types.
const INPUT: [&str; 3] = ["clientMutationId", "refUpdates", "repositoryId"];
const UPDATE: [&str; 4] = ["afterOid", "beforeOid", "force", "name"];

/// Creates, moves and deletes references: all of them, or none.
pub fn update(world: &mut World, input: &Value) -> ResponseTemplate {
    let refused = |kind: &str, message: String| {
        let errors = json!([{"type": kind, "path": ["updateRefs"], "message": message}]);
        answer(200, &json!({"data": {"updateRefs": null}, "errors": errors}))
    };
    if world.lacks_update_refs {
        let message = "Field 'updateRefs' doesn't exist on type 'Mutation'";
        return answer(
            200,
            &json!({"errors": [{"extensions": {"code": "undefinedField"}, "message": message}]}),
        );
    }
    let updates = input["refUpdates"].as_array().cloned().unwrap_or_default();
    let fits = |value: &Value, known: &[&str], needed: &[&str]| {
        let names: Vec<&str> =
            value.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        names.iter().all(|name| known.contains(name)) && needed.iter().all(|name| names.contains(name))
    };
    let is_valid = fits(input, &INPUT, &["refUpdates", "repositoryId"])
        && updates.iter().all(|update| fits(update, &UPDATE, &["name", "afterOid"]))
        && updates.iter().all(|update| update["name"].as_str().is_some_and(|name| name.starts_with("refs/")));
    if !is_valid {
        world.violations.push(format!("updateRefs: {input}"));
    }
    if input["repositoryId"] != REPOSITORY {
        return refused("NOT_FOUND", "Could not resolve to a node".to_owned());
    }
    let none = "0".repeat(40);
    for update in &updates {
        let (name, git) = (update["name"].as_str().expect("a name"), world.git());
        let (now, to) = (git.resolve(name), update["afterOid"].as_str().expect("an id"));
        let is_there = |id: &str| if id == none { now.is_none() } else { now.as_deref() == Some(id) };
        if update["beforeOid"].as_str().is_some_and(|id| !is_there(id)) {
            return refused("UNPROCESSABLE", format!("{name} is not at the expected commit"));
        }
        if to == none {
            continue;
        }
        let is_forward = now.is_none_or(|now| git.is_ancestor(&now, to));
        if update["force"] != true && !is_forward {
            return refused("UNPROCESSABLE", format!("{name}: update is not a fast forward"));
        }
        if let Some(message) = world.refusal(name, to) {
            return refused("UNPROCESSABLE", message);
        }
    }
    for update in &updates {
        let (name, to) =
            (update["name"].as_str().expect("a name"), update["afterOid"].as_str().expect("an id"));
        if to == none { world.git().delete(name) } else { world.git().set(name, to) }
    }
    answer(200, &json!({"data": {"updateRefs": {"clientMutationId": null}}}))
}
