//! Rules on text that is added to files. A pattern may take minutes on a large text, and nothing can interrupt the search, so large
//! changes are searched on a thread of their own, for which nobody waits when the time of the run is up.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use workspace::FileChange;

use super::Refusal;
use crate::base::pattern::Pattern;
use crate::base::time_limit::{Grace, TimeLimit};
use crate::config::Severity;

/// Size of changed files, in bytes, up to which even a slow pattern needs no thread of its own.
const SMALL: usize = 16 * 1024;

/// How long a signal is not noticed that ends the run.
const NOTICED_WITHIN: Duration = Duration::from_millis(50);

/// Rule on text that is added to files.
#[derive(Debug)]
pub(super) struct CodeRule {
    pub(super) pattern: Pattern,
    pub(super) message: String,
    pub(super) severity: Severity,
}

/// Checks what the files gain. Returns warnings, or the reason for the refusal.
pub(super) fn check(
    rules: &Arc<[CodeRule]>,
    changes: &[FileChange],
    time_limit: &TimeLimit,
) -> Result<Vec<String>, Refusal> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let bytes: usize = changes.iter().filter_map(|change| Some(change.after.as_ref()?.content.len())).sum();
    if bytes <= SMALL {
        return search(rules, changes, time_limit);
    }
    let (sender, receiver) = mpsc::sync_channel(1);
    let (rules, changes, limit) = (Arc::clone(rules), changes.to_vec(), time_limit.clone());
    // It ends with the search that is under way, or with the process.
    let started = std::thread::Builder::new().name("code rules".to_owned()).spawn(move || {
        let _ = sender.send(search(&rules, &changes, &limit));
    });
    started.map_err(Refusal::NoThread)?;
    loop {
        match receiver.recv_timeout(time_limit.left(Grace::Changes, NOTICED_WITHIN)) {
            Ok(found) => return found,
            Err(mpsc::RecvTimeoutError::Timeout) if !time_limit.is_over(Grace::Changes) => {}
            Err(_) => return Err(Refusal::TimeUp),
        }
    }
}

fn search(
    rules: &[CodeRule],
    changes: &[FileChange],
    time_limit: &TimeLimit,
) -> Result<Vec<String>, Refusal> {
    let mut warnings = Vec::new();
    for change in changes {
        let readings = change.readings();
        for rule in rules {
            // If the pattern is given up, whether the rule is broken is not known, so it counts as broken.
            let is_kept = readings.iter().all(|text| rule.pattern.is_match(text) == Ok(false));
            // What was given up meanwhile says nothing of the change.
            if time_limit.is_over(Grace::Changes) {
                return Err(Refusal::TimeUp);
            }
            if is_kept {
                continue;
            }
            let (path, message) = (&change.path, &rule.message);
            match rule.severity {
                Severity::Block => {
                    return Err(Refusal::Code {
                        path: path.clone(),
                        message: message.clone(),
                        pattern: rule.pattern.as_str().to_owned(),
                    });
                }
                Severity::Warn => {
                    warnings.push(format!(
                        "[Guardrail warning: {path}: {message} (code_rules: {})]",
                        rule.pattern.as_str()
                    ));
                }
            }
        }
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use workspace::{FileState, Mode, WorkspacePath};

    use super::*;
    use crate::base::pattern_options::PatternOptions;

    /// A pattern that follows 1,000 possible matches at every character.
    const SLOW: &str = r"a[ab]{1000}[^ab\n]";

    fn rules() -> Arc<[CodeRule]> {
        let pattern = Pattern::new(SLOW, PatternOptions::default()).expect("a pattern");
        [CodeRule { pattern, message: "slow".to_owned(), severity: Severity::Block }].into()
    }

    fn changes(files: usize, size: usize) -> Vec<FileChange> {
        let text: Vec<u8> = (0..size).map(|_| if fastrand::bool() { b'a' } else { b'b' }).collect();
        let state = FileState { content: text.into(), mode: Mode::Regular };
        let path = |number| WorkspacePath::parse(&format!("{number}.txt")).expect("a path");
        (0..files).filter_map(|number| FileChange::new(path(number), None, Some(state.clone()))).collect()
    }

    #[test]
    fn slow_patterns_end_with_the_run() {
        for changes in [changes(1, 8_000_000), changes(2_000, 16_000), changes(2_000, 5)] {
            let limit = TimeLimit::new(Instant::now().checked_sub(Grace::Changes.duration() / 2));
            let began = Instant::now();
            let checked = check(&rules(), &changes, &limit);
            let is_small = changes[0].after.as_ref().is_some_and(|after| after.content.len() < 10);
            assert_eq!(matches!(checked, Err(Refusal::TimeUp)), !is_small, "{checked:?}");
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        }
    }

    #[test]
    fn signals_end_slow_patterns() {
        let limit = TimeLimit::default();
        let signal = std::thread::spawn({
            let limit = limit.clone();
            move || limit.stop()
        });
        let checked = check(&rules(), &changes(1, 8_000_000), &limit);
        assert!(matches!(checked, Err(Refusal::TimeUp)), "{checked:?}");
        signal.join().expect("it ends");
    }
}
