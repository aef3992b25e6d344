//! Forms in which models write paths besides the plain one: in quotes, with the prefixes of a diff or a variable before them, and
//! with lines behind them. What is taken off must not make another file of one that is to be written: a call that changes something
//! keeps whatever may be part of a name.

use std::borrow::Cow;

use workspace::{FileError, LastLink, Workspace, WorkspacePath};

/// Beginnings of a path that stand for the folder in which a shell runs.
const HERE: [&str; 3] = ["$PWD", "${PWD}", "$(pwd)"];

/// Beginnings of a path that stand for the root of the checkout.
const ROOT: [&str; 4] = ["$GITHUB_WORKSPACE", "${GITHUB_WORKSPACE}", "$WORKSPACE", "${WORKSPACE}"];

/// Folder that the rest of a path begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// The one in which a shell runs.
    Here,
    /// The root of the checkout.
    Root,
}

/// Returns the folder that a path begins at, where a variable says it, and what is behind that.
pub(super) fn based(path: &str) -> (Base, &str) {
    let behind = |starts: &[&str]| {
        let rest = starts.iter().find_map(|start| path.strip_prefix(start))?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    };
    match (behind(&HERE), behind(&ROOT)) {
        (Some(rest), _) => (Base::Here, rest),
        (None, Some(rest)) => (Base::Root, rest),
        (None, None) => (Base::Here, path),
    }
}

/// Parses a path from the root of the checkout. If there is nothing at it, as the call sees the files, what is around it is left out.
pub(super) fn parsed(given: &str, workspace: &dyn Workspace) -> Result<WorkspacePath, FileError> {
    parsed_in(None, given, workspace)
}

/// Parses a path from a folder, as [`parsed`] does from the root.
pub(super) fn parsed_in(
    folder: Option<&WorkspacePath>,
    given: &str,
    workspace: &dyn Workspace,
) -> Result<WorkspacePath, FileError> {
    let below = |path: &str| match folder {
        Some(folder) if !path.starts_with('/') => workspace.parse(&format!("{folder}/{path}")),
        _ => workspace.parse(path),
    };
    let as_given = below(given);
    let (base, plain) = based(unquoted(given));
    let plain: Cow<'_, str> =
        if plain.contains('/') { plain.into() } else { plain.replace('\\', "/").into() };
    let is_there = |path: &WorkspacePath| {
        let resolved = workspace.resolve(path, LastLink::Keep);
        resolved.is_ok_and(|path| matches!(workspace.stat(&path), Ok(Some(_))))
    };
    if plain.is_empty() || plain == given || as_given.as_ref().is_ok_and(is_there) {
        return Ok(as_given?);
    }
    Ok(match base {
        Base::Here => below(&plain)?,
        Base::Root => workspace.parse(&plain)?,
    })
}

/// Returns a path without the prefix that a diff puts before it, `a/` or `b/`. Whether it is one, only the workspace can tell.
pub(super) fn without_diff_prefix(path: &str) -> Option<&str> {
    path.strip_prefix("a/").or(path.strip_prefix("b/")).filter(|rest| !rest.is_empty())
}

/// Returns a text without quotes, blanks, or an element around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let element = || {
        let (_, inner) = text.strip_prefix('<')?.split_once('>')?;
        inner.rsplit_once("</").map(|(inner, _)| inner.trim())
    };
    let text = element().unwrap_or(text);
    let quoted = ['`', '"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.unwrap_or(text)
}

/// A path with lines behind it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LinesBehind<'a> {
    /// The path alone.
    pub(super) path: &'a str,
    /// The first line.
    pub(super) start: i64,
    /// The last line, if there is a range.
    pub(super) end: Option<i64>,
}

/// Returns the lines that are written behind a path, as compilers (`a.py:12`, `a.py:12:5`), links (`a.py#L2-L4`) and people (`a.py:2-4`)
/// do.
pub(super) fn lines_behind(text: &str) -> Option<LinesBehind<'_>> {
    let number = |text: &str| text.trim_start_matches(['L', 'l']).parse().ok().filter(|line| *line > 0);
    let range = |path, lines: &str| match lines.split_once(['-', '–']) {
        Some((start, end)) => Some(LinesBehind { path, start: number(start)?, end: Some(number(end)?) }),
        None => Some(LinesBehind { path, start: number(lines)?, end: None }),
    };
    let (path, lines) = text.rsplit_once([':', '#'])?;
    // The last number of two is a column.
    let with_column = || {
        let (path, line) = path.rsplit_once(':')?;
        number(lines).and(range(path, line))
    };
    with_column().or_else(|| range(path, lines)).filter(|found| !found.path.is_empty())
}

#[cfg(test)]
mod tests {
    use workspace::{DiskWorkspace, OverlayWorkspace};

    use super::*;

    #[test]
    fn lines_behind_paths_are_found() {
        for (text, expected) in [
            ("a.py:12", Some(("a.py", 12, None))),
            ("a.py:12:5", Some(("a.py", 12, None))),
            ("a.py:2-4", Some(("a.py", 2, Some(4)))),
            ("a.py#L2-L4", Some(("a.py", 2, Some(4)))),
            ("a.py#L7", Some(("a.py", 7, None))),
            ("a.py", None),
            ("a.py#intro", None),
            (":3", None),
        ] {
            let found = lines_behind(text).map(|found| (found.path, found.start, found.end));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_is_around_a_path_is_left_out_unless_it_is_part_of_a_name() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("src")).expect("a folder");
        std::fs::write(folder.path().join("src/`odd`"), "").expect("a file");
        let disk = DiskWorkspace::open(folder.path()).expect("a folder");
        let overlay = OverlayWorkspace::new(std::sync::Arc::new(disk));
        // What is planned alone counts like what is on the disk.
        let planned = overlay.parse("src/'planned'").expect("a path");
        let planned = overlay.resolve(&planned, LastLink::Keep).expect("a place");
        overlay.write(&planned, b"").expect("a file");
        for (text, expected) in [
            ("`src/app.py`", "src/app.py"),
            (" src/app.py ", "src/app.py"),
            ("<path>src/app.py</path>", "src/app.py"),
            ("a/src/app.py", "a/src/app.py"),
            ("src\\app.py", "src/app.py"),
            ("$PWD/src/app.py", "src/app.py"),
            ("src/app.py:3", "src/app.py:3"),
            ("src/`odd`", "src/`odd`"),
            ("src/'planned'", "src/'planned'"),
        ] {
            let found = parsed(text, &overlay).map(|path| path.to_string()).ok();
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        assert!(parsed("`/etc/passwd`", &overlay).is_err());
        assert!(parsed("$PWD/../x", &overlay).is_err());
    }
}
