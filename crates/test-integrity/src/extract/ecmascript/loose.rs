//! Node's `assert` in its legacy mode, whose `equal` compares by `==`.

use crate::assertion::{Assertion, Strength};
use crate::extract::TestFile;
use crate::syntax::At;

/// Notes which assertions of a file demand less because the file imports `node:assert` rather than `node:assert/strict`.
pub(super) fn loosen(root: At<'_>, file: &mut TestFile) {
    if !is_legacy(root) {
        return;
    }
    let is_loose = |assertion: &&mut Assertion| {
        ["assert . equal (", "assert . deepEqual ("].iter().any(|call| assertion.text.starts_with(call))
    };
    let bodies = file.tests.iter_mut().map(|test| &mut test.body).chain(file.helpers.values_mut());
    for assertion in bodies.flat_map(|body| &mut body.assertions).filter(is_loose) {
        assertion.strength = assertion.strength.min(Strength::Partial);
    }
}

fn is_legacy(root: At<'_>) -> bool {
    let imports = root.children().into_iter().filter(|at| at.kind() == "import_statement");
    let names = imports.filter_map(|at| at.field("source")).map(At::text);
    names.map(|name| name.trim_matches(['"', '\''])).any(|name| matches!(name, "assert" | "node:assert"))
        && !root.source.contains("assert.strict")
}
