//! Tests of Go: its own package, and testify.

mod ginkgo;
mod test_main;

pub(crate) use test_main::follows_result;
use test_main::unheard;

use crate::assertion::bounds::Bound;
use crate::assertion::{Assertion, Strength};
use crate::extract::recognition::{chains, learned};
use crate::extract::values::fold;
use crate::extract::{Reader, Skip, Test, TestFile, arguments, fixtures, worse};
use crate::files::file_name;
use crate::syntax::At;

/// Methods of `testing.T` that fail a test.
const FAILURES: &[&str] = &["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"];

struct Go;

/// Returns the object and the method that a call names.
fn selector(at: At<'_>) -> Option<(&str, &str)> {
    let function = (at.kind() == "call_expression").then(|| at.field("function"))??;
    Some((function.field("operand")?.text(), function.field("field")?.text()))
}

/// Returns the assertion of a library whose names a file imports as its own: `import . "example.com/assert"`.
fn of_dot_import(call: At<'_>) -> Option<Assertion> {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "Equal", "NotEqual", "EqualValues", "True", "False", "Nil", "NotNil", "Empty", "NotEmpty", "Len", "Contains", "NoError", "Error",
        "ErrorIs", "ErrorContains", "Panics", "PanicMatches", "MatchRegex", "NotMatchRegex", "IsEqual",
    ];
    let name = call.field("function").filter(|name| NAMES.contains(&name.text()))?;
    let given = arguments(call);
    let is_of_t = matches!(given.first().map(String::as_str), Some("t" | "tb"));
    let is_import = |line: &str| {
        let path = line.trim().trim_start_matches("import ").strip_prefix(". \"");
        path.is_some_and(|path| path.contains("assert") || path.contains("require"))
    };
    let above = || call.source.lines().take_while(|line| !line.starts_with("func "));
    (is_of_t && above().any(is_import))
        .then(|| Assertion::of_call(name.text(), &given[1..], call.line(), &call.words()))
}

impl Reader for Go {
    fn assertion(&self, at: At<'_>) -> Option<Assertion> {
        if at.kind() != "call_expression" {
            return None;
        }
        let by_name = || learned::of_go(at, &chains::chain(at));
        let Some((object, method)) = selector(at) else { return by_name().or_else(|| of_dot_import(at)) };
        if matches!(object, "t" | "tb" | "b" | "c") && FAILURES.contains(&method) {
            return Some(failure(at));
        }
        if method.starts_with("AssertExpectations") || method.starts_with("AssertCalled") {
            return Some(Assertion::of_call("calledWith", &arguments(at), at.line(), &at.words()));
        }
        if !matches!(
            object,
            "assert" | "require" | "is" | "should" | "check" | "s" | "suite" | "a" | "r" | "goleak"
        ) {
            return by_name();
        }
        if learned::is_of_runner(method) {
            return None;
        }
        let starts_upper = method.starts_with(char::is_uppercase);
        let given = arguments(at);
        let from = usize::from(matches!(given.first().map(String::as_str), Some("t" | "tb" | "c")));
        if !starts_upper || from == 0 && !matches!(object, "assert" | "require" | "is" | "s") {
            return None;
        }
        if method.starts_with("ObjectsAre") {
            return None;
        }
        let holds = given.iter().any(|given| given.ends_with("bool { return true }"));
        let method = if holds { "True" } else { method };
        let given = if holds { vec!["true".to_owned(); 2] } else { given };
        Some(Assertion::of_call(method, given.get(from..).unwrap_or_default(), at.line(), &at.words()))
    }

    fn skip(&self, at: At<'_>) -> Option<String> {
        let (object, method) = selector(at)?;
        (matches!(object, "t" | "tb") && matches!(method, "Skip" | "Skipf" | "SkipNow"))
            .then(|| at.text().to_owned())
    }

    fn is_condition(&self, at: At<'_>) -> bool {
        at.kind() == "if_statement"
    }

    fn has_conditions(&self) -> bool {
        false
    }

    fn start(&self, at: At<'_>) -> usize {
        enclosing(at)
            .and_then(|at| at.field("condition"))
            .map_or(at.node.start_byte(), |at| at.node.start_byte())
    }

    fn passes_over(&self, at: At<'_>) -> bool {
        let has_default = || at.children().iter().any(|case| case.kind() == "default_case" && !fails(*case));
        match at.kind() {
            "select_statement" => has_default(),
            // A `switch` over a literal has chosen before it runs.
            "expression_switch_statement" => {
                at.field("value").is_some_and(|value| fold::truth(value).is_some())
            }
            _ => false,
        }
    }

    fn is_return(&self, at: At<'_>) -> bool {
        let of_case = at
            .node
            .parent()
            .and_then(|block| if block.kind() == "statement_list" { block.parent() } else { Some(block) });
        if at.kind() != "return_statement" || of_case.is_some_and(|case| case.kind() == "communication_case")
        {
            return false;
        }
        // The end of what has failed, or of what is expected to.
        let block = at.node.parent().map(|block| at.with(block));
        let condition = block
            .and_then(|block| block.node.parent())
            .map(|node| at.with(node))
            .filter(|at| at.kind() == "if_statement");
        condition.is_none_or(|condition| {
            let text = condition.field("condition").map_or("", At::text).to_lowercase();
            let is_of_failure =
                ["err", "fail", "panic", "skip", "short", "ok"].iter().any(|word| text.contains(word));
            !is_of_failure && !block.is_some_and(fails)
        })
    }

    fn swallows(&self, _: At<'_>) -> bool {
        false
    }

    fn mock(&self, _: At<'_>) -> Option<String> {
        None
    }

    fn callee<'a>(&self, at: At<'a>) -> Option<&'a str> {
        (at.kind() == "call_expression").then(|| at.field("function"))?.map(At::text)
    }

    fn is_apart(&self, _: At<'_>) -> bool {
        false
    }
}

/// Returns whether something fails the test, skips it, or is told, below a node.
fn fails(at: At<'_>) -> bool {
    at.descendants().into_iter().any(|below| {
        selector(below).is_some_and(|(object, method)| {
            FAILURES.contains(&method)
                || method.starts_with("Skip")
                || method.starts_with("Log")
                || matches!(object, "assert" | "require")
        }) || below.kind() == "call_expression" && below.text().starts_with("panic(")
    })
}

/// Returns the condition around what fails a test.
fn enclosing(at: At<'_>) -> Option<At<'_>> {
    let mut parent = at.node.parent();
    while let Some(node) = parent {
        if node.kind() == "if_statement" {
            break;
        }
        parent = node.parent().filter(|_| !matches!(node.kind(), "function_declaration" | "func_literal"));
    }
    parent.map(|node| at.with(node))
}

/// Reads `if got != want { t.Errorf(…) }`: what is asserted is the opposite of the condition.
fn failure(at: At<'_>) -> Assertion {
    let words = at.words();
    let Some(condition) = enclosing(at).and_then(|at| at.field("condition")) else {
        return Assertion::of_call("fail", &[], at.line(), &words);
    };
    let text = condition.normal();
    let is_comparison = text.contains(" != ") && !text.contains(" != nil");
    // Whatever of several fails is enough to fail, so that all of them are demanded.
    let is_any = text.contains(" || ") && !text.contains(" && ");
    let opposite = match text.strip_prefix("! ") {
        Some(inner) if !inner.contains(" || ") && !inner.contains(" && ") => inner.to_owned(),
        _ if is_comparison && is_any => text.replace(" != ", " == ").replace(" || ", " && "),
        _ if is_comparison => text.replacen(" != ", " == ", 1),
        _ => text.clone(),
    };
    let mut said = condition.words();
    // What is left out of a comparison is said in front of the condition.
    let initializer = enclosing(at).and_then(|at| at.field("initializer"));
    if let Some(initializer) = initializer.filter(|initializer| initializer.text().contains("cmp.Diff(")) {
        said = [initializer.words(), vec![";"], said].concat();
    }
    let mut assertion = Assertion::of_condition(&opposite, at.line(), &said);
    let compared = initializer.and_then(|at| {
        at.descendants()
            .into_iter()
            .find(|at| at.text().starts_with("cmp.Diff(") && at.kind() == "call_expression")
    });
    if let Some([one, other, ..]) = compared.map(arguments).as_deref() {
        assertion.sides = Some((one.clone(), other.clone()));
    }
    assertion.bound = assertion.bound.filter(|_| !text.starts_with("! ")).map(Bound::opposite);
    let call = condition.descendants().into_iter().find(|below| below.kind() == "call_expression");
    let given = call.map(arguments).unwrap_or_default();
    let is_same = matches!(given.as_slice(), [one, other] if one == other);
    let is_vacuous = given.get(1).is_some_and(|given| given == "\"\"");
    // Both sides, where a function compares them.
    let is_comparing =
        ["DeepEqual", "cmp . Diff", "cmp . Equal", "slices . Equal", "maps . Equal", "bytes . Equal"]
            .iter()
            .any(|name| text.contains(name));
    if let [one, other, ..] = given.as_slice()
        && is_comparing
    {
        assertion.sides = Some((one.clone(), other.clone()));
    }
    if text.contains("DeepEqual") || text.contains("cmp . Diff") || text.contains("diff != ") {
        assertion.strength = Strength::Exact;
    } else if text.starts_with("! errors . Is (") || text.starts_with("! errors . As (") {
        assertion.strength = if text.contains(" . Is (") { Strength::Exact } else { Strength::Bounded };
    } else if matches!(text.as_str(), "err == nil" | "nil == err") {
        assertion.strength = Strength::Present;
    } else if !text.starts_with("! ") && !is_comparison && assertion.strength == Strength::Exact {
        assertion.strength = Strength::Bounded;
    }
    // One of two conditions is enough to pass.
    if text.matches(" != ").count() > 1 && text.contains(" && ") {
        assertion.strength = assertion.strength.min(Strength::Bounded);
    }
    if is_same
        || is_vacuous
        || fold::truth(condition) == Some(false)
        || matches!(text.as_str(), "false" | "1 == 2")
    {
        assertion.strength = Strength::Nothing;
    }
    assertion
}

/// Returns the number of rows of the longest table of a test.
fn rows(body: At<'_>) -> Option<usize> {
    let tables = body.descendants().into_iter().filter(|below| {
        let of_plain = below.field("type").is_some_and(|kind| {
            let element = kind.text().rsplit(']').next().unwrap_or_default();
            matches!(element, "string" | "byte" | "rune" | "bool" | "any" | "error" | "interface{}")
                || element.starts_with(['i', 'u', 'f'])
                    && element.ends_with(|last: char| last.is_ascii_digit() || last == 't')
        });
        !of_plain
            && below.kind() == "composite_literal"
            && below.field("type").is_some_and(|kind| matches!(kind.kind(), "slice_type" | "map_type"))
    });
    let lengths = tables.filter_map(|table| table.field("body")).map(|body| body.children().len());
    lengths.max().filter(|rows| *rows > 1)
}

/// Reads the tests of a Go file.
pub(super) fn read(path: &str, root: At<'_>) -> TestFile {
    let mut file = TestFile::default();
    let comments = root.source.lines().take_while(|line| !line.starts_with("package "));
    let ignored = comments.enumerate().find(|(_, line)| {
        let line = line.replace(' ', "");
        ["ignore", "never", "none"]
            .iter()
            .any(|tag| line == format!("//go:build{tag}") || line == format!("//+build{tag}"))
    });
    let elsewhere = elsewhere(path, root.source);
    let mut main = None;
    for at in root.children() {
        if !matches!(at.kind(), "function_declaration" | "method_declaration") {
            if at.kind() == "var_declaration" {
                ginkgo::read(&Go, path, at, &[], None, &mut file.tests);
            }
            continue;
        }
        let (Some(name), Some(block)) = (at.field("name").map(At::text), at.field("body")) else { continue };
        if name == "TestMain" {
            main = unheard(block);
        }
        let mut body = Go.body(block);
        if let Some((line, text)) = ignored {
            body.skip = Some(Skip { line: line + 1, is_conditional: false, text: text.to_owned() });
        } else if body.skip.is_none() {
            body.skip.clone_from(&elsewhere);
        }
        // A panic that nobody looks at.
        let recovers = |below: &At<'_>| {
            matches!(below.kind(), "expression_statement" | "assignment_statement")
                && matches!(below.text(), "recover()" | "_ = recover()")
        };
        let all = block.descendants();
        if all.iter().any(recovers) || all.iter().any(|below| forgets_panic(*below)) {
            body.assertions.iter_mut().for_each(|assertion| assertion.is_swallowed = true);
        }
        let of_testing = at.field("parameters").is_some_and(|given| given.text().contains("*testing."));
        let of_suite = at.kind() == "method_declaration" && path.ends_with("_test.go");
        // Go takes `Testing` for another word than `Test`.
        let is_name =
            |start: &str| name.strip_prefix(start).is_some_and(|rest| !rest.starts_with(char::is_lowercase));
        let is_test = (is_name("Test") && (of_testing || of_suite)) || (is_name("Fuzz") && of_testing);
        if of_suite && fixtures::OF_SUITES.contains(&name) {
            file.hooks.push(fixtures::hook(path, name, at.line(), body));
        } else if is_test && name != "TestMain" {
            let cases = rows(block);
            file.tests.push(Test {
                path: path.to_owned(),
                name: name.to_owned(),
                line: at.line(),
                body,
                focus: None,
                cases,
                hidden: None,
            });
        } else {
            file.add_function(name, body);
        }
    }
    // It is that of the package, whose tests may stand in other files.
    file.everywhere.extend(main.clone().filter(|_| file.tests.is_empty()));
    for test in &mut file.tests {
        test.body.skip = worse(test.body.skip.take(), main.clone());
        // What `TestMain` asserts at the end is asserted for all.
        if test.body.assertions.is_empty() && root.source.contains("goleak.VerifyTestMain(") {
            let words = ["goleak", ".", "VerifyNone", "(", "t", ")"];
            test.body.assertions.push(Assertion::of_call("VerifyNone", &[], test.line, &words));
        }
    }
    file
}

/// Returns whether a deferred function recovers from a panic and makes nothing of it that a test could tell.
fn forgets_panic(at: At<'_>) -> bool {
    let text = at.text();
    let is_told = ["panic(", ".Fatal", ".Error", ".Fail", "assert.", "require.", "Expect(", "Exit("]
        .iter()
        .any(|call| text.contains(call));
    let is_kept = || {
        let kinds = ["assignment_statement", "inc_statement", "send_statement"];
        at.descendants().iter().any(|below| kinds.contains(&below.kind()) && !below.text().starts_with("_ ="))
    };
    at.kind() == "defer_statement"
        && text.starts_with("defer func()")
        && text.contains("recover()")
        && !is_told
        && !is_kept()
}

/// Returns what keeps a file to some systems: a build constraint, or the end of its name.
fn elsewhere(path: &str, text: &str) -> Option<Skip> {
    const SYSTEMS: &[&str] = &[
        "windows", "linux", "darwin", "freebsd", "openbsd", "netbsd", "plan9", "js", "wasip1", "android",
        "ios", "solaris", "aix", "amd64", "arm64", "386", "arm", "wasm", "s390x", "ppc64le", "riscv64",
    ];
    let stem = file_name(path).strip_suffix("_test.go")?;
    let by_name = stem.rsplit_once('_').filter(|(_, system)| SYSTEMS.contains(system));
    let by_name = by_name.map(|(_, system)| Skip {
        line: 1,
        is_conditional: true,
        text: format!("the file is for `{system}` alone"),
    });
    let mut above = text.lines().take_while(|line| !line.starts_with("package ")).enumerate();
    let constraint = above
        .find(|(_, line)| ["//go:build ", "// +build "].iter().any(|start| line.starts_with(start)))
        .map(|(at, line)| Skip { line: at + 1, is_conditional: true, text: line.to_owned() });
    constraint.or(by_name)
}
