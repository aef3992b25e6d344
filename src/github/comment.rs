//! The sticky comment: one per key, found by its marker *and* its author, updated in place.

use crate::detail::detail;
use std::sync::Mutex;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::api::{Api, Method, Purpose, is_same_login};
use super::error::ApiError;

/// Commenting on a pull request.
const ON_PULL: Purpose = Purpose { doing: "comment", permission: "pull-requests: write" };

/// Commenting on an issue.
const ON_ISSUE: Purpose = Purpose { doing: "comment", permission: "issues: write" };

/// How often it is looked whether a comment whose answer was lost is there.
const MAX_TRIES: u32 = 3;

/// A comment as both lists and answers give it.
#[derive(Clone, Debug, Deserialize)]
struct Comment {
    id: u64,
    node_id: String,
    html_url: String,
    #[serde(default)]
    body: Option<String>,
    /// `None` where the account is gone.
    user: Option<Author>,
    #[serde(default)]
    author_association: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Author {
    login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

/// The one comment of a key on a pull request or issue.
#[derive(Debug)]
pub struct Sticky {
    api: Api,
    number: u64,
    to: Purpose,
    marker: String,
    author: OnceCell<String>,
    /// Where it was seen last.
    known: Mutex<Option<u64>>,
}

impl Sticky {
    /// The comment that begins with `marker`; nothing is asked yet.
    pub fn new(api: Api, number: u64, on_pull: bool, marker: String) -> Self {
        let to = if on_pull { ON_PULL } else { ON_ISSUE };
        Self { api, number, to, marker, author: OnceCell::new(), known: Mutex::default() }
    }

    /// Creates or updates it; answers with its address.
    pub async fn put(&self, body: &str) -> Result<String, ApiError> {
        let known = *self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(id) = known {
            match self.update(id, body).await {
                // Somebody has deleted it meanwhile.
                Err(error) if error.is_missing() => {}
                answer => return answer,
            }
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let made = match self.find().await? {
                Found::Own(id) => self.update(id, body).await,
                Found::Others(abandoned) => self.create(body, &abandoned).await,
            };
            match made {
                // It may be there all the same, or be gone just now: look again.
                Err(ApiError::Unclear { .. }) if tries < MAX_TRIES => {}
                Err(error) if error.is_missing() && tries < MAX_TRIES => {}
                answer => return answer,
            }
        }
    }

    /// The text of the comment as it stands.
    pub async fn text(&self) -> Result<Option<String>, ApiError> {
        let author = self.author().await?;
        let is_own = |comment: Comment| comment.is_by(author) && comment.starts_with(&self.marker);
        let text = |comment: Comment| comment.body.clone().filter(|_| is_own(comment));
        self.api.find(&self.list(), self.to, text).await
    }

    async fn find(&self) -> Result<Found, ApiError> {
        let author = self.author().await?;
        let mut abandoned = Vec::new();
        let pick = |comment: Comment| {
            let marked = comment.starts_with(&self.marker);
            if marked && comment.is_by(author) {
                return Some(comment.id);
            }
            if marked && comment.is_of_the_house() {
                abandoned.push(comment.node_id);
            }
            None
        };
        let own = self.api.find(&self.list(), self.to, pick).await?;
        Ok(own.map_or(Found::Others(abandoned), Found::Own))
    }

    async fn create(&self, body: &str, abandoned: &[String]) -> Result<String, ApiError> {
        let path = format!("/issues/{}/comments", self.number);
        let created: Comment =
            self.api.send(Method::Post, &path, Some(&json!({ "body": body })), self.to).await?;
        self.remember(created.id);
        // The key has a new owner, such as another token; two comments would contradict each other.
        for id in abandoned {
            if let Err(error) = self.minimise(id).await {
                detail!("could not minimize an older comment: {error}");
            }
        }
        Ok(created.html_url)
    }

    async fn update(&self, id: u64, body: &str) -> Result<String, ApiError> {
        // octocrab's own `update_comment` sends POST where PATCH is documented.
        let path = format!("/issues/comments/{id}");
        let updated: Comment =
            self.api.send(Method::Patch, &path, Some(&json!({ "body": body })), self.to).await?;
        self.remember(id);
        Ok(updated.html_url)
    }

    async fn minimise(&self, id: &str) -> Result<(), ApiError> {
        let query = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) \
                     { minimizedComment { isMinimized } } }";
        self.api.graphql::<Value>(query, json!({ "id": id }), self.to).await.map(drop)
    }

    async fn author(&self) -> Result<&String, ApiError> {
        self.author.get_or_try_init(|| self.api.login()).await
    }

    fn list(&self) -> String {
        format!("/issues/{}/comments", self.number)
    }

    fn remember(&self, id: u64) {
        *self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(id);
    }
}

enum Found {
    Own(u64),
    /// Node ids of comments with our marker by an earlier owner of the key.
    Others(Vec<String>),
}

impl Comment {
    fn is_by(&self, author: &str) -> bool {
        self.user.as_ref().is_some_and(|user| is_same_login(&user.login, author))
    }

    fn starts_with(&self, marker: &str) -> bool {
        self.body.as_deref().is_some_and(|body| body.starts_with(marker))
    }

    /// Anybody can write a marker; those that may have been ours are by bots and by members.
    fn is_of_the_house(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.kind == "Bot")
            || matches!(self.author_association.as_str(), "OWNER" | "MEMBER" | "COLLABORATOR")
    }
}

/// Answers a comment: a comment of its own below it.
pub async fn reply(api: &Api, number: u64, on_pull: bool, body: &str) -> Result<String, ApiError> {
    let to = if on_pull { ON_PULL } else { ON_ISSUE };
    let path = format!("/issues/{number}/comments");
    let created: Comment = api.send(Method::Post, &path, Some(&json!({ "body": body })), to).await?;
    Ok(created.html_url)
}

/// What a reaction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// 👀
    Seen,
    /// 🚀
    Done,
    /// 😕
    Failed,
}

/// Reacts to a comment; the same reaction twice is one.
pub async fn react(api: &Api, comment: u64, reaction: Reaction) -> Result<(), ApiError> {
    let to = Purpose { doing: "react to the comment", permission: "issues: write" };
    let content = match reaction {
        Reaction::Seen => "eyes",
        Reaction::Done => "rocket",
        Reaction::Failed => "confused",
    };
    let path = format!("/issues/comments/{comment}/reactions");
    let body = json!({ "content": content });
    api.send::<Value>(Method::PostAgain, &path, Some(&body), to).await.map(drop)
}

/// Whether somebody has write permission.
pub async fn may_write(api: &Api, login: &str) -> Result<bool, ApiError> {
    #[derive(Deserialize)]
    struct Answer {
        permission: String,
    }
    // A login is part of the path, and comes from an event.
    if login.is_empty() || !login.chars().all(|c| c.is_ascii_alphanumeric() || "-_[]".contains(c)) {
        return Ok(false);
    }
    let to = Purpose { doing: "look up a person's permission", permission: "contents: read" };
    match api.get::<Answer>(&format!("/collaborators/{login}/permission"), to).await {
        // `maintain` and roles of an organisation's own are told as one of these as well.
        Ok(Answer { permission }) => Ok(matches!(permission.as_str(), "admin" | "write")),
        // Nobody that the repository knows.
        Err(error) if error.is_missing() => Ok(false),
        Err(error) => Err(error),
    }
}
