//! Values that names are given in a file, read once: a file can have thousands of tests that go by one table.

use std::collections::BTreeMap;
use std::ops::Range;

use super::At;

/// Levels below a block at which its statements give values to names.
const DEPTH: usize = 3;

/// Most values of one name that are looked at, the nearest ones.
const MAX_LOOKED_AT: usize = 1_000;

/// The values of all names of a file, and its functions.
#[derive(Default)]
pub(crate) struct Given<'a> {
    values: BTreeMap<&'a str, Vec<Value<'a>>>,
    /// Functions by their names, and what else such names stand for.
    functions: BTreeMap<&'a str, At<'a>>,
}

/// A value that a name is given.
struct Value<'a> {
    /// The block whose statement gives it.
    block: Range<usize>,
    /// The end of that statement.
    end: usize,
    given: At<'a>,
}

impl<'a> Given<'a> {
    /// Reads a file.
    pub(crate) fn of(root: At<'a>) -> Self {
        let mut found = Self::default();
        let mut waiting: Vec<(At<'a>, [Option<At<'a>>; DEPTH])> = vec![(root, [None; DEPTH])];
        while let Some((at, above)) = waiting.pop() {
            let given = given(at);
            if let Some((name, value)) = given {
                found.add(name, value, at, above);
            }
            if let Some((name, function)) = function(at).or(given) {
                found.functions.entry(name).or_insert(function);
            }
            // What stands in a value is not given by the statements around it.
            let [one, two, _] = if given.is_some() { [None; DEPTH] } else { above };
            let above = [Some(at), one, two];
            waiting.extend(at.children().into_iter().rev().map(|child| (child, above)));
        }
        for values in found.values.values_mut() {
            values.sort_by_key(|value| value.end);
        }
        found
    }

    /// Returns the first function of the file that has a name.
    pub(crate) fn function(&self, name: &str) -> Option<At<'a>> {
        self.functions.get(name).copied()
    }

    fn add(&mut self, name: &'a str, value: At<'a>, at: At<'a>, above: [Option<At<'a>>; DEPTH]) {
        let values = self.values.entry(name).or_default();
        let mut statement = at;
        for block in above.into_iter().flatten() {
            let end = statement.node.end_byte();
            values.push(Value { block: block.node.byte_range(), end, given: value });
            statement = block;
        }
    }

    /// Returns what a name stands for: the last value that it was given before, in the innermost block around it.
    pub(crate) fn value(&self, at: At<'a>) -> Option<At<'a>> {
        let values = self.values.get(at.text())?;
        let start = at.node.start_byte();
        let before = &values[..values.partition_point(|value| value.end <= start)];
        let around = before.iter().rev().take(MAX_LOOKED_AT).filter(|value| value.block.contains(&start));
        // They come backwards, and of several in one block the first is taken, which is the last one given.
        let innermost = around.min_by_key(|value| value.block.len());
        innermost.map(|found| At { given: at.given, ..found.given })
    }
}

/// Returns the name of a function that a node declares, with the function.
fn function(at: At<'_>) -> Option<(&str, At<'_>)> {
    const KINDS: &[&str] = &[
        "function_definition",
        "function_declaration",
        "function_item",
        "method_declaration",
        "method_definition",
    ];
    KINDS.contains(&at.kind()).then(|| Some((at.field("name")?.text(), at))).flatten()
}

/// Returns the name that a node gives a value, with the value.
fn given(at: At<'_>) -> Option<(&str, At<'_>)> {
    let is_given = matches!(
        at.kind(),
        "assignment"
            | "variable_declarator"
            | "assignment_expression"
            | "short_var_declaration"
            | "assignment_statement"
            | "const_item"
            | "static_item"
            | "let_declaration"
            | "var_spec"
    );
    if !is_given {
        return None;
    }
    let name = at.field("left").or_else(|| at.field("name")).or_else(|| at.field("pattern"))?;
    let value = at.field("right").or_else(|| at.field("value"))?;
    Some((name.text(), single(value)))
}

/// Returns the only expression of Go's lists of them.
fn single(at: At<'_>) -> At<'_> {
    match at.children().as_slice() {
        [only] if at.kind() == "expression_list" => *only,
        _ => at,
    }
}
