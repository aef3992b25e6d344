//! Conversations restored from transcripts.

use crate::event::{Event, Line, ToolCall};
use crate::model::Message;

use super::subagent::DISPATCH;

const INTERRUPTED: &str = "Error: the run was interrupted here. The files are as they were before this call, but it is \
                           unknown whether it took effect elsewhere; check before you repeat it";
const DISPATCH_INTERRUPTED: &str = "Error: the run was interrupted here, and the subagent with it. What the calls of the subagent \
                                    that had ended changed is kept; look at it before you dispatch the rest again";
const RESUMED: &str = "[RESUMED] The run was interrupted and is now resumed, with the checkout as you left \
                       it. Continue the task.";

/// Result of a call that was under way when a session was interrupted, and that was made again.
#[derive(Clone, Debug)]
pub struct RegainedResult {
    /// Id of the call.
    pub id: String,
    /// What the model reads.
    pub content: String,
    /// Whether the call did what was asked.
    pub success: bool,
}

/// Conversation of an interrupted session, as far as the transcript has it.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Messages after the task.
    pub(super) messages: Vec<Message>,
    /// Number of the last turn.
    pub step: u32,
    /// Final answer that was given, but not judged before the interruption.
    pub(super) unjudged: Option<String>,
}

impl History {
    /// Restores the conversation of `agent` from a transcript. Calls without a result get the `regained` one or an error
    /// result, and a last message informs the model that the run has been resumed. If the run was `cut_off` behind a final
    /// answer, that is yet to be judged, and there is no such message.
    pub fn of<'a>(
        lines: impl Iterator<Item = &'a Line>,
        agent: &str,
        regained: &[RegainedResult],
        cut_off: bool,
    ) -> Self {
        let mut history = Self::default();
        let mut open: Vec<ToolCall> = Vec::new();
        for line in lines {
            match &line.event {
                Event::Reply(reply) if reply.agent == agent => {
                    history.close(&mut open);
                    if matches!(history.messages.last(), Some(Message::Assistant { .. })) {
                        // The message between the two was the runner's own and is not in the transcript, but
                        // providers want roles to alternate.
                        history.messages.push(Message::User("Continue.".to_owned()));
                    }
                    history.step = history.step.max(reply.step);
                    let (text, calls) = (reply.text.clone(), reply.calls.clone());
                    if text.trim().is_empty() && calls.is_empty() {
                        continue;
                    }
                    open.clone_from(&calls);
                    history.messages.push(Message::Assistant { text, calls, opaque: None });
                }
                Event::Call(call) if call.agent == agent => {
                    if let Some(at) = open.iter().position(|asked| asked.id == call.id) {
                        open.remove(at);
                        history.messages.push(Message::Tool {
                            id: call.id.clone(),
                            name: call.tool.clone(),
                            content: call.result.clone(),
                            success: call.success,
                        });
                    }
                }
                _ => {}
            }
        }
        for result in regained {
            if let Some(at) = open.iter().position(|asked| asked.id == result.id) {
                let name = open.remove(at).name;
                let (id, content) = (result.id.clone(), result.content.clone());
                history.messages.push(Message::Tool { id, name, content, success: result.success });
            }
        }
        if let Some(Message::Assistant { text, calls, .. }) = history.messages.last()
            && cut_off
            && calls.is_empty()
        {
            history.unjudged = Some(text.clone());
        } else if !history.messages.is_empty() {
            history.close(&mut open);
            history.messages.push(Message::User(RESUMED.to_owned()));
        }
        history
    }

    /// Adds an error result for every call in `open`, because providers reject calls without results.
    fn close(&mut self, open: &mut Vec<ToolCall>) {
        for call in open.drain(..) {
            let message = if call.name == DISPATCH { DISPATCH_INTERRUPTED } else { INTERRUPTED };
            let content = message.to_owned();
            self.messages.push(Message::Tool { id: call.id, name: call.name, content, success: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_becomes_a_conversation_in_which_every_call_has_a_result() {
        let lines = [
            r#"{"type": "reply", "agent": "build", "step": 1, "calls": [{"id": "a", "name": "grep", "arguments": {}}, {"id": "b", "name": "write_file", "arguments": {}}]}"#,
            r#"{"type": "reply", "agent": "explore-1", "step": 1, "text": "not mine"}"#,
            r#"{"type": "call", "agent": "build", "step": 1, "id": "a", "tool": "grep", "outcome": "executed", "success": true, "result": "found"}"#,
            r#"{"type": "reply", "agent": "build", "step": 2, "text": "Done."}"#,
            r#"{"type": "reply", "agent": "build", "step": 3, "text": "Really."}"#,
        ];
        let lines: Vec<Line> = lines.iter().map(|line| serde_json::from_str(line).expect("a line")).collect();
        let history = History::of(lines.iter(), "build", &[], false);
        let shown: Vec<String> = history
            .messages
            .iter()
            .map(|message| match message {
                Message::User(text) => format!("user {}", &text[..6.min(text.len())]),
                Message::Assistant { text, calls, .. } => format!("assistant {text} {}", calls.len()),
                Message::Tool { id, success, .. } => format!("tool {id} {success}"),
            })
            .collect();
        assert_eq!(
            shown,
            [
                "assistant  2",
                "tool a true",
                "tool b false",
                "assistant Done. 0",
                "user Contin",
                "assistant Really. 0",
                "user [RESUM"
            ]
        );
        assert_eq!(history.step, 3);
        assert!(History::of(std::iter::empty(), "build", &[], true).messages.is_empty());
        let cut_off = History::of(lines.iter(), "build", &[], true);
        assert_eq!(cut_off.unjudged.as_deref(), Some("Really."));
        assert!(matches!(cut_off.messages.last(), Some(Message::Assistant { .. })));
        let result = RegainedResult { id: "b".to_owned(), content: "made again".to_owned(), success: true };
        let history = History::of(lines[..3].iter(), "build", &[result], true);
        assert!(matches!(&history.messages[2], Message::Tool { id, success: true, .. } if id == "b"));
    }

    #[test]
    fn what_a_subagent_had_finished_is_not_said_to_be_undone() {
        let line = r#"{"type": "reply", "agent": "build", "step": 1, "calls": [{"id": "a", "name": "write_file", "arguments": {}}, {"id": "b", "name": "dispatch_subagent", "arguments": {}}]}"#;
        let line: Line = serde_json::from_str(line).expect("a line");
        let history = History::of([&line].into_iter(), "build", &[], true);
        let message: Vec<&str> = history
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Tool { content, .. } => Some(content.as_str()),
                _ => None,
            })
            .collect();
        assert!(message[0].contains("as they were before this call"), "{message:?}");
        assert!(message[1].contains("is kept") && !message[1].contains("as they were"), "{message:?}");
    }
}
