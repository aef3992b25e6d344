//! Files and folders that a run needs besides its configuration.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::context::border;
use super::gate::without_links;
use super::{InputError, Inputs};
use crate::base::error::chain;
use crate::config;
use crate::model::Prices;
use crate::trust::{Trusted, TrustedFile};

/// Returns the built-in prices and those of the configuration.
pub(super) fn prices(
    costs: &config::Costs,
    inputs: &Inputs,
    trusted: &Trusted<'_>,
) -> Result<Prices, InputError> {
    let Some(file) = &costs.prices_file else { return Prices::new(None).map_err(InputError::rules) };
    let named = |error: &str| InputError::rules(format!("costs.prices_file: {file}: {error}"));
    let root = inputs.config_root.as_deref().unwrap_or(trusted.workspace);
    let found = trusted.read(&root.join(file))?;
    let text = found.ok_or_else(|| named("the file does not exist"))?.text;
    Prices::new(Some(&text)).map_err(|error| named(&error.to_string()))
}

/// Reads the JSON Schema of the final message, which is given inline or in a file.
pub(super) fn output_schema(inputs: &Inputs, trusted: &Trusted<'_>) -> Result<Option<Value>, InputError> {
    let Some(given) = &inputs.output_schema else { return Ok(None) };
    let invalid = |error: String| InputError::OutputSchema(error);
    let text = if given.trim_start().starts_with('{') {
        given.clone()
    } else {
        let file = trusted.read(Path::new(given))?;
        file.ok_or_else(|| invalid(format!("the file {given} does not exist")))?.text
    };
    let schema: Value =
        serde_json::from_slice(text.as_bytes()).map_err(|error| invalid(error.to_string()))?;
    jsonschema::validator_for(&schema).map_err(|error| invalid(error.to_string()))?;
    Ok(Some(schema))
}

/// Names of guides: files with which a repository instructs agents, in the order in which they are looked for.
pub const GUIDES: [&str; 3] = ["AGENTS.md", ".architect.md", "CLAUDE.md"];

/// Guide of the repository: its instructions for agents.
#[derive(Clone, Debug)]
pub struct Guide {
    /// The file.
    pub file: TrustedFile,
    /// Whether the commit has it so; otherwise a run, or whoever works here, may have written it.
    pub is_committed: bool,
}

/// Reads the guides of the checkout and of the folders in it down to the one that the agent works in, the outermost first.
pub(super) fn guides(trusted: &Trusted<'_>, workspace: &Path, in_ci: bool) -> Vec<Guide> {
    let within = |folder: &&Path| folder.starts_with(trusted.workspace);
    let mut folders: Vec<&Path> = workspace.ancestors().take_while(within).collect();
    if folders.last() != Some(&trusted.workspace) {
        folders.push(trusted.workspace);
    }
    folders.into_iter().rev().filter_map(|folder| guide(trusted, folder, in_ci)).collect()
}

/// Reads the guide of a folder: in CI as the commit has it, because what else lies in a checkout
/// there is of an earlier step or run. One that cannot be read is not worth failing for.
fn guide(trusted: &Trusted<'_>, folder: &Path, in_ci: bool) -> Option<Guide> {
    GUIDES.iter().find_map(|name| {
        let path = folder.join(name);
        let found = trusted.read_committed(&path).and_then(|committed| {
            if in_ci && trusted.has_commit() {
                return Ok(committed.map(|file| Guide { file, is_committed: true }));
            }
            Ok(trusted.read(&path)?.map(|file| {
                let is_committed = committed.is_some_and(|committed| committed.text == file.text);
                Guide { file, is_committed }
            }))
        });
        found.unwrap_or_else(|error| {
            tracing::warn!("the agent is not given {name}: {}", chain(&error));
            None
        })
    })
}

/// Returns the folder for the files of the run, which is made if need be.
pub(crate) fn out(inputs: &Inputs) -> Result<PathBuf, InputError> {
    let runner_temp = inputs.variables.get("RUNNER_TEMP").filter(|path| !path.is_empty());
    let path = match (&inputs.out, runner_temp) {
        (Some(path), _) => path.clone(),
        (None, Some(temp)) => Path::new(temp).join("architect-ci"),
        (None, None) => {
            let name = format!("architect-ci-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
            let path = std::env::temp_dir().join(name);
            private_folder(&path).map_err(|error| InputError::Out { path: path.clone(), error })?;
            path
        }
    };
    let made = without_links(&path, border(&inputs.variables).as_deref()).and_then(|full| {
        std::fs::create_dir_all(&full)?;
        full.canonicalize()
    });
    made.map_err(|error| InputError::Out { path, error })
}

/// Makes a folder that nobody else who uses this machine may look into.
fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
