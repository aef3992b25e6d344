//! Workflows of GitHub: when they run, and which of their checks run and count.

use std::collections::BTreeMap;

use super::commands::checks;
use super::shell::is_unreached;
use super::tree::{Node, read};
use crate::files::Format;
use crate::finding::{Finding, Kind};

/// Names of branches that most changes go to.
const MAIN: &[&str] = &["main", "master", "trunk", "develop", "dev", "default", "$default-branch", "*", "**"];

/// How far a check runs and counts; the less, the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// It cannot run, or its failure does not count.
    Never,
    /// It runs under a condition.
    Sometimes,
    Always,
}

/// Returns how a workflow runs less often than before, or which of its checks do.
pub(super) fn compare(path: &str, before: &str, after: &str) -> Vec<Finding> {
    if !path.contains(".github/workflows/") || checks(before, Format::Yaml).is_empty() {
        return Vec::new();
    }
    let (old, new) = (read(before), read(after));
    let mut findings: Vec<Finding> = triggers(&old, &new)
        .into_iter()
        .map(|(line, kind, message)| Finding::new(path, line, kind, message))
        .collect();
    let (known, now) = (reaches(&old), reaches(&new));
    for (tool, (reach, line)) in now {
        let Some((was, _)) = known.get(&tool).filter(|(was, _)| *was > reach) else { continue };
        let (kind, what) = match (reach, was) {
            (Reach::Never, _) => (Kind::WeakerCheck, "never runs, or its failure no longer counts"),
            _ => (Kind::LooserRule, "runs only under a condition"),
        };
        findings.push(Finding::new(path, line, kind, format!("`{tool}` {what}")));
    }
    findings
}

/// Returns whether a workflow runs before changes are merged, or is called by one that may.
pub(super) fn starts_with_changes(text: &str) -> bool {
    let root = read(text);
    let on = root.below.iter().find(|node| matches!(node.key.as_str(), "on" | "true"));
    on.is_none_or(|on| {
        let triggers = Triggers { events: on.words(), on };
        triggers.sees_changes() || triggers.has("push") || triggers.has("workflow_call")
    })
}

/// Returns the checks of a workflow that never run, or whose failure does not count, with the lines of their steps.
pub(super) fn unreached(text: &str) -> Vec<(String, usize)> {
    let all = reaches(&read(text)).into_iter();
    all.filter(|(_, (reach, _))| *reach == Reach::Never).map(|(tool, (_, line))| (tool, line)).collect()
}

/// Returns how far the checks of a workflow run, with the line of the step.
fn reaches(root: &Node) -> BTreeMap<String, (Reach, usize)> {
    let mut found: BTreeMap<String, (Reach, usize)> = BTreeMap::new();
    let jobs = root.get("jobs").map_or(&[][..], |jobs| &jobs.below);
    let shell_of = |node: &Node| {
        let run = node.get("defaults").and_then(|defaults| defaults.get("run"));
        run.and_then(|run| run.text("shell")).map(str::to_owned)
    };
    let is_off = |name: &str| jobs.iter().any(|job| job.key == name && condition(job) == Reach::Never);
    for job in jobs {
        let mut of_job = condition(job);
        // A job that needs one that is skipped is skipped as well, unless it has a condition of its own.
        let needs = job.get("needs").map(Node::words).unwrap_or_default();
        if job.get("if").is_none() && needs.iter().any(|name| is_off(name)) {
            of_job = Reach::Never;
        }
        for step in job.get("steps").map_or(&[][..], |steps| &steps.below) {
            let Some(run) = step.get("run") else { continue };
            let shell =
                step.text("shell").map(str::to_owned).or_else(|| shell_of(job)).or_else(|| shell_of(root));
            let is_careless = shell.is_some_and(|shell| is_careless(&shell));
            let reach = if is_careless { Reach::Never } else { of_job.min(condition(step)) };
            for check in checks(&run.value, Format::Text) {
                let reach = if is_unreached(&run.value, check.line) { Reach::Never } else { reach };
                let entry = found.entry(check.tool).or_insert((reach, step.line));
                if reach > entry.0 {
                    *entry = (reach, step.line);
                }
            }
        }
    }
    found
}

/// Returns how far a job or step runs and counts, by its own settings.
fn condition(node: &Node) -> Reach {
    if node.text("continue-on-error").is_some_and(|value| expression(value) == "true") {
        return Reach::Never;
    }
    let Some(text) = node.text("if") else { return Reach::Always };
    let text = expression(text);
    if is_never(&text) {
        return Reach::Never;
    }
    let is_plain = text.split("||").any(|part| {
        matches!(
            part.trim(),
            "always()" | "success()" | "!cancelled()" | "! cancelled()" | "true" | "!failure()"
        )
    });
    if is_plain { Reach::Always } else { Reach::Sometimes }
}

fn expression(text: &str) -> String {
    let text = text.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote))
    });
    quoted.unwrap_or(text).trim_start_matches("${{").trim_end_matches("}}").trim().to_owned()
}

/// Returns whether a condition does not hold in any run in which nothing has failed so far.
fn is_never(text: &str) -> bool {
    let is_literal = |side: &str| {
        matches!(side, "true" | "false" | "null")
            || side.parse::<f64>().is_ok()
            || side.len() > 1
                && side.starts_with('\'')
                && side.ends_with('\'')
                && !side[1..side.len() - 1].contains('\'')
    };
    let is_false = |part: &str| {
        let part = part.trim().trim_matches(['(', ' ']).trim();
        let part = if part.ends_with("()") { part } else { part.trim_end_matches([')', ' ']) };
        let sides = |operator: &str| part.split_once(operator).map(|(one, other)| (one.trim(), other.trim()));
        matches!(
            part,
            "" | "false"
                | "0"
                | "''"
                | "null"
                | "!true"
                | "! true"
                | "failure("
                | "failure()"
                | "cancelled("
                | "cancelled()"
                | "!success()"
        ) || sides("==").is_some_and(|(one, other)| is_literal(one) && is_literal(other) && one != other)
            || sides("!=").is_some_and(|(one, other)| one == other)
            || part.contains("'never'")
    };
    text.split("||").all(|part| part.split("&&").any(is_false))
}

/// Returns whether a shell goes on after a command that fails, or runs nothing.
fn is_careless(shell: &str) -> bool {
    let shell = shell.trim_matches(['"', '\'']);
    let mut words = shell.split_whitespace();
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or(program);
    let stops = shell.split_whitespace().any(|word| word.starts_with('-') && word.contains('e'));
    match program {
        "true" | "echo" | ":" | "cat" | "test" => true,
        "bash" | "sh" | "zsh" | "dash" => shell.contains("{0}") && !stops,
        _ => false,
    }
}

/// Events of one workflow.
struct Triggers<'a> {
    events: Vec<String>,
    on: &'a Node,
}

impl Triggers<'_> {
    fn has(&self, event: &str) -> bool {
        self.events.iter().any(|other| other == event)
    }

    /// Returns the words of a filter of an event.
    fn filter(&self, event: &str, filter: &str) -> Option<Vec<String>> {
        self.on.get(event)?.get(filter).map(Node::words)
    }

    /// Returns whether changes are tested before they are merged.
    fn sees_changes(&self) -> bool {
        ["pull_request", "pull_request_target", "merge_group"].iter().any(|event| self.has(event))
            || self.has("push")
                && self
                    .filter("push", "branches")
                    .is_none_or(|names| names.iter().any(|name| name.starts_with('*')))
    }
}

/// Returns how events and their filters let a workflow run in fewer cases.
fn triggers(old: &Node, new: &Node) -> Vec<(usize, Kind, String)> {
    fn of(root: &Node) -> Option<Triggers<'_>> {
        let on = root.below.iter().find(|node| matches!(node.key.as_str(), "on" | "true"))?;
        Some(Triggers { events: on.words(), on })
    }
    let (Some(old), Some(new)) = (of(old), of(new)) else { return Vec::new() };
    let mut found = Vec::new();
    let line = new.on.line;
    let runs_by_itself = |triggers: &Triggers<'_>| {
        triggers.sees_changes() || triggers.has("push") || triggers.has("workflow_call")
    };
    if runs_by_itself(&old) && !runs_by_itself(&new) {
        found.push((line, Kind::WeakerCheck, "changes no longer start this workflow".to_owned()));
        return found;
    }
    if old.sees_changes() && !new.sees_changes() && !new.has("workflow_call") {
        found.push((
            line,
            Kind::WeakerCheck,
            "this workflow no longer runs before changes are merged".to_owned(),
        ));
    }
    for event in ["pull_request", "pull_request_target", "push"] {
        if !old.has(event) || !new.has(event) {
            continue;
        }
        // What is pushed has been tested before, if pull requests are.
        let is_second = event == "push" && new.has("pull_request");
        let at = new.on.get(event).map_or(line, |node| node.line);
        let (was, now) = (old.filter(event, "branches"), new.filter(event, "branches"));
        let names_main = |names: &[String]| names.iter().any(|name| MAIN.contains(&name.as_str()));
        let gone = now.as_ref().is_some_and(|now| match &was {
            Some(was) if is_second => !now.iter().any(|name| was.contains(name)) && !names_main(now),
            Some(was) => {
                was.iter().any(|name| !now.contains(name) && !MAIN.contains(&name.as_str()))
                    || !names_main(now) && was != now
            }
            None => !names_main(now),
        });
        if gone {
            found.push((at, Kind::WeakerCheck, format!("`{event}` starts this workflow on fewer branches")));
        }
        let types = new.filter(event, "types").filter(|_| event != "push");
        let lacks = |types: &Vec<String>| {
            ["opened", "synchronize"].iter().any(|kind| !types.iter().any(|other| other == kind))
        };
        if types.as_ref().is_some_and(lacks) && !old.filter(event, "types").as_ref().is_some_and(lacks) {
            found.push((
                at,
                Kind::WeakerCheck,
                format!("`{event}` starts this workflow for fewer activities"),
            ));
        }
        let new_in = |filter: &str| -> Vec<String> {
            let known = old.filter(event, filter).unwrap_or_default();
            new.filter(event, filter)
                .unwrap_or_default()
                .into_iter()
                .filter(|word| !known.contains(word))
                .collect()
        };
        let ignored = new_in("branches-ignore")
            .into_iter()
            .chain(new_in("paths-ignore").into_iter().filter(|path| !is_prose(path)));
        if let Some(first) = ignored.into_iter().next().filter(|_| !is_second) {
            found.push((
                at,
                Kind::WeakerCheck,
                format!("`{event}` no longer starts this workflow for `{first}`"),
            ));
        }
        let has_paths = |triggers: &Triggers<'_>| triggers.filter(event, "paths").is_some();
        if has_paths(&new) && !is_second {
            let lost = old.filter(event, "paths").is_none_or(|was| {
                let now = new.filter(event, "paths").unwrap_or_default();
                was.iter().any(|path| !now.contains(path) && !is_prose(path))
            });
            if !has_paths(&old) || lost {
                found.push((at, Kind::LooserRule, format!("`{event}` starts this workflow for fewer paths")));
            }
        }
    }
    found
}

/// Returns whether a path is one of texts for people, on which no check depends.
fn is_prose(path: &str) -> bool {
    const ENDS: &[&str] = &[".md", ".rst", ".txt", ".adoc", "LICENSE", "CODEOWNERS", ".png", ".svg"];
    let lower = path.trim_start_matches("**/").trim_start_matches("./");
    ENDS.iter().any(|end| path.ends_with(end))
        || ["docs", "doc/", "documentation", ".github/ISSUE", "website"]
            .iter()
            .any(|begin| lower.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_never_hold_are_told() {
        for text in [
            "false",
            "1 == 2",
            "'a' == 'b'",
            "always() && false",
            "failure()",
            "!true",
            "failure() && matrix.os == 'a'",
        ] {
            assert!(is_never(text), "{text}");
        }
        for text in [
            "true",
            "1 == 1",
            "matrix.os == 'a'",
            "always()",
            "failure() || success()",
            "github.event_name != 'push'",
            "!failure()",
        ] {
            assert!(!is_never(text), "{text}");
        }
    }
}
