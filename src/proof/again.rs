//! The pair of both states: runs the tests side by side where that is safe, and once more what claims to prove the change, since a
//! test that sometimes fails would prove anything.

use std::time::Duration;

use test_integrity::ChangedTest;

use super::observed::{Observed, StateOfTests};
use super::prove::verdict;
use super::side::{Network, Side, Together};
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
    together: Together,
    selects: bool,
    seen: Vec<Seen>,
    /// Time on a state of the old code that is not used any more.
    spent: Duration,
}

/// What was seen of a test on the old code and on the new.
#[derive(Clone)]
struct Seen {
    old: Observed,
    new: Observed,
    /// Whether the old code may only lack the network.
    is_unsure: bool,
}

impl Seen {
    fn proves(&self) -> bool {
        verdict(&self.old, &self.new).0 == ProofVerdict::Proves
    }
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
        let together = new.together().await;
        let (seen, spent, selects) = (Vec::new(), Duration::ZERO, prover.command.selects());
        let mut pair = Self { old, new, on_old, on_new, tests, together, selects, seen, spent };
        let all: Vec<usize> = (0..tests.len()).collect();
        let first = if together == Together::InTurn { Network::Empty } else { Network::Configured };
        let (mut old, new) = pair.observe((&all, first), (&all, Network::Configured)).await?;
        let mut is_unsure = first == Network::Empty;
        // What cannot be built may lack a dependency that came with the change, rather than the code.
        let is_unbuilt = |seen: &Observed| matches!(seen, Observed::Unbuilt(_) | Observed::Hindered(_));
        let unbuilt = |seen: &[Observed]| seen.iter().filter(|seen| is_unbuilt(seen)).count();
        if let Some(changes) = states.old_with_settings.as_ref().filter(|_| unbuilt(&old) > 0) {
            let mut side = Side::new(prover, changes, "the proof of tests on the old code").await?;
            let again = observe(&mut side, tests, on_old, Network::Configured).await?;
            if unbuilt(&again) < unbuilt(&old) {
                old = again;
                is_unsure = false;
                std::mem::swap(&mut pair.old, &mut side);
            }
            pair.spent = side.time;
        }
        pair.seen = old
            .into_iter()
            .zip(new)
            .map(|(old, new)| {
                // A name that the old code does not have is not missing for want of a network.
                let is_unsure =
                    is_unsure && !matches!(old, Observed::Passed | Observed::Skipped | Observed::Unbuilt(_));
                Seen { old, new, is_unsure }
            })
            .collect();
        Ok(pair)
    }

    /// Returns what each test says, after another run of those that claim to prove the change.
    pub(super) async fn verdicts(&mut self) -> Result<Vec<(ProofVerdict, Option<String>)>, ProofError> {
        self.old.limit(self.old.time * TIMES + EXTRA);
        self.new.limit(self.new.time * TIMES + EXTRA);
        let first = self.seen.clone();
        let claims = self.at(Seen::proves);
        // What does not build does not do so the next time either.
        let old =
            self.at(|seen| seen.is_unsure || seen.proves() && !matches!(seen.old, Observed::Unbuilt(_)));
        let network = if self.together == Together::InTurn { Network::Empty } else { Network::Configured };
        let (again_old, again_new) = self.observe((&old, Network::Configured), (&claims, network)).await?;
        for (at, seen) in old.into_iter().zip(again_old) {
            self.seen[at].old = seen;
        }
        for (at, seen) in claims.into_iter().zip(again_new) {
            self.seen[at].new = seen;
        }
        let mut compared: Vec<Option<(Seen, Seen)>> = first
            .iter()
            .zip(&self.seen)
            .map(|(first, again)| (first.proves() && !again.proves()).then(|| (first.clone(), again.clone())))
            .collect();
        if self.together == Together::InTurn {
            self.settle(&first, &mut compared).await?;
        }
        let told = |(seen, compared): (&Seen, &Option<(Seen, Seen)>)| match compared {
            Some((first, again)) => (ProofVerdict::Flaky, Some(change_of_mind(first, again))),
            None => verdict(&seen.old, &seen.new),
        };
        Ok(self.seen.iter().zip(&compared).map(told).collect())
    }

    /// Runs the tests once more, one state after the other and both as configured, of which it is not known whether they changed
    /// their minds, or what a network has to do with it.
    async fn settle(
        &mut self,
        first: &[Seen],
        compared: &mut [Option<(Seen, Seen)>],
    ) -> Result<(), ProofError> {
        let at: Vec<usize> = (0..self.seen.len())
            .filter(|at| compared[*at].is_some() || self.seen[*at].proves() && !first[*at].proves())
            .collect();
        if at.is_empty() {
            return Ok(());
        }
        let tests = self.chosen(&at);
        let old = observe(&mut self.old, &tests, self.on_old, Network::Configured).await?;
        let new = observe(&mut self.new, &tests, self.on_new, Network::Configured).await?;
        // The one run that differs may have been that without a network, so it says nothing of two others that are alike.
        let last = observe(&mut self.new, &tests, self.on_new, Network::Configured).await?;
        for (at, ((old, new), last)) in self.indices(&at).into_iter().zip(old.into_iter().zip(new).zip(last))
        {
            // These two were seen on the same network.
            let before =
                Seen { old: self.seen[at].old.clone(), new: first[at].new.clone(), is_unsure: false };
            let new = if before.new.is_like(&new) { last } else { new };
            let now = Seen { old, new, is_unsure: false };
            let is_same = before.old.is_like(&now.old) && before.new.is_like(&now.new);
            compared[at] = (!is_same).then(|| (before, now.clone()));
            self.seen[at] = now;
        }
        Ok(())
    }

    /// Runs tests in both states, at the same time where that is safe.
    async fn observe(
        &mut self,
        (old, old_network): (&[usize], Network),
        (new, new_network): (&[usize], Network),
    ) -> Result<(Vec<Observed>, Vec<Observed>), ProofError> {
        let (of_old, of_new) = (self.chosen(old), self.chosen(new));
        let on_old = observe(&mut self.old, &of_old, self.on_old, old_network);
        let on_new = observe(&mut self.new, &of_new, self.on_new, new_network);
        let (seen_new, seen_old) = if self.together == Together::No {
            // An old state is not looked at if the new one cannot be run.
            let seen_new = on_new.await?;
            (seen_new, on_old.await?)
        } else {
            let (seen_new, seen_old) = tokio::join!(on_new, on_old);
            (seen_new?, seen_old?)
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
    fn picked(&self, at: &[usize], seen: Vec<Observed>) -> Vec<Observed> {
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
    network: Network,
) -> Result<Vec<Observed>, ProofError> {
    if tests.is_empty() { Ok(Vec::new()) } else { Box::pin(side.observe(tests, state, network)).await }
}

/// Returns on which code a test did not do the same twice.
fn change_of_mind(first: &Seen, again: &Seen) -> String {
    let pairs = [("old", &first.old, &again.old), ("new", &first.new, &again.new)];
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
