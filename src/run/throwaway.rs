//! Throw-away state of a checkout for commands that belong to no run, such as those whose output lists the tasks of a
//! batch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::prepare::tracked_files;
use super::shell_setup::{Ground, shell};
use crate::base::env::Variables;
use crate::command::sandbox::Sandbox;
use crate::command::{Shell, Spare};
use crate::config::Config;
use crate::event::Events;
use crate::git::Repository;
use crate::isolation::Isolation;
use crate::request::InputError;
use crate::workspace::{Below, DiskWorkspace, OverlayWorkspace, PathGlobs, Plot};

/// Returns the state; nothing that is written to it is ever kept. `keys` are variables that hold secrets besides those
/// that look like it.
pub(crate) fn throwaway(
    checkout: &Path,
    repository: Option<&Repository>,
    config: &Config,
    variables: &Variables,
    keys: &[String],
) -> Result<Isolation, InputError> {
    let unusable = |error| InputError::Workspace { path: checkout.to_owned(), error };
    let disk = Arc::new(DiskWorkspace::open(checkout).map_err(unusable)?);
    let sensitive = PathGlobs::parse(&config.guardrails.sensitive_files).map_err(InputError::rules)?;
    let temp = variables.get("RUNNER_TEMP").filter(|path| !path.is_empty());
    let temp = temp.map_or_else(std::env::temp_dir, PathBuf::from);
    let events = Events::new(Vec::new());
    let ground = Ground {
        workspace: disk.path(),
        sensitive: &sensitive,
        held: repository,
        temp: &temp,
        readable: &[],
    };
    let shell = shell(config, variables, keys, ground, &events)?;
    let sandbox = shell.sandbox.as_ref().map(Sandbox::trusted);
    let shell = Shell { sandbox, spare: Spare::default(), ..shell };
    let plot = Plot {
        root: disk.path().to_owned(),
        temp,
        sensitive: Arc::new(sensitive),
        tracked: tracked_files(repository.cloned()),
        repository: repository.cloned(),
        around: None,
    };
    let below = Below::Planned(Arc::new(OverlayWorkspace::new(disk)));
    Ok(Isolation::new(below, plot, shell, events, Arc::new(|_, _| Ok(Vec::new()))))
}
