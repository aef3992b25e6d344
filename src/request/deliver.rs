//! Destination of the changes of a run, decided before it starts.

use sanitize::untrusted::plain;

use super::deliver_error::DeliverError;
use super::values::DESCRIBED;
use crate::base::text::shortened;
use crate::config::{Config, DEFAULT_KEY, DeliverTo};
use crate::event::RunMode;
use crate::github::{Environment, Subject, branch_name};

/// Where changes go, complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deliver {
    /// They stay in the checkout.
    Nowhere,
    /// A patch file.
    Patch,
    /// A commit on the branch of the pull request that this is about.
    PullBranch {
        /// The branch.
        branch: String,
        /// The commit's title.
        title: String,
        /// The commit that the branch has to be at: a reviewed plan goes nowhere else.
        at: Option<String>,
    },
    /// A commit on a branch of our own.
    OwnBranch {
        /// Our branch.
        branch: String,
        /// The branch that it goes to.
        onto: String,
        /// Title of the commit, and of the pull request.
        title: String,
        /// Whether it gets a pull request.
        pull: bool,
    },
}

/// A branch of ours, where nobody names one.
const BRANCH: &str = "architect-ci/{key}-{number}";

/// Most characters of a title.
const MAX_TITLE: usize = 72;

impl Deliver {
    /// Returns whether changes go to a branch on GitHub.
    pub(crate) fn is_to_branch(&self) -> bool {
        matches!(self, Self::PullBranch { .. } | Self::OwnBranch { .. })
    }

    /// Decides it. `by_comment` says whether a comment has asked for these very changes.
    pub(super) fn new(
        config: &Config,
        github: Option<&Environment>,
        (agent, task): (&str, &str),
        mode: RunMode,
        by_comment: bool,
    ) -> Result<Self, DeliverError> {
        let to = if by_comment { DeliverTo::Branch } else { config.deliver.to };
        match to {
            DeliverTo::None => return Ok(Self::Nowhere),
            // A dry run has its patch in any case, and nothing else to give.
            _ if mode == RunMode::DryRun => return Ok(Self::Patch),
            DeliverTo::Patch => return Ok(Self::Patch),
            DeliverTo::Branch | DeliverTo::PullRequest => {}
        }
        let github = github.ok_or(DeliverError::NoGitHub)?;
        let title = title(config, task, github);
        let own = to == DeliverTo::PullRequest || config.deliver.branch.is_some() && !by_comment;
        let head = match &github.subject {
            Subject::PullRequest { head, .. } => head.as_ref(),
            Subject::Issue { .. } | Subject::Repository => None,
        };
        if let (false, Some(head)) = (own, head) {
            let at = by_comment.then(|| head.sha.clone());
            return Ok(Self::PullBranch { branch: head.branch.clone(), title, at });
        }
        let onto = config
            .deliver
            .base
            .clone()
            .or(head.map(|head| head.branch.clone()))
            .or_else(|| github.base_branch());
        let onto = onto.ok_or(DeliverError::NoBase)?;
        let values = values(config, github, agent, task);
        let template = config.deliver.branch.as_deref().unwrap_or(BRANCH);
        let branch = branch_name(template, &values)?;
        if branch == onto {
            return Err(DeliverError::SameBranch(branch));
        }
        Ok(Self::OwnBranch { branch, onto, title, pull: to == DeliverTo::PullRequest })
    }

    /// Adds the id of a batch's task to the title, so that the pull requests of one batch can be distinguished.
    #[must_use]
    pub(super) fn with_id(mut self, id: &str) -> Self {
        if let Self::PullBranch { title, .. } | Self::OwnBranch { title, .. } = &mut self {
            let id = plain(id);
            if !title.contains(id.as_str()) {
                let room = MAX_TITLE.saturating_sub(id.chars().count() + 3).max(20);
                *title = format!("{} ({id})", shortened(title, room));
            }
        }
        self
    }
}

/// Returns the name of the branch that changes with this key go to, if that does not depend on the agent or the task.
pub(crate) fn own_branch(config: &Config, github: &Environment, key: &str) -> Option<String> {
    let template = config.deliver.branch.as_deref().unwrap_or(BRANCH);
    let mut values = values(config, github, "", "");
    key.clone_into(&mut values[0].1);
    let is_fixed = !["{agent}", "{task}"].iter().any(|name| template.contains(name));
    branch_name(template, &values).ok().filter(|_| is_fixed)
}

fn values(config: &Config, github: &Environment, agent: &str, task: &str) -> [(&'static str, String); 5] {
    let key = config.github.comment_key.clone();
    // `architect-ci/architect-ci` says nothing.
    let key = if key == DEFAULT_KEY && config.deliver.branch.is_none() { "changes".to_owned() } else { key };
    [
        ("key", key),
        ("number", github.number().map(|number| number.to_string()).unwrap_or_default()),
        ("agent", agent.to_owned()),
        ("task", task.trim().lines().next().unwrap_or_default().to_owned()),
        ("run_id", github.run_id.map(|id| id.to_string()).unwrap_or_default()),
    ]
}

/// Returns the title as one line without effects: the task may come from whoever wrote an issue.
fn title(config: &Config, task: &str, github: &Environment) -> String {
    let about = github.about.as_ref().map(|about| about.title.as_str());
    let task = about.filter(|title| task == DESCRIBED && !title.trim().is_empty()).unwrap_or(task);
    let line = config.deliver.title.as_deref().unwrap_or(task).trim().lines().next().unwrap_or_default();
    let line = plain(line.trim_start_matches(['#', ' ']));
    shortened(&line, MAX_TITLE)
}
