//! Imports: statements that are added once to a file, or removed when nothing uses their names any more.

mod addition;
mod blocks;
mod clash;
mod common_js;
mod declared;
mod guards;
mod items;
mod kept;
mod place;
mod removal;
mod scopes;
mod statements;
mod usage;
mod uses;
mod walk;

use std::ops::Range;

use tree_sitter::{Node, Tree};

pub(crate) use self::clash::words;
use self::guards::is_guard;
use self::items::Item;
use self::statements::{kinds, statements};
use crate::parsed::Parsed;
use crate::{Language, MAX_TIME, Match, RewriteError};

/// Import statement of a language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The statement, as it is written into a file.
    text: String,
    module: String,
    items: Vec<Item>,
}

impl Import {
    /// Parses one statement, such as `from datetime import UTC`, `use std::fmt;` or `"errors"` in Go.
    pub(crate) fn parse(text: &str, language: Language) -> Result<Self, RewriteError> {
        let wrong = || RewriteError::NoImport(text.to_owned(), language);
        let mut statement = text.trim().to_owned();
        if language == Language::Go && !statement.starts_with("import") {
            statement = format!("import {statement}");
        }
        if matches!(language, Language::Rust | Language::Java) && !statement.ends_with(';') {
            statement.push(';');
        }
        let tree = grammar::parse(&statement, &language.grammar(), MAX_TIME).ok_or_else(wrong)?;
        let mut found = statements(&tree, &statement, language);
        let (Some(only), true) = (found.pop(), found.is_empty()) else { return Err(wrong()) };
        if tree.root_node().has_error() || tree.root_node().named_child_count() != 1 || only.is_nested {
            return Err(wrong());
        }
        let (module, items) = (only.module, only.items);
        Ok(Self { text: statement, module, items })
    }

    /// Returns whether it is a `from __future__ import` of Python, which must be the first statement of a file.
    fn is_of_future(&self) -> bool {
        self.module == "__future__"
    }

    /// Returns whether its names mean the same without it, in all files or in those that name them.
    fn is_known_anyway(&self, language: Language) -> bool {
        let item = self.items.first().map_or("", |item| item.name.as_str());
        match language {
            Language::Python => self.is_of_future() || self.module == "builtins",
            Language::JavaScript | Language::TypeScript | Language::Tsx => matches!(
                self.module.trim_start_matches("node:"),
                "buffer" | "process" | "timers" | "url" | "console" | "perf_hooks"
            ),
            // A crate.
            Language::Rust => !item.contains("::"),
            Language::Java => item.starts_with("java.lang."),
            // What a package declares, no file of it may import.
            Language::Go => true,
        }
    }
}

/// Adds imports to a text, and removes others. `matches` are what was replaced in it since it was parsed, and `places` where that stands
/// now.
pub(crate) fn edit(
    text: &mut String,
    parsed: &mut Parsed,
    (language, file): (Language, &str),
    (add, remove): (&[Import], &[Import]),
    (matches, mut places): (&[Match], Vec<Range<usize>>),
) -> Result<(), RewriteError> {
    // The text need not be parsed to find its imports, if they are the ones that it had before.
    let mut put_in = matches.iter().filter_map(|found| found.replacement.as_deref());
    let mut are_kept = !add.is_empty()
        && are_untouched(parsed.moved(), text, language)
        && !put_in.any(|new| new.contains(if language == Language::Rust { "use" } else { "import" }));
    // Names that an import of the file has already, whose uses are those of that one or are meant to be of the new.
    let (mut before, mut has_imports) = (Vec::new(), false);
    if !add.is_empty() {
        let tree = if are_kept { parsed.moved() } else { parsed.tree(text)? };
        for statement in statements(tree, text, language) {
            has_imports = true;
            statement.items.into_iter().for_each(|mut item| before.append(&mut item.locals));
        }
    }
    // First what is new: what goes still shows where imports are.
    let mut added = Vec::new();
    let all = add.iter().map(|import| (import, true)).chain(remove.iter().map(|import| (import, false)));
    for (import, is_new) in all {
        // Each of its names that goes takes an edit.
        for _ in 0..import.items.len().max(1) {
            let tree = if is_new && are_kept && !import.is_of_future() {
                parsed.moved()
            } else {
                parsed.tree(text)?
            };
            let edit = if is_new {
                addition::addition(tree, text, language, import)
            } else {
                removal::removal(tree, text, language, (import, add), (matches, file))
            };
            let Some(Edit(range, new)) = edit else { break };
            if is_new && added.last() != Some(&import) {
                added.push(import);
            }
            parsed.note(text, [(range.clone(), new.as_str())]);
            text.replace_range(range.clone(), &new);
            for place in places.iter_mut().filter(|place| place.start >= range.end) {
                *place = place.start + new.len() - range.len()..place.end + new.len() - range.len();
            }
            are_kept = false;
        }
    }
    if !add.is_empty() {
        let tree = parsed.tree(text)?;
        clash::check(
            tree,
            text,
            (language, file),
            (add, &added),
            (&before, has_imports),
            (matches, &places),
        )?;
    }
    Ok(())
}

/// Returns whether a tree without errors has imports, and no edit has touched one of them.
fn are_untouched(tree: &Tree, text: &str, language: Language) -> bool {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let is_import = |node: &Node<'_>| {
        kinds(language).contains(&node.kind())
            || node.kind() == "import_declaration"
            || language == Language::Python && is_guard(*node)
    };
    let is_touched = root.named_children(&mut cursor).filter(is_import).any(|node| node.has_changes());
    !root.has_error() && !is_touched && !statements(tree, text, language).is_empty()
}

/// Text that takes the place of a range.
struct Edit(Range<usize>, String);
