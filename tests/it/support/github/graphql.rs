//! The few questions that are asked by GraphQL.

use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

use super::{BOT, World, references};

pub(super) fn answer(world: &mut World, request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let query = body["query"].as_str().unwrap_or_default();
    let variables = &body["variables"];
    let id = || variables["id"].as_str().expect("an id").to_owned();
    if query.contains("mutation UpdateRefs") {
        return references::update(world, &variables["input"]);
    }
    let data = if query.contains("query RepositoryId") {
        json!({"repository": {"id": references::REPOSITORY}})
    } else if query.contains("query BranchStates") {
        json!({ "repository": branch_states(world, variables) })
    } else if query.contains("query Outcomes") {
        json!({ "repository": {"pullRequests": outcomes(world)} })
    } else if query.contains("query ClosedPulls") {
        return closed_pulls(world, query);
    } else if query.contains("viewer") {
        json!({"viewer": {"login": BOT}})
    } else if query.contains("minimizeComment") {
        world.minimised.push(id());
        json!({"minimizeComment": {"minimizedComment": {"isMinimized": true}}})
    } else if query.contains("mutation MarkReady") {
        let number = id().strip_prefix("PR_").and_then(|number| number.parse::<u64>().ok());
        world.pulls.get_mut(&number.expect("an id")).expect("a pull request").draft = false;
        json!({"markPullRequestReadyForReview": {"pullRequest": {"isDraft": false}}})
    } else if query.contains("resolveReviewThread") {
        world.resolved.push(id());
        json!({"resolveReviewThread": {"thread": {"isResolved": true}}})
    } else if query.contains("updatePullRequestReviewComment") {
        let comment = variables["comment"].as_str().and_then(|id| id.strip_prefix("PRRC_")?.parse().ok());
        let comment = world.review_comments.get_mut(&comment.expect("an id")).expect("a comment");
        variables["body"].as_str().expect("a text").clone_into(&mut comment.body);
        json!({"updatePullRequestReviewComment": {"clientMutationId": null}})
    } else if query.contains("query PostedReviews") {
        json!({"repository": {"pullRequest": {"entries": reviews(world, variables)}}})
    } else if query.contains("reviewThreads") {
        json!({"repository": {"pullRequest": {"entries": threads(world, variables)}}})
    } else {
        world.violations.push(format!("GraphQL: {query}"));
        json!({})
    };
    super::answer(200, &json!({ "data": data }))
}

/// Returns the name of a query or mutation, with a space before it: ` UpdateRefs`; of other requests, an empty text.
pub(super) fn name_of(request: &Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let mut words = body["query"].as_str().unwrap_or_default().split_whitespace().skip(1);
    let name = words.next().unwrap_or_default().split(['(', '{']).next().unwrap_or_default();
    if name.is_empty() { String::new() } else { format!(" {name}") }
}

/// All pull requests, with their commits.
fn outcomes(world: &World) -> Value {
    let git = world.git();
    let nodes: Vec<Value> = world
        .pulls
        .iter()
        .map(|(number, pull)| {
            let head = world.head_of(pull);
            let commits = git.between(&pull.base, &head).into_iter();
            let commits: Vec<Value> =
                commits.map(|sha| json!({"commit": {"message": git.message(&sha)}})).collect();
            json!({
                "number": number, "url": format!("https://github.com/octo/demo/pull/{number}"),
                "state": if pull.open { "OPEN" } else { "CLOSED" }, "createdAt": "2999-01-01T00:00:00Z",
                "isCrossRepository": pull.fork, "commits": {"totalCount": commits.len(), "nodes": commits},
            })
        })
        .collect();
    json!({"pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": nodes})
}

/// The states of the pull requests that a query names, and an error for each that is not there.
fn closed_pulls(world: &World, query: &str) -> ResponseTemplate {
    let numbers =
        query.split("number: ").skip(1).filter_map(|rest| rest.split(')').next()?.parse::<u64>().ok());
    let (mut found, mut errors) = (serde_json::Map::new(), Vec::new());
    for number in numbers {
        let name = format!("p{number}");
        let pull = world.pulls.get(&number);
        if pull.is_none() {
            errors.push(
                json!({"type": "NOT_FOUND", "path": ["repository", name], "message": "Could not resolve"}),
            );
        }
        let state = |open: bool| json!({ "state": if open { "OPEN" } else { "CLOSED" } });
        found.insert(name, pull.map_or(Value::Null, |pull| state(pull.open)));
    }
    let mut whole = json!({"data": {"repository": found}});
    if !errors.is_empty() {
        whole["errors"] = json!(errors);
    }
    super::answer(200, &whole)
}

/// The branches that the variables name, with their open pull requests.
fn branch_states(world: &World, variables: &Value) -> Value {
    let git = world.git();
    let base = variables["base"].as_str().expect("a base");
    let reference = |name: &str| {
        let sha = git.resolve(name)?;
        let parents: Vec<Value> = git.parents(&sha).into_iter().map(|oid| json!({ "oid": oid })).collect();
        let target = json!({"oid": sha, "message": git.message(&sha), "tree": {"oid": git.tree_of(&sha)}, "parents": {"nodes": parents}});
        let behind = git.between(base, &sha).len();
        Some(json!({"target": target, "compare": {"behindBy": behind}}))
    };
    let mut found = serde_json::Map::new();
    found.insert("id".to_owned(), references::REPOSITORY.into());
    found.insert("onto".to_owned(), json!(reference(variables["onto"].as_str().expect("a ref"))));
    for n in (0..).take_while(|n| variables.get(format!("r{n}")).is_some()) {
        let (name, head) = (&variables[format!("r{n}")], &variables[format!("h{n}")]);
        found.insert(format!("r{n}"), json!(reference(name.as_str().expect("a ref"))));
        let is_asked = |pull: &super::Pull| {
            pull.open && json!(pull.head) == *name && pull.base == base && !head.is_null()
        };
        let pulls = world.pulls.iter().filter(|(_, pull)| is_asked(pull)).map(|(number, pull)| {
            let labels = world.labels.iter().filter(|(issue, _)| issue == number);
            let labels: Vec<Value> = labels.map(|(_, name)| json!({ "name": name })).collect();
            json!({
                "id": format!("PR_{number}"), "isDraft": pull.draft,
                "number": number, "title": pull.title, "body": pull.body, "isCrossRepository": pull.fork,
                "url": format!("https://github.com/octo/demo/pull/{number}"), "labels": {"nodes": labels},
            })
        });
        found.insert(format!("p{n}"), json!({"nodes": pulls.collect::<Vec<_>>()}));
    }
    found.into()
}

fn threads(world: &World, variables: &Value) -> Value {
    let number = variables["number"].as_u64();
    let all: Vec<Value> = world
        .review_comments
        .iter()
        .filter(|(_, comment)| Some(comment.pull) == number)
        .map(|(id, comment)| {
            let thread = format!("PRRT_{id}");
            json!({
                "id": thread, "isResolved": world.resolved.contains(&thread) || world.settled.contains(&thread),
                "isOutdated": comment.outdated,
                "comments": {"nodes": [{"id": format!("PRRC_{id}"), "body": comment.body, "author": account(&comment.login)}]}
            })
        })
        .collect();
    page(&all, variables)
}

/// The reviews that were posted, which people may have hidden: `PRR_0` is the first.
fn reviews(world: &World, variables: &Value) -> Value {
    let shown = world.reviews.iter().enumerate().map(|(index, body)| {
        let is_hidden = world.minimised.contains(&format!("PRR_{index}"));
        json!({"body": body, "isMinimized": is_hidden, "author": account(BOT)})
    });
    page(&shown.collect::<Vec<_>>(), variables)
}

/// GraphQL leaves the suffix of bots out.
fn account(login: &str) -> Value {
    let name = login.trim_end_matches("[bot]");
    json!({"__typename": if name == login { "User" } else { "Bot" }, "login": name})
}

/// Two entries a page, so that pages are gone through.
fn page(all: &[Value], variables: &Value) -> Value {
    let skip = variables["after"].as_str().and_then(|after| after.parse().ok()).unwrap_or(0);
    let page: Vec<&Value> = all.iter().skip(skip).take(2).collect();
    let more = skip + page.len() < all.len();
    json!({"nodes": page, "pageInfo": {"hasNextPage": more, "endCursor": (skip + 2).to_string()}})
}
