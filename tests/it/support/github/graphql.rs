//! The few questions that are asked by GraphQL.

use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

use super::{BOT, World};

pub(super) fn answer(world: &mut World, request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let query = body["query"].as_str().unwrap_or_default();
    let variables = &body["variables"];
    let id = || variables["id"].as_str().expect("an id").to_owned();
    let data = if query.contains("viewer") {
        json!({"viewer": {"login": BOT}})
    } else if query.contains("minimizeComment") {
        world.minimised.push(id());
        json!({"minimizeComment": {"minimizedComment": {"isMinimized": true}}})
    } else if query.contains("resolveReviewThread") {
        world.resolved.push(id());
        json!({"resolveReviewThread": {"thread": {"isResolved": true}}})
    } else if query.contains("reviewThreads") {
        json!({"repository": {"pullRequest": {"reviewThreads": threads(world, variables)}}})
    } else {
        world.violations.push(format!("GraphQL: {query}"));
        json!({})
    };
    super::answer(200, &json!({ "data": data }))
}

/// Two threads a page, so that pages are gone through.
fn threads(world: &World, variables: &Value) -> Value {
    let skip = variables["after"].as_str().and_then(|after| after.parse().ok()).unwrap_or(0);
    let number = variables["number"].as_u64();
    let all: Vec<Value> = world
        .review_comments
        .iter()
        .filter(|(_, comment)| Some(comment.pull) == number)
        .map(|(id, comment)| {
            let thread = format!("PRRT_{id}");
            // GraphQL leaves the suffix of bots out.
            let login = comment.login.trim_end_matches("[bot]");
            json!({
                "id": thread, "isResolved": world.resolved.contains(&thread) || world.settled.contains(&thread),
                "isOutdated": comment.outdated,
                "resolvedBy": world.settled.contains(&thread).then(|| json!({"login": "dev"})),
                "comments": {"nodes": [{"body": comment.body, "author": {"login": login}}]}
            })
        })
        .collect();
    let page: Vec<&Value> = all.iter().skip(skip).take(2).collect();
    let more = skip + page.len() < all.len();
    json!({"nodes": page, "pageInfo": {"hasNextPage": more, "endCursor": (skip + 2).to_string()}})
}
