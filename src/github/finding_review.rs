//! Findings of a review, posted as one review of the pull request. GitHub remembers them: a finding is recognised by its
//! fingerprint in the hidden first line of a comment that we wrote, or in those of a review's text if the diff does not have
//! its line. So none is posted twice, whoever has answered or resolved it, and one whose place is gone is resolved.

use std::collections::{BTreeMap, HashSet};

use sanitize::untrusted::{code, markdown};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Login, Method, is_same_login};
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

/// A review that stands on the pull request.
#[derive(Deserialize)]
struct EarlierReview {
    /// Who wrote it; absent if the account is gone.
    user: Option<Login>,
    #[serde(default)]
    body: Option<String>,
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
        let listed = self.listed_before(api, &ours).await?;
        let known: HashSet<&str> = earlier
            .iter()
            .map(|thread| thread.marker.as_str())
            .chain(listed.iter().map(String::as_str))
            .collect();
        let (known, new): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().partition(|finding| known.contains(self.marker(finding).as_str()));
        sum.known = known.len();
        sum.posted = new.len().min(MAX_FINDINGS);
        if !new.is_empty() {
            self.together(api, &files, &new[..sum.posted]).await?;
        }
        Ok(sum)
    }

    /// Returns the marks of findings that stand in the text of earlier reviews of ours.
    async fn listed_before(&self, api: &Api, ours: &str) -> Result<HashSet<String>, ApiError> {
        let author = api.login().await?;
        let reviews: Vec<EarlierReview> =
            api.list(&format!("/pulls/{}/reviews", self.number), REVIEW).await?;
        let is_own = |review: &EarlierReview| {
            review.user.as_ref().is_some_and(|user| is_same_login(&user.login, &author))
        };
        let texts = reviews.into_iter().filter(is_own).filter_map(|review| review.body);
        // Marks stand above everything that a model wrote.
        Ok(texts
            .flat_map(|text| {
                let marks = text.lines().take_while(|line| line.starts_with(MARKER));
                marks.filter(|line| line.starts_with(ours)).map(str::to_owned).collect::<Vec<_>>()
            })
            .collect())
    }

    /// Posts findings as one review: at their lines where the diff has them, else in its text.
    async fn together(&self, api: &Api, files: &[File], findings: &[&Finding]) -> Result<(), ApiError> {
        let patches: BTreeMap<&str, &str> =
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
        let title = if count == 1 { "1 finding".to_owned() } else { format!("{count} findings") };
        let mut review = json!({
            "commit_id": self.head,
            "event": "COMMENT",
            "body": self.body(&title, &rest),
            "comments": comments,
        });
        let path = format!("/pulls/{}/reviews", self.number);
        match api.send::<Value>(Method::Post, &path, Some(&review), REVIEW).await {
            // A single anchor that GitHub rejects fails the whole review; nothing is to be lost for that.
            Err(error) if error.status() == Some(422) => {
                review["body"] = json!(self.body(&title, findings));
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
        format!("- {}{}", place.unwrap_or_default(), text(finding))
    }

    fn marker(&self, finding: &Finding) -> String {
        let path = self.path(finding).unwrap_or_default();
        // A finding about no line is told from others by what it says.
        let place = if finding.place.trim().is_empty() { &finding.message } else { &finding.place };
        format!("{MARKER}{} {} -->", self.key, fingerprint(&path, place))
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
