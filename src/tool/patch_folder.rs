//! Patches whose paths begin at a folder, with these paths changed to those that begin at the root of the checkout.

use workspace::{Kind, LastLink};

use super::path_forms::parsed;
use super::{Context, ToolError};

/// Lines of a patch that name a file.
const NAMING: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// Git's headers that name a file without a prefix.
const RENAMING: [&str; 4] = ["rename from ", "rename to ", "copy from ", "copy to "];

/// What Git puts before the old and the new name.
const PREFIXES: [(&str, &str); 6] =
    [("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/")];

/// Returns a patch whose relative paths begin with a folder; `None` if it is not clear which parts of a diff are paths.
pub(super) fn below_folder(patch: &str, folder: &str) -> Option<String> {
    let plain = folder.trim_end_matches('/').trim_start_matches("./");
    if folder.is_empty() || plain == "." || plain.is_empty() && !folder.starts_with('/') {
        return Some(patch.to_owned());
    }
    let moved = |line: &str| {
        let (naming, path) = NAMING.iter().find_map(|naming| Some((naming, line.strip_prefix(naming)?)))?;
        let path = path.trim_start();
        Some(if path.starts_with('/') { line.to_owned() } else { format!("{naming} {plain}/{path}") })
    };
    if patch.lines().any(|line| moved(line).is_some()) {
        let lines = patch.split_inclusive('\n');
        return Some(lines.map(|line| moved(line).unwrap_or_else(|| line.to_owned())).collect());
    }
    Diff { folder: plain, hunk: None, is_named: false }.moved(patch)
}

/// Refuses a folder to which a shell could not have changed.
pub(super) fn check_folder(folder: &str, cx: &Context) -> Result<(), ToolError> {
    let path = cx.workspace.resolve(&parsed(folder, &*cx.workspace)?, LastLink::Follow)?;
    match cx.workspace.stat(&path)? {
        Some(stat) if stat.kind == Kind::Directory => Ok(()),
        _ => Err(ToolError::Refused(format!(
            "there is no folder {folder}, and nothing was done; apply the patch by a call of its own, with paths from the root of the \
             checkout: apply_patch(patch=…)"
        ))),
    }
}

/// Unified diff that is moved below a folder, line by line.
struct Diff<'a> {
    folder: &'a str,
    /// Lines of the two sides that are missing from the hunk, in one; without numbers in its header, none are.
    hunk: Option<(usize, usize)>,
    /// Whether `+++` has named the new file.
    is_named: bool,
}

impl Diff<'_> {
    fn moved(mut self, patch: &str) -> Option<String> {
        let lines: Vec<&str> = patch.split_inclusive('\n').collect();
        let (mut moved, mut at) = (String::with_capacity(patch.len()), 0);
        while let Some(&line) = lines.get(at) {
            at += 1;
            if line.starts_with("@@") {
                self.hunk = Some(missing_lines(line).unwrap_or_default());
                moved += line;
                continue;
            }
            if let Some(names) = line.strip_prefix("diff --git ") {
                (self.hunk, self.is_named) = (None, false);
                let (old, new) = git_names(names)?;
                let is_prefixed = has_prefixes(old, new);
                moved +=
                    &format!("diff --git {} {}", self.name(old, is_prefixed), self.name(new, is_prefixed));
                moved.push_str(&names[names.trim_end().len()..]);
                continue;
            }
            let new = lines.get(at).and_then(|line| line.strip_prefix("+++ "));
            if let Some((old, new)) = line.strip_prefix("--- ").zip(new) {
                let is_full = self.hunk.is_none_or(|missing| missing == (0, 0));
                if is_full {
                    let is_prefixed = has_prefixes(old, new);
                    moved +=
                        &format!("--- {}+++ {}", self.name(old, is_prefixed), self.name(new, is_prefixed));
                    (self.hunk, self.is_named, at) = (None, true, at + 1);
                    continue;
                }
                // Either the counts are wrong, or a line of the file looks like a header.
                if lines.get(at + 1).is_some_and(|line| line.starts_with("@@")) {
                    return None;
                }
            }
            moved += &self.line(line);
        }
        Some(moved)
    }

    /// Returns a line that is not one of those that begin a file or a hunk.
    fn line(&mut self, line: &str) -> String {
        let Some((old, new)) = &mut self.hunk else {
            let renaming =
                RENAMING.iter().find_map(|renaming| Some((renaming, line.strip_prefix(renaming)?)));
            if let Some((renaming, name)) = renaming {
                return format!("{renaming}{}", self.name(name, false));
            }
            if let Some(name) = line.strip_prefix("+++ ").filter(|_| !self.is_named) {
                self.is_named = true;
                return format!("+++ {}", self.name(name, has_prefixes("/dev/null", name)));
            }
            if self.is_named && line.starts_with([' ', '+', '-']) {
                self.hunk = Some((0, 0));
            }
            return line.to_owned();
        };
        match line.chars().next() {
            Some('-') => *old = old.saturating_sub(1),
            Some('+') => *new = new.saturating_sub(1),
            Some('\\') => {}
            _ => (*old, *new) = (old.saturating_sub(1), new.saturating_sub(1)),
        }
        line.to_owned()
    }

    /// Returns a name below the folder. It may be in quotes.
    fn name(&self, name: &str, is_prefixed: bool) -> String {
        let (quote, plain) = name.strip_prefix('"').map_or(("", name), |plain| ("\"", plain));
        let folder = self.folder;
        match plain.split_once('/') {
            _ if plain.starts_with('/') => name.to_owned(),
            Some((_, plain)) if is_prefixed && folder.starts_with('/') => format!("{quote}{folder}/{plain}"),
            Some((prefix, plain)) if is_prefixed => format!("{quote}{prefix}/{folder}/{plain}"),
            _ => format!("{quote}{folder}/{plain}"),
        }
    }
}

/// Returns whether two names have Git's prefixes. Where one is that of no file, the other one says it.
fn has_prefixes(old: &str, new: &str) -> bool {
    let [old, new] = [old, new].map(|name| name.trim_start_matches('"'));
    let is_nothing = |name: &str| name.starts_with("/dev/null");
    match (is_nothing(old), is_nothing(new)) {
        (false, false) => {
            PREFIXES.iter().any(|(before, after)| old.starts_with(before) && new.starts_with(after))
        }
        (true, false) => new.starts_with("b/"),
        (false, true) => old.starts_with("a/"),
        (true, true) => false,
    }
}

/// Returns the two names behind `diff --git`. They may contain blanks, so it is clear only where they are the same, where there is one
/// blank, or where one alone is before Git's prefix.
fn git_names(names: &str) -> Option<(&str, &str)> {
    let names = names.trim_end();
    let same = names.split_at_checked(names.len() / 2).and_then(|(old, new)| {
        let new = new.strip_prefix(' ')?;
        let is_prefixed = has_prefixes(old, new);
        let plain = |name| if is_prefixed { name_behind_prefix(name) } else { name };
        (plain(old) == plain(new)).then_some((old, new))
    });
    let by = |blank: &str| {
        let (at, _) = names.match_indices(blank).next().filter(|_| names.matches(blank).count() == 1)?;
        Some((&names[..at], &names[at + 1..]))
    };
    same.or_else(|| by(" ")).or_else(|| by(" b/")).or_else(|| by(" \"b/"))
}

fn name_behind_prefix(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, behind)| behind)
}

/// Returns how many lines of the old and the new side the header of a hunk says that it has.
fn missing_lines(header: &str) -> Option<(usize, usize)> {
    let mut ranges = header.strip_prefix("@@ -")?.split_whitespace();
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    let (old, new) = (ranges.next()?, ranges.next()?.strip_prefix('+')?);
    Some((count(old)?, count(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_the_folder() {
        const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";
        let below = |folder: &str| {
            below_folder(PATCH, folder).and_then(|patch| patch.lines().nth(1).map(str::to_owned))
        };
        assert_eq!(below("").as_deref(), Some("*** Add File: a"));
        assert_eq!(below("./sub/").as_deref(), Some("*** Add File: sub/a"));
        assert_eq!(below_folder("*** Delete File:a", "sub").as_deref(), Some("*** Delete File: sub/a"));
        assert_eq!(below("/w/sub").as_deref(), Some("*** Add File: /w/sub/a"));
        assert_eq!(below("/").as_deref(), Some("*** Add File: /a"));
    }

    #[test]
    fn names_in_diffs_are_below_the_folder() {
        for (diff, folder, expected) in [
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "s/t", Some("--- a/s/t/x\n+++ b/s/t/x\n@@ -1 +1 @@\n")),
            ("--- x\t2020\n+++ x\t2020\n", "s", Some("--- s/x\t2020\n+++ s/x\t2020\n")),
            ("--- a/x\n+++ b/x\n", "/w/s", Some("--- /w/s/x\n+++ /w/s/x\n")),
            ("--- /dev/null\n+++ b/x\n", "s", Some("--- /dev/null\n+++ b/s/x\n")),
            ("--- a/x\n+++ /dev/null\n", "s", Some("--- a/s/x\n+++ /dev/null\n")),
            ("+++ b/x\n@@\n+++ y\n", "s", Some("+++ b/s/x\n@@\n+++ y\n")),
            (
                "diff --git a/x y b/x y\n--- a/x y\n+++ b/x y\n",
                "s",
                Some("diff --git a/s/x y b/s/x y\n--- a/s/x y\n+++ b/s/x y\n"),
            ),
            (
                "diff --git a/x b/y\nrename from x\nrename to y\n",
                "s",
                Some("diff --git a/s/x b/s/y\nrename from s/x\nrename to s/y\n"),
            ),
            ("diff --git \"a/\\303\" \"b/\\303\"\n", "s", Some("diff --git \"a/s/\\303\" \"b/s/\\303\"\n")),
            ("diff --git a/x b/y b/x b/z\n", "s", None),
            // Lines of the file that look like headers.
            (
                "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- y\n+++ y\n rename from z\n--- a/z\n+++ b/z\n",
                "s",
                Some(
                    "--- a/s/x\n+++ b/s/x\n@@ -1,2 +1,2 @@\n--- y\n+++ y\n rename from z\n--- a/s/z\n+++ b/s/z\n",
                ),
            ),
            ("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n", "s", None),
        ] {
            assert_eq!(below_folder(diff, folder).as_deref(), expected, "{diff}");
        }
    }
}
