//! Protocol of hooks: the meaning of exit code and output.

use std::time::Duration;

use serde_json::Value;

use crate::base::text::shortened;
use crate::command::{Ended, Finished};

/// Maximum length of a hook's text for the model, in characters.
const MAX_CONTEXT: usize = 8 * 1024;

/// Response of a hook.
#[derive(Debug, PartialEq)]
pub(super) enum HookResponse {
    /// The run continues.
    Allow {
        /// Text for the model.
        context: Option<String>,
        /// New arguments for the call.
        updated_input: Option<Value>,
    },
    /// What comes next is blocked, for this reason.
    Block(String),
    /// The hook itself failed; with a report for the model.
    Failed(String),
}

/// Interprets how a hook ended: exit code 0 allows (JSON on standard output may say more), exit code 2 blocks
/// if the event can be blocked, and anything else is a failure of the hook itself.
pub(super) fn interpret(name: &str, finished: &Finished, timeout: Duration, can_block: bool) -> HookResponse {
    let stdout = finished.stdout.text();
    match &finished.ended {
        Ended::Exited(0) => allow(stdout.trim()),
        Ended::Exited(2) if can_block => {
            let stderr = finished.stderr.text();
            let reason = if stderr.trim().is_empty() { stdout.trim() } else { stderr.trim() };
            let reason = if reason.is_empty() { "no reason given" } else { &cut(reason) };
            HookResponse::Block(format!("{reason} ({name})"))
        }
        Ended::TimedOut => failed(name, -1, &format!("Timeout after {} s", timeout.as_secs())),
        Ended::NotStarted(error) => failed(name, -1, error),
        Ended::StillRunning => failed(name, -1, "its processes could not be stopped"),
        ended => failed(name, ended.code(), &finished.output()),
    }
}

fn allow(stdout: &str) -> HookResponse {
    let Ok(Value::Object(mut answer)) = serde_json::from_slice(stdout.as_bytes()) else {
        let context = (!stdout.is_empty()).then(|| cut(stdout));
        return HookResponse::Allow { context, updated_input: None };
    };
    let context = answer.get("additionalContext").and_then(Value::as_str).map(cut);
    // Nothing in it means that nothing is updated.
    let updated_input = answer
        .remove("updatedInput")
        .filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
    HookResponse::Allow { context, updated_input }
}

fn failed(name: &str, code: i32, output: &str) -> HookResponse {
    HookResponse::Failed(format!("[Hook {name}: FAILED (exit {code})]\n{}", cut(output)))
}

fn cut(text: &str) -> String {
    shortened(text, MAX_CONTEXT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Capture;

    fn finished(ended: Ended, stdout: &str, stderr: &str) -> Finished {
        let capture = |text: &str| {
            let mut capture = Capture::default();
            capture.push(text.as_bytes());
            capture
        };
        Finished {
            ended,
            stdout: capture(stdout),
            stderr: capture(stderr),
            duration: Duration::ZERO,
            refused: Vec::new(),
        }
    }

    #[test]
    fn exit_codes_and_output_are_understood() {
        let answer = |ended, stdout: &str, stderr: &str, can_block| {
            interpret("h", &finished(ended, stdout, stderr), Duration::from_secs(3), can_block)
        };
        let allow = |context: Option<&str>, updated_input: Option<Value>| HookResponse::Allow {
            context: context.map(str::to_owned),
            updated_input,
        };
        let input = serde_json::json!({"path": "x"});
        let modify = serde_json::json!({"updatedInput": input, "additionalContext": "moved"}).to_string();
        for (case, expected) in [
            (answer(Ended::Exited(0), "", "", true), allow(None, None)),
            (answer(Ended::Exited(0), "note\n", "", true), allow(Some("note"), None)),
            (answer(Ended::Exited(0), "{\"broken", "", true), allow(Some("{\"broken"), None)),
            (answer(Ended::Exited(0), "[1]", "", true), allow(Some("[1]"), None)),
            (answer(Ended::Exited(0), &modify, "", true), allow(Some("moved"), Some(input.clone()))),
            (answer(Ended::Exited(0), "{\"updatedInput\": 5}", "", true), allow(None, None)),
            (answer(Ended::Exited(0), "{\"updatedInput\": {}}", "", true), allow(None, None)),
            (answer(Ended::Exited(2), "", "not today\n", true), HookResponse::Block("not today (h)".into())),
            (answer(Ended::Exited(2), "", "", true), HookResponse::Block("no reason given (h)".into())),
            (
                answer(Ended::Exited(2), "", "x", false),
                HookResponse::Failed("[Hook h: FAILED (exit 2)]\nx".into()),
            ),
            (
                answer(Ended::Exited(1), "a", "b", true),
                HookResponse::Failed("[Hook h: FAILED (exit 1)]\na\nb".into()),
            ),
            (
                answer(Ended::TimedOut, "", "", true),
                HookResponse::Failed("[Hook h: FAILED (exit -1)]\nTimeout after 3 s".into()),
            ),
            (
                answer(Ended::Signaled(9), "", "", true),
                HookResponse::Failed("[Hook h: FAILED (exit -1)]\n".into()),
            ),
        ] {
            assert_eq!(case, expected);
        }
    }
}
