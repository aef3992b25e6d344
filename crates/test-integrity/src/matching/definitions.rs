//! Finds names that a program no longer defines, and texts that it no longer says.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::Bag;
use crate::Change;
use crate::assertion::Assertion;
use crate::extract::rust::test_items::TestItems;
use crate::extract::{Test, is_function};
use crate::files::{Language, Role, stem};
use crate::syntax::{At, is_string, literals, parse};

/// Shortest text whose removal says what a test was about.
const MIN_TEXT: usize = 8;
/// Least share of tokens in common of two definitions of which one is the other under a new name.
const RENAMED: f64 = 0.6;
/// Most tokens of definitions that are compared. Beyond that, nothing counts as removed.
const MAX_COMPARED: usize = 10_000_000;
/// Most texts that count as removed. Where more are gone, none does.
const MAX_TEXTS: usize = 200;

/// What the program had before the change, and has no more. It is read when a test first asks for it: most changes leave
/// tests alone, and may be large.
pub(crate) struct Removed<'c> {
    changes: &'c [Change<'c>],
    gone: OnceCell<Gone>,
}

/// Names that are no longer defined, and texts that are no longer said.
struct Gone {
    names: BTreeSet<String>,
    /// Names that something else has instead.
    renamed: BTreeSet<String>,
    texts: BTreeSet<String>,
}

impl Gone {
    /// Compares both states of the program. What only got another name was not removed.
    fn by(changes: &[Change<'_>]) -> Self {
        let (mut old, mut new) = (Program::default(), Program::default());
        for change in changes.iter().filter(|change| Role::of(change.path) == Role::Source) {
            old.read(change.path, change.before.unwrap_or_default());
            new.read(change.path, change.after.unwrap_or_default());
        }
        let names = old.without_renamed(&new);
        let gone: BTreeSet<String> = old.texts.difference(&new.texts).cloned().collect();
        let added = new.texts.difference(&old.texts).count();
        // Where as many are new as are gone, they say the same in other words.
        let texts = if gone.len() > added && gone.len() <= MAX_TEXTS { gone } else { BTreeSet::new() };
        let is_renamed = |name: &&String| !new.names.contains_key(*name) && !names.contains(*name);
        let renamed = old.names.keys().filter(is_renamed).cloned().collect();
        Self { names, renamed, texts }
    }
}

impl<'c> Removed<'c> {
    pub(crate) fn by(changes: &'c [Change<'c>]) -> Self {
        Self { changes, gone: OnceCell::new() }
    }

    fn gone(&self) -> &Gone {
        self.gone.get_or_init(|| Gone::by(self.changes))
    }

    /// Returns whether a test was about what is gone. A name that the test gives a meaning of its own is not the program's.
    pub(crate) fn concerns_test(&self, test: &Test) -> bool {
        self.concerns(test, test.body.words.iter().map(String::as_str))
    }

    /// Returns whether an assertion of a test was about what is gone.
    pub(crate) fn concerns_assertion(&self, test: &Test, assertion: &Assertion) -> bool {
        self.count(test, assertion.content()) > 0 || literals(&assertion.text).any(|text| self.has_text(text))
    }

    /// Returns whether a file of the program defined a name and no longer does, so that it may come from elsewhere now.
    pub(crate) fn has_moved(&self, name: &str) -> bool {
        let mut program = self.changes.iter().filter(|change| Role::of(change.path) == Role::Source);
        program.any(|change| loses(change, name))
    }

    /// Returns whether another file of tests defined a name and no longer does, so that what stands in the one at `path` came from there.
    pub(crate) fn has_come_from_tests(&self, name: &str, path: &str) -> bool {
        let is_other = |change: &&Change<'_>| change.path != path && Role::of(change.path) == Role::Test;
        self.changes.iter().filter(is_other).any(|change| loses(change, name))
    }

    /// Returns whether a test names what it imported from a file that no longer defines it, while no other file newly does.
    pub(crate) fn is_of_lost_import(
        &self,
        test: &Test,
        imported: &BTreeMap<String, BTreeSet<String>>,
    ) -> bool {
        let is_lost = |word: &String| {
            let Some(path) = imported.get(word).filter(|_| !self.has_renamed(word)) else { return false };
            let mut others = self.changes.iter().filter(|change| Role::of(change.path) == Role::Source);
            let is_of = |change: &&Change<'_>| path.contains(stem(change.path));
            others.clone().any(|change| is_of(&change) && loses(change, word))
                && !others.any(|change| {
                    loses(&Change { before: change.after, after: change.before, ..*change }, word)
                })
        };
        test.body.words.iter().any(is_lost)
    }

    /// Returns whether what had this name has another one now.
    pub(crate) fn has_renamed(&self, name: &str) -> bool {
        self.gone().renamed.contains(name)
    }

    fn has_text(&self, text: &str) -> bool {
        let is_it = |gone: &String| gone.contains(text) || text.contains(gone.as_str());
        text.len() >= MIN_TEXT && self.gone().texts.iter().any(is_it)
    }

    /// Returns how many of some words of a test are names of what is gone.
    pub(crate) fn count<'a>(&self, test: &Test, words: impl IntoIterator<Item = &'a str>) -> usize {
        let names = words.into_iter().filter(|word| literal(word).is_none());
        names.filter(|word| self.concerns(test, [*word])).count()
    }

    /// Returns whether some words of a test are about what is gone.
    pub(crate) fn concerns<'a>(&self, test: &Test, words: impl IntoIterator<Item = &'a str>) -> bool {
        let names = |part: &str| self.gone().names.contains(part) && !test.body.defined.contains_key(part);
        words.into_iter().any(|word| match literal(word) {
            Some(text) => self.has_text(text),
            // A pattern is one word, in which a sign that means something else stands behind a backslash.
            None if word.contains(' ') => self.has_text(&word.replace('\\', "")),
            None => word.split(['.', ':']).any(names),
        })
    }
}

/// Returns whether a file defined a name, and no longer does.
fn loses(change: &Change<'_>, name: &str) -> bool {
    const WORDS: &[&str] = &[
        "class",
        "def",
        "function",
        "const",
        "let",
        "var",
        "interface",
        "type",
        "enum",
        "struct",
        "fn",
        "func",
        "trait",
    ];
    let defines = |text: &str| {
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        // In `type: Name`, a member has the name of a keyword.
        words.windows(2).any(|two| {
            WORDS.contains(&two[0]) && two[1] == name && text.contains(&format!("{} {name}", two[0]))
        })
    };
    let before = change.before.unwrap_or_default();
    before.contains(name) && defines(before) && !defines(change.after.unwrap_or_default())
}

/// Returns what a literal says, if it is one that is long enough to tell it from others.
fn literal(word: &str) -> Option<&str> {
    let text = word.trim_start_matches(['b', 'f', 'r', 'u']);
    let inner = text.strip_prefix(['"', '\'', '`'])?.trim_matches(['"', '\'', '`']);
    (inner.len() >= MIN_TEXT).then_some(inner)
}

/// What a program defines and says.
#[derive(Default)]
struct Program {
    /// Names that it defines, with the tokens of the definitions.
    names: BTreeMap<String, Vec<String>>,
    texts: BTreeSet<String>,
}

impl Program {
    fn read(&mut self, path: &str, text: &str) {
        let Some(language) = Language::of(path) else { return self.read_lines(text) };
        // Tests among the code are no part of the program.
        let text = match language {
            Language::Rust => TestItems::of(text).map_or_else(|| text.to_owned(), |items| items.rest),
            _ => text.to_owned(),
        };
        let Some(tree) = parse(&text, language) else { return self.read_lines(&text) };
        let root = At::root(&tree, &text);
        let mut waiting = vec![root];
        while let Some(at) = waiting.pop() {
            self.add(declared(at), at);
            if is_function(at.kind()) {
                at.descendants().into_iter().for_each(|below| self.add(attribute(below), below));
            } else {
                waiting.extend(at.children());
            }
        }
        let literals = root.descendants().into_iter().filter(|at| is_string(at.kind()));
        self.texts.extend(literals.filter_map(|at| literal(at.text())).map(str::to_owned));
    }

    fn read_lines(&mut self, text: &str) {
        let Some(pattern) = DEFINITION.as_ref() else { return };
        for found in pattern.captures_iter(text) {
            if let Some(name) = found.iter().skip(1).flatten().next() {
                self.names.entry(name.as_str().to_owned()).or_default();
            }
        }
    }

    fn add(&mut self, name: Option<At<'_>>, definition: At<'_>) {
        if let Some(name) = name {
            let words = definition.words().into_iter().filter(|word| *word != name.text());
            self.names.entry(name.text().to_owned()).or_default().extend(words.map(str::to_owned));
        }
    }

    /// Returns the names that another state has no longer, but for those that it has by another name.
    fn without_renamed(&self, new: &Self) -> BTreeSet<String> {
        let bags = |said: &'_ Self, other: &Self| {
            let own =
                said.names.iter().filter(|(name, _)| name.len() > 2 && !other.names.contains_key(*name));
            own.map(|(name, words)| (name.clone(), words.clone())).collect::<Vec<_>>()
        };
        let (gone, added) = (bags(self, new), bags(new, self));
        let added: Vec<Bag> =
            added.iter().map(|(_, words)| Bag::new(words.iter().map(String::as_str))).collect();
        let mut work = MAX_COMPARED;
        let mut names = BTreeSet::new();
        for (name, words) in &gone {
            let own = Bag::new(words.iter().map(String::as_str));
            let mut is_renamed = false;
            for other in &added {
                let Some(left) = work.checked_sub(own.kinds() + other.kinds() + 1) else {
                    return BTreeSet::new();
                };
                work = left;
                let is_plain = own.is_empty() && other.is_empty();
                is_renamed |= is_plain || own.could_be_alike(other) && own.likeness(other) >= RENAMED;
            }
            if !is_renamed {
                names.insert(name.clone());
            }
        }
        names
    }
}

/// Returns the name that a node declares, outside of functions.
fn declared(at: At<'_>) -> Option<At<'_>> {
    const KINDS: &[&str] = &[
        "_definition",
        "_declaration",
        "_item",
        "_spec",
        "_signature",
        "_declarator",
        "_constant",
        "_variant",
    ];
    let kind = at.kind();
    if kind.contains("parameter") {
        None
    } else if KINDS.iter().any(|end| kind.ends_with(end)) {
        at.field("name")
    } else if kind == "assignment" {
        at.field("left").filter(|left| left.kind() == "identifier")
    } else {
        attribute(at)
    }
}

/// Returns the attribute that an assignment gives to an object or a module: `size` of `self.size = 1` and `exports.size = 1`.
fn attribute(at: At<'_>) -> Option<At<'_>> {
    let left = matches!(at.kind(), "assignment" | "assignment_expression").then(|| at.field("left"))??;
    let object = left.field("object").map_or("", At::text);
    let name = left.field("attribute").or_else(|| left.field("property")).or_else(|| left.field("field"))?;
    matches!(object, "self" | "this" | "cls" | "exports" | "module.exports").then_some(name)
}

static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+|export\s+|default\s+|async\s+|static\s+|public\s+|private\s+|protected\s+|final\s+|abstract\s+|unsafe\s+|const\s+)*(?:(?:def|class|fn|func(?:\s*\([^)]*\))?|function\*?|struct|enum|trait|interface|type|macro_rules!|module)\s+(\w+)|(?:[\w<>\[\],.]+\s+)(\w+)\s*\([^;{}()]{0,200}\)\s*(?:throws[^{;]{0,100})?\{|(?:module\.)?exports\.(\w+)\s*=|(?:let|var|const)\s+(\w+)\s*=)",
    )
    .ok()
});
