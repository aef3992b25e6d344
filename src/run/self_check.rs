//! Self-check: one more model call, which compares the task with the result.

use std::fmt::Write;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::Run;
use super::agent_run::AgentRun;
use crate::agent::{Agent, AnswerCheck, AnswerVerdict, Limits, Session};
use crate::engine::truncate_middle;
use crate::event::NoticeLevel;
use crate::model::ChatModel;
use crate::tool::Access;

/// The name by which its answers are recorded.
const NAME: &str = "evaluator";
/// Most tokens of the changes that it sees.
const MAX_CHANGES: usize = 6_000;

/// What the check found.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Evaluation {
    /// Whether the task is done.
    pub(super) completed: bool,
    /// How sure it is, from 0 to 1.
    #[serde(default)]
    pub(super) confidence: f64,
    /// What is missing.
    #[serde(default)]
    pub(super) issues: Vec<String>,
    /// What to do next.
    #[serde(default)]
    pub(super) suggestion: String,
}

impl Evaluation {
    /// Reads an answer: a JSON object, whatever stands around it.
    fn read(answer: &str) -> Option<Self> {
        let object = &answer[answer.find('{')?..=answer.rfind('}')?];
        serde_json::from_slice(object.as_bytes()).ok()
    }

    /// What the agent is told.
    pub(super) fn complaint(&self) -> String {
        let mut text = "A check of your work found that the task is not done.\n".to_owned();
        for issue in &self.issues {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "- {issue}");
        }
        if !self.suggestion.is_empty() {
            let _ = writeln!(text, "Suggestion: {}", self.suggestion);
        }
        text + "Continue, or explain why you disagree."
    }
}

/// Who checks.
pub(super) struct SelfCheck {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) limits: Limits,
}

impl SelfCheck {
    /// Checks; `None` where there is no opinion to be had, which has been told.
    pub(super) async fn evaluate(&self, agent_run: &AgentRun<'_>, answer: &str) -> Option<Evaluation> {
        let run = &agent_run.run;
        let agent = Agent {
            name: NAME.to_owned(),
            prompt: include_str!("../agent/prompt/evaluate.md").to_owned(),
            allowed_tools: Some(Vec::new()),
            access: Access::Look,
            max_steps: 1,
            model: None,
        };
        let (system, model, limits) = (agent.prompt.clone(), Arc::clone(&self.model), self.limits.clone());
        let session = Session::of_assistant(&agent, system, &run.engine, model, limits, &agent_run.budget);
        let ended = session.run(&question(run, answer), &mut AnyAnswer).await;
        let evaluation = Evaluation::read(&ended.message);
        let (level, told) = match (&evaluation, &ended.error) {
            (Some(found), _) if found.completed => (
                NoticeLevel::Info,
                format!("self-check: the task is done (confidence {:.1})", found.confidence),
            ),
            (Some(found), _) => {
                let issues = found.issues.join("; ");
                (NoticeLevel::Warning, format!("self-check: the task is not done: {issues}"))
            }
            (None, Some(error)) => (NoticeLevel::Warning, format!("self-check: not carried out: {error}")),
            (None, None) => {
                (NoticeLevel::Warning, "self-check: not carried out: the answer was not JSON".to_owned())
            }
        };
        run.events.notice(level, told);
        evaluation
    }
}

fn question(run: &Run<'_>, answer: &str) -> String {
    let gates = run.collector.look(|collected| collected.gates.clone());
    let gates: String = gates
        .iter()
        .map(|gate| format!("- {}: {}\n", gate.name, if gate.passed { "passed" } else { "failed" }))
        .collect();
    let gates = if gates.is_empty() { String::new() } else { format!("\n\nChecks:\n{gates}") };
    format!(
        "Task:\n{}\n\nThe engineer's final message:\n{answer}\n\nChanges:\n{}{gates}",
        run.request.task,
        run.diff(MAX_CHANGES),
    )
}

impl Run<'_> {
    /// What has changed so far, or would, in at most so many tokens.
    pub(super) fn diff(&self, tokens: usize) -> String {
        let changes = self.engine.context.workspace.changes().unwrap_or_default();
        let diff: String =
            changes.iter().map(|change| format!("--- {}\n{}", change.path, change.diff())).collect();
        let diff = if diff.is_empty() { "(no file was changed)\n".to_owned() } else { diff };
        self.engine.masker.mask_known(&truncate_middle(&diff, tokens)).into_owned()
    }
}

/// Whatever the evaluator says is its answer.
struct AnyAnswer;

impl AnswerCheck for AnyAnswer {
    fn check<'a>(&'a mut self, _: &'a str) -> BoxFuture<'a, AnswerVerdict> {
        async { AnswerVerdict::Accept }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opinions_are_read_whatever_stands_around_them() {
        let found =
            Evaluation::read("Sure:\n```json\n{\"completed\": false, \"issues\": [\"no test\"]}\n```")
                .expect("one");
        assert!(!found.completed);
        assert_eq!(
            found.complaint(),
            "A check of your work found that the task is not done.\n- no test\nContinue, or explain why you \
             disagree."
        );
        for nothing in ["", "yes", "}{", "{\"completed\": \"perhaps\"}"] {
            assert_eq!(Evaluation::read(nothing), None, "{nothing}");
        }
    }
}
