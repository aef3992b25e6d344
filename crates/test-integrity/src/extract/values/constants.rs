//! Numbers that a file gives names, where they are tolerances of assertions.

use std::collections::BTreeMap;

use crate::assertion::{Assertion, Strength, vocabulary};
use crate::extract::TestFile;
use crate::syntax::At;

/// Reads the tolerances of assertions that say them by the name of a constant.
pub(in crate::extract) fn settle(root: At<'_>, file: &mut TestFile) {
    let constants = numbers(root);
    if constants.is_empty() {
        return;
    }
    let bodies = file.tests.iter_mut().map(|test| &mut test.body).chain(file.helpers.values_mut());
    for assertion in bodies.flat_map(|body| &mut body.assertions) {
        by_value(assertion, &constants);
    }
}

fn by_value(assertion: &mut Assertion, constants: &BTreeMap<&str, &str>) {
    let mut is_known = false;
    let words: Vec<&str> = assertion.text.split(' ').collect();
    let words: Vec<&str> = words
        .into_iter()
        .map(|word| constants.get(word).inspect(|_| is_known = true).copied().unwrap_or(word))
        .collect();
    if !is_known {
        return;
    }
    let tolerance = vocabulary::tolerance(&assertion.name, &words).or_else(|| {
        // JUnit takes the tolerance as the last argument.
        let is_of_three = assertion.name.starts_with("assert")
            && assertion.name.ends_with("Equals")
            && words.iter().filter(|word| **word == ",").count() >= 2;
        let last = words.iter().rev().find_map(|word| word.trim_end_matches(['f', 'd']).parse::<f64>().ok());
        last.filter(|_| is_of_three)
    });
    if let Some(tolerance) = tolerance {
        assertion.tolerance = Some(tolerance);
        assertion.strength = assertion.strength.min(Strength::Bounded);
    }
}

/// Returns the numbers that stand for a name in the whole file.
fn numbers(root: At<'_>) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![(root, 0)];
    while let Some((at, depth)) = waiting.pop() {
        let name = at.field("left").or_else(|| at.field("name"));
        let value = at.field("right").or_else(|| at.field("value"));
        if let (Some(name), Some(value)) = (name, value)
            && matches!(
                at.kind(),
                "assignment"
                    | "variable_declarator"
                    | "const_item"
                    | "static_item"
                    | "const_spec"
                    | "var_spec"
            )
        {
            let text = value.text().trim();
            if text.trim_end_matches(['f', 'd']).parse::<f64>().is_ok() {
                found.insert(name.text(), text);
            }
        } else if depth < 4 && !crate::extract::is_function(at.kind()) {
            waiting.extend(at.children().into_iter().map(|child| (child, depth + 1)));
        }
    }
    found
}
