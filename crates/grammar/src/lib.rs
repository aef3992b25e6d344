//! The grammars that others keep (tree-sitter), and parsing with them within limits: broken text can keep a grammar busy for
//! long, and text that nests without end keeps whoever reads the tree busy.
//!
//! ```
//! use std::time::Duration;
//!
//! use grammar::Language;
//!
//! let rust = Language::of("src/main.rs").expect("a known extension").grammar();
//! let tree = grammar::parse("fn main() {}", &rust, Duration::from_secs(10)).expect("it takes no time");
//! assert!(!tree.root_node().has_error());
//! assert!(grammar::parse(&"(".repeat(1_000_000), &rust, Duration::ZERO).is_none());
//! let nested = format!("fn main() {{ {} {} }}", "{".repeat(20_000), "}".repeat(20_000));
//! assert!(grammar::parse(&nested, &rust, Duration::from_mins(1)).is_none());
//! ```

mod language;
mod python_blocks;
mod tokens;
mod type_members;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{InputEdit, ParseOptions, ParseState, Parser, Point, Tree};

pub use language::Language;
pub use python_blocks::{broken_block, broken_blocks, errs_in_brackets_alone};
pub use tokens::{TokenKind, tokens};
pub use type_members::errs_in_type_members_alone;

/// The deepest tree that is returned: people's code has some dozen levels, and long chains of generated operators hundreds.
/// From a node to the one above it leads only the way down from the root, so reading a tree takes time that grows with the square
/// of its depth.
const MAX_DEPTH: u32 = 2_000;

thread_local! {
    /// A parser for each grammar that a thread has met: what it has allocated serves the next text.
    static PARSERS: RefCell<HashMap<tree_sitter::Language, Parser>> = RefCell::default();
}

/// Parses a text; syntax errors become nodes of the tree. Returns `None` if it takes longer than `limit`, if the tree is deeper
/// than 2,000 levels, or if the grammar was made for another version of tree-sitter, which a test would reveal.
pub fn parse(text: &str, grammar: &tree_sitter::Language, limit: Duration) -> Option<Tree> {
    parsed(text, grammar, limit, None)
}

/// Parses a text as [`parse`] does, but takes over what has not changed of a tree that was told of all edits since by
/// [`note_edits`]. Where there are syntax errors, the tree may not be the one that [`parse`] returns.
pub fn parse_again(
    text: &str,
    grammar: &tree_sitter::Language,
    limit: Duration,
    before: &Tree,
) -> Option<Tree> {
    parsed(text, grammar, limit, Some(before))
}

fn parsed(
    text: &str,
    grammar: &tree_sitter::Language,
    limit: Duration,
    before: Option<&Tree>,
) -> Option<Tree> {
    let used = PARSERS.with_borrow_mut(|parsers| parsers.remove(grammar));
    let mut parser = if let Some(parser) = used {
        parser
    } else {
        let mut parser = Parser::new();
        parser.set_language(grammar).ok()?;
        parser
    };
    let until = Instant::now() + limit;
    let mut watch = |_: &ParseState| {
        if Instant::now() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let mut read = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, before, Some(options));
    // It would go on with a text that took too long.
    parser.reset();
    PARSERS.with_borrow_mut(|parsers| parsers.insert(grammar.clone(), parser));
    tree.filter(|tree| !is_too_deep(tree))
}

/// Returns whether a tree has more than [`MAX_DEPTH`] levels.
fn is_too_deep(tree: &Tree) -> bool {
    // No node is deeper than there are nodes.
    if tree.root_node().descendant_count() <= MAX_DEPTH as usize {
        return false;
    }
    let mut cursor = tree.walk();
    loop {
        if cursor.depth() > MAX_DEPTH {
            return true;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

/// Tells a tree of edits in its text: ranges of bytes, in ascending order and without overlaps, and what takes their place.
pub fn note_edits<'t>(tree: &mut Tree, text: &str, edits: impl IntoIterator<Item = (Range<usize>, &'t str)>) {
    let mut place = (0, Point::new(0, 0));
    let mut point = |byte: usize| {
        place = (byte, after(place.1, &text[place.0..byte]));
        place.1
    };
    let told: Vec<InputEdit> = edits
        .into_iter()
        .map(|(Range { start, end }, new)| {
            let start_position = point(start);
            InputEdit {
                start_byte: start,
                old_end_byte: end,
                new_end_byte: start + new.len(),
                start_position,
                old_end_position: point(end),
                new_end_position: after(start_position, new),
            }
        })
        .collect();
    // From the last to the first, so that each stands where it stood in the text.
    told.iter().rev().for_each(|edit| tree.edit(edit));
}

/// Returns the point behind a text that begins at a point.
fn after(start: Point, text: &str) -> Point {
    match text.rfind('\n') {
        Some(last) => Point::new(start.row + text.matches('\n').count(), text.len() - last - 1),
        None => Point::new(start.row, start.column + text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_texts_are_parsed_as_new_ones() {
        let limit = Duration::from_secs(10);
        for (name, text, found, new) in [
            (
                "a.py",
                "def f():\n    if a():\n        return 'é', a()\n\n\ndef g():\n    pass\n",
                "a()",
                "b(\n        1)",
            ),
            (
                "a.rs",
                "fn f() { a(); a() }\n\n#[test]\nfn g() { let x = a(); }\n",
                "a()",
                "match b { _ => 1 }",
            ),
            ("a.tsx", "const a = <A b={a()}>{a()}</A>;\nfunction f() { return a(); }\n", "a()", "`${b}`"),
            ("a.go", "package p\n\nfunc f() { a(); if a() { a() } }\n", "a()", "b\n\tc()"),
            ("A.java", "class A { int b = a(); void f() { a(); } }\n", "a()", ""),
        ] {
            let grammar = Language::of(name).expect("a known extension").grammar();
            let mut tree = parse(text, &grammar, limit).expect("it takes no time");
            let edits: Vec<_> =
                text.match_indices(found).map(|(at, _)| (at..at + found.len(), new)).collect();
            assert!(edits.len() > 1, "{name}");
            note_edits(&mut tree, text, edits);
            let edited = text.replace(found, new);
            let again = parse_again(&edited, &grammar, limit, &tree).expect("it takes no time");
            let anew = parse(&edited, &grammar, limit).expect("it takes no time");
            assert_eq!(again.root_node().to_sexp(), anew.root_node().to_sexp(), "{name}");
            assert_eq!(again.root_node().end_position(), anew.root_node().end_position(), "{name}");
        }
    }

    #[test]
    fn a_text_that_takes_too_long_leaves_nothing_behind() {
        let rust = Language::Rust.grammar();
        assert!(parse(&"(".repeat(1_000_000), &rust, Duration::ZERO).is_none());
        let tree = parse("fn main() {}", &rust, Duration::from_secs(10)).expect("it takes no time");
        assert_eq!(
            tree.root_node().to_sexp(),
            "(source_file (function_item name: (identifier) parameters: (parameters) body: (block)))"
        );
    }
}
