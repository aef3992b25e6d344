//! Finds what a body does with the outcomes of its calls: whether it fails with them, drops them, or writes the expected values
//! itself.

use std::collections::{BTreeMap, BTreeSet};

use super::fates;
use crate::extract::is_function;
use crate::syntax::At;

/// What a body does with the outcome of what it calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    /// Calls whose failure fails the test.
    pub(crate) needed: BTreeSet<String>,
    /// Calls whose failure is dropped, with their lines.
    pub(crate) dropped: BTreeMap<String, usize>,
    /// Results of which a statement demands that they are no failures, with the names of these demands.
    pub(crate) checked: BTreeMap<String, String>,
    /// Files that are written with what is computed, and read again as what is expected, with their lines.
    pub(crate) written: BTreeMap<String, usize>,
    /// Number of functions that assert something elsewhere: in a thread, a task, or when a result is there.
    pub(crate) started: usize,
    /// Number of calls that wait for such functions.
    pub(crate) joined: usize,
}

/// Calls that start a function that the caller need not wait for.
#[rustfmt::skip]
const STARTS: &[&str] = &[
    "spawn", "spawn_blocking", "spawn_local", "submit", "execute", "runAsync", "supplyAsync", "thenAccept", "thenAcceptAsync", "thenRun",
    "thenApply", "whenComplete", "whenCompleteAsync", "handle", "handleAsync", "exceptionally", "subscribe", "schedule", "invokeLater", "runLater",
    "addListener", "addCallback", "onComplete", "onSuccess", "doOnNext", "doOnSuccess", "execute_async", "go",
];
/// Calls that wait for what was started.
#[rustfmt::skip]
const JOINS: &[&str] = &[
    "join", "join_all", "join_next", "Wait", "wait", "recv", "invokeAll", "awaitTermination", "await", "block", "blockFirst", "blockLast",
    "acquire", "verifyComplete", "block_on", "close",
];
const READS: &[&str] = &[
    "ReadFile",
    "read_to_string",
    "readString",
    "readAllLines",
    "readAllBytes",
    "read",
    "readFileSync",
    "readFile",
    "read_text",
    "ReadAllText",
];
const WRITES: &[&str] = &[
    "WriteFile",
    "write",
    "writeString",
    "write_all",
    "writeFileSync",
    "writeFile",
    "write_text",
    "WriteAllText",
];
/// Words of what waits in some other way.
const WAITS: &[&str] = &[
    "join",
    "recv",
    "wait",
    "Wait",
    "sleep",
    "park",
    "notified",
    "join_all",
    "join_next",
    "get",
    "block",
    "countDown",
    "acquire",
    "await_termination",
    "awaitTermination",
];
/// Names of what waits for all that it starts.
const OWNERS: &[&str] = &["s", "scope", "set", "tasks", "join_set", "tracker"];

impl Outcomes {
    /// Reads a body.
    pub(in crate::extract) fn of(root: At<'_>) -> Self {
        let mut outcomes = Self::default();
        let (mut read, mut written) = (BTreeSet::new(), BTreeMap::new());
        for at in root.descendants() {
            match at.kind() {
                "try_expression" => outcomes.needed.extend(at.children().first().map(|inner| inner.normal())),
                "let_declaration" => outcomes.bound(at),
                "let_condition" => outcomes.dropped.extend(matched(at)),
                "short_var_declaration" | "assignment_statement" => outcomes.assigned(at),
                "call_expression" | "method_invocation" => {
                    outcomes.called(at);
                    let name = name(at);
                    let given = at.field("arguments").map(At::children).unwrap_or_default();
                    let Some(first) = given.first().map(|first| first.normal()) else { continue };
                    let first = first.trim_start_matches("& ").to_owned();
                    if READS.contains(&name) {
                        read.insert(first);
                    } else if WRITES.contains(&name)
                        && given.get(1).is_some_and(|second| is_computed(*second))
                        && !is_under_condition(at, root)
                    {
                        written.entry(first).or_insert(at.line());
                    }
                }
                "go_statement" => outcomes.started += usize::from(checks(at)),
                "unary_expression" if at.text().starts_with("<-") => outcomes.joined += 1,
                "await_expression" => outcomes.joined += 1,
                _ => {}
            }
        }
        fates::read(root, &mut outcomes);
        outcomes.written = written.into_iter().filter(|(path, _)| read.contains(path)).collect();
        outcomes
    }

    /// Reads `let _ = f();`, and `let Ok(a) = f() else { return };`.
    fn bound(&mut self, at: At<'_>) {
        let (Some(pattern), Some(value)) = (at.field("pattern"), at.field("value")) else { return };
        let leaves = at.field("alternative").is_some_and(|end| {
            !["panic!", "unreachable!", "assert", "bail!", "Err("]
                .iter()
                .any(|word| end.text().contains(word))
        });
        if pattern.text() == "_" || leaves {
            self.dropped.insert(value.normal(), value.line());
        }
    }

    /// Reads `err := f()` and `_ = f()`.
    fn assigned(&mut self, at: At<'_>) {
        let (Some(left), Some(right)) = (at.field("left"), at.field("right")) else { return };
        let names: Vec<&str> = left.text().split(',').map(str::trim).collect();
        if let Some(error) = names.last().filter(|last| last.to_lowercase().contains("err")) {
            if fates::is_unheard(at, error) {
                self.dropped.insert(right.normal(), right.line());
            } else {
                self.needed.insert(right.normal());
            }
        } else if names.last() == Some(&"_") {
            self.dropped.insert(right.normal(), right.line());
        }
    }

    fn called(&mut self, at: At<'_>) {
        let name = name(at);
        let receiver = at.field("function").and_then(|function| function.field("value"));
        match name {
            "unwrap" | "expect" | "unwrap_err" | "expect_err" => self.needed.extend(receiver.map(At::normal)),
            "unwrap_or_else" if at.text().contains("panic!") => self.needed.extend(receiver.map(At::normal)),
            "ok" | "unwrap_or" | "unwrap_or_default" | "unwrap_or_else" | "is_ok" | "err"
                if !is_unwrapped(at) =>
            {
                self.dropped.extend(receiver.map(|receiver| (receiver.normal(), receiver.line())));
            }
            // testify's ways to say that there is no error.
            "NoError" | "NoErr" | "Nil" => {
                let given = at.field("arguments").map(At::children).unwrap_or_default();
                self.needed.extend(
                    given.into_iter().filter(|given| given.kind() == "call_expression").map(At::normal),
                );
            }
            _ if STARTS.contains(&name) && !is_owned(at) && checks(at) => self.started += 1,
            _ if JOINS.contains(&name) && has_receiver(at) => self.joined += 1,
            "get"
                if has_receiver(at)
                    && at.field("arguments").is_some_and(|given| {
                        given.children().is_empty() || given.text().contains("TimeUnit")
                    }) =>
            {
                self.joined += 1;
            }
            _ => {}
        }
    }
}

/// Returns what `if let Ok(a) = f()` looks at.
fn matched(at: At<'_>) -> Option<(String, usize)> {
    let value = at.field("value")?;
    let otherwise = at.node.parent().and_then(|outer| at.with(outer).field("alternative"));
    if otherwise.is_some_and(|otherwise| {
        ["panic!", "unreachable!", "assert"].iter().any(|word| otherwise.text().contains(word))
    }) {
        return None;
    }
    at.field("pattern")?.text().starts_with("Ok(").then(|| (value.normal(), value.line()))
}

/// Returns the name of what a call calls, without what it is in.
pub(super) fn name(call: At<'_>) -> &str {
    let function = call.field("function").unwrap_or(call);
    let part =
        function.field("field").or_else(|| function.field("property")).or_else(|| function.field("name"));
    part.map_or_else(|| function.text(), At::text)
}

/// Returns whether the result of a call has to be there: `f().ok().unwrap()`.
fn is_unwrapped(call: At<'_>) -> bool {
    let Some(parent) = call.node.parent().map(|node| call.with(node)) else { return false };
    let method = parent.field("field").map_or("", At::text);
    parent.kind() == "try_expression" || matches!(method, "unwrap" | "expect")
}

fn has_receiver(call: At<'_>) -> bool {
    call.field("object").is_some()
        || call.field("function").is_some_and(|function| {
            ["operand", "value", "object"].iter().any(|field| function.field(field).is_some())
        })
}

/// Returns whether a function that a node holds asserts something.
fn checks(at: At<'_>) -> bool {
    at.descendants().into_iter().any(|below| {
        (is_function(below.kind()) || below.kind() == "async_block")
            && ["assert", "expect", "verify", ".Error", ".Fatal", "should", "panic!"]
                .iter()
                .any(|word| below.text().contains(word))
    })
}

fn is_computed(at: At<'_>) -> bool {
    at.descendants()
        .into_iter()
        .any(|below| matches!(below.kind(), "identifier" | "call_expression" | "method_invocation"))
}

fn is_under_condition(at: At<'_>, root: At<'_>) -> bool {
    let mut node = at.node.parent();
    while let Some(outer) = node.filter(|outer| *outer != root.node) {
        if matches!(outer.kind(), "if_statement" | "if_expression") {
            let condition = at.with(outer).field("condition");
            // Go's `if err := write(…); err != nil` is no condition of the writing.
            if condition.is_none_or(|condition| condition.node.end_byte() < at.node.start_byte()) {
                return true;
            }
        }
        node = outer.parent();
    }
    false
}

/// Returns whether a node starts a function later, or elsewhere, and nothing waits for what comes of it.
pub(in crate::extract) fn is_left_alone(at: At<'_>, has_besides: impl Fn(&[&str]) -> bool) -> bool {
    if !matches!(at.kind(), "call_expression" | "method_invocation")
        || !STARTS.contains(&name(at))
        || !checks(at)
    {
        return false;
    }
    let is_dropped = at.node.parent().is_some_and(|parent| match parent.kind() {
        "expression_statement" => true,
        "let_declaration" => {
            at.with(parent).field("pattern").is_some_and(|name| name.text().starts_with('_'))
        }
        _ => false,
    });
    is_dropped && !is_owned(at) && !has_besides(WAITS)
}

/// Returns whether something is started by a scope or a set of tasks, which waits for it.
fn is_owned(at: At<'_>) -> bool {
    let callee = at.field("function").map_or("", At::text);
    callee.rsplit_once('.').is_some_and(|(owner, _)| OWNERS.contains(&owner))
}
