//! Diffs that are given as the text of a file: written to it, their signs would become part of its lines.

use patch::{apply, sections};

use super::file_kind::FileKind;
use super::misquoted_file::{begins_with_fence, from_fence};

/// Returns whether the text for a file is a diff: in a fence that says so, or a hunk that fits the `old` text.
pub(super) fn is_diff(name: &str, text: &str, old: Option<&str>) -> bool {
    let kind = FileKind::of(name);
    if kind.is_patch() {
        return false;
    }
    is_in_fence(name, text)
        || old.map_or_else(|| !kind.may_hold_patches() && is_of_new_file(text), |old| fits(text, old))
}

/// Returns why a diff is not written.
pub(super) fn refusal(argument: &str, path: &str) -> String {
    format!(
        "{argument} is a diff, whose signs would be written to {path} as text; nothing was changed: apply it: \
         apply_patch(path={path:?}, patch=…), or give the text itself, without signs"
    )
}

/// Returns whether a text is in a fence for diffs that cannot be part of it.
fn is_in_fence(name: &str, text: &str) -> bool {
    let first = from_fence(text).and_then(|fenced| fenced.lines().next()).unwrap_or_default();
    let language = first.trim_start_matches(['`', '~']).trim();
    matches!(language, "diff" | "patch" | "udiff") && begins_with_fence(name, text)
}

/// Returns whether a text is a hunk that says where it belongs, or both what it adds and beside what.
fn fits(text: &str, old: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let has_header = lines.next_if(|line| line.starts_with("@@")).is_some();
    let (added, others): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with('+'));
    let is_hunk = others.iter().all(|line| line.starts_with([' ', '-', '\\', '@']))
        && !others.is_empty()
        && (has_header || !added.is_empty());
    is_hunk
        && sections(text).is_ok_and(|sections| match sections.as_slice() {
            [one] => {
                // One that names its file may be meant for another.
                matches!(one.paths(&|_| false), Ok(None))
                    && apply(old, &one.patch).is_ok_and(|applied| applied.shift.is_none())
            }
            _ => false,
        })
}

/// Returns whether a text is a hunk that makes a file, with its header.
fn is_of_new_file(text: &str) -> bool {
    let mut lines = text.lines();
    lines.next().is_some_and(|line| line.starts_with("@@ -0,0 +") && line.contains(" @@"))
        && lines.all(|line| line.starts_with(['+', '\\']) || line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_are_told_from_text() {
        let old = Some("a\nb\n");
        for (name, text, old, expected) in [
            ("a.sh", "```diff\n a\n-b\n+c\n```\n", old, true),
            ("a.sh", "```diff\n+a\n```\n", None, true),
            ("a.yml", "~~~ patch\n+a\n", None, true),
            ("a.yml", "This is the change:\n```diff\n+a\n```\n", None, true),
            ("a.py", "```diff\n-x = 1\n+x = 2\n```\n", None, true),
            ("a.sh", "```sh\na\n```\n", old, false),
            ("a.md", "```diff\n-x\n+y\n```\n", old, false),
            ("a.sh", " a\n-b\n+c\n", old, true),
            ("a.md", " a\n-b\n+c\n", old, true),
            ("a.sh", "@@\n-b\n", old, true),
            ("a.sh", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", old, true),
            ("a.diff", " a\n-b\n+c\n", old, false),
            ("a.golden", "--- a/b\n+++ b/b\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", old, false),
            // It is for another text.
            ("a.sh", " a\n-x\n+c\n", old, false),
            // A list of what was there.
            ("a.yml", "-a\n-b\n", old, false),
            ("a.md", "+ a\n+ b\n", old, false),
            ("a.md", "- a\n- b\n+ c\n", old, false),
            ("a.sh", "@@ -0,0 +1,2 @@\n+a\n+b\n", None, true),
            ("a.md", "@@ -0,0 +1,2 @@\n+a\n+b\n", None, false),
            ("a.sh", "+a\n+b\n", None, false),
        ] {
            assert_eq!(is_diff(name, text, old), expected, "{name} {text:?} {old:?}");
        }
    }
}
