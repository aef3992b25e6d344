//! The environment of the process, as data.

use std::collections::BTreeMap;

/// Environment variables by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// Tells whether GitHub's runner listens.
pub(crate) fn is_in_actions(variables: &Variables) -> bool {
    variables.get("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}
