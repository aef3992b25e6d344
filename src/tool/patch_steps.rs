//! Files as the parts of a patch leave them, one part after the other, before any of them is written.

use std::collections::HashMap;

use workspace::{FileError, FileState, Mode, ResolvedPath};

use super::Context;

/// One file as it will be.
pub(super) struct Step {
    pub(super) path: ResolvedPath,
    pub(super) before: Option<FileState>,
    pub(super) after: Option<FileState>,
    /// Whether it is a link, which can only be removed.
    pub(super) is_link: bool,
}

/// All files as they will be, in order. A large patch has tens of thousands.
#[derive(Default)]
pub(super) struct Steps {
    pub(super) all: Vec<Step>,
    by_path: HashMap<ResolvedPath, usize>,
    /// What was understood otherwise than it was written, for the model.
    pub(super) notes: Vec<String>,
}

impl Steps {
    pub(super) fn get(&self, path: &ResolvedPath) -> Option<&Step> {
        self.by_path.get(path).and_then(|at| self.all.get(*at))
    }

    pub(super) fn add(&mut self, step: Step) {
        self.by_path.insert(step.path.clone(), self.all.len());
        self.all.push(step);
    }

    /// Returns a file as the earlier parts leave it; a link is none.
    pub(super) fn current(&self, path: &ResolvedPath, cx: &Context) -> Result<FileState, FileError> {
        match self.get(path) {
            Some(step) => step.after.clone().ok_or_else(|| FileError::Missing((**path).clone())),
            None => cx.workspace.read(path),
        }
    }

    /// Notes what becomes of a file. What it was stays what it was before the first part.
    pub(super) fn set(&mut self, path: &ResolvedPath, before: Option<FileState>, after: Option<FileState>) {
        let known = self.by_path.get(path).and_then(|at| self.all.get_mut(*at));
        match known {
            Some(step) => step.after = after,
            None => self.add(Step { path: path.clone(), before, after, is_link: false }),
        }
    }
}

impl Step {
    pub(super) fn carry_out(&self, cx: &Context) -> Result<(), FileError> {
        let Some(after) = &self.after else { return cx.workspace.remove(&self.path) };
        if self.before.is_none() && after.mode != Mode::Regular {
            cx.workspace.place(&self.path, after)?;
        } else {
            cx.workspace.write(&self.path, &after.content)?;
        }
        cx.seen.note_written(&self.path, after);
        Ok(())
    }
}
