//! Acceptance check of the agent that writes recipes: its plan has to be a recipe whose own tests pass, and nothing else.

use std::sync::Arc;
use std::time::Instant;

use workspace::{ChangeSet, FileChange, OverlayWorkspace};

use super::agent_run::AgentRun;
use crate::agent::{AnswerVerdict, RECIPE_WRITER};
use crate::base::error::chain;
use crate::event::{GateRecord, GateVerdict, RunMode, StopReason, millis};
use crate::recipe::Recipe;
use crate::tool::Context;

/// The name by which reports tell of the check.
pub(super) const RECIPE_GATE: &str = "recipe test";

/// Folder of recipes, at the root or in any other folder.
const FOLDER: &str = "recipes";

/// Maximum number of files that a complaint names.
const MAX_NAMED: usize = 10;

const FORM: &str = "Deliver one recipe with tests as `recipes/NAME.yml`.";

/// Runs the tests of the recipe before an answer is accepted.
#[derive(Default)]
pub(super) struct RecipeCheck {
    round: u32,
    told_of_no_place: bool,
}

impl RecipeCheck {
    /// Looks at what the agent has planned or done. Other agents are none of its business.
    pub(super) async fn look(&mut self, agent_run: &AgentRun<'_>, can_answer: bool) -> AnswerVerdict {
        let run = &agent_run.run;
        if agent_run.request.agent.name != RECIPE_WRITER {
            return AnswerVerdict::Accept;
        }
        self.round += 1;
        let began = Instant::now();
        let changes = run.engine.context.workspace.changes().unwrap_or_default();
        let (path, faults) = self.faults(agent_run, &changes).await;
        let most = agent_run.request.job.config().guardrails.max_gate_rounds.get();
        let passed = faults.is_empty();
        run.tell_gates(&[GateRecord {
            name: RECIPE_GATE.to_owned(),
            command: format!("architect-ci recipe test {path}"),
            required: true,
            passed,
            verdict: if passed { GateVerdict::Passed } else { GateVerdict::Failed },
            predicted: run.request.mode == RunMode::DryRun,
            round: self.round,
            exit_code: i32::from(!passed),
            ending: format!("exit code {}", i32::from(!passed)),
            duration_ms: millis(began.elapsed()),
            output: faults.join("\n"),
            ran_no_test: false,
            tests: None,
            doubt: Vec::new(),
        }]);
        if passed {
            return AnswerVerdict::Accept;
        }
        if u64::from(self.round) >= most || !can_answer || run.cancel.is_cancelled() {
            return AnswerVerdict::GiveUp(StopReason::GatesFailed);
        }
        AnswerVerdict::SendBack(format!(
            "The recipe is not accepted yet. Fix it, then finish again. This was round {} of {most}.\n\n{}",
            self.round,
            faults.join("\n")
        ))
    }

    /// Returns the path of the recipe, and what is wrong.
    async fn faults(&mut self, agent_run: &AgentRun<'_>, changes: &ChangeSet) -> (String, Vec<String>) {
        let (recipes, others): (Vec<&FileChange>, Vec<&FileChange>) =
            changes.iter().partition(|change| change.after.is_some() && is_recipe(change.path.as_str()));
        let path = recipes.first().map_or_else(String::new, |change| change.path.to_string());
        if !others.is_empty() {
            let names: Vec<&str> = others.iter().take(MAX_NAMED).map(|change| change.path.as_str()).collect();
            return (path, vec![format!("{FORM} Restore what else has changed: {}", names.join(", "))]);
        }
        let [change] = recipes[..] else {
            return (path, vec![format!("{FORM} There are {}.", recipes.len())]);
        };
        let text = change.after.as_ref().map(|state| String::from_utf8_lossy(&state.content).into_owned());
        let recipe = match Recipe::parse(&text.unwrap_or_default(), &path) {
            Ok(recipe) => recipe,
            Err(error) => return (path, vec![chain(&error)]),
        };
        let mut faults = recipe.missing_tests();
        match recipe.test().await {
            Ok(results) => {
                for result in results {
                    faults
                        .extend(result.faults.iter().map(|fault| format!("test {:?}: {fault}", result.name)));
                }
            }
            Err(error) => faults.push(chain(&error)),
        }
        if faults.is_empty() {
            faults.extend(self.fault_on_checkout(agent_run, &recipe).await);
        }
        (path, faults)
    }

    /// Tries the recipe on the checkout, in memory. That it finds nothing is told once: it may be for another one.
    async fn fault_on_checkout(&mut self, agent_run: &AgentRun<'_>, recipe: &Recipe) -> Option<String> {
        let disk = Arc::clone(&agent_run.run.disk);
        let context = Context {
            workspace: Arc::new(OverlayWorkspace::new(disk)),
            ..agent_run.run.engine.context.clone()
        };
        match recipe.count_places(context).await {
            Err(error) => Some(format!("on this checkout: {error}")),
            Ok(0) if !self.told_of_no_place => {
                self.told_of_no_place = true;
                Some(
                    "The recipe changes nothing in this checkout. If that is intended, finish again."
                        .to_owned(),
                )
            }
            Ok(_) => None,
        }
    }
}

fn is_recipe(path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let is_yaml = matches!(name.rsplit_once('.'), Some((_, "yml" | "yaml")));
    is_yaml && folder.split('/').next_back() == Some(FOLDER)
}
