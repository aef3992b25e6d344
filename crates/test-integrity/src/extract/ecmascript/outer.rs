//! What surrounds the calls that make tests: groups, conditions, and the tables that are gone through.

use super::EcmaScript;
use crate::extract::{Reader, Skip, cells, rows, worse};
use crate::syntax::At;

/// Longest file in which the uses of a name are counted, in bytes.
const MAX_SOURCE: usize = 100_000;

/// What surrounds a node.
#[derive(Clone, Default)]
pub(super) struct Outer {
    pub(super) names: Vec<String>,
    pub(super) skip: Option<Skip>,
    pub(super) focus: bool,
    /// Number of rows of the table that is gone through around it, and its tokens.
    pub(super) rows: Option<usize>,
    pub(super) cells: Vec<String>,
}

impl Outer {
    /// Returns what surrounds the children of a node, and which of them are made tests of at all.
    pub(super) fn inside(&self, at: At<'_>) -> Self {
        let is_conditional = EcmaScript.is_condition(at);
        // A group in a function that nobody calls.
        let is_function = at.kind() == "variable_declarator"
            && at
                .field("value")
                .is_some_and(|value| matches!(value.kind(), "arrow_function" | "function_expression"));
        let name = at.field("name").map_or("", At::text);
        let is_short = at.source.len() <= MAX_SOURCE;
        let is_unnamed = is_function && is_short && !name.is_empty() && at.source.matches(name).count() < 2;
        let skip = (is_conditional || is_unnamed).then(|| Skip {
            line: at.line(),
            is_conditional: !is_unnamed,
            text: at.text().lines().next().unwrap_or_default().to_owned(),
        });
        let (rows, cells) = match rows::around(at) {
            Some(table) => (rows::len(table), cells::of_table(table)),
            None => (self.rows, self.cells.clone()),
        };
        Self { skip: worse(self.skip.clone(), skip), rows, cells, ..self.clone() }
    }
}
