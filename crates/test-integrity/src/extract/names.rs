//! Names that a file or a test gives a meaning of its own, and those that it imports.

use std::collections::{BTreeMap, BTreeSet};

use crate::syntax::At;
use crate::syntax::imports::imports;

/// Longest value that is looked at for what it stands for, in bytes.
const MAX_VALUE: usize = 2_000;
/// Most functions of a file whose words are kept.
const MAX_FUNCTIONS: usize = 200;

/// Names of a file of tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Imported names, with the words of where they come from.
    pub(crate) imported: BTreeMap<String, BTreeSet<String>>,
    /// Names that the file as a whole defines, with their lines.
    pub(crate) defined: BTreeMap<String, usize>,
    /// Words of the functions that the file defines, by their names.
    pub(crate) within: BTreeMap<String, BTreeSet<String>>,
}

impl Names {
    /// Reads what stands outside of functions.
    pub(super) fn of_file(root: At<'_>) -> Self {
        let mut names = Self::default();
        let mut waiting = vec![root];
        while let Some(at) = waiting.pop() {
            names
                .imported
                .extend(imports(at).into_iter().map(|import| (import.name.to_owned(), import.words)));
            names.defined.extend(definition(at).map(|name| (name, at.line())));
            if let Some((name, words)) = function(at).filter(|_| names.within.len() < MAX_FUNCTIONS) {
                names.within.insert(name, words);
            }
            if !is_body(at.kind()) {
                waiting.extend(at.children());
            }
        }
        names
    }
}

/// Returns the name and the words of a function that a node declares.
fn function(at: At<'_>) -> Option<(String, BTreeSet<String>)> {
    let of = match at.kind() {
        "variable_declarator" => at.field("value").filter(|value| is_body(value.kind()))?,
        "function_definition" | "function_declaration" | "function_item" | "method_declaration" => at,
        _ => return None,
    };
    let is_short = of.text().len() <= MAX_VALUE;
    is_short
        .then(|| {
            Some((at.field("name")?.text().to_owned(), of.words().into_iter().map(str::to_owned).collect()))
        })
        .flatten()
}

/// Returns the names that the body of a test defines, with their lines.
pub(super) fn of_body(root: At<'_>) -> BTreeMap<String, usize> {
    root.descendants().into_iter().filter_map(|at| Some((definition(at)?, at.line()))).collect()
}

/// Returns whether a kind of node is one whose names others do not see.
fn is_body(kind: &str) -> bool {
    matches!(
        kind,
        "function_definition"
            | "function_declaration"
            | "function_item"
            | "arrow_function"
            | "function_expression"
            | "method_declaration"
            | "method_definition"
            | "func_literal"
            | "lambda"
            | "closure_expression"
    )
}

/// Returns whether a node is a method of a class within another one, which has to be called on an object of it.
fn is_of_inner_class(at: At<'_>) -> bool {
    let class = at
        .node
        .parent()
        .filter(|body| matches!(body.kind(), "class_body" | "interface_body"))
        .and_then(|body| body.parent());
    let outer = class.filter(|_| at.kind() == "method_declaration").and_then(|class| class.parent());
    outer.is_some_and(|outer| matches!(outer.kind(), "class_body" | "interface_body"))
}

/// Returns the name that a node defines. A name that stands for something of its own name, such as a version of it with other
/// settings, counts as the same; so does what comes from a library.
fn definition(at: At<'_>) -> Option<String> {
    if is_of_inner_class(at) {
        return None;
    }
    let (name, value) = match at.kind() {
        "function_definition"
        | "function_declaration"
        | "function_item"
        | "macro_definition"
        | "method_declaration"
        | "class_definition"
        | "class_declaration"
        | "struct_item"
        | "enum_item"
        | "record_declaration"
        | "enum_declaration"
        | "type_spec" => (at.field("name")?, None),
        "let_declaration" => {
            let value = at.field("value").filter(|value| value.kind() == "closure_expression")?;
            (at.field("pattern")?, Some(value))
        }
        "variable_declarator" => (at.field("name")?, Some(at.field("value")?)),
        "assignment" | "short_var_declaration" => (at.field("left")?, Some(at.field("right")?)),
        "call_expression" => return extended(at),
        _ => return None,
    };
    let text = name.text();
    let is_name = text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let is_own = value.is_none_or(|value| {
        if value.text().len() > MAX_VALUE {
            return true;
        }
        let words = value.words();
        // `const got = baseGot.extend({…})`
        let is_version = |word: &&str| word.to_lowercase().ends_with(&text.to_lowercase()) && text.len() > 2;
        let is_extended =
            words.windows(2).any(|two| two[0] == "." && matches!(two[1], "extend" | "defaults"));
        let is_made_of_it = is_extended && words.first().is_some_and(is_version);
        !words.contains(&text)
            && !is_made_of_it
            && !words.iter().any(|word| matches!(*word, "require" | "import"))
            && !matches!(value.kind(), "member_expression" | "await_expression" | "attribute")
    });
    (is_name && is_own).then(|| text.to_owned())
}

/// Returns `expect` if a call replaces one of its own matchers.
fn extended(call: At<'_>) -> Option<String> {
    let is_extension = call.field("function").is_some_and(|name| name.text() == "expect.extend");
    let words = is_extension.then(|| call.words())?;
    let is_known = |word: &&str| {
        matches!(*word, "toBe" | "toEqual" | "toStrictEqual" | "toThrow" | "toMatch" | "toHaveBeenCalledWith")
    };
    words.iter().any(is_known).then(|| "expect".to_owned())
}
