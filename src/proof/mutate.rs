//! Puts small faults into the changed code, one at a time, and runs the tests: which of them would nobody have noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use test_integrity::{ChangedTest, Mutation, mutations};
use workspace::{ChangeSet, FileChange, FileState};

use super::observed::CommandRun;
use super::side::Side;
use super::{ProofError, Prover, States};
use crate::command::Ended;
use crate::event::{MutationRecord, MutationResult, MutationVerdict, millis};

/// Limits of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MutationLimits {
    /// Largest number of faults.
    pub(crate) count: usize,
    /// Time after which no further fault is tried.
    pub(crate) time: Duration,
    /// Number that decides which faults are chosen where there are more.
    pub(crate) seed: u64,
}

/// Fault with the file that it is put into.
struct Fault<'a> {
    change: &'a FileChange,
    text: &'a str,
    mutation: Mutation,
}

/// Puts faults into the changed lines of the code, and runs the command with each. `changes` are those that `states` were
/// made of.
pub(crate) async fn mutate(
    changes: &ChangeSet,
    states: &States,
    prover: &Prover<'_>,
    limits: MutationLimits,
) -> Result<MutationRecord, ProofError> {
    let started = Instant::now();
    let mut record = MutationRecord::default();
    let chosen = chosen(changes, limits);
    if chosen.is_empty() {
        return Ok(record);
    }
    let tests: Vec<&ChangedTest> = states.tests.iter().collect();
    if prover.command.selects() && tests.is_empty() {
        return Err(ProofError::NoTests);
    }
    let run = run_on(prover, &states.new, &tests).await?;
    run.require_runnable()?;
    if !matches!(run.ended, Ended::Exited(0)) {
        return Err(ProofError::FailsWithout);
    }
    for (at, fault) in chosen.iter().enumerate() {
        if started.elapsed() >= limits.time {
            record.left_out = chosen.len() - at;
            break;
        }
        let Some(state) = fault.state() else { continue };
        let with_fault = with(&states.new, fault.change, state);
        let run = run_on(prover, &with_fault, &tests).await?;
        record.mutations.push(fault.result(verdict(&run)));
    }
    record.mutations.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
    record.duration_ms = millis(started.elapsed());
    Ok(record)
}

/// Runs the command once on the disk with some changes.
async fn run_on(
    prover: &Prover<'_>,
    changes: &[FileChange],
    tests: &[&ChangedTest],
) -> Result<CommandRun, ProofError> {
    let mut side = Side::new(prover, changes, "the proof of tests").await?;
    side.run(tests).await
}

/// Returns what the end of the command says. An endless loop is noticed by whoever waits for it.
fn verdict(run: &CommandRun) -> MutationVerdict {
    match run.ended {
        _ if run.hidden.exit_code => MutationVerdict::NotRun,
        Ended::Exited(0) => MutationVerdict::Unnoticed,
        Ended::Exited(126 | 127) | Ended::NotStarted(_) | Ended::Cancelled | Ended::StillRunning => {
            MutationVerdict::NotRun
        }
        _ if run.is_unbuilt_alone() => MutationVerdict::NotRun,
        _ => MutationVerdict::Noticed,
    }
}

/// Returns the changes that make a state, with another state of one file.
fn with(changes: &[FileChange], of: &FileChange, state: FileState) -> Vec<FileChange> {
    let others = changes.iter().filter(|change| change.path != of.path).cloned();
    let fault = FileChange { path: of.path.clone(), before: of.after.clone(), after: Some(state) };
    others.chain([fault]).collect()
}

impl Fault<'_> {
    fn state(&self) -> Option<FileState> {
        let text = self.mutation.apply(self.text)?;
        let mode = self.change.after.as_ref()?.mode;
        Some(FileState { content: text.into_bytes().into(), mode })
    }

    fn result(&self, verdict: MutationVerdict) -> MutationResult {
        let Mutation { line, kind, before, after, .. } = &self.mutation;
        MutationResult {
            path: self.change.path.to_string(),
            line: *line,
            kind: kind.to_string(),
            before: before.clone(),
            after: after.clone(),
            verdict,
        }
    }
}

/// Chooses faults: one of each line before a second of any.
fn chosen(changes: &ChangeSet, limits: MutationLimits) -> Vec<Fault<'_>> {
    let mut by_line: BTreeMap<(&str, usize), Vec<Fault<'_>>> = BTreeMap::new();
    for change in changes {
        let text = change.after.as_ref().and_then(|state| std::str::from_utf8(&state.content).ok());
        let Some(text) = text.filter(|text| text.len() <= test_integrity::MAX_BYTES) else { continue };
        let lines = new_lines(change, text);
        for mutation in mutations(change.path.as_str(), text, &lines) {
            by_line.entry((change.path.as_str(), mutation.line)).or_default().push(Fault {
                change,
                text,
                mutation,
            });
        }
    }
    let mut random = fastrand::Rng::with_seed(limits.seed);
    let mut lines: Vec<Vec<Fault<'_>>> = by_line.into_values().collect();
    random.shuffle(&mut lines);
    for line in &mut lines {
        random.shuffle(line);
    }
    let mut chosen = Vec::new();
    while chosen.len() < limits.count && !lines.is_empty() {
        let rest = limits.count - chosen.len();
        chosen.extend(lines.iter_mut().filter_map(Vec::pop).take(rest));
        lines.retain(|line| !line.is_empty());
    }
    chosen
}

/// Returns the numbers of the lines that a change adds or replaces.
fn new_lines(change: &FileChange, text: &str) -> BTreeSet<usize> {
    let old = change.before.as_ref().map(|state| String::from_utf8_lossy(&state.content));
    let Some(old) = old else { return (1..=text.lines().count()).collect() };
    let patch = diffy::create_patch(&old, text);
    let mut lines = BTreeSet::new();
    for hunk in patch.hunks() {
        let mut number = hunk.new_range().start();
        for line in hunk.lines() {
            match line {
                diffy::Line::Context(_) => number += 1,
                diffy::Line::Insert(_) => {
                    lines.insert(number);
                    number += 1;
                }
                diffy::Line::Delete(_) => {}
            }
        }
    }
    lines
}
