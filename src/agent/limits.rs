//! Limits of a session: which one has been reached, and the warning before the last turns.

use std::sync::Arc;
use std::time::Instant;

use workspace::WorkspacePath;

use super::conversation::Conversation;
use super::session::Session;
use crate::base::time_limit::{Grace, TimeLimit};
use crate::event::StopReason;
use crate::model::Backoff;

/// Number of turns before the limit at which the agent is warned; of a short session, half of its turns.
const LAST_STEPS: u32 = 5;

/// Limits of a session.
#[derive(Clone, Debug)]
pub struct Limits {
    /// End of the run's time limit; `None` for no limit.
    pub deadline: Option<Instant>,
    /// The same limit, for what goes on after it.
    pub time: TimeLimit,
    /// Maximum size of the conversation, in tokens.
    pub context_tokens: usize,
    /// Whether read-only calls of one turn run in parallel.
    pub parallel_tools: bool,
    /// Number of answers after which a long conversation may be compacted, and number of recent answers that
    /// are kept.
    pub compaction: (usize, usize),
    /// Files that are kept in view: shown again whenever they have changed.
    pub refresh: Arc<[WorkspacePath]>,
    /// Retries of failed model requests.
    pub backoff: Backoff,
}

impl Session<'_> {
    /// Returns the limit that has been reached, if any, apart from that of the context: a long conversation is made shorter
    /// first.
    pub(super) fn limit(&self, conversation: &Conversation) -> Option<StopReason> {
        if self.is_late() {
            return Some(StopReason::Timeout);
        }
        if self.cancel.is_cancelled() {
            return Some(StopReason::UserInterrupt);
        }
        if self.steps(conversation) >= self.agent.max_steps && !conversation.continues {
            return Some(StopReason::MaxSteps);
        }
        if self.budget.is_used_up() {
            return Some(StopReason::BudgetExceeded);
        }
        None
    }

    /// Returns whether the run's time is up.
    pub(super) fn is_late(&self) -> bool {
        self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Waits until the session has to end, and a call that is under way has had the time to end by itself.
    pub(super) async fn is_overdue(&self) {
        self.cancel.cancelled().await;
        tokio::time::sleep(self.limits.time.left(Grace::Calls, Grace::Calls.duration())).await;
    }

    /// Returns the number of turns taken so far. Those of sub-agents count toward the limit of the run.
    fn steps(&self, conversation: &Conversation) -> u32 {
        let subagent_steps = if self.is_main { self.budget.steps() - self.offset.subagent_steps } else { 0 };
        conversation.step - self.offset.step + subagent_steps
    }

    /// Returns a warning if the turn that begins is one of the last ones. It is given once.
    pub(super) fn steps_left(&self, conversation: &mut Conversation) -> Option<String> {
        // The turn that begins is counted already.
        let left = (self.agent.max_steps + 1).saturating_sub(self.steps(conversation));
        if left > LAST_STEPS.min(self.agent.max_steps / 2) || conversation.is_warned {
            return None;
        }
        conversation.is_warned = true;
        let turns = if left == 1 {
            "1 turn left, which is this one"
        } else {
            &format!("{left} turns left, this one included")
        };
        Some(format!("[{turns}: bring the work to a usable end]"))
    }
}
