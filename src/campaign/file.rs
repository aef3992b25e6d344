//! Campaign file: one change for many repositories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::bounded::Bounded;
use crate::batch::{Entry, Percent};
use crate::github::RepositoryName;

/// One change for many repositories, in waves.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CampaignFile {
    /// Its name: part of branches, of the state's branch, and of the dashboard's title. Lower-case letters, digits and `-`.
    pub name: String,
    /// Where the change is made.
    pub repositories: Repositories,
    /// Defaults for every task.
    #[serde(default)]
    pub defaults: Entry,
    /// What is done in each repository; each task has a branch and a pull request of its own there.
    pub tasks: Vec<Entry>,
    /// The pull requests.
    #[serde(default)]
    pub pull_request: PullRequests,
    /// The waves: how many repositories are changed at a time.
    #[serde(default)]
    pub waves: Waves,
    /// Failure rates at which the campaign stops.
    #[serde(default)]
    pub stop: StopRules,
    /// Limits.
    #[serde(default)]
    pub limits: Limits,
    /// Who merges.
    #[serde(default)]
    pub merge: MergeRule,
    /// A GitHub App, whose tokens are each for one repository; otherwise one token is used for all.
    #[serde(default)]
    pub app: Option<App>,
    /// Where the state is kept.
    #[serde(default)]
    pub state: StatePlace,
}

/// Where the change is made: the union of everything listed here.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Repositories {
    /// These.
    pub list: Vec<RepositoryName>,
    /// A file with one repository per line; `#` begins a comment.
    pub file: Option<String>,
    /// All of these accounts.
    pub organizations: Vec<String>,
    /// Of the accounts, only repositories that have all of these topics.
    pub topics: Vec<String>,
    /// What GitHub's search for repositories finds, at most 1,000.
    pub search: Option<String>,
    /// Only repositories whose default branch has this file.
    pub with_file: Option<String>,
    /// Globs of repositories that are left out, such as `octo/legacy-*`.
    pub exclude: Vec<String>,
}

/// The pull requests of a campaign.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PullRequests {
    /// The title; else the first line of the task.
    pub title: Option<String>,
    /// Labels.
    pub labels: Vec<String>,
    /// Whether they are opened as drafts.
    pub draft: bool,
    /// Who is asked for a review.
    pub reviewers: Reviewers,
    /// How the plan of a repository is split into several pull requests.
    pub split: Split,
}

/// How the plan of a repository is split into several pull requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Not at all.
    #[default]
    None,
    /// One for each set of code owners, with the files that these own, and one for the files that nobody owns.
    Owners,
}

/// Who is asked for a review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reviewers {
    /// The people that GitHub requests by itself.
    #[default]
    None,
    /// The code owners of the changed files, of drafts as well.
    Owners,
}

/// The waves: how many repositories are changed at a time.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Waves {
    /// Targets of the first wave.
    pub canary: Bounded<1, 1000>,
    /// How many times as large each further wave is.
    pub growth: Bounded<1, 100>,
    /// Targets of the largest wave.
    pub largest: Bounded<1, 10_000>,
    /// Repositories of the first wave.
    pub first: Vec<RepositoryName>,
    /// What the previous wave has to have reached.
    pub after: After,
    /// The share of the previous wave that has to have reached it.
    pub share: Percent,
    /// Who starts the next wave.
    pub approval: Approval,
}

/// What a wave has to have reached before the next one starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum After {
    /// Its pull requests are merged.
    #[default]
    Merged,
    /// Its pull requests are merged, or all of their checks have passed.
    Green,
}

/// Who starts the next wave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Approval {
    /// It starts by itself.
    #[default]
    Automatic,
    /// Somebody who may write to the campaign's repository comments `/architect continue` on the dashboard.
    Comment,
}

/// Failure rates above which a campaign stops, as shares of a wave.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StopRules {
    /// Could not be planned or delivered.
    pub failed: Percent,
    /// Checks of the pull request have failed.
    pub red: Percent,
    /// Somebody closed the pull request.
    pub closed: Percent,
    /// The change was reverted.
    pub reverted: Percent,
}

/// Limits.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Open pull requests of the campaign.
    pub open: Bounded<1, 100_000>,
    /// Open pull requests of the campaign that the same code owner has to review; where a repository has no code owners, the
    /// account that it belongs to.
    pub open_per_owner: Bounded<1, 10_000>,
    /// Maximum number of pull requests opened in an hour.
    pub per_hour: Bounded<1, 500>,
    /// How often a target is tried before it counts as failed.
    pub attempts: Bounded<1, 10>,
}

/// Who merges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MergeRule {
    /// People, or `campaign merge`.
    #[default]
    Never,
    /// The campaign, once all checks have passed and there is at least one.
    Green,
}

/// A GitHub App.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// Its id or client id.
    pub id: String,
    /// The name of the variable that holds its private key, as PEM.
    pub key_env: String,
}

/// Where the state is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatePlace {
    /// Accounts whose states are trusted, besides the one that the token belongs to.
    pub writers: Vec<String>,
}

impl Default for Waves {
    fn default() -> Self {
        Self {
            canary: Bounded::fixed::<5>(),
            growth: Bounded::fixed::<3>(),
            largest: Bounded::fixed::<200>(),
            first: Vec::new(),
            after: After::default(),
            share: Percent::fixed::<80>(),
            approval: Approval::default(),
        }
    }
}

impl Default for StopRules {
    fn default() -> Self {
        Self {
            failed: Percent::fixed::<20>(),
            red: Percent::fixed::<20>(),
            closed: Percent::fixed::<20>(),
            reverted: Percent::fixed::<0>(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            open: Bounded::fixed::<200>(),
            open_per_owner: Bounded::fixed::<10>(),
            per_hour: Bounded::fixed::<60>(),
            attempts: Bounded::fixed::<2>(),
        }
    }
}
