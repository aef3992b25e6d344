//! Annotations: what must not be overlooked, as commands to the Actions runner.

use super::RunReport;
use super::untrusted::visible;
use crate::event::NoticeLevel;

/// The runner shows ten of a kind and step and drops the rest without a word.
const MAX_OF_A_KIND: usize = 10;

/// The commands, one a line; the most important first.
pub fn annotations(report: &RunReport) -> Vec<String> {
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    if let Some(plan) = report.plan.as_ref().filter(|plan| !plan.differences.is_empty()) {
        let files: Vec<String> = plan.differences.iter().map(ToString::to_string).collect();
        errors.push(("Dry run changed the checkout".to_owned(), files.join("\n")));
    }
    for gate in report.gates.iter().filter(|gate| !gate.passed) {
        let list = if gate.required { &mut errors } else { &mut warnings };
        list.push((format!("Gate {} failed (exit {})", gate.name, gate.exit_code), gate.output.clone()));
    }
    for notice in &report.notices {
        match notice.level {
            NoticeLevel::Error => errors.push(("architect-ci".to_owned(), notice.message.clone())),
            NoticeLevel::Warning => warnings.push(("architect-ci".to_owned(), notice.message.clone())),
            NoticeLevel::Info => {}
        }
    }
    for block in &report.guardrails {
        warnings.push((format!("Guardrail stopped {}", block.tool), block.reason.clone()));
    }
    [("error", errors), ("warning", warnings)]
        .into_iter()
        .flat_map(|(kind, list)| commands(kind, list))
        .collect()
}

fn commands(kind: &str, mut list: Vec<(String, String)>) -> Vec<String> {
    if list.len() > MAX_OF_A_KIND {
        let more = list.len() - (MAX_OF_A_KIND - 1);
        list.truncate(MAX_OF_A_KIND - 1);
        list.push((
            "architect-ci".to_owned(),
            format!("{more} more {kind}s; see the step summary or report.md"),
        ));
    }
    list.into_iter()
        .map(|(title, message)| format!("::{kind} title={}::{}", property(&title), data(&message)))
        .collect()
}

/// As the runner's own toolkit escapes a message.
fn data(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
