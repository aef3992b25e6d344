//! Git's extended diff format, which `git diff --binary --full-index` prints and `git apply` accepts.
//!
//! The format is described in `git help diff-generate-patch`; binary hunks are as in Git's `Documentation/`
//! and `diff.c` (base85 lines of at most 52 bytes of zlib data, each preceded by a letter for its length).

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};

use super::changes::{FileChange, FileState, Mode};

/// Returns the whole patch of one file. `prefix` is the path from the repository's root to the workspace, and `text_hunks` finds the
/// hunks, where it has some.
pub(crate) fn file_patch(change: &FileChange, prefix: &str, text_hunks: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    if let (Some(before), Some(after)) = (&change.before, &change.after) {
        // Git does not allow a file to become a link by a modification, so one is deleted and the other
        // added.
        if (before.mode == Mode::Link) != (after.mode == Mode::Link) {
            let gone = FileChange { after: None, ..change.clone() };
            let new = FileChange { before: None, ..change.clone() };
            return [gone.git_patch(prefix), new.git_patch(prefix)].concat();
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
        patch.extend(text_hunks());
    }
    patch
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
    fn names_are_quoted_as_git_does() {
        assert_eq!(quoted("a/", "plain name.txt"), "a/plain name.txt");
        assert_eq!(quoted("a/", "tab\there \"x\" \u{7}"), "\"a/tab\\there \\\"x\\\" \\007\"");
    }
}
