//! Actions on pull requests: merging, closing, reverting, and requesting reviews.

use serde::Deserialize;
use serde_json::{Value, json};

use super::api::Api;
use super::commit::Commit;
use super::error::ApiError;
use super::operation::{Method, Purpose};
use super::swap;
use super::url_encoding::in_query;

const MERGE: Purpose = Purpose { doing: "merge the pull request", permission: "contents: write" };
const CLOSE: Purpose = Purpose { doing: "close the pull request", permission: "pull-requests: write" };
const REVERT: Purpose = Purpose { doing: "revert the pull request", permission: "pull-requests: write" };
const REVIEWERS: Purpose = Purpose { doing: "ask for a review", permission: "pull-requests: write" };
const LOOK: Purpose = Purpose { doing: "look for pull requests", permission: "pull-requests: read" };

/// Merges a pull request whose head is still this commit, in the first way that the repository allows.
pub async fn merge_pull(api: &Api, number: u64, head: &str) -> Result<(), ApiError> {
    let path = format!("/pulls/{number}/merge");
    let mut refused = None;
    for method in ["squash", "merge", "rebase"] {
        let body = json!({"sha": head, "merge_method": method});
        match api.send::<Value>(Method::Put, &path, Some(&body), MERGE).await {
            // This way of merging is not allowed, or none is.
            Err(error) if error.status() == Some(405) => refused = refused.or(Some(error)),
            answer => return answer.map(drop),
        }
    }
    refused.map_or(Ok(()), Err)
}

/// A branch of ours.
#[derive(Clone, Copy, Debug)]
pub struct OwnBranch<'a> {
    /// Its name.
    pub name: &'a str,
    /// A commit of the branch that it is for.
    pub base: &'a str,
    /// The key of the job whose commits are on it.
    pub key: &'a str,
}

/// Closes a pull request and deletes its branch. Returns `false` if the branch stays, because it has commits of others, or
/// because GitHub does not compare before it deletes.
pub async fn close_pull(api: &Api, number: u64, branch: OwnBranch<'_>) -> Result<bool, ApiError> {
    let tip = Commit::tip(api, branch.name).await?;
    let foreign = match &tip {
        Some(tip) => tip.foreign_since(api, branch.base, branch.key).await?,
        None => None,
    };
    let body = json!({"state": "closed"});
    api.send::<Value>(Method::Patch, &format!("/pulls/{number}"), Some(&body), CLOSE).await?;
    match tip.filter(|_| foreign.is_none()) {
        Some(tip) => swap::delete(api, branch.name, &tip.sha).await,
        None => Ok(foreign.is_none()),
    }
}

/// Opens a pull request that takes a merged one back. Sent once: whether a lost one has arrived is seen later.
pub async fn revert_pull(api: &Api, node: &str, title: &str) -> Result<(), ApiError> {
    let query = "mutation($id: ID!, $title: String!) { revertPullRequest(input: {pullRequestId: $id, title: $title}) \
                 { revertPullRequest { number } } }";
    let variables = json!({"id": node, "title": title});
    let done = api.graphql_by::<Value>(Method::Post, |_| false, query, variables, REVERT).await?;
    check_revert(&done)
}

/// Checks that a mutation has opened a pull request: a gap in its data stands for what was not done.
fn check_revert(done: &Value) -> Result<(), ApiError> {
    if done["revertPullRequest"]["revertPullRequest"]["number"].is_u64() {
        return Ok(());
    }
    Err(ApiError::Unclear { doing: REVERT.doing, message: "no pull request was opened".to_owned() })
}

/// Asks people and teams for a review. `owners` are in the form of `CODEOWNERS`; addresses are left out.
pub async fn ask_for_review(api: &Api, number: u64, owners: &[String]) -> Result<(), ApiError> {
    let names = owners.iter().filter_map(|owner| owner.strip_prefix('@'));
    let (teams, people): (Vec<&str>, Vec<&str>) = names.partition(|name| name.contains('/'));
    // Teams of other organizations cannot be asked.
    let split = teams.into_iter().filter_map(|team| team.split_once('/'));
    let own = split.filter(|(organization, _)| organization.eq_ignore_ascii_case(api.owner()));
    let teams: Vec<&str> = own.map(|(_, name)| name).collect();
    if teams.is_empty() && people.is_empty() {
        return Ok(());
    }
    let body = json!({"reviewers": people, "team_reviewers": teams});
    let path = format!("/pulls/{number}/requested_reviewers");
    api.send::<Value>(Method::PostAgain, &path, Some(&body), REVIEWERS).await.map(drop)
}

/// Returns the number of the newest pull request from one branch to another that is newer than `past`, and whether it is open.
pub async fn newest_pull(
    api: &Api,
    branch: &str,
    onto: &str,
    past: u64,
) -> Result<Option<(u64, bool)>, ApiError> {
    #[derive(Deserialize)]
    struct Pull {
        number: u64,
        state: String,
    }
    let head = format!("{}:{branch}", api.owner());
    let [head, base] = [head.as_str(), onto].map(in_query);
    let pulls: Vec<Pull> = api.list(&format!("/pulls?state=all&head={head}&base={base}"), LOOK).await?;
    let later = pulls.into_iter().filter(|pull| pull.number > past);
    let found = later.max_by_key(|pull| (pull.state == "open", pull.number));
    Ok(found.map(|pull| (pull.number, pull.state == "open")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revert_is_done_only_if_it_opened_a_pull_request() {
        assert!(check_revert(&json!({"revertPullRequest": {"revertPullRequest": {"number": 7}}})).is_ok());
        for gap in [
            json!(null),
            json!({"revertPullRequest": null}),
            json!({"revertPullRequest": {"revertPullRequest": null}}),
            json!({"revertPullRequest": {"revertPullRequest": {"number": null}}}),
        ] {
            let error = check_revert(&gap).expect_err("nothing was done").to_string();
            assert!(error.contains("no pull request was opened"), "{gap}: {error}");
        }
    }
}
