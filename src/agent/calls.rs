//! Calls of one turn: in parallel if all of them only read, else one after the other.

use super::conversation::Conversation;
use super::loop_detector::{LoopDetector, Repetition};
use super::session::Session;
use crate::engine::Caller;
use crate::event::ToolCall;
use crate::model::Message;
use crate::tool::{Progress, ToolResult};

const SAME_CALL: &str =
    "[You have made exactly this call several times with the same result. Do something else, or finish.]";

/// Most calls of one turn of a model that are made, and most of them at once. A recipe makes one for each file.
const MAX_CALLS: usize = 1_000;
const MAX_AT_ONCE: usize = 50;

impl Session<'_> {
    /// Runs the calls of one turn, in parallel if all of them are read-only, else one after the other.
    /// Results are added in the order of the calls. Returns [`Repetition::Stop`] if the agent is caught in a
    /// loop.
    pub(super) async fn run_calls(
        &self,
        conversation: &mut Conversation,
        calls: Vec<ToolCall>,
        detector: &mut LoopDetector,
    ) -> Repetition {
        let caller = Caller {
            agent: &self.agent.name,
            step: conversation.step,
            allowed: self.agent.allowed_tools.as_deref(),
            access: self.agent.access,
        };
        let is_model = self.model.has_further_answer(&self.agent.name);
        let most = if is_model { MAX_CALLS } else { calls.len() };
        let tried = &calls[..calls.len().min(most)];
        let parallel = self.limits.parallel_tools
            && tried.len() > 1
            && tried.iter().all(|call| self.engine.may_be_parallel(call));
        let mut results = Vec::with_capacity(calls.len());
        let made = async {
            for some in tried.chunks(if parallel { MAX_AT_ONCE } else { 1 }) {
                if self.is_late() || self.cancel.is_cancelled() {
                    break;
                }
                results.extend(self.engine.call_in_parallel(caller, some).await);
                // A call that never waits would keep the clock from being asked.
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = made => {}
            () = self.is_overdue() => {}
        }
        results.resize_with(tried.len(), || ToolResult::failed("the run ended before this call did"));
        results.resize_with(calls.len(), || {
            ToolResult::failed(format!("not run: more than {MAX_CALLS} calls in one turn"))
        });
        conversation.notes.extend(self.guides.for_calls(self.engine, tried));
        let mut repetition = Repetition::None;
        for (index, (call, result)) in calls.into_iter().zip(results).enumerate() {
            let mut content = result.text();
            // A recipe or a transcript is not caught in a loop: it may do the same for many files.
            let is_judged = is_model && index < most && result.progress != Progress::Pending;
            let seen = if is_judged { detector.observe(&call, &content) } else { Repetition::None };
            if seen == Repetition::Warn {
                content = format!("{content}\n{SAME_CALL}");
            }
            if seen == Repetition::Stop {
                repetition = Repetition::Stop;
            }
            let success = result.success;
            conversation.messages.push(Message::Tool { id: call.id, name: call.name, content, success });
        }
        repetition
    }
}
