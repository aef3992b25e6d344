//! Tests of programs that are written as scripts: commands that have to succeed or fail, and what they have to print.

use std::collections::BTreeMap;

use crate::Change;
use crate::files::is_script;
use crate::finding::{Finding, Kind};

/// Commands of a script that check what the one before them did.
const CHECKS: &[&str] = &["stdout", "stderr", "cmp", "cmpenv", "grep", "exists", "status"];

/// Returns the scripts that demand less of the program.
pub(crate) fn compare(changes: &[Change<'_>]) -> Vec<Finding> {
    let scripts = || changes.iter().filter(|change| is_script(change.path));
    let now = counted(scripts().filter_map(|change| change.after));
    let was = counted(scripts().filter_map(|change| change.before));
    let mut findings = Vec::new();
    for change in scripts() {
        let (Some(before), Some(after)) = (change.before, change.after) else { continue };
        let (old, new) = (commands(before), commands(after));
        // A line that is in another script now, or once less in a longer one, is no loss.
        let is_lost = |line: &str| now.get(line) < was.get(line);
        let lost: Vec<&(usize, String)> =
            old.iter().filter(|(_, line)| is_check(line) && is_lost(line)).collect();
        let come = new.iter().filter(|(_, line)| is_check(line) && was.get(line) < now.get(line)).count();
        let mut found = |line: usize, kind: Kind, message: String| {
            findings.push(Finding::new(change.path, line, kind, message));
        };
        for (_, line) in &lost {
            let Some(command) = line.strip_prefix("! ") else { continue };
            if let Some((at, mild)) = new.iter().find(|(_, other)| *other == format!("? {command}")) {
                found(
                    *at,
                    Kind::WeakerAssertion,
                    format!("a command may succeed now: `{line}` became `{mild}`"),
                );
            }
        }
        if let Some((line, text)) = lost.first().filter(|_| lost.len() > come) {
            found(
                (*line).min(after.lines().count().max(1)),
                Kind::FewerAssertions,
                format!("the script checks less: `{text}` is gone"),
            );
        }
    }
    findings
}

/// Returns how often each command is in some scripts.
fn counted<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (_, line) in texts.flat_map(commands) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// Returns the commands of a script with their lines, without the files that follow them.
fn commands(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("-- "));
    let commands = lines.map(|(at, line)| (at + 1, line.split_whitespace().collect::<Vec<_>>().join(" ")));
    commands.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect()
}

fn is_check(line: &str) -> bool {
    let command = line.trim_start_matches("! ").split(' ').next().unwrap_or_default();
    line.starts_with("! ") || CHECKS.contains(&command)
}
