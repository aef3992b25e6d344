//! Edits that a recipe makes by itself: `replace` and `rewrite`, compiled once and applied to many files at a time.

use std::thread;

use regex::Regex;
use rewrite::{Language, Rewrite, RewriteError};

use super::file::Action;
use super::select::SelectError;
use crate::tool::Context;
use crate::workspace::{LastLink, WorkspacePath};

/// Compiled edit.
pub(super) enum Edit {
    Replace(Regex, String),
    Rewrite(Box<Rewrite>),
    /// The action is a call of a tool.
    Nothing,
}

/// What becomes of a file.
pub(super) enum Outcome {
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
    pub(super) text: String,
    /// Places that a structural rule has replaced.
    pub(super) matches: usize,
}

impl Edit {
    /// Compiles the edit of an action.
    pub(super) fn of(action: &Action) -> Result<Self, SelectError> {
        Ok(match (&action.replace, &action.rewrite) {
            (Some(replace), _) => Self::Replace(Regex::new(&replace.pattern)?, replace.with.clone()),
            (None, Some(rule)) => Self::Rewrite(Box::new(Rewrite::new(rule)?)),
            (None, None) => Self::Nothing,
        })
    }

    /// Returns what becomes of each file, in their order. The files are worked on by as many
    /// threads as the machine has.
    pub(super) fn apply_to(
        &self,
        files: &[WorkspacePath],
        cx: &Context,
    ) -> Vec<(WorkspacePath, Result<Outcome, SelectError>)> {
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let share = files.len().div_ceil(threads).max(1);
        let apply = |files: &[WorkspacePath]| -> Vec<_> {
            files.iter().map(|file| (file.clone(), self.apply(file, cx))).collect()
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

    fn apply(&self, file: &WorkspacePath, cx: &Context) -> Result<Outcome, SelectError> {
        let path = cx.workspace.resolve(file, LastLink::Follow)?;
        let state = cx.workspace.read(&path)?;
        let Ok(text) = std::str::from_utf8(&state.content) else {
            return Ok(Outcome::NotText);
        };
        let mut has_syntax_error = false;
        let edited = match self {
            Self::Replace(pattern, with) => {
                let replaced = pattern.replace_all(text, with.as_str()).into_owned();
                Edited { text: replaced, matches: 0 }
            }
            Self::Rewrite(rewrite) => {
                let Some(language) = file.file_name().and_then(Language::of) else {
                    return Ok(Outcome::Unchanged);
                };
                match rewrite.apply(language, text) {
                    Ok(done) => {
                        has_syntax_error = done.has_syntax_error;
                        Edited { text: done.text, matches: done.matches.len() }
                    }
                    Err(RewriteError::OtherLanguage(_)) => return Ok(Outcome::Unchanged),
                    Err(error) => return Err(error.into()),
                }
            }
            Self::Nothing => return Ok(Outcome::Unchanged),
        };
        if edited.text == text {
            return Ok(if has_syntax_error { Outcome::DoesNotParse } else { Outcome::Unchanged });
        }
        cx.seen.note(&path, &state);
        Ok(Outcome::Edited(edited))
    }
}
