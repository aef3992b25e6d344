//! Search for changes of code of the program, in languages whose tests are known.

use std::collections::{BTreeMap, BTreeSet};

use crate::Change;
use crate::changed::is_of_tests;
use crate::extract::rust::test_items::TestItems;
use crate::files::Language;
use crate::syntax::{At, is_string, parse};

/// Returns whether a change adds or changes code of the program: more than comments and layout, and more than a file that moves or
/// goes as a whole. Tests, and files in languages whose tests are matched by patterns only, do not count.
pub fn changes_code(changes: &[Change<'_>]) -> bool {
    let of_program = || changes.iter().filter(|change| !is_of_tests(change.path));
    let gone: BTreeSet<Vec<String>> = of_program()
        .filter(|change| change.after.is_none())
        .filter_map(|change| tokens(change.path, change.before?))
        .collect();
    of_program().any(|change| {
        let Some(after) = change.after.and_then(|text| tokens(change.path, text)) else { return false };
        match change.before {
            Some(before) => tokens(change.path, before).is_none_or(|before| before != after),
            None => !after.is_empty() && !gone.contains(&after),
        }
    })
}

/// Returns what stands in a file between blanks and comments, without tests among the code.
fn tokens(path: &str, text: &str) -> Option<Vec<String>> {
    let language = Language::of(path)?;
    let rest = (language == Language::Rust).then(|| TestItems::of(text)).flatten().map(|items| items.rest);
    let text = rest.as_deref().unwrap_or(text);
    let tree = parse(text, language)?;
    Some(At::root(&tree, text).words().into_iter().map(str::to_owned).collect())
}

/// Returns the names of what a change of the code adds, takes away or defines otherwise, and names that the code no longer has at
/// all. Comments and docstrings are no part of a definition, and tests are no part of the code.
pub fn touched_names(changes: &[Change<'_>]) -> BTreeSet<String> {
    let mut touched = BTreeSet::new();
    for change in changes.iter().filter(|change| !is_of_tests(change.path)) {
        let read = |text: Option<&str>| text.and_then(|text| defined(change.path, text)).unwrap_or_default();
        let (before, after) = (read(change.before), read(change.after));
        for (name, texts) in before.iter().chain(&after) {
            if before.get(name) != Some(texts) || after.get(name) != Some(texts) {
                touched.insert(name.clone());
            }
        }
    }
    touched
}

/// Returns the words of what each name of a file stands for. A name that is only used stands for nothing.
fn defined(path: &str, text: &str) -> Option<BTreeMap<String, Vec<Vec<String>>>> {
    let language = Language::of(path)?;
    let rest = (language == Language::Rust).then(|| TestItems::of(text)).flatten().map(|items| items.rest);
    let text = rest.as_deref().unwrap_or(text);
    let tree = parse(text, language)?;
    let all = At::root(&tree, text).descendants();
    let docs: Vec<At<'_>> = all.iter().copied().filter(|at| is_docstring(*at)).collect();
    let mut defined: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for at in all {
        if at.kind().ends_with("identifier") {
            defined.entry(at.text().to_owned()).or_default();
        }
        let name =
            at.field("name").or_else(|| at.field("left")).filter(|name| name.kind().ends_with("identifier"));
        let Some(name) = name.filter(|_| !matches!(at.kind(), "keyword_argument" | "method_invocation"))
        else {
            continue;
        };
        let mut words: Vec<String> = at.words().into_iter().map(str::to_owned).collect();
        for doc in docs.iter().filter(|doc| {
            let (inner, outer) = (doc.node.byte_range(), at.node.byte_range());
            outer.start <= inner.start && inner.end <= outer.end
        }) {
            if let Some(place) = words.iter().position(|word| word == doc.text().trim()) {
                words.remove(place);
            }
        }
        defined.entry(name.text().to_owned()).or_default().push(words);
    }
    Some(defined)
}

/// Returns whether a statement is nothing but a string.
fn is_docstring(at: At<'_>) -> bool {
    at.kind() == "expression_statement" && matches!(&at.children()[..], [only] if is_string(only.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_touched_by_what_they_stand_for() {
        let old = "LIMIT = 2\n\n\ndef total(prices):\n    return sum(prices)\n\n\ndef first(prices):\n    return prices[0]\n";
        for (edit, names) in [
            (("    return sum", "    \"\"\"Return it.\"\"\"\n    return sum"), vec![]),
            (("    return sum", "    # All.\n    return sum"), vec![]),
            (("return sum(prices)", "return round(sum(prices))"), vec!["round", "total"]),
            (("LIMIT = 2", "LIMIT = 3"), vec!["LIMIT"]),
            (("def first(", "def last("), vec!["first", "last"]),
        ] {
            let new = old.replace(edit.0, edit.1);
            for (before, after) in [(old, new.as_str()), (new.as_str(), old)] {
                let change = Change { path: "shop.py", before: Some(before), after: Some(after) };
                assert_eq!(touched_names(&[change]).into_iter().collect::<Vec<_>>(), names, "{edit:?}");
            }
        }
    }
}
