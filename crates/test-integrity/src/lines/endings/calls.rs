//! Table of calls that end the process with success, whatever a file calls them: by imports, values and patterns.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::Language;
use crate::syntax::At;
use crate::syntax::bindings::Given;
use crate::syntax::imports::{identifiers, imports};

/// What ends the process: the words of its name, in the order of the alphabet and without [`NEUTRAL`] ones, and the place of the exit
/// code among its arguments.
#[rustfmt::skip]
const TABLE: &[(Language, &str, usize)] = &[
    (Language::Python, "_exit os", 0), (Language::Python, "_exit", 0), (Language::Python, "exit sys", 0),
    (Language::Python, "exit", 0), (Language::Python, "quit", 0), (Language::Python, "SystemExit", 0),
    (Language::Python, "exit pytest", 1),
    (Language::EcmaScript, "exit process", 0), (Language::EcmaScript, "process reallyExit", 0), (Language::EcmaScript, "Deno exit", 0),
    (Language::Rust, "exit process", 0), (Language::Rust, "exit", 0), (Language::Rust, "exit libc", 0), (Language::Rust, "_exit libc", 0),
    (Language::Go, "Exit os", 0), (Language::Go, "Exit syscall", 0),
    (Language::Java, "System exit", 0), (Language::Java, "Runtime exit getRuntime", 0), (Language::Java, "Runtime getRuntime halt", 0),
];

/// Words of names that make no difference: where it comes from in the end, and how it is asked for.
const NEUTRAL: &[&str] = &[
    "node",
    "std",
    "java",
    "lang",
    "globalThis",
    "global",
    "window",
    "builtins",
    "posix",
    "require",
    "import",
    "__import__",
    "importlib",
    "import_module",
    "getattr",
    "await",
    "default",
];

/// Exit codes that stand for success.
const SUCCESS: &[&str] =
    &["None", "False", "null", "undefined", "os.EX_OK", "EX_OK", "libc::EXIT_SUCCESS", "EXIT_SUCCESS"];

/// Functions that call another one, or make another one of it, with the arguments behind it.
const PASS_ON: &[&str] = &[
    "register",
    "partial",
    "Timer",
    "Thread",
    "setTimeout",
    "setImmediate",
    "nextTick",
    "call_later",
    "call_soon",
    "addCleanup",
    "bind",
    "call",
    "apply",
];

/// Longest value by which a name is followed, in bytes.
const MAX_VALUE: usize = 80;

/// Values that are followed for one name.
const MAX_DEPTH: usize = 4;

/// Names of a file, as far as they may stand for what ends the process.
pub(super) struct Names<'a> {
    language: Language,
    given: &'a Given<'a>,
    imported: BTreeMap<&'a str, BTreeSet<String>>,
    /// Names of functions that the file itself defines.
    own: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    /// Reads a file.
    pub(super) fn of(all: &[At<'a>], language: Language, given: &'a Given<'a>) -> Self {
        let mut imported = BTreeMap::new();
        let mut own = BTreeSet::new();
        for at in all {
            // `import os.path` brings `os`.
            let is_plain = language == Language::Python && at.kind() == "import_statement";
            let found =
                imports(*at).into_iter().filter(|found| !(is_plain && found.words.contains(found.name)));
            imported.extend(found.map(|found| (found.name, found.words)));
            imported.extend(taken_apart(*at));
            let is_own = at.kind() == "function_declaration"
                || matches!(at.kind(), "function_definition" | "function_item")
                    && at.node.parent().is_none_or(|around| around.kind() != "block");
            own.extend(at.field("name").filter(|_| is_own).map(At::text));
        }
        Self { language, given, imported, own }
    }

    /// Returns whether a node ends the process with success.
    pub(super) fn end(&self, at: At<'a>) -> bool {
        match at.kind() {
            "call" | "call_expression" | "method_invocation" => {
                let Some(given) = at.field("arguments") else { return false };
                // What is raised is no end before it is.
                self.ends(at, given) && identifiers(head(at)).last() != Some("SystemExit")
                    || self.is_passed_on(at, given)
            }
            "raise_statement" => {
                at.children().first().is_some_and(|raised| match raised.field("arguments") {
                    Some(given) => self.ends(*raised, given),
                    None => self.place_of_code(*raised) == Some(0),
                })
            }
            _ => false,
        }
    }

    fn ends(&self, call: At<'a>, given: At<'a>) -> bool {
        let Some(place) = self.place_of_code(call) else { return false };
        let given = given.children();
        let named = given.iter().find_map(|given| {
            let is_code = given.field("name").is_some_and(|name| name.text() == "returncode");
            given.field("value").filter(|_| is_code)
        });
        match named.or_else(|| given.get(place).copied()) {
            Some(code) => self.is_success(code),
            None => place == 0 && given.is_empty(),
        }
    }

    /// Returns whether a call hands on a function that ends the process together with the exit code: `atexit.register(os._exit, 0)`.
    fn is_passed_on(&self, call: At<'a>, given: At<'a>) -> bool {
        let callee = head(call);
        let name = identifiers(callee).last().unwrap_or_default();
        if !PASS_ON.contains(&name) {
            return false;
        }
        let given = given.children();
        let mut rest = given.iter().map(|given| given.field("value").unwrap_or(*given));
        let is_bound = matches!(name, "bind" | "call" | "apply")
            && callee.rsplit_once('.').is_some_and(|(ends, _)| self.is_end(identifiers(ends)));
        let mut is_given =
            || rest.any(|given| !given.kind().contains("call") && self.place_of_code(given) == Some(0));
        let is_end = is_bound || is_given();
        let last = given.last().map(|given| given.field("value").unwrap_or(*given));
        is_end && given.len() > 1 && last.is_some_and(|last| self.is_success(single(last)))
    }

    /// Returns whether a value is an exit code that stands for success.
    fn is_success(&self, code: At<'a>) -> bool {
        let value = if code.kind() == "identifier" { self.given.value(code) } else { None };
        let text = value.unwrap_or(code).text();
        SUCCESS.contains(&text) || text.parse::<f64>() == Ok(0.0)
    }

    /// Returns the place of the exit code among the arguments of what a node calls or names, if that ends the process.
    fn place_of_code(&self, at: At<'a>) -> Option<usize> {
        let words = self.words(at, MAX_DEPTH)?;
        self.place_of(&words)
    }

    fn is_end<'b>(&self, words: impl Iterator<Item = &'b str>) -> bool {
        self.place_of(&words.map(str::to_owned).collect()) == Some(0)
    }

    fn place_of(&self, words: &BTreeSet<String>) -> Option<usize> {
        let kept = words.iter().map(String::as_str).filter(|word| !NEUTRAL.contains(word));
        let name = kept.collect::<Vec<_>>().join(" ");
        let row = TABLE.iter().find(|(of, row, _)| *of == self.language && *row == name);
        row.map(|(_, _, place)| *place)
    }

    /// Returns the words of the full name of what a node calls or names; `None` if it is the file's own, or too long.
    fn words(&self, at: At<'a>, depth: usize) -> Option<BTreeSet<String>> {
        let text = head(at);
        if text.len() > MAX_VALUE {
            return None;
        }
        let mut leaf = at;
        while let Some(first) = leaf.node.named_child(0) {
            leaf = at.with(first);
        }
        let mut words: BTreeSet<String> = identifiers(text).map(str::to_owned).collect();
        let name = leaf.text();
        if let Some(imported) = self.imported.get(name) {
            words.remove(name);
            words.extend(imported.iter().cloned());
        } else if self.own.contains(name) {
            return None;
        } else if let Some(value) =
            self.given.value(leaf).filter(|_| depth > 0 && leaf.kind() == "identifier")
        {
            words.remove(name);
            words.extend(self.words(value, depth - 1)?);
        }
        Some(words)
    }
}

/// Returns the text of a call without its arguments, or all of another node's.
fn head(at: At<'_>) -> &str {
    let end = at.field("arguments").map_or(at.node.end_byte(), |given| given.node.start_byte());
    at.source.get(at.node.start_byte()..end).unwrap_or_default()
}

/// Returns the only item of a list or a tuple, or another node itself.
fn single(at: At<'_>) -> At<'_> {
    let is_list = matches!(at.kind(), "list" | "tuple" | "array" | "parenthesized_expression");
    at.children().first().copied().filter(|_| is_list).unwrap_or(at)
}

/// Returns the names that a pattern of JavaScript takes out of a value: `const { exit: end } = process`.
fn taken_apart(at: At<'_>) -> Vec<(&str, BTreeSet<String>)> {
    let pattern =
        at.field("name").filter(|name| at.kind() == "variable_declarator" && name.kind() == "object_pattern");
    let (Some(pattern), Some(value)) = (pattern, at.field("value")) else { return Vec::new() };
    if value.text().len() > MAX_VALUE {
        return Vec::new();
    }
    let names = pattern.children().into_iter().filter_map(|part| match part.kind() {
        "shorthand_property_identifier_pattern" => Some((part.text(), part.text())),
        "pair_pattern" => Some((part.field("value")?.text(), part.field("key")?.text())),
        _ => None,
    });
    let words = |key| identifiers(value.text()).chain([key]).map(str::to_owned).collect();
    names.map(|(name, key)| (name, words(key))).collect()
}
