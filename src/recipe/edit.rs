//! Edits that a recipe makes by itself: `replace`, `rewrite` and `manifest`, compiled once and applied to many files at a time.

use std::thread;

use manifest::{EditedPlace, ManifestEdit};
use regex::{Captures, Regex};
use rewrite::{Language, Match, Rewrite, RewriteError};
use workspace::{LastLink, Spool, Spooled, WorkspacePath};

use super::file::Action;
use super::problem::Problem;
use super::replacement::unknown_group;
use super::select::SelectError;
use crate::tool::Context;

/// Compiled edit.
pub(super) enum Edit {
    Replace(Regex, String),
    Rewrite(Box<Rewrite>),
    Manifest(Box<ManifestEdit>),
    /// The action is a call of a tool.
    Nothing,
}

/// What becomes of a file, and the lines of matches in it that stay as they are.
pub(super) type FileOutcome = Result<(EditOutcome, Vec<usize>), SelectError>;

/// What becomes of a file.
pub(super) enum EditOutcome {
    /// It stays as it is: nothing matches, or the rule is for another language.
    Unchanged,
    /// It stays as it is because it is not UTF-8.
    NotText,
    /// It stays as it is; it has a syntax error, so that a structural rule may have missed something.
    DoesNotParse,
    Edited(Edited),
}

/// File as it is to be.
pub(super) struct Edited {
    pub(super) text: Spooled,
    /// What was changed, in order.
    pub(super) places: Vec<ChangedPlace>,
}

/// Place that was changed: a match, by its line and column, or a value of a manifest, by its path and the lines that it stands in.
pub(super) struct ChangedPlace {
    pub(super) line: Option<usize>,
    pub(super) column: Option<usize>,
    pub(super) key: Option<String>,
    pub(super) before: String,
    pub(super) after: String,
}

impl Edit {
    /// Compiles the edit of an action.
    pub(super) fn of(action: &Action) -> Result<Self, Problem> {
        Ok(if let Some(replace) = &action.replace {
            let pattern = Regex::new(&replace.pattern)?;
            if let Some(name) = unknown_group(&pattern, &replace.with) {
                return Err(Problem::UnknownGroup(name));
            }
            Self::Replace(pattern, replace.with.clone())
        } else if let Some(rule) = &action.rewrite {
            Self::Rewrite(Box::new(Rewrite::new(rule).map_err(|error| Problem::Rewrite(Box::new(error)))?))
        } else if let Some(rule) = &action.manifest {
            let edit = ManifestEdit::new(rule).map_err(|error| Problem::Manifest(Box::new(error)))?;
            Self::Manifest(Box::new(edit))
        } else {
            Self::Nothing
        })
    }

    /// Returns what becomes of each file, in their order; the texts are in the spool. The files are worked on by as many threads as
    /// the machine has.
    pub(super) fn apply_to(
        &self,
        files: &[WorkspacePath],
        cx: &Context,
        spool: &Spool,
    ) -> Vec<(WorkspacePath, FileOutcome)> {
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let share = files.len().div_ceil(threads).max(1);
        let apply = |files: &[WorkspacePath]| -> Vec<_> {
            files.iter().map(|file| (file.clone(), self.apply(file, cx, spool))).collect()
        };
        thread::scope(|scope| {
            let mut shares = files.chunks(share);
            let first = shares.next().unwrap_or_default();
            let others: Vec<_> = shares
                // Where no thread can be had, this one does the work.
                .map(|files| (files, thread::Builder::new().spawn_scoped(scope, move || apply(files))))
                .collect();
            let mut all = apply(first);
            for (files, worker) in others {
                let done = worker.ok().and_then(|worker| worker.join().ok());
                all.extend(done.unwrap_or_else(|| apply(files)));
            }
            all
        })
    }

    fn apply(&self, file: &WorkspacePath, cx: &Context, spool: &Spool) -> FileOutcome {
        let unchanged = |outcome| Ok((outcome, Vec::new()));
        let path = cx.workspace.resolve(file, LastLink::Follow)?;
        let state = cx.workspace.read(&path)?;
        let Ok(text) = std::str::from_utf8(&state.content) else {
            return unchanged(EditOutcome::NotText);
        };
        let (mut has_syntax_error, mut left) = (false, Vec::new());
        let (edited, places) = match self {
            Self::Replace(pattern, with) => replaced(pattern, with, text),
            Self::Rewrite(rewrite) => {
                let name = file.file_name().unwrap_or_default();
                let Some(language) = Language::of(name) else {
                    return unchanged(EditOutcome::Unchanged);
                };
                match rewrite.apply_until((language, name), text, &|| cx.cancel.is_cancelled()) {
                    Ok(done) => {
                        (has_syntax_error, left) = (done.has_syntax_error, done.left);
                        let places = done.matches.into_iter().map(ChangedPlace::of_match).collect();
                        (done.text, places)
                    }
                    Err(RewriteError::OtherLanguage(_)) => return unchanged(EditOutcome::Unchanged),
                    Err(error) => return Err(error.into()),
                }
            }
            Self::Manifest(edit) => {
                let done = edit.apply(file.as_str(), text)?;
                (done.text, done.places.into_iter().map(ChangedPlace::of_value).collect())
            }
            Self::Nothing => return unchanged(EditOutcome::Unchanged),
        };
        if edited == text {
            let outcome = if has_syntax_error { EditOutcome::DoesNotParse } else { EditOutcome::Unchanged };
            return Ok((outcome, left));
        }
        cx.seen.note(&path, &state);
        Ok((EditOutcome::Edited(Edited { text: spool.put(edited.as_bytes()), places }), left))
    }
}

/// Replaces all matches of a pattern. Returns the text, and what was replaced.
fn replaced(pattern: &Regex, with: &str, text: &str) -> (String, Vec<ChangedPlace>) {
    let mut places = Vec::new();
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    let replaced = pattern.replace_all(text, |found: &Captures<'_>| {
        let mut after = String::new();
        found.expand(with, &mut after);
        let Some(whole) = found.get(0) else { return after };
        for (offset, _) in text[at..whole.start()].match_indices('\n') {
            line += 1;
            line_start = at + offset + 1;
        }
        at = whole.start();
        if whole.as_str() != after {
            places.push(ChangedPlace {
                line: Some(line),
                column: Some(text[line_start..at].chars().count() + 1),
                key: None,
                before: whole.as_str().to_owned(),
                after: after.clone(),
            });
        }
        after
    });
    (replaced.into_owned(), places)
}

impl ChangedPlace {
    fn of_match(found: Match) -> Self {
        let Match { line, column, text, replacement } = found;
        let after = replacement.unwrap_or_default();
        Self { line: Some(line), column: Some(column), key: None, before: text, after }
    }

    fn of_value(place: EditedPlace) -> Self {
        let EditedPlace { path, line, before, after } = place;
        Self { line: Some(line), column: None, key: Some(path), before, after }
    }
}
