//! Patches that may have been cut off, as they are where the answer of a model ends too early. Whether one was is for the model to say:
//! it is told where the patch ends, whether it was applied or not.

use patch::{Section, lacks_end};

use crate::base::text::shortened;

/// Longest part of a line that is shown.
const MAX_SHOWN: usize = 100;

/// Returns where a patch ends that has a mark of its beginning and none of its end.
fn open_end(patch: &str) -> Option<String> {
    let last = patch.lines().rfind(|line| !line.trim().is_empty()).filter(|_| lacks_end(patch))?;
    Some(format!("the patch has no `*** End Patch` and ends at `{}`", shortened(last.trim_end(), MAX_SHOWN)))
}

/// Returns a remark on a patch that was applied to a file, and perhaps to others before it.
pub(super) fn remark(patch: &str, last: &Section, path: &str) -> Option<String> {
    if let Some(end) = open_end(patch) {
        return Some(format!("[{end}; if it was cut off, send what is missing]"));
    }
    let line = patch.lines().next_back().unwrap_or_default();
    let is_open = !patch.ends_with('\n') && line.starts_with('+');
    last.patch.hunks.last().is_some_and(|hunk| hunk.lacks_added_lines(is_open)).then(|| {
        format!(
            "[{path}: the last hunk ends at `{}`, and has fewer new lines than its header says; if the patch was cut off, add what is \
             missing]",
            shortened(line.trim_end(), MAX_SHOWN)
        )
    })
}

/// Returns why a patch was refused, and where it ends if it may be a part of one.
pub(super) fn explained(patch: &str, reason: String) -> String {
    match open_end(patch) {
        Some(end) => format!("{reason}\n{end}; if it was cut off, send all of it again"),
        None => reason,
    }
}

#[cfg(test)]
mod tests {
    use patch::sections;

    use super::*;

    #[test]
    fn patches_that_may_be_cut_off_are_told() {
        const FILE: &str = "*** Begin Patch\n*** Update File: a\n@@\n-a\n+b\n";
        const DIFF: &str = "--- a/a\n+++ b/a\n";
        for (patch, told) in [
            (FILE.to_owned(), Some("ends at `+b`")),
            (format!("{FILE}@@ def f():\n"), Some("ends at `@@ def f():`")),
            (format!("{FILE}@@\n c\n"), Some("ends at ` c`")),
            (format!("{FILE}+    retu"), Some("ends at `+    retu`")),
            (format!("{FILE}*** Add File: b\n+the weekend patch\n"), Some("ends at `+the weekend patch`")),
            (FILE.replace("*** ", "***"), Some("ends at `+b`")),
            (format!("{FILE}*** End Patch\n"), None),
            (format!("```\n{FILE}*** End Patch\n```\n"), None),
            (format!("{}*** End Patch", FILE.trim_end()), None),
            (format!("{FILE}*** End Patch\n{FILE}"), Some("ends at `+b`")),
            (FILE.replace("*** Begin Patch\n", ""), None),
            (format!("{DIFF}@@ -1,3 +1,3 @@\n a\n b\n-c\n"), Some("ends at `-c`, and has fewer")),
            (
                format!("{DIFF}@@ -1,3 +1,4 @@\n a\n-b\n+c\n+    retu"),
                Some("ends at `+    retu`, and has fewer"),
            ),
            (format!("{DIFF}@@ -1,3 +1,4 @@\n a\n-b\n+c\n+d\n"), None),
            (format!("{DIFF}@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d"), None),
            (format!("{DIFF}@@ -1,3 +1,3 @@\n a\n-b\n+c\n d"), None),
        ] {
            let sections = sections(&patch).expect("a patch");
            let remark = remark(&patch, sections.last().expect("a part"), "a");
            assert_eq!(remark.is_some(), told.is_some(), "{patch:?}: {remark:?}");
            assert!(remark.unwrap_or_default().contains(told.unwrap_or_default()), "{patch:?}");
        }
    }
}
