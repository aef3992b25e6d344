//! Parsing with tree-sitter grammars, within a time limit: broken text can keep a grammar busy for long.
//!
//! ```
//! use std::time::Duration;
//!
//! let rust = tree_sitter_rust::LANGUAGE.into();
//! let tree = grammar::parse("fn main() {}", &rust, Duration::from_secs(10)).expect("it takes no time");
//! assert!(!tree.root_node().has_error());
//! assert!(grammar::parse(&"(".repeat(1_000_000), &rust, Duration::ZERO).is_none());
//! ```

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Language, ParseOptions, ParseState, Parser, Tree};

/// Parses a text; syntax errors become nodes of the tree. Returns `None` if it takes longer than `limit`,
/// or if the grammar was made for another version of tree-sitter, which a test would reveal.
pub fn parse(text: &str, grammar: &Language, limit: Duration) -> Option<Tree> {
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
