//! Display of a batch while it runs: groups in GitHub's log, lines in another, a live table on a terminal.

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use parking_lot::Mutex;
use sanitize::untrusted::{command_data, log_lines, visible};

use super::context::LOG;
use super::manifest::Task;
use crate::report::{TaskReport, task_line};

/// Most of a task's log that a group shows, in bytes.
const MAX_LOG: usize = 30_000;

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressMode {
    /// As groups of GitHub's log.
    Groups,
    /// A line for each task.
    Lines,
    /// A table that moves.
    Table,
    /// By the log alone.
    Silent,
}

impl ProgressMode {
    /// Chooses the style that suits whoever watches.
    pub fn new(in_actions: bool, quiet: bool) -> Self {
        match (quiet, in_actions, std::io::stderr().is_terminal()) {
            (true, ..) => Self::Silent,
            (_, true, _) => Self::Groups,
            (_, _, true) => Self::Table,
            _ => Self::Lines,
        }
    }
}

/// Shows progress.
pub(super) struct ProgressDisplay {
    look: ProgressMode,
    total: usize,
    ended: Mutex<usize>,
    table: MultiProgress,
    sum: ProgressBar,
    rows: Mutex<BTreeMap<String, ProgressBar>>,
}

impl ProgressDisplay {
    /// Creates the display of a batch, of which `ended` of `total` tasks ended before.
    pub(super) fn new(look: ProgressMode, total: usize, ended: usize) -> Self {
        let table = MultiProgress::new();
        let sum = if look == ProgressMode::Table {
            let bar = table.add(ProgressBar::new(total as u64).with_position(ended as u64));
            bar.with_style(style("{bar:30} {pos}/{len} tasks  {elapsed}"))
        } else {
            ProgressBar::hidden()
        };
        Self { look, total, ended: Mutex::new(ended), table, sum, rows: Mutex::default() }
    }

    pub(super) fn begun(&self, task: &Task) {
        let name = visible(task.entry.title().lines().next().unwrap_or_default());
        match self.look {
            ProgressMode::Table => {
                let row = self.table.insert_before(&self.sum, ProgressBar::new_spinner());
                row.set_style(style("{spinner} {msg}  {elapsed}"));
                row.set_message(format!("{}  {name}", task.id));
                row.enable_steady_tick(Duration::from_millis(120));
                self.rows.lock().insert(task.id.clone(), row);
            }
            ProgressMode::Lines => say(&format!("      ▸ {}  {name}", task.id)),
            ProgressMode::Groups | ProgressMode::Silent => {}
        }
    }

    /// Shows that a task is over; `folder` holds its log.
    pub(super) fn ended(&self, report: &TaskReport, folder: &Path) {
        let mut ended = self.ended.lock();
        *ended += 1;
        let line = format!("[{}/{}] {}", *ended, self.total, visible(&task_line(report)).replace('\n', " "));
        match self.look {
            // As JSON, or not at all: the log decides.
            ProgressMode::Silent => tracing::info!(task = report.id, "{line}"),
            ProgressMode::Lines => say(&line),
            ProgressMode::Groups => {
                let log = fs::read(folder.join(LOG)).unwrap_or_default();
                let log = String::from_utf8_lossy(&log);
                let from = log.ceil_char_boundary(log.len().saturating_sub(MAX_LOG));
                let cut = if from > 0 { "… the full log is in the task's log.txt\n" } else { "" };
                let log = log_lines(&log[from..]);
                let text =
                    format!("::group::{}\n{cut}{}\n::endgroup::\n", command_data(&line), log.trim_end());
                // At once, so that nothing else comes in between.
                let _ = std::io::stderr().lock().write_all(text.as_bytes());
            }
            ProgressMode::Table => {
                if let Some(row) = self.rows.lock().remove(&report.id) {
                    row.finish_and_clear();
                    self.table.remove(&row);
                }
                let _ = self.table.println(line);
                self.sum.inc(1);
            }
        }
    }

    /// Leaves the terminal as it was.
    pub(super) fn close(&self) {
        self.sum.finish_and_clear();
        for row in self.rows.lock().values() {
            row.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn say(line: &str) {
    let _ = std::io::stderr().lock().write_all(log_lines(&format!("{line}\n")).as_bytes());
}
