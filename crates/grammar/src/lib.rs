//! The grammars that others keep (tree-sitter), and parsing with them within a time limit: broken text can keep a
//! grammar busy for long.
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
//! ```

mod language;
mod tokens;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

pub use language::Language;
pub use tokens::{TokenKind, tokens};

/// Parses a text; syntax errors become nodes of the tree. Returns `None` if it takes longer than `limit`,
/// or if the grammar was made for another version of tree-sitter, which a test would reveal.
pub fn parse(text: &str, grammar: &tree_sitter::Language, limit: Duration) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(grammar).ok()?;
    let until = Instant::now() + limit;
    let mut watch = |_: &ParseState| {
        if Instant::now() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let mut read = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options))
}
