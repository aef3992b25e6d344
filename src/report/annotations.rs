//! Annotations: what must not be overlooked, as workflow commands to the Actions runner.

use sanitize::untrusted::{command_data, visible};

use super::{BatchReport, Diagnostic, RunReport, TaskEnd, task_line};
use crate::event::{GateVerdict, NoticeLevel};

/// Maximum number of annotations of one kind: the runner shows ten for each step and silently drops the
/// rest.
const MAX_OF_A_KIND: usize = 10;

/// An annotation before it is written as a command.
struct Annotation {
    title: String,
    message: String,
    /// The path of a file and a line in it.
    place: Option<(String, u32)>,
}

impl Annotation {
    fn new(title: impl Into<String>, message: impl Into<String>) -> Self {
        Self { title: title.into(), message: message.into(), place: None }
    }
}

/// Returns workflow commands, each of one line, for the tasks of a batch that need attention.
pub fn batch_annotations(report: &BatchReport) -> Vec<String> {
    let of = |ends: &[TaskEnd]| {
        let tasks = report.tasks.iter().filter(|task| ends.contains(&task.end));
        tasks.map(|task| Annotation::new(format!("Task {}", task.id), task_line(task))).collect()
    };
    let (errors, warnings) = (of(&[TaskEnd::Failed, TaskEnd::Lost]), of(&[TaskEnd::Partial]));
    [("error", errors), ("warning", warnings)]
        .into_iter()
        .flat_map(|(kind, list)| commands(kind, list))
        .collect()
}

/// Returns workflow commands, each of one line, for everything in a report that needs attention, errors
/// first. `remarks` become annotations on lines of files.
pub fn annotations(report: &RunReport, remarks: &[Diagnostic]) -> Vec<String> {
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    if let Some(plan) = report.plan.as_ref().filter(|plan| !plan.differences.is_empty()) {
        let files: Vec<String> = plan.differences.iter().map(ToString::to_string).collect();
        errors.push(Annotation::new("Dry run changed the checkout", files.join("\n")));
    }
    for gate in report.gates.iter().filter(|gate| !gate.passed) {
        let list = if gate.fails_run() { &mut errors } else { &mut warnings };
        if gate.verdict == GateVerdict::NotRun {
            continue;
        }
        let output =
            if gate.output.is_empty() { "it printed nothing".to_owned() } else { gate.output.clone() };
        list.push(Annotation::new(format!("Gate {} {}", gate.name, gate.told()), output));
    }
    for gate in report.gates.iter().filter(|gate| gate.verdict == GateVerdict::Flaky) {
        warnings.push(Annotation::new(format!("Gate {} is flaky", gate.name), gate.told()));
    }
    for gate in &report.gates {
        let Some(tests) = gate.lost_tests() else { continue };
        let lists = tests
            .lost_lists()
            .map(|(what, list)| format!("{} {what}: {}", list.count, list.names.join(", ")));
        let message: Vec<String> = tests.unclear.iter().cloned().chain(lists).collect();
        let title = format!("Gate {} passes although {}", gate.name, tests.told_losses("the run"));
        warnings.push(Annotation::new(title, message.join("\n")));
    }
    for notice in &report.notices {
        let list = match notice.level {
            NoticeLevel::Error => &mut errors,
            NoticeLevel::Warning => &mut warnings,
            NoticeLevel::Info => continue,
        };
        list.push(Annotation::new("architect-ci", notice.message.clone()));
    }
    for block in report.guardrails.iter().filter(|block| block.path.is_none()) {
        warnings.push(Annotation::new(format!("Guardrail stopped {}", block.tool), block.reason.clone()));
    }
    for remark in remarks {
        let list = if remark.error { &mut errors } else { &mut warnings };
        let mut annotation = Annotation::new(remark.title.clone(), remark.message.clone());
        annotation.place = Some((remark.path.clone(), remark.line));
        list.push(annotation);
    }
    [("error", errors), ("warning", warnings)]
        .into_iter()
        .flat_map(|(kind, list)| commands(kind, list))
        .collect()
}

/// Formats annotations as commands; beyond the limit, the last one counts the rest.
fn commands(kind: &str, mut list: Vec<Annotation>) -> Vec<String> {
    if list.len() > MAX_OF_A_KIND {
        let more = list.len() - (MAX_OF_A_KIND - 1);
        list.truncate(MAX_OF_A_KIND - 1);
        let told = format!("{more} more {kind}s; see the step summary or report.md");
        list.push(Annotation::new("architect-ci", told));
    }
    list.into_iter()
        .map(|Annotation { title, message, place }| {
            let place = place
                .map_or_else(String::new, |(path, line)| format!("file={},line={line},", property(&path)));
            format!("::{kind} {place}title={}::{}", property(&title), data(&message))
        })
        .collect()
}

fn data(text: &str) -> String {
    command_data(&visible(text))
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
