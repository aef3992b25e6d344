//! The sticky comment: one for each key, found by its marker *and* its author, and updated in place.

use crate::base::verbose_log::detail;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::api::Api;
use super::comment_marker::{PlanMark, ReviewedMark, RunMark, key_of};
use super::error::ApiError;
use super::login::is_same_login;
use super::operation::{Method, Purpose};

/// The purpose of commenting on a pull request.
const ON_PULL: Purpose = Purpose { doing: "comment", permission: "pull-requests: write" };

/// The purpose of commenting on an issue.
const ON_ISSUE: Purpose = Purpose { doing: "comment", permission: "issues: write" };

/// Maximum number of attempts to find, create or update the comment when a response was lost or the comment
/// disappeared.
const MAX_TRIES: u32 = 3;

/// A comment in the form in which lists and single responses both contain it.
#[derive(Clone, Debug, Deserialize)]
struct Comment {
    id: u64,
    node_id: String,
    html_url: String,
    #[serde(default)]
    body: Option<String>,
    /// `None` if the account was deleted.
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
pub struct StickyComment {
    api: Api,
    number: u64,
    to: Purpose,
    marker: String,
    /// The run that writes the comment, if that is known.
    run: Option<RunMark>,
    author: OnceCell<String>,
    /// The id of the comment, once it was found or created.
    known: Mutex<Option<u64>>,
}

/// The outcome of a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It is at this URL.
    At(String),
    /// It was left as it is, because a later run has written it about a newer commit.
    Outdated,
}

/// A plan that a comment of ours shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownPlan {
    /// The key of the comment.
    pub key: String,
    /// What is needed to apply the plan.
    pub mark: PlanMark,
}

impl StickyComment {
    /// Creates a handle on the comment that begins with `marker`; sends no request.
    pub fn new(api: Api, number: u64, on_pull: bool, marker: String) -> Self {
        let to = if on_pull { ON_PULL } else { ON_ISSUE };
        Self { api, number, to, marker, run: None, author: OnceCell::new(), known: Mutex::default() }
    }

    /// Returns the handle of a run, which does not replace what a later run says of a newer commit.
    #[must_use]
    pub fn of_run(self, run: Option<RunMark>) -> Self {
        Self { run, ..self }
    }

    /// Creates or updates the comment, unless a later run has written it about a newer commit.
    pub async fn put(&self, body: &str) -> Result<Posted, ApiError> {
        let marked = self.run.as_ref().map(|run| run.put_into(body));
        let body = marked.as_deref().unwrap_or(body);
        let known = *self.known.lock();
        if let Some(id) = known {
            match self.update_known(id, body).await {
                // Somebody has deleted it in the meantime.
                Err(error) if error.is_missing() => {}
                answer => return answer,
            }
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let made = match self.find().await? {
                FoundComment::Own(comment) if self.is_outdated(&comment) => return Ok(Posted::Outdated),
                FoundComment::Own(comment) => {
                    let old = comment.body.as_deref().unwrap_or_default();
                    self.update(comment.id, &ReviewedMark::kept(old, body)).await.map(Posted::At)
                }
                FoundComment::Others(abandoned) => self.create(body, &abandoned).await.map(Posted::At),
            };
            match made {
                // The comment may exist although the response was lost, or may just have been deleted: look
                // again.
                Err(ApiError::Unclear { .. }) if tries < MAX_TRIES => {}
                Err(error) if error.is_missing() && tries < MAX_TRIES => {}
                answer => return answer,
            }
        }
    }

    /// Updates a comment that was found before; another run may have written it since.
    async fn update_known(&self, id: u64, body: &str) -> Result<Posted, ApiError> {
        if self.run.is_some() {
            let comment: Comment = self.api.get(&format!("/issues/comments/{id}"), self.to).await?;
            if self.is_outdated(&comment) {
                return Ok(Posted::Outdated);
            }
            let old = comment.body.as_deref().unwrap_or_default();
            return self.update(id, &ReviewedMark::kept(old, body)).await.map(Posted::At);
        }
        self.update(id, body).await.map(Posted::At)
    }

    fn is_outdated(&self, comment: &Comment) -> bool {
        let text = comment.body.as_deref().unwrap_or_default();
        self.run.as_ref().is_some_and(|run| run.is_outdated_by(text))
    }

    /// Returns the text of the comment, if there is one of ours.
    pub async fn text(&self) -> Result<Option<String>, ApiError> {
        Ok(match self.find().await? {
            FoundComment::Own(comment) => comment.body,
            FoundComment::Others(_) => None,
        })
    }

    /// Returns the plans that comments of ours offer to apply, whatever their keys, and the texts of those that offer none.
    pub async fn shown_plans(&self) -> Result<(Vec<ShownPlan>, Vec<String>), ApiError> {
        let author = self.author().await?;
        let (mut plans, mut others) = (Vec::new(), Vec::new());
        let note = |comment: Comment| {
            let text = comment.body.as_deref().filter(|_| comment.is_by(author))?;
            let key = key_of(text)?.to_owned();
            match PlanMark::find(text) {
                Some(mark) => plans.push(ShownPlan { key, mark }),
                None => others.push(text.to_owned()),
            }
            None::<()>
        };
        self.api.find(&self.list(), self.to, note).await?;
        Ok((plans, others))
    }

    async fn find(&self) -> Result<FoundComment, ApiError> {
        let author = self.author().await?;
        let mut abandoned = Vec::new();
        let pick = |comment: Comment| {
            let marked = comment.starts_with(&self.marker);
            if marked && comment.is_by(author) {
                return Some(comment);
            }
            if marked && comment.is_of_the_house() {
                abandoned.push(comment.node_id);
            }
            None
        };
        let own = self.api.find(&self.list(), self.to, pick).await?;
        Ok(own.map_or(FoundComment::Others(abandoned), FoundComment::Own))
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
        *self.known.lock() = Some(id);
    }
}

/// The result of looking for our comment.
enum FoundComment {
    Own(Comment),
    /// Node ids of comments that have our marker and come from an earlier owner of the key.
    Others(Vec<String>),
}

impl Comment {
    fn is_by(&self, author: &str) -> bool {
        self.user.as_ref().is_some_and(|user| is_same_login(&user.login, author))
    }

    fn starts_with(&self, marker: &str) -> bool {
        self.body.as_deref().is_some_and(|body| body.starts_with(marker))
    }

    /// Returns whether the author is a bot, or belongs to the repository. Anybody can write a marker; only
    /// such comments may once have been ours.
    fn is_of_the_house(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.kind == "Bot")
            || matches!(self.author_association.as_str(), "OWNER" | "MEMBER" | "COLLABORATOR")
    }
}

/// A reaction to a comment that starts a run, which shows how far that run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// 👀, the run has started.
    Seen,
    /// 🚀, the run succeeded.
    Done,
    /// 😕, the run did not succeed.
    Failed,
}

/// Adds a reaction to a comment; adding the same one twice has no further effect.
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

/// Returns whether `login` has write permission to the repository. Names that could not be a login have
/// none.
pub async fn may_write(api: &Api, login: &str) -> Result<bool, ApiError> {
    #[derive(Deserialize)]
    struct PermissionResponse {
        permission: String,
    }
    // The login becomes part of the path, and it comes from an event.
    if login.is_empty() || !login.chars().all(|c| c.is_ascii_alphanumeric() || "-_[]".contains(c)) {
        return Ok(false);
    }
    let to = Purpose { doing: "look up a person's permission", permission: "contents: read" };
    match api.get::<PermissionResponse>(&format!("/collaborators/{login}/permission"), to).await {
        // `maintain` and an organization's own roles are reported as one of these as well.
        Ok(PermissionResponse { permission }) => Ok(matches!(permission.as_str(), "admin" | "write")),
        // The repository does not know this login.
        Err(error) if error.is_missing() => Ok(false),
        Err(error) => Err(error),
    }
}
