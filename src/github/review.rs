//! Posts suggestions as one review, never the same twice, and closes those that no plan makes any more.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Login, Method, Purpose, is_same_login};
use super::error::ApiError;
use super::suggestion::{MARKER, Suggestion, commentable, suggestions};
use crate::detail::detail;
use crate::workspace::{ChangeSet, FileChange, FileState};

/// Suggestions that stand on a pull request at once.
const MAX_SUGGESTIONS: usize = 30;

const REVIEW: Purpose = Purpose { doing: "suggest changes", permission: "pull-requests: write" };

/// A pull request that gets suggestions.
#[derive(Clone, Debug)]
pub struct Review<'a> {
    /// Its number.
    pub number: u64,
    /// Its head commit.
    pub head: &'a str,
    /// Tells our suggestions from those of other jobs.
    pub key: &'a str,
    /// Where they come from, as harmless Markdown on one line.
    pub origin: &'a str,
    /// The way from the repository to the workspace: empty, or ending in `/`.
    pub prefix: &'a str,
}

/// What became of suggestions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suggested {
    /// New ones.
    pub posted: usize,
    /// Those that stand already, or that somebody has settled.
    pub known: usize,
    /// Those that no plan makes any more.
    pub resolved: usize,
    /// Those that GitHub or the limit did not take.
    pub left_out: usize,
}

/// A file of the pull request's diff.
#[derive(Deserialize)]
struct File {
    filename: String,
    /// The blob at the head.
    #[serde(default)]
    sha: Option<String>,
    #[serde(default)]
    patch: Option<String>,
}

struct Thread {
    id: String,
    marker: String,
    state: State,
}

/// How a suggestion stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It can be taken.
    Open,
    /// Its lines have changed since.
    Outdated,
    /// A person has resolved it, and does not want it again.
    Settled,
    /// We have resolved it, because no plan made it any more.
    Withdrawn,
}

impl Review<'_> {
    /// Posts what of the changes falls on the pull request's lines.
    pub async fn post(&self, api: &Api, changes: &ChangeSet) -> Result<Suggested, ApiError> {
        let wanted = self.fitting(api, changes).await?;
        let threads = self.threads(api).await?;
        let mut sum = Suggested::default();
        let markers: HashSet<String> = wanted.iter().map(|found| found.marker(self.key)).collect();
        for thread in &threads {
            let goes = match thread.state {
                State::Open => !markers.contains(&thread.marker),
                State::Outdated => true,
                State::Settled | State::Withdrawn => false,
            };
            if goes {
                match resolve(api, &thread.id).await {
                    Ok(()) => sum.resolved += 1,
                    Err(error) => detail!("could not resolve a suggestion: {error}"),
                }
            }
        }
        let stands = |thread: &&Thread| matches!(thread.state, State::Open | State::Settled);
        let settled: HashSet<&str> =
            threads.iter().filter(stands).map(|thread| thread.marker.as_str()).collect();
        let (known, mut new): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|found| settled.contains(found.marker(self.key).as_str()));
        sum.known = known.len();
        let is_left = |thread: &&Thread| thread.state == State::Open && markers.contains(&thread.marker);
        let space = MAX_SUGGESTIONS.saturating_sub(threads.iter().filter(is_left).count());
        sum.left_out = new.len().saturating_sub(space);
        new.truncate(space);
        if new.is_empty() {
            return Ok(sum);
        }
        match self.together(api, &new).await {
            Ok(()) => sum.posted = new.len(),
            // One anchor that GitHub does not take is the end of the whole review.
            Err(error) if error.status() == Some(422) => {
                for one in &new {
                    match self.alone(api, one).await {
                        Ok(()) => sum.posted += 1,
                        Err(error) if error.status() == Some(422) => sum.left_out += 1,
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(sum)
    }

    async fn fitting(&self, api: &Api, changes: &ChangeSet) -> Result<Vec<Suggestion>, ApiError> {
        let files: Vec<File> = api.list(&format!("/pulls/{}/files", self.number), REVIEW).await?;
        let files: BTreeMap<&str, &File> = files.iter().map(|file| (file.filename.as_str(), file)).collect();
        let of = |change: &FileChange| {
            let path = format!("{}{}", self.prefix, change.path);
            let file = files.get(path.as_str())?;
            // Line numbers hold only where the plan saw the very file of the head: a checkout of the merge
            // commit may differ.
            if file.sha != change.before.as_ref().map(FileState::blob_id) {
                return None;
            }
            Some(suggestions(change, &path, &commentable(file.patch.as_deref()?)))
        };
        Ok(changes.iter().filter_map(of).flatten().collect())
    }

    /// Our suggestions of earlier runs.
    async fn threads(&self, api: &Api) -> Result<Vec<Thread>, ApiError> {
        let author = api.login().await?;
        let ours = format!("{MARKER}{} ", self.key);
        let (mut threads, mut after) = (Vec::new(), None::<String>);
        loop {
            let variables = json!({
                "owner": api.owner(), "name": api.name(), "number": self.number, "after": after
            });
            let page: ThreadsAnswer = api.graphql(THREADS, variables, REVIEW).await?;
            let page = page.repository.pull_request.review_threads;
            for node in page.nodes {
                let Some(first) = node.comments.nodes.into_iter().next() else { continue };
                let is_own = first.author.is_some_and(|writer| is_same_login(&writer.login, &author));
                let marker = first.body.lines().next().unwrap_or_default().to_owned();
                if is_own && marker.starts_with(&ours) {
                    let state = node.facts.state(&author);
                    threads.push(Thread { id: node.facts.id, marker, state });
                }
            }
            match page.page_info {
                PageInfo { has_next_page: true, end_cursor: Some(cursor) } => after = Some(cursor),
                _ => return Ok(threads),
            }
        }
    }

    async fn together(&self, api: &Api, suggestions: &[Suggestion]) -> Result<(), ApiError> {
        let comments: Vec<Value> = suggestions.iter().map(|one| self.anchored(one)).collect();
        let body = json!({
            "commit_id": self.head,
            "event": "COMMENT",
            "body": format!("{}: {}", self.origin, counted(suggestions.len())),
            "comments": comments,
        });
        let path = format!("/pulls/{}/reviews", self.number);
        api.send::<Value>(Method::Post, &path, Some(&body), REVIEW).await.map(drop)
    }

    async fn alone(&self, api: &Api, suggestion: &Suggestion) -> Result<(), ApiError> {
        let mut body = self.anchored(suggestion);
        body["commit_id"] = json!(self.head);
        let path = format!("/pulls/{}/comments", self.number);
        api.send::<Value>(Method::Post, &path, Some(&body), REVIEW).await.map(drop)
    }

    fn anchored(&self, suggestion: &Suggestion) -> Value {
        let Suggestion { path, first, last, .. } = suggestion;
        let body = suggestion.body(self.key, self.origin);
        let mut comment = json!({"path": path, "body": body, "line": last, "side": "RIGHT"});
        if first < last {
            comment["start_line"] = json!(first);
            comment["start_side"] = json!("RIGHT");
        }
        comment
    }
}

fn counted(count: usize) -> String {
    if count == 1 { "1 suggestion".to_owned() } else { format!("{count} suggestions") }
}

async fn resolve(api: &Api, thread: &str) -> Result<(), ApiError> {
    let query =
        "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }";
    api.graphql::<Value>(query, json!({ "id": thread }), REVIEW).await.map(drop)
}

const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor } \
    nodes { id isResolved isOutdated resolvedBy { login } comments(first: 1) { nodes { body author { login } } } } } } } }";

#[derive(Deserialize)]
struct ThreadsAnswer {
    repository: RepositoryAnswer,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RepositoryAnswer {
    pull_request: PullAnswer,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullAnswer {
    review_threads: Connection,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connection {
    page_info: PageInfo,
    nodes: Vec<ThreadNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
struct ThreadNode {
    #[serde(flatten)]
    facts: Node,
    comments: Comments,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: String,
    is_resolved: bool,
    is_outdated: bool,
    /// A person; of a bot GitHub tells nobody.
    resolved_by: Option<Login>,
}

impl Node {
    fn state(&self, ourselves: &str) -> State {
        match (&self.resolved_by, self.is_resolved, self.is_outdated) {
            (Some(person), true, _) if !is_same_login(&person.login, ourselves) => State::Settled,
            (_, true, _) => State::Withdrawn,
            (_, false, true) => State::Outdated,
            (_, false, false) => State::Open,
        }
    }
}

#[derive(Deserialize)]
struct Comments {
    nodes: Vec<FirstComment>,
}

#[derive(Deserialize)]
struct FirstComment {
    body: String,
    author: Option<Login>,
}
