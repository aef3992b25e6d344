//! The operations that are played.

mod git_data;
mod issues;
mod pulls;

use std::collections::BTreeMap;

use super::{World, answer, missing};
use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

const REPOSITORY: &str = "/repos/octo/demo";

fn invalid(message: &str) -> ResponseTemplate {
    answer(422, &json!({"message": "Validation Failed", "errors": [{"message": message}]}))
}

/// The workflow run that a fork's pull request has started.
pub const FORKS_RUN: u64 = 6666;

pub(super) fn route(world: &mut World, method: &str, path: &str, request: &Request) -> ResponseTemplate {
    let Some(path) = path.strip_prefix(REPOSITORY) else { return missing() };
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let query: BTreeMap<String, String> =
        request.url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned();
    let parts: Vec<&str> = decoded.trim_start_matches('/').split('/').collect();
    let number = |at: usize| parts.get(at).and_then(|part| part.parse::<u64>().ok()).unwrap_or(0);
    let asked = Asked { method, path, parts: &parts, body: &body, query: &query };
    match (method, parts.as_slice()) {
        (_, ["issues", ..]) => issues::route(world, &asked),
        (_, ["pulls", ..]) => pulls::route(world, &asked),
        (_, ["git", ..]) => git_data::route(world, &asked),
        (_, ["check-runs", ..]) => checks(world, method, number(1), &body),
        ("GET", ["collaborators", login, "permission"]) => match world.people.get(*login) {
            Some(permission) => answer(
                200,
                &json!({
                    "permission": permission, "role_name": permission, "user": user(world, login)
                }),
            ),
            None => answer(404, &json!({"message": format!("{login} is not a user")})),
        },
        ("GET", [""]) => {
            let push = world.token.is_some_and(|token| token.may("contents", true));
            let permissions = json!({"admin": false, "push": push, "pull": true});
            answer(200, &json!({"id": 1, "full_name": "octo/demo", "permissions": permissions}))
        }
        ("GET", ["contents", file @ ..]) => git_data::contents(world, &file.join("/"), query.get("ref")),
        ("GET", ["commits", commit]) => {
            world.commits.get(*commit).map_or_else(missing, |commit| answer(200, commit))
        }
        ("GET", ["commits", _, "check-runs"]) => {
            let runs: Vec<Value> = world
                .check_runs
                .iter()
                .map(|(name, status, conclusion, url)| {
                    // Checks of other programs have names of theirs, and any URL.
                    let slug = if name.ends_with("[app]") { "some-app" } else { "github-actions" };
                    json!({"name": name, "status": status, "conclusion": conclusion, "details_url": url, "app": {"slug": slug}})
                })
                .collect();
            let count = runs.len() + world.hidden_checks;
            answer(200, &json!({"total_count": count, "check_runs": runs}))
        }
        ("GET", ["commits", _, "status"]) => {
            let count = usize::from(world.status.is_some());
            let state = world.status.clone().unwrap_or_else(|| "pending".to_owned());
            answer(200, &json!({"state": state, "total_count": count, "statuses": []}))
        }
        ("GET", ["rules", "branches", branch @ ..]) => {
            page(world, path, &query, &world.rules_of(&branch.join("/")))
        }
        ("GET", ["attestations", subject]) => {
            let of_subject = world.attestations.iter().filter(|(of, _)| of == subject);
            let list: Vec<Value> =
                of_subject.map(|(_, bundle)| json!({"bundle": bundle, "repository_id": 1})).collect();
            if list.is_empty() { missing() } else { answer(200, &json!({ "attestations": list })) }
        }
        ("GET", ["compare", range]) => git_data::compare(world, range),
        ("GET", ["actions", "artifacts"] | ["actions", "runs", _, "artifacts"]) => {
            let is_of_run = |run: u64| parts.len() == 2 || run == number(2);
            let of_run = world.artifacts.iter().filter(|(_, (_, run, _))| is_of_run(*run));
            let list: Vec<Value> = of_run
                .rev()
                .map(|(id, (name, run, bytes))| json!({"id": id, "name": name, "size_in_bytes": bytes.len(), "expired": bytes.is_empty(), "workflow_run": {"id": run, "repository_id": 1, "head_repository_id": if *run == FORKS_RUN { 2 } else { 1 }}}))
                .collect();
            let shape = |some: &[Value]| json!({"total_count": list.len(), "artifacts": some});
            page_of(world, path, &query, &list, shape)
        }
        ("GET", ["actions", "runs", _, "attempts", _]) => {
            let Some((actor, again)) = world.attempts.get(&number(4)) else { return missing() };
            let (actor, again) = (user(world, actor), user(world, again));
            answer(200, &json!({"id": number(2), "actor": actor, "triggering_actor": again}))
        }
        ("GET", ["actions", "runs", _, "jobs"]) => {
            let at = world.ran_at.as_deref().unwrap_or("2000-01-01T00:00:00Z");
            let job = |id: u64, at: Option<&str>| json!({"id": id, "run_id": number(2), "completed_at": at});
            answer(200, &json!({"total_count": 2, "jobs": [job(1, Some(at)), job(2, None)]}))
        }
        ("GET", ["actions", "runs", _]) => {
            let at = world.ran_at.as_deref().unwrap_or("2000-01-01T00:00:00Z");
            answer(200, &json!({"id": number(2), "run_started_at": at}))
        }
        ("GET", ["actions", "artifacts", id, "zip"]) => {
            // The archive lies on another host.
            let place = format!("{}/_archive/{id}", world.base.replace("127.0.0.1", "localhost"));
            ResponseTemplate::new(302).insert_header("location", place.as_str())
        }
        _ => missing(),
    }
}

/// A page of a list, with a link to the next.
fn page(world: &World, path: &str, query: &BTreeMap<String, String>, items: &[Value]) -> ResponseTemplate {
    page_of(world, path, query, items, |shown| json!(shown))
}

/// A page of a list that `shape` puts into an answer, with a link to the next.
fn page_of(
    world: &World,
    path: &str,
    query: &BTreeMap<String, String>,
    items: &[Value],
    shape: impl Fn(&[Value]) -> Value,
) -> ResponseTemplate {
    let number =
        |name: &str, default: usize| query.get(name).and_then(|value| value.parse().ok()).unwrap_or(default);
    let (at, size) = (number("page", 1), number("per_page", 30));
    let (from, to) = (((at - 1) * size).min(items.len()), (at * size).min(items.len()));
    let response = answer(200, &shape(&items[from..to]));
    if items.len() <= at * size {
        return response;
    }
    let others: String = query
        .iter()
        .filter(|(name, _)| *name != "page")
        .map(|(name, value)| format!("{name}={value}&"))
        .collect();
    let next = format!("<{}{REPOSITORY}{path}?{others}page={}>; rel=\"next\"", world.base, at + 1);
    response.insert_header("link", next.as_str())
}

/// A request, taken apart.
struct Asked<'a> {
    method: &'a str,
    /// The address below the repository's, and its words.
    path: &'a str,
    parts: &'a [&'a str],
    body: &'a Value,
    query: &'a BTreeMap<String, String>,
}

fn checks(world: &mut World, method: &str, id: u64, body: &Value) -> ResponseTemplate {
    let annotations = body["output"]["annotations"].as_array().cloned().unwrap_or_default();
    if annotations.len() > 50 || body["output"]["summary"].as_str().is_some_and(|text| text.len() > 65_535) {
        return answer(422, &json!({"message": "Invalid request."}));
    }
    if method == "POST" {
        world.checks.push(body.clone());
        return answer(
            201,
            &json!({"id": world.checks.len(), "html_url": "https://github.com/octo/demo/runs/1"}),
        );
    }
    let Some(check) = world.checks.get_mut(usize::try_from(id).unwrap() - 1) else { return missing() };
    // Each update adds to them.
    check["output"]["annotations"].as_array_mut().unwrap().extend(annotations);
    answer(200, &json!({ "id": id }))
}

fn user(world: &World, login: &str) -> Value {
    let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
    // Every login has another id, unless it is said that two are one person's.
    let of_name =
        || login.bytes().fold(1_000_000, |id: u64, byte| (id * 31 + u64::from(byte)) % 1_000_000_007);
    let id = world.ids.get(login).copied().unwrap_or_else(of_name);
    json!({"login": login, "id": id, "node_id": "U_1", "type": kind, "url": format!("{}/users/x", world.base)})
}
