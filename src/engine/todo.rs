//! Tool `todo`: the agent's list of its own work, which survives compaction and is in the live comment.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::ledger::{Ledger, todo_lines};
use crate::event::{Effects, Event, Events, TodoItem, TodoList};
use crate::tool::{ArgumentsError, Call, Context, Tool, ToolError, ToolResult, arguments, schema};

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
struct Args {
    /// The whole list, in order
    items: Vec<TodoItem>,
}

impl Tool for TodoTool {
    fn name(&self) -> &'static str {
        "todo"
    }

    fn description(&self) -> &'static str {
        "Keep a list of your work if it has several parts; each call replaces it."
    }

    fn sensitive(&self) -> bool {
        false
    }

    fn parameters(&self) -> Value {
        schema::of::<Args>()
    }

    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, ArgumentsError> {
        let Args { mut items } = arguments::parse(arguments)?;
        if items.len() > MAX_ITEMS {
            let limit = format!("at most {MAX_ITEMS} items; combine those that belong together");
            return Err(ArgumentsError::TooLong { field: "items", limit });
        }
        for item in &mut items {
            item.task = item.task.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some((end, _)) = item.task.char_indices().nth(MAX_TEXT) {
                item.task.truncate(end);
            }
        }
        items.retain(|item| !item.task.is_empty());
        Ok(Box::new(TodoCall { tool: self, items }))
    }
}

struct TodoCall {
    tool: Arc<TodoTool>,
    items: Vec<TodoItem>,
}

impl Call for TodoCall {
    fn effects(&self, _: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::default())
    }

    fn run(self: Box<Self>, _: Context) -> BoxFuture<'static, ToolResult> {
        async move {
            let Self { tool, items } = *self;
            let text = if items.is_empty() { "the list is empty".to_owned() } else { todo_lines(&items) };
            tool.events.emit(Event::Todo(TodoList { agent: tool.agent.clone(), items: items.clone() }));
            tool.ledger.note_todo(items);
            ToolResult::done(text)
        }
        .boxed()
    }
}
