//! Tool `todo`: the agent's list of its own work, which survives compaction and is in the live comment.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ledger::{Ledger, todo_lines};
use crate::event::{Effects, Event, Events, TodoItem, TodoList};
use crate::tool::{ArgumentsError, AsyncTool, ToolInfo, ToolResult};

/// Maximum number of entries.
const MAX_ITEMS: usize = 40;
/// Maximum number of characters of an entry.
const MAX_TEXT: usize = 200;

/// Tool that keeps the list.
pub(crate) struct TodoTool {
    ledger: Arc<Ledger>,
    events: Events,
    agent: String,
}

impl TodoTool {
    /// Creates the tool of an agent, whose list is kept in `ledger`.
    pub(crate) fn new(ledger: Arc<Ledger>, events: Events, agent: &str) -> Self {
        Self { ledger, events, agent: agent.to_owned() }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The whole list, in order
    items: Vec<TodoItem>,
    /// Whether the items are changes of the list: those with the same text are replaced, and others added.
    #[serde(default)]
    #[schemars(skip)]
    merge: bool,
}

impl AsyncTool for TodoTool {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "todo",
            description: "Keep a list of your work if it has several parts; each call replaces it.",
            sensitive: false,
            successor: None,
        }
    }

    fn check(&self, Args { items, .. }: &mut Args) -> Result<(), ArgumentsError> {
        if items.len() > MAX_ITEMS {
            let limit = format!("at most {MAX_ITEMS} items; combine those that belong together");
            return Err(ArgumentsError::TooLong { field: "items", limit });
        }
        for item in items.iter_mut() {
            item.task = item.task.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some((end, _)) = item.task.char_indices().nth(MAX_TEXT) {
                item.task.truncate(end);
            }
        }
        items.retain(|item| !item.task.is_empty());
        Ok(())
    }

    fn effects(&self, _: &Args) -> Effects {
        Effects::default()
    }

    fn run(self: Arc<Self>, Args { items, merge }: Args) -> BoxFuture<'static, ToolResult> {
        async move {
            let items = if merge { merged(self.ledger.todo(), items) } else { items };
            let text = if items.is_empty() { "the list is empty".to_owned() } else { todo_lines(&items) };
            if items.len() > MAX_ITEMS {
                return ToolResult::failed(format!(
                    "at most {MAX_ITEMS} items; combine those that belong together"
                ));
            }
            self.events.emit(Event::Todo(TodoList { agent: self.agent.clone(), items: items.clone() }));
            self.ledger.note_todo(items);
            ToolResult::done(text)
        }
        .boxed()
    }
}

/// Returns a list with changes: entries of the same text are replaced, and others added.
fn merged(mut list: Vec<TodoItem>, changes: Vec<TodoItem>) -> Vec<TodoItem> {
    for change in changes {
        match list.iter_mut().find(|item| item.task == change.task) {
            Some(item) => *item = change,
            None => list.push(change),
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TodoStatus::{Done, Open};

    #[test]
    fn changes_of_a_list_keep_what_they_do_not_name() {
        let item = |task: &str, status| TodoItem { task: task.to_owned(), status };
        let list = vec![item("a", Open), item("b", Open)];
        assert_eq!(
            merged(list, vec![item("a", Done), item("c", Open)]),
            [item("a", Done), item("b", Open), item("c", Open)]
        );
    }
}
