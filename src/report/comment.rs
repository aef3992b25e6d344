//! The one comment on the pull request.

use super::RunReport;
use super::fit::{Section, fit};
use super::sections;

/// Most characters that GitHub takes.
pub const COMMENT_LIMIT: usize = 65_536;

/// The first line of the comment, by which it is found again. The key comes from trusted
/// configuration, but must not end the HTML comment that it stands in.
pub fn marker(key: &str) -> String {
    let key: String = key.chars().filter(|c| c.is_ascii_alphanumeric() || "._/ -".contains(*c)).collect();
    format!("<!-- architect-ci comment: {} -->", key.replace("--", "-"))
}

/// Renders the comment within [`COMMENT_LIMIT`].
pub fn comment(report: &RunReport, key: &str) -> String {
    let mut all = vec![Section::fixed(format!(
        "{}\n### {}\n\n{}",
        marker(key),
        sections::headline(report),
        sections::facts(report)
    ))];
    all.push(sections::task(report));
    all.push(sections::notices(report));
    all.push(sections::message(report));
    all.extend(sections::changes(report));
    all.extend(sections::gates(report));
    all.push(sections::guardrails(report));
    all.push(sections::commands(report));
    all.extend(sections::subagents(report));
    all.push(sections::hooks(report));
    all.push(sections::footer(report));
    fit(all, COMMENT_LIMIT)
}
