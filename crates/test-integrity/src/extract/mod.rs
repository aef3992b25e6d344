//! Reads the tests of a file: their names, assertions, cases and whatever keeps them from running. It uses the file's path
//! ([`crate::files`]), its syntax ([`crate::syntax`]) and single assertions ([`crate::assertion`]), and sees one state of one file.

mod cells;
pub(crate) mod classes;
mod ecmascript;
mod fixtures;
mod flow;
mod go;
mod java;
mod kinds;
pub(crate) mod meant_endings;
mod names;
mod patterns;
mod prefilter;
mod python;
mod recognition;
mod replaced_endings;
mod rows;
pub(crate) mod rust;
mod statements;
mod support_code;
mod test_file;
mod values;

use std::collections::BTreeMap;

use crate::assertion::Assertion;
use crate::files::{Language, Role};
use crate::syntax::bindings::Given;
use crate::syntax::{At, parse};
pub(crate) use flow::early_exit::worse;
use flow::early_exit::{judging, settle};
use flow::outcomes::Outcomes;
pub(crate) use flow::waits::{Wait, Waits};
use flow::{early_exit, jumps, listeners, outcomes, raised, reach};
pub(crate) use go::follows_result;
pub(crate) use kinds::is_function;
use kinds::is_handler;
pub(crate) use names::Names;
pub(crate) use prefilter::may_hold_tests;
pub(crate) use rows::Looped;
pub(crate) use statements::{Statement, statements};
pub(crate) use support_code::TARGETS;
pub(crate) use test_file::{Body, Mark, Skip, Test, TestFile};
use values::{constants, golden, losses, order, tainted};

/// What a node of a body is in.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing about where a node stands")]
#[derive(Clone, Copy, Default)]
struct Inside {
    condition: bool,
    /// Whether something before it may have left it out.
    passed_over: bool,
    swallowed: bool,
    /// Whether a function within the test is read, whose end is not the test's.
    nested: bool,
    /// Whether a failure may be expected here, or an end of the process.
    guarded: bool,
    /// Whether a failure is handled.
    handled: bool,
}

/// Language's part in reading tests.
trait Reader {
    /// Returns the assertion that a node is.
    fn assertion(&self, at: At<'_>) -> Option<Assertion>;
    /// Returns the assertions that a chain of calls makes of a value before its last one: `.hasSize(2).contains(1)`.
    fn earlier(&self, _: At<'_>) -> Vec<Assertion> {
        Vec::new()
    }
    /// Returns the assertions of a chain of calls of which each demands something: `.expect(200).expect("ok")`.
    fn links(&self, _: At<'_>) -> Vec<Assertion> {
        Vec::new()
    }
    /// Returns what a node skips the test by, such as a call of `skip`.
    fn skip(&self, at: At<'_>) -> Option<String>;
    /// Returns whether what skips the test has a condition in itself.
    fn is_condition_of_skip(&self, _: At<'_>) -> bool {
        false
    }
    /// Returns whether what is below a node happens only under a condition.
    fn is_condition(&self, at: At<'_>) -> bool;
    /// Returns the place where an assertion is made.
    fn start(&self, at: At<'_>) -> usize {
        at.node.start_byte()
    }
    /// Returns whether an assertion under a condition is made only under it; in Go, the condition is what is asserted.
    fn has_conditions(&self) -> bool {
        true
    }
    /// Returns whether the condition around an assertion is what is asserted.
    fn is_its_condition(&self, _: At<'_>) -> bool {
        !self.has_conditions()
    }
    /// Returns whether what is below a node may be left out although it is no condition of an assertion.
    fn passes_over(&self, _: At<'_>) -> bool {
        false
    }
    /// Returns whether a node catches failures of what is below it, and continues.
    fn swallows(&self, at: At<'_>) -> bool;
    /// Returns what a node replaces by a mock.
    fn mock(&self, at: At<'_>) -> Option<String>;
    /// Returns the name that a node calls.
    fn callee<'a>(&self, at: At<'a>) -> Option<&'a str>;
    /// Returns whether a node is something of its own within a body, such as a nested test.
    fn is_apart(&self, at: At<'_>) -> bool;
    /// Returns whether a node ends the test early.
    fn is_return(&self, at: At<'_>) -> bool {
        matches!(at.kind(), "return_statement" | "return_expression")
    }

    /// Reads a body.
    #[expect(clippy::too_many_lines, reason = "one walk through all nodes")]
    fn body(&self, root: At<'_>) -> Body {
        let mut body = Body {
            words: root.words().into_iter().map(str::to_owned).collect(),
            defined: names::of_body(root),
            cells: rows::of_tables(root),
            rows: rows::of_loops(root),
            loops: rows::open_loops(root),
            outcomes: Outcomes::of(root),
            overwritten: golden::overwritten(root),
            waits: Waits::of(root, |at| self.assertion(at).is_some()),
            ..Body::default()
        };
        let all_words = body.words.clone();
        let tokens = reach::Tokens::new(&all_words);
        let values = values::Values::of(root, &all_words);
        let unordered = order::lost(root);
        let mut starts = Vec::new();
        let mut asserted: BTreeMap<String, usize> = BTreeMap::new();
        let waits = root.field("parameters").is_some_and(|given| !given.children().is_empty())
            || root.field("parameter").is_some();
        let mut returns: Vec<(At<'_>, bool)> = Vec::new();
        let mut waiting = vec![(root, Inside::default())];
        let mut last_end = 0;
        while let Some((at, inside)) = waiting.pop() {
            if at.node != root.node && self.is_apart(at) {
                continue;
            }
            let is_nested = at.node != root.node && is_function(at.kind());
            let is_left = || outcomes::is_left_alone(at, |words| tokens.have_besides(at, words));
            if is_nested && tokens.leave_uncalled(at) || tokens.leave_running(at, waits) || is_left() {
                continue;
            }
            if let Some(text) = self.skip(at) {
                let is_conditional = inside.condition || inside.handled || self.is_condition_of_skip(at);
                if is_conditional {
                    body.exits.push(early_exit::exit(at));
                }
                body.note_skip(Skip { line: at.line(), is_conditional, text });
            }
            if let Some(text) = self.mock(at) {
                body.mocks.push(Mark { line: at.line(), text });
            }
            if let Some(name) = self.callee(at) {
                body.calls.push(bare_name(name));
            }
            // A promise that is returned is waited for.
            let is_result = at.kind() == "return_statement" && early_exit::waits(self, at);
            if self.is_return(at) && !inside.nested && !is_result && !early_exit::follows_failure(at) {
                returns.push((at, inside.condition));
            } else if reach::is_exit(at) && !(inside.nested || inside.condition || inside.guarded) {
                returns.push((at, false));
            }
            if let Some(mut assertion) = self.assertion(at) {
                assertion.is_conditional =
                    inside.condition && !self.is_its_condition(at) || inside.passed_over;
                assertion.is_swallowed = inside.swallowed;
                assertion.is_handling = inside.handled;
                assertion.is_recomputed = tainted::is_recomputed(at);
                assertion.is_of_callback = tainted::is_of_callback(at);
                body.asserting.extend(assertion.callee().map(str::to_owned));
                // The same once more, with nothing in between, says nothing more.
                let repeats = body.assertions.last().is_some_and(|last| {
                    let between = root.source.get(last_end..at.node.start_byte()).unwrap_or("_");
                    last.text == assertion.text
                        && between.trim_matches([';', ' ', '\n', '\t', '\r']).is_empty()
                });
                last_end = at.node.end_byte();
                if repeats {
                    continue;
                }
                starts.push(self.start(at));
                // Go's assertion is a condition, and what is said when it does not hold.
                let is_of_condition =
                    !assertion.text.starts_with(at.words().first().copied().unwrap_or_default());
                let condition = assertion.text.split(' ').filter(|_| is_of_condition);
                for word in at.words().into_iter().chain(condition) {
                    *asserted.entry(word.to_owned()).or_default() += 1;
                }
                // What is given to it may come from a helper that asserts something as well.
                let below = at.descendants().into_iter().skip(1);
                body.calls.extend(below.filter_map(|below| self.callee(below)).map(bare_name));
                for earlier in self.earlier(at) {
                    starts.push(self.start(at));
                    let (is_conditional, is_swallowed) = (assertion.is_conditional, assertion.is_swallowed);
                    let is_handling = assertion.is_handling;
                    body.assertions.push(Assertion { is_conditional, is_swallowed, is_handling, ..earlier });
                }
                // What a function asserts of the failure, or of the value, that it is given.
                let judges = assertion.is_failure() || early_exit::satisfies(at);
                body.assertions.push(assertion);
                if judges {
                    let functions = judging(at).into_iter();
                    waiting.extend(functions.map(|function| (function, Inside { nested: true, ..inside })));
                }
                continue;
            }
            for link in self.links(at) {
                let (is_conditional, is_swallowed) =
                    (inside.condition || inside.passed_over, inside.swallowed);
                starts.push(at.node.start_byte());
                body.assertions.push(Assertion {
                    is_conditional,
                    is_swallowed: is_swallowed || link.is_swallowed,
                    ..link
                });
            }
            let condition = inside.condition || self.is_condition(at) || listeners::may_stay_silent(at, root);
            let swallows = self.swallows(at) || reach::returns_at_last(at);
            let guarded = inside.guarded || matches!(at.kind(), "with_statement" | "try_statement");
            let nested = inside.nested || is_nested;
            let dead = reach::dead(at, &values);
            let reached = raised::without_unreached(at, reach::reached(at, inside.nested));
            let first_passed = jumps::passed_over(at, &reached, inside.nested).unwrap_or(reached.len());
            let of_node = inside.passed_over || self.passes_over(at);
            for (place, child) in
                reached.into_iter().enumerate().rev().filter(|(_, child)| Some(child.node) != dead)
            {
                let passed_over = of_node || place > first_passed;
                let handled = swallows && is_handler(child.kind());
                let swallowed = (inside.swallowed || swallows) && !handled;
                let handled =
                    inside.handled || child.kind().contains("except_") || child.kind().contains("catch");
                waiting.push((child, Inside { condition, passed_over, swallowed, nested, guarded, handled }));
            }
        }
        values.settle(&mut body.assertions, &starts, &asserted);
        order::settle(&mut body.assertions, &starts, &unordered);
        losses::settle(root, &values, &unordered, &mut body.assertions, &starts);
        settle(root, &mut body, returns);
        body
    }
}

/// Returns the name of what is called, without its path.
fn bare_name(name: &str) -> String {
    name.rsplit(['.', ':']).next().unwrap_or(name).to_owned()
}

/// Returns the normal texts of a call's arguments.
fn arguments(call: At<'_>) -> Vec<String> {
    call.field("arguments")
        .map_or_else(Vec::new, |list| list.children().into_iter().map(At::normal).collect())
}

/// Reads the tests of a file; a file without tests gives none. Text that no grammar can be asked about is read by
/// patterns.
pub(crate) fn tests(path: &str, text: &str) -> TestFile {
    let Some(language) = Language::of(path) else {
        return if Role::of(path) == Role::Test { patterns::read(path, text) } else { TestFile::default() };
    };
    if !may_hold_tests(path, text) {
        return TestFile::default();
    }
    let unfolded = (language == Language::Rust).then(|| rust::unfold::unfold(text)).flatten();
    let text = unfolded.as_deref().unwrap_or(text);
    let Some(tree) = parse(text, language) else { return patterns::read(path, text) };
    let given = Given::of(At::root(&tree, text));
    let root = At { given: Some(&given), ..At::root(&tree, text) };
    let mut file = match language {
        Language::Python => python::read(path, root),
        Language::EcmaScript => ecmascript::read(path, root),
        Language::Rust => rust::read(path, root),
        Language::Go => go::read(path, root),
        Language::Java => java::read(path, root),
    };
    support_code::read(root, language, &mut file);
    constants::settle(root, &mut file);
    TestFile { names: Names::of_file(root), ..file }
}
