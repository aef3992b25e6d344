//! The report of a batch as Markdown: comment, step summary and file.

use std::fmt::Write;

use sanitize::untrusted::{code, markdown_line, plain, visible};

use super::{BatchReport, TaskEnd, TaskReport};
use crate::event::{NoticeLevel, RunMode, Status};
use crate::report::comment::{COMMENT_LIMIT, RUN_MARK};
use crate::report::figures::{cost, duration, plural, tokens};
use crate::report::footer::is_link;
use crate::report::size_budget::{Section, fit};

/// Size limit of the step summary in UTF-16 units, for the same reason as that of a run.
const SUMMARY_LIMIT: usize = 300_000;
/// Maximum number of rows in a table of the comment or the summary; `batch.md` has all of them.
const MAX_ROWS: usize = 200;
/// Maximum number of files listed as changed by several tasks.
const MAX_SHARED: usize = 20;

/// Returns a one-line summary of the batch in plain text.
pub fn batch_headline(report: &BatchReport) -> String {
    headline(report, &visible(&report.batch).replace(['\n', '\t'], " "))
}

fn headline(report: &BatchReport, name: &str) -> String {
    let icon = match report.status {
        Status::Success => "✅",
        Status::Partial => "🟡",
        Status::Failed => "❌",
    };
    let done = report.count(TaskEnd::Success);
    let mut parts = vec![format!("{done} of {} done", plural(report.tasks.len(), "task", "tasks"))];
    for (end, word) in [
        (TaskEnd::Failed, "failed"),
        (TaskEnd::Lost, "lost"),
        (TaskEnd::Partial, "partial"),
        (TaskEnd::NotRun, "not run"),
        (TaskEnd::Settled, "settled"),
    ] {
        let count = report.count(end);
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    format!("{icon} {name}: {}", parts.join(", "))
}

fn facts(report: &BatchReport) -> String {
    let mut facts = Vec::new();
    if let Some(shard) = report.shard {
        facts.push(format!("shard {}/{}", shard.index, shard.of));
    }
    let files: usize = report.tasks.iter().map(|task| task.changed_files).sum();
    facts.push(format!("{} ({})", plural(files, "file", "files"), report.lines()));
    facts.push(duration(report.duration_ms));
    facts.push(format!("{} tokens in, {} out", tokens(report.usage.input), tokens(report.usage.output)));
    facts.extend(report.cost_usd.map(cost));
    facts.push(format!("on {}", code(&report.commit.chars().take(10).collect::<String>())));
    if let Some(url) = report.run_url.as_ref().filter(|url| is_link(url)) {
        facts.push(format!("[run]({url})"));
    }
    format!("{}\n\n", facts.join(" · "))
}

fn icon(task: &TaskReport) -> &'static str {
    match task.end {
        TaskEnd::Success => task.stop_reason.map_or("✅", |reason| reason.clause().sign),
        TaskEnd::Partial => "🟡",
        TaskEnd::Failed => "❌",
        TaskEnd::Lost => "❔",
        TaskEnd::NotRun => "⚪",
        TaskEnd::Settled => "☑️",
    }
}

/// Returns a one-line summary of a task in plain text: icon, id, what changed, and why it ended.
pub fn task_line(task: &TaskReport) -> String {
    let mut parts = vec![format!("{} {}", icon(task), task.id), what(task)];
    if task.attempts > 1 {
        parts.push(format!("{} attempts", task.attempts));
    }
    if task.attempts > 0 {
        parts.push(duration(task.duration_ms));
    }
    parts.extend(task.cost_usd.map(cost));
    parts.join(" · ")
}

fn what(task: &TaskReport) -> String {
    let changed = match (task.changed_files, task.mode) {
        (0, Some(_)) => "no changes".to_owned(),
        (0, None) => String::new(),
        (files, mode) => {
            let files = plural(files, "file", "files");
            let verb = if mode == Some(RunMode::DryRun) { "plans" } else { "changed" };
            format!("{verb} {files} ({})", task.lines)
        }
    };
    let why = why(task);
    match (changed.is_empty(), why.is_empty()) {
        (false, false) => format!("{changed}; {why}"),
        _ => changed + &why,
    }
}

/// Returns why a task did not succeed: the failed gates, else the worst notice, else the stop reason. Of one that
/// succeeded, what it did not show; empty if it showed everything.
pub(super) fn why(task: &TaskReport) -> String {
    if task.end == TaskEnd::Success {
        let reason = task.stop_reason.filter(|reason| !reason.is_green());
        return reason.map_or_else(String::new, |reason| reason.to_string());
    }
    if !task.failed_gates.is_empty() {
        return format!("failed: {}", plain(&task.failed_gates.join(", ")));
    }
    let worst = task.notices.iter().rev().max_by_key(|notice| match notice.level {
        NoticeLevel::Error => 2,
        NoticeLevel::Warning => 1,
        NoticeLevel::Info => 0,
    });
    let told = worst.filter(|notice| notice.level == NoticeLevel::Error || task.stop_reason.is_none());
    match (told, task.stop_reason) {
        (Some(notice), _) => plain(notice.message.lines().next().unwrap_or_default()),
        (None, Some(reason)) => reason.to_string(),
        (None, None) => String::new(),
    }
}

fn row(task: &TaskReport, links: bool) -> String {
    let mut id = code(&task.id);
    if links && !task.folder.is_empty() {
        id = format!("[{id}]({}/report.md)", task.folder);
    }
    if let Some(delivery) = &task.delivery {
        id += &match &delivery.pull_request {
            Some(pull) if is_link(&pull.url) => format!(" [#{}]({})", pull.number, pull.url),
            _ => format!(" → {}", code(&delivery.branch)),
        };
    }
    let cost = task.cost_usd.map(cost).unwrap_or_default();
    let again = if task.attempts > 1 { format!(" ×{}", task.attempts) } else { String::new() };
    let said = code(&what(task));
    format!("| {} {id}{again} | {said} | {} | {cost} |\n", icon(task), duration(task.duration_ms))
}

/// Renders the table of tasks; those that need attention come first.
fn table(report: &BatchReport, rows: usize, links: bool) -> Section {
    if report.tasks.is_empty() {
        return Section::fixed("There are no tasks.\n\n".to_owned());
    }
    let mut order: Vec<&TaskReport> = report.tasks.iter().collect();
    order.sort_by_key(|task| task.end);
    let head = "| Task | Outcome | Time | Cost |\n|---|---|--:|--:|\n";
    let write = |limit: usize| {
        let mut text = head.to_owned();
        text.extend(order.iter().take(limit).map(|task| row(task, links)));
        if order.len() > limit {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n… {} more in `batch.md`\n", order.len() - limit);
        }
        text + "\n"
    };
    Section::new(5, write(rows), write(rows.min(20)))
}

fn notices(report: &BatchReport) -> Section {
    let mut text = String::new();
    if !report.lost_shards.is_empty() {
        let named: Vec<String> = report.lost_shards.iter().take(30).map(u32::to_string).collect();
        let more = if report.lost_shards.len() > 30 { ", …" } else { "" };
        let _ = writeln!(
            text,
            "> ⚠️ {} left no report: {}{more}\n>",
            plural(report.lost_shards.len(), "shard", "shards"),
            named.join(", ")
        );
    }
    for notice in report.notices.iter().filter(|notice| notice.level != NoticeLevel::Info) {
        let line = markdown_line(&notice.message);
        let _ = writeln!(text, "> ⚠️ {line}\n>");
    }
    if !text.is_empty() {
        text += "\n";
    }
    Section::fixed(text)
}

fn shared(report: &BatchReport) -> Section {
    let shared = report.shared_files();
    if shared.is_empty() {
        return Section::fixed(String::new());
    }
    let mut text = format!(
        "<details><summary>{} changed by more than one task</summary>\n\n",
        plural(shared.len(), "file", "files")
    );
    for (path, tasks) in shared.iter().take(MAX_SHARED) {
        let ids: Vec<String> = tasks.iter().take(10).map(|id| code(id)).collect();
        let more = tasks.len() - ids.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let _ = writeln!(text, "- {}: {}{more}", code(path.as_str()), ids.join(", "));
    }
    if shared.len() > MAX_SHARED {
        let _ = writeln!(text, "- … {} more", shared.len() - MAX_SHARED);
    }
    text += "\n</details>\n\n";
    Section::new(2, text, String::new())
}

fn render(report: &BatchReport, head: &str, rows: usize, links: bool, limit: usize) -> String {
    let head = format!("{head}{}\n\n{}", headline(report, &code(&report.batch)), facts(report));
    fit(vec![Section::fixed(head), notices(report), table(report, rows, links), shared(report)], limit)
}

/// Renders the comment within [`COMMENT_LIMIT`], with room for the mark of the run that posts it. It begins with the
/// `hidden` lines, by which it is found again.
pub fn batch_comment(report: &BatchReport, hidden: &str) -> String {
    render(report, &format!("{hidden}### "), MAX_ROWS, false, COMMENT_LIMIT - RUN_MARK)
}

/// Renders the step summary.
pub fn batch_summary(report: &BatchReport) -> String {
    render(report, "## ", MAX_ROWS, false, SUMMARY_LIMIT)
}

/// Renders the complete report, `batch.md`.
pub fn batch_markdown(report: &BatchReport) -> String {
    render(report, "## ", usize::MAX, true, usize::MAX)
}
