//! The step summary: the complete report and a timeline, within the runner's size limit.

use std::fmt::Write;

use super::size_budget::{Section, fit};
use super::{RunReport, markdown};

/// Size limit in UTF-16 units. Above 1 MiB the runner drops the whole summary; it counts bytes, we count
/// UTF-16 units, so keep well away from it.
const LIMIT: usize = 300_000;

/// Maximum number of bars in the timeline; the longest are shown.
const MAX_BARS: usize = 50;

/// Renders the step summary.
pub fn summary(report: &RunReport) -> String {
    let mut all = markdown::all(report);
    let at = all.len().saturating_sub(1);
    all.insert(at, timeline(report));
    fit(all, LIMIT)
}

struct Bar {
    label: String,
    start: u64,
    length: u64,
    group: &'static str,
}

/// Renders model and tool calls as a Gantt chart.
fn timeline(report: &RunReport) -> Section {
    let model = report.steps.iter().map(|step| Bar {
        label: format!("step {}", step.step),
        start: step.at_ms,
        length: step.duration_ms,
        group: "model",
    });
    let tools = report.calls.iter().map(|call| Bar {
        label: plain(&call.tool),
        start: call.at_ms,
        length: call.duration_ms,
        group: "tools",
    });
    let mut bars: Vec<Bar> = model.chain(tools).collect();
    if bars.is_empty() {
        return Section::fixed(String::new());
    }
    bars.sort_by_key(|bar| std::cmp::Reverse(bar.length));
    bars.truncate(MAX_BARS);
    bars.sort_by_key(|bar| (bar.group, bar.start));
    // For a short run, minutes say nothing.
    let end = bars.iter().map(|bar| bar.start + bar.length).max().unwrap_or_default();
    let axis = if end < 60_000 { "%S.%L s" } else { "%M:%S" };
    let mut chart = format!("gantt\n    dateFormat x\n    axisFormat {axis}\n");
    let mut group = "";
    for bar in &bars {
        if bar.group != group {
            group = bar.group;
            // Writing to a String cannot fail.
            let _ = writeln!(chart, "    section {group}");
        }
        let _ = writeln!(chart, "    {} :{}, {}", bar.label, bar.start, bar.start + bar.length.max(1));
    }
    let full = format!("<details><summary>Timeline</summary>\n\n```mermaid\n{chart}```\n\n</details>\n\n");
    Section::new(0, full, String::new())
}

/// Reduces a tool's name to characters without a meaning in Mermaid: the model chose it.
fn plain(name: &str) -> String {
    let name: String =
        name.chars().take(40).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}
