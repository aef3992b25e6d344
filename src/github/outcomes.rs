//! The outcome of the pull requests that this program has opened.

use serde::Deserialize;
use serde_json::json;

use super::api::Api;
use super::error::ApiError;
use super::graphql::Connection;
use super::operation::Purpose;
use super::trailers::{Author, key_of};

/// Maximum number of pages of fifty pull requests.
const MAX_PAGES: usize = 200;

const READ: Purpose = Purpose { doing: "list pull requests", permission: "pull-requests: read" };

const QUERY: &str = "query Outcomes($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(first: 50, after: $after, orderBy: {field: CREATED_AT, direction: DESC}) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number url state createdAt isCrossRepository
        commits(first: 50) { totalCount nodes { commit { message } } }
      }
    }
  }
}";

/// The outcome of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It was merged as it was delivered.
    Merged,
    /// It was merged with commits of people.
    Changed,
    /// It was closed.
    Closed,
    /// It is open.
    Open,
}

/// A pull request of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullOutcome {
    /// The key of the job that delivered it.
    pub key: String,
    /// Who made the changes.
    pub author: Author,
    /// The number.
    pub number: u64,
    /// The page.
    pub url: String,
    /// When it was opened: RFC 3339.
    pub created_at: String,
    /// What became of it.
    pub fate: Fate,
}

#[derive(Deserialize)]
struct Data {
    repository: Repository,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Repository {
    pull_requests: Connection<Node>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    number: u64,
    url: String,
    state: State,
    created_at: String,
    is_cross_repository: bool,
    commits: Commits,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum State {
    Open,
    Closed,
    Merged,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commits {
    total_count: usize,
    nodes: Vec<CommitNode>,
}

#[derive(Deserialize)]
struct CommitNode {
    commit: Message,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

impl Node {
    /// Returns the outcome, if one of its commits is ours.
    fn outcome(self) -> Option<PullOutcome> {
        let messages: Vec<&str> =
            self.commits.nodes.iter().map(|node| node.commit.message.as_str()).collect();
        let first = messages.iter().find(|message| key_of(message).is_some())?;
        let is_ours_alone = self.commits.total_count == messages.len()
            && messages.iter().all(|message| key_of(message).is_some());
        Some(PullOutcome {
            key: key_of(first)?.to_owned(),
            author: Author::of(first),
            number: self.number,
            url: self.url,
            created_at: self.created_at,
            fate: match self.state {
                State::Open => Fate::Open,
                State::Closed => Fate::Closed,
                State::Merged if is_ours_alone => Fate::Merged,
                State::Merged => Fate::Changed,
            },
        })
    }
}

/// Lists the pull requests of ours that were opened since a time (RFC 3339, UTC), newest first.
pub async fn outcomes(api: &Api, since: &str) -> Result<Vec<PullOutcome>, ApiError> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let variables = json!({"owner": api.owner(), "name": api.name(), "after": after});
        let Data { repository } = api.graphql(QUERY, variables, READ).await?;
        let (nodes, next) = repository.pull_requests.into_parts();
        let is_over = nodes.iter().any(|node| node.created_at.as_str() < since);
        let recent =
            nodes.into_iter().filter(|node| node.created_at.as_str() >= since && !node.is_cross_repository);
        found.extend(recent.filter_map(Node::outcome));
        after = next.filter(|_| !is_over);
        if after.is_none() {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::github::trailer;

    #[test]
    fn fate_tells_what_people_did() {
        let node = |state: &str, commits: &[&str], more: usize| {
            let nodes: Vec<_> =
                commits.iter().map(|message| json!({"commit": {"message": message}})).collect();
            let node = json!({
                "number": 7, "url": "u", "state": state, "createdAt": "2026-11-01T00:00:00Z", "isCrossRepository": false,
                "commits": {"totalCount": commits.len() + more, "nodes": nodes}
            });
            serde_json::from_value::<Node>(node)
                .expect("a node")
                .outcome()
                .map(|outcome| (outcome.key, outcome.fate))
        };
        let ours = format!("Do it\n\n{}", trailer("nightly-a"));
        let found = |fate| Some(("nightly-a".to_owned(), fate));
        assert_eq!(node("MERGED", &[&ours], 0), found(Fate::Merged));
        assert_eq!(node("MERGED", &[&ours, "mend it"], 0), found(Fate::Changed));
        assert_eq!(node("MERGED", &[&ours], 60), found(Fate::Changed));
        assert_eq!(node("CLOSED", &[&ours], 0), found(Fate::Closed));
        assert_eq!(node("OPEN", &["first", &ours], 0), found(Fate::Open));
        assert_eq!(node("MERGED", &["of people"], 0), None);
    }
}
