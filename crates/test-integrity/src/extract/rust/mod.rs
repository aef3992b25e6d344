//! Tests of Rust: the attribute `test` and its relatives.

pub(super) mod macros;
pub(crate) mod test_items;
pub(super) mod unfold;

use crate::assertion::{Assertion, Strength, vocabulary};
use crate::extract::recognition::{chains, learned};
use crate::extract::{Reader, Skip, Test, TestFile, worse};
use crate::files::Role;
use crate::syntax::At;

struct Rust;

impl Reader for Rust {
    fn assertion(&self, at: At<'_>) -> Option<Assertion> {
        if at.kind() != "macro_invocation" {
            return result(at).or_else(|| by_name(at));
        }
        let name = at.field("macro")?.text();
        let last = name.rsplit(':').next().unwrap_or(name);
        let is_assertion = last.starts_with("prop_assert")
            || last.starts_with("debug_assert")
            || learned::is_check(last) && !last.starts_with("expect_file");
        if !is_assertion && !matches!(last, "panic" | "unreachable" | "bail") || is_dropped(at) {
            return None;
        }
        let tokens = at.children().into_iter().find(|child| child.kind() == "token_tree")?;
        let given = arguments(tokens);
        let words = at.words();
        let plain = vocabulary::plain(last);
        // Nothing of it is left where the program is built for release.
        let at_most = if last.starts_with("debug_") { Strength::Partial } else { Strength::Exact };
        let cap = |mut assertion: Assertion| {
            assertion.strength = assertion.strength.min(at_most);
            assertion
        };
        if let [value, matcher] = given.as_slice()
            && plain.ends_with("that")
        {
            return Some(learned::of_matcher(value, matcher, false, at.line(), &words));
        }
        if matches!(
            plain.as_str(),
            "assert"
                | "propassert"
                | "debugassert"
                | "ensure"
                | "check"
                | "require"
                | "verify"
                | "asserttrue"
        ) {
            return Some(cap(Assertion::of_condition(
                given.first().map_or("", String::as_str),
                at.line(),
                &words,
            )));
        }
        Some(cap(Assertion::of_call(last, &given, at.line(), &words)))
    }

    fn links(&self, at: At<'_>) -> Vec<Assertion> {
        if at.kind() == "call_expression" { chains::of_programs(&chains::chain(at)) } else { Vec::new() }
    }

    fn skip(&self, _: At<'_>) -> Option<String> {
        None
    }

    fn is_condition(&self, at: At<'_>) -> bool {
        let is_of_some = || {
            let name = at.field("function").and_then(|function| function.field("field"));
            name.is_some_and(|name| {
                matches!(name.text(), "map" | "inspect" | "and_then" | "is_some_and" | "is_ok_and")
            })
        };
        let leaves_out = || {
            let arms = at.field("body").map(At::children).unwrap_or_default();
            arms.iter().any(|arm| arm.field("value").is_some_and(|value| matches!(value.text(), "{}" | "()")))
        };
        match at.kind() {
            // Where one of two branches asserts and the other one panics, nothing is left out.
            "if_expression" => !at.field("alternative").is_some_and(|other| other.text().contains("panic!(")),
            "call_expression" => is_of_some(),
            "match_expression" => leaves_out(),
            _ => has_cfg(at),
        }
    }

    fn swallows(&self, at: At<'_>) -> bool {
        let is_unread = || {
            let value = at.field("value").map_or("", At::text);
            at.field("pattern").is_some_and(|name| name.text() == "_") && value.ends_with(".join()")
        };
        match at.kind() {
            "call_expression" => {
                at.field("function").is_some_and(|name| name.text().ends_with("catch_unwind"))
            }
            "let_declaration" => is_unread(),
            _ => false,
        }
    }

    fn mock(&self, _: At<'_>) -> Option<String> {
        None
    }

    fn callee<'a>(&self, at: At<'a>) -> Option<&'a str> {
        match at.kind() {
            "call_expression" => at.field("function").map(At::text),
            "macro_invocation" => at.field("macro").map(At::text),
            _ => None,
        }
    }

    fn is_apart(&self, at: At<'_>) -> bool {
        at.kind() == "function_item"
    }
}

/// Returns whether nobody looks at what a macro comes to: `verify_that!(a, eq(1)).ok();`.
fn is_dropped(at: At<'_>) -> bool {
    let Some(parent) = at.node.parent().map(|parent| at.with(parent)) else { return false };
    match parent.kind() {
        "field_expression" => parent
            .field("field")
            .is_some_and(|name| matches!(name.text(), "ok" | "is_ok" | "is_err" | "unwrap_or")),
        "let_declaration" => parent.field("pattern").is_some_and(|name| name.text() == "_"),
        _ => false,
    }
}

/// Returns what a property demands that says by its result whether it holds.
fn result(at: At<'_>) -> Option<Assertion> {
    let block = at.node.parent().filter(|block| block.kind() == "block" && block.named_child_count() > 0)?;
    let function = block.parent().filter(|function| function.kind() == "function_item")?;
    let is_last =
        u32::try_from(block.named_child_count()).ok().and_then(|count| block.named_child(count - 1))
            == Some(at.node);
    let of_truth = || {
        at.with(function)
            .field("return_type")
            .is_some_and(|kind| matches!(kind.text(), "bool" | "TestResult"))
    };
    (is_last && !at.kind().ends_with("statement") && of_truth() && is_property(at.with(function)))
        .then(|| Assertion::of_condition(&at.normal(), at.line(), &at.words()))
}

fn is_property(function: At<'_>) -> bool {
    let above = function.node.prev_sibling().filter(|node| node.kind() == "attribute_item");
    above.is_some_and(|node| function.with(node).text().contains("quickcheck"))
}

/// Returns the assertion that a call is by its name alone: `expected.assert_eq(&found);`, `assert_same(a, b);`.
fn by_name(at: At<'_>) -> Option<Assertion> {
    let function =
        at.field("function").filter(|_| at.kind() == "call_expression" && learned::is_statement(at))?;
    let (name, receiver) = match function.kind() {
        "field_expression" => (function.field("field")?.text(), function.field("value")),
        "identifier" => (function.text(), None),
        "scoped_identifier" => (function.field("name")?.text(), None),
        _ => return None,
    };
    if !learned::is_check(name)
        || matches!(name, "expect_err" | "expect_none")
        || name == "check"
        || name == "verify" && receiver.is_none()
    {
        return None;
    }
    // What a mock expects is demanded when it is dropped.
    if name.starts_with("expect_") && receiver.is_some() {
        return None;
    }
    let given =
        crate::extract::arguments(at).into_iter().map(|given| given.trim_start_matches("& ").to_owned());
    let given: Vec<String> = given.chain(receiver.map(At::normal)).collect();
    Some(Assertion::of_call(name, &given, at.line(), &at.words()))
}

/// Returns whether a statement has a `cfg` of its own.
fn has_cfg(statement: At<'_>) -> bool {
    let is_statement = matches!(statement.kind(), "expression_statement" | "block" | "let_declaration");
    // The node before is found by going through all that come before it, so most statements are told by the text.
    let may_have = || statement.source[..statement.node.start_byte()].trim_end().ends_with(']');
    let above = || statement.node.prev_sibling().filter(|node| node.kind() == "attribute_item");
    is_statement
        && may_have()
        && above().is_some_and(|node| statement.with(node).text().starts_with("#[cfg("))
}

/// Splits the tokens of a macro at its commas.
pub(super) fn arguments(tokens: At<'_>) -> Vec<String> {
    let mut arguments = vec![Vec::new()];
    let mut depth = 0_usize;
    let words = tokens.words();
    let inner = words.get(1..words.len().saturating_sub(1)).unwrap_or_default();
    for word in inner {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                arguments.push(Vec::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = arguments.last_mut() {
            last.push(*word);
        }
    }
    arguments.into_iter().map(|words| words.join(" ")).filter(|argument| !argument.is_empty()).collect()
}

/// What the attributes of an item say.
#[derive(Default)]
struct Attributes {
    is_test: bool,
    skip: Option<Skip>,
    cases: usize,
    /// Tokens of the cases.
    cells: Vec<String>,
    panics: Option<Assertion>,
}

impl Attributes {
    fn of(item: At<'_>) -> Self {
        let mut all = Self::default();
        let mut before = item.node.prev_sibling();
        while let Some(node) =
            before.filter(|node| node.kind() == "attribute_item" || node.kind().ends_with("comment"))
        {
            before = node.prev_sibling();
            if node.kind() != "attribute_item" {
                continue;
            }
            let at = item.with(node);
            let text = at.normal();
            let inner = text.trim_start_matches("# [ ").trim_end_matches(" ]");
            let path: String = inner.split(['(', '=']).next().unwrap_or(inner).split(' ').collect();
            // Cases may have names: `case::first`.
            let own = path.rsplit("::").next().unwrap_or(&path);
            match if path.contains("case::") { "case" } else { own } {
                "quickcheck" => all.is_test = true,
                "test_case" | "case" => {
                    all.is_test = true;
                    all.cases += 1;
                    all.cells.extend(at.words().into_iter().map(str::to_owned));
                }
                "ignore" => {
                    all.skip =
                        Some(Skip { line: at.line(), is_conditional: false, text: at.text().to_owned() });
                }
                "cfg_attr" if inner.contains("ignore") => {
                    all.skip = worse(
                        all.skip.take(),
                        Some(Skip { line: at.line(), is_conditional: true, text: at.text().to_owned() }),
                    );
                }
                "cfg" if !is_plain_cfg(inner) => {
                    let is_conditional = !matches!(
                        inner.replace(' ', "").as_str(),
                        "cfg(any())" | "cfg(FALSE)" | "cfg(false)"
                    );
                    all.skip = worse(
                        all.skip.take(),
                        Some(Skip { line: at.line(), is_conditional, text: at.text().to_owned() }),
                    );
                }
                name if name.contains("test") => all.is_test = true,
                "should_panic" => {
                    let says = inner.contains("expected") && !inner.ends_with("\"\" )");
                    all.panics = Some(Assertion::of_failure("", says, at.line(), &at.words()));
                }
                _ => {}
            }
        }
        all
    }
}

/// Returns whether a `cfg` is the one that every module of tests has.
fn is_plain_cfg(text: &str) -> bool {
    text.replace(' ', "") == "cfg(test)"
}

/// Returns the `cfg` that a whole file has.
fn of_file(root: At<'_>) -> Option<Skip> {
    let attributes = root.children().into_iter().filter(|at| at.kind() == "inner_attribute_item");
    let conditions = attributes.filter(|at| at.text().starts_with("#![cfg(") && at.text() != "#![cfg(test)]");
    conditions
        .map(|at| Skip {
            line: at.line(),
            is_conditional: at.text() != "#![cfg(any())]",
            text: at.text().to_owned(),
        })
        .next()
}

/// Returns whether a module is built for tests alone, or has some.
fn holds_tests(module: At<'_>) -> bool {
    let mut above = std::iter::successors(module.node.prev_sibling(), tree_sitter::Node::prev_sibling)
        .take_while(|node| node.kind() == "attribute_item" || node.kind().ends_with("comment"));
    above.any(|node| module.with(node).text().contains("test")) || module.text().contains("#[test]")
}

/// Reads the tests of a Rust file.
pub(super) fn read(path: &str, root: At<'_>) -> TestFile {
    let mut file = TestFile::default();
    // A program's own functions panic as well.
    let is_file_of_tests = Role::of(path) == Role::Test;
    let mut waiting: Vec<(At<'_>, Vec<&str>, Option<Skip>, bool)> =
        vec![(root, Vec::new(), of_file(root), is_file_of_tests)];
    while let Some((at, names, outer, is_of_tests)) = waiting.pop() {
        match at.kind() {
            "mod_item" => {
                let skip = worse(Attributes::of(at).skip, outer);
                let is_of_tests = is_of_tests || holds_tests(at);
                let names = [names, vec![at.field("name").map_or("", At::text)]].concat();
                if let Some(body) = at.field("body") {
                    waiting.extend(
                        body.children()
                            .into_iter()
                            .rev()
                            .map(|child| (child, names.clone(), skip.clone(), is_of_tests)),
                    );
                }
            }
            "function_item" => {
                let Some(block) = at.field("body") else { continue };
                let name = at.field("name").map_or("", At::text);
                let attributes = Attributes::of(at);
                let mut body = Rust.body(block);
                if attributes.is_test {
                    body.cells.extend(attributes.cells);
                    body.skip = worse(worse(attributes.skip, outer.clone()), body.skip.take());
                    // A test that is to panic passes when an assertion fails.
                    for assertion in &mut body.assertions {
                        assertion.is_swallowed |= attributes.panics.is_some();
                    }
                    body.assertions.extend(attributes.panics);
                    let name = [names, vec![name]].concat().join(" > ");
                    let cases = (attributes.cases > 0).then_some(attributes.cases);
                    file.tests.push(Test {
                        path: path.to_owned(),
                        name,
                        line: at.line(),
                        body,
                        focus: None,
                        cases,
                        hidden: None,
                    });
                } else if is_of_tests {
                    file.add_function(name, body);
                }
            }
            _ => waiting.extend(
                at.children()
                    .into_iter()
                    .rev()
                    .map(|child| (child, names.clone(), outer.clone(), is_of_tests)),
            ),
        }
    }
    file
}
