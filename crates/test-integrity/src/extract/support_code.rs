//! Checks outside of tests, beside functions that assert by their names: macros, and code of support files that fails by an
//! exception, an exit code or an error that it returns.

use super::{Body, TestFile, rust};
use crate::assertion::Assertion;
use crate::files::Language;
use crate::syntax::At;

/// Name for the targets of a build tool.
pub(crate) const TARGETS: &str = "(targets)";

/// Adds what checks something outside of tests to what was read of a file.
pub(super) fn read(root: At<'_>, language: Language, file: &mut TestFile) {
    match language {
        Language::Rust => rust::macros::read(root, file),
        Language::Go => ends(root, file),
        Language::Java => failures(root, file),
        // Their hooks are read as tests are.
        Language::Python | Language::EcmaScript => {}
    }
}

/// Adds what makes Go's programs end with a failure, apart from tests: the exit code of `TestMain`, and what a build tool runs.
fn ends(root: At<'_>, file: &mut TestFile) {
    if root.source.contains("//go:build mage") {
        let calls = root.descendants().into_iter().filter(|at| at.kind() == "call_expression");
        let assertions = calls.flat_map(heard).collect();
        add(file, TARGETS, Body { assertions, ..Body::default() });
        return;
    }
    for function in root.children().into_iter().filter(|at| at.kind() == "function_declaration") {
        if function.field("name").is_none_or(|name| name.text() != "TestMain") {
            continue;
        }
        let exits = function.descendants().into_iter().filter(|at| {
            let is_exit = at.kind() == "call_expression"
                && at.field("function").is_some_and(|called| called.text() == "os.Exit");
            is_exit && at.text() != "os.Exit(0)"
        });
        let assertions = exits.map(|at| Assertion::of_call("fail", &[], at.line(), &at.words())).collect();
        add(file, "TestMain", Body { assertions, ..Body::default() });
    }
}

/// Adds what was read outside of tests to what was read under this name before.
fn add(file: &mut TestFile, name: &str, more: Body) {
    let mut body = file.plain.remove(name).or_else(|| file.helpers.remove(name)).unwrap_or_default();
    body.assertions.extend(more.assertions);
    let bodies = if body.assertions.is_empty() { &mut file.plain } else { &mut file.helpers };
    bodies.insert(name.to_owned(), body);
}

/// Returns the calls whose failure a target of a build tool hears: those whose result it returns or looks at, and the targets that
/// it waits for.
fn heard(call: At<'_>) -> Vec<Assertion> {
    let name = call.field("function").map_or("", At::text);
    let target = |words: &[&str]| Assertion::of_call("fail", &[], call.line(), words);
    if ["mg.Deps", "mg.SerialDeps", "mg.CtxDeps", "mg.SerialCtxDeps"].contains(&name) {
        let given = call.field("arguments").map(At::children).unwrap_or_default();
        return given.into_iter().map(|given| target(&[given.text(), "(", ")"])).collect();
    }
    let parent = call.node.parent().map(|node| call.with(node));
    let is_left = parent.is_some_and(|parent| parent.kind() == "expression_statement");
    let statement = parent.and_then(|parent| parent.node.parent()).map(|node| call.with(node));
    let is_dropped = statement.is_some_and(|at| {
        at.kind() == "assignment_statement" && at.field("left").is_some_and(|left| left.text() == "_")
    });
    let runs = name.starts_with("sh.") || name.starts_with(char::is_uppercase);
    if runs && !is_left && !is_dropped { vec![target(&call.words())] } else { Vec::new() }
}

/// Adds what fails in the methods of custom assertions: `if (…) { failWithMessage(…); }`.
fn failures(root: At<'_>, file: &mut TestFile) {
    let is_failure = |at: At<'_>| match at.kind() {
        "method_invocation" => at.field("name").is_some_and(|name| name.text().starts_with("failWith")),
        "throw_statement" => at.text().starts_with("throw new AssertionError"),
        _ => false,
    };
    let methods = root.descendants().into_iter().filter(|at| at.kind() == "method_declaration");
    let failing: Vec<&str> = methods
        .filter(|method| method.descendants().into_iter().any(is_failure))
        .filter_map(|method| Some(method.field("name")?.text()))
        .collect();
    for method in root.descendants().into_iter().filter(|at| at.kind() == "method_declaration") {
        let name = method.field("name").map_or("", At::text);
        if !(file.plain.contains_key(name) || file.helpers.contains_key(name)) {
            continue;
        }
        // One that calls another one that fails, fails.
        let fails = method
            .descendants()
            .into_iter()
            .filter(|at| is_failure(*at) || calls_one_of(*at, &failing, name));
        let assertions = fails.map(|at| {
            let around = std::iter::successors(at.node.parent(), tree_sitter::Node::parent);
            let condition = around
                .take_while(|node| node.id() != method.node.id())
                .find(|node| node.kind() == "if_statement");
            let condition = condition
                .and_then(|node| at.with(node).field("condition"))
                .map(At::words)
                .unwrap_or_default();
            Assertion::of_call("fail", &[], at.line(), &[vec!["fail", "if"], condition].concat())
        });
        // With the name of its class, so that no test is told of what a custom assertion says in several places.
        let class = method
            .node
            .parent()
            .and_then(|body| body.parent())
            .and_then(|class| class.child_by_field_name("name"));
        let class = class.map_or("", |name| method.with(name).text());
        let assertions = assertions.collect();
        add(file, &format!("{class}.{name}"), Body { assertions, ..Body::default() });
    }
}

/// Returns whether a node calls one of some methods, other than the one that it stands in.
fn calls_one_of(at: At<'_>, methods: &[&str], own: &str) -> bool {
    let name = at.field("name").filter(|_| at.kind() == "method_invocation").map_or("", At::text);
    name != own && methods.contains(&name)
}
