//! Loop detector: notices an agent that repeats the same call with the same result.

use crate::event::ToolCall;

/// Number of equal calls in a row at which the agent is warned.
const WARN_AT: u32 = 3;
/// Number of equal calls in a row at which the run ends.
const STOP_AT: u32 = 5;

/// Reaction to the latest call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    /// The call differs from the one before, or has not been repeated often enough to matter.
    None,
    /// The agent is told that it repeats itself.
    Warn,
    /// The run ends.
    Stop,
}

/// Counter of consecutive calls with equal arguments and equal results.
#[derive(Default)]
pub(super) struct LoopDetector {
    last: Option<(ToolCall, String)>,
    times: u32,
}

impl LoopDetector {
    /// Compares a call with the one before and returns how to react.
    pub(super) fn observe(&mut self, call: &ToolCall, result: &str) -> Repetition {
        let same = self.last.as_ref().is_some_and(|(last, answer)| {
            last.name == call.name && last.arguments == call.arguments && answer == result
        });
        self.times = if same { self.times + 1 } else { 1 };
        if !same {
            self.last = Some((call.clone(), result.to_owned()));
        }
        match self.times {
            STOP_AT.. => Repetition::Stop,
            WARN_AT.. => Repetition::Warn,
            _ => Repetition::None,
        }
    }
}
