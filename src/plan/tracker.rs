//! Planned actions of a dry run.

use std::fmt::Write;

use serde_json::Value;

use crate::event::{ChangeSizeLimit, PlannedAction};

/// Maximum length of an argument that is shown in full, in characters.
const MAX_ARGUMENT: usize = 60;

/// What is told of each action.
type ActionLog = Box<dyn Fn(&PlannedAction) + Send + Sync>;

/// The actions of a dry run, in order.
#[derive(Default)]
pub struct DryRunTracker {
    actions: Vec<PlannedAction>,
    /// Room for what further actions write and change.
    size_limit: ChangeSizeLimit,
    log: Option<ActionLog>,
}

impl DryRunTracker {
    /// Appends an action. Of thousands, only the first keep what they write and change: the plan has the files.
    pub fn record(&mut self, mut action: PlannedAction) {
        self.size_limit.fit_action(&mut action);
        if let Some(log) = &self.log {
            log(&action);
        }
        self.actions.push(action);
    }

    /// Continues with the actions of an earlier part of the run.
    pub fn take_up(&mut self, actions: Vec<PlannedAction>) {
        self.size_limit = ChangeSizeLimit::default();
        self.actions = actions;
        self.actions.iter_mut().for_each(|action| self.size_limit.fit_action(action));
    }

    /// Tells `log` of every action from now on.
    pub fn set_log(&mut self, log: impl Fn(&PlannedAction) + Send + Sync + 'static) {
        self.log = Some(Box::new(log));
    }

    /// Returns the actions so far.
    pub fn actions(&self) -> &[PlannedAction] {
        &self.actions
    }

    /// Takes the actions, leaving none.
    pub fn take(&mut self) -> Vec<PlannedAction> {
        std::mem::take(&mut self.actions)
    }
}

/// Renders a call on one line, with long arguments cut: `edit_file(path="a.py", old_str=…120 characters)`.
pub fn summarize_call(tool: &str, input: &Value) -> String {
    let mut text = format!("{tool}(");
    for (index, (name, value)) in input.as_object().into_iter().flatten().enumerate() {
        if index > 0 {
            text += ", ";
        }
        // Not by `Display`, which is slow for whole files.
        let shown = serde_json::to_string(value).unwrap_or_default();
        let length = shown.chars().count();
        // Writing to a String cannot fail.
        let _ = if length > MAX_ARGUMENT {
            write!(text, "{name}=…{length} characters")
        } else {
            write!(text, "{name}={shown}")
        };
    }
    text.push(')');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_fit_on_a_line() {
        let input = serde_json::json!({"path": "a.py", "content": "x\n".repeat(100)});
        assert_eq!(
            summarize_call("write_file", &input),
            "write_file(path=\"a.py\", content=…302 characters)"
        );
        assert_eq!(summarize_call("odd", &Value::Null), "odd()");
    }
}
