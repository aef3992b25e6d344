//! What of a test's code is never run, or is run where its failures are lost.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::syntax::At;

/// Conditions that never hold.
const FALSE: &[&str] = &[
    "False",
    "false",
    "0",
    "None",
    "null",
    "undefined",
    "not True",
    "! true",
    "\"\"",
    "''",
    "1 == 2",
    "TYPE_CHECKING",
    "typing . TYPE_CHECKING",
    "__debug__ is False",
];
/// Conditions that always hold.
const TRUE: &[&str] = &["True", "true", "1", "not False", "! false"];
/// Collections without items.
const EMPTY: &[&str] = &["[ ]", "( )", "{ }", "range ( 0 )", "vec ! [ ]", "& [ ]", "List . of ( )"];
/// Functions that end the process, or the run of all tests.
const EXITS: &[&str] = &[
    "os._exit",
    "pytest.exit",
    "sys.exit",
    "process.exit",
    "Deno.exit",
    "std::process::exit",
    "process::exit",
    "std::process::abort",
    "os.Exit",
    "System.exit",
];

/// Longest text of a condition that is looked at, in bytes: longer ones are hardly constant.
const MAX_CONDITION: usize = 400;

/// Returns the child of a node that never runs: what stands under a constant condition, or in a loop over nothing.
pub(super) fn dead(parent: At<'_>) -> Option<Node<'_>> {
    let child = |name: &str| parent.node.child_by_field_name(name);
    if let Some(condition) = parent.field("condition") {
        return if is_constant(condition, FALSE) {
            child("consequence").or_else(|| child("body"))
        } else {
            child("alternative").filter(|_| is_constant(condition, TRUE))
        };
    }
    match parent.kind() {
        "binary_expression" | "boolean_operator" => {
            let values = match parent.field("operator")?.text() {
                "&&" | "and" => FALSE,
                "||" | "or" => TRUE,
                _ => return None,
            };
            child("right").filter(|_| parent.field("left").is_some_and(|left| is_constant(left, values)))
        }
        "for_statement" | "for_in_statement" | "enhanced_for_statement" | "for_expression" => {
            let range = parent.children().into_iter().find(|part| part.kind() == "range_clause");
            let items = range.and_then(|range| range.field("right"));
            let items = items.or_else(|| parent.field("right")).or_else(|| parent.field("value"))?;
            let text = if items.text().len() > MAX_CONDITION { return None } else { items.normal() };
            child("body").filter(|_| EMPTY.contains(&text.as_str()) || text.ends_with(" { }"))
        }
        "call_expression" => child("arguments")
            .filter(|_| parent.field("function").is_some_and(|name| name.text().starts_with("[]."))),
        _ => None,
    }
}

fn is_constant(condition: At<'_>, values: &[&str]) -> bool {
    if condition.text().len() > MAX_CONDITION {
        return false;
    }
    let text = condition.normal();
    let mut bare = text.as_str();
    while let Some(inner) = bare.strip_prefix("( ").and_then(|inner| inner.strip_suffix(" )")) {
        bare = inner;
    }
    let never = values == FALSE
        && [" && false", " and False", " and 0"].iter().any(|end| bare.ends_with(end))
        && ![" || ", " or "].iter().any(|sign| bare.contains(sign));
    values.contains(&bare) || never
}

/// How often each token stands in a test.
pub(super) struct Tokens(BTreeMap<String, usize>);

impl Tokens {
    pub(super) fn new(words: &[String]) -> Self {
        let mut counts = BTreeMap::new();
        for word in words {
            *counts.entry(word.clone()).or_default() += 1;
        }
        Self(counts)
    }

    fn have(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.0.contains_key(*word))
    }

    /// Returns whether a function within the test is called nowhere: nothing names it, or what it was assigned to.
    pub(super) fn leave_uncalled(&self, function: At<'_>) -> bool {
        let is_unnamed = |name: At<'_>| self.0.get(name.text()).is_some_and(|count| *count < 2);
        let mut parent = function.node.parent();
        while let Some(node) =
            parent.filter(|node| matches!(node.kind(), "parenthesized_expression" | "expression_list"))
        {
            parent = node.parent();
        }
        let Some(parent) = parent.map(|node| function.with(node)) else { return false };
        match (function.kind(), parent.kind()) {
            ("function_definition", "decorated_definition") => false,
            ("function_definition" | "function_declaration", _) => {
                function.field("name").is_some_and(is_unnamed)
            }
            (_, "expression_statement") => true,
            (
                _,
                "variable_declarator"
                | "let_declaration"
                | "assignment"
                | "short_var_declaration"
                | "var_spec",
            ) => {
                let name =
                    parent.field("name").or_else(|| parent.field("pattern")).or_else(|| parent.field("left"));
                name.is_some_and(is_unnamed)
            }
            _ => false,
        }
    }

    /// Returns whether a node starts something that the test does not wait for: a thread, a timer, a promise.
    ///
    /// `waits` tells whether the test is told by a function that it gets when it ends.
    pub(super) fn leave_running(&self, at: At<'_>, waits: bool) -> bool {
        let is_statement = || at.node.parent().is_some_and(|parent| parent.kind() == "expression_statement");
        match at.kind() {
            "go_statement" => !self.have(&["Wait", "<-", "Sleep", "select", "Eventually", "range", "Done"]),
            "call_expression" if is_statement() => {
                let name = at.field("function").map_or("", At::text);
                let of_rust = name.ends_with("thread::spawn")
                    && !self.have(&["join", "recv", "wait", "sleep", "park", "send"]);
                let of_script = !waits
                    // `await`, `new Promise(…)`, and timers that the test turns itself.
                    && !self.have(&["await", "new", "runAllTimers", "advanceTimersByTime", "tick", "done"])
                    && (name.starts_with("setTimeout")
                        || name.rsplit('.').next() == Some("then")
                        || name.starts_with("expect(") && name.contains(".resolves."));
                of_rust || of_script
            }
            "method_invocation" if is_statement() => {
                at.text().starts_with("new Thread(")
                    && at.text().ends_with(".start()")
                    && !self.have(&["join", "await", "sleep", "get"])
            }
            _ => false,
        }
    }
}

/// Returns whether a node is a call that ends the process.
pub(super) fn is_exit(at: At<'_>) -> bool {
    matches!(at.kind(), "call" | "call_expression" | "method_invocation")
        && at.text().split('(').next().is_some_and(|name| EXITS.contains(&name.trim()))
}

/// Returns whether a node is a `try` whose `finally` returns, which drops whatever failed.
pub(super) fn returns_at_last(at: At<'_>) -> bool {
    let returns = |part: &At<'_>| {
        part.kind().contains("finally")
            && part.descendants().iter().any(|below| below.kind() == "return_statement")
    };
    at.kind() == "try_statement" && at.children().iter().any(returns)
}
