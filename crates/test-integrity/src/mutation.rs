//! Small faults put into changed code, to see whether its tests notice: negated conditions, numbers and comparisons that are
//! off by one, calls that are left out, default values in place of results.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde::Serialize;

use crate::changed::is_of_tests;
use crate::extract::rust::test_items::lines_of_tests;
use crate::files::Language;
use crate::syntax::{At, parse};

/// Calls that only tell something, so that no test can be expected to notice that one is missing.
const TELLING: &[&str] = &[
    "print", "println", "eprintln", "log", "logger", "logging", "console", "debug", "info", "warn",
    "warning", "trace",
];

/// Kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MutationKind {
    /// A condition says its opposite, or `and` became `or`.
    NegatedCondition,
    /// A comparison or a number is off by one.
    OffByOne,
    /// A call whose result nobody uses is gone.
    DroppedCall,
    /// A function returns a default value.
    ReturnedDefault,
}

impl fmt::Display for MutationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NegatedCondition => "negated condition",
            Self::OffByOne => "off by one",
            Self::DroppedCall => "dropped call",
            Self::ReturnedDefault => "returned default",
        })
    }
}

/// Fault in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// Line where it is, from 1.
    pub line: usize,
    /// What is done there.
    pub kind: MutationKind,
    /// Text that is replaced.
    pub before: String,
    /// Text in its place; empty if there is none.
    pub after: String,
    range: Range<usize>,
}

impl Mutation {
    fn new(at: At<'_>, kind: MutationKind, after: String) -> Self {
        Self { line: at.line(), kind, before: at.text().to_owned(), after, range: at.node.byte_range() }
    }

    /// Returns a text with the fault in it, or `None` if it is not the text that the fault was found in.
    pub fn apply(&self, text: &str) -> Option<String> {
        let (head, tail) = (text.get(..self.range.start)?, text.get(self.range.end..)?);
        (text.get(self.range.clone())? == self.before).then(|| [head, &self.after, tail].concat())
    }
}

/// Returns the faults that can be put into some lines of a file's code, by place. Files of tests and of other languages than
/// those with a grammar have none.
pub fn mutations(path: &str, text: &str, lines: &BTreeSet<usize>) -> Vec<Mutation> {
    let Some(language) = Language::of(path).filter(|_| !is_of_tests(path)) else { return Vec::new() };
    let Some(tree) = parse(text, language) else { return Vec::new() };
    let root = At::root(&tree, text);
    // What is broken already is no place for a fault.
    if root.node.has_error() {
        return Vec::new();
    }
    let of_tests = if language == Language::Rust { lines_of_tests(text) } else { Vec::new() };
    let mut found: Vec<Mutation> = root
        .descendants()
        .into_iter()
        .flat_map(|at| faults(at, language))
        .filter(|fault| {
            lines.contains(&fault.line) && !of_tests.iter().any(|lines| lines.contains(&fault.line))
        })
        .filter(|fault| fault.before != fault.after)
        .collect();
    found.sort_by_key(|fault| (fault.range.start, fault.range.end, fault.kind));
    found.dedup();
    found
}

fn faults(at: At<'_>, language: Language) -> Vec<Mutation> {
    [negated(at, language), operator(at), number(at), dropped(at, language), default(at, language)]
        .into_iter()
        .flatten()
        .collect()
}

/// Negates the condition of a branch or a loop.
fn negated(at: At<'_>, language: Language) -> Option<Mutation> {
    let is_branch = matches!(
        at.kind(),
        "if_statement"
            | "elif_clause"
            | "if_expression"
            | "while_statement"
            | "while_expression"
            | "ternary_expression"
    );
    let condition = is_branch.then(|| at.field("condition")).flatten()?;
    // A pattern is not a value that could be negated.
    if condition.descendants().iter().any(|below| matches!(below.kind(), "let_condition" | "let_chain")) {
        return None;
    }
    let text = condition.text();
    let after = match language {
        Language::Python => format!("not ({text})"),
        _ if condition.kind() == "parenthesized_expression" => format!("(!{text})"),
        _ => format!("!({text})"),
    };
    Some(Mutation::new(condition, MutationKind::NegatedCondition, after))
}

/// Replaces an operator by the one next to it.
fn operator(at: At<'_>) -> Option<Mutation> {
    let is_operation = matches!(
        at.kind(),
        "binary_expression" | "comparison_operator" | "boolean_operator" | "binary_operator"
    );
    let mut cursor = at.node.walk();
    let token = is_operation
        .then(|| at.node.children(&mut cursor).find(|child| !child.is_named()).map(|node| at.with(node)))
        .flatten()?;
    let (kind, after) = match token.text() {
        "<" => (MutationKind::OffByOne, "<="),
        "<=" => (MutationKind::OffByOne, "<"),
        ">" => (MutationKind::OffByOne, ">="),
        ">=" => (MutationKind::OffByOne, ">"),
        "==" => (MutationKind::NegatedCondition, "!="),
        "!=" => (MutationKind::NegatedCondition, "=="),
        "===" => (MutationKind::NegatedCondition, "!=="),
        "!==" => (MutationKind::NegatedCondition, "==="),
        "and" => (MutationKind::NegatedCondition, "or"),
        "or" => (MutationKind::NegatedCondition, "and"),
        "&&" => (MutationKind::NegatedCondition, "||"),
        "||" => (MutationKind::NegatedCondition, "&&"),
        _ => return None,
    };
    Some(Mutation::new(token, kind, after.to_owned()))
}

/// Adds one to a number.
fn number(at: At<'_>) -> Option<Mutation> {
    let is_number = matches!(
        at.kind(),
        "integer" | "integer_literal" | "int_literal" | "number" | "decimal_integer_literal"
    );
    let value: u64 = is_number.then(|| at.text().parse().ok()).flatten()?;
    let next = value.checked_add(1)?;
    Some(Mutation::new(at, MutationKind::OffByOne, next.to_string()))
}

/// Leaves out a call whose result nobody uses.
fn dropped(at: At<'_>, language: Language) -> Option<Mutation> {
    if at.kind() != "expression_statement" {
        return None;
    }
    let inner = at.children().into_iter().next()?;
    let call = if inner.kind() == "await_expression" { inner.children().into_iter().next()? } else { inner };
    if !matches!(call.kind(), "call" | "call_expression" | "method_invocation") {
        return None;
    }
    // The last expression of a block in Rust is its value.
    if language == Language::Rust && !at.text().ends_with(';') {
        return None;
    }
    let name = call.text().split('(').next().unwrap_or_default();
    let tells =
        name.split(['.', ':', '!']).any(|part| TELLING.contains(&part.trim().to_ascii_lowercase().as_str()));
    if tells || name.contains("super") {
        return None;
    }
    let after = match language {
        Language::Python => "pass",
        Language::Go => "",
        _ => ";",
    };
    Some(Mutation::new(at, MutationKind::DroppedCall, after.to_owned()))
}

/// Returns a default value in place of a result.
fn default(at: At<'_>, language: Language) -> Option<Mutation> {
    const KIND: MutationKind = MutationKind::ReturnedDefault;
    match (language, at.kind()) {
        (Language::Python, "return_statement") => {
            let value = at.children().into_iter().next()?;
            Some(Mutation::new(value, KIND, "None".to_owned()))
        }
        (Language::EcmaScript, "return_statement") => {
            let value = at.children().into_iter().next()?;
            Some(Mutation::new(value, KIND, "undefined".to_owned()))
        }
        (Language::Java, "return_statement") => {
            let value = at.children().into_iter().next()?;
            let mut above = at.node.parent();
            while let Some(node) =
                above.filter(|node| !matches!(node.kind(), "method_declaration" | "lambda_expression"))
            {
                above = node.parent();
            }
            let kind = at.with(above?).field("type")?.text();
            let after = match kind {
                "boolean" => "false",
                "int" | "long" | "short" | "byte" | "char" | "float" | "double" => "0",
                _ => "null",
            };
            Some(Mutation::new(value, KIND, after.to_owned()))
        }
        (Language::Rust, "return_expression") => {
            let value = at.children().into_iter().next()?;
            Some(Mutation::new(value, KIND, "Default::default()".to_owned()))
        }
        (Language::Rust, "function_item") => {
            at.field("return_type")?;
            let last = at.field("body")?.children().into_iter().next_back()?;
            let is_value = !matches!(last.kind(), "expression_statement" | "let_declaration")
                && !last.kind().ends_with("_item");
            is_value.then(|| Mutation::new(last, KIND, "Default::default()".to_owned()))
        }
        _ => None,
    }
}
