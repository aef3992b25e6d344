//! The sticky comment of a run that is still at work.

use sanitize::untrusted::code;

use super::figures::{cut, plural};
use super::footer::run_link;
use crate::event::{Activity, Event, Line, TodoItem, TodoStatus};

/// The progress of a run, as its comment shows it.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The latest events, one line each, already neutralized.
    recent: Vec<String>,
    /// The agent's own list, one line each, neutralized.
    todo: Vec<String>,
    answers: usize,
    calls: usize,
}

impl Progress {
    /// Maximum number of lines shown.
    const RECENT: usize = 6;
    /// Maximum number of entries of the agent's list that are shown.
    const ITEMS: usize = 20;

    /// Takes an event into account. Returns whether the comment has changed.
    pub fn observe(&mut self, line: &Line) -> bool {
        let told = match &line.event {
            Event::Reply(_) => {
                self.answers += 1;
                return true;
            }
            Event::Call(call) => {
                self.calls += 1;
                let target =
                    call.effects.target().map_or(String::new(), |target| format!(" {}", code(&cut(target))));
                let failed = if call.success { "" } else { " ✗" };
                format!("step {}: {}{target}{failed}", call.step, code(&call.tool))
            }
            Event::Gate(gate) => {
                format!("gate {} {}", code(&gate.name), gate.verdict)
            }
            Event::Todo(list) => {
                let line = |item: &TodoItem| {
                    let (mark, doing) = match item.status {
                        TodoStatus::Done => ("x", ""),
                        TodoStatus::Doing => (" ", " ⏳"),
                        TodoStatus::Open => (" ", ""),
                    };
                    format!("- [{mark}] {}{doing}", code(&cut(&item.task)))
                };
                self.todo = list.items.iter().take(Self::ITEMS).map(line).collect();
                return true;
            }
            Event::Subagent(agent) => format!("sub-agent {} {}", code(&agent.name), agent.status),
            Event::Review(review) => {
                format!("review: {}", plural(review.findings.len(), "finding", "findings"))
            }
            Event::Proof(record) => record.summary(),
            Event::Mutation(record) => record.summary(),
            _ => return false,
        };
        self.recent.push(told);
        if self.recent.len() > Self::RECENT {
            self.recent.remove(0);
        }
        true
    }

    /// Returns the comment as it is now; it begins with the `hidden` lines, by which it is found again. `since` is the
    /// time at which the run began, as people read it, and `ongoing` what it waits for, with such a time: a comment that
    /// nobody updates any more shows by them that the run is dead.
    pub fn comment(
        &self,
        hidden: &str,
        task: &str,
        (since, ongoing): (&str, &[(Activity, String)]),
        run_url: Option<&str>,
    ) -> String {
        let first = task.trim().lines().next().unwrap_or_default();
        let list: String = self.recent.iter().map(|line| format!("- {line}\n")).collect();
        let todo: String = self.todo.iter().map(|line| format!("{line}\n")).collect();
        let todo = if todo.is_empty() { todo } else { format!("{todo}\n") };
        let link = run_url.and_then(run_link).map_or(String::new(), |link| format!("\n<sub>{link}</sub>\n"));
        let waits: Vec<String> =
            ongoing.iter().map(|(activity, since)| format!("{} since {since}", awaited(activity))).collect();
        let waits =
            if waits.is_empty() { String::new() } else { format!("Waiting for {}.\n\n", waits.join(", ")) };
        format!(
            "{hidden}### ⏳ Working since {since}: {}, {}\n\n{waits}> **Task:** {}\n\n{todo}{list}{link}",
            plural(self.answers, "answer", "answers"),
            plural(self.calls, "call", "calls"),
            code(&cut(first))
        )
    }
}

/// Renders what a run waits for.
fn awaited(activity: &Activity) -> String {
    match activity {
        Activity::Model { .. } => "the model".to_owned(),
        Activity::Call { tool, target: None } => code(tool),
        Activity::Call { tool, target: Some(target) } => format!("{} {}", code(tool), code(&cut(target))),
        Activity::Gate { name, command, is_on_base } => {
            let on_base = if *is_on_base { " on the state before the run" } else { "" };
            format!("gate {} ({}){on_base}", code(name), code(&cut(command)))
        }
        Activity::Tests => "the tests of the change".to_owned(),
    }
}
