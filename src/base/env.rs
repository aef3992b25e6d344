//! The environment of the process, as data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Environment variables by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// Returns whether GitHub's runner listens.
pub(crate) fn is_in_actions(variables: &Variables) -> bool {
    variables.get("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Returns whether a service for continuous integration runs the program.
pub(crate) fn is_in_ci(variables: &Variables) -> bool {
    let set =
        |name: &str| variables.get(name).is_some_and(|value| !matches!(value.as_str(), "" | "false" | "0"));
    set("CI") || set("GITHUB_ACTIONS")
}

/// Returns the folder in which this program keeps what outlives a run: the user's. `None` if the user has none.
pub(crate) fn state_folder(variables: &Variables) -> Option<PathBuf> {
    let variable = |name: &str| variables.get(name).map(Path::new).filter(|value| value.is_absolute());
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    let state = variable("XDG_STATE_HOME").map(Path::to_owned).or_else(home)?;
    Some(real(&state.join("architect-ci")))
}

/// Returns the folder for what goes away with a run: the runner's for temporary files, or the system's.
pub(crate) fn temporary(variables: &Variables) -> PathBuf {
    let runner = variables.get("RUNNER_TEMP").filter(|path| !path.is_empty());
    runner.map_or_else(std::env::temp_dir, PathBuf::from)
}

/// Returns a path without links, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    let existing = |above: &Path| Some(above.canonicalize().ok()?.join(path.strip_prefix(above).ok()?));
    path.ancestors().find_map(existing).unwrap_or_else(|| path.to_owned())
}
