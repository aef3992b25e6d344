//! Syntax errors that a text did not have before.

use grammar::{broken_blocks, errs_in_brackets_alone};

use crate::parsed::Parsed;
use crate::{Language, MAX_DEPTH, MAX_TIME, RewriteError};

/// Number of syntax errors among which one is looked for that a text did not have before.
const MAX_FAULTS: usize = 100;

/// Fails if a text has a syntax error more than the text `before`, which it was made from.
pub(crate) fn check(
    parsed: &mut Parsed,
    language: Language,
    before: &str,
    text: &str,
) -> Result<(), RewriteError> {
    let found = faults(parsed.tree(text)?, language, text)?;
    if found.is_empty() {
        return Ok(());
    }
    let known = faults(Parsed::new(language, before)?.moved(), language, before)?;
    if found.len() <= known.len() {
        return Ok(());
    }
    let line_of = |text: &str, at: usize| {
        let line = text[..at].matches('\n').count();
        (line + 1, text.lines().nth(line).unwrap_or_default().trim().chars().take(200).collect::<String>())
    };
    let known: Vec<String> = known.iter().take(MAX_FAULTS).map(|at| line_of(before, *at).1).collect();
    let mut lines = found.iter().take(MAX_FAULTS).map(|at| line_of(text, *at));
    let first = || line_of(text, found.first().copied().unwrap_or_default());
    let (line, text) = lines.find(|(_, line)| !known.contains(line)).unwrap_or_else(first);
    Err(RewriteError::Broken { line, text })
}

/// Returns the bytes at which a text has syntax errors. Python takes lines in brackets that its grammar does not.
fn faults(tree: &tree_sitter::Tree, language: Language, text: &str) -> Result<Vec<usize>, RewriteError> {
    let mut faults = survey(tree)?;
    if language == Language::Python {
        if errs_in_brackets_alone(tree, text, MAX_TIME) {
            return Ok(Vec::new());
        }
        faults.extend(broken_blocks(tree, text));
        faults.sort_unstable();
    }
    Ok(faults)
}

/// Returns the number of syntax errors in a tree.
pub(crate) fn errors(tree: &tree_sitter::Tree) -> usize {
    if tree.root_node().has_error() { survey(tree).map_or(0, |errors| errors.len()) } else { 0 }
}

/// Walks a tree without recursion. Returns the bytes at which syntax errors begin; fails if the tree is too deep.
pub(crate) fn survey(tree: &tree_sitter::Tree) -> Result<Vec<usize>, RewriteError> {
    let root = tree.root_node();
    // No node is deeper than there are nodes.
    if !root.has_error() && root.descendant_count() <= MAX_DEPTH {
        return Ok(Vec::new());
    }
    let mut cursor = tree.walk();
    let (mut depth, mut errors) = (0, Vec::new());
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            errors.push(node.start_byte());
        }
        if cursor.goto_first_child() {
            depth += 1;
            if depth > MAX_DEPTH {
                return Err(RewriteError::TooDeep);
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(errors);
            }
            depth -= 1;
        }
    }
}
