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
        let object = || function.field("object").map(|object| place(object, root));
        let first = || {
            let first = call.field("arguments").and_then(|given| given.children().into_iter().next());
            first.map(|first| place(first, root))
        };
        let is_made = || !waits_for_other(call, root);
        let is_computed = |place: usize| given.get(place).is_none_or(|content| !is_pure(content));
        let writes = || given.get(1).is_some_and(|mode| mode.contains(['w', 'a']));
        match function.text().rsplit('.').next().unwrap_or_default() {
            "write_text" | "write_bytes" if is_computed(0) && is_made() => written.extend(object()),
            "writeFileSync" | "writeFile" | "writeTextFile" | "writeTextFileSync"
                if is_computed(1) && is_made() =>
            {
                written.extend(first());
            }
            "read_text" | "read_bytes" => read.extend(object()),
            "open" if writes() && is_made() => written.extend(first()),
            "readFileSync" | "readFile" | "readTextFile" | "readTextFileSync" | "open" => {
                read.extend(first());
            }
            _ => {}
        }
    }
    written.intersection(&read).cloned().collect()
}

/// Returns the path that a node is, also by a name of the body.
fn place(at: At<'_>, root: At<'_>) -> String {
    let value = at.given.filter(|_| at.kind() == "identifier").and_then(|given| given.value(at));
    let value = value.filter(|value| root.node.byte_range().contains(&value.node.start_byte()));
    let text = value.unwrap_or(at).normal();
    text.strip_prefix("( ").and_then(|text| text.strip_suffix(" )")).map_or(text.clone(), str::to_owned)
}

/// Returns whether a call is made only under a condition that asks nothing of what a file holds: that somebody wants the files to be
/// written, or that one is missing.
fn waits_for_other(call: At<'_>, root: At<'_>) -> bool {
    let around = std::iter::successors(call.node.parent(), tree_sitter::Node::parent);
    let mut conditions = around
        .take_while(|node| node.id() != root.node.id())
        .filter(|node| node.kind() == "if_statement")
        .filter_map(|node| node.child_by_field_name("condition"));
    conditions.any(|condition| !call.with(condition).text().contains("read"))
}
