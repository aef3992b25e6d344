//! Outlines of source files: imports, types and functions with their lines, without bodies.
//!
//! A grammar names the nodes, and a table (`language`) says what they are to a reader; the walk over the
//! tree knows no language. C and C++ are read without a grammar; `c` says why.
//!
//! ```
//! use outline::{Language, Outline};
//!
//! let source = "class Cart:\n    def add(self, item: str) -> None:\n        self.items.append(item)\n";
//! let language = Language::of("shop/cart.py").expect("a known extension");
//! let outline = Outline::of(source, language)?;
//! assert_eq!(outline.render(), "1-3       class Cart\n2-3         def add(self, item: str) -> None\n");
//! // Syntax errors are tolerated, and reported.
//! assert!(Outline::of("fn f(", Language::Parsed(grammar::Language::Rust))?.has_errors);
//! # Ok::<(), outline::ParseTimeout>(())
//! ```

mod c;
mod language;
mod syntax;

use std::fmt::Write;
use std::ops::RangeInclusive;
use std::time::Duration;

use tree_sitter::Node;

use grammar::parse;
pub use language::Language;
use language::{Kinds, Role};
pub use syntax::first_syntax_error;

/// Time limit of parsing; broken text can keep a grammar busy.
const MAX_TIME: Duration = Duration::from_secs(2);
/// Maximum nesting of nodes that are entered.
const MAX_DEPTH: usize = 40;
/// Maximum number of definitions listed.
const MAX_SYMBOLS: usize = 500;
/// Maximum length of one definition's text, in characters.
const MAX_SIGNATURE: usize = 160;

/// One line of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// First line, from 1.
    pub start: usize,
    /// Last line.
    pub end: usize,
    /// Number of types it is nested in.
    pub depth: usize,
    /// Its text up to the body, on one line.
    pub signature: String,
}

/// Definitions of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Definitions in the order of the file.
    pub symbols: Vec<Symbol>,
    /// Whether something in the file does not fit the language.
    pub has_errors: bool,
    /// Whether there are more definitions than are listed.
    pub cut: bool,
}

/// Error for a file that took too long to parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file takes too long to parse; use read_file instead")]
pub struct ParseTimeout;

impl Outline {
    /// Outlines a source file; syntax errors are tolerated.
    pub fn of(source: &str, language: Language) -> Result<Self, ParseTimeout> {
        let Some((grammar, kinds)) = language.grammar() else { return Ok(c::outline(source)) };
        let tree = parse(source, &grammar, MAX_TIME).ok_or(ParseTimeout)?;
        let mut outline = Self { has_errors: tree.root_node().has_error(), ..Self::default() };
        outline.visit(tree.root_node(), Cursor { source, kinds, depth: 0, level: 0 });
        Ok(outline)
    }

    fn visit(&mut self, node: Node<'_>, at: Cursor<'_>) {
        if at.level >= MAX_DEPTH {
            self.cut = true;
            return;
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            let below = Cursor { level: at.level + 1, ..at };
            match at.kinds.role(child, at.source) {
                Role::Nothing => {}
                Role::Wrapper => self.visit(child, below),
                Role::Import => self.push(lines(child), at.depth, &at.source[child.byte_range()]),
                Role::Definition => self.push(lines(child), at.depth, &signature(child, at.source)),
                Role::Type => {
                    self.push(lines(child), at.depth, &signature(child, at.source));
                    if let Some(body) = body(child) {
                        self.visit(body, Cursor { depth: at.depth + 1, ..below });
                    }
                }
            }
            if self.cut {
                return;
            }
        }
    }

    fn push(&mut self, lines: RangeInclusive<usize>, depth: usize, text: &str) {
        if self.symbols.len() >= MAX_SYMBOLS {
            self.cut = true;
            return;
        }
        let mut signature = text.split_whitespace().collect::<Vec<_>>().join(" ");
        signature.truncate(signature.trim_end_matches(['{', ':', '=', ';', ' ']).len());
        if let Some((cut, _)) = signature.char_indices().nth(MAX_SIGNATURE) {
            signature.truncate(cut);
            signature.push('…');
        }
        let (start, end) = lines.into_inner();
        self.symbols.push(Symbol { start, end, depth, signature });
    }

    /// Renders the outline as text, with one definition per line: `12-30   def name(argument)`.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for Symbol { start, end, depth, signature } in &self.symbols {
            let lines = if end > start { format!("{start}-{end}") } else { start.to_string() };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{lines:<9} {}{signature}", "  ".repeat(*depth));
        }
        if self.symbols.is_empty() {
            text += "No imports, types or functions found\n";
        }
        if self.cut {
            text += "… more not shown\n";
        }
        if self.has_errors {
            text += "(the file has syntax errors; something may be missing)\n";
        }
        text
    }
}

/// Position of the walk, and what it needs there.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    source: &'a str,
    kinds: Kinds,
    depth: usize,
    level: usize,
}

/// Returns the lines of a node, from 1.
fn lines(node: Node<'_>) -> RangeInclusive<usize> {
    // Some grammars end a node at the beginning of the next line.
    let end = node.end_position().row + usize::from(node.end_position().column > 0);
    node.start_position().row + 1..=end
}

/// Returns a definition without its body, or its first line if it has no body.
fn signature(node: Node<'_>, source: &str) -> String {
    let Some(body) = body(node) else {
        return source[node.byte_range()].lines().next().unwrap_or_default().to_owned();
    };
    let (head, tail) =
        (&source[node.start_byte()..body.start_byte()], &source[body.end_byte()..node.end_byte()]);
    match tail.trim_matches([';', ' ', '\n']) {
        "" => head.to_owned(),
        // `typedef struct { … } name;`
        tail => format!("{head} {{ … }} {tail}"),
    }
}

/// Returns the body of a definition; what precedes it is the signature.
fn body(node: Node<'_>) -> Option<Node<'_>> {
    let inner = |name| node.child_by_field_name(name);
    // A value, such as an arrow function, has a body of its own.
    let value = inner("value").or_else(|| inner("type").filter(|inner| inner.kind() != "type_identifier"));
    inner("body").or_else(|| value.and_then(|value| value.child_by_field_name("body")))
}
