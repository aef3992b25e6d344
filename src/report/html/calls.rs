//! The calls of a run: a timeline, and each call with what it changed.

use maud::{Markup, html};
use sanitize::untrusted::visible;

use super::diff::diff_lines;
use super::syntax::Palette;
use super::{filters, section};
use crate::event::Outcome;
use crate::report::figures::{cut, duration};
use crate::report::listed::{is_listed, listed, more};
use crate::report::{CallSummary, RunReport};

/// Maximum number of bars in the timeline; the longest are shown.
const MAX_BARS: usize = 80;

struct Bar<'a> {
    name: String,
    /// The address that a click leads to.
    target: Option<String>,
    class: &'a str,
    start: u64,
    length: u64,
}

/// Renders model and tool calls over time.
pub(super) fn timeline(report: &RunReport) -> Markup {
    let steps = report.steps.iter().map(|step| Bar {
        name: format!("{} · step {}", step.agent, step.step),
        target: None,
        class: "model",
        start: step.at_ms,
        length: step.duration_ms,
    });
    let calls = report.calls.iter().enumerate().map(|(index, call)| Bar {
        name: [Some(&call.tool), call.pattern.as_ref(), call.target.as_ref()]
            .map(|part| part.map_or(String::new(), |part| format!("{} ", cut(part))))
            .concat()
            .trim_end()
            .to_owned(),
        target: is_listed(index, call).then(|| format!("#call-{}", index + 1)),
        class: if call.success { "tool" } else { "tool failed" },
        start: call.at_ms,
        length: call.duration_ms,
    });
    let mut bars: Vec<Bar<'_>> = steps.chain(calls).collect();
    if bars.is_empty() {
        return Markup::default();
    }
    let all = bars.len();
    bars.sort_by_key(|bar| std::cmp::Reverse(bar.length));
    bars.truncate(MAX_BARS);
    bars.sort_by_key(|bar| bar.start);
    // What comes before the first call is the same for every run.
    let begin = bars.first().map_or(0, |bar| bar.start);
    for bar in &mut bars {
        bar.start -= begin;
    }
    let end = bars.iter().map(|bar| bar.start + bar.length).max().unwrap_or(1).max(1);
    let rows = html! {
        div class="timeline" {
            div class="name muted" { "time" }
            div class="axis" { @for quarter in 0..=4 { span { (duration(end * quarter / 4)) } } }
            @for bar in &bars { (row(bar, end)) }
        }
        @if all > bars.len() { p class="muted" { "The " (bars.len()) " longest of " (all) "." } }
    };
    section("Timeline", &rows)
}

fn row(bar: &Bar<'_>, end: u64) -> Markup {
    let name = visible(&bar.name);
    let style = format!("left:{};width:{}", percent(bar.start, end), percent(bar.length, end));
    let title = format!("{name}, {}", duration(bar.length));
    let target = bar.target.as_deref();
    html! {
        div class="name" {
            @if let Some(target) = target { a href=(target) title=(title) { (name) } } @else { span title=(title) { (name) } }
        }
        div class="track" { span class=(bar.class) style=(style) title=(title) {} }
    }
}

/// Formats a share in percent with two decimals, by integers, so that nothing depends on the rounding of
/// floats.
fn percent(part: u64, whole: u64) -> String {
    let hundredths = u128::from(part.min(whole)) * 10_000 / u128::from(whole);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// Renders each call, with its diff or its error folded.
pub(super) fn calls(report: &RunReport, palette: &Palette) -> Markup {
    if report.calls.is_empty() {
        return Markup::default();
    }
    let states: Vec<&str> = listed(&report.calls).map(|(_, call)| state(call).1).collect();
    let list = html! {
        (filters("Show tool calls", &states))
        @for (index, call) in listed(&report.calls) {
            div class="call item" id={ "call-" (index + 1) } data-state=(state(call).1) { (one(call, palette)) }
        }
        @if let Some(more) = more(report.calls.len(), "calls") { p class="muted" { (more) } }
    };
    section("Tool calls", &list)
}

/// Returns how a call ended: a class of the page, and a word.
fn state(call: &CallSummary) -> (&'static str, &'static str) {
    match (call.outcome, call.success) {
        (Outcome::Refused, _) => ("bad", "refused"),
        (_, false) => ("bad", "failed"),
        (Outcome::Planned, true) => ("ok", "planned"),
        (Outcome::Executed, true) => ("ok", "done"),
    }
}

fn one(call: &CallSummary, palette: &Palette) -> Markup {
    let (class, word) = state(call);
    let head = html! {
        span class="muted" { (visible(&call.agent)) " " (call.step) }
        code { (visible(&call.tool)) }
        @if let Some(pattern) = &call.pattern { code { "“" (visible(&cut(pattern))) "”" } }
        @if let Some(target) = &call.target { code { (visible(&cut(target))) } }
        span class=(class) { (word) }
        @if let Some(code) = call.exit_code.filter(|code| *code != 0) { span class="warn" { "exit " (code) } }
        span class="time" { (duration(call.duration_ms)) }
    };
    let long = call.target.as_deref().filter(|target| cut(target) != **target);
    if call.diff.is_empty() && call.error.is_none() && long.is_none() {
        return html! { div class="head" { (head) } };
    }
    html! {
        details {
            summary { (head) }
            @if let Some(target) = long { pre { (visible(target)) } }
            @if let Some(error) = &call.error { pre class="bad" { (visible(error)) } }
            @if !call.diff.is_empty() { (diff_lines(&call.diff, call.target.as_deref(), palette)) }
        }
    }
}
