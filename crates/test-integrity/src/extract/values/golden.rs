//! Files that a test writes and then compares with.

use std::collections::BTreeSet;

use crate::extract::arguments;
use crate::syntax::{At, is_pure};

/// Returns the paths that a body writes what it computed to, and reads, each as its tokens joined by blanks.
pub(in crate::extract) fn overwritten(root: At<'_>) -> BTreeSet<String> {
    let (mut written, mut read) = (BTreeSet::new(), BTreeSet::new());
    let calls = root.descendants().into_iter().filter(|at| matches!(at.kind(), "call" | "call_expression"));
    for call in calls {
        let Some(function) = call.field("function") else { continue };
        let given = arguments(call);
        let object = || function.field("object").map(At::normal);
        let first = || given.first().cloned();
        let is_computed = |place: usize| given.get(place).is_none_or(|content| !is_pure(content));
        let writes = || given.get(1).is_some_and(|mode| mode.contains(['w', 'a']));
        match function.text().rsplit('.').next().unwrap_or_default() {
            "write_text" | "write_bytes" if is_computed(0) => written.extend(object()),
            "writeFileSync" | "writeFile" | "writeTextFile" | "writeTextFileSync" if is_computed(1) => {
                written.extend(first());
            }
            "read_text" | "read_bytes" => read.extend(object()),
            "open" if writes() => written.extend(first()),
            "readFileSync" | "readFile" | "readTextFile" | "readTextFileSync" | "open" => {
                read.extend(first());
            }
            _ => {}
        }
    }
    written.intersection(&read).cloned().collect()
}
