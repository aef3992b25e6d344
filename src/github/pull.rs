//! Pull requests: what an event leaves out, and which one a run of another workflow belongs to.

use serde::Deserialize;

use super::api::{Api, Purpose};
use super::environment::{About, Environment, Head, OtherRun, Subject};
use super::error::ApiError;

const READ: Purpose = Purpose { doing: "read the pull request", permission: "pull-requests: read" };

/// A pull request as GitHub tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: Option<String>,
    /// `open` or `closed`.
    pub state: String,
    /// What it wants to merge.
    pub head: Side,
    /// Where to.
    pub base: Side,
    #[serde(default)]
    additions: Option<u64>,
    #[serde(default)]
    deletions: Option<u64>,
    #[serde(default)]
    changed_files: Option<u64>,
}

/// One side of a pull request.
#[derive(Clone, Debug, Deserialize)]
pub struct Side {
    /// The commit.
    pub sha: String,
    /// The branch.
    #[serde(rename = "ref")]
    pub branch: String,
    repo: Option<Repository>,
}

#[derive(Clone, Debug, Deserialize)]
struct Repository {
    full_name: String,
}

impl Pull {
    /// Asks for a pull request.
    pub async fn get(api: &Api, number: u64) -> Result<Self, ApiError> {
        api.get(&format!("/pulls/{number}"), READ).await
    }

    /// The open pull request that a run of another workflow was about. Its artifacts could say anything;
    /// this is what GitHub says.
    pub async fn of_run(api: &Api, run: &OtherRun) -> Result<Option<Self>, ApiError> {
        let Some(head) = &run.head else { return Ok(None) };
        let head: String = percent_encoding::utf8_percent_encode(head, super::IN_QUERY).collect();
        let is_it = |pull: Self| Some(pull).filter(|pull| pull.head.sha == run.head_sha);
        api.find(&format!("/pulls?state=open&head={head}"), READ, is_it).await
    }

    /// Whether it comes from another repository.
    pub fn is_fork(&self) -> bool {
        let name = |side: &Side| side.repo.as_ref().map(|repo| repo.full_name.to_lowercase());
        name(&self.head).is_none() || name(&self.head) != name(&self.base)
    }

    /// What a run is then about.
    pub fn subject(&self) -> Subject {
        Subject::PullRequest {
            number: self.number,
            base: Some(self.base.sha.clone()),
            head: Some(Head { sha: self.head.sha.clone(), branch: self.head.branch.clone() }),
            fork: self.is_fork(),
        }
    }

    /// What it says.
    fn about(&self) -> About {
        let size = self.additions.zip(self.deletions).zip(self.changed_files);
        About {
            title: self.title.clone(),
            body: self.body.clone().unwrap_or_default(),
            size: size.map(|((added, removed), files)| (added, removed, files)),
        }
    }
}

/// Completes what an event about a pull request leaves out.
pub async fn complete(api: &Api, environment: &mut Environment) -> Result<(), ApiError> {
    if let Subject::PullRequest { number, head: None, .. } = environment.subject {
        let pull = Pull::get(api, number).await?;
        environment.subject = pull.subject();
        environment.about = Some(pull.about());
    }
    Ok(())
}
