//! The sum of a batch as one page, with links to the pages of its tasks beside it.

use maud::{DOCTYPE, PreEscaped, html};

use super::{BatchReport, TaskEnd, batch_headline, task_line};
use crate::report::html::STYLE;
use crate::report::sections::{cost, duration, tokens};
use crate::report::untrusted::visible;

/// Renders the page.
pub fn batch_html(report: &BatchReport) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (batch_headline(report)) " · architect-ci" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (batch_headline(report)) }
                    p {
                        (duration(report.duration_ms)) " · " (report.lines().to_string()) " lines · "
                        (tokens(report.usage.input)) " tokens in, " (tokens(report.usage.output)) " out"
                        @if let Some(usd) = report.cost_usd { " · " (cost(usd)) }
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
                                ul {
                                    @for task in report.tasks.iter().filter(|task| task.end == end) {
                                        li {
                                            @if task.folder.is_empty() { (visible(&task_line(task))) }
                                            @else { a href=(format!("{}/report.html", task.folder)) { (visible(&task_line(task))) } }
                                            " — " (visible(&task.task))
                                        }
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

const ENDS: [(TaskEnd, &str); 5] = [
    (TaskEnd::Failed, "Failed"),
    (TaskEnd::Lost, "Lost"),
    (TaskEnd::Partial, "Partial"),
    (TaskEnd::NotRun, "Not run"),
    (TaskEnd::Success, "Done"),
];
