//! `TestMain`, which runs the tests of a package, and has to tell how they ended.

use crate::extract::Skip;
use crate::extract::meant_endings::is_meant;
use crate::syntax::At;

/// Returns how `TestMain` ends without telling that a test failed.
pub(super) fn unheard(main: At<'_>) -> Option<Skip> {
    let all = main.descendants();
    let skip =
        |at: At<'_>, text: &str| Skip { line: at.line(), is_conditional: false, text: text.to_owned() };
    let mut calls = all.iter().filter(|below| below.kind() == "call_expression");
    let is_silent = |call: &At<'_>| {
        call.text() == "os.Exit(0)"
            && !follows_result(*call)
            && !is_passed_on(*call)
            && !is_meant(*call, call.source)
            && !is_case_of_child(*call)
    };
    if let Some(exit) = calls.clone().find(|call| is_silent(call)) {
        return Some(skip(*exit, "TestMain ends with os.Exit(0)"));
    }
    let is_early = |at: &At<'_>| {
        at.kind() == "return_statement"
            && !is_passed_on(*at)
            && !is_meant(*at, at.source)
            && !main.source[main.node.start_byte()..at.node.start_byte()].contains(".Run(")
    };
    if let Some(early) = all.iter().find(|at| is_early(at)) {
        return Some(skip(*early, "TestMain returns before it runs the tests"));
    }
    if let Some(run) =
        calls.clone().find(|call| call.text().ends_with(".Run()")).filter(|run| may_be_left_out(**run, main))
    {
        return Some(skip(*run, "TestMain runs the tests only under a condition"));
    }
    // What is given its argument runs the tests in its place.
    let function = main.node.parent().map(|node| main.with(node));
    let given = function.and_then(|function| function.field("parameters"));
    let given = given.and_then(|given| given.children().first().copied());
    let name = given.and_then(|given| given.field("name")).map_or("_", At::text);
    let is_given = |call: &At<'_>| {
        call.field("arguments").is_some_and(|given| given.children().iter().any(|given| given.text() == name))
    };
    let runs = main.text().contains(".Run(") || calls.any(is_given);
    (!runs).then(|| skip(main, "TestMain runs no tests")).filter(|_| all.len() > 1)
}

/// Returns whether a call stands in a case, of a variable of the environment, that does something else than to run the tests.
fn is_case_of_child(call: At<'_>) -> bool {
    let case = std::iter::successors(call.node.parent(), tree_sitter::Node::parent)
        .find(|node| node.kind() == "expression_case")
        .map(|node| call.with(node));
    case.is_some_and(|case| {
        let value = case.field("value").map_or("", At::text).trim_matches('"');
        let first = case.text().split_once(':').map_or("", |(_, block)| block.trim_start());
        let is_told = ["fmt.", "log.", "println"].iter().any(|telling| first.starts_with(telling));
        !matches!(value, "" | "true" | "1") && !first.starts_with("os.Exit") && !is_told
    })
}

/// Returns whether nothing is done where the condition around a call does not hold.
fn may_be_left_out(run: At<'_>, main: At<'_>) -> bool {
    let above = std::iter::successors(run.node.parent(), tree_sitter::Node::parent);
    let mut conditions =
        above.take_while(|node| node.id() != main.node.id()).filter(|node| node.kind() == "if_statement");
    conditions.any(|node| {
        let at = run.with(node);
        let is_behind = at
            .field("consequence")
            .is_some_and(|then| then.node.byte_range().contains(&run.node.start_byte()));
        is_behind
            && at.field("alternative").is_none()
            && node.next_named_sibling().is_none()
            && !is_meant(run, run.source)
    })
}

/// Returns whether a call is in a function that is only passed on.
fn is_passed_on(call: At<'_>) -> bool {
    let mut above = std::iter::successors(call.node.parent(), tree_sitter::Node::parent);
    above.any(|node| {
        let is_called = node.parent().is_some_and(|parent| parent.kind() == "call_expression");
        node.kind() == "func_literal" && !is_called
    })
}

/// Returns whether `TestMain` has ended with the result of the tests before this call, if one of them failed.
pub(crate) fn follows_result(exit: At<'_>) -> bool {
    let statements = std::iter::successors(exit.node.parent(), tree_sitter::Node::parent);
    let mut before = statements
        .flat_map(|node| {
            std::iter::successors(node.prev_named_sibling(), tree_sitter::Node::prev_named_sibling)
        })
        .filter(|node| node.kind() == "if_statement")
        .map(|node| exit.with(node).text());
    before.any(|condition| {
        let mut codes = condition.split("os.Exit(").skip(1);
        let is_result = |code: &str| code.starts_with(|first: char| first.is_ascii_lowercase());
        condition.contains(".Run()") && codes.clone().next().is_some() || codes.any(is_result)
    })
}
