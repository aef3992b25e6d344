//! Git's objects and branches, and what is read of commits.

use super::Asked;
use crate::support::github::{Repository, World, answer, missing};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

pub(super) fn route(world: &mut World, asked: &Asked<'_>) -> ResponseTemplate {
    let Asked { method, parts, body, query, .. } = *asked;
    let git = world.git();
    let show_ref = |sha: &str| json!({"ref": "x", "node_id": "R", "url": "https://x.invalid", "object": {"type": "commit", "sha": sha, "url": "https://x.invalid"}});
    match (method, &parts[1..]) {
        ("GET", ["ref", "heads", name @ ..]) => match git.branch(&name.join("/")) {
            Some(sha) => answer(200, &show_ref(&sha)),
            None => missing(),
        },
        ("POST", ["refs"]) => {
            let (name, sha) = (body["ref"].as_str().unwrap(), body["sha"].as_str().unwrap());
            if git.resolve(name).is_some() {
                return answer(422, &json!({"message": "Reference already exists"}));
            }
            if let Some(refused) = world.refuses(name, sha) {
                return refused;
            }
            git.set(name, sha);
            answer(201, &show_ref(sha))
        }
        ("PATCH", ["refs", name @ ..]) => {
            let (name, sha) = (format!("refs/{}", name.join("/")), body["sha"].as_str().unwrap());
            let Some(old) = git.resolve(&name) else {
                return answer(422, &json!({"message": "Reference does not exist"}));
            };
            if body["force"] != true && !git.is_ancestor(&old, sha) {
                return answer(422, &json!({"message": "Update is not a fast forward"}));
            }
            if let Some(refused) = world.refuses(&name, sha) {
                return refused;
            }
            git.set(&name, sha);
            answer(200, &show_ref(sha))
        }
        ("POST", ["blobs"]) => {
            let content = STANDARD.decode(body["content"].as_str().unwrap()).expect("base64");
            answer(201, &json!({"sha": git.write_blob(&content), "url": "https://x.invalid"}))
        }
        ("GET", ["blobs", sha]) => match git.blob(sha) {
            Some(bytes) => {
                answer(200, &json!({"sha": sha, "encoding": "base64", "content": STANDARD.encode(bytes)}))
            }
            None => missing(),
        },
        ("POST", ["trees"]) => write_tree(git, body),
        ("DELETE", ["refs", name @ ..]) => {
            let name = format!("refs/{}", name.join("/"));
            if git.resolve(&name).is_none() {
                return answer(422, &json!({"message": "Reference does not exist"}));
            }
            git.delete(&name);
            ResponseTemplate::new(204)
        }
        ("GET", ["trees", sha]) => {
            let tree: Vec<Value> = git
                .entries(sha, query.contains_key("recursive"))
                .into_iter()
                .map(
                    |entry| json!({"path": entry.path, "mode": entry.mode, "sha": entry.sha, "type": "blob"}),
                )
                .collect();
            answer(200, &json!({"sha": sha, "tree": tree, "truncated": false}))
        }
        ("POST", ["commits"]) => {
            let parents: Vec<String> = body["parents"]
                .as_array()
                .unwrap()
                .iter()
                .map(|sha| sha.as_str().unwrap().to_owned())
                .collect();
            if parents.iter().any(|parent| git.resolve(parent).is_none()) {
                return answer(422, &json!({"message": "Parent SHA does not exist"}));
            }
            let sha =
                git.write_commit(body["tree"].as_str().unwrap(), &parents, body["message"].as_str().unwrap());
            // What a bot commits without naming an author, GitHub signs.
            if world.token.is_some_and(|token| token.signs) && body["author"].is_null() {
                world.signed.insert(sha.clone());
            }
            answer(201, &json!({"sha": sha}))
        }
        ("GET", ["commits", sha]) => match git.resolve(sha) {
            Some(sha) => {
                let parents: Vec<Value> =
                    git.parents(&sha).into_iter().map(|sha| json!({ "sha": sha })).collect();
                let tree = json!({"sha": git.tree_of(&sha)});
                answer(
                    200,
                    &json!({"sha": sha, "tree": tree, "parents": parents, "message": git.message(&sha)}),
                )
            }
            None => missing(),
        },
        _ => missing(),
    }
}

/// Writes a tree with these entries on top of another.
fn write_tree(git: &Repository, body: &Value) -> ResponseTemplate {
    let entries = body["tree"].as_array().unwrap();
    let mut changes = Vec::new();
    for entry in entries {
        let sha = match entry["content"].as_str() {
            Some(text) => Some(git.write_blob(text.as_bytes())),
            None => entry["sha"].as_str().map(str::to_owned),
        };
        if sha.as_ref().is_some_and(|sha| !git.has(sha)) {
            return answer(422, &json!({"message": "tree.sha is not a valid blob"}));
        }
        let text = |name: &str| entry[name].as_str().unwrap().to_owned();
        changes.push((text("path"), text("mode"), sha));
    }
    let sha = git.write_tree(body["base_tree"].as_str(), &changes);
    answer(201, &json!({"sha": sha, "tree": [], "truncated": false}))
}

pub(super) fn compare(world: &World, range: &str) -> ResponseTemplate {
    let git = world.git();
    let Some((Some(base), Some(head))) =
        range.split_once("...").map(|(base, head)| (git.resolve(base), git.resolve(head)))
    else {
        return missing();
    };
    let ahead = git.between(&base, &head);
    let commits: Vec<Value> =
        ahead.iter().map(|sha| json!({"sha": sha, "commit": {"message": git.message(sha)}})).collect();
    let behind = git.between(&head, &base).len();
    answer(200, &json!({"ahead_by": ahead.len(), "behind_by": behind, "commits": commits, "files": []}))
}

pub(super) fn contents(world: &World, path: &str, at: Option<&String>) -> ResponseTemplate {
    let commit = at.map_or("main", String::as_str);
    match world.git().show(commit, path) {
        // Only the blob has it.
        Some(bytes) if bytes.len() > 1_000_000 => {
            let sha = world.git().write_blob(&bytes);
            answer(200, &json!({"type": "file", "encoding": "none", "content": "", "sha": sha, "path": path}))
        }
        Some(bytes) => answer(
            200,
            &json!({
                "type": "file", "encoding": "base64", "size": bytes.len(), "name": path, "path": path,
                "content": STANDARD.encode(bytes)
            }),
        ),
        // A folder.
        None => {
            let below = format!("{path}/");
            let entries =
                world.git().resolve(commit).map(|sha| world.git().entries(&sha, true)).unwrap_or_default();
            let names = entries.iter().filter_map(|entry| entry.path.strip_prefix(&below));
            let listed: Vec<Value> = names
                .filter(|name| !name.contains('/'))
                .map(|name| json!({"name": name, "type": "file"}))
                .collect();
            if listed.is_empty() { missing() } else { answer(200, &json!(listed)) }
        }
    }
}
