//! The queries that are played.

use std::time::SystemTime;

use super::{Place, Pull, State};
use crate::support::github::{BOT, answer, references};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use wiremock::ResponseTemplate;

pub(super) fn answer_query(state: &mut State, body: &Value) -> ResponseTemplate {
    let query = body["query"].as_str().unwrap_or_default();
    let variables = &body["variables"];
    if query.contains("viewer") {
        return answer(200, &json!({"data": {"viewer": {"login": BOT}}}));
    }
    let text = |name: String| variables[name].as_str().map(str::to_owned);
    if query.contains("query RepositoryId") {
        let name =
            format!("{}/{}", variables["owner"].as_str().unwrap(), variables["name"].as_str().unwrap());
        return answer(200, &json!({"data": {"repository": {"id": name}}}));
    }
    if query.contains("mutation UpdateRefs") {
        let mut input = variables["input"].clone();
        let place = state.places.get_mut(input["repositoryId"].as_str().unwrap()).expect("a place");
        if let Some(branch) = place.pushed_meanwhile.take() {
            place.git().push(&branch, &[("mine.txt", "my work\n")], "My work");
        }
        input["repositoryId"] = references::REPOSITORY.into();
        return references::update(&mut place.world, &input);
    }
    if query.contains("revertPullRequest") {
        let number: u64 =
            text("id".to_owned()).and_then(|id| id.rsplit('_').next()?.parse().ok()).expect("an id");
        let fresh = state.id();
        let place =
            state.places.values_mut().find(|place| place.pulls.contains_key(&number)).expect("a place");
        let pull = place.pulls[&number].clone();
        let branch = format!("revert-{number}-{}", pull.branch);
        let (git, merge) = (place.git(), pull.merge.clone().expect("it is merged"));
        let before = git.parents(&merge).remove(0);
        let main = git.branch("main").expect("main is there");
        let message = format!("Revert\n\nThis reverts commit {merge}.");
        let commit = git.write_commit(&git.tree_of(&before), &[main], &message);
        git.set(&format!("refs/heads/{branch}"), &commit);
        let title = format!("Revert #{number}");
        let revert = Pull { branch, title, state: "OPEN", created: SystemTime::now(), merge: None, ..pull };
        place.pulls.insert(fresh, revert);
        return answer(
            200,
            &json!({"data": {"revertPullRequest": {"revertPullRequest": {"number": fresh}}}}),
        );
    }
    if query.contains("query BranchesBelow") {
        return branches_below(state, variables);
    }
    let (mut data, mut errors) = (serde_json::Map::new(), Vec::new());
    for at in 0.. {
        let (Some(owner), Some(name)) = (text(format!("o{at}")), text(format!("n{at}"))) else { break };
        let key = format!("{owner}/{name}");
        let Some((key, place)) = state.find(&key) else {
            errors.push(
                json!({"type": "NOT_FOUND", "path": [format!("t{at}")], "message": "Could not resolve"}),
            );
            data.insert(format!("t{at}"), Value::Null);
            continue;
        };
        let pulls = |branch: Option<String>| {
            let of_branch = place.pulls.iter().filter(|(_, pull)| Some(&pull.branch) == branch.as_ref());
            let nodes: Vec<Value> = of_branch.map(|(number, pull)| show_pull(place, *number, pull)).collect();
            json!({ "nodes": nodes })
        };
        let head = place.git().branch("main").map(|oid| {
            let messages: Vec<Value> = place
                .git()
                .text(&["log", "-30", "--format=%B%x00", &oid])
                .unwrap_or_default()
                .split('\0')
                .map(|message| json!({ "message": message }))
                .collect();
            json!({"name": "main", "target": {"oid": oid, "history": {"nodes": messages}}})
        });
        let mut answer = json!({
            "nameWithOwner": place.renamed.as_ref().unwrap_or(key), "isArchived": place.archived,
            "defaultBranchRef": head, "pulls": pulls(text(format!("b{at}")))
        });
        for (name, branch) in variables.as_object().expect("variables") {
            if let Some(number) = name.strip_prefix(&format!("r{at}_")) {
                answer[format!("revert{number}")] = pulls(branch.as_str().map(str::to_owned));
            }
        }
        if let Some(path) = text("file".to_owned()).as_deref().and_then(|object| object.strip_prefix("HEAD:"))
        {
            let is_there =
                place.git().branch("main").is_some_and(|main| place.git().show(&main, path).is_some());
            answer["file"] = if is_there { json!({"oid": "0"}) } else { Value::Null };
        }
        data.insert(format!("t{at}"), answer);
    }
    let mut whole = json!({ "data": data });
    if !errors.is_empty() {
        whole["errors"] = json!(errors);
    }
    answer(200, &whole)
}

/// The branches below a name, two at a time.
fn branches_below(state: &State, variables: &Value) -> ResponseTemplate {
    const AT_ONCE: usize = 2;
    let prefix = variables["prefix"].as_str().expect("a prefix");
    let repositories = variables.as_object().expect("variables").iter();
    let places = repositories.filter_map(|(name, owner)| {
        let at: usize = name.strip_prefix('o')?.parse().ok()?;
        let name = variables[format!("n{at}")].as_str()?;
        Some((at, state.find(&format!("{}/{name}", owner.as_str()?)).map(|(_, place)| place)))
    });
    let show = |(at, place): (usize, Option<&Place>)| {
        let listed = place?.git().text(&["for-each-ref", "--format=%(refname)", prefix]);
        let listed = listed.unwrap_or_default();
        let names: Vec<&str> = listed.lines().filter_map(|name| name.strip_prefix("refs/heads/")).collect();
        let from = variables[format!("a{at}")].as_str().map_or(0, |after| after.parse().expect("a cursor"));
        let to = names.len().min(from + AT_ONCE);
        let nodes: Vec<Value> = names[from..to].iter().map(|name| json!({ "name": name })).collect();
        let page = json!({"hasNextPage": to < names.len(), "endCursor": to.to_string()});
        Some((format!("t{at}"), json!({"refs": {"nodes": nodes, "pageInfo": page}})))
    };
    let data: serde_json::Map<String, Value> = places.filter_map(show).collect();
    answer(200, &json!({ "data": data }))
}

fn show_pull(place: &Place, number: u64, pull: &Pull) -> Value {
    let head = place.git().branch(&pull.branch).unwrap_or_else(|| "0".repeat(40));
    let rollup = pull.checks.map(|state| json!({ "state": state }));
    json!({
        "id": format!("PR_{number}"), "number": number, "state": pull.state, "headRefOid": head,
        "baseRefName": pull.base, "isCrossRepository": false, "isDraft": pull.draft, "mergeable": if pull.conflicting { "CONFLICTING" } else { "MERGEABLE" },
        "createdAt": OffsetDateTime::from(pull.created).format(&Rfc3339).expect("a time"),
        "mergeCommit": pull.merge.as_ref().map(|oid| json!({ "oid": oid })),
        "commits": {"nodes": [{"commit": {"statusCheckRollup": rollup}}]}
    })
}
