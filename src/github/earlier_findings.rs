//! Findings that we posted on a pull request before. GitHub remembers them: each has its fingerprint in the hidden first line of a
//! comment that we wrote, or in those of a review's text if the diff does not have its line.

use serde::Deserialize;

use super::api::{Api, Login, is_same_login};
use super::error::ApiError;
use super::review::{REVIEW, State, threads};
use crate::event::{Fingerprint, Severity};

/// The beginning of the hidden first line of a finding's comment.
pub(super) const MARKER: &str = "<!-- architect-ci finding: ";

/// A finding that we posted.
pub struct EarlierFinding {
    /// What it is recognized by.
    pub fingerprint: Fingerprint,
    /// Its severity, and its message in Markdown as it stands on GitHub; `None` if they cannot be told from others.
    pub said: Option<(Severity, String)>,
    /// Its thread of comments; absent if it stands in the text of a review.
    thread: Option<(String, State)>,
}

/// A review that stands on the pull request.
#[derive(Deserialize)]
struct PostedReview {
    /// Who wrote it; absent if the account is gone.
    user: Option<Login>,
    #[serde(default)]
    body: Option<String>,
}

impl EarlierFinding {
    /// Returns all findings that jobs with this key have posted on a pull request.
    pub async fn all(api: &Api, number: u64, key: &str) -> Result<Vec<Self>, ApiError> {
        let ours = format!("{MARKER}{key} ");
        let parse = |marker: &str| Fingerprint::parse(marker.strip_prefix(&ours)?.strip_suffix(" -->")?);
        let threads = threads(api, number, &ours).await?.into_iter().filter_map(|thread| {
            let fingerprint = parse(&thread.marker)?;
            // Somebody may have edited it; it is a finding all the same.
            let said = said(&thread.text).or(Some((Severity::Warning, thread.text)));
            Some(Self { fingerprint, said, thread: Some((thread.id, thread.state)) })
        });
        let author = api.login().await?;
        let reviews: Vec<PostedReview> = api.list(&format!("/pulls/{number}/reviews"), REVIEW).await?;
        let is_own = |review: &PostedReview| {
            review.user.as_ref().is_some_and(|user| is_same_login(&user.login, &author))
        };
        let bodies = reviews.into_iter().filter(is_own).filter_map(|review| review.body);
        let listed = bodies.flat_map(|body| {
            let found = listed(&body).into_iter();
            let read = |(marker, text): (&str, String)| {
                Some(Self { fingerprint: parse(marker)?, said: said(&text), thread: None })
            };
            found.filter_map(read).collect::<Vec<_>>()
        });
        Ok(threads.chain(listed).collect())
    }

    /// Returns whether it still counts: not if we have resolved it, because its line was gone.
    pub fn stands(&self) -> bool {
        self.thread.as_ref().is_none_or(|(_, state)| *state != State::Withdrawn)
    }

    /// Returns whether it stands in the text of a review, where nobody can resolve it.
    pub fn is_listed(&self) -> bool {
        self.thread.is_none()
    }

    /// Returns the thread that nobody has resolved.
    pub fn open_thread(&self) -> Option<&str> {
        let (id, state) = self.thread.as_ref()?;
        matches!(state, State::Open | State::Outdated).then_some(id)
    }
}

/// Reads what [`super::finding_review`] writes: the severity, and what stands behind it.
fn said(text: &str) -> Option<(Severity, String)> {
    let (word, message) = text[text.find("**")? + 2..].split_once("**: ")?;
    let severity = [Severity::Note, Severity::Warning, Severity::Error]
        .into_iter()
        .find(|one| one.to_string() == word)?;
    Some((severity, message.to_owned()))
}

/// Returns the marks in the text of a review, which stand above everything that a model wrote, each with the finding that it
/// stands for.
fn listed(body: &str) -> Vec<(&str, String)> {
    let marks: Vec<&str> = body.lines().take_while(|line| line.starts_with(MARKER)).collect();
    let mut texts: Vec<String> = Vec::new();
    for line in body.lines().skip(marks.len()) {
        match (line.strip_prefix("- "), line.strip_prefix("  "), texts.last_mut()) {
            (Some(text), _, _) => texts.push(text.to_owned()),
            (None, Some(more), Some(text)) => *text = format!("{text}\n{more}"),
            _ => {}
        }
    }
    if texts.len() != marks.len() {
        texts = vec![String::new(); marks.len()];
    }
    marks.into_iter().zip(texts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_stands_before_the_message() {
        for (text, expected) in [
            ("**error**: **Bad**: x.\nMore.", Some((Severity::Error, "**Bad**: x.\nMore."))),
            ("`a.rs:1`: **note**: Good.", Some((Severity::Note, "Good."))),
            ("**fatal**: x", None),
            ("edited by somebody", None),
        ] {
            assert_eq!(said(text), expected.map(|(severity, text)| (severity, text.to_owned())), "{text}");
        }
    }

    #[test]
    fn marks_of_a_review_are_told_from_what_it_says() {
        let mark = |number: u32| format!("{MARKER}k {number} -->");
        let (one, two) = (mark(1), mark(2));
        for (body, expected) in [
            (
                format!(
                    "{one}\n{two}\narchitect-ci: 2 findings\n- `a:1`: **error**: A.\n  More.\n- B.\n\n3 more"
                ),
                vec![(one.as_str(), "`a:1`: **error**: A.\nMore."), (two.as_str(), "B.")],
            ),
            // One text could be another finding's.
            (format!("{one}\ntitle\n- A.\n- B."), vec![(one.as_str(), "")]),
            // A mark that a model wrote is none.
            (format!("title\n- A.\n{one}"), vec![]),
        ] {
            let found = listed(&body);
            let found: Vec<(&str, &str)> = found.iter().map(|(mark, text)| (*mark, text.as_str())).collect();
            assert_eq!(found, expected, "{body}");
        }
    }
}
