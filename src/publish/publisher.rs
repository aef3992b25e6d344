//! Publisher of a run's results on GitHub: changes, comment, check, suggestions. Files have been written by then.

use std::sync::Arc;
use std::time::Duration;

use sanitize::untrusted::{code, plain};
use workspace::ChangeSet;

use crate::base::verbose_log::detail;
use crate::config::{self, Comment, PartialDelivery};
use crate::event::Status;
use crate::git::Repository;
use crate::github::{
    Api, ApiError, Author, Check, DeliverError, Delivered, Delivery, Environment, FileContent, FindingReview,
    PART, Posted, PostedFindings, Pull, PullText, Reaction, Review, StickyComment, Subject, Suggested,
    Target, Version, by_push, comment_marker, marker_key, react,
};
use crate::report::{
    DeliveryReport, Diagnostic, PullReport, RunReport, check_summary, description, headline,
};
use crate::request::{Deliver, JobRequest};

/// How long each part may take. After the time of the run, or a signal, there is less for all of them together.
pub(super) const TIME: Duration = Duration::from_mins(5);

/// Something that did not work, and whether a token or its permissions are the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublishProblem {
    pub(super) message: String,
    pub(super) about_permission: bool,
    /// When the rate limit ends that is the reason, as RFC 3339 has it.
    pub(super) limited_until: Option<String>,
    /// Whether the branch has the changes, and only its pull request is missing.
    pub(super) is_on_branch: bool,
    /// Whether nothing is missing on GitHub: what is there is more than what was to be delivered.
    pub(super) is_on_purpose: bool,
}

impl PublishProblem {
    /// Creates a problem. `error` is what GitHub answered, if it is the reason.
    pub(super) fn of(message: String, error: Option<&ApiError>) -> Self {
        Self {
            message,
            is_on_branch: false,
            is_on_purpose: false,
            about_permission: error.is_some_and(ApiError::is_about_permission),
            limited_until: error.and_then(ApiError::limited_until).map(str::to_owned),
        }
    }

    fn late() -> Self {
        Self::of("GitHub did not answer in time".to_owned(), None)
    }
}

impl From<&ApiError> for PublishProblem {
    fn from(error: &ApiError) -> Self {
        Self::of(error.to_string(), Some(error))
    }
}

/// Returns the sticky comment of an event, if it is about something that takes one.
pub(super) fn sticky(github: &Environment, api: &Api, key: &str) -> Option<Arc<StickyComment>> {
    let number = github.number()?;
    let sticky = StickyComment::new(api.clone(), number, github.is_on_pull(), comment_marker(key));
    Some(Arc::new(sticky.of_run(github.run_mark())))
}

/// Where a run's words go.
pub(super) struct Publisher<'a> {
    pub(super) github: &'a Environment,
    pub(super) config: &'a config::GitHub,
    pub(super) api: Api,
}

impl Publisher<'_> {
    async fn within<T>(&self, work: impl Future<Output = Result<T, ApiError>>) -> Result<T, PublishProblem> {
        match tokio::time::timeout(TIME, work).await {
            Ok(done) => done.map_err(|error| PublishProblem::from(&error)),
            Err(_) => Err(PublishProblem::late()),
        }
    }

    /// Posts the comment, unless that shows what a later run says of a newer commit.
    pub(super) async fn comment(&self, sticky: &StickyComment, body: &str) -> Result<Posted, PublishProblem> {
        self.within(sticky.put(body)).await
    }

    /// Reacts to the comment that requested the run, if one did, with how it went.
    pub(super) async fn react(&self, success: bool) -> Result<(), PublishProblem> {
        let Some(comment) = &self.github.comment else { return Ok(()) };
        let reaction = if success { Reaction::Done } else { Reaction::Failed };
        self.within(react(&self.api, comment.id, reaction)).await
    }

    /// Writes the check run, where there is a commit to write it to.
    pub(super) async fn check(
        &self,
        report: &RunReport,
        task: Option<&str>,
        remarks: Vec<Diagnostic>,
    ) -> Result<Option<String>, PublishProblem> {
        let head = match &self.github.subject {
            Subject::PullRequest { head: Some(head), .. } => Some(head.sha.clone()),
            _ => self.github.sha.clone(),
        };
        let Some(commit) = head else { return Ok(None) };
        let key = marker_key(&self.config.comment_key);
        let check = Check {
            name: if key == config::DEFAULT_KEY { key } else { format!("architect-ci ({key})") },
            commit,
            conclusion: report.stop_reason.clause().conclusion,
            started_at: report.started_at.clone(),
            title: headline(report),
            summary: check_summary(report, task),
            details_url: self.github.run_url.clone(),
            remarks,
        };
        self.within(check.post(&self.api)).await.map(Some)
    }

    /// Posts planned hunks as suggestions.
    pub(super) async fn suggest(
        &self,
        report: &RunReport,
        changes: &ChangeSet,
        prefix: &str,
        most: usize,
    ) -> Result<Suggested, PublishProblem> {
        let Subject::PullRequest { number, head: Some(head), .. } = &self.github.subject else {
            return Ok(Suggested::default());
        };
        let digest = report.plan.as_ref().map_or("", |plan| plan.digest.get(..12).unwrap_or_default());
        let key = marker_key(&self.config.comment_key);
        let origin = format!("architect-ci, plan {}", code(digest));
        let review = Review { number: *number, head: &head.sha, key: &key, origin: &origin, prefix, most };
        self.within(review.post(&self.api, changes)).await
    }

    /// Returns whether the run is about the latest commit of its pull request. An older run that ends later knows nothing of
    /// what a newer one has posted, and would take it back.
    pub(super) async fn is_at_head(&self) -> Result<bool, PublishProblem> {
        let Subject::PullRequest { number, head: Some(head), .. } = &self.github.subject else {
            return Ok(true);
        };
        Ok(self.within(Pull::get(&self.api, *number)).await?.head.sha == head.sha)
    }

    /// Posts the findings of a review of the pull request.
    pub(super) async fn post_findings(
        &self,
        request: &JobRequest,
        report: &RunReport,
        prefix: &str,
        most: usize,
    ) -> Result<PostedFindings, PublishProblem> {
        let Subject::PullRequest { number, base, head: Some(head), .. } = &self.github.subject else {
            return Ok(PostedFindings::default());
        };
        let repository = request.repository.as_ref();
        let fork =
            repository.zip(base.as_ref()).and_then(|(repository, base)| repository.merge_base(base).ok());
        let key = marker_key(&self.config.comment_key);
        let review = FindingReview { number: *number, head: &head.sha, key: &key, prefix, most };
        let findings = report.review.as_ref().map_or(&[][..], |review| &review.findings);
        let content = |version: Version<'_>, path: &str| {
            let commit = match version {
                Version::Base => fork.as_deref(),
                Version::Head => Some(head.sha.as_str()),
                Version::At(commit) => Some(commit),
            };
            let read = |(repository, commit): (&Repository, &str)| FileContent::of(repository, commit, path);
            repository.zip(commit).map_or(FileContent::Unknown, read)
        };
        self.within(review.post(&self.api, findings, content)).await
    }

    /// Takes changes where the request wants them.
    pub(super) async fn deliver(
        &self,
        request: &JobRequest,
        report: &RunReport,
        changes: &ChangeSet,
        prefix: &str,
    ) -> Result<Option<Arrived>, PublishProblem> {
        let config = &request.config().deliver;
        let (target, title) = match &request.deliver {
            Deliver::Nowhere | Deliver::Patch => return Ok(None),
            Deliver::PullBranch { branch, title, at } => {
                (Target::Existing { branch: branch.clone(), at: at.clone() }, title)
            }
            Deliver::OwnBranch { branch, onto, title, pull } => {
                let closes = match self.github.subject {
                    Subject::Issue { number } => Some(number),
                    _ => None,
                };
                let is_partial = is_partial_draft(request, report);
                // What is only a part closes nothing.
                let closes = closes.filter(|_| !is_partial);
                let body = description(report, closes, request.short_task().as_deref());
                let text = PullText {
                    title: title.clone(),
                    body: if is_partial { format!("{}{body}", missing_part(report)) } else { body },
                    draft: config.draft || is_partial,
                    labels: config.labels.clone(),
                };
                let (branch, onto) = (branch.clone(), onto.clone());
                (Target::Own { branch, onto, pull: pull.then_some(text) }, title)
            }
        };
        let key = marker_key(&self.config.comment_key);
        let base = report.base.as_ref().filter(|base| !base.dirty).map(|base| base.commit.as_str());
        let message = match report.message.trim().lines().next() {
            Some(first) if !first.is_empty() => format!("{title}\n\n{}", plain(first)),
            _ => title.clone(),
        };
        let author = Author { agent: plain(&report.agent), model: plain(&report.model) };
        let repository = request.repository.as_ref();
        let states = request.branches.as_deref();
        let delivery =
            Delivery { changes, prefix, base, target, message, author, key: &key, repository, states };
        let delivered = self.by_any_way(&delivery, request.repository.as_ref());
        let Ok(delivered) = tokio::time::timeout(TIME, delivered).await else {
            return Err(PublishProblem::late());
        };
        match delivered {
            Ok(delivered) => Ok(delivered.map(told)),
            Err(error) => Err(PublishProblem {
                is_on_branch: matches!(error, DeliverError::NoPull { .. }),
                is_on_purpose: matches!(error, DeliverError::Whole { .. }),
                ..PublishProblem::of(error.to_string(), error.api())
            }),
        }
    }

    /// Delivers the changes by the API or, where that does not take them, by a push.
    async fn by_any_way(
        &self,
        delivery: &Delivery<'_>,
        repository: Option<&Repository>,
    ) -> Result<Option<Delivered>, DeliverError> {
        let first = match delivery.by_api(&self.api).await {
            Err(DeliverError::Api(error)) if !error.forbids_push() => error,
            answer => return answer,
        };
        let Some(repository) = repository else { return Err(DeliverError::Api(first)) };
        detail!("{first}; trying git push");
        match by_push(delivery, &self.api, self.github, repository).await {
            // What the API has said is nearer to the cause, unless nobody waited for the push.
            Err(DeliverError::Api(second)) if second.cut_off().is_none() => {
                detail!("{second}");
                Err(DeliverError::Api(first))
            }
            answer => answer,
        }
    }
}

/// Returns what a partial result lacks, for the top of its pull request.
fn missing_part(report: &RunReport) -> String {
    let failed: Vec<String> =
        report.gates.iter().filter(|gate| !gate.passed).map(|gate| code(&gate.name)).collect();
    let gates =
        if failed.is_empty() { String::new() } else { format!(" These gates fail: {}.", failed.join(", ")) };
    let next = if report.next_step.is_empty() {
        String::new()
    } else {
        format!(" Next step: {}.", report.next_step)
    };
    format!("{PART}: {}.{gates}{next}\n\n", report.stop_reason)
}

/// What a delivery has come to, and whether its commit was pushed past the API.
pub(super) struct Arrived {
    pub(super) delivery: DeliveryReport,
    pub(super) is_pushed: bool,
    /// A message for people about a pull request that is still a draft although it has everything.
    pub(super) not_ready: Option<String>,
}

fn told(delivered: Delivered) -> Arrived {
    let Delivered { branch, commit, existing, pull, merged, is_pushed } = delivered;
    let not_ready = pull.as_ref().and_then(|pull| {
        let (number, error) = (pull.number, pull.not_ready.as_ref()?);
        Some(format!(
            "the pull request #{number} has everything now, but is still a draft: {error}; mark it as ready for review yourself"
        ))
    });
    let pull_request = pull.map(|pull| PullReport { number: pull.number, url: pull.url });
    let delivery = DeliveryReport { branch, commit, existing, pull_request, merged };
    Arrived { delivery, is_pushed, not_ready }
}

/// Returns whether a comment is wanted after this run.
pub(super) fn wants_comment(config: &config::GitHub, report: &RunReport) -> bool {
    match config.comment {
        Comment::Always => true,
        Comment::OnChange => report.has_changes() || report.status != Status::Success,
        Comment::Never => false,
    }
}

/// Returns whether the changes of a run that ended as partial are delivered as a draft.
pub(super) fn is_partial_draft(request: &JobRequest, report: &RunReport) -> bool {
    let is_pull = matches!(request.deliver, Deliver::OwnBranch { pull: true, .. });
    let wants_draft = request.config().deliver.partial == PartialDelivery::Draft;
    is_pull && wants_draft && report.status == Status::Partial
}
