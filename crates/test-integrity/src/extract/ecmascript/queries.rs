//! Queries of a page, and what they come to if nothing is found: null or an empty list, which is defined, and the list even true.

use crate::syntax::At;

/// Queries that come to null if nothing is found, by the beginnings of their names.
const OF_ONE: &[&str] = &["queryBy", "querySelector", "getElementById", "getAttribute", "closest"];
/// Queries that always come to a list.
const OF_MANY: &[&str] = &["queryAllBy", "querySelectorAll", "getElementsBy"];
/// Matchers of what is found, whether they are negated, and whether null passes them. All of them pass a list.
const MATCHERS: &[(&str, bool, bool)] = &[
    ("toBeDefined", false, true),
    ("toBeUndefined", true, true),
    ("undefined", true, true),
    ("toBeNull", true, false),
    ("null", true, false),
    ("toBeTruthy", false, false),
    ("toBeFalsy", true, false),
    ("ok", false, false),
    ("exist", false, false),
];

/// Returns whether a matcher holds whatever the query finds that `expect` is given.
pub(super) fn holds_always(expect: At<'_>, matcher: &str, is_negative: bool) -> bool {
    let known = MATCHERS.iter().find(|(name, negative, _)| *name == matcher && *negative == is_negative);
    let Some((.., passes_null)) = known else { return false };
    let name = query(expect);
    let begins = |names: &[&str]| name.is_some_and(|name| names.iter().any(|start| name.starts_with(start)));
    let is_list = begins(OF_MANY);
    is_list || *passes_null && begins(OF_ONE)
}

/// Returns the name of the query that `expect` is given, also by a name of the test's.
fn query(expect: At<'_>) -> Option<&str> {
    let mut value = expect.field("arguments")?.children().into_iter().next()?;
    if value.kind() == "identifier" {
        value = value.given?.value(value)?;
    }
    if value.kind() == "await_expression" {
        value = value.children().into_iter().next()?;
    }
    let function = value.field("function").filter(|_| value.kind() == "call_expression")?;
    Some(function.field("property").unwrap_or(function).text())
}
