//! Context of the guardrails: what they need to know about a run.

use std::path::Path;
use std::sync::LazyLock;

use workspace::{ProgramFiles, Tracked, WorkspaceLocation};

use super::git_configured::git_configured_files;
use super::local_actions::local_actions;
use super::tracked::tracked;
use crate::base::time_limit::TimeLimit;
use crate::git::Repository;

/// No programs, where nothing is started.
static NO_PROGRAMS: LazyLock<ProgramFiles> = LazyLock::new(ProgramFiles::default);

/// What the guardrails have to know about the run.
#[derive(Clone, Debug)]
pub struct GuardrailContext<'a> {
    /// Path of the workspace.
    pub root: &'a Path,
    /// Where it is in the repository: rules are about paths from the repository's root.
    pub location: WorkspaceLocation,
    /// Configuration file that was used, relative to the workspace, to the repository or to a folder between them.
    pub config_file: Option<&'a str>,
    /// Programs of hooks, models and MCP servers that are files of the workspace.
    pub programs: &'a ProgramFiles,
    /// Paths of the workspace that Git runs or reads because the repository's settings name them.
    pub git_configured: ProgramFiles,
    /// Paths of the workspace that workflows run as actions.
    pub local_actions: ProgramFiles,
    /// Whether workflows may be written.
    pub allow_workflow_edits: bool,
    /// Whether dangerous commands are refused.
    pub allowed_only: bool,
    /// The files that Git tracks.
    pub tracked: Tracked,
    /// The time of the run, after which nothing is checked any more.
    pub time_limit: TimeLimit,
}

impl<'a> GuardrailContext<'a> {
    /// Creates a context of a workspace with all that its repository names.
    pub(crate) fn of_repository(repository: Option<&Repository>, root: &'a Path) -> Self {
        Self {
            root,
            git_configured: git_configured_files(repository, root),
            local_actions: local_actions(repository, root),
            tracked: tracked(repository),
            ..Self::default()
        }
    }
}

impl Default for GuardrailContext<'_> {
    fn default() -> Self {
        let (config_file, allow_workflow_edits, allowed_only) = (None, false, false);
        let tracked = Tracked::default();
        let (root, programs) = (Path::new("."), &*NO_PROGRAMS);
        let (git_configured, local_actions) = (ProgramFiles::default(), ProgramFiles::default());
        let location = WorkspaceLocation::default();
        Self {
            root,
            location,
            config_file,
            programs,
            git_configured,
            local_actions,
            allow_workflow_edits,
            allowed_only,
            tracked,
            time_limit: TimeLimit::default(),
        }
    }
}
