//! Sections that the Markdown renderings are composed of, and the short forms that they shrink to.

use std::fmt::Write;

use sanitize::untrusted::{code, fence, markdown, markdown_behind, markdown_item};
use workspace::{Difference, Operation};

use super::figures::{cost, cut, duration, plural, tokens};
use super::listed::{MAX_LISTED, more};
use super::size_budget::Section;
use super::{CallSummary, FileSummary, PlanReport, RunReport};
use crate::event::{
    HookDecision, NoticeLevel, Outcome, ReviewRecord, RunMode, Severity, Status, StopReason, SubagentRecord,
};

/// Returns a one-line summary of the run: a sign, what changed, and why it is not simply done.
pub fn headline(report: &RunReport) -> String {
    let clause = report.stop_reason.clause();
    let files = plural(report.files.len(), "file", "files");
    let lines = report.lines();
    let of_pull_request = report.review.as_ref().and_then(|review| Some((review, review.standing.as_ref()?)));
    let what = match (of_pull_request, report.mode, report.has_changes()) {
        (Some((review, standing)), ..) => review_counts(review, standing.len()),
        (_, RunMode::DryRun, true) => format!("plan: {files}, {lines}"),
        (_, RunMode::DryRun, false) => "plan: no changes".to_owned(),
        // On GitHub, they changed nothing.
        (_, _, true) if is_lost(report) => format!("{files}, {lines}"),
        (_, _, true) => format!("changed {files}, {lines}"),
        (_, _, false) => "no changes".to_owned(),
    };
    let why = if report.stop_reason == StopReason::LlmDone {
        String::new()
    } else {
        format!(" — {}", clause.sentence)
    };
    format!("{} {what}{why}", clause.sign)
}

/// Returns how many findings of each severity a review of a pull request has, and how many stand from before.
fn review_counts(review: &ReviewRecord, standing: usize) -> String {
    let count = |of: Severity, one: &str, many: &str| {
        let count = review.findings.iter().filter(|found| found.severity == of).count();
        (count > 0).then(|| plural(count, one, many))
    };
    let new = [
        count(Severity::Error, "error", "errors"),
        count(Severity::Warning, "warning", "warnings"),
        count(Severity::Note, "note", "notes"),
    ];
    let mut told: Vec<String> = new.into_iter().flatten().collect();
    match (told.is_empty(), standing) {
        (true, 0) => told.push("no findings".to_owned()),
        (true, _) => told.push("nothing new".to_owned()),
        _ => {}
    }
    if standing > 0 {
        told.push(format!("{standing} open from before"));
    }
    format!("review: {}", told.join(", "))
}

/// Returns whether the result did not get to GitHub.
fn is_lost(report: &RunReport) -> bool {
    report.delivery.is_none()
        && matches!(report.stop_reason, StopReason::NotPublished | StopReason::NotPermitted)
}

/// Renders what to do next, where there is something to do.
pub(super) fn next_step(report: &RunReport) -> Section {
    if report.next_step.is_empty() {
        return Section::fixed(String::new());
    }
    Section::fixed(format!("**Next:** {}\n\n", markdown_behind(&report.next_step)))
}

pub(super) fn facts(report: &RunReport) -> String {
    let commit = |commit: &str| code(&commit.chars().take(10).collect::<String>());
    format!("{}\n\n", fact_list(report, commit).join(" · "))
}

/// Returns mode, agent, model, figures and base; `commit` renders the latter.
pub(super) fn fact_list(report: &RunReport, commit: impl Fn(&str) -> String) -> Vec<String> {
    let cached = match report.usage.cached {
        0 => String::new(),
        cached => format!(", {} cached", tokens(cached)),
    };
    let mut facts = vec![
        format!("**{}**", report.mode),
        format!("agent {}", code(&report.agent)),
        code(&report.model),
        plural(report.steps.len(), "step", "steps"),
        duration(report.duration_ms),
        format!("{} tokens in{cached}, {} out", tokens(report.usage.input), tokens(report.usage.output)),
    ];
    facts.extend(report.cost_usd.map(cost));
    if let Some(base) = &report.base {
        let dirty = if base.dirty { " + local changes" } else { "" };
        facts.push(format!("on {}{dirty}", commit(&base.commit)));
    }
    facts
}

/// Returns the letter by which Git abbreviates the operation.
pub(super) fn letter(op: Operation) -> &'static str {
    match op {
        Operation::Add => "A",
        Operation::Modify => "M",
        Operation::Delete => "D",
    }
}

/// Renders what a plan would do, in order, folded: calls, of which several may concern one file.
pub(super) fn actions(report: &RunReport) -> Section {
    let Some(plan) = report.plan.as_ref().filter(|plan| !plan.actions.is_empty()) else {
        return Section::fixed(String::new());
    };
    let mut lines: String = plan
        .actions
        .iter()
        .take(MAX_LISTED)
        .map(|action| format!("1. {}\n", code(&action.description)))
        .collect();
    lines.extend(more(plan.actions.len(), "actions").map(|more| format!("\n{more}\n")));
    let title = format!("Plan, step by step: {}", totals(report, plan));
    let full = format!("<details><summary>{title}</summary>\n\n{lines}\n</details>\n\n");
    Section::new(1, full, format!("{title} (in `plan.json`)\n\n"))
}

/// Renders the plan or the changes: the actions in order, then each file's diff, folded.
pub(super) fn changes(report: &RunReport) -> Vec<Section> {
    let mut sections = Vec::new();
    if let Some(plan) = &report.plan {
        if plan.actions.is_empty() {
            sections.push(Section::fixed("No write actions were planned.\n\n".to_owned()));
        } else {
            let title = format!("#### Plan: {}\n\n", totals(report, plan));
            let mut lines: String = plan
                .actions
                .iter()
                .take(MAX_LISTED)
                .enumerate()
                .map(|(index, action)| format!("{}. {}\n", index + 1, code(&action.description)))
                .collect();
            lines.extend(more(plan.actions.len(), "actions").map(|more| format!("\n{more}\n")));
            sections.push(Section::fixed(title));
            sections.push(Section::new(
                5,
                format!("{lines}\n"),
                "The list of actions is in `plan.json`.\n\n",
            ));
        }
    }
    if report.files.is_empty() {
        return sections;
    }
    if report.plan.is_none() {
        sections.push(Section::fixed(format!(
            "#### Changes: {}\n\n",
            plural(report.files.len(), "file", "files")
        )));
    }
    sections.extend(report.files.iter().take(MAX_LISTED).map(file));
    sections.extend(more(report.files.len(), "files").map(|more| Section::fixed(format!("{more}\n\n"))));
    sections
}

/// Returns the totals of a plan, such as `4 actions — 2 files (+5 −2), 1 command`.
fn totals(report: &RunReport, plan: &PlanReport) -> String {
    let mut parts = Vec::new();
    if !report.files.is_empty() {
        parts.push(format!("{} ({})", plural(report.files.len(), "file", "files"), report.lines()));
    }
    let commands = plan.actions.iter().filter(|action| action.effects.command.is_some()).count();
    if commands > 0 {
        parts.push(plural(commands, "command", "commands"));
    }
    let remote = plan.actions.iter().filter(|action| action.effects.remote.is_some()).count();
    if remote > 0 {
        parts.push(format!("{} that applying does not repeat", plural(remote, "MCP call", "MCP calls")));
    }
    let actions = plural(plan.actions.len(), "action", "actions");
    if parts.is_empty() { actions } else { format!("{actions} — {}", parts.join(", ")) }
}

fn file(file: &FileSummary) -> Section {
    let name = html_code(file.path.as_str());
    let summary = format!("{} {name} {}", letter(file.op), file.lines);
    let diff = if file.diff.is_empty() { "(no lines)\n".to_owned() } else { fence(&file.diff, "diff") };
    let full = format!("<details><summary>{summary}</summary>\n\n{diff}\n</details>\n\n");
    let short = format!(
        "- {} {} {} (diff in `report.html`)\n",
        letter(file.op),
        code(file.path.as_str()),
        file.lines
    );
    Section::new(2, full, short)
}

/// Formats a name as code inside of HTML, where Markdown's code spans do not work.
pub(super) fn html_code(text: &str) -> String {
    let text = sanitize::untrusted::visible(text).replace('\n', " ");
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            c => c.to_string(),
        })
        .collect();
    format!("<code>{escaped}</code>")
}

pub(super) fn hooks(report: &RunReport) -> Section {
    if report.hooks.is_empty() {
        return Section::fixed(String::new());
    }
    let mut table =
        "| | Hook | Event | Tool | Exit | Time | Output |\n|---|---|---|---|--:|--:|---|\n".to_owned();
    for hook in &report.hooks {
        let icon = match hook.decision {
            HookDecision::Allow => "✅",
            HookDecision::Modify => "✏️",
            HookDecision::Block => "⛔",
            HookDecision::Failed => "⚠️",
        };
        let output = hook.output.lines().next_back().unwrap_or_default();
        let cut = output.floor_char_boundary(120);
        let _ = writeln!(
            table,
            "| {icon} | {} | {} | {} | {} | {} | {} |",
            code(&hook.name),
            code(&hook.event),
            code(&hook.tool),
            hook.exit_code,
            duration(hook.duration_ms),
            if cut == 0 { String::new() } else { code(&output[..cut]) }
        );
    }
    let notable = report.hooks.iter().filter(|hook| hook.decision != HookDecision::Allow).count();
    let notable = if notable == 0 { "all allowed".to_owned() } else { format!("{notable} of note") };
    let title = format!("Hooks: {}, {notable}", plural(report.hooks.len(), "run", "runs"));
    let full = format!("<details><summary>{title}</summary>\n\n{table}\n</details>\n\n");
    Section::new(3, full, format!("{title} (listed in `report.md`)\n\n"))
}

/// Renders each sub-agent with its task, its calls and its final message.
pub(super) fn subagents(report: &RunReport) -> Vec<Section> {
    report.subagents.iter().map(|agent| subagent(report, agent)).collect()
}

fn subagent(report: &RunReport, agent: &SubagentRecord) -> Section {
    let steps = report.steps.iter().filter(|step| step.agent == agent.name).count();
    let calls: Vec<&CallSummary> = report.calls.iter().filter(|call| call.agent == agent.name).collect();
    let icon = if agent.status == Status::Success { "🔎" } else { "🟡" };
    let title = format!(
        "{icon} Sub-agent {}: {}, {}, {}",
        html_code(&agent.name),
        plural(steps, "step", "steps"),
        plural(calls.len(), "call", "calls"),
        duration(agent.duration_ms)
    );
    let tree: String = calls
        .iter()
        .map(|call| {
            let target =
                call.target.as_deref().map_or(String::new(), |target| format!(" {}", code(&cut(target))));
            let failed = if call.success { "" } else { " ✗" };
            format!("  - {}{target}{failed}\n", code(&call.tool))
        })
        .collect();
    let task = agent.task.lines().next().unwrap_or_default();
    let full = format!(
        "<details><summary>{title}</summary>\n\n- {}\n{tree}\n{}\n\n</details>\n\n",
        code(&cut(task)),
        markdown(&agent.message)
    );
    Section::new(3, full, format!("{title} (in `report.md`)\n\n"))
}

/// Returns whether a command has failed, or a part of a pipe in it.
fn has_failed(call: &CallSummary) -> bool {
    !call.success || call.exit_code.is_some_and(|code| code != 0)
}

/// Renders the commands that ran, with their class and exit code.
pub(super) fn commands(report: &RunReport) -> Section {
    let ran: Vec<&CallSummary> = report
        .calls
        .iter()
        .filter(|call| call.class.is_some() && call.outcome == Outcome::Executed)
        .collect();
    if ran.is_empty() {
        return Section::fixed(String::new());
    }
    let mut table = "| | Command | Class | Exit | Time |\n|---|---|---|--:|--:|\n".to_owned();
    for call in &ran {
        let icon = if has_failed(call) { "⚠️" } else { "✅" };
        let line = cut(call.target.as_deref().unwrap_or_default());
        let _ = writeln!(
            table,
            "| {icon} | {} | {} | {} | {} |",
            code(&line),
            call.class.map_or(String::new(), |class| class.to_string()),
            call.exit_code.map_or("–".to_owned(), |code| code.to_string()),
            duration(call.duration_ms)
        );
    }
    let failed = ran.iter().filter(|call| has_failed(call)).count();
    let title = format!("Commands: {} run, {failed} failed", ran.len());
    let full = format!("<details><summary>{title}</summary>\n\n{table}\n</details>\n\n");
    Section::new(4, full, format!("{title} (listed in `report.md`)\n\n"))
}

/// Renders the findings of the code review, which are sorted, the worst first.
pub(super) fn findings(report: &RunReport) -> Section {
    let Some(review) = &report.review else { return Section::fixed(String::new()) };
    let title = format!("#### Review: {}\n\n", plural(review.findings.len(), "finding", "findings"));
    if review.findings.is_empty() {
        // Of a review of a pull request, the heading says so.
        return Section::fixed(if review.standing.is_some() { String::new() } else { title });
    }
    let mut text = title.clone();
    for finding in &review.findings {
        let icon = match finding.severity {
            Severity::Error => "❌",
            Severity::Warning => "⚠️",
            Severity::Note => "💡",
        };
        let place = finding
            .file
            .as_ref()
            .map_or(String::new(), |file| format!("{}: ", code(&format!("{file}:{}", finding.line))));
        let message = markdown_item(&finding.message);
        let _ = writeln!(text, "- {icon} {place}{message}");
    }
    text.push('\n');
    Section::new(7, text, format!("{title}(in `report.md`)\n\n"))
}

pub(super) fn guardrails(report: &RunReport) -> Section {
    if report.guardrails.is_empty() {
        return Section::fixed(String::new());
    }
    let mut text =
        format!("#### Guardrails stopped {}\n\n", plural(report.guardrails.len(), "call", "calls"));
    let title = text.clone();
    for block in &report.guardrails {
        let command =
            block.command.as_ref().map_or(String::new(), |command| format!(" {}", code(&cut(command))));
        let _ =
            writeln!(text, "- step {}, {}{command}: {}", block.step, code(&block.tool), code(&block.reason));
    }
    text.push('\n');
    Section::new(7, text, title)
}

/// Renders errors and warnings, errors first; a changed checkout comes before all.
pub(super) fn notices(report: &RunReport) -> Section {
    let mut text = String::new();
    if let Some(plan) = report.plan.as_ref().filter(|plan| !plan.differences.is_empty()) {
        let _ = writeln!(text, "> [!CAUTION]\n> The checkout changed during this dry run:");
        for difference in plan.differences.iter().take(20) {
            let (verb, path) = match difference {
                Difference::Added(path) => ("added", path),
                Difference::Changed(path) => ("changed", path),
                Difference::Removed(path) => ("removed", path),
            };
            let _ = writeln!(text, "> - {verb} {}", code(path));
        }
        text.push('\n');
    }
    for (level, icon) in [(NoticeLevel::Error, "❌"), (NoticeLevel::Warning, "⚠️")] {
        for notice in report.notices.iter().filter(|notice| notice.level == level) {
            let _ = writeln!(text, "- {icon} {}", markdown_item(&notice.message));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    Section::new(9, text, "More errors and warnings are in `report.md`.\n\n")
}
