//! Findings of a review, posted as one review of the pull request. No finding is posted twice, even if somebody has answered or
//! resolved it, and one whose line is no longer in a changed file is resolved; if the line comes back, so does the finding. One
//! with another line or other words is a new one.

use std::collections::{BTreeSet, HashMap};

use sanitize::untrusted::{code, markdown};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Method};
use super::changed_lines::ChangedLines;
use super::earlier_findings::{EarlierFinding, MARKER};
use super::error::ApiError;
use super::review::{REVIEW, resolve};
use super::suggestion::commentable;
use crate::base::text::counted;
use crate::base::verbose_log::detail;
use crate::event::{Finding, Fingerprint};

/// Maximum number of findings of one review.
const MAX_FINDINGS: usize = 30;

/// Maximum number of files that GitHub lists of a pull request.
const MAX_FILES: usize = 3_000;

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

impl FindingReview<'_> {
    /// Posts those findings that are new, and resolves earlier ones whose place is gone. `content` returns what a
    /// file of the repository contains at the head, nothing if it is not there; `None` if nobody knows.
    pub async fn post(
        &self,
        api: &Api,
        findings: &[Finding],
        content: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<PostedFindings, ApiError> {
        let files: Vec<File> = api.list(&format!("/pulls/{}/files", self.number), REVIEW).await?;
        let earlier = EarlierFinding::all(api, self.number, self.key).await?;
        let lines =
            ChangedLines::of(files.iter().map(|file| (file.filename.as_str(), content(&file.filename))));
        let is_gone = |print: &Fingerprint| files.len() < MAX_FILES && lines.is_gone(print);
        let mut sum = PostedFindings::default();
        for finding in earlier.iter().filter(|finding| is_gone(&finding.fingerprint)) {
            let Some(thread) = finding.open_thread() else { continue };
            match resolve(api, thread).await {
                Ok(()) => sum.mended += 1,
                Err(error) => detail!("could not resolve a finding: {error}"),
            }
        }
        // What we took for mended, and is found again, is there again.
        let known: Vec<&Fingerprint> =
            earlier.iter().filter(|finding| finding.stands()).map(|finding| &finding.fingerprint).collect();
        let is_new = |finding: &&Finding| {
            let print = self.print(finding);
            !known.iter().any(|earlier| lines.is_same(earlier, &print))
        };
        let mut new: Vec<&Finding> = findings.iter().filter(is_new).collect();
        let mut seen = BTreeSet::new();
        new.retain(|finding| seen.insert(self.print(finding)));
        sum.posted = new.len().min(MAX_FINDINGS).min(self.most);
        sum.left_out = new.len() - sum.posted;
        if !new.is_empty() {
            let (shown, rest) = new.split_at(sum.posted);
            self.together(api, &files, shown, rest).await?;
        }
        Ok(sum)
    }

    /// Posts findings as one review: at their lines where the diff has them, else in its text.
    /// Of those that do not fit, the places are listed.
    async fn together(
        &self,
        api: &Api,
        files: &[File],
        findings: &[&Finding],
        left_out: &[&Finding],
    ) -> Result<(), ApiError> {
        let patches: HashMap<&str, &str> =
            files.iter().filter_map(|file| Some((file.filename.as_str(), file.patch.as_deref()?))).collect();
        let (mut comments, mut rest): (Vec<Value>, Vec<&Finding>) = (Vec::new(), Vec::new());
        for finding in findings {
            let path = self.path(finding);
            let line = u64::from(finding.line);
            let lines =
                path.as_ref().and_then(|path| patches.get(path.as_str())).map(|patch| commentable(patch));
            let is_in_diff =
                lines.is_some_and(|all| all.iter().any(|(from, to)| *from <= line && line <= *to));
            match path.filter(|_| is_in_diff) {
                Some(path) => {
                    let body = format!("{}\n{}", self.marker(finding), text(finding));
                    comments.push(json!({"path": path, "body": body, "line": line, "side": "RIGHT"}));
                }
                None => rest.push(finding),
            }
        }
        let count = findings.len();
        let title = counted(count, "finding", "s");
        let more = self.more(left_out);
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
                review["body"] = json!(format!("{}{more}", self.body(&title, findings)));
                review["comments"] = json!([]);
                api.send::<Value>(Method::Post, &path, Some(&review), REVIEW).await.map(drop)
            }
            answer => answer.map(drop),
        }
    }

    /// Renders the text of a review: the marks of the findings that it lists, its title, and these findings.
    fn body(&self, title: &str, listed: &[&Finding]) -> String {
        let marks = listed.iter().map(|finding| self.marker(finding));
        let items = listed.iter().map(|finding| self.listed(finding));
        let lines: Vec<String> = marks.chain([format!("architect-ci: {title}")]).chain(items).collect();
        lines.join("\n")
    }

    fn path(&self, finding: &Finding) -> Option<String> {
        finding.file.as_ref().map(|file| format!("{}{file}", self.prefix))
    }

    /// Renders a finding as an item of a list, with its place.
    fn listed(&self, finding: &Finding) -> String {
        let place = self.path(finding).map(|path| format!("{}: ", code(&format!("{path}:{}", finding.line))));
        format!("- {}{}", place.unwrap_or_default(), text(finding).replace('\n', "\n  "))
    }

    /// Renders where findings are that do not fit.
    fn more(&self, findings: &[&Finding]) -> String {
        let place = |finding: &&Finding| {
            let path = self.path(finding);
            path.map_or_else(|| "no file".to_owned(), |path| code(&format!("{path}:{}", finding.line)))
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

    fn print(&self, finding: &Finding) -> Fingerprint {
        Fingerprint::of(&self.path(finding).unwrap_or_default(), finding)
    }

    fn marker(&self, finding: &Finding) -> String {
        format!("{MARKER}{} {} -->", self.key, self.print(finding))
    }
}

/// Renders a finding, whose words are a model's.
fn text(finding: &Finding) -> String {
    format!("**{}**: {}", finding.severity, markdown(&finding.message).trim())
}
