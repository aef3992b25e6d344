//! Lines of a file: their indentation, and the literals that they may be a part of.

use std::ops::Range;

use tree_sitter::Tree;

use crate::newline;

/// Width of a level of indentation where a file shows none, in blanks.
pub(crate) const DEFAULT_WIDTH: usize = 4;

/// Text with its literals, in which lines must stay as they are.
pub(crate) struct Source<'t> {
    pub(crate) text: &'t str,
    /// Literals with several lines, in their order.
    literals: Vec<Range<usize>>,
    pub(crate) newline: &'static str,
    /// Indentation of the first line that has some.
    indent: Option<&'t str>,
}

impl<'t> Source<'t> {
    pub(crate) fn new(text: &'t str, tree: &Tree) -> Self {
        let literals = literals(tree);
        let mut source = Self { text, literals, newline: newline(text), indent: None };
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut indents =
            starts.filter(|start| !source.is_literal(*start)).map(|start| indent(&text[start..]));
        source.indent = indents.find(|indent| !indent.is_empty());
        source
    }

    /// Returns whether the line that starts at a byte goes on with a literal.
    pub(crate) fn is_literal(&self, start: usize) -> bool {
        let next = self.literals.partition_point(|literal| literal.end < start);
        self.literals.get(next).is_some_and(|literal| literal.start < start)
    }

    /// Returns the indentation of the line that a byte is on.
    pub(crate) fn indent_at(&self, byte: usize) -> &'t str {
        indent_at(self.text, byte)
    }

    /// Returns the indentation of the lines of a block that nodes begin with, whose first one, or a comment in front of it, may stand
    /// behind its header; `None` if all that begins a line belongs to clauses behind the block.
    pub(crate) fn indent_of_block(&self, mut starts: impl Iterator<Item = usize>) -> Option<&'t str> {
        let begins_line = |start: usize| {
            let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
            self.text[line..start].trim().is_empty()
        };
        let first = starts.next()?;
        let indent = self.indent_at(first);
        let mut others =
            starts.filter(|start| begins_line(*start)).map(|start| self.indent_at(start)).peekable();
        if begins_line(first) || others.peek().is_none() {
            return Some(indent);
        }
        others.find(|other| other.len() > indent.len())
    }

    /// Returns a template's indentation as the file has it: with tabs, or with blanks.
    pub(crate) fn converted(&self, indent: &str, width: usize, base: &str) -> String {
        let model = if base.is_empty() { self.indent.unwrap_or_default() } else { base };
        if model.starts_with('\t') {
            let tabs = indent.matches('\t').count();
            let blanks = indent.len() - tabs;
            "\t".repeat(tabs + blanks / width) + &" ".repeat(blanks % width)
        } else if model.is_empty() {
            indent.to_owned()
        } else {
            indent.replace('\t', &" ".repeat(self.indent.map_or(DEFAULT_WIDTH, str::len)))
        }
    }
}

/// Returns the indentation of the line that a byte of a text is on.
pub(crate) fn indent_at(text: &str, byte: usize) -> &str {
    let start = text[..byte].rfind('\n').map_or(0, |at| at + 1);
    indent(&text[start..byte])
}

/// Returns what a line begins with: blanks and tabs.
fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the outermost literals that go over several lines.
fn literals(tree: &Tree) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let has_lines = node.start_position().row < node.end_position().row;
        let is_literal = node.kind().contains("string") && node.kind() != "concatenated_string";
        if has_lines && is_literal {
            found.push(node.byte_range());
        } else if has_lines && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}
