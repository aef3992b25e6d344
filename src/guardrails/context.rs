//! Context of the guardrails: what they need to know about a run.

use std::path::Path;
use std::sync::LazyLock;

use workspace::{ProgramFiles, Tracked, WorkspaceLocation};

use crate::base::time_limit::TimeLimit;

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
    /// Whether workflows may be written.
    pub allow_workflow_edits: bool,
    /// Whether dangerous commands are refused.
    pub allowed_only: bool,
    /// The files that Git tracks.
    pub tracked: Tracked,
    /// The time of the run, after which nothing is checked any more.
    pub time_limit: TimeLimit,
}

impl Default for GuardrailContext<'_> {
    fn default() -> Self {
        let (config_file, allow_workflow_edits, allowed_only) = (None, false, false);
        let tracked = Tracked::default();
        let (root, programs) = (Path::new("."), &*NO_PROGRAMS);
        let git_configured = ProgramFiles::default();
        let location = WorkspaceLocation::default();
        Self {
            root,
            location,
            config_file,
            programs,
            git_configured,
            allow_workflow_edits,
            allowed_only,
            tracked,
            time_limit: TimeLimit::default(),
        }
    }
}
