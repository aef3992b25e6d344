//! Session: the agent's loop. It asks the model, runs the calls of the answer, and repeats until the answer
//! is accepted or a limit is reached.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use workspace::WorkspacePath;

use super::Agent;
use super::conversation::Conversation;
use super::guides::Guides;
use super::history::History;
use super::limits::Limits;
use super::loop_detector::{LoopDetector, Repetition};
use super::model_request::Failure;
use super::pending_messages::PendingMessages;
use super::unmade_call::Unmade;
use crate::engine::Engine;
use crate::event::StopReason;
use crate::hooks::{HookEvent, Subject, Verdict};
use crate::model::{Budget, ChatModel, Message, ModelError, ToolSchema};
use crate::tool::{Access, known_in_some_run};

const EMPTY_REPLY: &str = "Your last reply was empty. Continue the task, or say what you have done.";
const NO_BUDGET: &str = "(no summary: a further answer could cost more than what is left of the budget)";

/// End of a session.
#[derive(Debug)]
pub struct SessionOutcome {
    /// Reason for the end, which says how far the session came.
    pub reason: StopReason,
    /// Final answer of the agent, or what went wrong.
    pub message: String,
    /// Model error, if that was the reason.
    pub error: Option<ModelError>,
}

/// What happens after a final answer.
#[derive(Debug)]
pub enum AnswerVerdict {
    /// The session ends with success.
    Accept,
    /// The session continues with this message to the agent.
    SendBack(String),
    /// The session continues with this message to the agent, and the answer stands: what is said next is added to it.
    Confirm(String),
    /// The session ends for this reason.
    GiveUp(StopReason),
}

/// Acceptance checks on an agent's final answer.
pub trait AnswerCheck: Send {
    /// Checks one final answer.
    fn check<'a>(&'a mut self, answer: &'a str) -> BoxFuture<'a, AnswerVerdict>;
}

/// One agent working on one task.
pub struct Session<'a> {
    /// Agent that works.
    pub agent: &'a Agent,
    /// System prompt: the agent's own, and the description of the checkout.
    pub system: String,
    /// Pipeline through which all calls go.
    pub engine: &'a Engine,
    /// Model that answers.
    pub model: Arc<dyn ChatModel>,
    /// Limits of this session.
    pub limits: Limits,
    /// Budget of the run, which sub-agents share.
    pub budget: &'a Budget,
    /// Token that ends the session early.
    pub cancel: CancellationToken,
    /// Whether this is the run's own agent. For any other, no hooks run at start and completion, and its turns
    /// count toward the limit of the main agent.
    pub is_main: bool,
    /// Turns used by earlier sessions of the same agent; numbering continues from there.
    pub offset: StepOffset,
    /// Conversation before an interruption; empty unless the run was resumed.
    pub history: History,
    /// Messages for the agent that come up while it works.
    pub pending: Arc<PendingMessages>,
    /// Guides of the repository for the folders that the agent touches.
    pub guides: Guides,
}

/// Turns taken before a session began.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepOffset {
    /// Turns of the agent.
    pub step: u32,
    /// Turns of sub-agents.
    pub subagent_steps: u32,
}

impl<'a> Session<'a> {
    /// Creates the session of an agent that works for another one: a sub-agent, a reviewer, a self-check. It starts with
    /// an empty conversation, and ends early when the engine's work is to end.
    pub fn of_assistant(
        agent: &'a Agent,
        system: String,
        engine: &'a Engine,
        model: Arc<dyn ChatModel>,
        limits: Limits,
        budget: &'a Budget,
    ) -> Self {
        Self {
            agent,
            system,
            engine,
            model,
            limits,
            budget,
            cancel: engine.cancel.clone(),
            is_main: false,
            offset: StepOffset::default(),
            history: History::default(),
            pending: Arc::default(),
            guides: Guides::default(),
        }
    }
}

impl Session<'_> {
    /// Runs the loop until `check` accepts a final answer or gives up, or a limit is reached.
    pub async fn run(&self, task: &str, check: &mut dyn AnswerCheck) -> SessionOutcome {
        let opening = if self.is_main {
            self.hook(HookEvent::SessionStart, 0, || json!({"task": task})).await
        } else {
            Verdict::default()
        };
        let task = std::iter::once(task.to_owned()).chain(opening.context).collect::<Vec<_>>().join("\n\n");
        let mut conversation = self.start(&task);
        conversation.step = self.offset.step;
        conversation.messages.extend(self.history.messages.iter().cloned());
        let mut outcome = self.turns(&mut conversation, check).await;
        // Whatever ends the session, an answer that stands is not lost. What went wrong with the model is told alone.
        if outcome.error.is_none() {
            outcome.message = conversation.with_standing_answer(outcome.message);
        }
        outcome
    }

    /// Takes turns until the session ends.
    async fn turns(&self, conversation: &mut Conversation, check: &mut dyn AnswerCheck) -> SessionOutcome {
        let mut detector = LoopDetector::default();
        let mut was_empty = false;
        let mut was_unmade = false;
        if let Some(answer) = &self.history.unjudged
            && let Some(ended) = self.judge(conversation, check, answer.clone(), false).await
        {
            return ended;
        }
        loop {
            if let Some(reason) = self.limit(conversation) {
                return self.close(conversation, reason).await;
            }
            if !conversation.continues {
                conversation.step += 1;
                if !self.is_main {
                    self.budget.count_step();
                }
            }
            if let Some(reason) = self.before_call(conversation).await {
                return ended(StopReason::HookBlocked, reason);
            }
            if self.tokens(conversation) >= self.limits.context_tokens {
                return self.close(conversation, StopReason::ContextFull).await;
            }
            let completion = match self.ask(conversation, true).await {
                Ok(completion) => completion,
                // The provider counts more tokens than we do. Once per turn, the conversation is compacted
                // and the request repeated.
                Err(Failure::Model(ModelError::TooLong(_)))
                    if conversation.compacted_at != conversation.step =>
                {
                    conversation.step -= 1;
                    let half = self.tokens(conversation) / 2;
                    if self.compact(conversation, (1, self.limits.compaction.1)).await
                        || self.make_room(conversation, half).await
                    {
                        conversation.compacted_at = conversation.step + 1;
                        continue;
                    }
                    return failed(ModelError::TooLong("there is nothing left to summarize".to_owned()));
                }
                Err(Failure::Model(error)) => return failed(error),
                Err(Failure::Cancelled) => return interrupted(),
                Err(Failure::BudgetExceeded) => {
                    return ended(StopReason::BudgetExceeded, NO_BUDGET.to_owned());
                }
                // A model that has not finished by now would not sum up in time either.
                Err(Failure::TimeUp) => {
                    let message = "(no summary: the time limit was reached while the model was answering)";
                    return ended(StopReason::Timeout, message.to_owned());
                }
            };
            conversation.continues = completion.continues;
            let (text, calls) = (completion.text.clone(), completion.calls.clone());
            let (is_cut, is_refused) = (completion.cut, completion.refused);
            let details = || json!({"text": text, "calls": calls, "usage": completion.usage});
            let verdict = self.hook(HookEvent::PostLlmCall, conversation.step, details).await;
            // Results of calls go first, because providers want them directly behind the calls.
            conversation.notes.extend(verdict.context);
            conversation.add_answer(completion);
            if calls.is_empty() {
                if is_refused {
                    return ended(StopReason::AnswerRefused, text);
                }
                if text.trim().is_empty() && !was_empty {
                    was_empty = true;
                    conversation.messages.push(Message::User(EMPTY_REPLY.to_owned()));
                    continue;
                }
                // Where no turn is left for the call, the text is the answer.
                let may_go_on = !was_unmade && self.limit(conversation).is_none();
                if let Some(unmade) = self.unmade(&text).filter(|_| may_go_on) {
                    was_unmade = true;
                    let tools: Vec<&str> = conversation.tools.iter().map(|tool| tool.name.as_str()).collect();
                    let told = unmade.told(&tools.join(", "));
                    conversation.messages.push(Message::User(told));
                    continue;
                }
                if let Some(ended) = self.judge(conversation, check, text, is_cut).await {
                    return ended;
                }
                continue;
            }
            was_empty = false;
            if self.run_calls(conversation, calls, &mut detector).await == Repetition::Stop {
                let reason = if self.is_late() { StopReason::Timeout } else { StopReason::Loop };
                return self.close(conversation, reason).await;
            }
            if !self.model.reads_history() {
                conversation.keep_latest();
            }
            conversation.refresh(self.files_in_view());
        }
    }

    /// Returns the call or the patch that a reply without calls has in its text. A patch counts only where the agent may
    /// change files and has not yet: it may as well show what it did.
    fn unmade(&self, text: &str) -> Option<Unmade> {
        if !self.model.has_further_answer(&self.agent.name) {
            return None;
        }
        let is_tool = |name: &str| self.engine.registry.has(name) || known_in_some_run(name).is_ok();
        let is_wanted = |found: &Unmade| match found {
            Unmade::Call => true,
            Unmade::Patch => {
                self.agent.access == Access::Full
                    && !self.engine.context.workspace.has_changes().unwrap_or_default()
            }
        };
        Unmade::find(text, is_tool).filter(is_wanted)
    }

    /// Has a final answer checked. Returns the end of the session, unless the answer is sent back.
    async fn judge(
        &self,
        conversation: &mut Conversation,
        check: &mut dyn AnswerCheck,
        text: String,
        is_cut: bool,
    ) -> Option<SessionOutcome> {
        let verdict = check.check(&text).await;
        // Gates and reviews that were cut short are no reason of their own.
        if !matches!(verdict, AnswerVerdict::Accept) {
            if self.is_late() {
                return Some(ended(StopReason::Timeout, text));
            }
            if self.cancel.is_cancelled() {
                return Some(ended(StopReason::UserInterrupt, text));
            }
        }
        match verdict {
            AnswerVerdict::Accept => {
                let text = conversation.with_standing_answer(text);
                if self.is_main {
                    let details = || json!({"message": text});
                    self.hook(HookEvent::AgentComplete, conversation.step, details).await;
                }
                let reason = if is_cut { StopReason::AnswerCut } else { StopReason::LlmDone };
                Some(ended(reason, text))
            }
            AnswerVerdict::SendBack(complaint) => {
                conversation.standing_answer = None;
                conversation.messages.push(Message::User(complaint));
                None
            }
            AnswerVerdict::Confirm(question) => {
                conversation.standing_answer = Some(text);
                conversation.messages.push(Message::User(question));
                None
            }
            AnswerVerdict::GiveUp(reason) => Some(ended(reason, text)),
        }
    }

    /// Runs the hooks of `event`; `details` is only called if there are any.
    pub(super) async fn hook(&self, event: HookEvent, step: u32, details: impl FnOnce() -> Value) -> Verdict {
        let hooks = &self.engine.hooks;
        if !hooks.has(event) {
            return Verdict::default();
        }
        hooks.run(event, Subject::of_run(&self.agent.name, step, details())).await
    }

    /// Prepares a request: compacts a conversation that has grown long, then runs the hooks. Returns the
    /// reason if a hook stops the run.
    async fn before_call(&self, conversation: &mut Conversation) -> Option<String> {
        let most = self.limits.context_tokens / 4 * 3;
        if self.tokens(conversation) > most {
            self.compact(conversation, self.limits.compaction).await;
        }
        // A few turns can fill it as well. As long as they do not, a summary will keep more.
        if self.tokens(conversation) >= self.limits.context_tokens {
            self.make_room(conversation, most).await;
        }
        conversation.notes.extend(self.pending.take());
        let warning = self.steps_left(conversation);
        conversation.notes.extend(warning);
        let details =
            || json!({"messages": conversation.messages.len(), "tokens": self.tokens(conversation)});
        let verdict = self.hook(HookEvent::PreLlmCall, conversation.step, details).await;
        conversation.notes.extend(verdict.context);
        conversation.add_notes();
        verdict.blocked.map(|reason| format!("A hook stopped the run: {reason}"))
    }

    fn start(&self, task: &str) -> Conversation {
        let registry = &self.engine.registry;
        let tools = match &self.agent.allowed_tools {
            Some(allowed) => registry.filter(allowed),
            None => registry.list().collect(),
        };
        let schema = |tool: &Arc<dyn crate::tool::Tool>| ToolSchema {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters: tool.offered_parameters(),
        };
        Conversation::new(task, tools.into_iter().map(schema).collect(), self.files_in_view())
    }

    /// Returns path and content of the files kept in view; sub-agents have none.
    fn files_in_view(&self) -> Vec<(String, String)> {
        if !self.is_main {
            return Vec::new();
        }
        let shown = |path: &WorkspacePath| (path.to_string(), self.engine.file_view(path));
        self.limits.refresh.iter().map(shown).collect()
    }

    pub(super) fn tokens(&self, conversation: &Conversation) -> usize {
        conversation.tokens(&self.system)
    }

    /// Ends the session at a limit: the model gets one last request, without tools, to sum up.
    async fn close(&self, conversation: &mut Conversation, reason: StopReason) -> SessionOutcome {
        if reason == StopReason::UserInterrupt {
            return interrupted();
        }
        if reason == StopReason::Timeout {
            return ended(reason, "(no summary: the time limit was reached)".to_owned());
        }
        if let Some(bar) = self.budget.bar() {
            return ended(reason, format!("(no summary: {bar})"));
        }
        conversation.messages.push(Message::User(format!(
            "You have to stop now: {reason}. Do not call tools. Summarize in a few lines what is done and \
             what is left."
        )));
        conversation.step += 1;
        let message = match self.ask(conversation, false).await {
            Ok(completion) => completion.text,
            Err(Failure::Cancelled) => return interrupted(),
            Err(Failure::Model(error)) => format!("(no summary: {error})"),
            Err(Failure::TimeUp) => "(no summary: the model took too long)".to_owned(),
            Err(Failure::BudgetExceeded) => NO_BUDGET.to_owned(),
        };
        ended(reason, message)
    }
}

fn ended(reason: StopReason, message: String) -> SessionOutcome {
    SessionOutcome { reason, message, error: None }
}

fn interrupted() -> SessionOutcome {
    ended(StopReason::UserInterrupt, String::new())
}

fn failed(error: ModelError) -> SessionOutcome {
    SessionOutcome { reason: error.reason(), message: error.to_string(), error: Some(error) }
}
