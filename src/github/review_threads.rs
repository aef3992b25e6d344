//! Threads of comments that one of ours began, on a pull request: read, resolved, and left to people who reopen them.

use serde::Deserialize;
use serde_json::json;

use super::api::Api;
use super::error::ApiError;
use super::login::{Login, is_same_login};
use super::operation::REVIEW;
use crate::base::verbose_log::detail;

/// A thread of comments that one of ours began.
pub(super) struct Thread {
    id: String,
    /// The id of its first comment.
    comment: String,
    /// The hidden first line.
    pub(super) marker: String,
    /// What stands below it.
    pub(super) text: String,
    pub(super) state: State,
    /// Whether the lines that it is about have changed since.
    pub(super) is_outdated: bool,
}

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody has resolved it.
    Open,
    /// Nobody has resolved it, and its lines have changed since.
    Outdated,
    /// Somebody has resolved it, and does not want it again.
    Settled,
    /// We have resolved it, because what it says was no longer so.
    Withdrawn,
    /// People have reopened what we had resolved.
    Reopened,
    /// As [`State::Reopened`], which we have noted.
    Kept,
}

/// Returns the threads that comments of ours began, by the beginning of their hidden line.
pub(super) async fn threads(api: &Api, number: u64, ours: &str) -> Result<Vec<Thread>, ApiError> {
    let author = api.login().await?;
    let nodes: Vec<ThreadNode> = api.list_of_pull(THREADS, number, REVIEW).await?;
    Ok(nodes.into_iter().filter_map(|node| node.into_thread(&author, ours)).collect())
}

impl Thread {
    /// Resolves the thread, and notes in its hidden line that it was us: GitHub does not tell bots apart, and a token may be a
    /// person's.
    pub(super) async fn withdraw(&self, api: &Api) -> Result<(), ApiError> {
        self.note(api, Note::Withdrawn).await?;
        let resolved = api.mutate(RESOLVE, json!({ "id": self.id }), REVIEW).await;
        if resolved.is_err() {
            // What is not resolved is not to look so later.
            let _ = self.note(api, Note::None).await;
        }
        resolved.map(drop)
    }

    /// Notes, if people have reopened the thread, that it is theirs to resolve.
    pub(super) async fn keep_reopened(&self, api: &Api) {
        if self.state != State::Reopened {
            return;
        }
        if let Err(error) = self.note(api, Note::Kept).await {
            detail!("could not note that a thread was reopened: {error}");
        }
    }

    async fn note(&self, api: &Api, note: Note) -> Result<(), ApiError> {
        let body = format!("{}{}\n{}", self.marker.trim_end_matches(END), note.end(), self.text);
        api.mutate(UPDATE, json!({"comment": self.comment, "body": body}), REVIEW).await.map(drop)
    }
}

const RESOLVE: &str = "mutation ResolveThread($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }";

const UPDATE: &str = "mutation UpdateReviewComment($comment: ID!, $body: String!) { \
    updatePullRequestReviewComment(input: {pullRequestReviewCommentId: $comment, body: $body}) { clientMutationId } }";

/// The end of a hidden line.
const END: &str = " -->";

/// What a hidden line says of its thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Note {
    None,
    /// We have resolved it.
    Withdrawn,
    /// People have reopened what we had resolved.
    Kept,
}

impl Note {
    fn end(self) -> &'static str {
        match self {
            Self::None => END,
            Self::Withdrawn => " withdrawn -->",
            Self::Kept => " kept -->",
        }
    }

    /// Splits a hidden line into what it is without the note, and the note.
    fn of(line: &str) -> (String, Self) {
        let found = |note: Self| Some((format!("{}{END}", line.strip_suffix(note.end())?), note));
        let noted = found(Self::Withdrawn).or_else(|| found(Self::Kept));
        noted.unwrap_or_else(|| (line.to_owned(), Self::None))
    }
}

const THREADS: &str = "query ReviewThreads($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    entries: reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor } \
    nodes { id isResolved isOutdated comments(first: 1) { nodes { id body author { __typename login } } } } } } } }";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadNode {
    id: String,
    is_resolved: bool,
    is_outdated: bool,
    comments: Comments,
}

impl ThreadNode {
    /// Returns the thread if the author's own comment began it, with a hidden line that begins so.
    fn into_thread(self, author: &str, ours: &str) -> Option<Thread> {
        let first = self.comments.nodes.into_iter().next()?;
        let is_own = first.author.is_some_and(|writer| is_same_login(&writer.login, author));
        // Others may have written above it.
        let line = first.body.lines().find(|line| line.starts_with(ours)).filter(|_| is_own)?;
        let text = first.body.lines().filter(|other| *other != line).collect::<Vec<_>>().join("\n");
        let (marker, note) = Note::of(line.trim_end());
        let state = match (self.is_resolved, note, self.is_outdated) {
            (true, Note::Withdrawn, _) => State::Withdrawn,
            (true, _, _) => State::Settled,
            (false, Note::Withdrawn, _) => State::Reopened,
            (false, Note::Kept, _) => State::Kept,
            (false, Note::None, true) => State::Outdated,
            (false, Note::None, false) => State::Open,
        };
        Some(Thread { id: self.id, comment: first.id, marker, text, state, is_outdated: self.is_outdated })
    }
}

#[derive(Deserialize)]
struct Comments {
    nodes: Vec<FirstComment>,
}

#[derive(Deserialize)]
struct FirstComment {
    id: String,
    body: String,
    author: Option<Login>,
}
