//! Publishes the end of a run on GitHub, part by part; a failure becomes a notice in the report.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sanitize::Masker;
use tokio_util::sync::CancellationToken;
use workspace::ChangeSet;

use super::output_files::OutputFiles;

use super::publisher::{Arrived, PublishProblem, Publisher, is_partial_draft, sticky, wants_comment};
use super::run_texts::{comment_of, diagnostics_of};
use super::secret_watch::SecretSearch;
use crate::base::bounded::Bounded;
use crate::base::text::counted;
use crate::base::time_limit::TimeLimit;
use crate::config::DeliverTo;
use crate::event::{Notice, NoticeLevel, RunMode, Status, StopReason};
use crate::github::{Api, Posted, PostedFindings, StickyComment, Suggested};
use crate::plan::{Plan, PlanFile, Planned, WholePatch};
use crate::report::{HeldDelivery, RunReport};
use crate::request::{Deliver, JobRequest};

/// Returns whether the contents of changed files may be sent to GitHub.
pub(crate) fn needs_contents(request: &JobRequest) -> bool {
    let suggests = request.config().github.inline_suggestions && request.mode == RunMode::DryRun;
    request.deliver.is_to_branch() || (suggests && request.github.is_some())
}

/// What is told where, and by what means.
pub(super) struct Publication<'a> {
    pub(super) request: &'a JobRequest,
    pub(super) files: &'a OutputFiles,
    pub(super) masker: &'a Masker,
    /// What has changed; nothing if [`needs_contents`] says that it is not needed.
    pub(super) changes: &'a ChangeSet,
    pub(super) prefix: &'a str,
    /// Once it is set there is little time left, and for the comment alone.
    pub(super) cancel: CancellationToken,
}

impl Publication<'_> {
    /// Posts suggestions and findings at lines of the pull request, at most `most`, unless a newer commit has been pushed.
    async fn remarks(&self, publisher: &Publisher<'_>, report: &mut RunReport, most: usize) {
        let config = &self.request.config().github;
        let suggests = config.inline_suggestions && report.mode == RunMode::DryRun;
        let of_pull = report.review.as_ref().filter(|review| review.standing.is_some());
        // What a review that is not complete has found is posted as well.
        let finds = of_pull.is_some() && most > 0;
        let has_findings = of_pull.is_some_and(|review| !review.findings.is_empty());
        if self.cancel.is_cancelled() || has_findings && !finds {
            // What nobody was told of has not been reviewed.
            report.reviewed = None;
        }
        if self.cancel.is_cancelled() || !(suggests || finds) {
            return;
        }
        match publisher.is_at_head().await {
            Ok(true) => {}
            Ok(false) => {
                report.reviewed = None;
                let told = "the pull request has newer commits, so nothing was posted at its lines; the run of the latest commit does that";
                return report.warn(told.to_owned());
            }
            Err(problem) => {
                report.reviewed = None;
                return self.record_problem(report, problem);
            }
        }
        let mut left = most;
        if suggests {
            match publisher.suggest(report, self.changes, self.prefix, most).await {
                Ok(done) => {
                    let Suggested { posted, known, resolved, left_out } = done;
                    left = left.saturating_sub(posted);
                    tracing::info!(
                        "suggestions: {posted} new, {known} known, {resolved} resolved, {left_out} omitted"
                    );
                }
                Err(problem) => self.record_problem(report, problem),
            }
        }
        if finds && !self.cancel.is_cancelled() {
            match publisher.post_findings(self.request, report, self.prefix, left).await {
                Ok(PostedFindings { posted, mended, unresolved, left_out }) => {
                    tracing::info!("findings: {posted} new, {mended} fixed");
                    if unresolved > 0 {
                        let threads = counted(unresolved, "thread", "s");
                        report.warn(format!(
                            "{threads} of fixed findings could not be resolved; resolve them by hand"
                        ));
                    }
                    if left_out > 0 {
                        // The next review looks at the same again.
                        report.reviewed = None;
                        report.warn(format!(
                                "{left_out} findings did not fit into one review, and will be posted with the next one"
                            ),
                        );
                    }
                }
                Err(problem) => {
                    report.reviewed = None;
                    self.record_problem(report, problem);
                }
            }
        } else if self.cancel.is_cancelled() {
            report.reviewed = None;
        }
    }

    /// Tells GitHub; answers with the address of the comment.
    pub(super) async fn publish(
        &self,
        report: &mut RunReport,
        known: Option<Arc<StickyComment>>,
    ) -> Option<String> {
        let Self { request, files, .. } = self;
        let config = &request.config().github;
        let delivers = request.deliver.is_to_branch();
        let github = match request.github.as_ref() {
            Some(github) if github.token.is_some() => github,
            other => {
                let why = if other.is_some() {
                    "no token; set `github-token` or GITHUB_TOKEN"
                } else {
                    "not on GitHub"
                };
                if other.is_some() {
                    tracing::info!("comment: only in {} ({why})", files.comment.display());
                }
                if delivers && !self.changes.is_empty() {
                    self.hold(report, None);
                    self.not_delivered(report, why, false);
                } else if config.required && other.is_some() {
                    let message = format!("could not publish to GitHub: {why}");
                    let problem =
                        PublishProblem { about_permission: true, ..PublishProblem::of(message, None) };
                    self.record_problem(report, problem);
                }
                return None;
            }
        };
        let api = match Api::new(github) {
            Ok(api) => api,
            Err(error) => {
                self.record_problem(report, PublishProblem::from(&error));
                return None;
            }
        };
        let publisher = Publisher { github, config, api: api.for_results() };
        if delivers {
            self.deliver(&publisher, report).await;
        }
        // The comment of the run is the first of them.
        let comments = request.config().apply.max_comments.map_or(usize::MAX, Bounded::count);
        let most = comments.saturating_sub(1);
        self.remarks(&publisher, report, most).await;
        // After what may change how the run ended.
        if config.check_run && !self.cancel.is_cancelled() {
            match publisher
                .check(report, request.short_task().as_deref(), diagnostics_of(request, report, self.prefix))
                .await
            {
                Ok(url) => {
                    tracing::info!("check run: {}", url.as_deref().unwrap_or("no commit to attach it to"));
                }
                Err(problem) => self.record_problem(report, problem),
            }
        }
        let url = self.comment(&publisher, report, known).await;
        if let Err(PublishProblem { message, .. }) = publisher.react(report.status == Status::Success).await
            // The first reaction has failed for the same reason.
            && !report.notices.iter().any(|known| known.message == message)
        {
            report.warn(message);
        }
        url
    }

    async fn deliver(&self, publisher: &Publisher<'_>, report: &mut RunReport) {
        if self.changes.is_empty() {
            tracing::info!("deliver: nothing changed, so there is nothing to deliver");
            return;
        }
        if report.status != Status::Success && !is_partial_draft(self.request, report) {
            let told = format!("the changes were not delivered, because the run ended as {}", report.status);
            report.notices.push(Notice { level: NoticeLevel::Warning, message: told });
            return;
        }
        let is_pull = matches!(self.request.deliver, Deliver::OwnBranch { pull: true, .. });
        let limit = self.request.config().apply.max_pull_requests.map(Bounded::count).filter(|_| is_pull);
        if let Some(limit) = limit
            && self.request.pull_requests.fetch_add(1, Ordering::Relaxed) >= limit
        {
            let why = format!("this job may deliver {limit} pull requests (`apply.max_pull_requests`)");
            self.hold(report, None);
            return self.not_delivered(report, &why, false);
        }
        let states = self.changes.iter().filter_map(|change| change.after.as_ref());
        if states.into_iter().any(|state| self.masker.knows_of(&state.content)) {
            let why = "they contain one of this job's secrets; remove it from the files";
            return self.not_delivered(report, why, false);
        }
        let paths: Vec<&str> = self.changes.iter().map(|change| change.path.as_str()).collect();
        let repository = self.request.repository.as_ref();
        let filtered = repository.map(|repository| repository.filtered(&paths)).unwrap_or_default();
        if !filtered.is_empty() {
            let why =
                format!("{} has a Git filter (such as LFS), which is not run here", filtered.join(", "));
            return self.not_delivered(report, &why, false);
        }
        match publisher.deliver(self.request, report, self.changes, self.prefix).await {
            Ok(Some(Arrived { delivery, is_pushed, not_ready })) => {
                tracing::info!("delivered to {}", delivery.branch);
                if let Some(told) = not_ready {
                    report.warn(told);
                }
                if is_pushed {
                    let told = "the API did not accept the commit, so it was made with Git and pushed: GitHub has not signed it";
                    report.notices.push(Notice { level: NoticeLevel::Info, message: told.to_owned() });
                }
                report.delivery = Some(delivery);
            }
            Ok(None) => {
                let told = "the branch already has all of these changes, so nothing was delivered".to_owned();
                report.notices.push(Notice { level: NoticeLevel::Info, message: told });
                if report.mode == RunMode::Apply {
                    "Nothing was delivered: the branch already has all changes of the plan."
                        .clone_into(&mut report.message);
                }
            }
            Err(PublishProblem { message, is_on_purpose: true, .. }) => {
                report.warn(format!("the changes were not delivered: {message}"));
            }
            Err(PublishProblem { message, about_permission, limited_until, is_on_branch, .. }) => {
                self.hold(report, limited_until);
                if is_on_branch {
                    tracing::error!("error: {message}");
                    report.notices.push(Notice { level: NoticeLevel::Error, message });
                    return end(report, not_published(about_permission));
                }
                self.not_delivered(report, &message, about_permission);
            }
        }
    }

    /// Keeps changes for a later delivery: their content is in a plan next to the report.
    fn hold(&self, report: &mut RunReport, limited_until: Option<String>) {
        // What is only a part would be taken for the whole later.
        if report.status != Status::Success {
            return;
        }
        let Self { request, files, masker, changes, prefix, .. } = self;
        let mut plan = Plan::new(Planned {
            task: &request.task,
            agent: &request.agent,
            model: &request.model_name,
            base: report.base.clone(),
            actions: Vec::new(),
            files: changes.iter().map(PlanFile::new).collect(),
        });
        let search = SecretSearch { masker, time_limit: &TimeLimit::default() };
        match files.write_plan(Some(&mut plan), &WholePatch::of(changes, prefix), search) {
            Ok(()) => {
                let to = match &request.deliver {
                    Deliver::OwnBranch { pull: true, .. } => DeliverTo::PullRequest,
                    _ => DeliverTo::Branch,
                };
                report.held = Some(HeldDelivery { digest: plan.digest, to, limited_until });
            }
            Err(error) => report.warn(error.to_string()),
        }
    }

    /// Changes that go nowhere are no success.
    fn not_delivered(&self, report: &mut RunReport, why: &str, about_permission: bool) {
        let message = format!("the changes were not delivered: {why}");
        let is_kept = self.files.patch.exists();
        // The place is of use where the log is read, and to nobody who reads the comment.
        let place =
            if is_kept { format!("; they are in {}", self.files.patch.display()) } else { String::new() };
        tracing::error!("error: {message}{place}");
        let place = if is_kept { "; they are in `plan.patch` of this run's output folder" } else { "" };
        report.notices.push(Notice { level: NoticeLevel::Error, message: format!("{message}{place}") });
        if report.mode == RunMode::Apply {
            "The plan was applied in the job's checkout only: on GitHub, nothing has changed."
                .clone_into(&mut report.message);
        }
        end(report, not_published(about_permission));
    }

    /// Notes a failed call as a warning, unless it was called required.
    fn record_problem(&self, report: &mut RunReport, problem: PublishProblem) {
        if self.request.config().github.required {
            tracing::error!("error: {}", problem.message);
            report.notices.push(Notice { level: NoticeLevel::Error, message: problem.message });
            end(report, not_published(problem.about_permission));
        } else {
            report.warn(problem.message);
            // What is not green for another reason stays so.
            if report.stop_reason.is_green() {
                report.end(StopReason::ReportNotPosted);
            }
        }
    }

    async fn comment(
        &self,
        publisher: &Publisher<'_>,
        report: &mut RunReport,
        known: Option<Arc<StickyComment>>,
    ) -> Option<String> {
        let Self { request, files, .. } = self;
        let (config, file) = (publisher.config, files.comment.display());
        if !wants_comment(config, report)
            || request.config().apply.max_comments.is_some_and(|most| most.get() == 0)
        {
            tracing::info!("comment: only in {file} (not requested)");
            return None;
        }
        // Progress may have found it already.
        let found = known.or_else(|| sticky(publisher.github, &publisher.api, &config.comment_key));
        let Some(sticky) = found else {
            let event = &publisher.github.event;
            tracing::info!(
                "comment: only in {file} (the event {event} does not belong to a pull request or \
                            issue)"
            );
            return None;
        };
        let body = self.masker.mask_rendered(&comment_of(request, report)).into_owned();
        match publisher.comment(&sticky, &body).await {
            Ok(Posted::At(url)) => {
                tracing::info!("comment: {url}");
                Some(url)
            }
            Ok(Posted::Outdated) => {
                let message = format!(
                    "the pull request has a newer commit, and a later run has written the comment; this run's comment is in {file}"
                );
                tracing::info!("{message}");
                report.notices.push(Notice { level: NoticeLevel::Info, message });
                None
            }
            Err(problem) => {
                let message = format!("{}; the comment is in {file}", problem.message);
                self.record_problem(report, PublishProblem { message, ..problem });
                None
            }
        }
    }
}

/// Returns the reason of a run whose result GitHub did not take.
fn not_published(about_permission: bool) -> StopReason {
    if about_permission { StopReason::NotPermitted } else { StopReason::NotPublished }
}

/// Ends a run for a reason that came up while it was published, unless it is red by itself already.
fn end(report: &mut RunReport, reason: StopReason) {
    if report.stop_reason.yields() {
        report.end(reason);
    }
}
