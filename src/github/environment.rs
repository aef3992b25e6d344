//! What the runner tells a step: variables and the event's payload.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::payload::{Payload, User};

/// A commit that a pull request starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The commit.
    pub sha: String,
    /// The branch.
    pub branch: String,
}

/// What the event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A pull request.
    PullRequest {
        /// Its number.
        number: u64,
        /// The commit that it is based on, where the event tells.
        base: Option<String>,
        /// What it wants to merge, where the event tells.
        head: Option<Head>,
        /// Whether it comes from a fork, whose tokens can only read.
        fork: bool,
    },
    /// An issue.
    Issue {
        /// Its number.
        number: u64,
    },
    /// A push, a schedule, a person who pressed a button.
    Repository,
}

/// What the event's pull request or issue says; anybody may have written it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// Lines added and removed, and files changed, as GitHub counts them.
    pub size: Option<(u64, u64, u64)>,
}

/// Who caused an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The login.
    pub login: String,
    /// Whether it is a bot.
    pub bot: bool,
}

/// A comment that an event tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentFacts {
    /// Its id.
    pub id: u64,
    /// What it says; anybody may have written it.
    pub body: String,
    /// Who wrote it.
    pub author: Option<Person>,
}

/// The run of another workflow that an event tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRun {
    /// Its id.
    pub id: u64,
    /// The commit that it ran on.
    pub head_sha: String,
    /// `owner:branch`, as lists of pull requests are searched by.
    pub head: Option<String>,
    /// Its event.
    pub event: String,
}

/// The runner's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// `owner`
    pub owner: String,
    /// `repository`
    pub repository: String,
    /// Base of the REST API.
    pub api_url: String,
    /// Address of the GraphQL API.
    pub graphql_url: String,
    /// Where people look at it.
    pub server_url: String,
    /// Page of this run.
    pub run_url: Option<String>,
    /// Number of this run.
    pub run_id: Option<u64>,
    /// Whether a runner of GitHub's runs this.
    pub in_actions: bool,
    /// Name of the event.
    pub event: String,
    /// What has happened to the event's subject.
    pub action: Option<String>,
    /// Who caused it.
    pub sender: Option<Person>,
    /// The comment on an issue or pull request that it tells of.
    pub comment: Option<CommentFacts>,
    /// The label that was given.
    pub label: Option<String>,
    /// The run of another workflow that has ended.
    pub other_run: Option<OtherRun>,
    /// What the event is about.
    pub subject: Subject,
    /// What that says.
    pub about: Option<About>,
    /// The commit that the event is about.
    pub sha: Option<String>,
    /// The branch that the event is about, if it is about one.
    pub branch: Option<String>,
    /// The branch that everything goes to in the end.
    pub default_branch: Option<String>,
    /// The job's token.
    pub token: Option<String>,
}

/// Why the environment makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The payload cannot be read.
    #[error("could not read the event file {path}: {error}; check `event` (or `GITHUB_EVENT_PATH`)")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The payload is no JSON object of the known form.
    #[error("the event file {path} is not a GitHub event: {error}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Why.
        error: serde_json::Error,
    },
    /// No `owner/repository`.
    #[error("invalid value {0:?} for `GITHUB_REPOSITORY`; use `owner/repository`")]
    Repository(String),
}

impl Environment {
    /// Reads the variables and the payload; `None` outside of GitHub (no repository, no event).
    pub fn read(
        variables: &BTreeMap<String, String>,
        event: Option<PathBuf>,
    ) -> Result<Option<Self>, EnvironmentError> {
        let get = |name: &str| variables.get(name).filter(|value| !value.trim().is_empty()).cloned();
        let payload = match event.or_else(|| get("GITHUB_EVENT_PATH").map(PathBuf::from)) {
            Some(path) => match std::fs::read(&path) {
                Ok(bytes) => serde_json::from_slice(&bytes)
                    .map_err(|error| EnvironmentError::Invalid { path: path.clone(), error })?,
                Err(error) => return Err(EnvironmentError::Unreadable { path, error }),
            },
            None => Payload::default(),
        };
        let full_name =
            get("GITHUB_REPOSITORY").or_else(|| Some(payload.repository.as_ref()?.full_name.clone()));
        let Some(full_name) = full_name else { return Ok(None) };
        let Some((owner, repository)) = full_name.split_once('/').filter(|(_, name)| !name.contains('/'))
        else {
            return Err(EnvironmentError::Repository(full_name));
        };
        let api_url = get("GITHUB_API_URL").unwrap_or_else(|| "https://api.github.com".to_owned());
        let api_url = api_url.trim_end_matches('/').to_owned();
        // On GitHub Enterprise Server: HOST/api/v3 and HOST/api/graphql.
        let graphql_url = get("GITHUB_GRAPHQL_URL").unwrap_or_else(|| match api_url.strip_suffix("/v3") {
            Some(api) => format!("{api}/graphql"),
            None => format!("{api_url}/graphql"),
        });
        let event = get("GITHUB_EVENT_NAME").unwrap_or_else(|| likely_event(&payload).to_owned());
        let server = get("GITHUB_SERVER_URL").unwrap_or_else(|| "https://github.com".to_owned());
        Ok(Some(Self {
            owner: owner.to_owned(),
            repository: repository.to_owned(),
            run_url: get("GITHUB_RUN_ID").map(|id| format!("{server}/{full_name}/actions/runs/{id}")),
            run_id: get("GITHUB_RUN_ID").and_then(|id| id.parse().ok()),
            server_url: server,
            in_actions: get("GITHUB_ACTIONS").as_deref() == Some("true"),
            action: payload.action.clone(),
            sender: payload.sender.as_ref().map(person).or_else(|| {
                let login = get("GITHUB_ACTOR")?;
                Some(Person { bot: login.ends_with("[bot]"), login })
            }),
            comment: payload.comment.as_ref().filter(|_| event == "issue_comment").map(|comment| {
                CommentFacts {
                    id: comment.id,
                    body: comment.body.clone().unwrap_or_default(),
                    author: comment.user.as_ref().map(person),
                }
            }),
            label: payload.label.as_ref().map(|label| label.name.clone()),
            other_run: other_run(&payload),
            branch: get("GITHUB_REF").and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())),
            default_branch: payload.repository.as_ref().and_then(|repo| repo.default_branch.clone()),
            event,
            subject: subject(&payload, get("GITHUB_SHA")),
            about: about(&payload),
            sha: get("GITHUB_SHA"),
            token: get("INPUT_GITHUB-TOKEN")
                .or_else(|| get("INPUT_GITHUB_TOKEN"))
                .or_else(|| get("GITHUB_TOKEN"))
                .or_else(|| get("GH_TOKEN")),
            api_url,
            graphql_url,
        }))
    }

    /// Whether the event is about a pull request from a fork.
    pub fn is_fork(&self) -> bool {
        matches!(self.subject, Subject::PullRequest { fork: true, .. })
    }

    /// Tells whether the event is the end of another workflow's run, of which nobody knows what it worked on.
    pub fn is_after_another_run(&self) -> bool {
        self.event == "workflow_run"
    }

    /// The branch that changes go to, if nobody names another: the one that the event is about.
    pub fn base_branch(&self) -> Option<String> {
        let about_branch = matches!(self.event.as_str(), "push" | "workflow_dispatch" | "schedule");
        self.branch
            .clone()
            .filter(|_| about_branch)
            .or_else(|| self.default_branch.clone())
            .or(self.branch.clone())
    }

    /// Whether the event is about a pull request.
    pub fn is_on_pull(&self) -> bool {
        matches!(self.subject, Subject::PullRequest { .. })
    }

    /// The pull request or issue that a comment can go to.
    pub fn number(&self) -> Option<u64> {
        match self.subject {
            Subject::PullRequest { number, .. } | Subject::Issue { number } => Some(number),
            Subject::Repository => None,
        }
    }
}

/// The event that a payload is of, where no runner says so.
fn likely_event(payload: &Payload) -> &'static str {
    match (&payload.pull_request, &payload.issue, &payload.comment) {
        (Some(_), ..) => "pull_request",
        (_, Some(_), Some(_)) => "issue_comment",
        (_, Some(_), None) => "issues",
        _ => "unknown",
    }
}

fn person(user: &User) -> Person {
    let bot = user.kind.as_deref() == Some("Bot") || user.login.ends_with("[bot]");
    Person { login: user.login.clone(), bot }
}

fn other_run(payload: &Payload) -> Option<OtherRun> {
    let run = payload.workflow_run.as_ref()?;
    let owner = run.head_repository.as_ref().and_then(|repo| repo.full_name.split('/').next());
    let head = owner.zip(run.head_branch.as_ref()).map(|(owner, branch)| format!("{owner}:{branch}"));
    Some(OtherRun { id: run.id, head_sha: run.head_sha.clone(), head, event: run.event.clone() })
}

fn about(payload: &Payload) -> Option<About> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    if let Some(pull) = &payload.pull_request {
        let size = pull.additions.zip(pull.deletions).zip(pull.changed_files);
        let size = size.map(|((added, removed), files)| (added, removed, files));
        return Some(About { title: text(&pull.title), body: text(&pull.body), size });
    }
    let issue = payload.issue.as_ref()?;
    Some(About { title: text(&issue.title), body: text(&issue.body), size: None })
}

fn subject(payload: &Payload, sha: Option<String>) -> Subject {
    if let Some(pull) = &payload.pull_request {
        let head = pull.head.repo.as_ref().map(|repo| &repo.full_name);
        let base = pull.base.repo.as_ref().map(|repo| &repo.full_name);
        // A head whose repository is gone was a fork.
        return Subject::PullRequest {
            number: pull.number,
            base: Some(pull.base.sha.clone()),
            head: Some(Head { sha: pull.head.sha.clone(), branch: pull.head.branch.clone() }),
            fork: head != base,
        };
    }
    match &payload.issue {
        // For a comment on a pull request GITHUB_SHA is the default branch, which its author cannot
        // change; whether the pull request is from a fork the event does not tell, so it counts as one.
        Some(issue) if issue.pull_request.is_some() => {
            Subject::PullRequest { number: issue.number, base: sha, head: None, fork: true }
        }
        Some(issue) => Subject::Issue { number: issue.number },
        None => Subject::Repository,
    }
}
