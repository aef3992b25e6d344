//! Reruns: runs the tests of both states side by side where that is safe, and once more those that claim to prove the change, since
//! a test that sometimes fails would prove anything.

use std::time::Duration;

use test_integrity::ChangedTest;

use super::observed::{Observation, Observed, StateOfTests};
use super::side::Side;
use super::verdict::{Judged, Seen, cases, verdict, verdict_with};
use super::{ProofError, Prover, States};
use crate::event::ProofVerdict;

/// A run that is repeated gets this many times the time that it took at first, and [`EXTRA`].
const TIMES: u32 = 3;
const EXTRA: Duration = Duration::from_secs(30);

/// Both states, and what was seen of each test there.
pub(super) struct Pair<'a> {
    old: Side<'a>,
    new: Side<'a>,
    on_old: &'a StateOfTests<'a>,
    on_new: &'a StateOfTests<'a>,
    tests: &'a [&'a ChangedTest],
    /// Whether both states can run at the same time.
    side_by_side: bool,
    selects: bool,
    seen: Vec<Seen>,
    /// Time on a state of the old code that is not used any more.
    spent: Duration,
}

impl<'a> Pair<'a> {
    /// Runs tests in both states once.
    pub(super) async fn run(
        states: &States,
        prover: &'a Prover<'a>,
        tests: &'a [&'a ChangedTest],
        (on_old, on_new): (&'a StateOfTests<'a>, &'a StateOfTests<'a>),
    ) -> Result<Self, ProofError> {
        let old = Side::new(prover, &states.old, "the proof of tests on the old code").await?;
        let new = Side::new(prover, &states.new, "the proof of tests").await?;
        let side_by_side = new.is_apart().await;
        let (seen, spent, selects) = (Vec::new(), Duration::ZERO, prover.command.selects());
        let mut pair = Self { old, new, on_old, on_new, tests, side_by_side, selects, seen, spent };
        let all: Vec<usize> = (0..tests.len()).collect();
        let (mut old, new) = pair.observe(&all, &all).await?;
        // What cannot be built may lack a dependency that came with the change, rather than the code.
        let is_unbuilt =
            |seen: &Observation| matches!(seen.seen, Observed::Unbuilt(_) | Observed::Hindered(_));
        let unbuilt = |seen: &[Observation]| seen.iter().filter(|seen| is_unbuilt(seen)).count();
        if let Some(changes) = states.old_with_settings.as_ref().filter(|_| unbuilt(&old) > 0) {
            let mut side = Side::new(prover, changes, "the proof of tests on the old code").await?;
            let again = observe(&mut side, tests, on_old).await?;
            if unbuilt(&again) < unbuilt(&old) {
                old = again;
                std::mem::swap(&mut pair.old, &mut side);
            }
            pair.spent = side.time;
        }
        pair.seen = old.into_iter().zip(new).map(|(old, new)| Seen { old, new }).collect();
        Ok(pair)
    }

    /// Returns what each test says, after another run of those that claim to prove the change.
    pub(super) async fn verdicts(&mut self) -> Result<Vec<Judged>, ProofError> {
        self.old.limit(self.old.time * TIMES + EXTRA);
        self.new.limit(self.new.time * TIMES + EXTRA);
        let claims = self.at(Seen::proves);
        // What does not build does not do so the next time either.
        let built = self.at(|seen| seen.proves() && !matches!(seen.old.seen, Observed::Unbuilt(_)));
        let (again_old, again_new) = self.observe(&built, &claims).await?;
        let mut again = self.seen.clone();
        for (at, seen) in built.into_iter().zip(again_old) {
            again[at].old = seen;
        }
        for (at, seen) in claims.into_iter().zip(again_new) {
            again[at].new = seen;
        }
        let told = |(first, again): (&Seen, &Seen)| {
            let cases = cases(first, again);
            let (verdict, reason) = if first.proves() && !again.proves() {
                (ProofVerdict::Flaky, Some(change_of_mind(first, again)))
            } else {
                verdict_with(&cases, verdict(&again.old.seen, &again.new.seen))
            };
            Judged { verdict, reason, cases }
        };
        Ok(self.seen.iter().zip(&again).map(told).collect())
    }

    /// Runs tests in both states, at the same time where that is safe.
    async fn observe(
        &mut self,
        old: &[usize],
        new: &[usize],
    ) -> Result<(Vec<Observation>, Vec<Observation>), ProofError> {
        let (of_old, of_new) = (self.chosen(old), self.chosen(new));
        let on_old = observe(&mut self.old, &of_old, self.on_old);
        let on_new = observe(&mut self.new, &of_new, self.on_new);
        let (seen_new, seen_old) = if self.side_by_side {
            let (seen_new, seen_old) = tokio::join!(on_new, on_old);
            (seen_new?, seen_old?)
        } else {
            // An old state is not looked at if the new one cannot be run.
            let seen_new = on_new.await?;
            (seen_new, on_old.await?)
        };
        Ok((self.picked(old, seen_old), self.picked(new, seen_new)))
    }

    fn at(&self, is_meant: impl Fn(&Seen) -> bool) -> Vec<usize> {
        (0..self.seen.len()).filter(|at| is_meant(&self.seen[*at])).collect()
    }

    /// Returns the tests that a run for some of them is told: all if the command cannot choose.
    fn chosen(&self, at: &[usize]) -> Vec<&'a ChangedTest> {
        self.indices(at).into_iter().map(|at| self.tests[at]).collect()
    }

    fn indices(&self, at: &[usize]) -> Vec<usize> {
        if self.selects || at.is_empty() { at.to_vec() } else { (0..self.tests.len()).collect() }
    }

    /// Returns what was seen of some tests in a run for them.
    fn picked(&self, at: &[usize], seen: Vec<Observation>) -> Vec<Observation> {
        let indices = self.indices(at);
        indices.into_iter().zip(seen).filter(|(index, _)| at.contains(index)).map(|(_, seen)| seen).collect()
    }

    /// Returns how long the runs on the old code took.
    pub(super) fn old_time(&self) -> Duration {
        self.old.time + self.spent
    }

    /// Returns how long the runs on the new code took.
    pub(super) fn new_time(&self) -> Duration {
        self.new.time
    }
}

async fn observe(
    side: &mut Side<'_>,
    tests: &[&ChangedTest],
    state: &StateOfTests<'_>,
) -> Result<Vec<Observation>, ProofError> {
    if tests.is_empty() { Ok(Vec::new()) } else { Box::pin(side.observe(tests, state)).await }
}

/// Returns on which code a test did not do the same twice.
fn change_of_mind(first: &Seen, again: &Seen) -> String {
    let pairs = [("old", &first.old.seen, &again.old.seen), ("new", &first.new.seen, &again.new.seen)];
    let told: Vec<String> = pairs
        .into_iter()
        .filter(|(_, first, again)| !first.is_like(again))
        .map(|(code, first, again)| {
            let (one, other) = if *again == Observed::Passed { (again, first) } else { (first, again) };
            format!("on the {code} code, it {} one time and {} another", one.in_a_word(), other.in_a_word())
        })
        .collect();
    told.join("; ")
}
