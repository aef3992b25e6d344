//! Tests of Go that stand in functions given to calls: `Describe("a", func() { It("b", func() { … }) })`.

use crate::extract::{Reader, Skip, Test};
use crate::syntax::At;

const GROUPS: &[&str] = &["Describe", "Context", "When", "DescribeTableSubtree", "Convey"];
const TESTS: &[&str] = &["It", "Specify", "DescribeTable"];

/// Reads the tests below a node; `names` are those of the groups that it is in.
pub(super) fn read<R: Reader>(
    reader: &R,
    path: &str,
    at: At<'_>,
    names: &[String],
    skip: Option<&Skip>,
    tests: &mut Vec<Test>,
) {
    let function = at.field("function").filter(|_| at.kind() == "call_expression").map_or("", At::text);
    // `P` and `X` are for what does not run, `F` for what alone does.
    let kind = function.rsplit('.').next().unwrap_or(function);
    let plain = kind
        .strip_prefix(['P', 'X', 'F'])
        .filter(|rest| GROUPS.contains(rest) || TESTS.contains(rest))
        .unwrap_or(kind);
    let is_group = GROUPS.contains(&plain);
    if !is_group && !TESTS.contains(&plain) || at.kind() != "call_expression" {
        for child in at.children() {
            read(reader, path, child, names, skip, tests);
        }
        return;
    }
    let given = at.field("arguments").map(At::children).unwrap_or_default();
    let Some(name) = given.first().map(|first| first.text().trim_matches(['"', '`']).to_owned()) else {
        return;
    };
    let names = [names, &[name]].concat();
    let has = |word: &str| given.iter().any(|given| given.text() == word);
    let own = (kind != plain && kind.starts_with(['P', 'X']) || has("Pending")).then(|| Skip {
        line: at.line(),
        is_conditional: false,
        text: kind.to_owned(),
    });
    let skip = own.as_ref().or(skip);
    let Some(body) = given
        .iter()
        .rev()
        .find(|given| given.kind() == "func_literal")
        .and_then(|function| function.field("body"))
    else {
        return;
    };
    if is_group {
        read(reader, path, body, &names, skip, tests);
        return;
    }
    let mut read = reader.body(body);
    read.skip = crate::extract::worse(skip.cloned(), read.skip.take());
    let entries = given
        .iter()
        .filter(|given| given.kind() == "call_expression" && given.text().starts_with("Entry("))
        .count();
    tests.push(Test {
        path: path.to_owned(),
        name: names.join(" > "),
        line: at.line(),
        body: read,
        focus: (kind != plain && kind.starts_with('F') || has("Focus")).then(|| at.line()),
        cases: (plain == "DescribeTable").then_some(entries),
        hidden: None,
    });
}
