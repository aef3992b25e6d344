//! Values whose order a test gives up before it compares them: lists that are sorted in place, and sets made of them.

use crate::assertion::Assertion;
use crate::syntax::At;

/// Functions that sort what they are given.
const SORTING: &[&str] = &[
    "sort.Strings",
    "sort.Ints",
    "sort.Float64s",
    "sort.Slice",
    "sort.SliceStable",
    "sort.Sort",
    "slices.Sort",
    "slices.SortFunc",
    "Collections.sort",
    "java.util.Collections.sort",
    "Arrays.sort",
    "java.util.Arrays.sort",
    "random.shuffle",
];
/// Methods that sort what they are called of.
const METHODS: &[&str] =
    &["sort", "sort_unstable", "sort_by", "sort_by_key", "sort_unstable_by", "sort_unstable_by_key", "dedup"];
/// Types that have no order, or one of their own.
const TYPES: &[&str] = &["HashSet", "BTreeSet", "Set<", "set[", "frozenset", "BTreeMap<", "Multiset"];

/// Returns the names whose order is lost, with the places from which on it is.
pub(in crate::extract) fn lost(root: At<'_>) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for at in root.descendants() {
        match at.kind() {
            "call" | "call_expression" | "method_invocation" => found.extend(sorted(at)),
            "let_declaration" | "local_variable_declaration" | "variable_declarator" => {
                let kind = at.field("type").map_or("", At::text);
                let name = at
                    .field("pattern")
                    .or_else(|| at.field("name"))
                    .or_else(|| at.field("declarator").and_then(|inner| inner.field("name")));
                if let Some(name) = name.filter(|_| TYPES.iter().any(|known| kind.contains(known))) {
                    found.push((bare(name.text()), at.node.end_byte()));
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the name that a call sorts, with its place.
fn sorted(at: At<'_>) -> Option<(String, usize)> {
    let function = at.field("function");
    let text = match function {
        Some(function) => function.text().to_owned(),
        None => {
            format!("{}.{}", at.field("object").map_or("", At::text), at.field("name").map_or("", At::text))
        }
    };
    let name = if SORTING.contains(&text.as_str()) {
        at.field("arguments")?.children().first()?.text().to_owned()
    } else {
        let (receiver, method) = text.rsplit_once('.')?;
        // A sorted copy is another value.
        let is_statement = at.node.parent().is_some_and(|parent| parent.kind() == "expression_statement");
        (METHODS.contains(&method) && is_statement).then(|| receiver.to_owned())?
    };
    Some((bare(&name), at.node.end_byte()))
}

fn bare(name: &str) -> String {
    name.trim_start_matches(['&', '*']).trim_start_matches("mut ").trim().to_owned()
}

/// Notes which assertions are about a value without its order.
pub(in crate::extract) fn settle(assertions: &mut [Assertion], starts: &[usize], lost: &[(String, usize)]) {
    for (assertion, start) in assertions.iter_mut().zip(starts) {
        let is_named = |side: &str| {
            let side = side.trim_start_matches(['&', '*', ' ']);
            lost.iter().any(|(name, from)| from <= start && side == name)
        };
        let is_of_side =
            assertion.sides.as_ref().is_some_and(|(one, other)| is_named(one) || is_named(other));
        assertion.is_unordered = is_of_side || is_named(&assertion.subject);
    }
}
