//! Finds what a test waits for, and what it starts and leaves alone.

use crate::extract::is_function;
use crate::syntax::At;

/// Longest text of an expression that is kept, in bytes.
const MAX_TEXT: usize = 2_000;
/// Most expressions of one test.
const MAX_KEPT: usize = 500;

/// Expressions of a test by what becomes of their results.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    /// What is awaited or returned.
    pub(crate) awaited: Vec<Wait>,
    /// Statements whose results nothing uses, as their tokens joined by blanks, with their lines.
    pub(crate) loose: Vec<(String, usize)>,
    /// Names that are returned.
    pub(crate) returned: Vec<String>,
}

/// Expression that is waited for.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    /// Its tokens, joined by blanks.
    pub(crate) text: String,
    /// Whether it asserts something.
    pub(crate) asserts: bool,
    /// Name of the function that it calls, if it is plain.
    pub(crate) callee: Option<String>,
}

impl Waits {
    /// Reads a body; `asserts` tells whether a node is an assertion.
    pub(in crate::extract) fn of(root: At<'_>, asserts: impl Fn(At<'_>) -> bool) -> Self {
        let mut found = Self::default();
        for at in root.descendants().into_iter().filter(|at| at.text().len() <= MAX_TEXT) {
            if found.awaited.len() + found.loose.len() >= MAX_KEPT {
                break;
            }
            let inner = at.children().into_iter().next();
            let value = match at.kind() {
                "await_expression" | "await" | "return_statement" => inner,
                "arrow_function" if at.node == root.node => {
                    at.field("body").filter(|body| body.kind() != "statement_block")
                }
                "expression_statement" => {
                    found.loose.extend(inner.and_then(loose).map(|text| (text, at.line())));
                    None
                }
                _ => None,
            };
            let Some(value) = value.filter(|value| !is_function(value.kind())) else { continue };
            if at.kind() == "return_statement" && value.kind() == "identifier" {
                found.returned.push(value.text().to_owned());
            }
            let called = value.field("function");
            let wait = Wait {
                text: value.normal(),
                asserts: value.descendants().into_iter().any(&asserts),
                callee: called.filter(|name| name.kind() == "identifier").map(|name| name.text().to_owned()),
            };
            if wait.asserts || wait.callee.is_some() {
                found.awaited.push(wait);
            }
        }
        found
    }
}

/// Returns the tokens of a statement's expression, if nothing waits for it.
fn loose(at: At<'_>) -> Option<String> {
    let is_waiting = matches!(
        at.kind(),
        "await_expression"
            | "await"
            | "yield"
            | "assignment"
            | "assignment_expression"
            | "augmented_assignment"
    );
    (!is_waiting).then(|| at.normal())
}
