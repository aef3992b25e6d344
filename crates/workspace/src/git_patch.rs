//! Git's extended diff format, which `git diff --binary --full-index` prints and `git apply` accepts.
//!
//! The format is described in `git help diff-generate-patch`; binary hunks are as in Git's `Documentation/`
//! and `diff.c` (base85 lines of at most 52 bytes of zlib data, each preceded by a letter for its length).

use std::io::Write;

use diffy::{DiffOptions, PatchFormatter};
use flate2::{Compression, write::ZlibEncoder};

use super::changes::{FileChange, FileState, Mode};

/// Number of context lines around a change.
const CONTEXT: usize = 3;

/// Number of line pairs above which a minimal diff may take seconds; a single coarse hunk is exact as well.
const MAX_LINE_PAIRS: usize = 40_000_000;

/// Returns the whole patch of one file. `prefix` is the path from the repository's root to the workspace.
pub(crate) fn file_patch(change: &FileChange, prefix: &str) -> Vec<u8> {
    if let (Some(before), Some(after)) = (&change.before, &change.after) {
        // Git does not allow a file to become a link by a modification, so one is deleted and the other
        // added.
        if (before.mode == Mode::Link) != (after.mode == Mode::Link) {
            let gone = FileChange { after: None, ..change.clone() };
            let new = FileChange { before: None, ..change.clone() };
            return [file_patch(&gone, prefix), file_patch(&new, prefix)].concat();
        }
    }
    let path = format!("{prefix}{}", change.path);
    let (old_name, new_name) = (quoted("a/", &path), quoted("b/", &path));
    let mut head = format!("diff --git {old_name} {new_name}\n");
    let (mut old_label, mut new_label) = (labelled(&old_name), labelled(&new_name));
    let mut mode_suffix = String::new();
    match (&change.before, &change.after) {
        (None, Some(after)) => {
            head += &format!("new file mode {}\n", after.mode);
            old_label = String::from("/dev/null");
        }
        (Some(before), None) => {
            head += &format!("deleted file mode {}\n", before.mode);
            new_label = String::from("/dev/null");
        }
        (Some(before), Some(after)) if before.mode != after.mode => {
            head += &format!("old mode {}\nnew mode {}\n", before.mode, after.mode);
        }
        (Some(before), Some(_)) => mode_suffix = format!(" {}", before.mode),
        (None, None) => {}
    }
    let empty: &[u8] = &[];
    let before = change.before.as_ref().map_or(empty, |state| &state.content);
    let after = change.after.as_ref().map_or(empty, |state| &state.content);
    if before == after && change.before.is_some() && change.after.is_some() {
        return head.into_bytes();
    }
    let (old_blob, new_blob) = (blob_id(change.before.as_ref()), blob_id(change.after.as_ref()));
    head += &format!("index {old_blob}..{new_blob}{mode_suffix}\n");
    let mut patch = head.into_bytes();
    if change.is_binary() {
        patch.extend(b"GIT binary patch\n");
        literal(&mut patch, after);
        literal(&mut patch, before);
    } else if before != after {
        patch.extend(format!("--- {old_label}\n+++ {new_label}\n").bytes());
        patch.extend(hunks(before, after));
    }
    patch
}

/// Returns the hunks of a text diff without file headers; empty if nothing differs.
pub(crate) fn hunks(before: &[u8], after: &[u8]) -> Vec<u8> {
    if before == after {
        return Vec::new();
    }
    let (old, new) = (lines(before), lines(after));
    let prefix = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let limit = old.len().min(new.len()) - prefix;
    let suffix = old.iter().rev().zip(new.iter().rev()).take(limit).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (old.len() - prefix - suffix, new.len() - prefix - suffix);
    if old_middle.saturating_mul(new_middle) > MAX_LINE_PAIRS {
        return coarse_hunk(&old, &new, prefix, suffix);
    }
    let patch = DiffOptions::new().set_context_len(CONTEXT).create_patch_bytes(before, after);
    let mut text = Vec::new();
    // Writing to memory does not fail. Git keeps the space of an empty context line, and so does this.
    let _ = PatchFormatter::new().suppress_blank_empty(false).write_patch_into(&patch, &mut text);
    // The first two lines are file headers with diffy's own names; the caller has written the real ones.
    let mut rest = text.as_slice();
    for _ in 0..2 {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
        rest = &rest[end..];
    }
    rest.to_vec()
}

/// Returns a single hunk that replaces everything between the common start and the common end.
fn coarse_hunk(old: &[&[u8]], new: &[&[u8]], prefix: usize, suffix: usize) -> Vec<u8> {
    let start = prefix.saturating_sub(CONTEXT);
    let tail = suffix.min(CONTEXT);
    let (old_end, new_end) = (old.len() - suffix, new.len() - suffix);
    let range = |len: usize| {
        let first = if len == 0 { start } else { start + 1 };
        if len == 1 { format!("{first}") } else { format!("{first},{len}") }
    };
    let (old_len, new_len) = (old_end + tail - start, new_end + tail - start);
    let mut hunk = format!("@@ -{} +{} @@\n", range(old_len), range(new_len)).into_bytes();
    let mut put = |sign: u8, line: &[u8]| {
        hunk.push(sign);
        hunk.extend(line);
        if !line.ends_with(b"\n") {
            hunk.extend(b"\n\\ No newline at end of file\n");
        }
    };
    old[start..prefix].iter().for_each(|line| put(b' ', line));
    old[prefix..old_end].iter().for_each(|line| put(b'-', line));
    new[prefix..new_end].iter().for_each(|line| put(b'+', line));
    old[old_end..old_end + tail].iter().for_each(|line| put(b' ', line));
    hunk
}

fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns the id of the content as a Git blob; 40 zeros for a file that does not exist.
fn blob_id(state: Option<&FileState>) -> String {
    state.map_or_else(|| "0".repeat(40), FileState::blob_id)
}

fn labelled(name: &str) -> String {
    // Git adds a tab to names that contain spaces, so that they are not read as a name and a date.
    if name.contains(' ') { format!("{name}\t") } else { name.to_owned() }
}

/// Returns a name as Git writes it: unchanged, or in double quotes with C escapes.
fn quoted(prefix: &str, name: &str) -> String {
    let special = |c: char| c.is_control() || c == '"' || c == '\\';
    if !name.contains(special) {
        return format!("{prefix}{name}");
    }
    let mut text = format!("\"{prefix}");
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text += "\\n",
            '\t' => text += "\\t",
            '\r' => text += "\\r",
            c if c.is_control() => {
                let mut bytes = [0; 4];
                text.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\{byte:03o}")));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Appends a binary hunk that contains the whole content.
fn literal(patch: &mut Vec<u8>, content: &[u8]) {
    patch.extend(format!("literal {}\n", content.len()).bytes());
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(content);
    let compressed = encoder.finish().unwrap_or_default();
    for line in compressed.chunks(52) {
        let length = u8::try_from(line.len()).unwrap_or(0);
        patch.push(if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 });
        for group in line.chunks(4) {
            patch.extend(base85(group));
        }
        patch.push(b'\n');
    }
    patch.push(b'\n');
}

/// Encodes up to four bytes (missing ones count as zero) as five base85 characters.
fn base85(group: &[u8]) -> [u8; 5] {
    const ALPHABET: &[u8; 85] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let mut bytes = [0; 4];
    bytes[..group.len()].copy_from_slice(group);
    let mut value = u32::from_be_bytes(bytes);
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(value % 85) as usize];
        value /= 85;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_hunks_say_the_same_as_fine_ones() {
        let old: Vec<u8> = (0..40).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let new: Vec<u8> =
            (0..40).filter(|n| *n != 20).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let coarse = coarse_hunk(&lines(&old), &lines(&new), 20, 19);
        assert_eq!(String::from_utf8_lossy(&coarse), String::from_utf8_lossy(&hunks(&old, &new)));
    }

    #[test]
    fn names_are_quoted_as_git_does() {
        assert_eq!(quoted("a/", "plain name.txt"), "a/plain name.txt");
        assert_eq!(quoted("a/", "tab\there \"x\" \u{7}"), "\"a/tab\\there \\\"x\\\" \\007\"");
    }

    #[test]
    fn an_enormous_rewrite_takes_no_time() {
        let old: Vec<u8> = (0..60_000).flat_map(|n| format!("a{n}\n").into_bytes()).collect();
        let new: Vec<u8> = (0..60_000).flat_map(|n| format!("b{n}\n").into_bytes()).collect();
        let text = hunks(&old, &new);
        assert!(text.starts_with(b"@@ -1,60000 +1,60000 @@\n-a0\n"));
    }
}
