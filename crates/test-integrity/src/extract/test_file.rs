//! Extract of a test file: its tests, and what they have in common.

use std::collections::{BTreeMap, BTreeSet};

use super::classes::Class;
use super::flow::outcomes::Outcomes;
use super::flow::waits::Waits;
use super::names::Names;
use super::rows::Looped;
use crate::assertion::{Assertion, vocabulary};

/// Why a test does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) line: usize,
    /// Whether it may run nevertheless.
    pub(crate) is_conditional: bool,
    /// What says so, as it is in the file.
    pub(crate) text: String,
}

/// Something in a test with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// What the body of a test or of a helper holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub(crate) assertions: Vec<Assertion>,
    pub(crate) skip: Option<Skip>,
    /// What ends or skips it under a condition, each with its condition.
    pub(crate) exits: Vec<Skip>,
    /// Names of what it calls, without their paths.
    pub(crate) calls: Vec<String>,
    /// Names of what it calls that assert something by their names.
    pub(crate) asserting: BTreeSet<String>,
    /// What it replaces by mocks.
    pub(crate) mocks: Vec<Mark>,
    /// Its tokens, for telling how alike two tests are.
    pub(crate) words: Vec<String>,
    /// Tokens of the tables that it goes through and that stand outside of it.
    pub(crate) cells: Vec<String>,
    /// Rows of the tables that its loops go through.
    pub(crate) rows: Vec<usize>,
    /// Loops over what may hold nothing.
    pub(crate) loops: Vec<Looped>,
    /// Names that it gives a meaning of its own, with their lines.
    pub(crate) defined: BTreeMap<String, usize>,
    /// What it does with the outcome of what it calls.
    pub(crate) outcomes: Outcomes,
    /// Paths of files that it writes what it computed to, and reads.
    pub(crate) overwritten: BTreeSet<String>,
    /// Whether it stands in a class that another one inherits which runs.
    pub(crate) is_inherited: bool,
    /// Whether it is made for each item of something that stands in no table of the file.
    pub(crate) is_repeated: bool,
    /// What it waits for, and what it leaves running.
    pub(crate) waits: Waits,
}

impl Body {
    /// Records that the test is skipped; what skips it always counts more than what does under a condition.
    pub(super) fn note_skip(&mut self, skip: Skip) {
        if self.skip.as_ref().is_none_or(|known| known.is_conditional && !skip.is_conditional) {
            self.skip = Some(skip);
        }
    }
}

/// Test of a file.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) path: String,
    /// Name with those of the classes, modules or groups that it is in.
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) body: Body,
    /// Whether it is marked as the only one to run.
    pub(crate) focus: Option<usize>,
    /// Number of cases, if it has a list of them.
    pub(crate) cases: Option<usize>,
    /// Why a runner takes it for no test, or runs nothing of it.
    pub(crate) hidden: Option<&'static str>,
}

impl Test {
    /// Returns whether nothing keeps it from running, or nothing but a condition.
    pub(crate) fn runs(&self) -> bool {
        self.body.skip.as_ref().is_none_or(|skip| skip.is_conditional)
    }

    /// Returns how many rows it goes through, of a list of cases or of the tables of its loops.
    pub(crate) fn rows(&self) -> usize {
        self.cases.unwrap_or(1).max(self.body.rows.iter().sum()).max(1)
    }

    /// Returns its name without those that it is in.
    pub(crate) fn simple_name(&self) -> &str {
        self.name.rsplit(" > ").next().unwrap_or(&self.name)
    }
}

/// Tests of a file, and what its tests have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestFile {
    pub(crate) tests: Vec<Test>,
    /// Functions that are not tests but assert something, by name.
    pub(crate) helpers: BTreeMap<String, Body>,
    /// Functions that are not tests and assert nothing themselves, by name.
    pub(crate) plain: BTreeMap<String, Body>,
    /// Names of functions that say that they assert something, and do not.
    pub(crate) hollow: BTreeSet<String>,
    /// Names of functions that are not tests.
    pub(crate) functions: BTreeSet<String>,
    /// Functions that skip whatever test calls or asks for them.
    pub(crate) skipping: BTreeMap<String, Skip>,
    /// Functions that may skip whatever test calls or asks for them.
    pub(crate) may_skip: BTreeMap<String, Skip>,
    /// Names of functions that are to be awaited.
    pub(crate) coroutines: BTreeSet<String>,
    /// What asserts something before or after each test, or for it, as if it were a test.
    pub(crate) hooks: Vec<Test>,
    /// What skips the tests of other files.
    pub(crate) everywhere: Vec<Skip>,
    /// How many values the fixtures of Python have, for each of which a test that asks for them runs, by their names.
    pub(crate) fixtures: BTreeMap<String, usize>,
    pub(crate) classes: Vec<Class>,
    /// What the file as a whole replaces by mocks.
    pub(crate) mocks: Vec<Mark>,
    pub(crate) names: Names,
}

impl TestFile {
    /// Adds a function that is not a test.
    pub(super) fn add_function(&mut self, name: &str, mut body: Body) {
        self.functions.insert(name.to_owned());
        if let Some(skip) =
            body.skip.as_ref().filter(|skip| skip.is_conditional && !skip.text.starts_with("return"))
        {
            self.may_skip.insert(name.to_owned(), skip.clone());
        }
        let early = body.skip.take_if(|skip| !skip.is_conditional);
        match early {
            // What follows the end is never asserted.
            Some(skip) if skip.text.starts_with("return") => {
                body.assertions.retain(|assertion| assertion.line < skip.line);
                if body.assertions.is_empty() {
                    self.hollow.insert(name.to_owned());
                }
            }
            Some(skip) => {
                self.skipping.insert(name.to_owned(), skip);
            }
            None => {}
        }
        let fails =
            |word: &String| matches!(word.as_str(), "throw" | "raise" | "panic" | "exit" | "Exit" | "abort");
        if !body.assertions.is_empty() {
            self.helpers.insert(name.to_owned(), body);
            return;
        }
        let says_so = vocabulary::plain(name).starts_with("assert");
        if says_so && body.calls.is_empty() && !body.words.iter().any(fails) {
            self.hollow.insert(name.to_owned());
        }
        self.plain.insert(name.to_owned(), body);
    }
}
