//! Calls that end the process with success from within tests, hooks and set-up: what fails later, or has failed, counts for nobody.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::reported::Reported;
use super::signs::is_steering;
use crate::Change;
use crate::extract;
use crate::files::{Language, is_support};
use crate::finding::{Finding, Kind, short};
use crate::syntax::{At, parse};

/// Calls that end the process as if all had gone well.
#[rustfmt::skip]
const TABLE: &[(Language, &str)] = &[
    (Language::Python, r"^(os\._exit|sys\.exit|exit|quit)\(\s*(0|os\.EX_OK|None|False)?\s*\)$|^pytest\.exit\(.*\breturncode\s*=\s*0\b|^atexit\.register\(\s*(os\._exit|sys\.exit)\s*,\s*0\s*\)$"),
    (Language::EcmaScript, r"^((globalThis\.|global\.)?process\.(exit|reallyExit)|Deno\.exit)\(\s*(0|null|undefined)?\s*\)$"),
    (Language::Rust, r"^((std::)?process::)?exit\(\s*0\s*\)$|^libc::_?exit\(\s*0\s*\)$"),
    (Language::Go, r"^(os\.Exit|syscall\.Exit)\(\s*0\s*\)$"),
    (Language::Java, r"^(java\.lang\.)?(System\.exit|Runtime\.getRuntime\(\)\.(exit|halt))\(\s*0\s*\)$"),
];

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

static SIGNS: LazyLock<Vec<(Language, Regex)>> = LazyLock::new(|| {
    TABLE.iter().filter_map(|(language, pattern)| Some((*language, Regex::new(pattern).ok()?))).collect()
});

/// Returns the calls that newly end the process with success, unless something was `reported` of the test that they stand in.
pub(crate) fn compare(changes: &[Change<'_>], reported: &Reported<'_>) -> Vec<Finding> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut read = Vec::new();
    for change in changes.iter().filter(|change| change.before != change.after) {
        for ending in endings(change.path, change.before.unwrap_or_default()) {
            *known.entry(ending.text).or_default() += 1;
        }
        read.push((change, endings(change.path, change.after.unwrap_or_default())));
    }
    let mut findings = Vec::new();
    for (change, endings) in read {
        for Ending { line, text, is_guard } in endings {
            // Nothing ran in a new file before.
            let leaves_out_new = is_guard && change.before.is_none() && !is_support(change.path);
            if let Some(count) = known.get_mut(&text).filter(|count| **count > 0) {
                *count -= 1;
            } else if !leaves_out_new && !reported.covers(change.path, line) {
                let text = short(&text);
                let message =
                    format!("the process ends with success, whatever has failed or comes later: `{text}`");
                findings.push(Finding::new(change.path, line, Kind::WeakerCheck, message));
            }
        }
    }
    findings
}

/// Call that ends the process with success.
struct Ending {
    line: usize,
    text: String,
    /// Whether it stands under a condition, outside of all functions: it leaves out the file.
    is_guard: bool,
}

/// Returns the calls of a file that end the process of its tests with success.
fn endings(path: &str, text: &str) -> Vec<Ending> {
    let Some(language) = Language::of(path) else { return Vec::new() };
    let Some((_, pattern)) = SIGNS.iter().find(|(of, _)| *of == language) else { return Vec::new() };
    let may_end = ["xit(", "halt(", "quit(", "_exit,", "exit, 0"].iter().any(|part| text.contains(part));
    let is_read = language == Language::Rust || is_steering(path) || is_support(path);
    if !may_end || !is_read {
        return Vec::new();
    }
    let Some(tree) = parse(text, language) else { return Vec::new() };
    let calls: Vec<At<'_>> = At::root(&tree, text)
        .descendants()
        .into_iter()
        .filter(|at| matches!(at.kind(), "call" | "call_expression" | "method_invocation"))
        .filter(|at| pattern.is_match(at.text()))
        .collect();
    if calls.is_empty() {
        return Vec::new();
    }
    // A program that tests start is none of theirs, whatever its folder.
    let has_tests = || {
        let file = extract::tests(path, text);
        !file.tests.is_empty() || !file.hooks.is_empty()
    };
    if !is_support(path) && !path.ends_with("conftest.py") && !has_tests() {
        return Vec::new();
    }
    let is_own = |at: At<'_>| language == Language::EcmaScript && is_end_of_own_runner(at, text);
    let ends = calls.into_iter().filter(|at| is_of_tests(*at) && !is_meant(*at, text) && !is_own(*at));
    ends.map(|at| Ending { line: at.line(), text: at.text().to_owned(), is_guard: is_guard(at) }).collect()
}

/// Returns whether a call stands under a condition, outside of all functions.
fn is_guard(call: At<'_>) -> bool {
    let above = || std::iter::successors(call.node.parent(), tree_sitter::Node::parent);
    let is_function =
        |kind: &str| ["func", "method", "lambda", "closure"].iter().any(|part| kind.contains(part));
    above().any(|node| node.kind() == "if_statement") && !above().any(|node| is_function(node.kind()))
}

/// Returns whether a call is made in the process of the tests: outside of functions, or in those that a runner calls, rather than in one
/// that stands for the program.
fn is_of_tests(call: At<'_>) -> bool {
    let mut node = call.node;
    while let Some(parent) = node.parent() {
        let at = call.with(parent);
        match parent.kind() {
            "function_definition"
            | "function_declaration"
            | "function_item"
            | "method_declaration"
            | "method_definition" => {
                let name = at.field("name").map_or("", At::text);
                if !(OF_RUNNERS.is_match(name) || is_marked(at)) {
                    return false;
                }
            }
            "lambda"
            | "arrow_function"
            | "function_expression"
            | "function"
            | "closure_expression"
            | "func_literal"
            | "lambda_expression" => {
                let is_called =
                    at.with(parent).node.parent().is_some_and(|around| is_caller(call.with(around), parent));
                if !is_called {
                    return false;
                }
            }
            _ => {}
        }
        node = parent;
    }
    true
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

/// Returns whether the end of the process is what the code is about: it is expected, or the process is a child of the tests', which a
/// variable of the environment or a fork tells from them.
fn is_meant(call: At<'_>, text: &str) -> bool {
    let mut node = call.node;
    while let Some(parent) = node.parent() {
        let at = call.with(parent);
        match parent.kind() {
            "with_statement" if head(at).contains("SystemExit") => return true,
            "try_statement" if at.text().contains("except SystemExit") => return true,
            "if_statement" | "if_expression" => {
                let condition = at.field("condition").map_or("", At::text);
                if is_of_child(condition, text) || condition.contains("__name__") {
                    return true;
                }
                let is_behind = at.field("consequence").is_some_and(|then| holds(then, call));
                if is_behind && (is_argument(condition, text) || is_option(at, condition, text)) {
                    return true;
                }
            }
            "function_definition" | "function_declaration" | "function_item" | "arrow_function" => {
                // A child that returns early elsewhere goes on here.
                let body = at.text();
                let before = &text[parent.start_byte()..call.node.start_byte()];
                if body.contains("fork()") || names_child(body, text) || returns_elsewhere(before) {
                    return true;
                }
            }
            _ => {}
        }
        node = parent;
    }
    false
}

/// Returns what stands before the body of a statement.
fn head(statement: At<'_>) -> &str {
    let start = statement.node.start_byte();
    let end = statement.field("body").map_or(0, |body| body.node.start_byte().saturating_sub(start));
    statement.text().get(..end).unwrap_or_default()
}

/// Returns whether a node is, or stands in, another.
fn holds(outer: At<'_>, inner: At<'_>) -> bool {
    let (outer, inner) = (outer.node.byte_range(), inner.node.byte_range());
    outer.start <= inner.start && inner.end <= outer.end
}

/// Returns whether a condition holds only with an argument that the file itself gives a child.
fn is_argument(condition: &str, text: &str) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    static ARGUMENT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"(?:os\.Args|argv)\[[1-9]\d*\]\s*={2,3}\s*["']([\w-]+)["']|argv\.includes\(["']([\w-]+)["']\)|["']([\w-]+)["'] in sys\.argv"#,
        )
        .unwrap()
    });
    let has_other_ways = ["||", " or ", "not ", "!"].iter().any(|sign| condition.contains(sign));
    let found = ARGUMENT.captures(condition).filter(|_| !has_other_ways);
    found.and_then(|found| found.iter().skip(1).flatten().next()).is_some_and(|argument| {
        let quoted = |quote: char| text.matches(&format!("{quote}{}{quote}", argument.as_str())).count();
        quoted('"') + quoted('\'') > 1
    })
}

/// Returns whether code prints what an option of the test run asks for, which the file itself adds and nobody sets by default.
fn is_option(code: At<'_>, condition: &str, text: &str) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    static OPTION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"^\(?(?:\w+\.)*(?:(?:getoption|getvalue)\(\s*["']-*([\w-]+)["']\s*\)|option\.(\w+))\)?$"#,
        )
        .unwrap()
    });
    let Some(found) = OPTION.captures(condition) else { return false };
    let name = found.iter().skip(1).flatten().next().map_or("", |name| name.as_str()).replace('_', "-");
    let is_added = text.split("addoption(").skip(1).any(|added| {
        let added = added.split("addoption(").next().unwrap_or_default();
        let own = added.split("\ndef ").next().unwrap_or_default();
        own.contains(&format!("\"--{name}\"")) && own.contains("store_true")
    });
    is_added && ["print", "write"].iter().any(|word| code.text().contains(word))
}

/// Returns whether code has returned unless a variable of the environment is set that nobody sets but who starts a child.
fn returns_elsewhere(code: &str) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    static GUARD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"\bif\s*\(?([^\n{:]*?)\s*(?:!==?\s*["'][^"'\n]+["']|==\s*"")\s*\)?\s*[{:]?\s*(?:return\b|t\.Skip)"#).unwrap()
    });
    GUARD.captures_iter(code).any(|found| {
        let condition = found.get(1).map_or("", |condition| condition.as_str());
        let is_single = !condition.contains("&&") && !condition.contains(" and ");
        is_single && asked(condition).any(|name| !is_set_by_others(name))
    })
}

/// Returns whether a call is the end of a file that runs its tests by itself, with what it has made of failures before: another
/// end of the process stands before it, or on the other side of a condition.
fn is_end_of_own_runner(call: At<'_>, text: &str) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    static FAILURE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bexit\(\s*[1-9a-zA-Z]|\bexitCode\s*=|\bthrow\b").unwrap());
    if !runs_itself(text) {
        return false;
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

/// Returns whether a condition tells a child from the process of the tests.
fn is_of_child(condition: &str, text: &str) -> bool {
    let words = ["isMainThread", "isPrimary", "isMaster", "pid == 0", "pid === 0"];
    words.iter().any(|word| condition.contains(word))
        || names_child(condition, text)
        || asked(condition).any(|name| !is_set_by_others(name))
}

/// Returns the names of the variables of the environment that code asks for.
fn asked(code: &str) -> impl Iterator<Item = &str> {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    static ASKED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?:[Ee]nv(?:iron)?(?:\.get)?|var(?:_os)?|LookupEnv|getenv|getProperty)\s*[(\[.]+\s*["']?(\w+)"#).unwrap()
    });
    ASKED
        .captures_iter(code)
        .filter_map(|found| found.get(1).map(|name| name.as_str()))
        .filter(|name| name.len() > 2 || *name == "CI")
        .filter(|name| !name.chars().any(char::is_lowercase))
}

/// Returns whether a variable is set by services, shells and runners rather than for a child.
fn is_set_by_others(name: &str) -> bool {
    const NAMES: [&str; 8] =
        ["CI", "PATH", "HOME", "USER", "PWD", "SHELL", "NODE_ENV", "CONTINUOUS_INTEGRATION"];
    const STARTS: [&str; 13] = [
        "CI_", "GITHUB_", "GITLAB_", "TRAVIS", "JENKINS", "BUILD_", "CIRCLE", "RUNNER_", "PYTEST", "JEST_",
        "VITEST", "CARGO", "RUST",
    ];
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

/// Returns whether code asks for a variable of the environment that the file itself sets for a child.
fn names_child(code: &str, text: &str) -> bool {
    asked(code).any(|name| text.matches(name).count() > 1 && !is_set_by_others(name))
}
