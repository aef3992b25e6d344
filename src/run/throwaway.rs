//! Throw-away states of a checkout for commands that belong to no run, such as those whose output lists the tasks of a
//! batch, or those that run tests on the old code.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use workspace::{
    DiskWorkspace, FileChange, FileError, OverlayWorkspace, Proposed, SensitiveFiles, WorkspaceLocation,
};

use super::shell_setup::{ShellContext, shell};
use crate::base::env::Variables;
use crate::command::sandbox::Sandbox;
use crate::command::{Shell, StandbySupervisor};
use crate::config::Config;
use crate::event::Events;
use crate::git::Repository;
use crate::guardrails::{tracked, tracked_files};
use crate::isolation::{BaseState, Isolation, IsolationSource};
use crate::plan::JournalFolder;
use crate::request::InputError;

/// What throw-away states of a checkout are made from.
pub(crate) struct Throwaway {
    disk: Arc<DiskWorkspace>,
    shell: Shell,
    source: IsolationSource,
}

impl Throwaway {
    /// Prepares states of a checkout. `keys` are variables that hold secrets besides those that look like it.
    pub(crate) fn new(
        checkout: &Path,
        repository: Option<&Repository>,
        config: &Config,
        variables: &Variables,
        keys: &[String],
    ) -> Result<Self, InputError> {
        let unusable = |error| InputError::Workspace { path: checkout.to_owned(), error };
        let disk = Arc::new(DiskWorkspace::open(checkout).map_err(unusable)?);
        let root = repository.map_or(checkout, Repository::root);
        let location = WorkspaceLocation::below(root, checkout);
        let sensitive =
            SensitiveFiles::new(config.guardrails.sensitive_files.as_deref(), tracked(repository), location)
                .map_err(InputError::rules)?;
        let temp = variables.get("RUNNER_TEMP").filter(|path| !path.is_empty());
        let temp = temp.map_or_else(std::env::temp_dir, PathBuf::from);
        let shell_context = ShellContext {
            workspace: disk.path(),
            sensitive: &sensitive,
            held: repository,
            temp: &temp,
            attached: &[],
            shared: &[],
        };
        let shell = shell(config, variables, keys, shell_context, &Events::new(Vec::new()))?;
        let sandbox = shell.sandbox.as_ref().map(Sandbox::trusted);
        let shell = Shell { sandbox, standby: StandbySupervisor::default(), ..shell };
        let source = IsolationSource {
            root: disk.path().to_owned(),
            temp,
            sensitive: Arc::new(sensitive),
            tracked: tracked_files(repository.cloned()),
            repository: repository.cloned(),
            around: None,
            shares_folders: false,
            // Nothing is ever carried out of it.
            journal: JournalFolder::default(),
        };
        Ok(Self { disk, shell, source })
    }

    /// Returns the checkout as it is.
    pub(crate) fn disk(&self) -> &DiskWorkspace {
        &self.disk
    }

    /// Returns which files commands do not see.
    pub(crate) fn sensitive(&self) -> &SensitiveFiles {
        &self.source.sensitive
    }

    /// Returns a state of the checkout with some changes; nothing that is written to it is ever kept.
    pub(crate) fn state(&self, changes: &[FileChange]) -> Result<Isolation, FileError> {
        let planned = OverlayWorkspace::new(Arc::clone(&self.disk));
        planned.absorb(changes)?;
        let below = BaseState::Planned(Arc::new(planned));
        let judge = Arc::new(|_: Proposed<'_>| Ok(Vec::new()));
        Ok(Isolation::new(below, self.source.clone(), self.shell.clone(), Events::new(Vec::new()), judge))
    }
}
