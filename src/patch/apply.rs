//! From hunks to new content: exactly by diffy, else by the system's `patch` with a little fuzz, else an
//! explanation.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use diffy::Patch as Diff;

use super::parse::{Hunk, Line, Patch, Side};

/// Lines of context that `patch` may overlook.
const FUZZ: &str = "--fuzz=2";
/// Lines shown of what was expected and of what is there.
const SHOWN: usize = 12;

/// Why a patch fits nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// One hunk does not fit.
    #[error("hunk {hunk} of {hunks} does not apply{place}; expected:\n{expected}found:\n{found}")]
    Hunk {
        /// Which one, from 1.
        hunk: usize,
        /// Of how many.
        hunks: usize,
        /// A word on where it was looked for.
        place: String,
        /// What the patch wants to find.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A hunk without numbers whose lines are there several times.
    #[error(
        "hunk {hunk} has no line numbers and matches in {times} places; add line numbers or more context"
    )]
    Ambiguous {
        /// Which one, from 1.
        hunk: usize,
        /// How often its lines are there.
        times: usize,
    },
    /// Something is left of a file that is to be deleted.
    #[error("the patch deletes the file but leaves lines in it")]
    Leftover,
}

/// The new content, or why there is none.
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

/// With line ends left out of account: a file with Windows ones is patched as if they were plain, and
/// gets them back.
fn without_cr(content: &str, hunks: &[Hunk]) -> Result<String, ApplyError> {
    let crlf = content.contains("\r\n") && !content.replace("\r\n", "").contains('\n');
    let plain = if crlf { content.replace("\r\n", "\n") } else { content.to_owned() };
    let hunks: Vec<Hunk> = hunks.iter().map(Hunk::without_cr).collect();
    let hunks = placed(&plain, &hunks)?;
    let applied = exactly(&plain, &hunks)
        .or_else(|failed| with_fuzz(&plain, &hunks).ok_or_else(|| explain(&plain, &hunks, failed)))?;
    Ok(if crlf { applied.replace('\n', "\r\n") } else { applied })
}

/// Hunks without numbers get one, if their lines are there once.
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

/// With offsets but without fuzz; the error is the index of the first hunk that fits nowhere.
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

/// By the system's `patch`, on a copy that is named explicitly: nothing in the patch names a file.
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

/// The hunks as a diff with counts that are right.
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
    // Where its first telling line is, or where the header says.
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
