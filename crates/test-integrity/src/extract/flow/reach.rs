//! Code of a test that never runs, or runs where its failures are lost.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::extract::values::{Values, fold};
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
    "runtime.Goexit",
    "exit",
    "quit",
];

/// Longest test in which the uses of a function are read, in bytes.
const MAX_WORDS: usize = 50_000;

/// Functions of JavaScript that call another one later.
const TIMERS: &[&str] = &[
    "setTimeout",
    "setImmediate",
    "setInterval",
    "process.nextTick",
    "queueMicrotask",
    "requestAnimationFrame",
];

/// Longest text of a condition that is looked at, in bytes: longer ones are hardly constant.
const MAX_CONDITION: usize = 400;

/// Returns the child of a node that never runs: what stands under a constant condition, or in a loop over nothing.
pub(in crate::extract) fn dead<'a>(parent: At<'a>, values: &Values<'_>) -> Option<Node<'a>> {
    let child = |name: &str| parent.node.child_by_field_name(name);
    let is_loop = parent.kind() == "for_statement" && parent.field("body").is_some();
    if is_loop && head_of(parent).is_some_and(|head| never_begins(&head)) {
        return child("body");
    }
    // The body of `do … while (false)` runs once.
    if parent.kind() == "do_statement" {
        return None;
    }
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
        // Go's loop with a condition alone.
        "for_statement"
            if parent.children().first().is_some_and(|first| fold::truth(*first) == Some(false)) =>
        {
            child("body")
        }
        "for_statement" | "for_in_statement" | "enhanced_for_statement" | "for_expression" => {
            let range = parent.children().into_iter().find(|part| part.kind() == "range_clause");
            let items = range.and_then(|range| range.field("right"));
            let items = items.or_else(|| parent.field("right")).or_else(|| parent.field("value"))?;
            let text = if items.text().len() > MAX_CONDITION { return None } else { items.normal() };
            child("body").filter(|_| values.is_empty(&text, parent.node.start_byte()))
        }
        // What is done with each item of nothing.
        "call_expression" => {
            let function = parent.field("function")?;
            let receiver = function.field("object").or_else(|| function.field("value"))?;
            if fold::is_nothing(receiver) && function.text().contains("?.") {
                return child("arguments");
            }
            child("arguments").filter(|_| is_short_and_empty(receiver, values))
        }
        "method_invocation" => child("arguments")
            .filter(|_| parent.field("object").is_some_and(|at| is_short_and_empty(at, values))),
        _ => None,
    }
}

/// Returns the children of a node without those behind the end of a loop's turn, or of a function within the test.
pub(in crate::extract) fn reached(parent: At<'_>, nested: bool) -> Vec<At<'_>> {
    let mut children = parent.children();
    let ends = |at: &At<'_>| {
        let inner = if at.kind() == "expression_statement" { at.children().first().copied() } else { None };
        match inner.unwrap_or(*at).kind() {
            "break_statement" | "continue_statement" | "break_expression" | "continue_expression" => true,
            "return_statement" | "return_expression" => nested,
            _ => false,
        }
    };
    if is_block(parent.kind())
        && let Some(end) = children.iter().position(ends)
    {
        children.truncate(end + 1);
    }
    // What a `goto` leads to is reached again.
    if is_block(parent.kind())
        && let Some(jump) = children.iter().position(|at| at.kind() == "goto_statement")
    {
        let target = children[jump].children().first().map_or("", |label| label.text()).to_owned();
        let is_target = |at: &At<'_>| at.kind() == "labeled_statement" && at.text().starts_with(&target);
        let land =
            children.iter().skip(jump).position(is_target).map_or(children.len(), |place| jump + place);
        children.drain(jump + 1..land);
    }
    children
}

pub(super) fn is_block(kind: &str) -> bool {
    matches!(kind, "block" | "statement_block" | "statement_list")
}

fn is_short_and_empty(at: At<'_>, values: &Values<'_>) -> bool {
    at.text().len() <= MAX_CONDITION && values.is_empty(&at.normal(), at.node.start_byte())
}

/// Returns the head of a counted loop as its tokens.
fn head_of(at: At<'_>) -> Option<String> {
    let body = at.field("body")?;
    let head = at.source.get(at.node.start_byte()..body.node.start_byte())?;
    if head.len() > MAX_CONDITION || !head.contains(';') {
        return None;
    }
    Some(head.replace(';', " ; ").replace('<', " < ").split_whitespace().collect::<Vec<_>>().join(" "))
}

fn is_constant(condition: At<'_>, values: &[&str]) -> bool {
    if condition.text().len() > MAX_CONDITION {
        return false;
    }
    if let Some(truth) = fold::truth(condition) {
        return truth == (values == TRUE);
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

/// How often each token is in a test.
pub(in crate::extract) struct Tokens(BTreeMap<String, usize>, String);

impl Tokens {
    pub(in crate::extract) fn new(words: &[String]) -> Self {
        let mut counts = BTreeMap::new();
        for word in words {
            *counts.entry(word.clone()).or_default() += 1;
        }
        Self(counts, format!(" {} ", words.join(" ")))
    }

    fn have(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.0.contains_key(*word))
    }

    /// Returns whether one of these words is in the test outside of a node.
    pub(in crate::extract) fn have_besides(&self, at: At<'_>, words: &[&str]) -> bool {
        let own = at.words();
        let count = |word: &str| own.iter().filter(|other| **other == word).count();
        words.iter().any(|word| self.0.get(*word).is_some_and(|all| *all > count(word)))
    }

    /// Returns whether a function within the test is called nowhere: nothing names it, or what it was assigned to.
    pub(in crate::extract) fn leave_uncalled(&self, function: At<'_>) -> bool {
        let is_unnamed = |name: At<'_>| {
            let name = name.text();
            let is_only_named = || {
                let is_short = self.1.len() <= MAX_WORDS;
                is_short
                    && [
                        "_ = #",
                        "expect ( # )",
                        "assertNotNull ( # )",
                        "assert #",
                        "void #",
                        "submit ( # )",
                        "target = # ) . start",
                    ]
                    .iter()
                    .any(|use_of| self.1.contains(&format!(" {} ", use_of.replace('#', name))))
            };
            let is_coroutine = || {
                function.text().starts_with("async def")
                    && !self.have(&[
                        "await",
                        "gather",
                        "create_task",
                        "run_until_complete",
                        "asyncio",
                        "anyio",
                        "trio",
                    ])
            };
            self.0
                .get(name)
                .is_some_and(|count| *count < 2 || *count == 2 && (is_only_named() || is_coroutine()))
        };
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
            // Go's way to drop a value.
            (_, "assignment_statement") => parent.field("left").is_some_and(|left| left.text() == "_"),
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
    pub(in crate::extract) fn leave_running(&self, at: At<'_>, waits: bool) -> bool {
        // `void` drops what a call comes to.
        let is_statement = || {
            at.node.parent().is_some_and(|parent| {
                parent.kind() == "expression_statement"
                    || parent.kind() == "unary_expression" && at.with(parent).text().starts_with("void ")
            })
        };
        match at.kind() {
            "async_block" => at.node.parent().is_some_and(|parent| {
                parent.kind() == "let_declaration"
                    && at.with(parent).field("pattern").is_some_and(|name| name.text() == "_")
            }),
            "call_expression"
                if at.text().starts_with("std::thread::spawn(")
                    || at.text().starts_with("thread::spawn(") =>
            {
                let is_dropped = at.node.parent().is_some_and(|parent| {
                    parent.kind() == "let_declaration" && at.with(parent).text().starts_with("let _ =")
                });
                (is_dropped || is_statement())
                    && !self.have(&["join", "recv", "wait", "sleep", "park", "send"])
            }
            // What it waits for itself, the test does not.
            "go_statement" => {
                !self.have_besides(at, &["Wait", "<-", "Sleep", "select", "Eventually", "range"])
            }
            "call_expression" if is_statement() => {
                let name = at.field("function").map_or("", At::text);
                let of_go = name == "time.AfterFunc" && !self.have(&["Wait", "<-", "Sleep", "select"]);
                let of_rust = name.ends_with("thread::spawn")
                    && !self.have(&["join", "recv", "wait", "sleep", "park", "send"]);
                let of_script = !waits
                    // `await`, `new Promise(…)`, and timers that the test turns itself.
                    && !self.1.contains(" new Promise ")
                    && !self.have(&["await", "runAllTimers", "advanceTimersByTime", "tick", "done"])
                    && (TIMERS.iter().any(|timer| name.starts_with(timer))
                        || name.rsplit('.').next() == Some("then") && !name.starts_with("cy.")
                        || name.starts_with("(async "));
                // Whatever else the test waits for, it does not wait for these.
                let of_promise = name.starts_with("expect(")
                    && (name.contains(".resolves.") || name.contains(".rejects."))
                    || matches!(name, "assert.rejects" | "assert.doesNotReject")
                    || name.starts_with("(async ")
                    || name.rsplit_once('.').is_some_and(|(_, method)| method == "then")
                        && !name.starts_with("cy.")
                        && !self.have(&[
                            "Promise",
                            "runAllTimers",
                            "advanceTimersByTime",
                            "tick",
                            "done",
                            "waitFor",
                        ])
                        && at.text().contains("expect(")
                    || [".forEach", ".map", ".flatMap", ".filter"].iter().any(|end| name.ends_with(end))
                        && at.field("arguments").is_some_and(|given| given.text().starts_with("(async "));
                of_rust || of_script || of_promise || of_go
            }
            "new_expression" if is_statement() => at.text().starts_with("new Promise("),
            "method_invocation" if is_statement() => {
                let text = at.text();
                let name = at.field("name").map_or("", At::text);
                let starts = text.starts_with("new Thread(") && text.ends_with(".start()")
                    || text.starts_with("CompletableFuture.")
                    || matches!(name, "submit" | "execute") && text.contains("->");
                starts && !self.have(&["join", "await", "sleep", "get"])
            }
            _ => false,
        }
    }
}

/// Returns whether a node is a call that ends the process.
pub(in crate::extract) fn is_exit(at: At<'_>) -> bool {
    matches!(at.kind(), "call" | "call_expression" | "method_invocation")
        && (at.text().starts_with("Runtime.getRuntime().halt(")
            || at.text().split('(').next().is_some_and(|name| EXITS.contains(&name.trim())))
}

/// Returns whether a node is a `try` whose `finally` returns, which drops whatever failed.
pub(in crate::extract) fn returns_at_last(at: At<'_>) -> bool {
    let returns = |part: &At<'_>| {
        part.kind().contains("finally")
            && part.descendants().iter().any(|below| below.kind() == "return_statement")
    };
    at.kind() == "try_statement" && at.children().iter().any(returns)
}

/// Returns whether the head of a counted loop, such as `( let i = 0 ; i < 0 ; i ++ )`, never lets it begin.
fn never_begins(head: &str) -> bool {
    let mut parts = head.split(" ; ");
    let (Some(first), Some(condition)) = (parts.next(), parts.next()) else { return false };
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let start = first.rsplit("= ").next().and_then(number);
    let end = condition.rsplit_once(" < ").and_then(|(_, end)| number(end));
    start.zip(end).is_some_and(|(start, end)| end <= start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_loops_that_never_begin_are_known() {
        assert!(never_begins("( let i = 0 ; i < 0 ; i ++ )"));
        assert!(never_begins("int i = 3 ; i < 2 ; i ++"));
        assert!(!never_begins("( let i = 0 ; i < 3 ; i ++ )"));
    }
}
