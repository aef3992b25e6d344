//! Size limit for the changes that reports repeat. The exact changes are in the plan and its patch.

use serde_json::Value;

use super::PlannedAction;

/// Maximum size of the changes of all files, and of all calls and of all actions, in bytes each.
const MAX_BYTES: usize = 256 * 1024;

/// Stands where a change was.
const CUT: &str = "(in plan.patch)\n";

/// Room that is left for the texts of changes.
#[derive(Clone, Copy, Debug)]
pub struct ChangeSizeLimit(usize);

impl Default for ChangeSizeLimit {
    fn default() -> Self {
        Self(MAX_BYTES)
    }
}

impl ChangeSizeLimit {
    /// Takes the size of a text off the limit, or leaves the text out.
    pub fn fit(&mut self, text: &mut String) {
        match self.0.checked_sub(text.len()) {
            Some(rest) => self.0 = rest,
            None if text.len() > CUT.len() => {
                self.0 = 0;
                // A new text, so that the memory of the old one is free.
                *text = String::from(CUT);
            }
            None => {}
        }
    }

    /// Leaves out what a planned edit writes and changes, if that exceeds the limit. All arguments of a command stay: they are
    /// what is applied.
    pub fn fit_action(&mut self, action: &mut PlannedAction) {
        if action.effects.is_edit()
            && let Value::Object(input) = &mut action.tool_input
        {
            for value in input.values_mut() {
                if let Value::String(text) = value {
                    self.fit(text);
                }
            }
        }
        self.fit(&mut action.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_whole_until_the_first_that_is_too_much() {
        let mut limit = ChangeSizeLimit(100);
        let texts = [60, 50, 30, 5].map(|size| {
            let mut text = "x".repeat(size);
            limit.fit(&mut text);
            text
        });
        assert_eq!(texts, ["x".repeat(60), CUT.to_owned(), CUT.to_owned(), "x".repeat(5)]);
    }

    #[test]
    fn arguments_of_commands_are_never_cut() {
        let action = |effects: Value| -> PlannedAction {
            serde_json::from_value(serde_json::json!({
                "step": 1, "agent": "build", "tool_name": "x", "description": "",
                "tool_input": {"text": "x".repeat(50)}, "effects": effects, "diff": "y".repeat(50),
            }))
            .expect("an action")
        };
        let mut edit = action(serde_json::json!({"writes": ["a.txt"]}));
        let command = serde_json::json!({"line": "make", "cwd": "src", "class": "dev"});
        let mut command = action(serde_json::json!({"command": command}));
        for action in [&mut edit, &mut command] {
            ChangeSizeLimit(0).fit_action(action);
            assert_eq!(action.diff, CUT);
        }
        assert_eq!(edit.tool_input["text"], CUT);
        assert_eq!(command.tool_input["text"], "x".repeat(50));
    }
}
