//! Changes of a run as its report and its plan tell of them. They are gone through once, file by file, so that the texts of thousands
//! are never in memory together.

use std::ops::ControlFlow;

use workspace::{ChangeSet, FileChange, FileDiff, FileError, Workspace};

use crate::base::time_limit::{Grace, TimeLimit};
use crate::event::{ChangeSizeLimit, RunMode};
use crate::plan::{PatchText, PlanFile, WholePatch};
use crate::publish::needs_contents;
use crate::report::FileSummary;
use crate::request::JobRequest;

/// What is told of the changes.
#[derive(Default)]
pub(super) struct Gathered {
    /// All files. Of big changes, only the first are told.
    pub(super) files: Vec<FileSummary>,
    /// Files of the plan of a dry run.
    pub(super) planned: Vec<PlanFile>,
    pub(super) patch: WholePatch,
    /// The changes themselves, if they are to be published.
    pub(super) contents: ChangeSet,
    /// Number of files that are only named, because there was no time for more. There is neither plan nor patch then.
    pub(super) not_compared: usize,
    size_limit: ChangeSizeLimit,
}

impl Gathered {
    /// Gathers the changes of a workspace, to which `prefix` is the way from the repository, as far as there is time.
    pub(super) fn of(
        workspace: &dyn Workspace,
        request: &JobRequest,
        prefix: &str,
        time_limit: &TimeLimit,
    ) -> Result<Self, FileError> {
        let mut gathered = Self::default();
        let is_planned = request.mode == RunMode::DryRun;
        let are_needed = needs_contents(request);
        let mut contents = Vec::new();
        let mut is_cut = false;
        workspace.visit_changes(&|_| true, &mut |change| {
            is_cut = time_limit.is_over(Grace::Report);
            if is_cut {
                return ControlFlow::Break(());
            }
            gathered.add(&change, is_planned, prefix);
            if are_needed {
                contents.push(change);
            }
            ControlFlow::Continue(())
        })?;
        if !is_cut {
            return Ok(Self { contents: ChangeSet::new(contents), ..gathered });
        }
        let last = gathered.files.last().map(|file| file.path.clone());
        let named =
            workspace.touched()?.into_iter().filter(|(path, _)| last.as_ref().is_none_or(|last| path > last));
        let named: Vec<FileSummary> = named.map(|(path, op)| FileSummary::not_compared(path, op)).collect();
        let not_compared = named.len();
        let files = gathered.files.into_iter().chain(named).collect();
        Ok(Self { files, not_compared, ..Self::default() })
    }

    fn add(&mut self, change: &FileChange, is_planned: bool, prefix: &str) {
        let found = FileDiff::of(change);
        let patch = found.git_patch(prefix);
        let spooled = self.patch.add(change, &patch);
        if is_planned {
            // The paths of a plan begin at the workspace.
            self.planned.push(PlanFile::of(&found, || {
                if prefix.is_empty() {
                    return PatchText::spooled(&patch, spooled);
                }
                let own = found.git_patch("");
                PatchText::spooled(&own, self.patch.put(&own))
            }));
        }
        let mut summary = FileSummary::new(&found);
        self.size_limit.fit(&mut summary.diff);
        self.files.push(summary);
    }
}
