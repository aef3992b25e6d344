//! All tests of one state of a change, with the helpers that assert for them.

use std::collections::{BTreeMap, BTreeSet};

use super::inherited;
use crate::assertion::{Assertion, Strength, is_mere_failure};
use crate::extract::classes::Class;
use crate::extract::{Body, Mark, Names, Skip, Test, TestFile, worse};
use crate::weaker::subsumption::says_all;

/// Most assertions of one test, with those of its helpers.
const MAX_ASSERTIONS: usize = 2_000;

/// Depth to which helpers that call helpers are followed.
const MAX_HELPERS: usize = 3;

/// All tests of one state of the change.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) tests: Vec<Test>,
    helpers: BTreeMap<String, Body>,
    /// Names of helpers that say that they assert something, and do not.
    hollow: BTreeSet<String>,
    /// Functions that skip whatever test calls or asks for them.
    pub(crate) skipping: BTreeMap<String, (String, Skip)>,
    /// Functions that may skip whatever test calls or asks for them.
    pub(crate) may_skip: BTreeMap<String, (String, Skip)>,
    /// What skips the tests of other files, with the file that says it.
    pub(crate) everywhere: Vec<(String, Skip)>,
    /// Names of functions that are not tests.
    pub(crate) functions: BTreeSet<String>,
    /// Names of functions that are to be awaited.
    coroutines: BTreeSet<String>,
    mocks: Vec<(String, Mark)>,
    pub(crate) classes: Vec<Class>,
    /// How many values fixtures have, by their names.
    fixtures: BTreeMap<String, usize>,
    /// Names of each file.
    pub(crate) names: BTreeMap<String, Names>,
}

impl State {
    pub(crate) fn add(&mut self, path: &str, file: TestFile) {
        self.tests.extend(file.tests);
        self.tests.extend(file.hooks);
        self.helpers.extend(file.helpers);
        self.hollow.extend(file.hollow);
        self.classes.extend(file.classes);
        self.fixtures.extend(file.fixtures);
        self.functions.extend(file.functions);
        self.coroutines.extend(file.coroutines);
        self.everywhere.extend(file.everywhere.into_iter().map(|skip| (path.to_owned(), skip)));
        self.skipping.extend(file.skipping.into_iter().map(|(name, skip)| (name, (path.to_owned(), skip))));
        self.may_skip.extend(file.may_skip.into_iter().map(|(name, skip)| (name, (path.to_owned(), skip))));
        self.names.insert(path.to_owned(), file.names);
        self.mocks.extend(file.mocks.into_iter().map(|mark| (path.to_owned(), mark)));
    }

    /// Returns whether a function of this name asserts something for the tests that call it.
    pub(crate) fn has_helper(&self, name: &str) -> bool {
        self.helpers.contains_key(name)
    }

    /// Returns what a function of this name asserts for the tests that call it.
    pub(crate) fn helper(&self, name: &str) -> Option<&[Assertion]> {
        self.helpers.get(name).map(|helper| helper.assertions.as_slice())
    }

    /// Takes in helpers of a file that the change does not touch, but for those whose names others have.
    pub(crate) fn lend(&mut self, helpers: &BTreeMap<String, Body>) {
        for (name, body) in helpers {
            self.helpers.entry(name.clone()).or_insert_with(|| body.clone());
        }
    }

    /// Returns for how many values of the fixtures that it asks for a test runs.
    pub(crate) fn values_of_fixtures(&self, test: &Test) -> usize {
        let asked: BTreeSet<&str> =
            test.body.calls.iter().map(|name| name.split(':').next().unwrap_or(name).trim()).collect();
        asked
            .into_iter()
            .filter_map(|name| self.fixtures.get(name))
            .fold(1, |all, own| all.saturating_mul(*own))
    }

    /// Notes which tests are skipped by a function that they call, or by a fixture that they ask for.
    pub(crate) fn settle(&mut self) {
        inherited::settle(&mut self.tests, &self.classes);
        if self.skipping.is_empty() {
            return;
        }
        for test in &mut self.tests {
            let skip =
                test.body.calls.iter().find_map(|name| self.skipping.get(name)).map(|(_, skip)| skip.clone());
            test.body.skip = worse(test.body.skip.take(), skip);
        }
    }

    /// Returns all assertions of a test: its own, and those of the helpers that it calls.
    ///
    /// A helper whose call is an assertion by its name counts as that one if `heir`, the test after the change, no longer
    /// calls it: then the call was replaced, and not what is in the helper.
    pub(crate) fn assertions(&self, body: &Body, heir: Option<&Body>) -> Vec<Assertion> {
        let mut all = body.assertions.clone();
        for assertion in &mut all {
            let name = assertion.callee().unwrap_or_default();
            if self.hollow.contains(name) {
                assertion.strength = Strength::Nothing;
            } else if let Some(helper) = self.helpers.get(name) {
                // By its name alone, it would demand all.
                let demand = |inner: &Assertion| {
                    let is_end = is_mere_failure(inner);
                    if is_end { inner.strength.min(Strength::Bounded) } else { inner.strength }
                };
                let inner = helper.assertions.iter().map(demand).max();
                assertion.strength = assertion.strength.min(inner.unwrap_or(Strength::Exact));
            }
        }
        let is_known = |name: &&String| {
            !body.asserting.contains(*name) || heir.is_none_or(|heir| heir.asserting.contains(*name))
        };
        let mut calls: Vec<(&String, usize)> =
            body.calls.iter().filter(is_known).map(|name| (name, 0)).collect();
        let mut followed = BTreeSet::new();
        while let Some((name, depth)) = calls.pop() {
            let Some(helper) =
                self.helpers.get(name).filter(|_| depth < MAX_HELPERS && all.len() < MAX_ASSERTIONS)
            else {
                continue;
            };
            all.extend(helper.assertions.iter().cloned());
            if followed.insert(name) {
                calls.extend(helper.calls.iter().map(|inner| (inner, depth + 1)));
            }
        }
        all.truncate(MAX_ASSERTIONS);
        all
    }

    /// Returns whether a function asserts something without being a test.
    pub(crate) fn is_helper(&self, name: &str) -> bool {
        self.helpers.contains_key(name)
    }

    /// Returns whether a function asserts something only if it is awaited.
    pub(crate) fn is_coroutine(&self, name: &str) -> bool {
        self.coroutines.contains(name)
    }

    /// Returns whether a test that runs, or a function that one calls, asserts what some assertions demand.
    pub(crate) fn has_helper_for(&self, hook: &Test, asserted: &[Assertion]) -> bool {
        self.running().into_iter().any(|helper| says_all(hook, &helper.assertions, asserted))
    }

    /// Returns the bodies that are run: those of the tests that nothing skips, and of the helpers that these call.
    fn running(&self) -> Vec<&Body> {
        let mut running: Vec<&Body> =
            self.tests.iter().filter(|test| test.runs()).map(|test| &test.body).collect();
        let mut calls: Vec<&String> = running.iter().flat_map(|body| &body.calls).collect();
        let mut followed = BTreeSet::new();
        while let Some(name) = calls.pop() {
            if let Some(helper) = self.helpers.get(name).filter(|_| followed.insert(name)) {
                running.push(helper);
                calls.extend(&helper.calls);
            }
        }
        running
    }
}

/// Returns the assertions that one test made before the change, and that are made after it: if the test no longer makes one
/// of them, it was moved. What several tests assert word by word says nothing about where it went.
pub(crate) fn moved_assertions(before: &State, after: &State) -> BTreeSet<String> {
    let count = |state: &State| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for assertion in state.running().into_iter().flat_map(|body| &body.assertions) {
            *counts.entry(assertion.text.clone()).or_default() += 1;
        }
        counts
    };
    let now = count(after);
    let once = count(before).into_iter().filter(|(_, count)| *count == 1);
    once.map(|(text, _)| text).filter(|text| now.contains_key(text)).collect()
}

/// Returns all mocks with the files that they stand in.
pub(crate) fn all_mocks(state: &State) -> impl Iterator<Item = (&str, &Mark)> {
    let of_files = state.mocks.iter().map(|(path, mark)| (path.as_str(), mark));
    let of_tests =
        state.tests.iter().flat_map(|test| test.body.mocks.iter().map(|mark| (test.path.as_str(), mark)));
    of_files.chain(of_tests)
}

/// Returns how many literals a test has if it calls a new function of the tests several times: what were cases may be among them.
pub(crate) fn given_to_helper(before: &State, after: &State, test: &Test) -> usize {
    let is_new = |name: &&String| after.functions.contains(*name) && !before.functions.contains(*name);
    let calls = |name: &String| test.body.calls.iter().filter(|other| *other == name).count();
    let is_shared = test.body.calls.iter().filter(is_new).any(|name| calls(name) > 1);
    let is_literal = |word: &&String| {
        word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''))
    };
    if is_shared { test.body.words.iter().filter(is_literal).count() } else { 0 }
}
