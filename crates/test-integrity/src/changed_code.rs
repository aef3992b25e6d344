//! Search for changes of code of the program, in languages whose tests are known.

use std::collections::BTreeSet;

use crate::Change;
use crate::changed::is_of_tests;
use crate::extract::rust::test_items::TestItems;
use crate::files::Language;
use crate::syntax::{At, parse};

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
