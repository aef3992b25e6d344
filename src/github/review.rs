//! Suggestions on a pull request: posts new ones as one review, never posts one twice, and resolves those
//! that are no longer planned.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{ChangeSet, FileChange, FileState};

use super::api::Api;
use super::error::ApiError;
use super::operation::{Method, REVIEW};
use super::review_threads::{State, Thread, threads};
use super::suggestion::{MARKER, Suggestion, commentable, suggestions};
use crate::base::text::counted;
use crate::base::verbose_log::detail;

/// Maximum number of open suggestions on a pull request at a time.
const MAX_SUGGESTIONS: usize = 30;

/// A pull request to post suggestions on.
#[derive(Clone, Debug)]
pub struct Review<'a> {
    /// The number of the pull request.
    pub number: u64,
    /// The commit at its head.
    pub head: &'a str,
    /// The key that distinguishes our suggestions from those of other jobs.
    pub key: &'a str,
    /// The origin of the suggestions, as one line of neutralized Markdown.
    pub origin: &'a str,
    /// The path from the repository's root to the workspace: empty, or ending in `/`.
    pub prefix: &'a str,
    /// Maximum number of suggestions that are there.
    pub most: usize,
}

/// Counts of what became of the suggestions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suggested {
    /// New suggestions.
    pub posted: usize,
    /// Suggestions that are open already, or that somebody has resolved.
    pub known: usize,
    /// Suggestions that we resolved, because they are outdated or no longer planned.
    pub resolved: usize,
    /// Suggestions that GitHub rejected or that exceed the limit.
    pub left_out: usize,
}

/// A file of the pull request's diff.
#[derive(Deserialize)]
struct File {
    filename: String,
    /// The id of the file's blob at the head.
    #[serde(default)]
    sha: Option<String>,
    #[serde(default)]
    patch: Option<String>,
}

/// Returns what stands behind the beginning of a marker, if that is nothing but hashes.
fn hashes_of<'a>(marker: &'a str, beginning: &str) -> Option<&'a str> {
    let rest = marker.strip_prefix(beginning).and_then(|rest| rest.strip_suffix(" -->"));
    rest.filter(|hashes| !hashes.contains(' '))
}

/// Returns, for each suggestion, the index of the one that stands already in its place: by the lines around it, or, as these
/// change as well, another one of the same lines that stands for no other suggestion and, by its index and the hash of its own
/// place, `may_move` there. Both are given by their hashes.
fn standing(
    wanted: &[(&str, &str)],
    posted: &[Option<&str>],
    may_move: &dyn Fn(usize, usize, &str) -> bool,
) -> Vec<Option<usize>> {
    let mut found = vec![None; wanted.len()];
    for is_exact in [true, false] {
        for (index, (id, place)) in wanted.iter().enumerate() {
            if found[index].is_some() {
                continue;
            }
            let is_meant = |at: usize, hashes: &str| {
                let (other, around) = hashes.split_once('-').unwrap_or((hashes, ""));
                other == *id && (around == *place || !is_exact && may_move(index, at, around))
            };
            let is_free = |at: usize| {
                posted[at].is_some_and(|hashes| is_meant(at, hashes)) && !found.contains(&Some(at))
            };
            found[index] = (0..posted.len()).find(|at| is_free(*at));
        }
    }
    found
}

impl Review<'_> {
    /// Posts those changes that fall on lines of the pull request's diff, and resolves earlier suggestions
    /// that are outdated or no longer planned.
    pub async fn post(&self, api: &Api, changes: &ChangeSet) -> Result<Suggested, ApiError> {
        let wanted = self.fitting(api, changes).await?;
        let ours = format!("{MARKER}{} ", self.key);
        let mut threads = threads(api, self.number, &ours).await?;
        // Another job's key may begin with ours and a blank.
        threads.retain(|thread| hashes_of(&thread.marker, &ours).is_some());
        let mut sum = Suggested::default();
        let stands = |thread: &Thread| !matches!(thread.state, State::Outdated | State::Withdrawn);
        let standing_threads = threads.iter().map(|thread| Some(thread).filter(|thread| stands(thread)));
        let posted: Vec<Option<&str>> =
            standing_threads.map(|thread| hashes_of(&thread?.marker, &ours)).collect();
        let ids: Vec<(&str, &str)> =
            wanted.iter().map(|found| (found.id.as_str(), found.place.as_str())).collect();
        // A thread about lines that have changed, or about another place of the file that still is there, says nothing of this one.
        let may_move = |index: usize, at: usize, place: &str| {
            !threads[at].is_outdated && !wanted[index].elsewhere.iter().any(|other| other == place)
        };
        let known = standing(&ids, &posted, &may_move);
        for (at, thread) in threads.iter().enumerate() {
            thread.keep_reopened(api).await;
            let goes = match thread.state {
                State::Open => !known.contains(&Some(at)),
                State::Outdated => true,
                // What people have reopened is theirs.
                State::Settled | State::Withdrawn | State::Reopened | State::Kept => false,
            };
            if goes {
                match thread.withdraw(api).await {
                    Ok(()) => sum.resolved += 1,
                    Err(error) => detail!("could not resolve a suggestion: {error}"),
                }
            }
        }
        let is_open = |at: &&usize| threads[**at].state == State::Open;
        let left = known.iter().flatten().filter(is_open).count();
        let space = MAX_SUGGESTIONS.min(self.most).saturating_sub(left);
        let is_new = wanted.into_iter().zip(&known).filter(|(_, known)| known.is_none());
        let mut new: Vec<Suggestion> = is_new.map(|(found, _)| found).collect();
        sum.known = known.len() - new.len();
        sum.left_out = new.len().saturating_sub(space);
        new.truncate(space);
        if new.is_empty() {
            return Ok(sum);
        }
        match self.together(api, &new, new.len() + sum.left_out).await {
            Ok(()) => sum.posted = new.len(),
            // A single anchor that GitHub rejects fails the whole review.
            Err(error) if error.status() == Some(422) => {
                for one in &new {
                    match self.alone(api, one).await {
                        Ok(()) => sum.posted += 1,
                        Err(error) if error.status() == Some(422) => sum.left_out += 1,
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(sum)
    }

    /// Returns the suggestions that lie within the pull request's diff.
    async fn fitting(&self, api: &Api, changes: &ChangeSet) -> Result<Vec<Suggestion>, ApiError> {
        let files: Vec<File> = api.list(&format!("/pulls/{}/files", self.number), REVIEW).await?;
        let files: HashMap<&str, &File> = files.iter().map(|file| (file.filename.as_str(), file)).collect();
        let of = |change: &FileChange| {
            let path = format!("{}{}", self.prefix, change.path);
            let file = files.get(path.as_str())?;
            // Line numbers are valid only if the plan was made on exactly the head's version of the file: a
            // checkout of the merge commit may differ.
            if file.sha != change.before.as_ref().map(FileState::blob_id) {
                return None;
            }
            Some(suggestions(change, &path, &commentable(file.patch.as_deref()?)))
        };
        Ok(changes.iter().filter_map(of).flatten().collect())
    }

    /// Posts suggestions as one review, which says of how many that are new.
    async fn together(&self, api: &Api, suggestions: &[Suggestion], all: usize) -> Result<(), ApiError> {
        let comments: Vec<Value> = suggestions.iter().map(|one| self.anchored(one)).collect();
        let body = json!({
            "commit_id": self.head,
            "event": "COMMENT",
            "body": format!("{}: {}", self.origin, suggestion_count(suggestions.len(), all)),
            "comments": comments,
        });
        let path = format!("/pulls/{}/reviews", self.number);
        api.send::<Value>(Method::Post, &path, Some(&body), REVIEW).await.map(drop)
    }

    /// Posts one suggestion as a comment of its own.
    async fn alone(&self, api: &Api, suggestion: &Suggestion) -> Result<(), ApiError> {
        let mut body = self.anchored(suggestion);
        body["commit_id"] = json!(self.head);
        let path = format!("/pulls/{}/comments", self.number);
        api.send::<Value>(Method::Post, &path, Some(&body), REVIEW).await.map(drop)
    }

    /// Builds the comment with its anchor, a range of lines at the head.
    fn anchored(&self, suggestion: &Suggestion) -> Value {
        let Suggestion { path, first, last, .. } = suggestion;
        let body = suggestion.body(self.key, self.origin);
        let mut comment = json!({"path": path, "body": body, "line": last, "side": "RIGHT"});
        if first < last {
            comment["start_line"] = json!(first);
            comment["start_side"] = json!("RIGHT");
        }
        comment
    }
}

/// Returns the number of suggestions, and of how many in the plan they are if these are not all.
fn suggestion_count(count: usize, all: usize) -> String {
    let all_of_them = counted(all, "suggestion", "s");
    if count == all { all_of_them } else { format!("{count} of {all_of_them}; the others are in the plan") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_of_another_job_are_not_ours() {
        let ours = format!("{MARKER}docs ");
        assert_eq!(hashes_of(&format!("{MARKER}docs 1a2b-3c -->"), &ours), Some("1a2b-3c"));
        assert_eq!(hashes_of(&format!("{MARKER}docs style 1a2b -->"), &ours), None);
        assert_eq!(hashes_of(&format!("{MARKER}doc 1a2b -->"), &ours), None);
    }

    #[test]
    fn what_is_settled_at_another_place_is_not_settled_here() {
        let may_move = |_: usize, at: usize, place: &str| at != 0 && place != "2";
        for (posted, expected) in [
            (&[Some("a-1")][..], None),
            (&[None, Some("a-1")], Some(1)),
            (&[None, Some("a-2")], None),
            (&[Some("a-3"), None], Some(0)),
        ] {
            assert_eq!(standing(&[("a", "3")], posted, &may_move), [expected], "{posted:?}");
        }
    }

    #[test]
    fn equal_lines_have_suggestions_of_their_own() {
        for (wanted, posted, expected) in [
            // Another place of the same lines, before and behind the one that has its suggestion.
            (&[("a", "1"), ("a", "2")][..], &[Some("a-1")][..], &[Some(0), None][..]),
            (&[("a", "1"), ("a", "2")], &[Some("a-2")], &[None, Some(0)]),
            // One place of two is no longer planned, which leaves its suggestion to nobody.
            (&[("a", "2")], &[Some("a-1"), Some("a-2")], &[Some(1)]),
            // The lines around it have changed; the second form is that of an earlier version.
            (&[("a", "3")], &[Some("a-1")], &[Some(0)]),
            (&[("a", "3")], &[Some("a")], &[Some(0)]),
            // Places that look the same all around.
            (&[("a", "1"), ("a", "1")], &[Some("a-1"), Some("a-1")], &[Some(0), Some(1)]),
            (&[("a", "1")], &[None, Some("b-1")], &[None]),
        ] {
            assert_eq!(standing(wanted, posted, &|_, _, _| true), expected, "{wanted:?} {posted:?}");
        }
    }

    #[test]
    fn people_are_told_of_how_many_suggestions_they_see_some() {
        for (count, all, expected) in [
            (1, 1, "1 suggestion"),
            (30, 30, "30 suggestions"),
            (30, 600, "30 of 600 suggestions; the others are in the plan"),
        ] {
            assert_eq!(suggestion_count(count, all), expected);
        }
    }
}
