//! Patches that models hand to the shell: `apply_patch` is a program where some of them were trained, and none here.

use super::path_forms::{Base, based};

/// Names of that program.
const PROGRAMS: [&str; 2] = ["apply_patch", "applypatch"];

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
    let opening = word.trim();
    let word = opening.trim_matches(['\'', '"']);
    let body = text.trim_end().strip_suffix(word).filter(|_| !word.is_empty())?;
    let is_alone = body.ends_with('\n') && body.lines().all(|line| line != word);
    let unescaped = if word == opening { unescaped(body) } else { None };
    is_alone.then(|| unescaped.unwrap_or_else(|| body.to_owned()))
}

/// Returns a text in which a shell expands variables and commands, without the backslashes that keep it from doing so; `None` if there is
/// something that it would expand.
fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match (sign, signs.peek()) {
            ('\\', Some(next @ ('$' | '\\' | '`'))) => {
                plain.push(*next);
                signs.next();
            }
            ('`', _) => return None,
            ('$', Some(next)) if next.is_ascii_alphanumeric() || "_{(@*#?$!-".contains(*next) => return None,
            _ => plain.push(sign),
        }
    }
    Some(plain)
}

/// Returns the folder in which a command runs that changes to `folder` from `cwd`; `None` if only a shell can tell.
pub(super) fn joined(cwd: &str, folder: &str) -> Option<String> {
    let (cwd, folder) = match based(folder) {
        (Base::Here, folder) => (cwd, folder),
        (Base::Root, folder) => ("", folder),
    };
    if folder.contains(['$', '`', '*', '?']) || folder.starts_with(['~', '-']) {
        return None;
    }
    Some(match (cwd, folder) {
        (cwd, "") => cwd.to_owned(),
        (cwd, folder) if cwd.is_empty() || folder.starts_with('/') => folder.to_owned(),
        (cwd, folder) => format!("{cwd}/{folder}"),
    })
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
    fn here_documents_are_read_as_a_shell_reads_them() {
        for (opening, text, expected) in [
            ("EOF", r"a \$B \\ \`c\` \n $", r"a $B \ `c` \n $"),
            ("'EOF'", r"a \$B", r"a \$B"),
            ("EOF", r"a \$B $C", r"a \$B $C"),
            ("EOF", r"a \$B `c`", r"a \$B `c`"),
            ("EOF", r"a \$B \\$(c)", r"a \$B \\$(c)"),
        ] {
            let found = here_document(&format!("{opening}\n{text}\nEOF"));
            assert_eq!(found, Some(format!("{expected}\n")), "{text}");
        }
    }

    #[test]
    fn folders_are_known_without_a_shell_or_not_at_all() {
        for (cwd, folder, expected) in [
            ("", "a", Some("a")),
            ("b", "a", Some("b/a")),
            ("b", "/a", Some("/a")),
            ("b", "$PWD", Some("b")),
            ("b", "${PWD}/a", Some("b/a")),
            ("b", "$GITHUB_WORKSPACE", Some("")),
            ("", "$GITHUB_WORKSPACE/a", Some("a")),
            ("", "$PWD_OF/a", None),
            ("", "$(git rev-parse --show-toplevel)", None),
            ("", "${W}/packages", None),
            ("", "`pwd`", None),
            ("", "packages/*", None),
            ("", "~/a", None),
            ("", "-", None),
            ("", "app/[id]", Some("app/[id]")),
        ] {
            assert_eq!(joined(cwd, folder).as_deref(), expected, "{cwd} {folder}");
        }
    }
}
