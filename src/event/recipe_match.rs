//! Places that a recipe changed, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workspace::WorkspacePath;

/// Places that a recipe changed: all of them are counted, and the first are listed. `matches.csv` has the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecipeMatches {
    /// The number of places.
    pub total: usize,
    /// The first of them.
    pub listed: Vec<RecipeMatch>,
}

/// A place that a recipe changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecipeMatch {
    /// The action, as its position in the recipe: `steps[0].do[1]`.
    pub action: String,
    /// The file.
    pub path: WorkspacePath,
    /// The line as it was before the action, from 1; absent for a value of a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The path of the value, in a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The text before; a long one is cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// The text afterwards; a long one is cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
}
