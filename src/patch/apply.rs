//! Patch application: turns hunks into new content, exactly by diffy, otherwise by the system's `patch` with
//! a little fuzz; otherwise explains why they do not apply.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use diffy::Patch as Diff;

use super::parse::{Hunk, Line, Patch, Side};

/// Number of context lines that `patch` may ignore at each end of a hunk.
const FUZZ: &str = "--fuzz=2";
/// Maximum number of lines shown of what was expected and of what was found.
const SHOWN: usize = 12;

/// Reasons why a patch does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The first hunk that does not match the file.
    #[error("hunk {hunk} of {hunks} does not apply{place}; expected:\n{expected}found:\n{found}")]
    Hunk {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// The number of hunks in the patch.
        hunks: usize,
        /// A phrase on where it was looked for; empty if the hunk has no line number.
        place: String,
        /// The lines that the patch expects to find.
        expected: String,
        /// The numbered lines of the file at the most likely place.
        found: String,
    },
    /// A hunk without line numbers whose lines occur several times in the file.
    #[error(
        "hunk {hunk} has no line numbers and matches in {times} places; add line numbers or more context"
    )]
    Ambiguous {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// How often its lines occur.
        times: usize,
    },
    /// A patch that deletes the file but does not remove all of its lines.
    #[error("the patch deletes the file but leaves lines in it")]
    Leftover,
}

/// Returns the content with the patch applied, or why it does not apply. Line endings are compared literally
/// first, and ignored if that fails.
pub fn apply(content: &str, patch: &Patch) -> Result<String, ApplyError> {
    let applied =
        to_the_letter(content, &patch.hunks).map_or_else(|| without_cr(content, &patch.hunks), Ok)?;
    if patch.deletes && !applied.is_empty() {
        return Err(ApplyError::Leftover);
    }
    Ok(applied)
}

fn to_the_letter(content: &str, hunks: &[Hunk]) -> Option<String> {
    exactly(content, &placed(content, hunks).ok()?).ok()
}

/// Applies hunks regardless of line endings: a file with CRLF endings is patched as if it had LF endings, and
/// gets its own back.
fn without_cr(content: &str, hunks: &[Hunk]) -> Result<String, ApplyError> {
    let crlf = content.contains("\r\n") && !content.replace("\r\n", "").contains('\n');
    let plain = if crlf { content.replace("\r\n", "\n") } else { content.to_owned() };
    let hunks: Vec<Hunk> = hunks.iter().map(Hunk::without_cr).collect();
    let hunks = placed(&plain, &hunks)?;
    let applied = exactly(&plain, &hunks)
        .or_else(|failed| with_fuzz(&plain, &hunks).ok_or_else(|| explain(&plain, &hunks, failed)))?;
    Ok(if crlf { applied.replace('\n', "\r\n") } else { applied })
}

/// Gives hunks without a line number the position of their lines, provided that they occur once. Hunks whose
/// lines do not occur are returned as they are.
fn placed(content: &str, hunks: &[Hunk]) -> Result<Vec<Hunk>, ApplyError> {
    let lines: Vec<&str> = content.split('\n').collect();
    let mut placed = Vec::with_capacity(hunks.len());
    for (index, hunk) in hunks.iter().enumerate() {
        let mut hunk = hunk.clone();
        if hunk.start.is_none() {
            let wanted = hunk.side(Side::Old);
            let found: Vec<usize> = positions(&lines, &wanted);
            match found.as_slice() {
                [at] => hunk.start = Some(at + 1),
                [] => {}
                several => return Err(ApplyError::Ambiguous { hunk: index + 1, times: several.len() }),
            }
        }
        placed.push(hunk);
    }
    Ok(placed)
}

fn positions(lines: &[&str], wanted: &[&str]) -> Vec<usize> {
    if wanted.is_empty() {
        return Vec::new();
    }
    lines
        .windows(wanted.len())
        .enumerate()
        .filter(|(_, window)| *window == wanted)
        .map(|(at, _)| at)
        .collect()
}

/// Applies hunks with offsets but without fuzz. The error is the index of the first hunk that does not apply.
fn exactly(content: &str, hunks: &[Hunk]) -> Result<String, usize> {
    let apply = |hunks: &[Hunk]| {
        let text = render(hunks);
        let diff = Diff::from_str(&text).ok()?;
        diffy::apply(content, &diff).ok()
    };
    apply(hunks).ok_or_else(|| {
        let fits = |count: &usize| apply(&hunks[..*count]).is_some();
        (1..hunks.len()).take_while(fits).count()
    })
}

/// Applies hunks by the system's `patch`, on a copy whose path is given explicitly, so that nothing in the
/// patch can name a file.
fn with_fuzz(content: &str, hunks: &[Hunk]) -> Option<String> {
    let dir = tempfile::tempdir().ok()?;
    let (target, out, diff) = (dir.path().join("target"), dir.path().join("out"), dir.path().join("diff"));
    fs::write(&target, content).ok()?;
    fs::write(&diff, render(hunks)).ok()?;
    let status = Command::new("patch")
        .args(["--batch", "--forward", "--silent", "--unified", "--reject-file=-", FUZZ, "--output"])
        .arg(&out)
        .arg(&target)
        .arg(&diff)
        .current_dir(dir.path())
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    if status.success() { fs::read_to_string(out).ok() } else { None }
}

/// Renders hunks as a diff with correct counts.
fn render(hunks: &[Hunk]) -> String {
    let mut text = String::from("--- target\n+++ target\n");
    let mut shift: isize = 0;
    for hunk in hunks {
        let (old, new) = (hunk.side(Side::Old).len(), hunk.side(Side::New).len());
        let start = hunk.start.unwrap_or(1);
        let new_start = start.saturating_add_signed(shift);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "@@ -{start},{old} +{new_start},{new} @@");
        let last = |wanted: fn(&Line) -> bool| hunk.lines.iter().rposition(wanted);
        let last_old = last(|line| !matches!(line, Line::Added(_)));
        let last_new = last(|line| !matches!(line, Line::Removed(_)));
        for (index, line) in hunk.lines.iter().enumerate() {
            let (sign, line) = match line {
                Line::Context(line) => (' ', line),
                Line::Removed(line) => ('-', line),
                Line::Added(line) => ('+', line),
            };
            let _ = writeln!(text, "{sign}{line}");
            let ends_old = hunk.no_newline.0 && last_old == Some(index) && sign != '+';
            let ends_new = hunk.no_newline.1 && last_new == Some(index) && sign != '-';
            if ends_old || ends_new {
                text += "\\ No newline at end of file\n";
            }
        }
        shift += new.cast_signed() - old.cast_signed();
    }
    text
}

fn explain(content: &str, hunks: &[Hunk], failed: usize) -> ApplyError {
    let Some(hunk) = hunks.get(failed) else { return ApplyError::Leftover };
    let lines: Vec<&str> = content.lines().collect();
    let wanted = hunk.side(Side::Old);
    // The position of its first line that is not blank, otherwise the header's line number.
    let telling = wanted.iter().find(|line| !line.trim().is_empty());
    let near = telling.and_then(|line| lines.iter().position(|have| have.trim() == line.trim()));
    let start = near.or(hunk.start.map(|start| start.saturating_sub(1))).unwrap_or(0);
    let show = |from: usize, lines: &[&str]| -> String {
        let numbered =
            lines.iter().enumerate().map(|(index, line)| format!("{:>5} {line}\n", from + index + 1));
        numbered.collect()
    };
    let end = (start + wanted.len().min(SHOWN)).min(lines.len());
    let found = lines.get(start..end).map_or(String::new(), |lines| show(start, lines));
    ApplyError::Hunk {
        hunk: failed + 1,
        hunks: hunks.len(),
        place: hunk.start.map_or(String::new(), |start| format!(" at line {start} or anywhere near")),
        expected: wanted.iter().take(SHOWN).map(|line| format!("      {line}\n")).collect(),
        found: if found.is_empty() { format!("      (the file has {} lines)\n", lines.len()) } else { found },
    }
}
