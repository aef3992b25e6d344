//! The runner's description of a step: environment variables and the payload of the event.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sanitize::untrusted::code;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::comment_marker::RunMark;
use super::environment_error::EnvironmentError;
use super::payload::Payload;
use super::person::Person;
use super::server_address::server_address;
use crate::base::network_clock::NetworkClock;
use crate::base::time_slots::Share;

/// The head of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The commit at the tip of the head branch.
    pub sha: String,
    /// The name of the head branch.
    pub branch: String,
    /// When somebody last pushed to its repository, by GitHub's clock: the branch has been as it is since then.
    pub pushed_at: Option<OffsetDateTime>,
}

/// Parses a time in GitHub's format.
pub(super) fn moment(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

/// The pull request, issue or repository that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A pull request.
    PullRequest {
        /// The number of the pull request.
        number: u64,
        /// The commit that it is based on, if the event says so.
        base: Option<String>,
        /// The head that it wants to merge, if the event says so.
        head: Option<Head>,
        /// Whether it comes from a fork, whose tokens can only read; assumed where the event does not say.
        fork: bool,
    },
    /// An issue that is not a pull request.
    Issue {
        /// The number of the issue.
        number: u64,
    },
    /// The repository as a whole: the event is a push, a schedule, or a manual start.
    Repository,
}

/// Texts and size of the event's pull request or issue. Anybody may have written the texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The title.
    pub title: String,
    /// The description, as Markdown.
    pub body: String,
    /// Lines added, lines removed, and files changed, as counted by GitHub; `None` for issues.
    pub size: Option<(u64, u64, u64)>,
}

/// The comment that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentFacts {
    /// The id of the comment.
    pub id: u64,
    /// The text of the comment. Anybody may have written it.
    pub body: String,
    /// The author; `None` if the account was deleted.
    pub author: Option<Person>,
}

/// The run of another workflow that a `workflow_run` event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRun {
    /// The id of that run.
    pub id: u64,
    /// The commit that it ran on.
    pub head_sha: String,
    /// `owner:branch` of its head, the form by which lists of pull requests are filtered.
    pub head: Option<String>,
    /// The name of the event that started it.
    pub event: String,
}

/// The runner's environment, complete with defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The owner of the repository.
    pub owner: String,
    /// The name of the repository, without its owner.
    pub repository: String,
    /// The base URL of the REST API, without a slash at the end.
    pub api_url: String,
    /// The URL of the GraphQL API.
    pub graphql_url: String,
    /// The base URL of the website.
    pub server_url: String,
    /// The URL of this run's page.
    pub run_url: Option<String>,
    /// The id of this run.
    pub run_id: Option<u64>,
    /// Whether a GitHub Actions runner runs this process.
    pub in_actions: bool,
    /// The name of the event, such as `issue_comment`.
    pub event: String,
    /// The activity type of the event, such as `created` or `labeled`.
    pub action: Option<String>,
    /// The account that caused the event.
    pub sender: Option<Person>,
    /// The accounts that have started this run first and last, as the runner names them.
    pub actors: Vec<Person>,
    /// How often this run has been started.
    pub attempt: u64,
    /// The comment of an `issue_comment` event.
    pub comment: Option<CommentFacts>,
    /// Whether the pull request of the event is closed.
    pub is_closed: bool,
    /// The label of a `labeled` event.
    pub label: Option<String>,
    /// The completed run of a `workflow_run` event.
    pub other_run: Option<OtherRun>,
    /// The pull request, issue or repository that the event is about.
    pub subject: Subject,
    /// The texts of the pull request or issue.
    pub about: Option<About>,
    /// The commit of `GITHUB_SHA`.
    pub sha: Option<String>,
    /// The branch of `GITHUB_REF`, if that is a branch.
    pub branch: Option<String>,
    /// The default branch of the repository.
    pub default_branch: Option<String>,
    /// The token for GitHub's API: the input's, or that of `GITHUB_TOKEN` or `GH_TOKEN`.
    pub token: Option<String>,
    /// The share of this process in GitHub's limits, if others use the token at the same time, as the shards of a batch do.
    pub(crate) share: Option<Share>,
    /// When all that waits for GitHub ends.
    pub(crate) clock: NetworkClock,
}

impl Environment {
    /// Returns the repository as `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.repository)
    }

    /// Returns the commit that the event is about: the head of a pull request, otherwise that of `GITHUB_SHA`.
    pub fn commit(&self) -> Option<&str> {
        match &self.subject {
            Subject::PullRequest { head, .. } => head.as_ref().map(|head| head.sha.as_str()),
            Subject::Issue { .. } | Subject::Repository => self.sha.as_deref(),
        }
    }

    /// Returns the URL of the repository's page.
    pub fn repository_url(&self) -> String {
        format!("{}/{}/{}", self.server_url, self.owner, self.repository)
    }

    /// Returns a line that quotes which comment ordered something, with a link to it, and who wrote it; empty for other
    /// events.
    pub fn order_line(&self) -> String {
        let (Some(comment), Some(number)) = (&self.comment, self.number()) else { return String::new() };
        let kind = if self.is_on_pull() { "pull" } else { "issues" };
        let order: String = comment.body.trim().lines().next().unwrap_or_default().chars().take(60).collect();
        let url = format!("{}/{kind}/{number}#issuecomment-{}", self.repository_url(), comment.id);
        // A link, unlike a mention, notifies nobody.
        let by = comment.author.as_ref().map(|Person { login, .. }| {
            let is_plain = login.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            if is_plain {
                format!(" by [{}]({}/{login})", code(login), self.server_url)
            } else {
                format!(" by {}", code(login))
            }
        });
        format!("> [{}]({url}){}\n\n", code(&order), by.unwrap_or_default())
    }

    /// Returns the mark of this run in a comment on the pull request that it is about; `None` for other events.
    pub fn run_mark(&self) -> Option<RunMark> {
        let Subject::PullRequest { head: Some(head), .. } = &self.subject else { return None };
        Some(RunMark { run: self.run_id?, head: head.sha.clone() })
    }

    /// Reads the environment from variables and the payload of the event, which `event` overrides. Returns
    /// `None` outside of GitHub: without the name of a repository.
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
        let server_at = |variable, default| server_address(variable, get(variable), default);
        let api_url = server_at("GITHUB_API_URL", "https://api.github.com")?;
        let api_url = api_url.trim_end_matches('/').to_owned();
        // GitHub Enterprise Server has HOST/api/v3 and HOST/api/graphql.
        let graphql_url = match (get("GITHUB_GRAPHQL_URL"), api_url.strip_suffix("/v3")) {
            (Some(_), _) => server_at("GITHUB_GRAPHQL_URL", "https://api.github.com/graphql")?,
            (None, Some(api)) => format!("{api}/graphql"),
            (None, None) => format!("{api_url}/graphql"),
        };
        let event = get("GITHUB_EVENT_NAME").unwrap_or_else(|| likely_event(&payload).to_owned());
        let id = get("GITHUB_ACTOR_ID").and_then(|id| id.parse().ok());
        let actor = get("GITHUB_ACTOR").map(|login| Person::named(login, id));
        let again = get("GITHUB_TRIGGERING_ACTOR").map(|login| Person::named(login, None));
        let server = get("GITHUB_SERVER_URL").unwrap_or_else(|| "https://github.com".to_owned());
        Ok(Some(Self {
            owner: owner.to_owned(),
            repository: repository.to_owned(),
            run_url: get("GITHUB_RUN_ID").map(|id| format!("{server}/{full_name}/actions/runs/{id}")),
            run_id: get("GITHUB_RUN_ID").and_then(|id| id.parse().ok()),
            server_url: server,
            in_actions: get("GITHUB_ACTIONS").as_deref() == Some("true"),
            action: payload.action.clone(),
            sender: payload.sender.as_ref().map(Person::from).or_else(|| actor.clone()),
            actors: actor.into_iter().chain(again).collect(),
            attempt: get("GITHUB_RUN_ATTEMPT").and_then(|attempt| attempt.parse().ok()).unwrap_or(1),
            comment: payload.comment.as_ref().filter(|_| event == "issue_comment").map(|comment| {
                CommentFacts {
                    id: comment.id,
                    body: comment.body.clone().unwrap_or_default(),
                    author: comment.user.as_ref().map(Person::from),
                }
            }),
            is_closed: payload
                .pull_request
                .as_ref()
                .is_some_and(|pull| pull.state.as_deref() == Some("closed")),
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
            share: None,
            clock: NetworkClock::default(),
            api_url,
            graphql_url,
        }))
    }

    /// Returns whether the event is about a pull request from a fork.
    pub fn is_fork(&self) -> bool {
        matches!(self.subject, Subject::PullRequest { fork: true, .. })
    }

    /// Returns whether the event reports the end of another workflow's run, which does not say what that
    /// run worked on.
    pub fn is_after_another_run(&self) -> bool {
        self.event == "workflow_run"
    }

    /// Returns the branch that changes go to unless the configuration names another: that of a push, a
    /// manual start or a schedule, else the default branch.
    pub fn base_branch(&self) -> Option<String> {
        let about_branch = matches!(self.event.as_str(), "push" | "workflow_dispatch" | "schedule");
        self.branch
            .clone()
            .filter(|_| about_branch)
            .or_else(|| self.default_branch.clone())
            .or(self.branch.clone())
    }

    /// Returns whether the event is about a pull request.
    pub fn is_on_pull(&self) -> bool {
        matches!(self.subject, Subject::PullRequest { .. })
    }

    /// Returns the number of the pull request or issue that a comment can go to.
    pub fn number(&self) -> Option<u64> {
        match self.subject {
            Subject::PullRequest { number, .. } | Subject::Issue { number } => Some(number),
            Subject::Repository => None,
        }
    }
}

/// Guesses the name of the event from its payload, for use outside of a runner.
fn likely_event(payload: &Payload) -> &'static str {
    match (&payload.pull_request, &payload.issue, &payload.comment) {
        (Some(_), ..) => "pull_request",
        (_, Some(_), Some(_)) => "issue_comment",
        (_, Some(_), None) => "issues",
        _ => "unknown",
    }
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
        // A head whose repository was deleted was a fork.
        return Subject::PullRequest {
            number: pull.number,
            base: Some(pull.base.sha.clone()),
            head: Some(Head {
                sha: pull.head.sha.clone(),
                branch: pull.head.branch.clone(),
                pushed_at: pull
                    .head
                    .repo
                    .as_ref()
                    .and_then(|repo| moment(repo.pushed_at.as_ref()?.as_str()?)),
            }),
            fork: head != base,
        };
    }
    match &payload.issue {
        // For a comment on a pull request, GITHUB_SHA is a commit of the default branch, which the
        // comment's author cannot change. The event does not say whether the pull request comes from a
        // fork, so it counts as one.
        Some(issue) if issue.pull_request.is_some() => {
            Subject::PullRequest { number: issue.number, base: sha, head: None, fork: true }
        }
        Some(issue) => Subject::Issue { number: issue.number },
        None => Subject::Repository,
    }
}
