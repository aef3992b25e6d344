//! Renders the faults in the change that tests do or do not notice, as lines.

use sanitize::untrusted::visible;

use crate::event::{MutationRecord, MutationResult, MutationVerdict};

/// Longest text of code that is shown, in characters.
const MAX_SHOWN: usize = 60;

/// Renders what the tests noticed as lines of text, the summary last.
pub fn mutation_text(record: &MutationRecord) -> String {
    let lines: String = record.mutations.iter().map(|mutation| mutation_line(mutation) + "\n").collect();
    let left_out = match record.left_out {
        0 => String::new(),
        count => format!(", {count} not tried because of the time limit"),
    };
    let seconds = record.duration_ms / 1000;
    format!("{lines}{}{left_out} ({seconds} s)\n", record.summary())
}

/// Renders one fault.
pub(super) fn mutation_line(mutation: &MutationResult) -> String {
    let (sign, says) = match mutation.verdict {
        MutationVerdict::Noticed => ('✓', "noticed"),
        MutationVerdict::Unnoticed => ('✗', "no test notices"),
        MutationVerdict::NotRun => ('!', "could not be run"),
    };
    let MutationResult { path, line, kind, before, after, .. } = mutation;
    let became = if after.trim_matches(';').is_empty() {
        format!("`{}` is gone", shown(before))
    } else {
        format!("`{}` became `{}`", shown(before), shown(after))
    };
    format!("{sign} {}:{line} {says}: {became} ({kind})", visible(path))
}

fn shown(code: &str) -> String {
    let line = visible(&code.split_whitespace().collect::<Vec<_>>().join(" "));
    if line.chars().count() <= MAX_SHOWN {
        line
    } else {
        line.chars().take(MAX_SHOWN - 1).chain(['…']).collect()
    }
}
