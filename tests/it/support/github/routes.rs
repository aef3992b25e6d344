//! The operations that are played.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

use super::{BOT, Pull, ReviewComment, World, answer};

const REPOSITORY: &str = "/repos/octo/demo";

fn missing() -> ResponseTemplate {
    answer(404, &json!({"message": "Not Found"}))
}

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
        (_, ["issues", ..]) => issues(world, &asked),
        (_, ["pulls", ..]) => pulls(world, &asked),
        (_, ["git", ..]) => git(world, &asked),
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
            let push = !world.only_reads;
            let permissions = json!({"admin": false, "push": push, "pull": true});
            answer(200, &json!({"id": 1, "full_name": "octo/demo", "permissions": permissions}))
        }
        ("GET", ["contents", file @ ..]) => contents(world, &file.join("/"), query.get("ref")),
        ("GET", ["commits", commit]) => {
            world.commits.get(*commit).map_or_else(missing, |commit| answer(200, commit))
        }
        ("GET", ["commits", _, "check-runs"]) => {
            let runs: Vec<Value> = world
                .check_runs
                .iter()
                .map(|(name, status, conclusion, url)| {
                    json!({"name": name, "status": status, "conclusion": conclusion, "details_url": url})
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
        ("GET", ["compare", range]) => compare(world, range),
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

fn issues(world: &mut World, asked: &Asked<'_>) -> ResponseTemplate {
    let Asked { method, path, parts, body, query } = *asked;
    let number = |at: usize| parts.get(at).and_then(|part| part.parse::<u64>().ok()).unwrap_or(0);
    match (method, parts) {
        ("GET", ["issues", issue, "comments"]) => {
            let issue = issue.parse().unwrap_or(0);
            let of_issue = world.comments.iter().filter(|(_, comment)| comment.issue == issue);
            let items: Vec<Value> = of_issue.map(|(id, _)| show_comment(world, *id)).collect();
            page(world, path, query, &items)
        }
        ("POST", ["issues", _, "comments"]) => {
            let text = body["body"].as_str().unwrap();
            if text.chars().count() > 65_536 {
                return invalid("body is too long (maximum is 65536 characters)");
            }
            let id = world.add_comment(number(1), BOT, text);
            answer(201, &show_comment(world, id))
        }
        ("GET", ["issues", "comments", _]) => {
            if world.comments.contains_key(&number(2)) {
                answer(200, &show_comment(world, number(2)))
            } else {
                missing()
            }
        }
        ("PATCH", ["issues", "comments", _]) => {
            let Some(comment) = world.comments.get_mut(&number(2)) else { return missing() };
            body["body"].as_str().unwrap().clone_into(&mut comment.body);
            comment.edits += 1;
            answer(200, &show_comment(world, number(2)))
        }
        ("POST", ["issues", "comments", _, "reactions"]) => {
            if !world.comments.contains_key(&number(2)) {
                return missing();
            }
            let content = body["content"].as_str().unwrap().to_owned();
            world.reactions.push((number(2), content.clone()));
            let shown = json!({"id": 1, "node_id": "R", "content": content, "user": user(world, BOT), "created_at": "2026-01-01T00:00:00Z"});
            answer(201, &shown)
        }
        ("GET", ["issues", _, "labels"]) => {
            let of_issue = world.labels.iter().filter(|(issue, _)| *issue == number(1));
            let items: Vec<Value> = of_issue.map(|(_, name)| json!({"name": name})).collect();
            page(world, path, query, &items)
        }
        ("GET", ["issues", _, "events"]) => {
            let of_issue = world.label_events.iter().filter(|(issue, ..)| *issue == number(1));
            let items: Vec<Value> = of_issue
                .map(|(_, event, actor, label, at)| {
                    json!({"event": event, "actor": user(world, actor), "label": {"name": label}, "created_at": at})
                })
                .collect();
            page(world, path, query, &items)
        }
        ("POST", ["issues", _, "labels"]) => {
            let names: Vec<String> = body["labels"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect();
            world.labels.extend(names.into_iter().map(|name| (number(1), name)));
            answer(200, &json!([]))
        }
        _ => missing(),
    }
}

fn pulls(world: &mut World, asked: &Asked<'_>) -> ResponseTemplate {
    let Asked { method, path, parts, body, query } = *asked;
    let number = parts.get(1).and_then(|part| part.parse::<u64>().ok()).unwrap_or(0);
    match (method, parts) {
        ("GET", ["pulls"]) => {
            let wanted = |pull: &Pull| {
                let owner = if pull.fork { "stranger" } else { "octo" };
                let branch = pull.head.trim_start_matches("refs/heads/");
                let head = query.get("head").is_none_or(|head| *head == format!("{owner}:{branch}"));
                head && query.get("base").is_none_or(|base| *base == pull.base) && pull.open
            };
            let list: Vec<Value> = world
                .pulls
                .iter()
                .filter(|(_, pull)| wanted(pull))
                .map(|(id, pull)| show_pull(world, *id, pull))
                .collect();
            page(world, path, query, &list)
        }
        ("POST", ["pulls"]) => {
            let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
            let pull = Pull {
                title: text("title"),
                body: text("body"),
                head: format!("refs/heads/{}", text("head")),
                base: text("base"),
                fork: false,
                draft: body["draft"] == true,
                open: true,
            };
            if world.git().branch(&text("head")).is_none() {
                return invalid("head is invalid");
            }
            if world
                .pulls
                .values()
                .any(|other| other.open && other.head == pull.head && other.base == pull.base)
            {
                return invalid("A pull request already exists for octo:x.");
            }
            let number = 100 + world.pulls.len() as u64;
            world.pulls.insert(number, pull.clone());
            answer(201, &show_pull(world, number, &pull))
        }
        ("GET", ["pulls", _]) => match world.pulls.get(&number) {
            Some(pull) => answer(200, &show_pull(world, number, pull)),
            None => missing(),
        },
        ("PATCH", ["pulls", _]) => {
            let Some(pull) = world.pulls.get_mut(&number) else { return missing() };
            for (name, field) in [("title", &mut pull.title), ("body", &mut pull.body)] {
                if let Some(text) = body[name].as_str() {
                    text.clone_into(field);
                }
            }
            let pull = pull.clone();
            answer(200, &show_pull(world, number, &pull))
        }
        ("GET", ["pulls", _, "files"]) => {
            let Some(pull) = world.pulls.get(&number) else { return missing() };
            let files = world.git().files(&pull.base, &pull.head);
            let items: Vec<Value> = files
                .into_iter()
                .map(|(name, sha, patch)| json!({"filename": name, "sha": sha, "patch": patch}))
                .collect();
            page(world, path, query, &items)
        }
        ("GET", ["pulls", _, "reviews"]) => {
            let items = reviews(world, number);
            page(world, path, query, &items)
        }
        ("POST", ["pulls", _, "reviews"]) => {
            let comments: Vec<Value> = body["comments"].as_array().cloned().unwrap_or_default();
            if comments.iter().any(|comment| !anchored(world, number, comment)) {
                return answer(
                    422,
                    &json!({"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]}),
                );
            }
            world.reviews.push(body["body"].as_str().unwrap_or_default().to_owned());
            for comment in &comments {
                add_review_comment(world, number, comment);
            }
            answer(200, &json!({"id": 1}))
        }
        ("POST", ["pulls", _, "comments"]) => {
            if !anchored(world, number, body) {
                return invalid("pull_request_review_thread.line must be part of the diff");
            }
            add_review_comment(world, number, body);
            answer(201, &json!({"id": 1}))
        }
        _ => missing(),
    }
}

/// Reviews of a pull request: those that the test set up, and those that were posted.
fn reviews(world: &World, number: u64) -> Vec<Value> {
    let of_pull = world.judgements.iter().filter(|(pull, ..)| *pull == number);
    let set_up = of_pull.map(|(_, login, state, commit)| {
        let at = world.judged_at.as_deref().unwrap_or("2999-01-01T00:00:00Z");
        json!({"user": user(world, login), "state": state, "commit_id": commit, "body": "", "submitted_at": at})
    });
    let posted = world
        .reviews
        .iter()
        .map(|body| json!({"user": user(world, BOT), "state": "COMMENTED", "commit_id": "0", "body": body}));
    set_up.chain(posted).collect()
}

/// Whether a comment's lines are part of one hunk of the pull request's diff.
fn anchored(world: &World, number: u64, comment: &Value) -> bool {
    let Some(pull) = world.pulls.get(&number) else { return false };
    let files = world.git().files(&pull.base, &pull.head);
    let Some((_, _, Some(patch))) = files.into_iter().find(|(name, ..)| comment["path"] == *name) else {
        return false;
    };
    let (mut new, mut hunk) = (0, 0);
    let mut hunks: BTreeMap<u64, u32> = BTreeMap::new();
    for line in patch.lines() {
        if line.starts_with("@@ ") {
            let start = line.split('+').nth(1).expect("a header");
            new = start.split([',', ' ']).next().and_then(|start| start.parse().ok()).expect("a number");
            hunk += 1;
        } else if !line.starts_with('-') && !line.starts_with('\\') {
            hunks.insert(new, hunk);
            new += 1;
        }
    }
    let last = comment["line"].as_u64().and_then(|line| hunks.get(&line));
    let first = match comment["start_line"].as_u64() {
        Some(line) if Some(line) < comment["line"].as_u64() => hunks.get(&line),
        Some(_) => None,
        None => last,
    };
    comment["side"] == "RIGHT" && last.is_some() && first == last
}

fn add_review_comment(world: &mut World, pull: u64, comment: &Value) {
    let id = world.id();
    let text = |name: &str| comment[name].as_str().unwrap_or_default().to_owned();
    let review_comment = ReviewComment {
        pull,
        login: BOT.to_owned(),
        body: text("body"),
        line: comment["line"].as_u64().unwrap(),
        start_line: comment["start_line"].as_u64(),
        outdated: false,
    };
    world.review_comments.insert(id, review_comment);
}

fn git(world: &mut World, asked: &Asked<'_>) -> ResponseTemplate {
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
        ("POST", ["trees"]) => {
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

fn compare(world: &World, range: &str) -> ResponseTemplate {
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

fn contents(world: &World, path: &str, at: Option<&String>) -> ResponseTemplate {
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

fn user(world: &World, login: &str) -> Value {
    let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
    json!({"login": login, "id": 1, "node_id": "U_1", "type": kind, "url": format!("{}/users/x", world.base)})
}

fn show_comment(world: &World, id: u64) -> Value {
    let comment = &world.comments[&id];
    json!({
        "id": id, "node_id": format!("IC_{id}"), "body": comment.body, "user": user(world, &comment.login),
        "html_url": format!("https://github.com/octo/demo/pull/{}#issuecomment-{id}", comment.issue),
        "author_association": if comment.login == "dev" { "MEMBER" } else { "NONE" },
    })
}

fn show_pull(world: &World, number: u64, pull: &Pull) -> Value {
    let side = |branch: &str, sha: String, owner: &str| {
        let branch = branch.trim_start_matches("refs/heads/");
        let repo = json!({"full_name": format!("{owner}/demo"), "pushed_at": "2019-05-15T15:20:32Z"});
        json!({"ref": branch, "sha": sha, "repo": repo})
    };
    let owner = if pull.fork { "stranger" } else { "octo" };
    json!({
        "number": number, "title": pull.title, "body": pull.body, "state": if pull.open { "open" } else { "closed" },
        "html_url": format!("https://github.com/octo/demo/pull/{number}"),
        "user": user(world, "author"), "mergeable": !world.conflicts,
        "head": side(&pull.head, world.head_of(pull), owner),
        "base": side(&pull.base, world.git().branch(&pull.base).expect("the base"), "octo"),
    })
}
