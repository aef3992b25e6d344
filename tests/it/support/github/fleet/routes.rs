//! The operations that are played, for whatever repository they name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::graphql;
use super::{Authorship, HOME, Place, Pull, State, TOKEN};
use crate::support::github::{BOT, READ_TOKEN, answer, description, missing, routes};
use serde_json::{Value, json};
use wiremock::{Request, Respond, ResponseTemplate};

pub(super) struct Responder {
    pub(super) state: Arc<Mutex<State>>,
}

/// Longer than any test waits.
const NEVER: Duration = Duration::from_mins(10);

impl Respond for Responder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut state = self.state.lock().unwrap();
        let (method, path) = (request.method.as_str().to_owned(), request.url.path().to_owned());
        state.requests.push(format!("{method} {path}"));
        let at = state.requests.len();
        match state.silent_from {
            Some((from, is_done)) if at >= from => {
                if at == from && is_done {
                    route(&mut state, &method, &path, request);
                }
                ResponseTemplate::new(200).set_delay(NEVER)
            }
            _ => route(&mut state, &method, &path, request),
        }
    }
}

fn route(state: &mut State, method: &str, path: &str, request: &Request) -> ResponseTemplate {
    let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    let token = token.and_then(|token| token.strip_prefix("Bearer ")).unwrap_or_default();
    let only_reads = token == READ_TOKEN;
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    match &mut state.app {
        Some(app) if token.starts_with("ghs_app") => {
            state.violations.extend(app.refusal(token, method, path, &body));
        }
        // A token of the web has three parts.
        Some(app) if token.split('.').count() == 3 => {
            return app.answer(method, path, &body).unwrap_or_else(missing);
        }
        _ if token != TOKEN && !only_reads => return answer(401, &json!({"message": "Bad credentials"})),
        _ => {}
    }
    if path == "/graphql" {
        return graphql::answer_query(state, &body);
    }
    if only_reads && method != "GET" {
        state.refused_writes.push(format!("{method} {path}"));
        return answer(403, &json!({"message": "Resource not accessible by integration"}));
    }
    state.violations.extend(description::check(method, path, request));
    let query: BTreeMap<String, String> =
        request.url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    if let Some(organization) = path.strip_prefix("/orgs/").and_then(|path| path.strip_suffix("/repos")) {
        let start = format!("{}/", organization.to_lowercase());
        let own = state.places.iter().filter(|(name, _)| name.starts_with(&start) && *name != HOME);
        let listed: Vec<Value> =
            own.map(|(name, place)| json!({"full_name": name, "topics": place.topics})).collect();
        return answer(200, &json!(listed));
    }
    if path == "/search/repositories" {
        let wanted = query.get("q").expect("a query");
        let found = state.places.keys().filter(|name| name.contains(wanted.as_str()));
        let items: Vec<Value> = found.map(|name| json!({ "full_name": name })).collect();
        return answer(200, &json!({"total_count": items.len() + 1, "items": items}));
    }
    let Some(rest) = path.strip_prefix("/repos/") else { return missing() };
    let mut parts = rest.splitn(3, '/');
    let name = format!("{}/{}", parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let below = parts.next().unwrap_or_default().to_owned();
    let words: Vec<&str> = below.split('/').collect();
    if let ["issues", ..] = words.as_slice()
        && !matches!(words.as_slice(), ["issues", _, "labels"])
    {
        return issues(state, method, &words, &body);
    }
    if let ("GET", ["collaborators", login, "permission"]) = (method, words.as_slice()) {
        return state
            .people
            .get(*login)
            .map_or_else(missing, |permission| answer(200, &json!({ "permission": permission })));
    }
    if let ("GET", ["commits", sha]) = (method, words.as_slice()) {
        let own = Authorship { author: BOT, committer: "web-flow", is_signed: true };
        let Authorship { author, committer, is_signed } = state.authors.get(*sha).cloned().unwrap_or(own);
        let commit = json!({"message": "m", "verification": {"verified": is_signed}});
        let (author, committer) = (json!({"login": author}), json!({"login": committer}));
        return answer(200, &json!({"sha": sha, "commit": commit, "author": author, "committer": committer}));
    }
    if let ("POST", ["pulls", _, "requested_reviewers"]) = (method, words.as_slice()) {
        state.reviewers.insert(name, body);
        return answer(201, &json!({}));
    }
    if let ("POST", ["pulls"]) = (method, words.as_slice())
        && state.limited.as_ref() == Some(&name)
    {
        let limited = json!({"message": "You have exceeded a secondary rate limit"});
        return answer(403, &limited).insert_header("retry-after", "3600");
    }
    let fresh = state.id();
    let Some(place) = state.places.get_mut(&name) else { return missing() };
    if place.archived && method != "GET" {
        return answer(403, &json!({"message": "Repository was archived so is read-only."}));
    }
    if let (["git", "refs", ..], Some(left)) = (words.as_slice(), &mut place.allowed_writes)
        && method != "GET"
    {
        if *left == 0 {
            return answer(403, &json!({"message": "Resource not accessible by integration"}));
        }
        *left -= 1;
    }
    if method == "PATCH"
        && let Some(branch) = place.pushed_meanwhile.take_if(|branch| below.ends_with(branch.as_str()))
    {
        place.git().push(&branch, &[("mine.txt", "my work\n")], "My work");
    }
    match words.as_slice() {
        ["pulls", ..] => pulls(place, &name, (method, &words), &body, &query, fresh),
        ["issues", _, "labels"] => answer(200, &json!([])),
        ["git", "refs", ..] if place.protected && method != "GET" => {
            answer(422, &json!({"message": "Repository rule violations found"}))
        }
        _ => routes::route(&mut place.world, method, &format!("/repos/octo/demo/{below}"), request),
    }
}

fn issues(state: &mut State, method: &str, words: &[&str], body: &Value) -> ResponseTemplate {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let number = words.get(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let show = |number: u64, (title, body, login): &(String, String, String)| {
        json!({"number": number, "html_url": format!("https://github.com/{HOME}/issues/{number}"), "title": title,
               "body": body, "user": {"login": login}})
    };
    match (method, words) {
        ("GET", ["issues"]) => {
            let all: Vec<Value> = state.issues.iter().map(|(number, issue)| show(*number, issue)).collect();
            answer(200, &json!(all))
        }
        ("POST", ["issues"]) => {
            let number = state.id();
            let issue = (text("title"), text("body"), BOT.to_owned());
            state.issues.insert(number, issue.clone());
            answer(201, &show(number, &issue))
        }
        ("GET", ["issues", _]) => {
            state.issues.get(&number).map_or_else(missing, |issue| answer(200, &show(number, issue)))
        }
        ("PATCH", ["issues", _]) => {
            let Some(issue) = state.issues.get_mut(&number) else { return missing() };
            (issue.0, issue.1) = (text("title"), text("body"));
            answer(200, &show(number, issue))
        }
        ("GET", ["issues", _, "comments"]) => {
            let of_issue = state.comments.iter().filter(|(_, (issue, ..))| *issue == number);
            let all: Vec<Value> = of_issue
                .map(|(id, (_, login, text))| json!({"id": id, "body": text, "user": {"login": login}}))
                .collect();
            answer(200, &json!(all))
        }
        _ => missing(),
    }
}

fn pulls(
    place: &mut Place,
    name: &str,
    (method, words): (&str, &[&str]),
    body: &Value,
    query: &BTreeMap<String, String>,
    fresh: u64,
) -> ResponseTemplate {
    let number = words.get(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let owner = name.split('/').next().unwrap_or_default();
    let show = |number: u64, pull: &Pull| {
        let state = if pull.state == "OPEN" { "open" } else { "closed" };
        let url = format!("https://github.com/{name}/pull/{number}");
        json!({"number": number, "state": state, "html_url": url, "title": pull.title})
    };
    match (method, words) {
        ("GET", ["pulls"]) => {
            let wanted = |pull: &Pull| {
                let head = format!("{owner}:{}", pull.branch);
                query.get("head").is_none_or(|wanted| *wanted == head)
                    && query.get("base").is_none_or(|wanted| *wanted == pull.base)
                    && (query.get("state").is_some_and(|state| state == "all") || pull.state == "OPEN")
            };
            let all = place.pulls.iter().filter(|(_, pull)| wanted(pull));
            let all: Vec<Value> = all.map(|(number, pull)| show(*number, pull)).collect();
            answer(200, &json!(all))
        }
        ("POST", ["pulls"]) => {
            let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
            let branch = text("head");
            if place.git().branch(&branch).is_none() {
                return answer(422, &json!({"message": "head is invalid"}));
            }
            let base = text("base");
            let is_same = |pull: &Pull| pull.state == "OPEN" && pull.branch == branch && pull.base == base;
            if place.pulls.values().any(is_same) {
                return answer(422, &json!({"message": "A pull request already exists"}));
            }
            let pull = Pull {
                branch,
                base,
                draft: body["draft"] == true,
                title: text("title"),
                state: "OPEN",
                checks: Some("PENDING"),
                conflicting: false,
                created: SystemTime::now(),
                merge: None,
                files: Vec::new(),
            };
            place.pulls.insert(fresh, pull.clone());
            answer(201, &show(fresh, &pull))
        }
        ("PUT", ["pulls", _, "merge"]) => {
            let Some(pull) = place.pulls.get(&number).cloned() else { return missing() };
            if place.git().branch(&pull.branch).as_deref() != body["sha"].as_str() {
                return answer(409, &json!({"message": "Head branch was modified"}));
            }
            if pull.state != "OPEN" || pull.draft || body["merge_method"] != "merge" {
                return answer(405, &json!({"message": "Squash merges are not allowed on this repository."}));
            }
            place.merge(number);
            answer(200, &json!({"merged": true}))
        }
        ("GET", ["pulls", _, "files"]) => {
            let files = place.files(number).into_iter().map(|file| json!({"filename": file}));
            answer(200, &files.collect())
        }
        ("PATCH", ["pulls", _]) => {
            let files = place.files(number);
            let Some(pull) = place.pulls.get_mut(&number) else { return missing() };
            if body["state"] == "closed" && pull.state == "OPEN" {
                (pull.state, pull.files) = ("CLOSED", files);
            }
            answer(200, &show(number, pull))
        }
        _ => missing(),
    }
}
