//! Judges the changes of a command, and then keeps or reverts them.

use std::collections::BTreeSet;

use workspace::{Judge, MAX_FILE, Proposed, WorkspacePath, may_write, source_of_bytecode};

use super::left_behind::LeftBehind;
use super::state::{Author, BaseState, Before, FoundChanges, Isolated};
use super::tool_folders::ToolFolders;
use super::{IsolatedRun, Keep, LostChanges, auto_loaded};
use crate::base::time_limit::TimeLimit;
use crate::base::verbose_log::detail;
use crate::command::Finished;
use crate::command::sandbox::Rights;
use crate::plan::{link_outside, outside};

/// Whose command it was.
#[derive(Clone, Copy)]
pub(super) struct CommandOrigin {
    /// Who wrote it.
    pub author: Author,
    /// Whether the agent may have a say in what it does.
    pub is_influenced: bool,
}

/// Why none of a command's changes were kept.
enum NotKept {
    /// They are not allowed, for these reasons.
    Refused(Vec<String>),
    /// They could not be kept.
    Lost(String),
}

impl From<Vec<String>> for NotKept {
    fn from(reasons: Vec<String>) -> Self {
        Self::Refused(reasons)
    }
}

/// Decides what becomes of a command's changes.
pub(super) struct Keeper {
    pub judge: Judge,
    pub time_limit: TimeLimit,
}

impl Keeper {
    /// Finds what a command changed, has it judged, and keeps or reverts it. Returns no state if it could not be
    /// brought back to what is below.
    pub(super) fn keep_changes(
        &self,
        mut isolated: Isolated,
        before: &Before,
        finished: Finished,
        below: &BaseState,
        (rights, keep): (Rights, Keep),
        by: CommandOrigin,
    ) -> (IsolatedRun, Option<Isolated>) {
        let mut found = match isolated.found(before, below, &self.time_limit) {
            Ok(found) => found,
            Err(error) => {
                return (IsolatedRun::lost(finished, error.to_string(), error.files()), None);
            }
        };
        let mut ran = IsolatedRun::unchanged(finished);
        let folders = isolated.tool_folders(&found, below);
        let mut reverted = take_bytecode(&mut found, &isolated, &folders, by);
        ran.dropped = dropped(&mut found, &isolated, &self.judge, &mut reverted);
        leave_out_rewritten(&mut found, &isolated, below, &self.judge);
        let left = left_behind(&found, &isolated, below, &folders, by);
        let overstepped = (rights == Rights::Look).then(|| overstepped(&found)).flatten();
        let kept = match keep {
            _ if overstepped.is_some() => Err(NotKept::Refused(overstepped.into_iter().collect())),
            Keep::Changes => self.keep_all(&mut isolated, &found, below, &mut ran),
            Keep::Outputs => self.keep_outputs(&mut isolated, &found, below),
            Keep::Nothing => Ok(()),
        };
        ran.has_left_files =
            keep != Keep::Nothing && matches!(below, BaseState::Real(_)) && !found.outputs.is_empty();
        let carried = keep == Keep::Changes && kept.is_ok() && matches!(below, BaseState::Real(_));
        let leaves_nothing = kept.is_err() || keep == Keep::Nothing;
        if !leaves_nothing {
            ran.built = left;
        }
        if let Err(reason) = kept {
            ran.changes = Vec::new();
            match reason {
                NotKept::Refused(reasons) => ran.refused = reasons,
                NotKept::Lost(reason) => {
                    ran.lost = Some(LostChanges { reason, files: Some(lost(&found, below)) });
                }
            }
        }
        let forgotten = if leaves_nothing { isolated.forget(before) } else { Ok(()) };
        let settled = forgotten
            .and_then(|()| isolated.settle(&found, below, carried))
            .and_then(|()| isolated.revert(&reverted, below));
        if let Err(error) = &settled {
            detail!("the throw-away state was reset: {error}");
        }
        (ran, settled.is_ok().then_some(isolated))
    }

    fn keep_all(
        &self,
        isolated: &mut Isolated,
        found: &FoundChanges,
        below: &BaseState,
        ran: &mut IsolatedRun,
    ) -> Result<(), NotKept> {
        let FoundChanges { changes, large, outputs, folders, .. } = found;
        let folders = &folders.iter().cloned().collect::<Vec<_>>();
        ran.warnings = (self.judge)(Proposed { changes, large, outputs, folders })?;
        if let Some(path) = found.large.first() {
            return Err(NotKept::Lost(too_large(path)));
        }
        let link = below.with(&found.changes).and_then(|all| link_outside(isolated.root(), &all));
        if let Some(link) = link.map_err(|error| NotKept::Lost(error.to_string()))? {
            return Err(NotKept::Refused(vec![outside(&link)]));
        }
        let left = isolated
            .carry(found, below, &self.time_limit)
            .map_err(|error| NotKept::Lost(error.to_string()))?;
        ran.dropped.extend(left);
        ran.changes.clone_from(&found.changes);
        Ok(())
    }

    fn keep_outputs(
        &self,
        isolated: &mut Isolated,
        found: &FoundChanges,
        below: &BaseState,
    ) -> Result<(), NotKept> {
        isolated.forget_folders(found);
        let BaseState::Real(tracked) = below else { return Ok(()) };
        (self.judge)(found.outputs_proposed())?;
        let outputs = found.outputs_alone();
        for left in isolated.carry_outputs(&outputs, tracked, &self.time_limit) {
            detail!("not kept: {left}");
        }
        Ok(())
    }
}

/// Returns the files whose changes are lost. New ones that no plan could hold are none: the agent is told, and what a build has
/// left in the checkout is nobody's work.
fn lost(found: &FoundChanges, below: &BaseState) -> Vec<WorkspacePath> {
    let is_new = |path: &WorkspacePath| found.large.contains(path) && below.size(path) == 0;
    found.files().into_iter().filter(|path| !is_new(path)).collect()
}

/// Returns the reason why changes with a file are not kept that no plan could hold. The rule is the same where changes are made at once.
fn too_large(path: &WorkspacePath) -> String {
    format!(
        "{path} is larger than {} MiB, which no plan or report can show; write what is no part of the project where Git ignores it",
        MAX_FILE >> 20
    )
}

/// Removes from `found` the sensitive files among build outputs. Returns descriptions of everything that is
/// never kept: those files, nested repositories, and names that are not UTF-8. Files that later commands are not to see are
/// added to `reverted`.
fn dropped(
    found: &mut FoundChanges,
    isolated: &Isolated,
    judge: &Judge,
    reverted: &mut Vec<WorkspacePath>,
) -> Vec<String> {
    let mut dropped: Vec<String> =
        found.repositories.iter().map(|path| format!("{path}: a separate repository")).collect();
    let is_refused =
        |path: &WorkspacePath| isolated.hides(path) || isolated.is_sensitive(path) && !may_write(judge, path);
    let (refused, kept): (Vec<_>, Vec<_>) =
        std::mem::take(&mut found.outputs).into_iter().partition(is_refused);
    found.outputs = kept;
    dropped.extend(refused.iter().map(|path| format!("{path}: a sensitive file")));
    reverted.extend(refused.into_iter().filter(|path| !isolated.hides(path)));
    dropped.extend(found.special.iter().map(|path| format!("{path}: a pipe, socket or device")));
    if found.unnamed > 0 {
        dropped.push(format!("{} with names that are not UTF-8", found.unnamed));
    }
    dropped
}

/// Removes from `found` the Python bytecode that a command has left, and returns it: no later program may trust it.
/// In folders of tools, that is kept of the agent's commands, which are doubted there, and of what installs the source with it.
fn take_bytecode(
    found: &mut FoundChanges,
    isolated: &Isolated,
    folders: &ToolFolders,
    by: CommandOrigin,
) -> Vec<WorkspacePath> {
    let all: BTreeSet<WorkspacePath> = std::mem::take(&mut found.outputs).into_iter().collect();
    let is_of_others = |path: &WorkspacePath| {
        by.author == Author::Trusted
            && by.is_influenced
            && workspace::is_bytecode(path)
            && source_of_bytecode(path).is_none_or(|source| !all.contains(&source))
    };
    let is_taken =
        |path: &&WorkspacePath| auto_loaded::is_bytecode_of_project(path, folders) || is_of_others(path);
    let bytecode: Vec<WorkspacePath> =
        all.iter().filter(is_taken).filter(|path| isolated.has(path)).cloned().collect();
    found.outputs = all.iter().filter(|path| bytecode.binary_search(path).is_err()).cloned().collect();
    bytecode
}

/// Returns what casts doubt on programs that run or load it later.
fn left_behind(
    found: &FoundChanges,
    isolated: &Isolated,
    below: &BaseState,
    folders: &ToolFolders,
    by: CommandOrigin,
) -> LeftBehind {
    let mut left = LeftBehind::default();
    for path in &found.outputs {
        // Without it, the source is read.
        if workspace::is_bytecode(path) && !isolated.has(path) {
            continue;
        }
        if isolated.has_link(path) {
            left.links.push(path.clone());
        }
        let is_auto_loaded = auto_loaded::is_auto_loaded(path, folders);
        // A gate installs tools for itself, but the tests that it runs may be the agent's.
        let is_tool = by.author == Author::Trusted
            && by.is_influenced
            && folders.of_tools(path).is_some()
            && !isolated.is_as_below(path, below);
        if is_tool && matches!(below, BaseState::Real(_)) && isolated.was_there(path, below) {
            left.replaced.push(path.clone());
        }
        if is_auto_loaded {
            left.auto_loaded.push(path.clone());
        }
        if by.author != Author::Trusted || is_auto_loaded || is_tool {
            left.files.push(path.clone());
        }
    }
    left
}

/// Leaves out build outputs that must not be changed and were not: `npm install` rewrites the hooks of Husky each time.
fn leave_out_rewritten(found: &mut FoundChanges, isolated: &Isolated, below: &BaseState, judge: &Judge) {
    if judge(found.outputs_proposed()).is_ok() {
        return;
    }
    found.outputs.retain(|path| may_write(judge, path) || !isolated.is_as_below(path, below));
}

/// Returns a reason for refusal if a command with read-only rights changed something. This happens only where
/// no sandbox held it back.
fn overstepped(found: &FoundChanges) -> Option<String> {
    let changes = found.changes.iter().map(|change| &change.path);
    let first = changes.chain(&found.large).chain(&found.outputs).next()?;
    Some(format!("it was classified as read-only, but it changed {first}"))
}
