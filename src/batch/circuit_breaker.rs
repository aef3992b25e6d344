//! Circuit breaker: where every task of a model fails for the same reason, the others are not paid for.

use std::collections::BTreeMap;

use super::manifest::Task;
use crate::event::{Exit, StopReason};
use crate::report::TaskReport;

/// Number of tasks in a row whose model or key was refused, after which no further one is begun.
const REFUSED: u32 = 3;

/// Number of tasks in a row that got no answer. A provider that is down for a moment fails all tasks at work.
const UNANSWERED: u32 = 12;

/// Failures in a row, by model.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    by_model: BTreeMap<TaskModel, Failures>,
}

/// Model of a task as the batch file names it; `None` is the model of the configuration.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TaskModel(Option<String>);

#[derive(Debug, Default)]
struct Failures {
    refused: u32,
    unanswered: u32,
    /// Whether a result could not be delivered for lack of a permission, which the next one would lack as well.
    is_forbidden: bool,
}

impl CircuitBreaker {
    /// Records how a task ended.
    pub(super) fn observe(&mut self, task: &Task, report: &TaskReport) {
        let Some(model) = model(task) else { return };
        let failures = self.by_model.entry(model).or_default();
        let is_permission = report.exit_code == Some(Exit::Authentication.code());
        match report.stop_reason {
            Some(StopReason::NotPermitted) => failures.is_forbidden = true,
            Some(StopReason::LlmUnknown) => failures.refused += 1,
            _ if is_permission => failures.refused += 1,
            Some(StopReason::LlmError) => failures.unanswered += 1,
            _ => *failures = Failures::default(),
        }
    }

    /// Returns why a task is not begun, if its model has failed too many others.
    pub(super) fn refuses(&self, task: &Task) -> Option<String> {
        let failures = self.by_model.get(&model(task)?)?;
        if failures.is_forbidden {
            let message = "not started: the job lacks a permission to deliver what another task has done; see its report";
            return Some(message.to_owned());
        }
        if failures.refused >= REFUSED {
            return Some(format!(
                "not started: the model or its key was refused for {} tasks in a row; see their reports",
                failures.refused
            ));
        }
        (failures.unanswered >= UNANSWERED).then(|| {
            format!(
                "not started: the model did not answer {} tasks in a row; see their reports, and continue with \
                 `--resume` when it does",
                failures.unanswered
            )
        })
    }
}

/// Returns the model of a task; `None` if a recipe takes its place.
fn model(task: &Task) -> Option<TaskModel> {
    task.entry.recipe.is_none().then(|| TaskModel(task.entry.model.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Entry;
    use crate::event::Status;
    use crate::report::TaskEnd;

    fn task(model: &str) -> Task {
        let entry = Entry { model: Some(model.to_owned()), ..Entry::default() };
        Task { id: "t".to_owned(), entry, size: 1 }
    }

    fn report(reason: StopReason) -> TaskReport {
        let clause = reason.clause();
        let end = if clause.status == Status::Success { TaskEnd::Success } else { TaskEnd::Failed };
        let report = TaskReport::without_run("t", "t", end, "");
        TaskReport { exit_code: Some(clause.exit.code()), stop_reason: Some(reason), ..report }
    }

    #[test]
    fn a_refused_key_stops_the_tasks_of_its_model_alone() {
        let (one, other) = (task("a::x"), task("b::y"));
        let refused = report(StopReason::LlmUnauthorized);
        let mut breaker = CircuitBreaker::default();
        breaker.observe(&one, &refused);
        breaker.observe(&one, &refused);
        assert_eq!(breaker.refuses(&one), None);
        // One that got through proves the key.
        breaker.observe(&one, &report(StopReason::LlmDone));
        (0..REFUSED).for_each(|_| breaker.observe(&one, &refused));
        assert!(breaker.refuses(&one).is_some_and(|why| why.contains("refused for 3 tasks in a row")));
        assert_eq!(breaker.refuses(&other), None);
        let recipe = Entry { recipe: Some("r.yml".to_owned()), ..Entry::default() };
        assert_eq!(breaker.refuses(&Task { entry: recipe, ..one }), None);
    }

    #[test]
    fn a_missing_permission_stops_at_once_what_would_be_paid_for() {
        let one = task("a::x");
        let mut breaker = CircuitBreaker::default();
        breaker.observe(&one, &report(StopReason::NotPermitted));
        assert!(breaker.refuses(&one).is_some_and(|why| why.contains("lacks a permission")));
    }

    #[test]
    fn an_unknown_model_stops_its_tasks() {
        let one = task("a::misspelled");
        let mut breaker = CircuitBreaker::default();
        (0..REFUSED).for_each(|_| breaker.observe(&one, &report(StopReason::LlmUnknown)));
        assert!(breaker.refuses(&one).is_some_and(|why| why.contains("the model or its key")));
    }

    #[test]
    fn a_provider_that_is_down_stops_more_slowly() {
        let one = task("a::x");
        let mut breaker = CircuitBreaker::default();
        for count in 1..=UNANSWERED {
            breaker.observe(&one, &report(StopReason::LlmError));
            assert_eq!(breaker.refuses(&one).is_some(), count == UNANSWERED, "{count}");
        }
        // What fails for its own sake is no sign of that.
        breaker.observe(&one, &report(StopReason::GatesFailed));
        assert_eq!(breaker.refuses(&one), None);
    }
}
