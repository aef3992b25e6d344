//! Selects from the outputs of gates what the agent reads: each error once.

use std::collections::BTreeSet;

use crate::command::failure_lines;
use crate::event::NamedTests;
use crate::gates::GateOutcome;
use crate::tool::OutputLimits;

/// Most tests of a list that the agent is told of.
const MAX_TESTS: usize = 20;

/// Gates that have been told, with their errors.
#[derive(Default)]
pub(super) struct ToldOnce<'a>(Vec<(&'a str, BTreeSet<&'a str>)>);

impl<'a> ToldOnce<'a> {
    /// Returns what is shown of a gate's output, or which gate before it had the same errors.
    pub(super) fn of(&mut self, gate: &'a GateOutcome, limits: &OutputLimits) -> String {
        let errors: BTreeSet<&str> = failure_lines(&gate.output).map(str::trim).collect();
        let twin = self.0.iter().find(|(_, others)| !errors.is_empty() && errors.is_subset(others));
        let output = match twin {
            Some((name, _)) => format!("(the same errors as {name})"),
            None if gate.output.is_empty() => "(it printed nothing)".to_owned(),
            None => limits.shown_of(&gate.output, gate.cut_from),
        };
        self.0.push((&gate.record.name, errors));
        output
    }
}

/// Returns the first tests of a list, and how many more there are.
pub(super) fn named(list: &NamedTests) -> String {
    list.first(MAX_TESTS, str::to_owned)
}

/// Returns what gates said. Errors that another gate has told already are not told twice.
pub(super) fn outputs(failed: &[&GateOutcome], limits: &OutputLimits) -> String {
    let mut text = String::new();
    let mut once = ToldOnce::default();
    let limits = limits.shared_by(failed.len());
    for gate in failed {
        let output = once.of(gate, &limits);
        let gate = &gate.record;
        text += &format!("\n{} (`{}`): {}\n{output}\n", gate.name, gate.command, gate.ending);
        if let Some(tests) = gate.tests.as_ref().filter(|tests| !tests.newly_failing.is_empty()) {
            let newly = named(&tests.newly_failing);
            text += &format!("(failing now, and not before your change: {newly}");
            if !tests.still_failing.is_empty() {
                text += &format!("; failing as before: {}", named(&tests.still_failing));
            }
            text += ")\n";
        }
        if let Some(tests) = gate.tests.as_ref().filter(|tests| tests.has_lost()) {
            let lists = [("gone", &tests.gone), ("newly skipped", &tests.newly_skipped)];
            let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
            let lists: Vec<String> = lists.map(|(what, list)| format!("{what}: {}", named(list))).collect();
            let all: Vec<&str> = lists.iter().chain(&tests.unclear).map(String::as_str).collect();
            text += &format!("(of the tests that ran before your change: {})\n", all.join("; "));
        }
    }
    text
}
