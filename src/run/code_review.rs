//! Code review of what a run has changed, by a read-only agent that may have its own model.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;
use workspace::{LastLink, Workspace, WorkspacePath};

use super::Run;
use super::agent_run::AgentRun;
use crate::agent::{Agent, AnswerCheck, AnswerVerdict, Limits, RepoMap, Session};
use crate::base::text::counted;
use crate::event::{Event, Finding, NoticeLevel, ReviewRecord, Severity};
use crate::git::Repository;
use crate::model::{Budget, ChatModel, MaskedModel};
use crate::request::InputError;
use crate::tool::Access;

/// The name by which its answers are recorded.
const NAME: &str = "reviewer";
/// Most tokens of the changes that it is shown; the rest it can read.
const MAX_CHANGES: usize = 15_000;
/// Model calls of one review.
const MAX_STEPS: u32 = 20;
/// Most findings of one review, and most characters of each.
const MAX_FINDINGS: usize = 50;
const MAX_MESSAGE: usize = 1_000;

/// Who reviews.
pub(super) struct CodeReview {
    /// The model, as people name it.
    pub(super) name: String,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) limits: Limits,
    pub(super) budget: Arc<Budget>,
}

#[derive(Deserialize)]
struct RawReview {
    findings: Vec<RawFinding>,
}

/// A finding as models write them: what one of them gets wrong costs that field, and not the review.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct RawFinding {
    file: Value,
    line: Value,
    severity: Value,
    message: Value,
    /// In percent.
    confidence: Value,
    /// The number of an earlier finding of the pull request that it repeats.
    same_as: Value,
}

impl RawFinding {
    /// Returns the number of the earlier finding that it repeats.
    pub(super) fn same_as(&self) -> Option<usize> {
        whole(number(&self.same_as)?)
    }

    /// Returns how certain the reviewer is, in percent; some give a share of one, which itself is all of it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a percentage")]
    fn confidence(&self) -> Option<u8> {
        let given = number(&self.confidence)?;
        let says_percent = self.confidence.as_str().is_some_and(|text| text.contains('%'));
        let is_share = given > 0.0 && given <= 1.0 && !says_percent;
        let percent = if is_share { given * 100.0 } else { given };
        Some(percent.clamp(0.0, 100.0).round() as u8)
    }

    fn severity(&self) -> Severity {
        let word = self.severity.as_str().unwrap_or_default().trim().to_lowercase();
        match word.as_str() {
            "error" | "critical" | "blocker" | "high" | "major" => Severity::Error,
            "note" | "info" | "low" | "minor" | "nit" => Severity::Note,
            _ => Severity::Warning,
        }
    }
}

/// Returns a number, which models also write as text: `12`, `12.0`, `"#12"`, `"L12"`, `"12-14"`.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let (before, digits) = text.split_at(text.find(|sign: char| sign.is_ascii_digit())?);
            let end = digits.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(digits.len());
            if before.ends_with('-') {
                return None;
            }
            digits[..end].trim_end_matches('.').parse().ok()
        }
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the bounds")]
fn whole<T: TryFrom<u64>>(number: f64) -> Option<T> {
    let is_whole = number.fract() == 0.0 && (0.0..=9e15).contains(&number);
    is_whole.then(|| T::try_from(number as u64).ok()).flatten()
}

impl AgentRun<'_> {
    /// The reviewer, if there is to be one; made once, so that all reviews of a run are one conversation's model.
    pub(super) fn code_review(
        &self,
        model: &Arc<dyn ChatModel>,
        limits: &Limits,
    ) -> Result<Option<CodeReview>, InputError> {
        if !self.request.job.config().review.enabled {
            return Ok(None);
        }
        let limits = limits.clone();
        let Some(own) = &self.request.reviewer else {
            let (name, model) = (self.request.job.model_name.clone(), Arc::clone(model));
            return Ok(Some(CodeReview { name, model, limits, budget: Arc::clone(&self.budget) }));
        };
        let model = super::model(own.choice.clone(), own.llm.clone(), None, &[])?;
        let masked = |model| {
            Arc::new(MaskedModel::new(model, Arc::clone(&self.run.engine.masker))) as Arc<dyn ChatModel>
        };
        let model = model.map(masked);
        let budget = Arc::new(self.budget.priced(&own.name, self.request.prices.find(&own.name)));
        Ok(model.map(|model| CodeReview { name: own.name.clone(), model, limits, budget }))
    }
}

/// A check that could not be made, which has been told.
pub(super) struct NotChecked;

impl CodeReview {
    /// Reviews what has changed; `Ok(None)` where there is nothing to review. Why there is no review has been told.
    pub(super) async fn inspect(
        &self,
        agent_run: &AgentRun<'_>,
        answer: &str,
        pass: u32,
    ) -> Result<Option<ReviewRecord>, NotChecked> {
        let run = &agent_run.run;
        let changes = run.engine.context.workspace.changes().unwrap_or_default();
        if changes.is_empty() {
            return Ok(None);
        }
        let agent = Agent::find("review", &run.request.config().agents)
            .map_err(|error| not_reviewed(run, &error.to_string()))?;
        let own = &run.request.config().review.prompt;
        let prompt = own.clone().unwrap_or_else(|| include_str!("../agent/prompt/inspect.md").to_owned());
        let agent = Agent {
            name: NAME.to_owned(),
            prompt,
            access: Access::Look,
            max_steps: MAX_STEPS,
            model: None,
            allowed_tools: agent.allowed_tools.map(|mut tools| {
                // What strangers wrote on the web has no effect in a review.
                tools.retain(|tool| {
                    !matches!(tool.as_str(), "fetch_url" | "web_search" | "dispatch_subagent" | "todo")
                });
                tools
            }),
        };
        let system = format!("{}{}", agent.prompt.trim_end(), agent_run.surroundings.text(RepoMap::MOST));
        let (model, limits) = (Arc::clone(&self.model), self.limits.clone());
        let session = Session::of_assistant(&agent, system, &run.engine, model, limits, &self.budget);
        let gates = run.collector.look(|collected| collected.gates.clone());
        let gates: String = gates
            .iter()
            .map(|gate| format!("- {}: {}\n", gate.name, if gate.passed { "passed" } else { "failed" }))
            .collect();
        let question = format!(
            "Task:\n{}\n\nThe engineer's final message:\n{answer}\n\nChecks:\n{gates}\nChange:\n{}",
            run.request.task,
            run.diff(MAX_CHANGES)
        );
        let ended = session.run(&question, &mut Form::default()).await;
        let findings = match (read(&ended.message), &ended.error) {
            (Ok(said), None) => said.iter().filter_map(|said| resolve(run, said, &[])).collect(),
            (_, Some(error)) => return Err(not_reviewed(run, &error.to_string())),
            (Err(problem), None) => return Err(not_reviewed(run, &problem.to_string())),
        };
        let (findings, left_out) = worst(findings);
        if left_out > 0 {
            let left_out = counted(left_out, "finding", "s");
            run.events.notice(
                NoticeLevel::Warning,
                format!("the code review has {left_out} more than are kept; the worst are"),
            );
        }
        let record = ReviewRecord { pass, model: self.name.clone(), findings, standing: None };
        run.events.emit(Event::Review(record.clone()));
        Ok(Some(record))
    }
}

fn not_reviewed(run: &Run<'_>, problem: &str) -> NotChecked {
    run.events.notice(NoticeLevel::Warning, format!("the change was not reviewed: {problem}"));
    NotChecked
}

/// Reason why an answer is not a review.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidReview {
    /// There is no JSON in it.
    #[error("the answer contains no JSON object")]
    NoObject,
    /// The JSON has another form.
    #[error(transparent)]
    Form(#[from] serde_json::Error),
}

/// Reads an answer: a JSON object, whatever stands around it.
pub(super) fn read(answer: &str) -> Result<Vec<RawFinding>, InvalidReview> {
    let object = answer.find('{').zip(answer.rfind('}')).and_then(|(from, to)| answer.get(from..=to));
    let object = object.ok_or(InvalidReview::NoObject)?;
    Ok(serde_json::from_slice::<RawReview>(object.as_bytes())?.findings)
}

/// Returns the finding that a reviewer means; `None` if it says nothing, or is less certain than is asked for. Files are named
/// from the workspace, or as a diff names them, from the root of the repository; `changed` are those of the diff.
pub(super) fn resolve(run: &Run<'_>, said: &RawFinding, changed: &[String]) -> Option<Finding> {
    let confidence = said.confidence();
    let least = run.request.config().review.min_confidence.get();
    if confidence.is_some_and(|percent| u64::from(percent) < least) {
        return None;
    }
    let workspace = &run.engine.context.workspace;
    let exists = |path: &WorkspacePath| {
        let found = workspace.resolve(path, LastLink::Follow).and_then(|path| workspace.stat(&path));
        found.is_ok_and(|stat| stat.is_some())
    };
    let prefix = run.request.repository.as_ref().map(Repository::prefix).unwrap_or_default();
    let named = said.file.as_str().unwrap_or_default().trim();
    let is_in_diff = |path: &WorkspacePath| changed.contains(&format!("{prefix}{path}"));
    let file = paths_of(named, &prefix).into_iter().filter(exists).min_by_key(|path| !is_in_diff(path));
    // What it quotes is masked before it is compared with what stands on GitHub.
    let message = run.engine.masker.mask(said.message.as_str().unwrap_or_default().trim());
    if message.is_empty() {
        return None;
    }
    let cut = message.char_indices().nth(MAX_MESSAGE).map_or(message.len(), |(at, _)| at);
    // Where it is about no file of the checkout, the words are kept.
    let message = match &file {
        Some(_) => message[..cut].to_owned(),
        None => format!("{named}: {}", &message[..cut]),
    };
    let line = number(&said.line).and_then(whole).unwrap_or(1_u32).max(1);
    let place = file.as_ref().and_then(|path| line_of(workspace.as_ref(), path, line)).unwrap_or_default();
    Some(Finding { file, line, severity: said.severity(), message, place, confidence })
}

/// Returns the files that a reviewer may mean, the likeliest first: as it names them, as the header of a diff names them, from the
/// root of something, or with the separators of another system. `prefix` leads from the root of the repository to the workspace.
fn paths_of(named: &str, prefix: &str) -> Vec<WorkspacePath> {
    let of_diff = ["a/", "b/"].iter().find_map(|side| named.strip_prefix(side));
    let forms = [Some(named.to_owned()), of_diff.map(str::to_owned), Some(named.replace('\\', "/"))];
    let mut paths = Vec::new();
    for form in forms.into_iter().flatten() {
        let form = form.trim_start_matches('/');
        let from_root = form.strip_prefix(prefix).filter(|_| !prefix.is_empty());
        let found = [Some(form), from_root].into_iter().flatten();
        paths.extend(found.filter_map(|path| WorkspacePath::parse(path).ok()));
    }
    paths
}

/// Sorts findings, the worst first, and returns as many as are kept, with the number of the others.
pub(super) fn worst(mut findings: Vec<Finding>) -> (Vec<Finding>, usize) {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let left_out = findings.len().saturating_sub(MAX_FINDINGS);
    findings.truncate(MAX_FINDINGS);
    (findings, left_out)
}

/// Returns the text of a line of a file.
fn line_of(workspace: &dyn Workspace, path: &WorkspacePath, line: u32) -> Option<String> {
    let resolved = workspace.resolve(path, LastLink::Follow).ok()?;
    let state = workspace.read(&resolved).ok()?;
    let text = String::from_utf8_lossy(&state.content);
    text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?).map(Finding::place_of)
}

/// Returns what to tell an agent whose answer is not a review.
pub(super) fn form_complaint(answer: &str) -> Option<String> {
    let problem = read(answer).err()?;
    Some(format!("Your answer could not be read: {problem}. Answer again with only the JSON object."))
}

/// An answer of the wrong form goes back once.
#[derive(Default)]
struct Form {
    sent_back: bool,
}

impl AnswerCheck for Form {
    fn check<'a>(&'a mut self, answer: &'a str) -> BoxFuture<'a, AnswerVerdict> {
        let opinion = match form_complaint(answer).filter(|_| !self.sent_back) {
            Some(told) => {
                self.sent_back = true;
                AnswerVerdict::SendBack(told)
            }
            None => AnswerVerdict::Accept,
        };
        async { opinion }.boxed()
    }
}

/// What the agent is told to fix.
pub(super) fn complaint(findings: &[&Finding]) -> String {
    let mut text = "A code review of your changes has these findings:\n".to_owned();
    for finding in findings {
        let place = finding.file.as_ref().map_or(String::new(), |file| format!("{file}:{}: ", finding.line));
        text += &format!("- {}: {place}{}\n", finding.severity, finding.message);
    }
    text + "Fix the findings that are correct, then finish again; say which ones you did not fix, and why."
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_found_however_they_are_named() {
        let first = |named: &str, prefix: &str, wanted: &str| {
            paths_of(named, prefix).iter().any(|path| path.as_str() == wanted)
        };
        for (named, prefix, wanted) in [
            ("lib/a.rs", "", "lib/a.rs"),
            ("b/lib/a.rs", "", "lib/a.rs"),
            ("/lib/a.rs", "", "lib/a.rs"),
            ("lib\\a.rs", "", "lib/a.rs"),
            ("b/app/lib/a.rs", "app/", "lib/a.rs"),
            ("b/a.rs", "", "b/a.rs"),
        ] {
            assert!(first(named, prefix, wanted), "{named}: {:?}", paths_of(named, prefix));
        }
    }

    #[test]
    fn confidence_is_a_percentage_or_a_share_of_one() {
        for (given, expected) in [
            (json!(90), Some(90)),
            (json!(0.9), Some(90)),
            (json!(1.0), Some(100)),
            (json!(1), Some(100)),
            (json!("1%"), Some(1)),
            (json!("0.5"), Some(50)),
            (json!(0), Some(0)),
            (json!(120), Some(100)),
            (json!("high"), None),
        ] {
            let finding = RawFinding { confidence: given.clone(), ..RawFinding::default() };
            assert_eq!(finding.confidence(), expected, "{given}");
        }
    }
}
