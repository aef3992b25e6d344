//! Ends of the process that are what the code is about: expected, replaced, or those of a child that the tests start.

use std::sync::LazyLock;

use regex::Regex;

use super::replaced_endings::{is_caught_by_own, is_of_thread, is_replaced_around, replaces};
use crate::syntax::At;

/// Returns whether the end of the process is what the code is about: it is expected, or the process is a child of the tests', which a
/// variable of the environment or a fork tells from them.
pub(crate) fn is_meant(call: At<'_>, text: &str) -> bool {
    let mut node = call.node;
    while let Some(parent) = node.parent() {
        let at = call.with(parent);
        match parent.kind() {
            "with_statement" if head(at).contains("SystemExit") || is_caught_by_own(head(at), text) => {
                return true;
            }
            "try_statement" if at.text().contains("except SystemExit") => return true,
            "if_statement" | "if_expression" => {
                let condition = at.field("condition").map_or("", At::text);
                let is_behind = at.field("consequence").is_some_and(|then| holds(then, call));
                let is_program = ["__name__", "require.main", "import.meta.main"];
                if is_of_child(condition, text) && !is_of_parent(condition, is_behind)
                    || is_program.iter().any(|word| condition.contains(word))
                {
                    return true;
                }
                if is_behind && (is_argument(condition, text) || is_option(at, condition, text)) {
                    return true;
                }
            }
            "function_definition" | "function_declaration" | "function_item" | "arrow_function" => {
                // A child that returns early elsewhere goes on here.
                let body = at.text();
                let before = &text[parent.start_byte()..call.node.start_byte()];
                let is_forked = body.contains("fork()") && at.words().contains(&"fork");
                let is_of_parent =
                    conditions(call, at).any(|(condition, is_behind)| is_of_parent(condition, is_behind));
                let is_expected = !call.text().contains("_exit")
                    && body.contains("SystemExit")
                    && at.normal().contains("aises ( SystemExit");
                if is_forked
                    || is_expected
                    || names_child(body, text) && !is_of_parent
                    || returns_elsewhere(before)
                    || is_replaced(at, call)
                    || is_replaced_around(at, call)
                    || is_of_thread(at, call, text)
                {
                    return true;
                }
            }
            _ => {}
        }
        node = parent;
    }
    false
}

/// Returns the conditions within a function under which a call is made, each with whether it has to hold.
fn conditions<'a>(call: At<'a>, function: At<'a>) -> impl Iterator<Item = (&'a str, bool)> {
    let above = std::iter::successors(call.node.parent(), tree_sitter::Node::parent);
    let within =
        above.take_while(move |node| node.id() != function.node.id()).map(move |node| call.with(node));
    within.filter(|at| matches!(at.kind(), "if_statement" | "if_expression")).filter_map(move |at| {
        let is_behind = at.field("consequence").is_some_and(|then| holds(then, call));
        Some((at.field("condition")?.text(), is_behind))
    })
}

/// Returns whether a condition on a variable of the environment leads here where nobody has set it, as in the process of the tests.
fn is_of_parent(condition: &str, is_behind: bool) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    static UNSET: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"^\(?\s*(?:!\s*\(?\s*[a-z]|not\b)|\bnot in\b|(?:\bis|={2,3})\s*(?:None\b|null\b|undefined\b|nil\b|""|'')|!={1,2}\s*["'][^"']|\(\s*["']\w+["']\s*,\s*["']?[1-9A-Za-z]"#,
        )
        .unwrap()
    });
    let is_single = !["&&", "||", " and ", " or "].iter().any(|sign| condition.contains(sign));
    is_single && asked(condition).next().is_some() && UNSET.is_match(condition) == is_behind
}

/// Returns whether a function has put something else in the place of what ends the process before a call.
fn is_replaced(function: At<'_>, call: At<'_>) -> bool {
    function
        .descendants()
        .into_iter()
        .any(|at| at.node.end_byte() <= call.node.start_byte() && replaces(at, call))
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
