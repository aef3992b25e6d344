//! Findings of a review, posted as one review of the pull request. No finding is posted twice, even if somebody has answered or
//! resolved it, and one whose line is no longer there is resolved; if the line comes back, so does the finding. One
//! with another line or other words is a new one.

use std::collections::HashMap;

use sanitize::untrusted::{code, markdown_behind, markdown_item};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::Api;
use super::earlier_findings::EarlierFinding;
use super::error::ApiError;
use super::finding_mark::FindingMark;
use super::known_findings::{FileContent, KnownFindings, Place, Version, nearest};
use super::operation::{Method, REVIEW};
use super::pull_files::MAX_FILES;
use super::suggestion::commentable;
use crate::base::text::counted;
use crate::base::verbose_log::detail;
use crate::event::Finding;

/// Maximum number of findings of one review.
const MAX_FINDINGS: usize = 30;

/// Maximum number of characters of findings in the text of a review, of which GitHub takes 65,536.
const MAX_TEXT: usize = 50_000;

/// A pull request to post findings on.
#[derive(Clone, Debug)]
pub struct FindingReview<'a> {
    /// The number of the pull request.
    pub number: u64,
    /// The commit at its head.
    pub head: &'a str,
    /// The key that distinguishes our findings from those of other jobs.
    pub key: &'a str,
    /// The path from the repository's root to the workspace: empty, or ending in `/`.
    pub prefix: &'a str,
    /// Maximum number of findings that are posted.
    pub most: usize,
}

/// Counts of what became of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostedFindings {
    /// New findings.
    pub posted: usize,
    /// Earlier findings whose place is gone, and that were resolved.
    pub mended: usize,
    /// Those that could not be resolved.
    pub unresolved: usize,
    /// New findings that did not fit, of which only the places were posted.
    pub left_out: usize,
}

/// A file of the pull request's diff.
#[derive(Deserialize)]
struct File {
    filename: String,
    #[serde(default)]
    patch: Option<String>,
}

/// A finding with its place at the head of the pull request.
#[derive(Clone)]
struct Placed<'a> {
    finding: &'a Finding,
    mark: FindingMark,
    /// Whether its line is at the head: a checkout of the merge commit has others.
    is_at_head: bool,
}

impl FindingReview<'_> {
    /// Posts those findings that are new, and resolves earlier ones whose line is gone. `content` returns what a file of the
    /// repository contains at the head.
    pub async fn post(
        &self,
        api: &Api,
        findings: &[Finding],
        content: impl Fn(Version<'_>, &str) -> FileContent,
    ) -> Result<PostedFindings, ApiError> {
        let files: Vec<File> = api.list(&format!("/pulls/{}/files", self.number), REVIEW).await?;
        let earlier = EarlierFinding::all(api, self.number, self.key).await?;
        let placed: Vec<Placed> = findings
            .iter()
            .map(|finding| self.placed(finding, |path| content(Version::Head, path)))
            .collect();
        let changed: Vec<String> = files.iter().map(|file| file.filename.clone()).collect();
        let known = KnownFindings::locate(earlier, &changed, content);
        let mut sum = PostedFindings::default();
        // In a file that GitHub does not list, the line may be as well.
        let gone =
            known.findings.iter().filter(|known| known.place == Place::Gone && files.len() < MAX_FILES);
        for thread in gone.filter_map(|known| known.posted.resolvable()) {
            match thread.withdraw(api).await {
                Ok(()) => sum.mended += 1,
                Err(error) => {
                    detail!("could not resolve a finding: {error}");
                    sum.unresolved += 1;
                }
            }
        }
        for thread in known.findings.iter().filter_map(|known| known.posted.thread.as_ref()) {
            thread.keep_reopened(api).await;
        }
        let mut new: Vec<Placed> = Vec::new();
        for one in placed.into_iter().filter(|placed| !known.has(&placed.mark)) {
            // Two lines of a merge commit can be one at the head.
            let is_said = |other: &Placed<'_>| {
                one.mark.repeats(&other.mark) && one.mark.severity <= other.mark.severity
            };
            if !new.iter().any(is_said) {
                new.push(one);
            }
        }
        let lengths = new.iter().scan(0, |sum, placed| {
            *sum += placed.mark.render(self.key).len() + placed.listed().chars().count() + 2;
            Some(*sum)
        });
        let fitting = lengths.take_while(|sum| *sum <= MAX_TEXT).count();
        sum.posted = fitting.min(MAX_FINDINGS).min(self.most);
        sum.left_out = new.len() - sum.posted;
        if !new.is_empty() {
            let (shown, rest) = new.split_at(sum.posted);
            self.together(api, &files, shown, rest).await?;
        }
        Ok(sum)
    }

    /// Finds the line of a finding at the head.
    fn placed<'a>(&self, finding: &'a Finding, content: impl Fn(&str) -> FileContent) -> Placed<'a> {
        let path = finding.file.as_ref().map(|file| format!("{}{file}", self.prefix));
        let mut mark = FindingMark::of(path.as_deref(), finding);
        let text = match path.as_deref().map(content) {
            Some(FileContent::Bytes(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            _ => String::new(),
        };
        let line = nearest(&text, &finding.place, finding.line);
        mark.line = line.unwrap_or(finding.line);
        mark.commit = line.map(|_| self.head.to_owned());
        Placed { finding, mark, is_at_head: line.is_some() || finding.place.is_empty() }
    }

    /// Posts findings as one review: at their lines where the diff has them, else in its text.
    /// Of those that do not fit, the places are listed.
    async fn together(
        &self,
        api: &Api,
        files: &[File],
        findings: &[Placed<'_>],
        left_out: &[Placed<'_>],
    ) -> Result<(), ApiError> {
        let patches: HashMap<&str, &str> =
            files.iter().filter_map(|file| Some((file.filename.as_str(), file.patch.as_deref()?))).collect();
        let (mut comments, mut rest): (Vec<Value>, Vec<&Placed>) = (Vec::new(), Vec::new());
        for placed in findings {
            let line = u64::from(placed.mark.line);
            let is_in_diff = |path: &&String| {
                let lines = patches.get(path.as_str()).map(|patch| commentable(patch));
                lines.is_some_and(|all| all.iter().any(|(from, to)| *from <= line && line <= *to))
            };
            match placed.mark.path.as_ref().filter(|_| placed.is_at_head).filter(is_in_diff) {
                Some(path) => {
                    let body = format!("{}\n{}", placed.mark.render(self.key), placed.text());
                    comments.push(json!({"path": path, "body": body, "line": line, "side": "RIGHT"}));
                }
                None => rest.push(placed),
            }
        }
        let title = counted(findings.len(), "finding", "s");
        let more = more(left_out);
        let mut review = json!({
            "commit_id": self.head,
            "event": "COMMENT",
            "body": format!("{}{more}", self.body(&title, &rest)),
            "comments": comments,
        });
        let path = format!("/pulls/{}/reviews", self.number);
        match api.send::<Value>(Method::Post, &path, Some(&review), REVIEW).await {
            // A single anchor that GitHub rejects fails the whole review; nothing is to be lost for that.
            Err(error) if error.status() == Some(422) => {
                let all: Vec<&Placed> = findings.iter().collect();
                review["body"] = json!(format!("{}{more}", self.body(&title, &all)));
                review["comments"] = json!([]);
                api.send::<Value>(Method::Post, &path, Some(&review), REVIEW).await.map(drop)
            }
            answer => answer.map(drop),
        }
    }

    /// Renders the text of a review: the marks of the findings that it lists, its title, and these findings.
    fn body(&self, title: &str, listed: &[&Placed<'_>]) -> String {
        let marks = listed.iter().map(|placed| placed.mark.render(self.key));
        let hint = if listed.is_empty() { "" } else { HINT };
        let items = listed.iter().map(|placed| placed.listed());
        let lines: Vec<String> = marks.chain([format!("architect-ci: {title}{hint}")]).chain(items).collect();
        lines.join("\n")
    }
}

/// Says how findings are settled that have no thread.
const HINT: &str = "; those below have no line in the diff, and count until their line is gone or somebody hides this review";

impl Placed<'_> {
    /// Renders the finding, whose words are a model's.
    fn text(&self) -> String {
        format!("{}{}", self.mark.heading(), markdown_behind(&self.finding.message))
    }

    /// Renders the finding as an item of a list, with its place.
    fn listed(&self) -> String {
        format!("- {}{}", self.mark.listed_heading(), markdown_item(&self.finding.message))
    }
}

/// Renders where findings are that do not fit.
fn more(findings: &[Placed<'_>]) -> String {
    let place = |Placed { mark, .. }: &Placed<'_>| {
        let path = mark.path.as_ref();
        path.map_or_else(|| "no file".to_owned(), |path| code(&format!("{path}:{}", mark.line)))
    };
    match findings {
        [] => String::new(),
        findings => {
            let places: Vec<String> = findings.iter().map(place).collect();
            format!(
                "\n\n{} more did not fit, and will be posted with the next review: {}",
                findings.len(),
                places.join(", ")
            )
        }
    }
}
