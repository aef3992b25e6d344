//! Requests of a session to its model: one turn with its deadline, and the summary by which a long conversation becomes
//! shorter.

use std::time::{Duration, Instant};

use serde_json::json;

use super::compaction;
use super::conversation::Conversation;
use super::session::Session;
use super::shortening;
use crate::engine::CHARS_PER_TOKEN;
use crate::event::{Activity, Event, LostReply, NoticeLevel, Reply, millis};
use crate::hooks::HookEvent;
use crate::model::{Allowance, Completion, Message, ModelError, Request, Settlement, retry};

/// Stand-in for "no deadline": longer than any CI job runs.
const NEVER: Duration = Duration::from_hours(24 * 365);

/// Time limit of the closing summary after a limit was reached.
const CLOSING: Duration = Duration::from_secs(30);

/// Reason for a model request without an answer.
pub(super) enum Failure {
    Model(ModelError),
    Cancelled,
    TimeUp,
    /// The budget does not pay for the answer.
    BudgetExceeded,
}

impl Session<'_> {
    /// Asks the model for the next turn, or for a summary if it may not call tools.
    pub(super) async fn ask(
        &self,
        conversation: &mut Conversation,
        may_call: bool,
    ) -> Result<Completion, Failure> {
        let started = Instant::now();
        let deadline = match (may_call, self.limits.deadline) {
            (true, Some(deadline)) => deadline,
            (true, None) => started + NEVER,
            (false, Some(deadline)) if deadline > started => deadline.min(started + CLOSING),
            (false, _) => started + CLOSING,
        };
        let events = &self.engine.events;
        let waiting = |error: &ModelError, wait: Duration| {
            events.notice(NoticeLevel::Info, format!("{error}; trying again in {:.1} s", wait.as_secs_f64()));
        };
        let asked: &Conversation = conversation;
        let answer = retry(self.limits.backoff, || self.attempt(asked, may_call), waiting);
        let ongoing =
            events.begin(Activity::Model { agent: self.agent.name.clone(), step: conversation.step });
        // The allowance is held to the end of this function, when the answer's real price is known.
        let (mut completion, allowance) = tokio::select! {
            () = self.cancel.cancelled() => return Err(self.cut_short()),
            () = tokio::time::sleep_until(deadline.into()) => return Err(Failure::TimeUp),
            answer = answer => answer.map_err(|error| match error {
                ModelError::OverBudget => Failure::BudgetExceeded,
                // It was stopped, and says so.
                _ if self.cancel.is_cancelled() => self.cut_short(),
                error => Failure::Model(error),
            })?,
        };
        drop(ongoing);
        conversation.assign_unique_ids(&mut completion);
        if let Some(usage) = completion.usage {
            conversation.record_token_count(usage);
        }
        if completion.cut {
            let message = format!(
                "the answer of {} in step {} was cut off at the model's token limit (`llm.max_tokens`, or what is \
                 left of the budget)",
                self.agent.name, conversation.step
            );
            events.notice(NoticeLevel::Warning, message);
        }
        let Settlement { usage, is_first_unmeasured, warn_at } = self.budget.settle(&allowance, &completion);
        completion.usage = Some(usage);
        if is_first_unmeasured {
            let message = format!(
                "{} does not say how many tokens its answers use (or a number that cannot be); each is counted as the most \
                 that it can have cost",
                self.model.name()
            );
            events.notice(NoticeLevel::Warning, message);
        }
        self.warn_of_cost(warn_at, conversation.step).await;
        events.emit(Event::Reply(Reply {
            agent: self.agent.name.clone(),
            step: conversation.step,
            text: completion.text.clone(),
            calls: completion.calls.clone(),
            usage,
            cost_usd: self.budget.price(usage),
            duration_ms: millis(started.elapsed()),
            continues: completion.continues,
        }));
        Ok(completion)
    }

    /// Sends the request once, within the budget. An answer that is lost half-way costs what had arrived.
    async fn attempt(
        &self,
        conversation: &Conversation,
        may_call: bool,
    ) -> Result<(Completion, Allowance), ModelError> {
        let most = conversation.most_tokens(&self.system);
        let allowance = self.budget.allow(most).await.ok_or(ModelError::OverBudget)?;
        let request = Request {
            agent: &self.agent.name,
            system: &self.system,
            tools: &conversation.tools,
            messages: &conversation.messages,
            may_call,
            max_output: allowance.max_output,
        };
        let answer = self.model.complete(request).await;
        if let Some(received) = answer.as_ref().err().and_then(ModelError::received) {
            let (usage, warn_at) = self.budget.settle_lost(&allowance, received);
            let cost_usd = self.budget.price(usage);
            if let Some(usd) = cost_usd {
                let message = format!("an answer was lost half-way; it is counted as ${usd:.4}");
                self.engine.events.notice(NoticeLevel::Info, message);
            }
            let (agent, step) = (self.agent.name.clone(), conversation.step);
            self.engine.events.emit(Event::LostReply(LostReply { agent, step, usage, cost_usd }));
            self.warn_of_cost(warn_at, conversation.step).await;
        }
        // From here on, it matters only why.
        answer.map(|completion| (completion, allowance)).map_err(|error| match error {
            ModelError::Lost { error, .. } => *error,
            error => error,
        })
    }

    /// Warns that the run has cost so much that people want to know it.
    async fn warn_of_cost(&self, cost: Option<f64>, step: u32) {
        let Some(cost) = cost else { return };
        let message = format!("the run has cost ${cost:.4} so far (`costs.warn_at_usd`)");
        self.engine.events.notice(NoticeLevel::Warning, message);
        self.hook(HookEvent::BudgetWarning, step, || json!({"cost_usd": cost})).await;
    }

    /// Returns why a request was cut short: its run was interrupted, or had no time left.
    fn cut_short(&self) -> Failure {
        if self.is_late() { Failure::TimeUp } else { Failure::Cancelled }
    }

    /// Makes the conversation shorter than `most` tokens, if that is possible without losing what the agent has just asked for:
    /// results of earlier turns are dropped, then those of the last turn share what there is, and what is left to do is left
    /// to a summary of all turns but the last ones. Returns whether anything was done.
    pub(super) async fn make_room(&self, conversation: &mut Conversation, most: usize) -> bool {
        let before = self.tokens(conversation);
        let excess = |conversation: &Conversation, most: usize| {
            self.tokens(conversation).saturating_sub(most).saturating_mul(CHARS_PER_TOKEN)
        };
        // More than is needed, so that it is not needed again with the next turn.
        let bytes = excess(conversation, most / 3 * 2);
        conversation.replace_results(shortening::of_earlier_turns(&conversation.messages, bytes));
        let bytes = excess(conversation, most);
        conversation.replace_results(shortening::of_last_turn(&conversation.messages, bytes));
        let after = self.tokens(conversation);
        if after < before {
            let message = format!(
                "the conversation was shortened from about {before} to {after} tokens: results of tools were cut"
            );
            self.engine.events.notice(NoticeLevel::Info, message);
        }
        let is_summarized = after > most && self.compact(conversation, (1, 1)).await;
        is_summarized || after < before
    }

    /// Replaces the older part of a conversation of more than `after` answers with a summary, except for the last `keep`.
    /// Returns `false` if there is nothing to replace.
    pub(super) async fn compact(
        &self,
        conversation: &mut Conversation,
        (after, keep): (usize, usize),
    ) -> bool {
        let Some(cut) = compaction::split_point(&conversation.messages, after, keep) else {
            return false;
        };
        let before = self.tokens(conversation);
        let details = || json!({"messages": conversation.messages.len(), "tokens": before});
        let verdict = self.hook(HookEvent::ContextCompress, conversation.step, details).await;
        let tail = conversation.messages.split_off(cut);
        conversation.messages.push(Message::User(compaction::SUMMARY_PROMPT.to_owned()));
        conversation.invalidate_token_count();
        let summary = match self.ask(conversation, false).await {
            Ok(completion) if !completion.text.trim().is_empty() => completion.text,
            _ => compaction::fallback_summary(&conversation.messages),
        };
        conversation.messages.pop();
        conversation.messages.extend(tail);
        let facts = if self.is_main {
            self.engine.ledger.text(self.engine.context.workspace.as_ref())
        } else {
            String::new()
        };
        conversation.compact(compaction::replace_with_summary(&conversation.messages, cut, &summary, &facts));
        conversation.notes.extend(verdict.context);
        let message = format!(
            "the conversation was compacted from about {before} to {} tokens",
            self.tokens(conversation)
        );
        self.engine.events.notice(NoticeLevel::Info, message);
        true
    }
}
