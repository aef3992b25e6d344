//! Surroundings of the calls that make tests: groups, conditions, and the tables that they go through.

use std::rc::Rc;

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
    /// Number of times that the loops around make what is in them, as far as it is known.
    pub(super) rows: Option<usize>,
    /// Tokens of the tables that these loops go through.
    pub(super) cells: Rc<[String]>,
    /// Whether a loop around goes through what stands in no table of the file.
    pub(super) is_open: bool,
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
        let outer = Self { skip: worse(self.skip.clone(), skip), ..self.clone() };
        let Some(table) = rows::repeated(at) else { return outer };
        match rows::len(table) {
            Some(rows) => outer.repeated(Some(rows), &cells::of_table(table)),
            None => Self { is_open: true, ..outer },
        }
    }

    /// Returns this with a table around, of so many rows and with these tokens.
    pub(super) fn repeated(&self, rows: Option<usize>, cells: &[String]) -> Self {
        let cells = if cells.is_empty() { self.cells.clone() } else { [&self.cells, cells].concat().into() };
        Self { rows: self.times(rows), cells, ..self.clone() }
    }

    /// Returns how often a table with so many rows comes, in all of the loops around it.
    pub(super) fn times(&self, rows: Option<usize>) -> Option<usize> {
        rows.map(|rows| rows::times(rows, self.rows.unwrap_or(1))).or(self.rows)
    }
}
