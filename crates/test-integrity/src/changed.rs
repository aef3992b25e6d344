//! Tests that a change adds or changes, and what of it the old code can be given to run them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::Change;
use crate::extract::rust::test_items::{TestItems, is_above, lines_of_tests};
use crate::extract::{Test, tests};
use crate::files::{Language, Role, file_name};
use crate::syntax::free_names::outer_words;
use crate::syntax::imports::{identifiers, imports};
use crate::syntax::{At, parse};

/// Test that a change adds or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTest {
    /// Path of its file, from the repository's root.
    pub path: String,
    /// Names of the classes, modules or groups that it is in, and its own.
    pub names: Vec<String>,
    /// Line where it begins, from 1.
    pub line: usize,
    /// Line where it ends.
    pub last_line: usize,
    /// Whether no test had its name before.
    pub is_new: bool,
    /// Whether it is in a file of the program rather than in one of tests.
    pub is_among_code: bool,
    needs: BTreeSet<String>,
}

impl ChangedTest {
    /// Returns its name with those that it is in, in one line.
    pub fn name(&self) -> String {
        self.names.join(" > ")
    }

    /// Returns the lines of the test in another text of its file, if it is there.
    pub fn lines_in(&self, text: &str) -> Option<RangeInclusive<usize>> {
        let read = Read::new(&self.path, text);
        let found = read.tests.into_iter().find(|(test, ..)| test.name == self.name())?;
        Some(found.0.line..=found.2)
    }

    /// Returns whether it uses one of some names, itself or by way of what its file defines and imports. Names of its own
    /// variables are none of them.
    pub fn needs(&self, names: &BTreeSet<String>) -> bool {
        !self.needs.is_disjoint(names)
    }
}

/// Returns the tests that a change adds or changes, by path and line. A test counts as changed if its own text is new, or
/// that of something in its file that it names; one that only moved, or got another name, does not.
pub fn changed_tests(changes: &[Change<'_>]) -> Vec<ChangedTest> {
    let mut old = Known::default();
    for change in changes {
        old.add(change);
    }
    let mut found = Vec::new();
    for change in changes {
        let Some(after) = change.after.filter(|_| change.before != change.after) else { continue };
        let read = Read::new(change.path, after);
        let touched =
            change.before.map_or_else(BTreeSet::new, |before| read.touched(&Read::new(change.path, before)));
        for (test, words, last_line) in &read.tests {
            let name = test.name.clone();
            let mentions = read.mentions(words);
            let is_same = old.has(test, words, changes) && mentions.is_disjoint(&touched);
            if !is_same {
                found.push(ChangedTest {
                    path: change.path.to_owned(),
                    names: name.split(" > ").map(str::to_owned).collect(),
                    line: test.line,
                    last_line: *last_line,
                    is_new: !old.names.contains(&name),
                    is_among_code: !is_of_tests(change.path) && is_among_code(change.path, after),
                    needs: read.mentions(&outer_words(words)),
                });
            }
        }
    }
    found.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
    found
}

/// Returns the names that the changed code declares, and that its old text does not contain at all.
pub fn new_names(changes: &[Change<'_>]) -> BTreeSet<String> {
    let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
    for change in changes.iter().filter(|change| !is_of_tests(change.path)) {
        let Some(language) = Language::of(change.path) else { continue };
        // A new file is a new module.
        if change.before.is_none() && change.after.is_some() {
            new.extend(module(change.path));
        }
        // Tests among the code are no part of it.
        let code = |text: &str| match language {
            Language::Rust => TestItems::of(text).map_or_else(|| text.to_owned(), |items| items.rest),
            _ => text.to_owned(),
        };
        if let Some(text) = change.before.map(code)
            && let Some(tree) = parse(&text, language)
        {
            old.extend(At::root(&tree, &text).words().into_iter().map(str::to_owned));
        }
        if let Some(text) = change.after.map(code)
            && let Some(tree) = parse(&text, language)
        {
            let root = At::root(&tree, &text);
            let names = root.descendants().into_iter().filter_map(|at| at.field("name"));
            new.extend(names.map(|name| name.text().to_owned()));
        }
    }
    new.retain(|name| !old.contains(name));
    new
}

/// Returns the name by which other files ask for this one, if it has one of its own.
fn module(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().filter(|stem| !stem.is_empty())?;
    let name = match stem {
        "__init__" | "index" | "mod" => folder.rsplit('/').next().filter(|name| !name.is_empty())?,
        "lib" | "main" => return None,
        _ => stem,
    };
    Some(name.to_owned())
}

/// Returns whether a file belongs to the tests as a whole: tests, their helpers, snapshots and data.
pub fn is_of_tests(path: &str) -> bool {
    const FOLDERS: &[&str] = &[
        "test",
        "tests",
        "__tests__",
        "spec",
        "testdata",
        "fixtures",
        "__fixtures__",
        "__mocks__",
        "__snapshots__",
    ];
    let folders = path.strip_suffix(file_name(path)).unwrap_or_default();
    matches!(Role::of(path), Role::Test | Role::Snapshot)
        || folders.split('/').any(|folder| FOLDERS.contains(&folder))
}

/// Returns whether a file says what a build or a test run needs: dependencies, and settings of its tools.
pub fn is_settings(path: &str) -> bool {
    let name = file_name(path);
    let is_lock = matches!(
        name,
        "Cargo.lock"
            | "package-lock.json"
            | "yarn.lock"
            | "pnpm-lock.yaml"
            | "poetry.lock"
            | "uv.lock"
            | "go.mod"
            | "go.sum"
            | "setup.py"
    );
    is_lock || name.starts_with("requirements") || matches!(Role::of(path), Role::Settings(_))
}

/// Returns whether tests stand among the code that they test, in a file of the program.
fn is_among_code(path: &str, text: &str) -> bool {
    match Language::of(path) {
        Some(Language::Rust) => true,
        Some(Language::EcmaScript) => text.contains("import.meta.vitest"),
        // A file with tests whose name does not say so.
        _ => false,
    }
}

/// Tests before the change, in whatever file.
#[derive(Default)]
struct Known {
    names: BTreeSet<String>,
    /// Texts of whole tests.
    texts: BTreeSet<Vec<String>>,
    /// Bodies, with the names of the tests that have them.
    bodies: BTreeMap<Vec<String>, Vec<String>>,
}

impl Known {
    fn add(&mut self, change: &Change<'_>) {
        let Some(before) = change.before else { return };
        for (test, words, _) in Read::new(change.path, before).tests {
            self.bodies.entry(test.body.words).or_default().push(test.name.clone());
            self.names.insert(test.name);
            self.texts.insert(words);
        }
    }

    /// Returns whether a test was there before, maybe elsewhere or under another name.
    fn has(&self, test: &Test, words: &Vec<String>, changes: &[Change<'_>]) -> bool {
        // A name that is still used is that of another test.
        let is_gone = |name: &String| {
            let own = name.rsplit(" > ").next().unwrap_or(name);
            !changes.iter().filter_map(|change| change.after).any(|text| text.contains(own))
        };
        let is_renamed = || {
            test.body.words.len() > 2
                && self.bodies.get(&test.body.words).is_some_and(|names| names.iter().any(is_gone))
        };
        self.texts.contains(words) || is_renamed()
    }
}

/// Tests of a file with their words and last lines, and what else it defines.
#[derive(Default)]
struct Read {
    tests: Vec<(Test, Vec<String>, usize)>,
    /// Words of what each name stands for, tests left out.
    definitions: BTreeMap<String, BTreeSet<String>>,
}

impl Read {
    fn new(path: &str, text: &str) -> Self {
        let found = tests(path, text).tests;
        let tree =
            Language::of(path).and_then(|language| parse(text, language)).filter(|_| !found.is_empty());
        let Some(tree) = tree else {
            let of_patterns = |test: Test| {
                let words =
                    std::iter::once(test.name.clone()).chain(test.body.words.iter().cloned()).collect();
                let line = test.line;
                (test, words, line)
            };
            return Self { tests: found.into_iter().map(of_patterns).collect(), ..Self::default() };
        };
        let root = At::root(&tree, text);
        let mut read = Self::default();
        let all = root.descendants();
        let mut spans = Vec::new();
        for test in found {
            let node = all.iter().find(|at| at.line() == test.line && is_test_node(at.kind()));
            let last_line = node.map_or(test.line, |at| at.node.end_position().row + 1);
            let words: Vec<String> = match node {
                Some(at) => {
                    let whole = at
                        .node
                        .parent()
                        .filter(|parent| parent.kind() == "decorated_definition")
                        .unwrap_or(at.node);
                    spans.push(whole.byte_range());
                    let above = attributes(*at).into_iter().flat_map(At::words);
                    above.chain(at.with(whole).words()).map(str::to_owned).collect()
                }
                None => test.body.words.clone(),
            };
            read.tests.push((test, words, last_line));
        }
        // Where tests stand among the code, the code is what they are about.
        let of_tests =
            (Language::of(path) == Some(Language::Rust) && !is_of_tests(path)).then(|| lines_of_tests(text));
        for at in all {
            let line = at.line();
            if of_tests.as_ref().is_some_and(|items| !items.iter().any(|lines| lines.contains(&line))) {
                continue;
            }
            if !spans.iter().any(|span| span.contains(&at.node.start_byte())) {
                read.define(at);
            }
        }
        read
    }

    fn define(&mut self, at: At<'_>) {
        let names: Vec<&str> = match at.kind() {
            "function_definition"
            | "function_declaration"
            | "function_item"
            | "const_item"
            | "static_item"
            | "struct_item"
            | "enum_item"
            | "method_declaration"
            | "type_spec"
            | "var_spec"
            | "const_spec"
            | "macro_definition" => at.field("name").map(At::text).into_iter().collect(),
            "assignment" => at.field("left").map(At::text).into_iter().collect(),
            // `const { total } = require("./shop")` declares what is in the braces.
            "variable_declarator" => {
                at.field("name").map(|name| identifiers(name.text()).collect()).unwrap_or_default()
            }
            _ => {
                for import in imports(at) {
                    self.definitions.entry(import.name.to_owned()).or_default().extend(import.words);
                }
                return;
            }
        };
        let mut words: BTreeSet<String> = at.words().into_iter().map(str::to_owned).collect();
        if words.contains("require") || words.contains("import") {
            let modules: Vec<String> =
                words.iter().filter(|word| word.starts_with(['"', '\''])).cloned().collect();
            words.extend(modules.iter().flat_map(|module| identifiers(module)).map(str::to_owned));
        }
        for name in names {
            self.definitions.entry(name.to_owned()).or_default().extend(words.iter().cloned());
        }
    }

    /// Returns the words of a test, with those of everything in the file that they name.
    fn mentions(&self, words: &[String]) -> BTreeSet<String> {
        let mut all: BTreeSet<String> = words.iter().cloned().collect();
        let mut waiting: Vec<String> = words.to_vec();
        while let Some(word) = waiting.pop() {
            for further in self.definitions.get(&word).into_iter().flatten() {
                if all.insert(further.clone()) {
                    waiting.push(further.clone());
                }
            }
        }
        all
    }

    /// Returns the names that stand for something else than in the old text.
    fn touched(&self, old: &Self) -> BTreeSet<String> {
        let differs = |(name, words): &(&String, &BTreeSet<String>)| {
            old.definitions.get(*name).is_some_and(|before| before != *words)
        };
        self.definitions.iter().filter(differs).map(|(name, _)| name.clone()).collect()
    }
}

/// Returns the attributes above a Rust function.
fn attributes(at: At<'_>) -> Vec<At<'_>> {
    let mut found = Vec::new();
    let mut before = at.node.prev_named_sibling();
    while let Some(node) = before.filter(|node| at.kind() == "function_item" && is_above(*node)) {
        found.push(at.with(node));
        before = node.prev_named_sibling();
    }
    found
}

fn is_test_node(kind: &str) -> bool {
    matches!(
        kind,
        "function_definition"
            | "function_item"
            | "function_declaration"
            | "method_declaration"
            | "call_expression"
    )
}
