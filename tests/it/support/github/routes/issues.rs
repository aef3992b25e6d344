//! Issues: comments, reactions, labels.

use super::{Asked, invalid, page, user};
use crate::support::github::{BOT, World, answer, missing};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

pub(super) fn route(world: &mut World, asked: &Asked<'_>) -> ResponseTemplate {
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

fn show_comment(world: &World, id: u64) -> Value {
    let comment = &world.comments[&id];
    json!({
        "id": id, "node_id": format!("IC_{id}"), "body": comment.body, "user": user(world, &comment.login),
        "html_url": format!("https://github.com/octo/demo/pull/{}#issuecomment-{id}", comment.issue),
        "author_association": if comment.login == "dev" { "MEMBER" } else { "NONE" },
    })
}
