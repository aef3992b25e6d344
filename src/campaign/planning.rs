//! Planning of targets: what is split is planned once, however many of its parts are asked for.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;

use super::parts::{KnownPart, KnownParts};
use super::reconcile::{Step, StepOutcome};
use super::session::Session;
use super::state::AttemptOutcome;
use super::target::TargetId;
use crate::github::{Observed, PullState};
use crate::run::Signal;

/// Number of steps after which the state is saved, about.
const STEPS_AT_ONCE: usize = 25;

/// Returns the first steps, with all plans of parts that have one of theirs in common: whoever makes that has to know of all.
pub(super) fn first_steps<'a>(steps: impl Iterator<Item = &'a Step>) -> Vec<Step> {
    let (mut first, mut planned) = (Vec::new(), BTreeSet::new());
    for step in steps {
        let whole = matches!(step, Step::Plan(..)).then(|| step.target().whole());
        if first.len() < STEPS_AT_ONCE || whole.as_ref().is_some_and(|whole| planned.contains(whole)) {
            first.push(step.clone());
            planned.extend(whole);
        }
    }
    first
}

/// Returns the outcome of each step that a plan was made for, and those of parts that are new.
fn outcomes(
    steps: Vec<Step>,
    planned: Result<BTreeMap<TargetId, StepOutcome>, StepOutcome>,
) -> Vec<(Step, StepOutcome)> {
    let mut planned = match planned {
        Ok(planned) => planned,
        Err(failed) => return steps.into_iter().map(|step| (step, failed.clone())).collect(),
    };
    let of = |step: Step| {
        // Nothing is left to change of a part without files.
        let done = planned.remove(step.target()).unwrap_or(StepOutcome::Nothing);
        (step, done)
    };
    let mut all: Vec<(Step, StepOutcome)> = steps.into_iter().map(of).collect();
    all.extend(planned.into_iter().map(|(id, done)| (Step::Plan(id, None), done)));
    all
}

/// Returns the pull request that has files of a target, unless its change is merged and stays.
fn pull_with_files(observed: Option<&Observed>, past: u64) -> Option<u64> {
    let pull = observed?.pull(past)?;
    (pull.state != PullState::Merged || pull.is_reverted).then_some(pull.number)
}

impl Session<'_> {
    /// Adds plans of the parts that have a plan in common with some steps, and no pull request yet: their files may belong to others
    /// by now.
    pub(super) fn with_undelivered(&self, mut steps: Vec<Step>) -> Vec<Step> {
        let asked: BTreeSet<TargetId> = steps.iter().map(|step| step.target().clone()).collect();
        let wholes: BTreeSet<TargetId> = asked.iter().map(TargetId::whole).collect();
        for (id, record) in wholes.iter().flat_map(|whole| self.state.parts_of(whole)) {
            let can_change = matches!(
                record.outcome,
                AttemptOutcome::New | AttemptOutcome::Planned(_) | AttemptOutcome::Nothing
            );
            let observed = self.observed.get(id).filter(|_| !asked.contains(id));
            let has_none = observed.is_some_and(|observed| observed.pull(record.past).is_none());
            if can_change && has_none && record.wave.is_some() && !record.withdrawn {
                steps.push(Step::Plan(id.clone(), None));
            }
        }
        steps
    }

    /// Makes plans, some at a time. Parts that nobody knew of are among the outcomes.
    pub(super) async fn plan_all(&self, steps: &[Step], signal: &Signal) -> Vec<(Step, StepOutcome)> {
        let mut wholes: BTreeMap<TargetId, Vec<Step>> = BTreeMap::new();
        for step in steps {
            wholes.entry(step.target().whole()).or_default().push(step.clone());
        }
        let one = |(whole, steps): (TargetId, Vec<Step>)| async move {
            if signal.is_set() {
                return Vec::new();
            }
            let observed = steps.first().and_then(|step| self.observed.get(step.target()));
            let planned =
                self.request.plan(&whole, observed, &self.known_parts(&whole, &steps), signal).await;
            // Interrupted work starts again.
            if signal.is_set() { Vec::new() } else { outcomes(steps, planned) }
        };
        let all = futures::stream::iter(wholes.into_iter().map(one)).buffer_unordered(self.request.jobs);
        all.flat_map(futures::stream::iter).collect().await
    }

    fn known_parts(&self, whole: &TargetId, steps: &[Step]) -> KnownParts {
        let asked: BTreeSet<&TargetId> = steps.iter().map(Step::target).collect();
        let known = |(id, record): (&TargetId, &super::state::Record)| {
            let pull = pull_with_files(self.observed.get(id), record.past);
            (id.part.clone(), KnownPart { is_asked_for: asked.contains(id), pull })
        };
        KnownParts(self.state.parts_of(whole).map(known).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_of_parts_are_made_together() {
        let id = |text: String| TargetId::try_from(text).expect("a target");
        let parts = (0..40).map(|at| Step::Plan(id(format!("octo/mono@p{at}")), None));
        let others = (0..40).map(|at| Step::Plan(id(format!("octo/r{at}")), None));
        let steps: Vec<Step> = parts.chain(others).collect();
        assert_eq!(first_steps(steps.iter()), steps[..40]);
        assert_eq!(first_steps(steps[40..].iter()), steps[40..40 + STEPS_AT_ONCE]);
        // A few of them are told apart by something else.
        let merges: Vec<Step> = (0..40).map(|at| Step::Close(id(format!("octo/mono@p{at}")), at)).collect();
        assert_eq!(first_steps(merges.iter()).len(), STEPS_AT_ONCE);
    }
}
