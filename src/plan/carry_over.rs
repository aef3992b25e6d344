//! Carrying a plan over to a branch that has moved since the plan was made: by further commits, a rebase or a forced push.
//!
//! A planned file that is as the plan found it keeps its planned change, byte by byte. One that others have changed is merged
//! three ways, where that is possible without conflicts. No model is involved. What results is another plan with another
//! digest, which names the one before.

use workspace::{DiskWorkspace, FileChange, FileError, FileState, Mode, Operation, WorkspacePath};

use super::file::{CarriedOver, Plan};
use super::merge::merged;
use super::planned_file::{Damaged, PlanFile};
use crate::event::Base;

/// Reason why a plan is not carried over.
#[derive(Debug, thiserror::Error)]
pub enum CarryOverError {
    /// A file was changed by others, and may not be merged.
    #[error("{0} has changed since the plan was made, and `apply.follow` is `unchanged`; make a new plan")]
    Changed(WorkspacePath),
    /// Both sides changed the same lines or adjacent ones, or the file is none that can be merged.
    #[error(
        "{0} has changed since the plan was made, in a way that conflicts with the plan; make a new plan"
    )]
    Conflict(WorkspacePath),
    /// The content that the plan was made from could not be read.
    #[error(
        "{0} has changed since the plan was made, and its earlier content could not be read for a merge; make a \
         new plan"
    )]
    NoBase(WorkspacePath),
    /// A file's content is not what the plan promises.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Plan {
    /// Returns the planned files that are neither as the plan found them nor as it leaves them.
    pub fn changed_since(&self, disk: &DiskWorkspace) -> Result<Vec<&PlanFile>, FileError> {
        let mut changed = Vec::new();
        for file in &self.files {
            let now = disk.state_of(&file.path)?;
            if !file.is_before(now.as_ref()) && !file.is_after(now.as_ref()) {
                changed.push(file);
            }
        }
        Ok(changed)
    }

    /// Returns the plan for the checkout as it is now, at `base`. `from` is the commit that this plan was made for;
    /// `earlier` returns the content of a file that the plan was made from, which nobody has to be trusted for: its hash is
    /// in the plan. `committed` returns the state of a file at `base`, if it can be read.
    pub fn carry_over(
        &self,
        disk: &DiskWorkspace,
        from: &str,
        base: Base,
        earlier: impl Fn(&WorkspacePath) -> Option<Vec<u8>>,
        committed: impl Fn(&WorkspacePath) -> Option<FileState>,
    ) -> Result<Self, CarryOverError> {
        let changed: Vec<&WorkspacePath> = self.changed_since(disk)?.iter().map(|file| &file.path).collect();
        let (mut files, mut merged) = (Vec::new(), Vec::new());
        for file in &self.files {
            if !changed.contains(&&file.path) {
                files.push(file.clone());
                continue;
            }
            let mut now = disk.state_of(&file.path)?;
            let after = merge(file, now.as_ref(), || earlier(&file.path))?;
            merged.push(file.path.clone());
            if now.as_ref() == Some(&after) {
                // The checkout may have the planned change from an attempt that could not deliver it.
                now = committed(&file.path);
                if merge(file, now.as_ref(), || earlier(&file.path))? != after {
                    return Err(CarryOverError::Conflict(file.path.clone()));
                }
            }
            // Another change of the file may have made the planned change as well.
            files.extend(
                FileChange::new(file.path.clone(), now, Some(after)).map(|change| PlanFile::new(&change)),
            );
        }
        let carried_over = CarriedOver { digest: self.digest.clone(), commit: from.to_owned(), merged };
        let mut plan = Self {
            base: Some(base),
            files,
            carried_over: Some(carried_over),
            // They ran on another state.
            gates: Vec::new(),
            ..self.clone()
        };
        plan.seal();
        Ok(plan)
    }
}

/// Merges the planned change of a file with what others have made of it.
fn merge(
    file: &PlanFile,
    now: Option<&FileState>,
    earlier: impl Fn() -> Option<Vec<u8>>,
) -> Result<FileState, CarryOverError> {
    let conflict = || CarryOverError::Conflict(file.path.clone());
    let is_as_planned = |now: &&FileState| now.mode == file.mode || file.mode_before() == Some(file.mode);
    let now = now.filter(|now| file.op == Operation::Modify && is_as_planned(now)).ok_or_else(conflict)?;
    if now.mode == Mode::Link {
        return Err(conflict());
    }
    let mode = file.mode_before().unwrap_or(now.mode);
    let before = earlier().map(|content| FileState { content: content.into(), mode });
    let before = before.filter(|before| file.is_before(Some(before)));
    let before = before.ok_or_else(|| CarryOverError::NoBase(file.path.clone()))?;
    let after = file.after(Some(&before))?.ok_or_else(conflict)?;
    let states = [&before.content, &after.content, &now.content];
    if states.iter().any(|content| content.contains(&0)) {
        return Err(conflict());
    }
    let content = merged(&before.content, &after.content, &now.content).ok_or_else(conflict)?;
    Ok(FileState { content: content.into(), mode: now.mode })
}
