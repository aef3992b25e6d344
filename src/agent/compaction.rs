//! Compaction: replaces the older part of a long conversation with a summary. This is done rarely and in one
//! go, because every compaction costs the provider's prompt cache.

use crate::base::text::shortened;
use crate::model::Message;

/// Request for the summary, sent as the last user message.
pub(super) const SUMMARY_PROMPT: &str = "The conversation is getting long, so its older part will be replaced by a \
                              summary that you write now. Do not call tools. Write down what somebody needs \
                              to continue the task: what was found out (with paths and names), what was \
                              changed, what failed and why, what is left to do.";

/// Heading of what is known without the model.
const FACTS_HEADING: &str = "[Kept by the runner]";

/// Heading between the task and the summary in the first message.
const SUMMARY_HEADING: &str = "[Summary of the work so far]";

/// Longest text or argument, in characters, in a summary that no model wrote.
const MAX_ARGUMENT: usize = 200;

/// Returns the index of the first message to keep, so that the last `keep` answers stay with their results.
/// Returns `None` if there are no more than `after` answers, or if nothing would be gained.
pub(super) fn split_point(messages: &[Message], after: usize, keep: usize) -> Option<usize> {
    let answers: Vec<usize> =
        (0..messages.len()).filter(|index| matches!(messages[*index], Message::Assistant { .. })).collect();
    if answers.len() <= after.max(keep) {
        return None;
    }
    answers.get(answers.len() - keep).copied().filter(|cut| *cut > 1)
}

/// Returns the conversation with everything before `cut` replaced by the task and `summary`. An earlier
/// summary in the task is replaced, not kept. `facts` are what is known whatever the summary says.
pub(super) fn replace_with_summary(
    messages: &[Message],
    cut: usize,
    summary: &str,
    facts: &str,
) -> Vec<Message> {
    let task = match messages.first() {
        Some(Message::User(task)) => task.split(SUMMARY_HEADING).next().unwrap_or(task).trim_end().to_owned(),
        _ => String::new(),
    };
    let facts = if facts.is_empty() { String::new() } else { format!("\n\n{FACTS_HEADING}\n{facts}") };
    let summary = summary.trim();
    let mut compacted = vec![Message::User(format!("{task}\n\n{SUMMARY_HEADING}\n{summary}{facts}"))];
    compacted.extend_from_slice(&messages[cut..]);
    compacted
}

/// Builds a summary without a model, as a list of the calls made and their failures; used if the model gives
/// none.
pub(super) fn fallback_summary(messages: &[Message]) -> String {
    let mut lines = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { text, calls, .. } => {
                let text = text.trim();
                if !text.is_empty() {
                    lines.push(format!("- said: {}", short(text)));
                }
                lines.extend(
                    calls.iter().map(|call| {
                        format!("- called {}({})", call.name, short(&call.arguments.to_string()))
                    }),
                );
            }
            Message::Tool { name, content, success: false, .. } => {
                lines.push(format!("- {name} failed: {}", short(content)));
            }
            Message::Tool { .. } | Message::User(_) => {}
        }
    }
    lines.join("\n")
}

fn short(text: &str) -> String {
    shortened(&text.replace('\n', " "), MAX_ARGUMENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ToolCall;

    fn conversation(answers: usize) -> Vec<Message> {
        let mut messages = vec![Message::User("the task".to_owned())];
        for n in 0..answers {
            let id = format!("c{n}");
            let call =
                ToolCall { id: id.clone(), name: "grep".to_owned(), arguments: serde_json::json!({"n": n}) };
            messages.push(Message::Assistant { text: String::new(), calls: vec![call], opaque: None });
            let success = n != 1;
            let content = if success { "found".to_owned() } else { "Error: not there".to_owned() };
            messages.push(Message::Tool { id, name: "grep".to_owned(), content, success });
        }
        messages
    }

    #[test]
    fn the_older_part_goes_and_calls_keep_their_results() {
        let messages = conversation(10);
        assert_eq!(split_point(&messages, 10, 4), None);
        let at = split_point(&messages, 8, 4).expect("a cut");
        let short = replace_with_summary(&messages, at, "what was\n", "");
        assert_eq!(short.len(), 1 + 8);
        assert!(
            matches!(&short[0], Message::User(text) if text == "the task\n\n[Summary of the work so far]\nwhat was")
        );
        assert!(matches!(&short[1], Message::Assistant { calls, .. } if calls[0].id == "c6"));
        // A second summary replaces the first.
        let again = replace_with_summary(&short, 3, "more", "Files changed so far:\n- a (+1 −0)");
        assert!(
            matches!(&again[0], Message::User(text) if text == "the task\n\n[Summary of the work so far]\nmore\n\n[Kept by the runner]\nFiles changed so far:\n- a (+1 −0)")
        );
        let summary = fallback_summary(&messages[..at]);
        assert!(
            summary.starts_with(
                "- called grep({\"n\":0})\n- called grep({\"n\":1})\n- grep failed: Error: not there\n"
            ),
            "{summary}"
        );
    }
}
