//! Findings that we posted on a pull request before. GitHub remembers them: each has its mark in the hidden first line of a comment that
//! we wrote, or among those of a review's text if the diff does not have its line.

use serde::Deserialize;

use super::api::Api;
use super::error::ApiError;
use super::finding_mark::{FindingMark, MARKER};
use super::login::{Login, is_same_login};
use super::operation::REVIEW;
use super::review_threads::{State, Thread, threads};

/// A finding that we posted.
pub struct EarlierFinding {
    /// What it is recognized by.
    pub mark: FindingMark,
    /// Its message in Markdown as it stands on GitHub; `None` if people have taken it away.
    pub message: Option<String>,
    /// What became of it.
    pub state: FindingState,
    /// Its thread of comments; absent if it stands in the text of a review.
    pub(super) thread: Option<Thread>,
}

/// What became of a finding on GitHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingState {
    /// Nothing yet.
    Open,
    /// Somebody has resolved its thread, or hidden the review that lists it.
    Settled,
    /// We have resolved its thread, because its line was gone.
    Withdrawn,
}

impl EarlierFinding {
    /// Returns all findings that jobs with this key have posted on a pull request, in the order in which they were posted: those
    /// with threads first.
    pub async fn all(api: &Api, number: u64, key: &str) -> Result<Vec<Self>, ApiError> {
        let threads = threads(api, number, &format!("{MARKER}{key} ")).await?;
        let of_threads = threads.into_iter().filter_map(|thread| {
            let mark = FindingMark::parse(&thread.marker, key)?;
            let text = thread.text.trim();
            let message = text.strip_prefix(&mark.heading()).unwrap_or(text).to_owned();
            let state = match thread.state {
                State::Open | State::Outdated | State::Reopened | State::Kept => FindingState::Open,
                State::Settled => FindingState::Settled,
                State::Withdrawn => FindingState::Withdrawn,
            };
            Some(Self {
                mark,
                message: Some(message).filter(|text| !text.is_empty()),
                state,
                thread: Some(thread),
            })
        });
        let mut all: Vec<Self> = of_threads.collect();
        for review in PostedReview::all(api, number).await? {
            let state = if review.is_minimized { FindingState::Settled } else { FindingState::Open };
            let found = listed(&review.body, key).into_iter();
            all.extend(found.map(|(mark, message)| Self { message, ..Self::listed(mark, state) }));
        }
        Ok(all)
    }

    /// Makes one that stands in the text of a review.
    pub(super) fn listed(mark: FindingMark, state: FindingState) -> Self {
        Self { mark, message: None, state, thread: None }
    }

    /// Returns whether it still counts: not if we have taken it back.
    pub(super) fn counts(&self) -> bool {
        self.state != FindingState::Withdrawn
    }

    /// Returns whether it stands in the text of a review, which has no thread.
    pub fn is_listed(&self) -> bool {
        self.thread.is_none()
    }

    /// Returns its thread, if that is ours to resolve: nobody has resolved it, or reopened it.
    pub(super) fn resolvable(&self) -> Option<&Thread> {
        self.thread.as_ref().filter(|thread| matches!(thread.state, State::Open | State::Outdated))
    }
}

/// A review that stands on the pull request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostedReview {
    /// Who wrote it; absent if the account is gone.
    author: Option<Login>,
    body: String,
    /// Whether somebody has hidden it.
    is_minimized: bool,
}

const REVIEWS: &str = "query PostedReviews($owner: String!, $name: String!, $number: Int!, $after: String) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    entries: reviews(first: 100, after: $after) { pageInfo { hasNextPage endCursor } \
    nodes { body isMinimized author { __typename login } } } } } }";

impl PostedReview {
    /// Returns all of ours.
    async fn all(api: &Api, number: u64) -> Result<Vec<Self>, ApiError> {
        let author = api.login().await?;
        let is_own = |review: &Self| {
            review.author.as_ref().is_some_and(|writer| is_same_login(&writer.login, &author))
        };
        let all: Vec<Self> = api.list_of_pull(REVIEWS, number, REVIEW).await?;
        Ok(all.into_iter().filter(is_own).collect())
    }
}

/// Returns the marks in the text of a review, each with the message that stands in the list under them. They stand above everything
/// that a model wrote, in which the beginning of a mark is broken up.
fn listed(body: &str, key: &str) -> Vec<(FindingMark, Option<String>)> {
    // Others may have written above them.
    let from_marks = || body.lines().skip_while(|line| !line.starts_with(MARKER));
    let head = from_marks().take_while(|line| line.starts_with(MARKER));
    let marks: Vec<Option<FindingMark>> = head.map(|line| FindingMark::parse(line.trim_end(), key)).collect();
    let mut items: Vec<String> = Vec::new();
    for line in from_marks().skip(marks.len()) {
        match (line.strip_prefix("- "), line.strip_prefix("  "), items.last_mut()) {
            (Some(text), _, _) => items.push(text.to_owned()),
            (None, Some(more), Some(item)) => *item = format!("{item}\n{more}"),
            _ => {}
        }
    }
    let mut message = |mark: &FindingMark| {
        let heading = mark.listed_heading();
        let at = items.iter().position(|item| item.starts_with(&heading))?;
        Some(items.remove(at)[heading.len()..].to_owned())
    };
    let told = |mark: FindingMark| {
        let message = message(&mark);
        (mark, message)
    };
    marks.into_iter().flatten().map(told).collect()
}

#[cfg(test)]
mod tests {
    use sanitize::untrusted::markdown;

    use super::*;
    use crate::event::{Finding, Severity};

    fn mark(path: Option<&str>, line: u32) -> FindingMark {
        let (message, place) = ("Bad.".to_owned(), "bad".to_owned());
        FindingMark::of(
            path,
            &Finding { file: None, line, severity: Severity::Error, message, place, confidence: None },
        )
    }

    #[test]
    fn marks_of_a_review_count_whatever_is_made_of_its_text() {
        let (one, two) = (mark(Some("**note**: a"), 1), mark(None, 1));
        let marks = format!("{}\n{}\narchitect-ci: 2 findings", one.render("k"), two.render("k"));
        let first = "- `**note**: a:1`: **error**: A.\n  \n  More.";
        for (body, messages) in [
            (format!("{marks}\n{first}\n- **error**: B.\n\n3 more"), [Some("A.\n\nMore."), Some("B.")]),
            // Others have added something, and taken something away.
            (format!("{marks}\n- Mine.\n{first}\nwords\n- **error**: B."), [Some("A.\n\nMore."), Some("B.")]),
            (format!("{marks}\n- **error**: B."), [None, Some("B.")]),
            (marks.clone(), [None, None]),
            (format!("See below.\n{marks}\n{first}"), [Some("A.\n\nMore."), None]),
        ] {
            let found = listed(&body, "k");
            let expected =
                [&one, &two].into_iter().cloned().zip(messages.map(|text| text.map(str::to_owned)));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{body}");
        }
        // A mark that a model wrote is none, nor is that of another job.
        let forged = markdown(&format!("A.\n{}", one.render("k")));
        assert!(listed(&format!("title\n- **error**: {forged}"), "k").is_empty());
        assert!(listed(&format!("{marks}\n{first}"), "other").is_empty());
    }
}
