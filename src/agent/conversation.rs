//! Conversation of one session: a history that only grows, except for compaction and for the block of files
//! kept in view.

use std::collections::HashSet;

use super::shortening::Replacement;
use crate::engine::CHARS_PER_TOKEN;
use crate::event::Usage;
use crate::model::{Completion, Message, ToolSchema};

/// Heading of the message with the current content of the files in view.
const UPDATED: &str = "[FILES UPDATED]";

/// Messages of a session so far, and what has to be known about them to continue.
pub(super) struct Conversation {
    pub(super) tools: Vec<ToolSchema>,
    pub(super) messages: Vec<Message>,
    pub(super) step: u32,
    /// Turn before which the conversation was last compacted.
    pub(super) compacted_at: u32,
    /// Texts from hooks, to be added before the next request.
    pub(super) notes: Vec<String>,
    /// Whether the agent has been warned that few turns are left.
    pub(super) is_warned: bool,
    /// Whether the next answer belongs to the same turn as the last one.
    pub(super) continues: bool,
    /// Final answer that stands although the agent is asked something more.
    pub(super) standing_answer: Option<String>,
    /// IDs of all calls so far.
    ids: HashSet<String>,
    /// Input tokens that the provider counted for the last request, and the number of messages the count
    /// covers.
    token_count: Option<(usize, usize)>,
    /// Files in view, as path and content, as they were last shown.
    shown: Vec<(String, String)>,
}

impl Conversation {
    pub(super) fn new(task: &str, tools: Vec<ToolSchema>, files: Vec<(String, String)>) -> Self {
        let mut task = task.to_owned();
        if !files.is_empty() {
            task += &format!("\n\n[FILES]{}", blocks(&files));
        }
        Self {
            tools,
            messages: vec![Message::User(task)],
            step: 0,
            compacted_at: 0,
            notes: Vec::new(),
            is_warned: false,
            continues: false,
            standing_answer: None,
            ids: HashSet::new(),
            token_count: None,
            shown: files,
        }
    }

    /// Returns the estimated size in tokens: the provider's last count, plus an estimate of what was added
    /// since.
    pub(super) fn tokens(&self, system: &str) -> usize {
        let (known, from) = self.token_count.unwrap_or((system.len() / CHARS_PER_TOKEN, 0));
        known + self.messages[from..].iter().map(length).sum::<usize>() / CHARS_PER_TOKEN
    }

    /// Returns the most tokens that a request can have: the provider's last count, plus half of the bytes that were added
    /// since. No text has more tokens than that, in whatever language.
    pub(super) fn most_tokens(&self, system: &str) -> u64 {
        let tools =
            |tool: &ToolSchema| tool.name.len() + tool.description.len() + tool.parameters.to_string().len();
        let opening = || system.len() + self.tools.iter().map(tools).sum::<usize>();
        let (known, bytes, from) = match self.token_count {
            Some((tokens, from)) => (tokens, 0, from),
            None => (0, opening(), 0),
        };
        let added: usize = self.messages[from..].iter().map(length).sum();
        (known + (bytes + added).div_ceil(2)) as u64
    }

    /// Records the provider's token count for all messages so far.
    pub(super) fn record_token_count(&mut self, usage: Usage) {
        if usage.input > 0 {
            self.token_count =
                Some((usize::try_from(usage.input).unwrap_or(usize::MAX), self.messages.len()));
        }
    }

    /// Moves the pending [`notes`](Self::notes) into the conversation.
    pub(super) fn add_notes(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        let notes = std::mem::take(&mut self.notes).join("\n\n");
        match self.messages.last_mut() {
            // Notes join a user message that has not been sent yet, because some providers want roles to
            // alternate. They do not join the block of files, which is removed when the files are shown again.
            Some(message) if is_update(message) => self.messages.push(Message::User(notes)),
            Some(Message::User(text)) => *text += &format!("\n\n{notes}"),
            _ => self.messages.push(Message::User(notes)),
        }
    }

    /// Replaces all messages with a compacted list.
    pub(super) fn compact(&mut self, messages: Vec<Message>) {
        self.messages = messages;
        self.token_count = None;
        self.compacted_at = self.step + 1;
        // The files shown may have been cut away, so they are shown again.
        self.messages.retain(|message| !is_update(message));
        for (_, text) in &mut self.shown {
            text.clear();
        }
    }

    /// Drops what is neither the task nor came after the last answer.
    pub(super) fn keep_latest(&mut self) {
        let is_answer = |message: &Message| matches!(message, Message::Assistant { .. });
        if let Some(last) = self.messages.iter().rposition(is_answer) {
            self.messages.drain(1..=last);
            self.token_count = None;
        }
    }

    /// Replaces the content of results, and takes what that saves off the provider's count.
    pub(super) fn replace_results(&mut self, replaced: Vec<Replacement>) {
        for (index, new) in replaced {
            let Some(Message::Tool { content, .. }) = self.messages.get_mut(index) else { continue };
            let saved = content.len().saturating_sub(new.len()) / CHARS_PER_TOKEN;
            *content = new;
            if let Some((tokens, _)) = self.token_count.as_mut().filter(|(_, from)| index < *from) {
                *tokens = tokens.saturating_sub(saved);
            }
        }
    }

    /// Discards the provider's token count, which no longer matches the messages.
    pub(super) fn invalidate_token_count(&mut self) {
        self.token_count = None;
    }

    /// Assigns a new ID to every call that has none or repeats an earlier one, because providers match
    /// results to calls by ID.
    pub(super) fn assign_unique_ids(&mut self, completion: &mut Completion) {
        for (index, call) in completion.calls.iter_mut().enumerate() {
            let mut name = call.id.clone();
            let mut turn = 0;
            while name.is_empty() || !self.ids.insert(name.clone()) {
                name = format!("call_{}_{index}_{turn}", self.step);
                turn += 1;
            }
            if name != call.id {
                call.id = name;
                // The provider's own form of the answer still has the old ID.
                completion.opaque = None;
            }
        }
    }

    /// Shows the files in view again if any has changed; the block shown before is removed.
    pub(super) fn refresh(&mut self, files: Vec<(String, String)>) {
        if files == self.shown {
            return;
        }
        if let Some(at) = self.messages.iter().position(is_update) {
            self.messages.remove(at);
            self.token_count = self.token_count.map(|(tokens, from)| (tokens, from - usize::from(from > at)));
        }
        // The new message has all files, not only those that changed, because the old block is gone.
        self.messages.push(Message::User(format!("{UPDATED}{}", blocks(&files))));
        self.shown = files;
    }

    /// Returns the final answer with what was said when there was one already. One that says the same again replaces it.
    pub(super) fn with_standing_answer(&mut self, text: String) -> String {
        match self.standing_answer.take() {
            Some(standing) if text.trim().is_empty() => standing,
            Some(standing) if !text.contains(standing.trim()) => format!("{}\n\n{text}", standing.trim_end()),
            _ => text,
        }
    }

    /// Appends the model's answer.
    pub(super) fn add_answer(&mut self, completion: Completion) {
        let Completion { text, calls, opaque, .. } = completion;
        self.messages.push(Message::Assistant { text, calls, opaque });
    }
}

fn blocks(files: &[(String, String)]) -> String {
    files.iter().map(|(path, text)| format!("\n--- {path}\n{}", text.trim_end_matches('\n'))).collect()
}

fn is_update(message: &Message) -> bool {
    matches!(message, Message::User(text) if text.starts_with(UPDATED))
}

fn length(message: &Message) -> usize {
    match message {
        Message::User(text) => text.len(),
        Message::Assistant { text, calls, .. } => {
            text.len()
                + calls.iter().map(|call| call.name.len() + call.arguments.to_string().len()).sum::<usize>()
        }
        Message::Tool { content, .. } => content.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ToolCall;

    fn files(text: &str) -> Vec<(String, String)> {
        vec![("a.txt".to_owned(), "same\n".to_owned()), ("b.txt".to_owned(), text.to_owned())]
    }

    fn updates(conversation: &Conversation) -> Vec<String> {
        let text = |message: &Message| match message {
            Message::User(text) if is_update(message) => Some(text.clone()),
            _ => None,
        };
        conversation.messages.iter().filter_map(text).collect()
    }

    #[test]
    fn files_in_view_are_shown_once_as_they_are() {
        let mut conversation = Conversation::new("task", Vec::new(), files("one\n"));
        assert!(
            matches!(&conversation.messages[0], Message::User(text) if text == "task\n\n[FILES]\n--- a.txt\nsame\n--- b.txt\none")
        );
        conversation.refresh(files("one\n"));
        assert_eq!(updates(&conversation), Vec::<String>::new());
        conversation.refresh(files("two\n"));
        conversation.messages.push(Message::User("between".to_owned()));
        conversation.refresh(files("three\n"));
        assert_eq!(updates(&conversation), ["[FILES UPDATED]\n--- a.txt\nsame\n--- b.txt\nthree"]);
        assert_eq!(conversation.messages.len(), 3);
        conversation.notes.push("from a hook".to_owned());
        conversation.add_notes();
        conversation.refresh(files("four\n"));
        assert!(
            conversation
                .messages
                .iter()
                .any(|message| matches!(message, Message::User(text) if text == "from a hook"))
        );
        conversation.refresh(files("three\n"));
        let messages = std::mem::take(&mut conversation.messages);
        conversation.compact(messages);
        assert_eq!(updates(&conversation), Vec::<String>::new());
        conversation.refresh(files("three\n"));
        assert_eq!(updates(&conversation).len(), 1);
    }

    #[test]
    fn answer_that_stands_is_added_to() {
        for (standing, text, expected) in [
            (None, "Done.", "Done."),
            (Some("Done.\n"), "1. yes", "Done.\n\n1. yes"),
            (Some("Done."), "Checked. Done.", "Checked. Done."),
            (Some("Done."), " ", "Done."),
        ] {
            let mut conversation = Conversation::new("task", Vec::new(), Vec::new());
            conversation.standing_answer = standing.map(str::to_owned);
            assert_eq!(conversation.with_standing_answer(text.to_owned()), expected);
        }
    }

    #[test]
    fn calls_get_names_of_their_own() {
        let call =
            |id: &str| ToolCall { id: id.to_owned(), name: "x".to_owned(), arguments: serde_json::json!({}) };
        let mut conversation = Conversation::new("task", Vec::new(), Vec::new());
        let mut names = Vec::new();
        for ids in [["a", "a"], ["", "a"]] {
            conversation.step += 1;
            let mut completion = Completion { calls: ids.map(call).to_vec(), ..Completion::default() };
            conversation.assign_unique_ids(&mut completion);
            names.extend(completion.calls.into_iter().map(|call| call.id));
        }
        assert_eq!(names, ["a", "call_1_1_0", "call_2_0_0", "call_2_1_0"]);
    }
}
