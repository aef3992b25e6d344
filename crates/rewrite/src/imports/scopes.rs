//! Scopes around what was put into a file, in which the name of an import may have another meaning, or none.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::blocks::{binds_within, is_block, is_hoisted, is_scope, known_from};
use super::clash::{is_same_thing, local, words};
use super::declared::{bound_at, bound_by};
use super::items::{Item, items};
use super::statements::kinds;
use super::uses::is_use;
use super::walk::Walk;
use crate::Language;

/// Name of an import that a file is to have.
pub(super) struct Name<'a> {
    pub(super) item: &'a Item,
    pub(super) text: &'a str,
    /// Whether it begins a path of Rust in what was put in: no value does.
    is_path: bool,
}

impl<'a> Name<'a> {
    pub(super) fn new(item: &'a Item, language: Language, new: &[&str]) -> Option<Self> {
        let name = local(item, language)?;
        let path = format!("{name}::");
        let begins_path = |text: &&str| {
            let mut starts = text.match_indices(&path).map(|(at, _)| text[..at].chars().next_back());
            starts.any(|before| before.is_none_or(|sign| !sign.is_alphanumeric() && sign != '_'))
        };
        Some(Self { item, text: name, is_path: language == Language::Rust && new.iter().any(begins_path) })
    }

    /// Returns whether it is one of a module of Rust, and not of a type, which may be a value as well.
    pub(super) fn is_module(&self) -> bool {
        self.is_path && !self.text.starts_with(char::is_uppercase)
    }

    /// Returns whether it is one of the names that a node binds.
    pub(super) fn is_bound_by(&self, node: Node<'_>, names: &[&str]) -> bool {
        let is_value = || {
            let kinds = ["function_item", "const_item", "static_item", "let_declaration", "let_condition"];
            kinds.contains(&node.kind())
                || matches!(node.kind(), "for_expression" | "match_arm" | "closure_expression")
        };
        names.contains(&self.text) && !(self.is_path && is_value())
    }
}

/// Name of an import as a scope binds it.
struct Bound {
    /// Number of the name.
    index: usize,
    node_start: usize,
    known_from: usize,
    row: usize,
    /// Whether it is a parameter in angle brackets.
    is_generic: bool,
    /// Whether it is the import itself, at the top level of the scope.
    is_same: bool,
}

impl Bound {
    /// Returns whether the name alone stands for it in a scope: what Rust's blocks of methods have has a path.
    fn is_known_in(&self, scope: Node<'_>) -> bool {
        self.is_generic || !matches!(scope.kind(), "impl_item" | "trait_item")
    }
}

/// Scope around a place.
struct Scope<'t> {
    node: Node<'t>,
    depth: u32,
    /// What it binds, once that is asked for.
    bound: Option<Vec<Bound>>,
}

/// Reason why a name is not that of an import, with the row that tells it.
pub(super) enum Hidden<'a> {
    /// Something else has the name.
    By(&'a str, usize),
    /// A module of Rust does not know what is imported around it.
    ByModule(usize),
}

/// Names of imports, and the file in which they are looked up.
pub(super) struct Lookup<'a> {
    pub(super) text: &'a str,
    pub(super) language: Language,
    pub(super) names: &'a [Name<'a>],
    /// What was put in.
    pub(super) places: &'a [Range<usize>],
}

impl<'a> Lookup<'a> {
    /// Returns the first of the names that is not that of an import of the whole file where it was put in.
    pub(super) fn hidden(&self, tree: &Tree) -> Option<Hidden<'a>> {
        // Nobody sees where the methods of a trait are called that comes with an import.
        let unseen: Vec<bool> = self.names.iter().map(|name| self.is_unseen(name.text)).collect();
        let has_globals = self.language == Language::Python && self.text.contains("global ");
        let mut scopes: Vec<Scope<'_>> = Vec::new();
        let mut walk = Walk::new(tree);
        loop {
            let node = walk.node();
            let is_near = self.place_at(node.byte_range()).is_some();
            if is_near && node.child_count() == 0 {
                for (index, Name { text: name, .. }) in self.names.iter().enumerate() {
                    // `value.name` is a name of the value.
                    let is_named = self.text.get(node.byte_range()) == Some(*name) && walk.before() != ".";
                    if (is_named || unseen[index])
                        && let Some(hidden) = self.hidden_at(node, &mut scopes, (index, !is_named))
                    {
                        return Some(hidden);
                    }
                }
            }
            if node.kind() == "global_statement" {
                let mut names = Vec::new();
                bound_by(Some(node), self.text, &mut names);
                if let Some(name) = self.names.iter().find(|name| names.contains(&name.text)) {
                    return Some(Hidden::By(name.text, node.start_position().row));
                }
            }
            if !self.advance(&mut walk, &mut scopes, is_near || has_globals) {
                return None;
            }
        }
    }

    /// Returns the first of the wanted names that the file uses where nothing was put in and nothing binds it: as one that all files have,
    /// or that an import of all names has.
    pub(super) fn free(
        &self,
        tree: &Tree,
        is_wanted: impl Fn(&Name<'a>) -> bool,
    ) -> Option<(&'a str, usize)> {
        let wanted: Vec<bool> = self.names.iter().map(is_wanted).collect();
        if !wanted.contains(&true) {
            return None;
        }
        let mut scopes: Vec<Scope<'_>> = Vec::new();
        let mut walk = Walk::new(tree);
        loop {
            let node = walk.node();
            let is_import = kinds(self.language).contains(&node.kind())
                || matches!(node.kind(), "import_declaration" | "package_declaration")
                || node.kind() == "export_statement" && node.child_by_field_name("source").is_some();
            let own = self.text.get(node.byte_range());
            let is_named = |(index, name): &(usize, &Name<'_>)| wanted[*index] && own == Some(name.text);
            if node.child_count() == 0
                && let Some((index, name)) = self.names.iter().enumerate().find(is_named)
                && self.place_at(node.byte_range()).is_none()
                && is_use((self.language, self.text), &walk, name)
                && !self.is_bound(node, &mut scopes, index)
            {
                return Some((name.text, node.start_position().row));
            }
            if !self.advance(&mut walk, &mut scopes, !is_import) {
                return None;
            }
        }
    }

    /// Goes on to the next node, and notes the scopes around it. Returns `false` at the end.
    fn advance<'t>(&self, walk: &mut Walk<'t>, scopes: &mut Vec<Scope<'t>>, is_into: bool) -> bool {
        let (node, depth) = (walk.node(), walk.depth());
        if !walk.advance(is_into) {
            return false;
        }
        while scopes.last().is_some_and(|scope| scope.depth >= walk.depth()) {
            scopes.pop();
        }
        if walk.depth() > depth && (self.has_names(node) || depth == 1 && self.has_blocks()) {
            scopes.push(Scope { node, depth, bound: None });
        }
        true
    }

    /// Returns whether one of some scopes has a name, or does not have those of the file.
    fn is_bound(&self, node: Node<'_>, scopes: &mut [Scope<'_>], index: usize) -> bool {
        let (mut is_in_function, mut has_all) = (false, false);
        scopes.iter_mut().rev().any(|scope| {
            let kind = scope.node.kind();
            let is_passed = kind == "class_definition" && is_in_function;
            is_in_function |= kind != "class_definition";
            let bound = scope.bound.get_or_insert_with(|| self.bound_in(scope.node));
            has_all |= bound.iter().any(|bound| bound.index == self.names.len());
            // Patterns name what they bind.
            let known_from = |bound: &Bound| bound.known_from.min(bound.node_start);
            let is_known = |bound: &Bound| {
                bound.index == index
                    && bound.is_known_in(scope.node)
                    && known_from(bound) <= node.start_byte()
            };
            !is_passed && bound.iter().any(is_known) || kind == "mod_item" && !has_all
        })
    }

    fn has_names(&self, node: Node<'_>) -> bool {
        is_scope(node, self.language) || is_block(node, self.language)
    }

    /// Returns whether statements at the top level may have names of their own.
    fn has_blocks(&self) -> bool {
        matches!(self.language, Language::JavaScript | Language::TypeScript | Language::Tsx)
    }

    fn is_unseen(&self, name: &str) -> bool {
        let mut texts = self.places.iter().filter_map(|place| self.text.get(place.clone()));
        self.language == Language::Rust && !texts.any(|text| words(text, name) > 0)
    }

    /// Returns the first place that is not outside of a range.
    fn place_at(&self, range: Range<usize>) -> Option<&Range<usize>> {
        let next = self.places.partition_point(|place| place.end <= range.start);
        self.places.get(next).filter(|place| place.start < range.end)
    }

    /// Returns what hides a name in the scopes around a node.
    fn hidden_at(
        &self,
        node: Node<'_>,
        scopes: &mut [Scope<'_>],
        (index, is_unseen): (usize, bool),
    ) -> Option<Hidden<'a>> {
        let (mut is_in_function, mut has_all) = (false, false);
        for scope in scopes.iter_mut().rev() {
            let kind = scope.node.kind();
            // What a class of Python binds is not known in its methods.
            if kind == "class_definition" && is_in_function {
                continue;
            }
            is_in_function = kind != "class_definition";
            let bound = scope.bound.get_or_insert_with(|| self.bound_in(scope.node));
            has_all |= bound.iter().any(|bound| bound.index == self.names.len());
            let is_known = |bound: &&Bound| {
                bound.index == index && bound.is_known_in(scope.node) && bound.known_from <= node.start_byte()
            };
            let mut own = bound.iter().filter(is_known).peekable();
            if own.peek().is_some() {
                let is_late =
                    |bound: &Bound| self.language == Language::Python && bound.node_start > node.start_byte();
                let other = own.find(|bound| !bound.is_same || is_late(bound));
                return other
                    .filter(|_| !is_unseen)
                    .map(|bound| Hidden::By(self.names[index].text, bound.row));
            }
            if kind == "mod_item" && !has_all {
                return Some(Hidden::ByModule(node.start_position().row));
            }
        }
        None
    }

    /// Returns which of the names a scope binds. One more stands for all that the module around it has.
    fn bound_in(&self, scope: Node<'_>) -> Vec<Bound> {
        let mut found = Vec::new();
        let add = |names: &[&str], node: Node<'_>, found: &mut Vec<Bound>| {
            let (node_start, row) = (node.start_byte(), node.start_position().row);
            let known = self.names.iter().enumerate().filter(|(_, name)| name.is_bound_by(node, names));
            let known_from = known_from(node);
            let is_generic = node.kind() == "type_parameter" || node.kind() == "const_parameter";
            found.extend(known.map(|(index, _)| Bound {
                index,
                node_start,
                known_from,
                row,
                is_generic,
                is_same: false,
            }));
        };
        let mut names = Vec::new();
        for field in ["parameter", "parameters", "receiver", "result"] {
            bound_by(scope.child_by_field_name(field), self.text, &mut names);
        }
        // An expression has its name within itself alone.
        if matches!(scope.kind(), "function_expression" | "generator_function" | "class") {
            let name = scope.child_by_field_name("name");
            names.extend(name.and_then(|name| self.text.get(name.byte_range())));
        }
        if binds_within(scope) {
            bound_at(scope, self.text, self.language, &mut names);
        }
        add(&names, scope, &mut found);
        let hoists = self.has_blocks() && !is_block(scope, self.language);
        // Depth of the outermost block around the node.
        let mut block: Option<u32> = None;
        let mut cursor = scope.walk();
        while {
            let (node, depth) = (cursor.node(), cursor.depth());
            block = block.filter(|block| *block < depth);
            let is_own = block.is_none() && !binds_within(node) || hoists && is_hoisted(node);
            if kinds(self.language).contains(&node.kind()) {
                self.add_imports(node, depth == if scope.kind() == "block" { 1 } else { 2 }, &mut found);
            } else if depth > 0 && is_own {
                names.clear();
                bound_at(node, self.text, self.language, &mut names);
                add(&names, node, &mut found);
            }
            let is_inner = depth > 0 && is_block(node, self.language);
            block = block.or(is_inner.then_some(depth));
            let is_passed = depth == 0 || !is_scope(node, self.language) && (block.is_none() || hoists);
            is_passed && cursor.goto_first_child() || {
                let mut has_next = cursor.goto_next_sibling();
                while !has_next && cursor.goto_parent() {
                    has_next = cursor.goto_next_sibling();
                }
                has_next
            }
        } {}
        found
    }

    fn add_imports(&self, node: Node<'_>, is_direct: bool, found: &mut Vec<Bound>) {
        let (node_start, row) = (node.start_byte(), node.start_position().row);
        for item in items(node, self.text, self.language).1 {
            if item.name == "super::*" {
                let index = self.names.len();
                found.push(Bound { index, node_start, known_from: 0, row, is_generic: false, is_same: true });
            }
            for (index, wanted) in self.names.iter().enumerate() {
                if local(&item, self.language) == Some(wanted.text) {
                    let is_same = is_direct && is_same_thing(&item, wanted.item, self.language);
                    found.push(Bound { index, node_start, known_from: 0, row, is_generic: false, is_same });
                }
            }
        }
    }
}
