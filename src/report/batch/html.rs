//! The report of a batch as one page, with links to the pages of its tasks.

use maud::{DOCTYPE, Markup, html};
use sanitize::untrusted::visible;

use super::markdown::why;
use super::{BatchReport, TaskEnd, TaskReport, batch_headline};
use crate::report::figures::{cost, duration, tokens};
use crate::report::footer::is_link;
use crate::report::html::head;

/// Renders the page.
pub fn batch_html(report: &BatchReport) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&batch_headline(report), "script-src 'none'"))
            body {
                header {
                    h1 { (batch_headline(report)) }
                    p {
                        (duration(report.duration_ms)) " · " (report.lines().to_string()) " lines · "
                        (tokens(report.usage.input)) " tokens in, " (tokens(report.usage.output)) " out"
                        @if let Some(usd) = report.cost_usd { " · " (cost(usd)) }
                        @if let Some(url) = report.run_url.as_deref().filter(|url| is_link(url)) { " · " a href=(url) { "run" } }
                    }
                }
                main {
                    @for notice in &report.notices { p { (visible(&notice.message)) } }
                    @if !report.lost_shards.is_empty() {
                        p { "Shards that left no report: " (report.lost_shards.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")) }
                    }
                    @for (end, title) in ENDS {
                        @if report.count(end) > 0 {
                            section {
                                h2 { (title) " (" (report.count(end)) ")" }
                                table {
                                    thead { tr { th { "Task" } th { "Outcome" } th { "Files" } th { "Time" } th { "Cost" } } }
                                    tbody {
                                        @for task in report.tasks.iter().filter(|task| task.end == end) { (row(task)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

fn row(task: &TaskReport) -> Markup {
    let about = visible(&task.task);
    html! {
        tr {
            td title=(about) {
                @if task.folder.is_empty() { code { (visible(&task.id)) } }
                @else { a href=(format!("{}/report.html", task.folder)) { code { (visible(&task.id)) } } }
                @if task.attempts > 1 { " ×" (task.attempts) }
                @if let Some(delivery) = &task.delivery {
                    " → "
                    @match &delivery.pull_request {
                        Some(pull) if is_link(&pull.url) => { a href=(pull.url) { "#" (pull.number) } }
                        _ => { code { (visible(&delivery.branch)) } }
                    }
                }
            }
            td { (visible(&outcome(task))) }
            td { @if task.changed_files > 0 { (task.changed_files) " (" (task.lines) ")" } }
            td { (duration(task.duration_ms)) }
            td { @if let Some(usd) = task.cost_usd { (cost(usd)) } }
        }
        @for excerpt in &task.excerpts {
            tr { td colspan="5" {
                details { summary { "Output of " code { (visible(&excerpt.gate)) } } pre { (visible(&excerpt.output)) } }
            } }
        }
    }
}

/// Returns why a task did not succeed, or else the first line of the agent's message.
fn outcome(task: &TaskReport) -> String {
    let why = why(task);
    if why.is_empty() { task.message.lines().next().unwrap_or_default().to_owned() } else { why }
}

const ENDS: [(TaskEnd, &str); 6] = [
    (TaskEnd::Failed, "Failed"),
    (TaskEnd::Lost, "Lost"),
    (TaskEnd::Partial, "Partial"),
    (TaskEnd::NotRun, "Not run"),
    (TaskEnd::Success, "Done"),
    (TaskEnd::Settled, "Settled"),
];
