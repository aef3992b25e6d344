//! Work on one target: plans it on a shallow clone, and delivers the plan to a branch. Both are ordinary runs, with all of
//! their checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use sanitize::Masker;
use sanitize::untrusted::visible;
use tokio::task::block_in_place;
use tracing::instrument::WithSubscriber;

use super::file::{Reviewers, Split};
use super::file_owners::FileOwners;
use super::parts::KnownParts;
use super::plans::{Plans, folder};
use super::reconcile::StepOutcome;
use super::request::CampaignRequest;
use super::split::{TakenFiles, split};
use super::state::Record;
use super::target::TargetId;
use super::target_place::{Target, fresh, log_in, masker};
use super::title::title;
use super::verdict::check;
use super::work_error::WorkError;
use crate::base::bounded::Bounded;
use crate::base::env::Variables;
use crate::base::network_clock::NetworkClock;
use crate::config::DeliverTo;
use crate::event::RunMode;
use crate::git::{RemoteRepository, Repository};
use crate::github::{Observed, ObservedRepository, Permissions, ask_for_review, newest_pull};
use crate::request::{ApplyRequest, Deliver, InputError, Inputs, RunRequest, read_plan};
use crate::run::{Signal, apply, run};

/// Longest reason of a failure that is remembered, in characters.
const MAX_REASON: usize = 300;

/// The folder of what splits into parts, below that of the campaign's files.
const WHOLE: &str = "whole";

/// Variables through which the runner receives results, or that describe this job; a target's run has others.
const OWN: [&str; 12] = [
    "GITHUB_OUTPUT",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_ENV",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_EVENT_PATH",
    "GITHUB_HEAD_REF",
    "GITHUB_BASE_REF",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "INPUT_GITHUB_TOKEN",
    "INPUT_EVENT",
];

impl CampaignRequest {
    /// Makes the plan of a target. Returns what came of it, or of its parts: those that are asked for, and those that are new.
    pub(super) async fn plan(
        &self,
        id: &TargetId,
        observed: Option<&Observed>,
        parts: &KnownParts,
        signal: &Signal,
    ) -> Result<BTreeMap<TargetId, StepOutcome>, StepOutcome> {
        Box::pin(self.try_plan(id, observed, parts, signal)).await.map_err(|error| self.failed(&error))
    }

    /// Delivers the plan of a target.
    pub(super) async fn deliver(
        &self,
        (id, record): (&TargetId, &Record),
        plans: &Plans,
        observed: Option<&Observed>,
        signal: &Signal,
    ) -> StepOutcome {
        match Box::pin(self.try_deliver((id, record), plans, observed, signal)).await {
            Ok(done) => done,
            Err(error) => self.failed(&error),
        }
    }

    /// Returns the saved text of a failure: one line, without secrets.
    pub(super) fn failed(&self, error: &WorkError) -> StepOutcome {
        // Waiting for GitHub is not a failure of the target: a later start tries it again.
        let is_waiting = error.limited_until().is_some();
        let text = crate::base::error::chain(error);
        let masker = Masker::from_environment(&self.inputs.variables, &[], &[]);
        let masked = masker.mask(text.trim()).into_owned();
        let line = visible(&masked).replace(['\n', '\r'], " ");
        if is_waiting {
            tracing::warn!("warning: {line}");
            return StepOutcome::Seen;
        }
        StepOutcome::Failed(line.chars().take(MAX_REASON).collect())
    }

    fn target<'a>(
        &'a self,
        id: &'a TargetId,
        observed: Option<&'a Observed>,
    ) -> Result<Target<'a>, WorkError> {
        let Some(ObservedRepository::Present { name, head: Some((branch, commit)), .. }) =
            observed.map(|observed| &observed.repository)
        else {
            return Err(WorkError::NoCommit);
        };
        let entry = self.campaign.task(id).ok_or(WorkError::NoTask)?;
        Ok(Target { id, entry, name, branch, commit })
    }

    async fn try_plan(
        &self,
        id: &TargetId,
        observed: Option<&Observed>,
        parts: &KnownParts,
        signal: &Signal,
    ) -> Result<BTreeMap<TargetId, StepOutcome>, WorkError> {
        let target = self.target(id, observed)?;
        // What was split until now stays split: some of it may have been opened.
        let is_split = self.campaign.file.pull_request.split == Split::Owners || parts.is_split();
        let taken = if is_split { self.taken_files(&target, parts).await? } else { TakenFiles::new() };
        let repository = self.clone_of(&target).await?;
        // The part that nobody owns has a plan of its own in the place of the target's.
        let out = if is_split { folder(&self.out.join(WHOLE), id) } else { folder(&self.out, id) };
        fresh(&out)?;
        let inputs = Inputs {
            mode: Some(RunMode::DryRun),
            // No token: planning writes nothing.
            ..self.inputs_of(&target, (repository.root(), &out), None)
        };
        let (mut request, masker) = block_in_place(|| {
            let request = RunRequest::resolve(&inputs)?;
            let masker = masker(&request.job);
            Ok::<_, InputError>((request, masker))
        })?;
        request.job.make_one_of_many();
        let gates = &mut request.job.origin.config.guardrails.quality_gates;
        gates.extend(target.entry.gates.iter().cloned());
        let has_gates = !gates.is_empty();
        let log = log_in(&out, &masker)?;
        let ended = Box::pin(run(&request, masker, signal.clone()).with_subscriber(log)).await?;
        check(&ended.report)?;
        let plan = read_plan(&out.join("plan.json"))?;
        let owners = FileOwners::read(&repository, target.commit, target.entry.folder.as_deref());
        if is_split {
            let made = split(plan, &owners, &taken)?;
            return self.plan_parts(&target, (made, has_gates), parts, signal).await;
        }
        self.write_plan_key(id).map_err(|(path, error)| WorkError::Write(path, error))?;
        let outcome = if plan.files.is_empty() {
            StepOutcome::Nothing
        } else {
            StepOutcome::Planned { owners: owners.of_files(&plan.files), digest: plan.digest }
        };
        Ok([(id.clone(), outcome)].into())
    }

    async fn try_deliver(
        &self,
        (id, record): (&TargetId, &Record),
        plans: &Plans,
        observed: Option<&Observed>,
        signal: &Signal,
    ) -> Result<StepOutcome, WorkError> {
        let now = self.target(id, observed)?;
        let plan = plans.read(id).ok_or(WorkError::NoPlan)?;
        let digest = plan.digest.clone();
        let branch = self.campaign.branch(id);
        // What GitHub showed may be some minutes old: what people have closed or merged since is not opened again.
        let api = self.writer(now.name).await?;
        if let Some((_, false)) = newest_pull(&api, &branch, now.branch, record.past).await? {
            return Ok(StepOutcome::Seen);
        }
        let commit = plan.base.as_ref().map_or(now.commit, |base| &base.commit).to_owned();
        let target = Target { commit: &commit, ..now };
        let repository = self.clone_of(&target).await?;
        let out = folder(&self.out, id).join("delivery");
        fresh(&out)?;
        let token = self.token(target.name, Permissions::Write).await?;
        let inputs = self.inputs_of(&target, (repository.root(), &out), token);
        let task = self.campaign.file.pull_request.title.as_ref().or(target.entry.task.as_ref());
        let title = title(id, task.unwrap_or(&plan.task), &record.owners);
        let is_second = self.inputs.in_ci && self.environment.in_actions && self.environment.run_id.is_some();
        let (mut request, masker) = block_in_place(|| {
            let made = plan.made.is_some() && is_second;
            let request = if made {
                let mut request = ApplyRequest::for_second_job(&inputs, plan, Some(digest.clone()))?;
                let required = target.entry.gates.iter().filter(|gate| gate.required);
                request.require_gates(required.map(|gate| gate.name.clone()));
                request
            } else {
                ApplyRequest::resolve(&inputs, plan, Some(digest.clone()), false)?
            };
            let masker = masker(&request.job);
            Ok::<_, InputError>((request, masker))
        })?;
        request.job.make_one_of_many();
        let pull_request = &self.campaign.file.pull_request;
        let deliver = &mut request.job.origin.config.deliver;
        (deliver.draft, deliver.labels) = (pull_request.draft, pull_request.labels.clone());
        let onto = target.branch.to_owned();
        request.job.deliver = Deliver::OwnBranch { branch, onto, title, pull: true };
        let log = log_in(&out, &masker)?;
        let ended = Box::pin(apply(&request, masker, signal.clone()).with_subscriber(log)).await?;
        let delivered = ended.report.delivery.as_ref().and_then(|delivery| delivery.pull_request.as_ref());
        let Some(number) = delivered.map(|pull| pull.number) else {
            check(&ended.report)?;
            return Ok(StepOutcome::Delivered { digest, pull: None });
        };
        if pull_request.reviewers == Reviewers::Owners
            && let Err(error) = ask_for_review(&api, number, &record.owners).await
        {
            tracing::warn!("warning: {id}: {error}");
        }
        Ok(StepOutcome::Delivered { digest, pull: Some(number) })
    }

    /// Returns a clone of a target's repository, which all of its parts share.
    pub(super) async fn clone_of(&self, target: &Target<'_>) -> Result<Repository, WorkError> {
        let token = self.token(target.name, Permissions::Read).await?;
        let server = &self.environment.server_url;
        let url = format!("{server}/{}.git", target.name);
        let checkout = folder(&self.out.join("clones"), &target.id.whole());
        let limit = self.environment.call_limit();
        let remote = RemoteRepository { url: &url, server, token: token.as_deref(), limit: Some(&limit) };
        let cone = target.cone();
        // Git may be slow; other targets continue in the meantime.
        Ok(block_in_place(|| Repository::shallow_clone(&checkout, remote, target.commit, cone.as_ref()))?)
    }

    /// Returns the inputs of a target's run: flags of the campaign take precedence over the task.
    pub(super) fn inputs_of(
        &self,
        target: &Target<'_>,
        (checkout, out): (&Path, &Path),
        token: Option<String>,
    ) -> Inputs {
        let (given, entry) = (&self.inputs, target.entry);
        let timeout = entry.timeout.map(Bounded::seconds).or(given.timeout);
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let file = |path: &String| self.checkout.join(path);
        let recipe = entry.recipe.as_ref().map(|recipe| file(recipe).display().to_string());
        Inputs {
            task_file: entry.task_file.as_ref().map(file),
            budget_usd: entry.budget_usd.or(given.budget_usd),
            timeout,
            deadline,
            network: NetworkClock::until(deadline),
            mode: None,
            deliver: Some(DeliverTo::None),
            config: Some(self.config.clone()),
            config_root: Some(self.checkout.clone()),
            workspace: Some(checkout.to_owned()),
            out: Some(out.to_owned()),
            ledger: self.ledger().map(|shared| shared.file().to_owned()).or_else(|| given.ledger.clone()),
            event: None,
            comment_key: Some(self.campaign.key(target.id)),
            variables: self.variables_of(target, checkout, token),
            ..entry.inputs(given, recipe)
        }
    }

    /// Returns the variables of a target's run, which is about a commit of another repository.
    fn variables_of(&self, target: &Target<'_>, checkout: &Path, token: Option<String>) -> Variables {
        let mut variables = self.inputs.variables.clone();
        for name in OWN.into_iter().chain(self.campaign.file.app.as_ref().map(|app| app.key_env.as_str())) {
            variables.remove(name);
        }
        let own = [
            ("GITHUB_REPOSITORY", target.name.to_string()),
            ("GITHUB_SHA", target.commit.to_owned()),
            ("GITHUB_REF", format!("refs/heads/{}", target.branch)),
            ("GITHUB_REF_NAME", target.branch.to_owned()),
            ("GITHUB_EVENT_NAME", "workflow_dispatch".to_owned()),
            ("GITHUB_WORKSPACE", checkout.display().to_string()),
        ];
        variables.extend(own.map(|(name, value)| (name.to_owned(), value)));
        variables.extend(token.map(|token| ("GITHUB_TOKEN".to_owned(), token)));
        variables
    }
}
