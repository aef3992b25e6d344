//! The loop: ask the model, run what it calls, until it is done or a limit is reached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Agent;
use super::compact;
use super::conversation::Conversation;
use super::guard::{LoopGuard, Round};
use super::history::History;
use crate::engine::{Caller, Engine};
use crate::event::{Event, NoticeLevel, Reply, Status, StopReason, ToolCall, millis};
use crate::hooks::{HookEvent, Subject, Verdict};
use crate::model::{Backoff, Budget, ChatModel, Completion, Message, ModelError, Request, ToolSchema, retry};
use crate::workspace::WorkspacePath;

/// Longer than any CI job runs.
const NEVER: Duration = Duration::from_hours(24 * 365);

/// How long the closing summary may take once the time is up.
const CLOSING: Duration = Duration::from_secs(30);

const EMPTY_REPLY: &str = "Your last reply was empty. Continue the task, or say what you have done.";
const SAME_CALL: &str =
    "[You have made exactly this call several times with the same result. Do something else, or finish.]";

/// What a session must not exceed.
#[derive(Clone, Debug)]
pub struct Limits {
    /// When it must be over; `None` for no limit.
    pub deadline: Option<Instant>,
    /// Most tokens of the conversation.
    pub context_tokens: usize,
    /// Whether calls that only read run side by side.
    pub parallel_tools: bool,
    /// Answers after which a long conversation may be compacted, and those that are kept then.
    pub compaction: (usize, usize),
    /// Files that are shown again whenever they have changed.
    pub refresh: Arc<[WorkspacePath]>,
    /// How failed model calls are tried again.
    pub backoff: Backoff,
}

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    /// How far it came.
    pub status: Status,
    /// Why it ended.
    pub reason: StopReason,
    /// The agent's last words, or what went wrong.
    pub message: String,
    /// The model's error, where that was the reason.
    pub error: Option<ModelError>,
}

/// What becomes of a final answer.
#[derive(Debug)]
pub enum Opinion {
    /// It is the end.
    Accept,
    /// It is not: the agent goes on with this.
    SendBack(String),
    /// It is the end, and not a good one.
    GiveUp(Status, StopReason),
}

/// Who looks at final answers.
pub trait Review: Send {
    /// Looks at one.
    fn review<'a>(&'a mut self, answer: &'a str) -> BoxFuture<'a, Opinion>;
}

/// One agent at work on one task.
pub struct Session<'a> {
    /// The agent.
    pub agent: &'a Agent,
    /// What it is told about itself and the checkout.
    pub system: String,
    /// The way to the tools.
    pub engine: &'a Engine,
    /// Who answers.
    pub model: Arc<dyn ChatModel>,
    /// What it must not exceed.
    pub limits: Limits,
    /// What it costs.
    pub budget: &'a Budget,
    /// Ends it early.
    pub cancel: CancellationToken,
    /// Whether it is the run's own agent, and no sub-agent.
    pub leads: bool,
    /// What earlier sessions of the same agent have taken; its steps are counted on from there.
    pub since: Since,
    /// What was said before an interruption.
    pub history: History,
}

/// Steps before a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Since {
    /// Of the agent.
    pub step: u32,
    /// Of sub-agents.
    pub colleagues: u32,
}

/// Why a model call brought nothing.
enum Failure {
    Model(ModelError),
    Cancelled,
    TimeUp,
}

impl Session<'_> {
    /// Works on the task until the end, which `reviewer` has to agree to.
    pub async fn run(&self, task: &str, reviewer: &mut dyn Review) -> Ended {
        let opening = if self.leads {
            self.hook(HookEvent::SessionStart, 0, || json!({"task": task})).await
        } else {
            Verdict::default()
        };
        let task = std::iter::once(task.to_owned()).chain(opening.context).collect::<Vec<_>>().join("\n\n");
        let mut talk = self.start(&task);
        talk.step = self.since.step;
        talk.messages.extend(self.history.messages.iter().cloned());
        let mut guard = LoopGuard::default();
        let mut was_empty = false;
        loop {
            if let Some(reason) = self.limit(&talk) {
                return self.close(&mut talk, reason).await;
            }
            talk.step += 1;
            if !self.leads {
                self.budget.count_step();
            }
            if let Some(reason) = self.before_call(&mut talk).await {
                return ended(Status::Partial, StopReason::HookBlocked, reason);
            }
            if self.tokens(&talk) >= self.limits.context_tokens {
                return self.close(&mut talk, StopReason::ContextFull).await;
            }
            let completion = match self.ask(&mut talk, true).await {
                Ok(completion) => completion,
                // The provider counts otherwise than we do: once, it is told less.
                Err(Failure::Model(ModelError::TooLong(_))) if talk.compacted_at != talk.step => {
                    talk.step -= 1;
                    if self.compact(&mut talk, 1).await {
                        continue;
                    }
                    return failed(ModelError::TooLong("there is nothing left to summarize".to_owned()));
                }
                Err(Failure::Model(error)) => return failed(error),
                Err(Failure::Cancelled) => return interrupted(),
                // Whoever has not come to an end by now would not sum up in time either.
                Err(Failure::TimeUp) => {
                    let told = "(no summary: the time limit was reached while the model was answering)";
                    return ended(Status::Partial, StopReason::Timeout, told.to_owned());
                }
            };
            let (text, calls) = (completion.text.clone(), completion.calls.clone());
            let details = || json!({"text": text, "calls": calls, "usage": completion.usage});
            let verdict = self.hook(HookEvent::PostLlmCall, talk.step, details).await;
            // Results of calls come first: providers want them right behind the calls.
            talk.notes.extend(verdict.context);
            talk.add_answer(completion);
            if calls.is_empty() {
                if text.trim().is_empty() && !was_empty {
                    was_empty = true;
                    talk.messages.push(Message::User(EMPTY_REPLY.to_owned()));
                    continue;
                }
                match reviewer.review(&text).await {
                    Opinion::Accept if !self.leads => {
                        return ended(Status::Success, StopReason::LlmDone, text);
                    }
                    Opinion::Accept => {
                        self.hook(HookEvent::AgentComplete, talk.step, || json!({"message": text})).await;
                        return ended(Status::Success, StopReason::LlmDone, text);
                    }
                    Opinion::SendBack(complaint) => talk.messages.push(Message::User(complaint)),
                    Opinion::GiveUp(status, reason) => return ended(status, reason, text),
                }
                continue;
            }
            was_empty = false;
            if self.run_calls(&mut talk, calls, &mut guard).await == Round::Stop {
                return self.close(&mut talk, StopReason::Loop).await;
            }
            talk.refresh(self.files_in_view());
        }
    }

    async fn hook(&self, event: HookEvent, step: u32, details: impl FnOnce() -> Value) -> Verdict {
        let hooks = &self.engine.hooks;
        if !hooks.has(event) {
            return Verdict::default();
        }
        hooks.run(event, Subject::of_run(&self.agent.name, step, details())).await
    }

    /// What hooks have to say before the model is asked; the reason, if they stop it. A conversation that
    /// has grown long is compacted first.
    async fn before_call(&self, talk: &mut Conversation) -> Option<String> {
        if self.tokens(talk) > self.limits.context_tokens / 4 * 3 {
            self.compact(talk, self.limits.compaction.0).await;
        }
        let details = || json!({"messages": talk.messages.len(), "tokens": self.tokens(talk)});
        let verdict = self.hook(HookEvent::PreLlmCall, talk.step, details).await;
        talk.notes.extend(verdict.context);
        talk.add_notes();
        verdict.blocked.map(|reason| format!("A hook stopped the run: {reason}"))
    }

    /// Replaces the older part of the conversation by a summary; whether there was one to replace.
    async fn compact(&self, talk: &mut Conversation, after: usize) -> bool {
        let Some(cut) = compact::cut(&talk.messages, after, self.limits.compaction.1) else { return false };
        let before = self.tokens(talk);
        let details = || json!({"messages": talk.messages.len(), "tokens": before});
        let verdict = self.hook(HookEvent::ContextCompress, talk.step, details).await;
        let tail = talk.messages.split_off(cut);
        talk.messages.push(Message::User(compact::ASK.to_owned()));
        talk.forget_count();
        let summary = match self.ask(talk, false).await {
            Ok(completion) if !completion.text.trim().is_empty() => completion.text,
            _ => compact::mechanical(&talk.messages),
        };
        talk.messages.pop();
        talk.messages.extend(tail);
        talk.compact(compact::compacted(&talk.messages, cut, &summary));
        talk.notes.extend(verdict.context);
        let told =
            format!("the conversation was compacted from about {before} to {} tokens", self.tokens(talk));
        self.engine.events.notice(NoticeLevel::Info, told);
        true
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
            parameters: tool.parameters(),
        };
        Conversation::new(task, tools.into_iter().map(schema).collect(), self.files_in_view())
    }

    /// Files that the model is to see as they are.
    fn files_in_view(&self) -> Vec<(String, String)> {
        if !self.leads {
            return Vec::new();
        }
        let shown = |path: &WorkspacePath| (path.to_string(), self.engine.peek(path));
        self.limits.refresh.iter().map(shown).collect()
    }

    fn limit(&self, talk: &Conversation) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            return Some(StopReason::UserInterrupt);
        }
        // Steps of sub-agents are steps of the run.
        let colleagues = if self.leads { self.budget.steps() - self.since.colleagues } else { 0 };
        let steps = talk.step - self.since.step + colleagues;
        if steps >= self.agent.max_steps {
            return Some(StopReason::MaxSteps);
        }
        if self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some(StopReason::Timeout);
        }
        if self.budget.is_used_up() {
            return Some(StopReason::BudgetExceeded);
        }
        let is_full = self.tokens(talk) >= self.limits.context_tokens
            && compact::cut(&talk.messages, self.limits.compaction.0, self.limits.compaction.1).is_none();
        is_full.then_some(StopReason::ContextFull)
    }

    fn tokens(&self, talk: &Conversation) -> usize {
        talk.tokens(&self.system)
    }

    async fn ask(&self, talk: &mut Conversation, may_call: bool) -> Result<Completion, Failure> {
        let started = Instant::now();
        let request = Request {
            agent: &self.agent.name,
            system: &self.system,
            tools: &talk.tools,
            messages: &talk.messages,
            may_call,
        };
        let events = &self.engine.events;
        let waiting = |error: &ModelError, wait: Duration| {
            events.notice(NoticeLevel::Info, format!("{error}; trying again in {:.1} s", wait.as_secs_f64()));
        };
        let answer = retry(self.limits.backoff, || self.model.complete(request), waiting);
        let deadline = match (may_call, self.limits.deadline) {
            (true, Some(deadline)) => deadline,
            (true, None) => started + NEVER,
            (false, Some(deadline)) if deadline > started => deadline.min(started + CLOSING),
            (false, _) => started + CLOSING,
        };
        let mut completion = tokio::select! {
            () = self.cancel.cancelled() => return Err(Failure::Cancelled),
            () = tokio::time::sleep_until(deadline.into()) => return Err(Failure::TimeUp),
            answer = answer => answer.map_err(Failure::Model)?,
        };
        talk.tell_apart(&mut completion);
        talk.count(completion.usage);
        if completion.cut {
            let told = format!(
                "the answer of {} in step {} was cut off at the model's token limit (`llm.max_tokens`)",
                self.agent.name, talk.step
            );
            events.notice(NoticeLevel::Warning, told);
        }
        if let Some(cost) = self.budget.add(completion.usage) {
            events.notice(
                NoticeLevel::Warning,
                format!("the run has cost ${cost:.4} so far (`costs.warn_at_usd`)"),
            );
            self.hook(HookEvent::BudgetWarning, talk.step, || json!({"cost_usd": cost})).await;
        }
        events.emit(Event::Reply(Reply {
            agent: self.agent.name.clone(),
            step: talk.step,
            text: completion.text.clone(),
            calls: completion.calls.clone(),
            usage: completion.usage,
            cost_usd: self.budget.price(completion.usage),
            duration_ms: millis(started.elapsed()),
        }));
        Ok(completion)
    }

    /// Runs the calls of one turn: side by side where all of them only read, else one after the
    /// other. Results go back in the order of the calls.
    async fn run_calls(&self, talk: &mut Conversation, calls: Vec<ToolCall>, guard: &mut LoopGuard) -> Round {
        let caller =
            Caller { agent: &self.agent.name, step: talk.step, allowed: self.agent.allowed_tools.as_deref() };
        let parallel = self.limits.parallel_tools
            && calls.len() > 1
            && calls.iter().all(|call| self.engine.is_read_only(call));
        let mut results = Vec::with_capacity(calls.len());
        if parallel {
            results = self.engine.call_together(caller, &calls).await;
        } else {
            for call in &calls {
                results.push(self.engine.call(caller, call).await);
            }
        }
        let mut round = Round::New;
        for (call, result) in calls.into_iter().zip(results) {
            let mut content = result.text();
            let seen = guard.observe(&call, &content);
            if seen == Round::Warn {
                content = format!("{content}\n{SAME_CALL}");
            }
            if seen == Round::Stop {
                round = Round::Stop;
            }
            let success = result.success;
            talk.messages.push(Message::Tool { id: call.id, name: call.name, content, success });
        }
        round
    }

    /// A limit is reached: the model gets one last call, without tools, to sum up.
    async fn close(&self, talk: &mut Conversation, reason: StopReason) -> Ended {
        if reason == StopReason::UserInterrupt {
            return interrupted();
        }
        talk.messages.push(Message::User(format!(
            "You have to stop now: {reason}. Do not call tools. Summarize in a few lines what is done and \
             what is left."
        )));
        talk.step += 1;
        let message = match self.ask(talk, false).await {
            Ok(completion) => completion.text,
            Err(Failure::Cancelled) => return interrupted(),
            Err(Failure::Model(error)) => format!("(no summary: {error})"),
            Err(Failure::TimeUp) => "(no summary: the model took too long)".to_owned(),
        };
        ended(Status::Partial, reason, message)
    }
}

fn ended(status: Status, reason: StopReason, message: String) -> Ended {
    Ended { status, reason, message, error: None }
}

fn interrupted() -> Ended {
    ended(Status::Partial, StopReason::UserInterrupt, String::new())
}

fn failed(error: ModelError) -> Ended {
    let message = error.to_string();
    match error {
        ModelError::TooLong(_) => {
            Ended { error: Some(error), ..ended(Status::Partial, StopReason::ContextFull, message) }
        }
        ModelError::Recipe(_) => {
            Ended { error: Some(error), ..ended(Status::Failed, StopReason::RecipeFailed, message) }
        }
        error => Ended { error: Some(error), ..ended(Status::Failed, StopReason::LlmError, message) },
    }
}
