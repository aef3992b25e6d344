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
mod tokens;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

pub use language::Language;
pub use tokens::{TokenKind, tokens};

/// The deepest tree that is returned: people's code has some dozen levels, and long chains of generated operators hundreds.
/// From a node to the one above it leads only the way down from the root, so reading a tree takes time that grows with the square
/// of its depth.
const MAX_DEPTH: u32 = 2_000;

/// Parses a text; syntax errors become nodes of the tree. Returns `None` if it takes longer than `limit`, if the tree is deeper
/// than 2,000 levels, or if the grammar was made for another version of tree-sitter, which a test would reveal.
pub fn parse(text: &str, grammar: &tree_sitter::Language, limit: Duration) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(grammar).ok()?;
    let until = Instant::now() + limit;
    let mut watch = |_: &ParseState| {
        if Instant::now() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let mut read = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options)).filter(|tree| !is_too_deep(tree))
}

/// Returns whether a tree has more than [`MAX_DEPTH`] levels.
fn is_too_deep(tree: &Tree) -> bool {
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
