//! Syntax tree of a text that is edited: what an edit does not touch is not parsed again.

use std::ops::Range;

use tree_sitter::Tree;

use crate::{Language, MAX_BYTES, MAX_TIME, RewriteError};

/// Tree of a text, which is brought up to date when it is asked for.
pub(crate) struct Parsed {
    language: Language,
    tree: Tree,
    is_current: bool,
}

impl Parsed {
    /// Parses a text within the limits.
    pub(crate) fn new(language: Language, text: &str) -> Result<Self, RewriteError> {
        Ok(Self { language, tree: anew(language, text)?, is_current: true })
    }

    /// Notes edits that are about to be made in the text: in ascending order, without overlaps.
    pub(crate) fn note<'t>(&mut self, text: &str, edits: impl IntoIterator<Item = (Range<usize>, &'t str)>) {
        grammar::note_edits(&mut self.tree, text, edits);
        self.is_current = false;
    }

    /// Returns the tree with all edits noted and nothing parsed since: only what they do not touch is as it is in the text.
    pub(crate) fn moved(&self) -> &Tree {
        &self.tree
    }

    /// Returns the tree of the text as it is now.
    pub(crate) fn tree(&mut self, text: &str) -> Result<&Tree, RewriteError> {
        if !self.is_current {
            check_size(text)?;
            let grammar = self.language.grammar();
            let again =
                grammar::parse_again(text, &grammar, MAX_TIME, &self.tree).ok_or(RewriteError::TooSlow)?;
            // With an error, the tree would depend on what the text was before.
            let has_error = again.root_node().has_error();
            self.tree = if has_error { anew(self.language, text)? } else { again };
            debug_assert_eq!(
                self.tree.root_node().to_sexp(),
                anew(self.language, text)?.root_node().to_sexp(),
                "parsed again after an edit: {text}"
            );
            self.is_current = true;
        }
        Ok(&self.tree)
    }
}

fn anew(language: Language, text: &str) -> Result<Tree, RewriteError> {
    check_size(text)?;
    grammar::parse(text, &language.grammar(), MAX_TIME).ok_or(RewriteError::TooSlow)
}

fn check_size(text: &str) -> Result<(), RewriteError> {
    if text.len() > MAX_BYTES { Err(RewriteError::TooLarge(text.len())) } else { Ok(()) }
}
