//! Pull requests: their files, reviews and comments on lines.

use std::collections::BTreeMap;

use super::{Asked, invalid, page, user};
use crate::support::github::{BOT, Pull, ReviewComment, World, answer, missing};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

pub(super) fn route(world: &mut World, asked: &Asked<'_>) -> ResponseTemplate {
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

fn show_pull(world: &World, number: u64, pull: &Pull) -> Value {
    let side = |branch: &str, sha: String, owner: &str| {
        let branch = branch.trim_start_matches("refs/heads/");
        let repo = json!({"full_name": format!("{owner}/demo"), "pushed_at": "2019-05-15T15:20:32Z"});
        json!({"ref": branch, "sha": sha, "repo": repo})
    };
    let owner = if pull.fork { "stranger" } else { "octo" };
    json!({
        "node_id": format!("PR_{number}"), "draft": pull.draft,
        "number": number, "title": pull.title, "body": pull.body, "state": if pull.open { "open" } else { "closed" },
        "html_url": format!("https://github.com/octo/demo/pull/{number}"),
        "user": user(world, "author"), "mergeable": !world.conflicts,
        "head": side(&pull.head, world.head_of(pull), owner),
        "base": side(&pull.base, world.git().branch(&pull.base).expect("the base"), "octo"),
    })
}
