//! Assertions that a test no longer makes because something else makes them.

use super::Context;
use crate::assertion::Assertion;
use crate::extract::Test;
use crate::matching::is_piece;
use crate::matching::state::State;
use crate::weaker::subsumption::says_the_same;

impl Context<'_> {
    /// Returns whether what asserted something for many tests is done otherwise now, or is about a library that is used no longer.
    pub(super) fn is_kept(&self, hook: &Test, asserted: &[Assertion]) -> bool {
        let has = |state: &State, name: &str| {
            state.names.get(&hook.path).is_some_and(|names| names.imported.contains_key(name))
        };
        let is_of_library = |assertion: &Assertion| {
            let mut names = assertion.content().filter(|name| has(self.before, name)).peekable();
            names.peek().is_some() && names.all(|name| !has(self.after, name))
        };
        !asserted.is_empty()
            && (self.is_moved(asserted)
                || self.after.has_helper_for(hook, asserted)
                || asserted.iter().all(is_of_library))
    }

    /// Returns whether all of some assertions are made elsewhere now.
    pub(super) fn is_moved(&self, assertions: &[Assertion]) -> bool {
        assertions.iter().all(|assertion| self.moved.contains(&assertion.text))
    }

    /// Returns whether a new test of the file makes all of some assertions: a test became two.
    pub(super) fn is_split_off(&self, assertions: &[Assertion], before: &Test) -> bool {
        let here = self.new.iter().filter(|test| test.path == before.path && test.runs());
        let makes_all = |theirs: &[Assertion]| {
            assertions.iter().all(|assertion| theirs.iter().any(|other| says_the_same(other, assertion)))
        };
        let asserted = |test: &&Test| self.after.assertions(&test.body, None);
        // One alone is made by many tests, word by word; then the rest of the test has to come from here as well.
        let pieces: Vec<Assertion> =
            here.clone().filter(|test| is_piece(test, before)).flat_map(&asserted).collect();
        makes_all(&pieces) || assertions.len() > 1 && here.map(asserted).any(|theirs| makes_all(&theirs))
    }
}
