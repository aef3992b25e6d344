//! Files that run their tests by themselves, and end with what has become of them.

use std::sync::LazyLock;

use regex::Regex;

use crate::extract::follows_result;
use crate::files::Language;
use crate::syntax::At;

/// Returns whether a call is the end of a file that runs its tests by itself, with what it has made of failures before: another
/// end of the process stands before it, or on the other side of a condition.
pub(super) fn is_end_of_own_runner(call: At<'_>, language: Language) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    static FAILURE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bexit\(\s*[1-9a-zA-Z]|\bexitCode\s*=|\bthrow\b").unwrap());
    match language {
        Language::EcmaScript if runs_itself(call.source) => {}
        Language::Go => return follows_result(call),
        _ => return false,
    }
    let ends = |at: At<'_>| at.kind() == "if_statement" && FAILURE.is_match(at.text());
    let statements =
        || std::iter::successors(Some(call.node), tree_sitter::Node::parent).map(|node| call.with(node));
    statements().any(|at| {
        let is_end = at.kind() == "expression_statement" && at.text().trim_end_matches(';') == call.text();
        let mut before =
            std::iter::successors(at.node.prev_named_sibling(), tree_sitter::Node::prev_named_sibling);
        ends(at) || is_end && before.any(|node| ends(call.with(node)))
    })
}

/// Returns whether a file in JavaScript defines the functions by which it tells its tests, rather than a framework.
fn runs_itself(text: &str) -> bool {
    ["test", "it", "describe", "suite", "expect"].iter().all(|name| {
        let find = |pattern: &str| Regex::new(&pattern.replace("NAME", name)).is_ok_and(|found| found.is_match(text));
        let is_called = find(r"(?:^|[^\w.$])NAME(?:\.\w+)*\(");
        let is_own = find(r"\bfunction\s+NAME\b|\b(?:const|let|var)\s+NAME\s*=\s*(?:async\b|function\b|\(|\w+\s*=>)");
        let is_taken = find(r"\{[^}\n]*\bNAME\b[^}\n]*\}\s*(?:=\s*require|from\b)|(?:=|import)\s*NAME\s*(?:=\s*require|from\b)");
        !is_taken && (is_own || !is_called)
    }) && !text.contains("node:test")
}
