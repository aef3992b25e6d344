//! Requirements of a configuration for a pull request, checked on GitHub at the moment before a plan is applied to its branch.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use time::OffsetDateTime;

use super::api::{Api, PAGE};
use super::askers::askers;
use super::code_owners::CodeOwners;
use super::contents::file_at;
use super::environment::{Environment, moment};
use super::error::ApiError;
use super::login::is_same_login;
use super::operation::Purpose;
use super::payload::User;
use super::person::Person;
use super::plan_time::{Planner, planned_since};
use super::pull::Pull;
use super::sticky_comment::may_write;
use super::url_encoding::in_path;
use crate::config::Requirement;

const REVIEWS: Purpose = Purpose { doing: "read the reviews", permission: "pull-requests: read" };
const COMPARE: Purpose = Purpose { doing: "compare the branches", permission: "contents: read" };
const CHECKS: Purpose = Purpose { doing: "read the checks", permission: "checks: read" };
const STATUSES: Purpose = Purpose { doing: "read the commit's statuses", permission: "statuses: read" };

/// How often, and how long after each other, GitHub is asked whether a pull request can be merged: it finds out when it is
/// first asked.
const MERGEABLE_TRIES: u32 = 5;
const MERGEABLE_WAIT: Duration = Duration::from_secs(2);

/// Maximum number of pages of check runs.
const CHECK_PAGES: usize = 10;

/// A plan that is about to be applied to the branch of a pull request.
#[derive(Clone, Copy, Debug)]
pub struct Application<'a> {
    /// The number of the pull request.
    pub number: u64,
    /// The commit that the plan is for.
    pub head: &'a str,
    /// An earlier commit for which the very same changes were planned: who has approved that has approved them.
    pub planned_on: Option<&'a str>,
    /// When the plan was made, in RFC 3339; approvals from before are of something else. `None` if it does not say so.
    pub planned_at: Option<&'a str>,
    /// What has made it; `None` if that is not known.
    pub planner: Option<Planner>,
    /// The run that asks.
    pub environment: &'a Environment,
    /// The planned files, from the root of the repository.
    pub paths: &'a [String],
    /// Files in which `CODEOWNERS` may be.
    pub owners_files: &'a [&'a str],
}

#[derive(Deserialize)]
struct Review {
    user: Option<User>,
    state: String,
    #[serde(default)]
    commit_id: Option<String>,
    #[serde(default)]
    submitted_at: Option<String>,
}

impl Review {
    /// Returns whether it was submitted after a time; `false` if either is not known.
    fn is_after(&self, time: Option<OffsetDateTime>) -> bool {
        let (Some(own), Some(time)) = (self.submitted_at.as_deref().and_then(moment), time) else {
            return false;
        };
        // GitHub tells whole seconds.
        own.unix_timestamp() >= time.unix_timestamp()
    }
}

/// What the reviews of a pull request come to.
#[derive(Debug, Default)]
struct Reviews {
    /// Who has approved the commit.
    approved: Vec<String>,
    /// Who asks for changes.
    against: Vec<String>,
}

/// Returns what is not true of the pull request, one sentence for each requirement.
pub async fn unmet(
    api: &Api,
    requires: &[Requirement],
    application: Application<'_>,
) -> Result<Vec<String>, ApiError> {
    let pull = Pull::get(api, application.number).await?;
    let mut unmet = Vec::new();
    if pull.head.sha != application.head {
        unmet.push("the pull request has moved on since the plan was made".to_owned());
        return Ok(unmet);
    }
    let by_people =
        |requirement: &Requirement| matches!(requirement, Requirement::Approved(_) | Requirement::CodeOwners);
    let reviews = if requires.iter().any(by_people) {
        let Some(askers) = askers(api, application.environment).await? else {
            let reason =
                "this run was started so often that not everybody who did can be looked up; start a new run";
            return Ok(vec![reason.to_owned()]);
        };
        Reviews::read(api, &pull, application, &askers).await?
    } else {
        Reviews::default()
    };
    for requirement in requires {
        let found = match requirement {
            Requirement::Approved(least) => reviews.lacking(least.count()),
            Requirement::CodeOwners => reviews.without_owner(api, &pull, application).await?,
            Requirement::Mergeable => not_mergeable(api, &pull).await?,
            Requirement::UpToDate => behind(api, &pull).await?,
            Requirement::Checks => failing(api, application).await?,
            // It is about the plan, not about the pull request.
            Requirement::Attested => None,
        };
        unmet.extend(found);
    }
    Ok(unmet)
}

/// Returns the time of a plan: what it says of itself, or what GitHub says if that is later. `None` if either says nothing.
async fn planned_at(api: &Api, application: Application<'_>) -> Result<Option<OffsetDateTime>, ApiError> {
    let (Some(said), Some(planner)) = (application.planned_at.and_then(moment), application.planner) else {
        return Ok(None);
    };
    Ok(planned_since(api, planner).await?.map(|since| since.max(said)))
}

impl Reviews {
    /// Reads who has approved the very commit that the plan is for, since it was made: before, nobody can have seen what it
    /// changes. Of every person, the last word counts; people
    /// without write permission, the author and those who ask have none, nor have programs.
    async fn read(
        api: &Api,
        pull: &Pull,
        application: Application<'_>,
        askers: &[Person],
    ) -> Result<Self, ApiError> {
        let planned_at = planned_at(api, application).await?;
        let all: Vec<Review> = api.list(&format!("/pulls/{}/reviews", application.number), REVIEWS).await?;
        let mut last: BTreeMap<String, (Option<u64>, Review)> = BTreeMap::new();
        for review in all {
            // A program's approval is nobody's.
            let Some(user) = review.user.as_ref().filter(|user| user.kind.as_deref() == Some("User")) else {
                continue;
            };
            if matches!(review.state.as_str(), "APPROVED" | "CHANGES_REQUESTED" | "DISMISSED") {
                last.insert(user.login.to_lowercase(), (user.id, review));
            }
        }
        let mut reviews = Self::default();
        let is_for = |commit: Option<&str>| {
            commit.is_some_and(|commit| commit == application.head || Some(commit) == application.planned_on)
        };
        for (login, (id, review)) in last {
            let is_author = pull.author().is_some_and(|author| is_same_login(author, &login));
            // A person who has another name by now is still the same.
            let asks = askers.iter().any(|asker| asker.may_be(&login, id));
            if is_author || asks || !may_write(api, &login).await? {
                continue;
            }
            match review.state.as_str() {
                "CHANGES_REQUESTED" => reviews.against.push(login),
                // What was approved before the last push is not what the plan changes.
                "APPROVED" if is_for(review.commit_id.as_deref()) && review.is_after(planned_at) => {
                    reviews.approved.push(login);
                }
                _ => {}
            }
        }
        Ok(reviews)
    }

    fn objection(&self) -> Option<String> {
        self.against.first().map(|login| format!("{login} has requested changes"))
    }

    fn lacking(&self, least: usize) -> Option<String> {
        if let Some(objection) = self.objection() {
            return Some(objection);
        }
        let found = self.approved.len();
        (found < least).then(|| {
            format!(
                "its latest commit has {found} of {least} required approvals since the plan was made, not \
                 counting its author and the person who asked"
            )
        })
    }

    async fn without_owner(
        &self,
        api: &Api,
        pull: &Pull,
        application: Application<'_>,
    ) -> Result<Option<String>, ApiError> {
        if let Some(objection) = self.objection() {
            return Ok(Some(objection));
        }
        let mut owners = CodeOwners::default();
        for place in application.owners_files {
            if let Some(text) = file_at(api, &pull.base.sha, place).await? {
                owners = CodeOwners::parse(&text);
                break;
            }
        }
        let lacking = |path: &String| {
            let of_path = owners.of(path).into_iter();
            of_path
                .filter(|list| !list.iter().any(|owner| self.is_approved_by(owner)))
                .map(|list| list.join(", "))
                .next()
        };
        let found = application.paths.iter().find_map(|path| Some((path, lacking(path)?)));
        Ok(found.map(|(path, list)| {
            let teams = if list.contains('/') {
                "; members of teams cannot be looked up here, so name people as well"
            } else {
                ""
            };
            format!(
                "no owner of {path} ({list}) has approved its latest commit since the plan was made{teams}"
            )
        }))
    }

    fn is_approved_by(&self, owner: &str) -> bool {
        let Some(login) = owner.strip_prefix('@') else { return false };
        self.approved.iter().any(|approved| is_same_login(approved, login))
    }
}

async fn not_mergeable(api: &Api, pull: &Pull) -> Result<Option<String>, ApiError> {
    let mut mergeable = pull.mergeable;
    for _ in 1..MERGEABLE_TRIES {
        if mergeable.is_some() {
            break;
        }
        // The next request says so if there is no time left.
        let _ = api.in_time(tokio::time::sleep(MERGEABLE_WAIT)).await;
        mergeable = Pull::get(api, pull.number).await?.mergeable;
    }
    Ok(match mergeable {
        Some(true) => None,
        Some(false) => Some("it conflicts with its base branch".to_owned()),
        None => Some("GitHub does not say whether it can be merged; try again".to_owned()),
    })
}

async fn behind(api: &Api, pull: &Pull) -> Result<Option<String>, ApiError> {
    #[derive(Deserialize)]
    struct Comparison {
        behind_by: u64,
    }
    let range = format!("{}...{}", in_path(&pull.base.branch), pull.head.sha);
    let Comparison { behind_by } = api.get(&format!("/compare/{range}?per_page=1"), COMPARE).await?;
    Ok((behind_by > 0).then(|| format!("it lacks {behind_by} of the commits of `{}`", pull.base.branch)))
}

/// Returns what is wrong with the checks of the commit.
async fn failing(api: &Api, application: Application<'_>) -> Result<Option<String>, ApiError> {
    #[derive(Deserialize)]
    struct Runs {
        total_count: usize,
        check_runs: Vec<Run>,
    }
    #[derive(Deserialize)]
    struct Run {
        name: String,
        status: String,
        conclusion: Option<String>,
        details_url: Option<String>,
        app: Option<App>,
    }
    #[derive(Deserialize)]
    struct App {
        slug: Option<String>,
    }
    #[derive(Deserialize)]
    struct Combined {
        state: String,
        total_count: usize,
    }
    let commit = application.head;
    let (mut seen, mut succeeded, mut idle, mut all) = (0, 0, 0, 0);
    for page in 1..=CHECK_PAGES {
        let path = format!("/commits/{commit}/check-runs?filter=latest&per_page={PAGE}&page={page}");
        let Runs { total_count, check_runs } = api.get(&path, CHECKS).await?;
        seen += check_runs.len();
        all = total_count;
        // Any program may write any URL into its checks.
        let is_own = |run: &Run| {
            let rest = run
                .details_url
                .as_deref()
                .zip(application.environment.run_url.as_deref())
                .and_then(|(url, own)| url.strip_prefix(own));
            let is_of_actions =
                run.app.as_ref().is_some_and(|app| app.slug.as_deref() == Some("github-actions"));
            is_of_actions && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        for run in check_runs.iter().filter(|run| !is_own(run)) {
            match run.conclusion.as_deref().filter(|_| run.status == "completed") {
                Some("success") => succeeded += 1,
                // Such a check objects to nothing, and has looked at nothing.
                Some("neutral" | "skipped") => idle += 1,
                Some(conclusion) => {
                    return Ok(Some(format!("its check `{}` ended as {conclusion}", run.name)));
                }
                None => return Ok(Some(format!("its check `{}` has not ended", run.name))),
            }
        }
        if seen >= total_count || check_runs.is_empty() {
            break;
        }
    }
    if seen < all {
        // One that failed could hide behind many that did not.
        return Ok(Some(format!("its latest commit has {all} checks, of which only {seen} can be read")));
    }
    let Combined { state, total_count } = api.get(&format!("/commits/{commit}/status"), STATUSES).await?;
    if total_count > 0 && state != "success" {
        return Ok(Some(format!("the status of its latest commit is {state}")));
    }
    Ok(match (succeeded + total_count, idle) {
        (0, 0) => Some("no check has run on its latest commit".to_owned()),
        (0, _) => Some("no check has succeeded on its latest commit; all were skipped or neutral".to_owned()),
        _ => None,
    })
}
