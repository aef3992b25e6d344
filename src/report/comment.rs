//! The sticky comment, and the other texts that are published at the end of a run: the description of the
//! pull request and the summary of the check run.
//!
//! A comment begins with what reviewers ask first: how it ended, and which gates passed. What they hardly ever ask
//! (model, tokens, calls) is folded or stands in small print at the end.

use std::fmt::Write;

use sanitize::untrusted::{code, fence, markdown_line};

use super::footer::{self, is_link};
use super::size_budget::{Section, fit};
use super::{
    DeliveryReport, RunReport, evidence, file_list, gates, markdown, network, proof, prose, sections,
    test_findings,
};
use crate::event::{GateRecord, GateVerdict, RunMode};

/// GitHub's limit for a comment, in characters.
pub const COMMENT_LIMIT: usize = 65_536;

/// Room for the hidden lines that are added when a comment is posted, in characters.
pub(super) const RUN_MARK: usize = 232;

/// Maximum size of a check run's summary, in bytes; GitHub accepts 65,535.
const CHECK_LIMIT: usize = 65_000;

/// Number of characters of a digest or commit that people see.
const SHORT_DIGEST: usize = 16;
const SHORT_COMMIT: usize = 10;

/// What a comment says besides the report.
#[derive(Clone, Debug, Default)]
pub struct CommentFrame {
    /// The lines with which it begins and by which it is found again.
    pub hidden: String,
    /// The key of the comment, where it is not the only one.
    pub name: Option<String>,
    /// Whether a comment may order the plan to be applied.
    pub can_order: bool,
    /// A line that says who ordered this, already neutralized.
    pub order: String,
    /// The task in a few words, where the run's own text of it is not for people.
    pub task: Option<String>,
    /// The URL of the repository's page.
    pub repository_url: Option<String>,
    /// The commit whose files are linked.
    pub commit: Option<String>,
}

impl CommentFrame {
    /// Returns the address of something in the repository.
    fn link(&self, rest: &str) -> Option<String> {
        let url = format!("{}/{rest}", self.repository_url.as_deref()?);
        is_link(&url).then_some(url)
    }

    /// Returns a commit as people read it, as a link where there is something to link to.
    fn commit(&self, id: &str) -> String {
        let shown = code(&id.chars().take(SHORT_COMMIT).collect::<String>());
        match self.link(&format!("commit/{id}")) {
            Some(url) => format!("[{shown}]({url})"),
            None => shown,
        }
    }
}

/// What stands before the reason why the plan of a comment is not to be applied.
const NOT_APPLICABLE: &str = "**This plan cannot be applied**: ";

/// The hidden end of the line with that reason, which no text of others can have.
const OURS: &str = " <!-- architect-ci: no apply -->";

/// Returns why the plan of a comment is not to be applied, if the comment says so.
pub fn reason_not_to_apply(comment: &str) -> Option<&str> {
    comment.lines().find_map(|line| line.strip_prefix(NOT_APPLICABLE)?.strip_suffix(OURS))
}

/// Renders the comment within [`COMMENT_LIMIT`].
pub fn comment(report: &RunReport, frame: &CommentFrame) -> String {
    let name = frame.name.as_deref().map_or(String::new(), |name| format!(" · {name}"));
    let opening = format!("{}### {}{name}\n\n", frame.hidden, sections::headline(report));
    let mut all = vec![Section::fixed(opening), Section::fixed(shown_line(report))];
    all.push(Section::fixed(frame.order.clone()));
    all.push(sections::next_step(report));
    all.push(prose::task(report, frame.task.as_deref()));
    all.push(sections::notices(report));
    all.push(Section::fixed(delivery(report, frame)));
    let failed = report.gates.iter().any(GateRecord::needs_attention);
    if failed {
        all.extend(gates::sections(report));
    }
    all.push(test_findings::section(report));
    all.push(prose::message(report));
    all.push(evidence::section(report));
    all.push(proof::section(report));
    all.push(sections::findings(report));
    all.push(sections::guardrails(report));
    let files =
        report.delivery.as_ref().and_then(|delivery| delivery.commit.as_ref()).or(frame.commit.as_ref());
    let files = files.and_then(|commit| frame.link(&format!("blob/{commit}")));
    all.extend(file_list::files(report, files.as_deref()));
    all.push(Section::fixed(how_to_apply(report, frame.can_order)));
    if !failed && !report.gates.is_empty() {
        all.push(folded("Quality gates", gates::sections(report)));
    }
    all.push(sections::actions(report));
    all.push(sections::commands(report));
    all.push(network::network(report));
    all.extend(sections::subagents(report));
    all.push(sections::hooks(report));
    all.push(Section::fixed(small_print(report, frame)));
    fit(all, COMMENT_LIMIT - RUN_MARK)
}

/// Returns one line that says which gates passed and which did not, and what the tests of the change show.
fn shown_line(report: &RunReport) -> String {
    let gates = &report.gates;
    let each = |gate: &GateRecord| {
        let icon = gates::icon(gate);
        let told = if gate.verdict == GateVerdict::Passed {
            String::new()
        } else {
            format!(" {}", gates::told(gate))
        };
        format!("{icon} {}{told}", code(&gate.name))
    };
    let mut line: Vec<String> = gates.iter().filter(|gate| !gate.passed).map(each).collect();
    line.extend(gates.iter().filter(|gate| gate.passed).map(each));
    line.extend(proof::told(report));
    if line.is_empty() { String::new() } else { format!("{}\n\n", line.join(" · ")) }
}

fn folded(title: &str, inside: Vec<Section>) -> Section {
    let text = fit(inside, usize::MAX);
    let full = format!("<details><summary>{title}</summary>\n\n{text}</details>\n\n");
    Section::new(4, full, String::new())
}

/// Returns why a plan is not to be applied.
fn why_not(report: &RunReport) -> Option<String> {
    let plan = report.plan.as_ref().filter(|_| report.has_changes())?;
    Some(match (&plan.incomplete, &plan.refused) {
        (Some(reason), _) => format!("it is incomplete: {}", markdown_line(reason)),
        (None, Some(reason)) => markdown_line(reason),
        (None, None) if !plan.differences.is_empty() => "the checkout changed during the run".to_owned(),
        (None, None) => format!("the run did not succeed: {}", report.stop_reason.clause().sentence),
    })
}

/// Renders how to apply the plan: an order to copy, and the command for a checkout elsewhere.
fn how_to_apply(report: &RunReport, by_comment: bool) -> String {
    let Some(plan) = report.applicable_plan().filter(|_| report.has_changes()) else {
        return why_not(report).map(|why| format!("{NOT_APPLICABLE}{why}{OURS}\n\n")).unwrap_or_default();
    };
    let local = fence(&format!("architect-ci apply plan.json --digest {}", plan.digest), "sh");
    if !by_comment {
        return format!(
            "To apply exactly this plan, run this on its files (or use `git apply plan.patch`):\n\n{local}\n"
        );
    }
    let short: String = plan.digest.chars().take(SHORT_DIGEST).collect();
    let order = fence(&format!("/architect apply {short}"), "");
    format!(
        "**To apply exactly this plan**, comment (where a workflow listens to comments):\n\n{order}\n\
         <details><summary>Apply it elsewhere</summary>\n\n{local}\n</details>\n\n"
    )
}

fn delivery(report: &RunReport, frame: &CommentFrame) -> String {
    let Some(DeliveryReport { branch, commit, pull_request, merged, .. }) = &report.delivery else {
        return String::new();
    };
    let mut text = match commit {
        Some(commit) => format!("**Delivered** as {} on {}", frame.commit(commit), code(branch)),
        None => format!("**Delivered** earlier: {} already has all changes", code(branch)),
    };
    if let Some(pull) = pull_request {
        // Writing to a String cannot fail.
        let _ = write!(text, ", pull request #{}", pull.number);
    }
    if !merged.is_empty() {
        let files: Vec<String> = merged.iter().map(|path| code(path)).collect();
        text += &format!("; merged with changes of others in {}", files.join(", "));
    }
    format!("{text}\n\n")
}

/// Renders what hardly anybody asks for.
fn small_print(report: &RunReport, frame: &CommentFrame) -> String {
    let mut parts = sections::fact_list(report, |commit| frame.commit(commit));
    // A plan is applied without a model.
    if report.mode == RunMode::Apply && report.steps.is_empty() {
        parts = vec![parts.swap_remove(0), super::duration(report.duration_ms)];
    }
    if let Some(plan) = report.plan.as_ref().filter(|plan| !plan.actions.is_empty()) {
        let short: String = plan.digest.chars().take(SHORT_DIGEST).collect();
        parts.push(format!("digest {}", code(&short)));
        if plan.differences.is_empty() {
            parts.push("the checkout was not changed".to_owned());
        }
    }
    parts.extend(report.run_url.as_deref().and_then(footer::run_link));
    // Readers of the comment may not know this program.
    format!("<sub>{} · {}</sub>\n", env!("CARGO_PKG_NAME"), parts.join(" · "))
}

/// Renders the description of a pull request that the run opens: what was done, but no diffs, which the
/// pull request shows itself. `closes` is the number of an issue that merging it closes; `task` says in a few words
/// what was to be done, where the run's own text of it is not for people.
pub fn description(report: &RunReport, closes: Option<u64>, task: Option<&str>) -> String {
    let mut all = vec![prose::task(report, task), prose::message(report)];
    all.extend(gates::sections(report));
    all.push(test_findings::section(report));
    all.push(sections::findings(report));
    all.push(sections::guardrails(report));
    all.push(sections::commands(report));
    all.push(network::network(report));
    all.extend(closes.map(|number| Section::fixed(format!("Closes #{number}\n\n"))));
    all.push(Section::fixed(small_print(report, &CommentFrame::default())));
    fit(all, COMMENT_LIMIT)
}

/// Renders the summary of a check run, with `task` in place of a task that was made from more than a person wrote.
pub fn check_summary(report: &RunReport, task: Option<&str>) -> String {
    let mut all = vec![Section::fixed(sections::facts(report)), prose::task(report, task)];
    all.extend(markdown::body(report));
    all.push(footer::footer(report));
    // GitHub limits this text in bytes.
    let mut limit = CHECK_LIMIT;
    loop {
        let text = fit(all.clone(), limit);
        if text.len() <= CHECK_LIMIT {
            return text;
        }
        limit -= (text.len() - CHECK_LIMIT).min(limit / 2);
    }
}

#[cfg(test)]
mod tests {
    use sanitize::untrusted::markdown;

    use super::*;

    #[test]
    fn the_reason_not_to_apply_is_nobody_elses() {
        let own = format!("All is well.\n\n{NOT_APPLICABLE}it is incomplete{OURS}\n");
        assert_eq!(reason_not_to_apply(&own), Some("it is incomplete"));
        for message in [format!("{NOT_APPLICABLE}renew the token"), own] {
            let shown = markdown(&message);
            assert_eq!(reason_not_to_apply(&shown), None, "{shown}");
        }
    }
}
