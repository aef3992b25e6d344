//! `report.html`: one self-contained page, which needs no network, and no scripts for reading.

mod calls;
mod diff;
mod evidence;
mod overview;
mod prose;
mod syntax;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use sanitize::untrusted::visible;
use sha2::{Digest, Sha256};

use diff::files;
use overview::{how_to_apply, is_failing, navigation};
use prose::prose;
use syntax::Palette;

use super::RunReport;
use super::figures::{bytes, cost, duration, plural, tokens};
use super::footer::is_link;
use super::listed::{MAX_LISTED, more};
use super::network::{hosts, icon, proposed, title};
use super::sections::headline;
use super::usage::by_agent;
use crate::event::{HookDecision, NoticeLevel};

const STYLE: &str = include_str!("report.css");

/// Search and folding; all that the script does is to hide and show.
const SCRIPT: &str = include_str!("report.js");

/// Renders the head of a page that loads nothing, and runs only those scripts that `scripts` allows.
pub(super) fn head(title: &str, scripts: &str) -> Markup {
    let policy = format!("default-src 'none'; style-src 'unsafe-inline'; {scripts}");
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(policy);
            title { (title) " · architect-ci" }
            style { (PreEscaped(STYLE)) }
        }
    }
}

/// Number of planned actions that are open; more would stand between the reader and the files.
const OPEN_ACTIONS: usize = 12;

/// Renders the page.
pub fn html(report: &RunReport) -> String {
    // Whatever slipped through neutralization could neither run nor call home: only this very script runs.
    let own = STANDARD.encode(Sha256::digest(SCRIPT));
    let palette = Palette::default();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&headline(report), &format!("script-src 'sha256-{own}'")))
            body {
                header {
                    h1 { (headline(report)) }
                    (facts(report))
                    @if !report.next_step.is_empty() { p { strong { "Next: " } (visible(&report.next_step)) } }
                }
                div class="bar" role="search" {
                    input id="search" type="search" placeholder="Search calls, diffs, gates, hooks ( / )" aria-label="Search";
                    span id="count" {}
                    button id="unfold" type="button" { "Unfold all" }
                }
                (navigation(report))
                main {
                    @if is_failing(report) { (judgements(report)) }
                    (section("Task", &html! { pre class="task" { (visible(&report.task)) } }))
                    (notices(report))
                    (delivery(report))
                    @if !report.message.trim().is_empty() {
                        (section("Result", &html! { div class="prose" { (prose(&report.message)) } }))
                    }
                    (evidence::evidence(report))
                    (evidence::tests(report))
                    (plan(report))
                    (files(report, &palette))
                    (how_to_apply(report))
                    @if !is_failing(report) { (judgements(report)) }
                    (guardrails(report))
                    (hooks(report))
                    (network(report))
                    (subagents(report))
                    (usage(report))
                    (calls::timeline(report))
                    (calls::calls(report, &palette))
                }
                footer {
                    @if let Some(plan) = &report.plan { "digest " code { (visible(&plan.digest)) } " " }
                    @if let Some(url) = report.run_url.as_deref().filter(|url| is_link(url)) { a href=(url) { "run" } }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Renders where the changes went.
fn delivery(report: &RunReport) -> Markup {
    let Some(delivery) = &report.delivery else { return Markup::default() };
    html! {
        p class="ok" {
            "Delivered to " code { (visible(&delivery.branch)) }
            @if let Some(commit) = &delivery.commit { " as " code { (visible(&commit.chars().take(10).collect::<String>())) } }
            @if let Some(pull) = &delivery.pull_request {
                ", "
                @if is_link(&pull.url) { a href=(pull.url) { "pull request " (pull.number) } } @else { "pull request " (pull.number) }
            }
        }
    }
}

fn subagents(report: &RunReport) -> Markup {
    if report.subagents.is_empty() {
        return Markup::default();
    }
    let list = html! {
        @for agent in &report.subagents {
            details class="item" {
                summary { code { (visible(&agent.name)) } " " (agent.status) " " span class="lines" { (duration(agent.duration_ms)) } }
                pre class="task" { (visible(&agent.task)) }
                div class="prose" { (prose(&agent.message)) }
            }
        }
    };
    section("Sub-agents", &list)
}

/// Renders what may be wider than the page, and scrolls then: also by the keyboard.
fn wide(title: &str, content: &Markup) -> Markup {
    html! { div class="wide" tabindex="0" role="group" aria-label=(title) { (content) } }
}

fn section(title: &str, content: &Markup) -> Markup {
    html! { section id=(id(title)) { h2 { (title) } (content) } }
}

/// Renders buttons that show only what is in some states, of which each part of a section has one.
fn filters(label: &str, states: &[&'static str]) -> Markup {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for state in states {
        match counts.iter_mut().find(|(known, _)| known == state) {
            Some((_, count)) => *count += 1,
            None => counts.push((state, 1)),
        }
    }
    if counts.len() < 2 {
        return Markup::default();
    }
    html! {
        div class="filters" role="group" aria-label=(label) {
            @for (state, count) in counts {
                button type="button" aria-pressed="false" data-filter=(state) { (state) " " (count) }
            }
        }
    }
}

/// Returns the name by which a section is linked.
fn id(title: &str) -> String {
    let letters = title.chars().filter(|c| c.is_ascii_alphabetic() || *c == ' ');
    letters.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn facts(report: &RunReport) -> Markup {
    html! {
        p class="facts" {
            span { (report.mode) }
            span { "agent " code { (visible(&report.agent)) } }
            span { code { (visible(&report.model)) } }
            span { (plural(report.steps.len(), "step", "steps")) }
            span { (duration(report.duration_ms)) }
            span { (tokens(report.usage.input)) " tokens in, " (tokens(report.usage.output)) " out" }
            @if let Some(usd) = report.cost_usd { span { (cost(usd)) } }
            @if let Some(base) = &report.base { span { "on " code { (visible(&base.commit.chars().take(10).collect::<String>())) } } }
            span { (visible(&when(&report.started_at))) }
        }
    }
}

/// Formats a timestamp (RFC 3339, UTC) as date and time to the second.
fn when(rfc3339: &str) -> String {
    match rfc3339.split_once('.') {
        Some((seconds, _)) => format!("{} UTC", seconds.replace('T', " ")),
        None => rfc3339.to_owned(),
    }
}

fn notices(report: &RunReport) -> Markup {
    let differences = report.plan.iter().flat_map(|plan| &plan.differences);
    html! {
        @for difference in differences {
            p class="notice error" { "The checkout changed during the dry run: " (visible(&difference.to_string())) }
        }
        @for notice in report.notices.iter().filter(|notice| notice.level != NoticeLevel::Info) {
            p class={ "notice " (if notice.level == NoticeLevel::Error { "error" } else { "warning" }) } {
                (visible(&notice.message))
            }
        }
    }
}

fn plan(report: &RunReport) -> Markup {
    let Some(plan) = &report.plan else { return Markup::default() };
    let list = html! {
        @if plan.actions.is_empty() { p { "No write actions were planned." } } @else { details open[plan.actions.len() <= OPEN_ACTIONS] {
            summary { (plural(plan.actions.len(), "action", "actions")) }
            ol { @for action in plan.actions.iter().take(MAX_LISTED) { li class="item" { code { (visible(&action.description)) } } } }
            @if let Some(more) = more(plan.actions.len(), "actions") { p class="muted" { (more) } }
        } }
    };
    section("Plan", &list)
}

/// Renders what gates, the judgement of tests and the code review say about the change.
fn judgements(report: &RunReport) -> Markup {
    html! { (gates(report)) (evidence::test_findings(report)) (review(report)) }
}

fn gates(report: &RunReport) -> Markup {
    if report.gates.is_empty() {
        return Markup::default();
    }
    let rows = html! {
        table {
            tr { th { "Gate" } th { "Result" } th { "Required" } th { "Exit" } th { "Time" } }
            @for gate in &report.gates {
                tr class="item" {
                    td { (visible(&gate.name)) @if gate.predicted { " (predicted)" } }
                    td class=(if gate.passed { "ok" } else { "bad" }) { (visible(&gate.told())) }
                    td { (if gate.required { "yes" } else { "no" }) }
                    td { (gate.exit_code) }
                    td class="nowrap" { (duration(gate.duration_ms)) }
                }
                @if let Some(tests) = &gate.tests {
                    tr class="item" { td colspan="5" {
                        (tests.summary())
                        @for (what, list) in tests.lists() {
                            details open[what == "gone"] { summary { (list.count) " " (what) } pre { (visible(&list.names.join("\n"))) } }
                        }
                    } }
                }
                @if !gate.doubt.is_empty() {
                    tr class="item" { td colspan="5" {
                        "Runs or reads files that Git ignores and that commands of this run had changed before: "
                        (visible(&gate.doubt.join(", ")))
                    } }
                }
                @if !gate.output.is_empty() {
                    tr class="item" { td colspan="5" {
                        details open[!gate.passed] { summary { code { (visible(&gate.command)) } } pre { (visible(&gate.output)) } }
                    } }
                }
            }
        }
    };
    section("Quality gates", &wide("Quality gates", &rows))
}

fn review(report: &RunReport) -> Markup {
    let Some(review) = &report.review else { return Markup::default() };
    let list = html! {
        p { (visible(&review.model)) ": " (plural(review.findings.len(), "finding", "findings")) }
        ul { @for finding in &review.findings {
            li class="item" {
                b { (finding.severity) } " "
                @if let Some(file) = &finding.file { code { (visible(file.as_str())) ":" (finding.line) } " " }
                div class="prose" { (prose(&finding.message)) }
            }
        } }
    };
    section("Review", &list)
}

fn guardrails(report: &RunReport) -> Markup {
    if report.guardrails.is_empty() {
        return Markup::default();
    }
    let list = html! {
        ul { @for block in &report.guardrails {
            li class="item" {
                "step " (block.step) ", " code { (visible(&block.tool)) }
                @if let Some(line) = &block.command { " " code { (visible(line)) } }
                ": " (visible(&block.reason))
            }
        } }
    };
    section("Stopped by guardrails", &list)
}

fn hooks(report: &RunReport) -> Markup {
    if report.hooks.is_empty() {
        return Markup::default();
    }
    let decision = |decision: HookDecision| match decision {
        HookDecision::Allow => "allowed",
        HookDecision::Modify => "changed the call",
        HookDecision::Block => "blocked",
        HookDecision::Failed => "failed",
    };
    let rows = html! {
        table {
            tr { th { "Hook" } th { "Event" } th { "Tool" } th { "Decision" } th { "Exit" } th { "Time" } th { "Output" } }
            @for hook in &report.hooks {
                tr class="item" {
                    td { (visible(&hook.name)) }
                    td { (visible(&hook.event)) }
                    td { code { (visible(&hook.tool)) } }
                    td { (decision(hook.decision)) }
                    td { (hook.exit_code) }
                    td class="nowrap" { (duration(hook.duration_ms)) }
                    td { @if !hook.output.is_empty() { pre { (visible(&hook.output)) } } }
                }
            }
        }
    };
    section("Hooks", &wide("Hooks", &rows))
}

fn network(report: &RunReport) -> Markup {
    let hosts = hosts(report);
    if hosts.is_empty() {
        return Markup::default();
    }
    let rows = html! {
        table {
            tr { th { "Decision" } th { "Host" } th { "Requested by" } th { "Times" } th { "Sent" } th { "Received" } th { "Reason" } }
            @for host in &hosts {
                tr class="item" {
                    td { (icon(host.decision)) }
                    td { code { (visible(&host.name)) } }
                    td { @for by in &host.by { code { (visible(by)) } " " } }
                    td { (host.times) }
                    td { (bytes(host.sent)) }
                    td { (bytes(host.received)) }
                    td { @for reason in host.reasons.values() { div { (visible(reason)) } } }
                }
            }
        }
    };
    let proposal = html! {
        @for (key, entries) in proposed(&report.network) {
            p {
                "To allow these hosts and no others, set " code { (visible(&format!("{key}.allow"))) } " to:"
                @for entry in &entries { " " code { (visible(entry)) } }
            }
        }
    };
    section(&title(report), &html! { (wide(&title(report), &rows)) (proposal) })
}

fn usage(report: &RunReport) -> Markup {
    let agents = by_agent(report);
    if agents.is_empty() {
        return Markup::default();
    }
    let rows = html! {
        table {
            tr { th { "Agent" } th { "Answers" } th { "Input" } th { "Cached" } th { "Output" } th { "Cost" } }
            @for row in &agents {
                tr {
                    td { code { (visible(row.agent)) } }
                    td { (row.answers) }
                    td { (tokens(row.usage.input)) }
                    td { (tokens(row.usage.cached)) }
                    td { (tokens(row.usage.output)) }
                    td { (row.cost.map_or_else(|| "–".to_owned(), cost)) }
                }
            }
        }
    };
    section("Cost", &wide("Cost", &rows))
}
