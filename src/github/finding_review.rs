//! Findings of a review, posted as one review of the pull request. GitHub remembers them: a finding is recognised by its
//! fingerprint in the hidden first line of a comment that we wrote, so none is posted twice, whoever has answered or resolved
//! it, and one whose place is gone is resolved.

use std::collections::{BTreeMap, HashSet};

use sanitize::untrusted::{code, markdown};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Method};
use super::error::ApiError;
use super::review::{REVIEW, State, resolve, threads};
use super::suggestion::commentable;
use crate::base::verbose_log::detail;
use crate::event::{Finding, fingerprint};

/// The beginning of the hidden first line of a finding's comment.
const MARKER: &str = "<!-- architect-ci finding: ";

/// Maximum number of findings of one review.
const MAX_FINDINGS: usize = 30;

/// A pull request to post findings on.
#[derive(Clone, Debug)]
pub struct FindingReview<'a> {
    /// The number of the pull request.
    pub number: u64,
    /// The commit at its head.
    pub head: &'a str,
    /// The key that tells our findings from those of other jobs.
    pub key: &'a str,
    /// The path from the repository's root to the workspace: empty, or ending in `/`.
    pub prefix: &'a str,
}

/// Counts of what became of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostedFindings {
    /// New findings.
    pub posted: usize,
    /// Findings that stand there already, or that somebody has resolved.
    pub known: usize,
    /// Earlier findings whose place is gone, and that were resolved.
    pub mended: usize,
}

/// A file of the pull request's diff.
#[derive(Deserialize)]
struct File {
    filename: String,
    #[serde(default)]
    patch: Option<String>,
}

impl FindingReview<'_> {
    /// Posts those findings that are new, and resolves earlier ones whose place is gone. `content` returns the text of a
    /// file of the repository at the head.
    pub async fn post(
        &self,
        api: &Api,
        findings: &[Finding],
        content: impl Fn(&str) -> Option<String>,
    ) -> Result<PostedFindings, ApiError> {
        let files: Vec<File> = api.list(&format!("/pulls/{}/files", self.number), REVIEW).await?;
        let ours = format!("{MARKER}{} ", self.key);
        let earlier = threads(api, self.number, &ours).await?;
        let places: HashSet<String> = files.iter().flat_map(|file| places(file, &content)).collect();
        let mut sum = PostedFindings::default();
        for thread in earlier.iter().filter(|thread| matches!(thread.state, State::Open | State::Outdated)) {
            let print = thread.marker.strip_prefix(&ours).and_then(|rest| rest.strip_suffix(" -->"));
            if print.is_none_or(|print| places.contains(print)) {
                continue;
            }
            match resolve(api, &thread.id).await {
                Ok(()) => sum.mended += 1,
                Err(error) => detail!("could not resolve a finding: {error}"),
            }
        }
        let known: HashSet<&str> = earlier.iter().map(|thread| thread.marker.as_str()).collect();
        let (known, new): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().partition(|finding| known.contains(self.marker(finding).as_str()));
        sum.known = known.len();
        sum.posted = new.len().min(MAX_FINDINGS);
        if !new.is_empty() {
            self.together(api, &files, &new[..sum.posted]).await?;
        }
        Ok(sum)
    }

    /// Posts findings as one review: at their lines where the diff has them, else in its text.
    async fn together(&self, api: &Api, files: &[File], findings: &[&Finding]) -> Result<(), ApiError> {
        let patches: BTreeMap<&str, &str> =
            files.iter().filter_map(|file| Some((file.filename.as_str(), file.patch.as_deref()?))).collect();
        let (mut comments, mut rest) = (Vec::new(), Vec::new());
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
                None => rest.push(self.listed(finding)),
            }
        }
        let count = findings.len();
        let title = if count == 1 { "1 finding".to_owned() } else { format!("{count} findings") };
        let shown = [vec![format!("architect-ci: {title}")], rest].concat().join("\n");
        let mut review = json!({
            "commit_id": self.head,
            "event": "COMMENT",
            "body": shown,
            "comments": comments,
        });
        let path = format!("/pulls/{}/reviews", self.number);
        match api.send::<Value>(Method::Post, &path, Some(&review), REVIEW).await {
            // A single anchor that GitHub rejects fails the whole review; nothing is to be lost for that.
            Err(error) if error.status() == Some(422) => {
                let all: Vec<String> = findings.iter().map(|finding| self.listed(finding)).collect();
                review["body"] = json!(format!("architect-ci: {title}\n{}", all.join("\n")));
                review["comments"] = json!([]);
                api.send::<Value>(Method::Post, &path, Some(&review), REVIEW).await.map(drop)
            }
            answer => answer.map(drop),
        }
    }

    fn path(&self, finding: &Finding) -> Option<String> {
        finding.file.as_ref().map(|file| format!("{}{file}", self.prefix))
    }

    /// Renders a finding as an item of a list, with its place.
    fn listed(&self, finding: &Finding) -> String {
        let place = self.path(finding).map(|path| format!("{}: ", code(&format!("{path}:{}", finding.line))));
        format!("- {}{}", place.unwrap_or_default(), text(finding))
    }

    fn marker(&self, finding: &Finding) -> String {
        let path = self.path(finding).unwrap_or_default();
        format!("{MARKER}{} {} -->", self.key, fingerprint(&path, &finding.place))
    }
}

/// Returns the fingerprints of all lines of a file.
fn places(file: &File, content: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    let text = content(&file.filename).unwrap_or_default();
    text.lines().map(|line| fingerprint(&file.filename, line)).collect()
}

/// Renders a finding, whose words are a model's.
fn text(finding: &Finding) -> String {
    format!("**{}**: {}", finding.severity, markdown(&finding.message).trim())
}
