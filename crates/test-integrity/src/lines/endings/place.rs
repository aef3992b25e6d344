//! Places that the process of the tests comes by: outside of functions, in tests, hooks and set-up, and in what these call in the same file.

use std::cell::Cell;
use std::sync::LazyLock;

use regex::Regex;

use crate::extract::meant_endings::is_meant;
use crate::files::{Language, is_support};
use crate::syntax::At;

/// Functions of a file that are followed to where they are called.
const MAX_DEPTH: usize = 4;

/// Functions of a file whose calls are looked for.
pub(super) const MAX_LOOKUPS: usize = 300;

/// Calls of one function that are looked at.
const MAX_CALLS: usize = 50;

/// File that is read.
pub(super) struct File<'a> {
    pub(super) path: &'a str,
    pub(super) language: Language,
    /// All nodes of its tree.
    pub(super) all: Vec<At<'a>>,
    /// Whether all of it is for tests.
    pub(super) is_of_tests: bool,
    /// Functions whose calls may still be looked for.
    pub(super) lookups: Cell<usize>,
}

/// Functions of a runner, by their names: tests, and what runs before and after them.
#[expect(clippy::unwrap_used, reason = "a constant")]
static OF_RUNNERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([Tt]est|setUp|tearDown|set_?up|tear_?down|pytest_|asyncSetUp|asyncTearDown|doCleanups|addCleanup)").unwrap()
});

/// Functions that call what they are given in the same process: groups, tests, hooks, and what runs at its end.
#[expect(clippy::unwrap_used, reason = "a constant")]
static CALLERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(^|\.|::)(describe|context|suite|it|test|specify|before|after|beforeAll|afterAll|beforeEach|afterEach|setup|teardown|suiteSetup|suiteTeardown|setupOnce|each|only|serial|on|once|then|finally|catch|setTimeout|setImmediate|nextTick|queueMicrotask|set_hook|register|addCleanup|Cleanup|Run|addShutdownHook|Thread|BeforeSuite|AfterSuite|BeforeEach|AfterEach)$|\bthread::spawn$",
    )
    .unwrap()
});

/// Marks of functions that a runner calls.
#[expect(clippy::unwrap_used, reason = "a constant")]
static MARKS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^#\[(?:\w+::)*(?:test|rstest|ctor|test_case)\b|^@(?:\w+\.)*fixture\b|@(?:\w*Test|Before|After)(?:Each|All|Class|Suite|Method)?\b",
    )
    .unwrap()
});

impl<'a> File<'a> {
    /// Returns whether a node is come by in the process of the tests, rather than in a function that stands for the program.
    pub(super) fn comes_by(&self, at: At<'a>) -> bool {
        self.is_reached(at, MAX_DEPTH)
    }

    fn is_reached(&self, start: At<'a>, depth: usize) -> bool {
        let mut node = start.node;
        while let Some(parent) = node.parent() {
            let at = start.with(parent);
            match parent.kind() {
                "function_definition"
                | "function_declaration"
                | "function_item"
                | "method_declaration"
                | "method_definition" => {
                    let name = at.field("name").map_or("", At::text);
                    let is_of_runner = OF_RUNNERS.is_match(name)
                        || is_marked(at)
                        || name == "init" && self.language == Language::Go
                        || self.is_default(parent);
                    if !is_of_runner {
                        return self.is_used(at, name, depth);
                    }
                }
                "lambda"
                | "arrow_function"
                | "function_expression"
                | "function"
                | "closure_expression"
                | "func_literal"
                | "lambda_expression" => {
                    let around = parent.parent().map(|around| start.with(around));
                    let is_called =
                        around.is_some_and(|around| is_caller(around, parent)) || self.is_default(parent);
                    if !is_called {
                        let name = around.and_then(given_name);
                        return name.is_some_and(|name| self.is_used(at, name, depth));
                    }
                }
                _ => {}
            }
            node = parent;
        }
        true
    }

    /// Returns whether a function of this name is called in the process of the tests.
    fn is_used(&self, function: At<'a>, name: &str, depth: usize) -> bool {
        if depth == 0 || name.is_empty() || !(self.is_of_tests || is_in_tests(function)) {
            return false;
        }
        let Some(left) = self.lookups.get().checked_sub(1) else { return false };
        self.lookups.set(left);
        let own = function.node.byte_range();
        let uses = self.all.iter().filter(|at| {
            at.kind().ends_with("identifier") && at.text() == name && !own.contains(&at.node.start_byte())
        });
        uses.filter(|at| is_call(**at))
            .take(MAX_CALLS)
            .any(|at| self.is_reached(*at, depth - 1) && !is_meant(*at, at.source))
    }

    /// Returns whether a function is what a file of set-up gives its runner.
    fn is_default(&self, function: tree_sitter::Node<'a>) -> bool {
        let around = function.parent();
        is_support(self.path)
            && around.is_some_and(|around| {
                let text = self.all.first().and_then(|root| root.source.get(around.byte_range()));
                let starts = |start: &&str| text.is_some_and(|text| text.starts_with(*start));
                ["export default", "module.exports ="].iter().any(starts)
            })
    }
}

/// Returns whether code of Rust stands in a module of tests.
fn is_in_tests(at: At<'_>) -> bool {
    let above = std::iter::successors(at.node.parent(), tree_sitter::Node::parent);
    let mut modules = above.filter(|node| node.kind() == "mod_item").map(|node| at.with(node));
    modules.any(|module| module.field("name").is_some_and(|name| matches!(name.text(), "test" | "tests")))
}

/// Returns the name that a statement gives a function.
fn given_name(around: At<'_>) -> Option<&str> {
    let around = if around.kind() == "expression_list" { around.with(around.node.parent()?) } else { around };
    let is_given = matches!(
        around.kind(),
        "variable_declarator"
            | "assignment"
            | "short_var_declaration"
            | "let_declaration"
            | "assignment_expression"
    );
    let name = around.field("name").or_else(|| around.field("left")).or_else(|| around.field("pattern"));
    name.filter(|_| is_given).map(At::text)
}

/// Returns whether a name is that of a function which is called here, or given to what calls it.
fn is_call(name: At<'_>) -> bool {
    const OWN: &[&str] = &["self", "this", "cls", "Self", "super"];
    let Some(around) = name.node.parent().map(|node| name.with(node)) else { return false };
    let (node, around) = match around.kind() {
        "attribute"
        | "member_expression"
        | "scoped_identifier"
        | "field_expression"
        | "selector_expression" => {
            let of = around.children().first().map_or("", |of| of.text());
            let Some(above) = around.node.parent().filter(|_| OWN.contains(&of)) else { return false };
            (around.node, name.with(above))
        }
        "method_invocation" if around.field("object").is_some_and(|of| !OWN.contains(&of.text())) => {
            return false;
        }
        _ => (name.node, around),
    };
    is_caller(around, node)
}

/// Returns whether a runner or the end of the process calls a function that stands in this node.
fn is_caller(around: At<'_>, function: tree_sitter::Node<'_>) -> bool {
    let mut node = Some(around.node);
    for _ in 0..4 {
        let Some(at) = node.map(|node| around.with(node)) else { return false };
        match at.kind() {
            "call" | "call_expression" | "method_invocation" | "object_creation_expression" => {
                let callee = at.field("function").or_else(|| at.field("name")).or_else(|| at.field("type"));
                let Some(callee) = callee else { return false };
                // It is called where it stands.
                let is_own = callee.node.byte_range().start <= function.byte_range().start
                    && function.byte_range().end <= callee.node.byte_range().end;
                let name = callee.text().split('(').next().unwrap_or_default();
                // A box around it changes nothing.
                if matches!(callee.text(), "Box::new" | "Arc::new" | "Rc::new") {
                    node = at.node.parent();
                    continue;
                }
                return is_own || CALLERS.is_match(name) || callee.text().contains(".each");
            }
            "arguments" | "argument_list" | "parenthesized_expression" | "keyword_argument" | "pair" => {}
            _ => return false,
        }
        node = at.node.parent();
    }
    false
}

/// Returns whether a function has a mark by which a runner calls it.
fn is_marked(function: At<'_>) -> bool {
    let mut marks: Vec<&str> = Vec::new();
    let mut before = function.node.prev_named_sibling();
    while let Some(node) = before.filter(|node| matches!(node.kind(), "attribute_item" | "decorator")) {
        marks.push(function.with(node).text());
        before = node.prev_named_sibling();
    }
    let modifiers = function.children().into_iter().find(|child| child.kind() == "modifiers");
    marks.extend(modifiers.map(At::text));
    marks.iter().any(|mark| MARKS.is_match(mark))
}
