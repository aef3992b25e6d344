//! Patches that models hand to the shell: `apply_patch` is a program where some of them were trained, and none here.

/// Names of that program.
const PROGRAMS: [&str; 2] = ["apply_patch", "applypatch"];

/// Lines of a patch that name a file.
const NAMING: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// Patch in a command line that does nothing but apply it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellPatch {
    /// Folder in which it is applied; empty for the current one.
    pub(super) folder: String,
    pub(super) patch: String,
}

impl ShellPatch {
    /// Returns the patch that a command line applies: `apply_patch <<'EOF' …` or `apply_patch '…'`, after `cd FOLDER &&` or
    /// without it; `None` if the line does anything else.
    pub(super) fn find(line: &str) -> Option<Self> {
        let inner = shell_argument(line);
        let line = inner.as_deref().unwrap_or(line).trim();
        let (folder, line) = match line.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
            Some((folder, line)) => (shlex::split(folder).filter(|words| words.len() == 1)?.remove(0), line),
            None => (String::new(), line),
        };
        let line = line.trim_start();
        let line = &line[folder_of_program(line).len()..];
        let rest = PROGRAMS.iter().find_map(|program| line.strip_prefix(program))?;
        let rest = rest.strip_prefix(char::is_whitespace)?.trim_start();
        let patch = match rest.strip_prefix("<<") {
            Some(rest) => here_document(rest)?,
            None => shlex::split(rest).filter(|words| words.len() == 1)?.remove(0),
        };
        let is_patch = |start: &&str| patch.trim_start().starts_with(*start);
        ["*** Begin Patch", "--- ", "diff --git "].iter().any(is_patch).then_some(Self { folder, patch })
    }
}

/// Folders in which models expect the program. A program of the checkout is another one.
const FOLDERS: [&str; 3] = ["/usr/bin/", "/usr/local/bin/", "/bin/"];

/// Returns the folder before the name of the program with which a line begins; empty without one.
fn folder_of_program(line: &str) -> &'static str {
    FOLDERS.into_iter().find(|folder| line.starts_with(folder)).unwrap_or_default()
}

/// Returns the command line that another shell gets as its only argument: `bash -lc '…'`.
fn shell_argument(line: &str) -> Option<String> {
    let words = shlex::split(line)?;
    let [shell, option, inner] = words.as_slice() else { return None };
    let is_shell = ["bash", "sh", "zsh"].contains(&shell.rsplit('/').next().unwrap_or_default());
    (is_shell && option.starts_with('-') && option.ends_with('c')).then(|| inner.clone())
}

/// Returns a command line without the texts of its here-documents; `None` if it ends within one.
fn without_documents(line: &str) -> Option<String> {
    let (mut plain, mut rest) = (String::new(), line);
    while let Some((before, behind)) = rest.split_once("<<") {
        plain += before;
        if let Some(behind) = behind.strip_prefix('<') {
            rest = behind;
            continue;
        }
        let Some((opening, text)) = behind.split_once('\n') else {
            plain += behind;
            return Some(plain);
        };
        let opening = opening.trim_start_matches('-').trim_start();
        let length = opening.find([' ', '\t', ';', '&', '|', '>', '<', ')']).unwrap_or(opening.len());
        let (word, others) = opening.split_at(length);
        let word = word.trim_matches(['\'', '"', '\\']);
        plain += others;
        plain.push('\n');
        let mut lines = text.split_inclusive('\n');
        lines.by_ref().find(|line| line.trim() == word)?;
        rest = &text[text.len() - lines.map(str::len).sum::<usize>()..];
    }
    Some(plain + rest)
}

/// Returns whether a command line would run that program on a patch, whatever else it does: here, the shell does not find it, and may go
/// on without it.
pub(super) fn is_tried(line: &str) -> bool {
    let inner = shell_argument(line);
    let line = inner.as_deref().unwrap_or(line);
    let begins_command = |at: usize| {
        // What is quoted, or in another here-document, is text.
        let Some(before) = without_documents(&line[..at]).filter(|before| shlex::split(before).is_some())
        else {
            return false;
        };
        let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let folder = FOLDERS.into_iter().find(|folder| *folder == word).unwrap_or_default();
        let before = &before[..before.len() - folder.len()];
        let before = before.trim_end_matches([' ', '\t']);
        let last = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        before.is_empty()
            || before.ends_with(['\n', ';', '&', '|', '(', '{'])
            || BEFORE_COMMAND.contains(&last)
            || is_assignment(last)
    };
    let is_program = |(at, program): (usize, &str)| {
        begins_command(at) && line[at + program.len()..].chars().next().is_none_or(char::is_whitespace)
    };
    let has_patch = line.contains("*** Begin Patch") || line.contains("\n--- ") && line.contains("\n+++ ");
    has_patch && PROGRAMS.iter().any(|program| line.match_indices(program).any(is_program))
}

/// Words behind which a command begins.
const BEFORE_COMMAND: [&str; 8] = ["then", "do", "else", "env", "exec", "time", "command", "!"];

/// Returns whether a word before a command sets a variable for it.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
    })
}

/// Returns the text of a here-document that ends the line.
fn here_document(rest: &str) -> Option<String> {
    let (word, text) = rest.split_once('\n')?;
    let word = word.trim().trim_matches(['\'', '"']);
    let body = text.trim_end().strip_suffix(word).filter(|_| !word.is_empty())?;
    let is_alone = body.ends_with('\n') && body.lines().all(|line| line != word);
    is_alone.then(|| body.to_owned())
}

/// Returns the folder in which a command runs that changes to `folder` from `cwd`.
pub(super) fn joined(cwd: &str, folder: &str) -> String {
    if cwd.is_empty() || folder.starts_with('/') { folder.to_owned() } else { format!("{cwd}/{folder}") }
}

/// Returns a patch whose relative paths begin with a folder.
pub(super) fn below_folder(patch: &str, folder: &str) -> String {
    let folder = folder.trim_end_matches('/').trim_start_matches("./");
    if folder.is_empty() || folder == "." {
        return patch.to_owned();
    }
    let moved = |line: &str| {
        let named = NAMING.iter().find_map(|naming| Some((naming, line.strip_prefix(naming)?)));
        match named {
            Some((naming, path)) if !path.trim_start().starts_with('/') => {
                format!("{naming} {folder}/{}", path.trim_start())
            }
            _ => line.to_owned(),
        }
    };
    patch.split_inclusive('\n').map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";

    #[test]
    fn lines_that_only_apply_a_patch_are_taken() {
        for (line, folder) in [
            (format!("apply_patch <<'EOF'\n{PATCH}EOF"), Some("")),
            (format!("apply_patch << \"EOF\"\n{PATCH}EOF\n"), Some("")),
            (format!("cd sub && apply_patch <<EOF\n{PATCH}EOF"), Some("sub")),
            (format!("apply_patch '{PATCH}'"), Some("")),
            (format!("apply_patch <<'EOF'\n{PATCH}EOF\nrm a"), None),
            (format!("apply_patch <<'EOF' && rm a\n{PATCH}EOF"), None),
            (format!("apply_patch <<'EOF'\n{PATCH}EOF\nrm a\nEOF"), None),
            (format!("/usr/bin/apply_patch <<'EOF'\n{PATCH}EOF"), Some("")),
            (format!("./tools/apply_patch <<'EOF'\n{PATCH}EOF"), None),
            (format!("bash -lc \"apply_patch <<'EOF'\n{PATCH}EOF\n\""), Some("")),
            ("apply_patch --help".to_owned(), None),
            ("git apply <<'EOF'\nx\nEOF".to_owned(), None),
        ] {
            let found = ShellPatch::find(&line);
            assert_eq!(found.as_ref().map(|found| found.folder.as_str()), folder, "{line}");
            assert!(found.is_none_or(|found| found.patch == PATCH), "{line}");
        }
    }

    #[test]
    fn patches_among_other_commands_are_noticed() {
        for (line, expected) in [
            (format!("apply_patch <<'EOF'\n{PATCH}EOF\ncat a"), true),
            (format!("git add a && apply_patch <<'EOF'\n{PATCH}EOF\ncat a"), true),
            (format!("apply_patch $'{PATCH}'"), true),
            (format!("echo '{PATCH}' | apply_patch"), true),
            (format!("cat <<'EOF' | apply_patch\n{PATCH}EOF\nls"), true),
            (format!("if true; then apply_patch <<'EOF'\n{PATCH}EOF\nfi"), true),
            (format!("FOO=1 apply_patch <<'EOF'\n{PATCH}EOF\nls"), true),
            (format!("cat > p.txt <<'EOF'\n{PATCH}EOF\napply_patch p.txt; rm p.txt"), true),
            (
                format!("cat > n.txt <<'END' && ls\nit's\nEND\n/usr/bin/apply_patch <<'EOF'\n{PATCH}EOF\nls"),
                true,
            ),
            (format!("bash -lc 'cd a; apply_patch <<EOF\n{PATCH}EOF\nls'"), true),
            ("git status; apply_patch <<'EOF'\n--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\nEOF\nls".to_owned(), true),
            (format!("cd d && tools/apply_patch <<'EOF'\n{PATCH}EOF\nls"), false),
            (format!("cat > a.md <<'EOF'\napply_patch <<'X'\n{PATCH}X\nEOF"), false),
            (format!("git commit -m 'use\napply_patch x' && echo '{PATCH}'"), false),
            (format!("./apply_patch_to_all '{PATCH}'"), false),
            ("apply_patch --help".to_owned(), false),
        ] {
            assert_eq!(is_tried(&line), expected, "{line}");
        }
    }

    #[test]
    fn paths_are_below_the_folder() {
        let below = |folder: &str| below_folder(PATCH, folder).lines().nth(1).map(str::to_owned);
        assert_eq!(below("").as_deref(), Some("*** Add File: a"));
        assert_eq!(below("./sub/").as_deref(), Some("*** Add File: sub/a"));
        assert_eq!(below_folder("*** Delete File:a", "sub"), "*** Delete File: sub/a");
        assert_eq!(below("/w/sub").as_deref(), Some("*** Add File: /w/sub/a"));
        assert_eq!(
            (joined("", "a"), joined("b", "a"), joined("b", "/a")),
            ("a".into(), "b/a".into(), "/a".into())
        );
    }
}
