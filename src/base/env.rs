//! The environment of the process, as data.

use std::collections::BTreeMap;

/// Environment variables by name.
pub type Variables = BTreeMap<String, String>;

/// Tells whether GitHub's runner listens.
pub fn is_in_actions(variables: &Variables) -> bool {
    variables.get("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}
