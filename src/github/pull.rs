//! Pull requests: the facts that an event leaves out, and the one that another workflow's run was about.

use serde::Deserialize;

use super::api::Api;
use super::environment::{About, Environment, Head, OtherRun, Subject, moment};
use super::error::ApiError;
use super::operation::Purpose;
use super::url_encoding::in_query;

const READ: Purpose = Purpose { doing: "read the pull request", permission: "pull-requests: read" };

/// A pull request, as GitHub's API describes it.
#[derive(Clone, Debug, Deserialize)]
pub struct Pull {
    /// The number of the pull request.
    pub number: u64,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: Option<String>,
    /// `open` or `closed`.
    pub state: String,
    /// The branch that it wants to merge.
    pub head: Side,
    /// The branch that it wants to merge into.
    pub base: Side,
    /// Whether it can be merged without conflicts; `None` until GitHub has found out.
    #[serde(default)]
    pub mergeable: Option<bool>,
    #[serde(default)]
    user: Option<Author>,
    #[serde(default)]
    additions: Option<u64>,
    #[serde(default)]
    deletions: Option<u64>,
    #[serde(default)]
    changed_files: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
struct Author {
    login: String,
}

/// The head or base of a pull request.
#[derive(Clone, Debug, Deserialize)]
pub struct Side {
    /// The commit at the tip of the branch.
    pub sha: String,
    /// The name of the branch.
    #[serde(rename = "ref")]
    pub branch: String,
    repo: Option<Repository>,
}

#[derive(Clone, Debug, Deserialize)]
struct Repository {
    full_name: String,
    #[serde(default)]
    pushed_at: Option<String>,
}

impl Pull {
    /// Fetches a pull request by its number.
    pub async fn get(api: &Api, number: u64) -> Result<Self, ApiError> {
        api.get(&format!("/pulls/{number}"), READ).await
    }

    /// Finds the open pull request that a run of another workflow was about, by branch and commit. GitHub
    /// is asked because the artifacts of that run could claim anything.
    pub async fn of_run(api: &Api, run: &OtherRun) -> Result<Option<Self>, ApiError> {
        let Some(head) = &run.head else { return Ok(None) };
        let head = in_query(head);
        let is_it = |pull: Self| Some(pull).filter(|pull| pull.head.sha == run.head_sha);
        api.find(&format!("/pulls?state=open&head={head}"), READ, is_it).await
    }

    /// Returns the login of its author, unless the account was deleted.
    pub fn author(&self) -> Option<&str> {
        self.user.as_ref().map(|user| user.login.as_str())
    }

    /// Returns whether the pull request comes from another repository, or from one that was deleted.
    pub fn is_fork(&self) -> bool {
        let name = |side: &Side| side.repo.as_ref().map(|repo| repo.full_name.to_lowercase());
        name(&self.head).is_none() || name(&self.head) != name(&self.base)
    }

    /// Returns the pull request as the subject of an event.
    pub fn subject(&self) -> Subject {
        Subject::PullRequest {
            number: self.number,
            base: Some(self.base.sha.clone()),
            head: Some(Head {
                sha: self.head.sha.clone(),
                branch: self.head.branch.clone(),
                pushed_at: self.head.repo.as_ref().and_then(|repo| moment(repo.pushed_at.as_deref()?)),
            }),
            fork: self.is_fork(),
        }
    }

    /// Returns its texts and size.
    fn about(&self) -> About {
        let size = self.additions.zip(self.deletions).zip(self.changed_files);
        About {
            title: self.title.clone(),
            body: self.body.clone().unwrap_or_default(),
            size: size.map(|((added, removed), files)| (added, removed, files)),
        }
    }
}

/// Adds to an event about a pull request what its payload leaves out, as for comments. Sends a request only
/// then.
pub async fn complete(api: &Api, environment: &mut Environment) -> Result<(), ApiError> {
    if let Subject::PullRequest { number, head: None, .. } = environment.subject {
        let pull = Pull::get(api, number).await?;
        environment.subject = pull.subject();
        environment.about = Some(pull.about());
    }
    Ok(())
}
