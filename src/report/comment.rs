//! The sticky comment, and the other texts that are published at the end of a run: the description of the
//! pull request and the summary of the check run.

use super::RunReport;
use super::fit::{Section, fit};
use super::{closing, sections};

/// GitHub's limit for a comment, in characters.
pub const COMMENT_LIMIT: usize = 65_536;

/// Maximum size of a check run's summary, in bytes; GitHub accepts 65,535.
const CHECK_LIMIT: usize = 65_000;

/// Returns the first line of the comment, by which it is found again. The key comes from trusted
/// configuration, but must not end the HTML comment that it stands in.
pub fn marker(key: &str) -> String {
    format!("<!-- architect-ci comment: {} -->", in_marker(key))
}

/// Reduces a key to characters that may stand in a hidden line.
pub fn in_marker(key: &str) -> String {
    let key: String = key.chars().filter(|c| c.is_ascii_alphanumeric() || "._/ -".contains(*c)).collect();
    key.replace("--", "-")
}

/// The hidden second line of a comment that shows a plan: what is needed to apply the plan from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanMark {
    /// The digest of the plan, 64 hexadecimal digits.
    pub digest: String,
    /// The id of the workflow run that uploaded the plan as an artifact.
    pub run: u64,
    /// The head commit of the pull request for which the plan was made.
    pub head: String,
}

impl PlanMark {
    const START: &str = "<!-- architect-ci plan: ";

    fn line(&self) -> String {
        format!("{}{} {} {} -->\n", Self::START, self.digest, self.run, self.head)
    }

    /// Parses the mark out of our own comment, or returns `None` if that has none. Text that others wrote
    /// cannot imitate it, because neutralizing breaks up its beginning.
    pub fn find(comment: &str) -> Option<Self> {
        let line = comment.lines().nth(1)?.strip_prefix(Self::START)?.strip_suffix(" -->")?;
        let mut parts = line.split(' ');
        let hex = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
        let digest = parts.next().filter(|digest| hex(digest) && digest.len() == 64)?.to_owned();
        let run = parts.next()?.parse().ok()?;
        let head = parts.next().filter(|head| hex(head))?.to_owned();
        parts.next().is_none().then_some(Self { digest, run, head })
    }
}

/// Renders the comment within [`COMMENT_LIMIT`].
pub fn comment(report: &RunReport, key: &str, plan: Option<&PlanMark>) -> String {
    let hidden = plan.map_or_else(String::new, PlanMark::line);
    let mut all = vec![Section::fixed(format!("{}\n{hidden}{}", marker(key), title(report)))];
    all.extend(body(report));
    all.push(closing::footer(report, plan.is_some()));
    fit(all, COMMENT_LIMIT)
}

/// Renders the description of a pull request that the run opens: what was done, but no diffs, which the
/// pull request shows itself. `closes` is the number of an issue that merging it closes.
pub fn description(report: &RunReport, closes: Option<u64>) -> String {
    let mut all = vec![sections::task(report), sections::message(report)];
    all.extend(sections::gates(report));
    all.push(sections::findings(report));
    all.push(sections::guardrails(report));
    all.push(sections::commands(report));
    all.push(Section::fixed(sections::facts(report)));
    all.extend(closes.map(|number| Section::fixed(format!("Closes #{number}\n\n"))));
    all.push(closing::footer(report, false));
    fit(all, COMMENT_LIMIT)
}

/// Renders the summary of a check run.
pub fn check_summary(report: &RunReport) -> String {
    let mut all = vec![Section::fixed(sections::facts(report))];
    all.extend(body(report));
    all.push(closing::footer(report, false));
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

fn title(report: &RunReport) -> String {
    format!("### {}\n\n{}", sections::headline(report), sections::facts(report))
}

fn body(report: &RunReport) -> Vec<Section> {
    let mut all = vec![sections::task(report), sections::notices(report), closing::delivery(report)];
    all.push(sections::message(report));
    all.extend(sections::changes(report));
    all.extend(sections::gates(report));
    all.push(sections::findings(report));
    all.push(sections::guardrails(report));
    all.push(sections::commands(report));
    all.extend(sections::subagents(report));
    all.push(sections::hooks(report));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_found_where_we_have_put_it_and_nowhere_else() {
        let mark = PlanMark { digest: "ab".repeat(32), run: 4711, head: "c".repeat(40) };
        let line = mark.line();
        let comment = format!("{}\n{line}### ✅\n", marker("k"));
        assert_eq!(PlanMark::find(&comment), Some(mark));
        assert_eq!(PlanMark::find(&format!("{}\n### x\n{line}", marker("k"))), None);
        for wrong in ["<!-- architect-ci plan: xyz 1 a -->", "<!-- architect-ci plan: -->", "text", ""] {
            assert_eq!(PlanMark::find(&format!("{}\n{wrong}\n", marker("k"))), None, "{wrong}");
        }
    }
}
