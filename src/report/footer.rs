//! The end of the Markdown renderings: how to apply the plan, where the changes went, and a link to the
//! run.

use sanitize::untrusted::{code, fence};

use super::RunReport;
use super::figures::plural;
use super::size_budget::Section;

/// Renders instructions for applying the plan, with a command to copy; empty if there is nothing to apply.
fn how_to_apply(report: &RunReport) -> String {
    let Some(plan) = report.applicable_plan().filter(|_| report.has_changes()) else { return String::new() };
    let line = format!("architect-ci apply plan.json --digest {}", plan.digest);
    let how = "This applies exactly this plan, without a model (or use `git apply plan.patch`):";
    format!("<details><summary>Apply this plan</summary>\n\n{how}\n\n{}\n</details>\n\n", fence(&line, "sh"))
}

pub(super) fn footer(report: &RunReport) -> Section {
    let mut parts = Vec::new();
    if let Some(plan) = report.plan.as_ref().filter(|plan| !plan.actions.is_empty()) {
        parts.push(format!("digest {}", code(&plan.digest)));
        if plan.differences.is_empty() {
            let files = plural(plan.verified_files, "file", "files");
            parts.push(format!("checkout verified unchanged ({files})"));
        }
    }
    parts.extend(report.run_url.as_deref().and_then(run_link));
    if parts.is_empty() {
        return Section::fixed(String::new());
    }
    Section::fixed(format!("{}<sub>{}</sub>\n", how_to_apply(report), parts.join(" · ")))
}

/// Returns a Markdown link to a run's page, or `None` if `url` is not plainly a URL.
pub(super) fn run_link(url: &str) -> Option<String> {
    is_link(url).then(|| format!("[run]({url})"))
}

/// Returns whether `url` is an `http` or `https` URL of harmless characters only, so that it may stand in a
/// link unescaped.
pub(super) fn is_link(url: &str) -> bool {
    let web = url.starts_with("https://") || url.starts_with("http://");
    web && url.chars().all(|c| c.is_ascii_alphanumeric() || ":/.-_~%?=&#".contains(c))
}

/// Renders where the changes went: commit, branch, pull request, and merged files.
pub(super) fn delivery(report: &RunReport) -> Section {
    let Some(delivery) = &report.delivery else { return Section::fixed(String::new()) };
    let mut text = match &delivery.commit {
        Some(commit) => {
            let commit = code(&commit.chars().take(10).collect::<String>());
            format!("**Delivered** as {commit} on {}", code(&delivery.branch))
        }
        None => format!("**Delivered** earlier: {} already has all changes", code(&delivery.branch)),
    };
    if let Some(pull) = &delivery.pull_request {
        text += &format!(", pull request #{}", pull.number);
    }
    if !delivery.merged.is_empty() {
        let files: Vec<String> = delivery.merged.iter().map(|path| code(path)).collect();
        text += &format!("; merged with changes of others in {}", files.join(", "));
    }
    Section::fixed(format!("{text}\n\n"))
}
