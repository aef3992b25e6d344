//! Ledger: what has to survive a compaction, whatever the model's own summary says.

use std::fmt::Write;

use parking_lot::{Mutex, MutexGuard};
use workspace::Workspace;

use crate::event::{GateRecord, TodoItem, TodoStatus};

/// Maximum number of changed files that are listed.
const MAX_FILES: usize = 60;

/// Facts about the run so far.
#[derive(Default)]
pub struct Ledger(Mutex<Facts>);

#[derive(Default)]
struct Facts {
    todo: Vec<TodoItem>,
    /// The last record of each gate.
    gates: Vec<GateRecord>,
}

impl Ledger {
    /// Returns the agent's list of its own work.
    pub fn todo(&self) -> Vec<TodoItem> {
        self.facts().todo.clone()
    }

    /// Replaces the agent's list of its own work.
    pub fn note_todo(&self, items: Vec<TodoItem>) {
        self.facts().todo = items;
    }

    /// Records how gates have ended.
    pub fn note_gates(&self, records: &[GateRecord]) {
        let mut facts = self.facts();
        for record in records {
            facts.gates.retain(|known| known.name != record.name);
            facts.gates.push(record.clone());
        }
    }

    /// Returns the changed files, the gates and the list, as text for the model; empty if there is nothing.
    pub fn text(&self, workspace: &dyn Workspace) -> String {
        let mut text = String::new();
        let changes = workspace.changes().unwrap_or_default();
        if !changes.is_empty() {
            text += "Files changed so far:\n";
            for change in changes.iter().take(MAX_FILES) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "- {} ({})", change.path, change.line_counts());
            }
            if changes.len() > MAX_FILES {
                let _ = writeln!(text, "- {} more", changes.len() - MAX_FILES);
            }
        }
        let facts = self.facts();
        if !facts.gates.is_empty() {
            text += "Gates, when they last ran:\n";
            for gate in &facts.gates {
                let _ = writeln!(text, "- {}: {}", gate.name, gate.told());
            }
        }
        if !facts.todo.is_empty() {
            let _ = writeln!(text, "Your list:\n{}", todo_lines(&facts.todo));
        }
        text.trim_end().to_owned()
    }

    /// Returns the entries of the list that are not done, one a line.
    pub fn open_items(&self) -> String {
        let is_open = |item: &&TodoItem| item.status != TodoStatus::Done;
        todo_lines(&self.facts().todo.iter().filter(is_open).cloned().collect::<Vec<_>>())
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock()
    }
}

/// Returns the list with a box for each entry.
pub(super) fn todo_lines(items: &[TodoItem]) -> String {
    let line = |item: &TodoItem| {
        let mark = match item.status {
            TodoStatus::Open => "[ ]",
            TodoStatus::Doing => "[~]",
            TodoStatus::Done => "[x]",
        };
        format!("{mark} {}", item.task)
    };
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}
