//! Notices an agent that goes round in circles.

use crate::event::ToolCall;

/// Times the same call with the same result is let pass before the agent is told.
const WARN_AT: u32 = 3;
/// Times after which the run ends.
const STOP_AT: u32 = 5;

/// What to do about the latest call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    /// It is new.
    None,
    /// It has been made before; tell the agent.
    Warn,
    /// It has been made too often; end the run.
    Stop,
}

/// Counts how often in a row the same call had the same result.
#[derive(Default)]
pub(super) struct LoopDetector {
    last: Option<(ToolCall, String)>,
    times: u32,
}

impl LoopDetector {
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
