//! Applies a reviewed plan: the files exactly, its commands if that is wanted, then the gates for real.

use std::path::Path;

use sanitize::untrusted::code;
use workspace::{ChangeSet, FileChange};

use super::integrity::{NotJudged, demand_less};
use super::not_applied::NotApplied;
use super::{Outcome, Run, records};
use crate::agent::SessionOutcome;
use crate::base::text::counted;
use crate::base::verbose_log::detail;
use crate::config::Requirement;
use crate::engine::Caller;
use crate::event::{Event, GateRecord, GateVerdict, NoticeLevel, RunMode, StopReason, TestFinding, ToolCall};
use crate::gates::GateOutcome;
use crate::git::Repository;
use crate::github::{
    Api, Application, AttestationError, Attested, Subject, TrustedRoot, file_at, unmet, verify_attested,
};
use crate::guardrails::{BaseFiles, CODE_OWNERS, InspectionError, inspect};
use crate::plan::{Applied, ApplyError, CarriedOver, Checked, JournalError, Plan, PlannedCommand};
use crate::request::ApplyRequest;
use crate::tool::Access;

impl Run<'_> {
    pub(super) async fn apply(&self, request: &ApplyRequest) -> Outcome {
        // Whether the checkout holds local changes has to be known before there are some of ours.
        let _ = self.engine.baseline_ready.clone().wait_for(|ready| *ready).await;
        let mut test_findings = Vec::new();
        let (carried, error) = match self.carry_over(request).await {
            Ok(carried) => (carried.map(Box::new), None),
            Err(error) => (None, Some(error)),
        };
        let plan = carried.as_deref().unwrap_or(&request.plan);
        let checked = match error {
            Some(error) => Err(error),
            None => self.check(request, plan).await,
        };
        let (reason, message) = match checked {
            Err(error) => self.not_applied(&error),
            Ok(checked) => match self.judge_tests(checked.changes()).await {
                Err(NotJudged) => {
                    (StopReason::NotApplied, "could not check whether tests keep their meaning".to_owned())
                }
                Ok(findings) => {
                    let is_refused = self.refuses(&findings);
                    test_findings = findings;
                    if is_refused {
                        let message = format!("Did not apply the plan {}.", short(&plan.digest));
                        (StopReason::TestsWeakened, message)
                    } else {
                        self.write(checked, request, plan, &mut test_findings).await
                    }
                }
            },
        };
        let ended = SessionOutcome { reason, message, error: None };
        let carried = carried.filter(|_| reason != StopReason::NotApplied);
        Outcome {
            ended,
            structured: None,
            cost_usd: None,
            test_findings,
            proof: None,
            carried,
            reviewed: None,
            matches: std::sync::Arc::default(),
        }
    }

    /// Checks everything that can be checked without executing anything.
    async fn check(&self, request: &ApplyRequest, plan: &Plan) -> Result<Checked, NotApplied> {
        let may_write = |path: &_| Ok(self.engine.guardrails.check_write(path)?);
        // Of a plan that was carried over, the one before is what was reviewed.
        let reviewed = request.digest.as_deref().filter(|_| request.moved.is_none());
        let mut checked = plan.check(&self.disk, reviewed, may_write)?;
        self.compare_with_commit(&mut checked, plan).await?;
        // What depends on the plan's files is seen once more when they are there.
        if let Some((command, _)) =
            commands_left(plan).find(|(command, call)| !self.is_as_shown(command, call))
        {
            return Err(ApplyError::Disguised(command.command.clone()).into());
        }
        if let Some(made) = &request.made {
            made.check(plan)?;
        }
        let own: Vec<FileChange> = checked.changes().iter().cloned().collect();
        self.engine.guardrails.check_links(&own)?;
        let warnings = self.engine.guardrails.check_all_changes(&own)?;
        for told in warnings {
            self.events.notice(NoticeLevel::Warning, told);
        }
        // On GitHub, reviewers saw the plan rendered.
        if self.request.github.is_some() {
            self.inspect(checked.changes())?;
        }
        self.check_attestation(&request.plan).await?;
        self.check_pull_request(request, plan).await?;
        Ok(checked)
    }

    /// Looks for what a reviewer of these changes could overlook.
    fn inspect(&self, changes: &ChangeSet) -> Result<(), InspectionError> {
        let rules = &self.request.config().apply;
        let repository = self.request.repository.as_ref();
        let prefix = repository.map(Repository::prefix).unwrap_or_default();
        let trusted = self.trusted_commit();
        let trusted = repository.zip(trusted.as_deref());
        let read =
            |path: &str| trusted.and_then(|(repository, commit)| repository.read_at(commit, path).ok());
        let base = BaseFiles {
            prefix: &prefix,
            is_there: read(".").is_some(),
            read: &|path| read(path).flatten(),
            names: &|folder| names_in(&self.disk.path().join(folder.as_str())),
        };
        inspect(changes, &self.request.location, rules, &self.engine.masker, &base)
    }

    /// Returns why an apply on GitHub would refuse what a dry run there has planned.
    pub(super) fn refusal(&self) -> Option<String> {
        let is_plan = self.request.mode == RunMode::DryRun && self.request.github.is_some();
        if !is_plan {
            return None;
        }
        let changes = self.engine.context.workspace.changes().ok()?;
        self.inspect(&changes).err().map(|error| error.to_string())
    }

    /// Returns the commit that is trusted: the base of a pull request, otherwise what is checked out.
    fn trusted_commit(&self) -> Option<String> {
        match self.request.github.as_ref().map(|github| &github.subject) {
            Some(Subject::PullRequest { base, .. }) => base.clone(),
            _ => self.request.repository.as_ref()?.head(),
        }
    }

    /// Checks whether the workflow run that made the plan has signed it, if the configuration demands that.
    async fn check_attestation(&self, plan: &Plan) -> Result<(), NotApplied> {
        let apply = &self.request.config().apply;
        let Some(github) = &self.request.github else { return Ok(()) };
        if !apply.requires.contains(&Requirement::Attested) {
            return Ok(());
        }
        let path = apply.trusted_root.as_deref().ok_or(AttestationError::NoRoot)?;
        let made = plan.made.as_ref().ok_or(AttestationError::NoOrigin)?;
        let api = Api::new(github).map_err(AttestationError::Api)?;
        let base = match &github.subject {
            Subject::PullRequest { base, .. } => base.as_deref(),
            Subject::Issue { .. } | Subject::Repository => github.sha.as_deref(),
        };
        let text = match base {
            Some(base) => file_at(&api, base, path).await.map_err(AttestationError::Api)?,
            None => None,
        };
        let reason = "it is not in the base commit".to_owned();
        let text = text.ok_or_else(|| AttestationError::Root { path: path.to_owned(), reason })?;
        let wanted = Attested {
            digest: &plan.computed_digest(),
            server: &github.server_url,
            repository: &made.repository,
            workflow: made.workflow.as_deref().ok_or(AttestationError::NoOrigin)?,
            run: made.run,
        };
        Ok(verify_attested(&api, &TrustedRoot::parse(path, &text)?, &wanted).await?)
    }

    /// Checks whether the pull request whose branch is to be changed is as the configuration demands.
    async fn check_pull_request(&self, request: &ApplyRequest, plan: &Plan) -> Result<(), NotApplied> {
        let requires = &self.request.config().apply.requires;
        let Some(github) = self.request.github.as_ref().filter(|_| !requires.is_empty()) else {
            return Ok(());
        };
        let Subject::PullRequest { number, head: Some(head), .. } = &github.subject else { return Ok(()) };
        if requires.contains(&Requirement::CodeOwners)
            && request.run_commands
            && commands_left(plan).next().is_some()
        {
            let reason =
                "the plan's commands may change files of any owner; apply it without `--run-commands`";
            return Err(NotApplied::Unmet(reason.to_owned()));
        }
        let prefix = self.request.repository.as_ref().map(Repository::prefix).unwrap_or_default();
        let paths: Vec<String> = plan.files.iter().map(|file| format!("{prefix}{}", file.path)).collect();
        // An approval covers exactly the changes of the plan, wherever the branch has moved since. What a plan says of itself when it
        // arrives could have been written by anybody.
        let unmerged = (*plan != request.plan)
            .then_some(plan.carried_over.as_ref())
            .flatten()
            .filter(|carried| carried.merged.is_empty());
        let application = Application {
            number: *number,
            head: &head.sha,
            planned_on: unmerged.map(|carried| carried.commit.as_str()),
            planned_at: request.plan.made.as_ref().and_then(|made| made.at.as_deref()),
            planner: request.planner(),
            environment: github,
            paths: &paths,
            owners_files: &CODE_OWNERS,
        };
        let unmet = unmet(&Api::new(github)?, requires, application).await?;
        if unmet.is_empty() { Ok(()) } else { Err(NotApplied::Unmet(unmet.join("; "))) }
    }

    fn not_applied(&self, error: &NotApplied) -> (StopReason, String) {
        self.events.notice(NoticeLevel::Error, error.to_string());
        // A checkout that is stuck halfway is no "nothing was written".
        let stuck = matches!(error, NotApplied::Plan(ApplyError::Journal(JournalError::Stuck { .. })));
        let reason = if stuck { StopReason::CheckoutChanged } else { StopReason::NotApplied };
        (reason, error.to_string())
    }

    /// Changes the files, then runs the plan's commands if that is wanted, which may add findings, and the gates.
    async fn write(
        &self,
        checked: Checked,
        request: &ApplyRequest,
        plan: &Plan,
        findings: &mut Vec<TestFinding>,
    ) -> (StopReason, String) {
        let before = self.known_failures(&request.plan, &checked.made()).await;
        let applied = match self.change_files(checked) {
            Err(error) => return self.not_applied(&error.into()),
            Ok(applied) => applied,
        };
        let message = message(plan, &applied);
        // If the files are in place already, the commands may have run as well, and twice could be too often.
        let have_run = applied == Applied::Already && !plan.files.is_empty();
        let run_commands = request.run_commands && !have_run;
        if request.run_commands && have_run && commands_left(plan).next().is_some() {
            let told = "the plan's commands were not run, because all of its files are here already";
            self.events.notice(NoticeLevel::Warning, told);
        }
        if request.is_second_job() {
            // They ran where the plan was made; here nothing does.
            plan.gates.iter().for_each(|gate| self.events.emit(Event::Gate(gate.clone())));
        }
        let succeeded = !run_commands || self.run_commands(plan).await;
        let gates = self.judged_gates(&before).await;
        self.tell_gates(gates.as_deref().unwrap_or_default());
        if run_commands {
            let changes = self.engine.context.workspace.changes().unwrap_or_default();
            match self.judge_tests(&changes).await {
                Ok(found) => *findings = found,
                Err(NotJudged) => return (StopReason::NotChecked, message),
            }
        }
        let is_failed =
            |gate: &GateRecord| gate.required && !gate.passed && gate.verdict != GateVerdict::FailedBefore;
        let reason = match gates {
            _ if !succeeded => StopReason::CommandsFailed,
            Err(()) => StopReason::GatesNotRun,
            Ok(gates) if self.is_cut_off(&gates) && self.time_limit.is_reached() => StopReason::Timeout,
            Ok(gates) if self.is_cut_off(&gates) => StopReason::UserInterrupt,
            Ok(gates) if gates.iter().any(is_failed) => StopReason::GatesFailed,
            Ok(_) if self.refuses(findings) => StopReason::TestsWeakened,
            Ok(_) if demand_less(findings) => StopReason::TestsDemandLess,
            Ok(gates) if gates.iter().any(|gate| gate.required && !gate.passed) => StopReason::FailedBefore,
            Ok(gates) if gates.iter().any(|gate| gate.required && gate.verdict == GateVerdict::Flaky) => {
                StopReason::GatesFlaky
            }
            Ok(_) => StopReason::Applied,
        };
        (reason, message)
    }

    /// Runs the gates, and those that would fail the run once more. `before` are the outcomes of gates without the plan.
    async fn judged_gates(&self, before: &[GateOutcome]) -> Result<Vec<GateRecord>, ()> {
        let before = |name: &str| before.iter().find(|before| before.record.name == name);
        let mut outcomes = self.gates(1).await?;
        for first in &mut outcomes {
            first.judge(before(&first.record.name));
            let list = &self.request.config().guardrails.quality_gates;
            if let Some((_, mut second)) = self.passing_again(list, first, 1).await? {
                second.judge(before(&second.record.name));
                second.is_second_try_of(first);
                if second.record.passed {
                    *first = second;
                }
            }
        }
        Ok(records(&outcomes))
    }

    fn change_files(&self, checked: Checked) -> Result<Applied, ApplyError> {
        let in_place = checked.in_place().count();
        if in_place > 0 {
            let told = format!("already as planned in the checkout: {}", counted(in_place, "file", "s"));
            self.events.notice(NoticeLevel::Info, told);
        }
        let applied = checked.apply(&self.disk, &self.source.journal, &|step| detail!("apply: {step:?}"))?;
        if let (Applied::Done(changes), Some(tracked)) = (&applied, &self.tracked) {
            tracked.absorb(changes);
        }
        Ok(applied)
    }

    /// Runs those of the plan's commands that have not run yet, by the same pipeline as the agent's: classified again, in
    /// the sandbox. Returns whether all of them succeeded.
    async fn run_commands(&self, plan: &Plan) -> bool {
        let mut succeeded = true;
        for (index, (command, call)) in commands_left(plan).enumerate() {
            let step = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let caller = Caller { agent: &plan.agent, step, allowed: None, access: Access::Full };
            let is_as_shown = self.is_as_shown(command, &call);
            if !is_as_shown {
                let told = ApplyError::Disguised(command.command.clone()).to_string();
                self.events.notice(NoticeLevel::Error, told);
            }
            if !is_as_shown || !self.engine.call(caller, &call).await.success {
                succeeded = false;
            }
        }
        succeeded
    }

    /// Returns whether a call runs the command that people see: a plan may name a tool, but none that does something else.
    fn is_as_shown(&self, command: &PlannedCommand, call: &ToolCall) -> bool {
        self.engine.effects(call).is_none_or(|effects| {
            effects.command.is_some_and(|found| found.line == command.command && found.cwd == command.cwd)
        })
    }
}

/// Returns what is said of a plan that has been applied.
fn message(plan: &Plan, applied: &Applied) -> String {
    let Applied::Done(changes) = applied else {
        return format!("The plan {} is already applied.", short(&plan.digest));
    };
    let files = counted(changes.len(), "file", "s");
    let carried = plan.carried_over.as_ref().map(told).unwrap_or_default();
    format!("Applied the plan {}: {files}.{carried}", short(&plan.digest))
}

/// Returns the names of what is in a folder; none if there is no such folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Returns the commands of a plan that have not run yet, with their calls.
fn commands_left(plan: &Plan) -> impl Iterator<Item = (&PlannedCommand, ToolCall)> {
    let left = plan.commands.iter().filter(|command| !command.has_run);
    left.enumerate().map(|(index, command)| {
        let call = ToolCall {
            id: format!("command-{}", index + 1),
            name: command.tool.clone(),
            arguments: command.input.clone(),
        };
        (command, call)
    })
}

/// Tells of the plan that was reviewed in place of the one that is applied.
fn told(carried: &CarriedOver) -> String {
    let CarriedOver { digest, commit, merged } = carried;
    let changed = if merged.is_empty() {
        "none of its files had changed".to_owned()
    } else {
        let files: Vec<String> = merged.iter().map(|path| code(path.as_str())).collect();
        format!("merged with changes of others in {}", files.join(", "))
    };
    format!(" It was carried over from the plan {}, made for {}: {changed}.", short(digest), short(commit))
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
