//! Tables that a test goes through: lists of cases by their names, and the rows of its loops.

use std::ops::RangeInclusive;

use super::cells;
use crate::syntax::{At, is_empty};

/// Longest text of what a loop goes through that is read, in bytes.
const MAX_TEXT: usize = 200_000;
/// Longest text of what a loop goes through that is kept, in bytes.
const MAX_OVER: usize = 400;
/// Most items of a table, and most times that loops go through one; more count as so many.
const MAX_ITEMS: usize = 1_000_000;
/// Most loops of one test.
const MAX_LOOPS: usize = 50;

/// Returns the number of rows of each loop of a body that goes through a table of the file.
pub(super) fn of_loops(body: At<'_>) -> Vec<usize> {
    loops(body)
        .take(MAX_LOOPS)
        .filter_map(|at| Some(if leaves_at_once(at) { 1 } else { len(items(at)?)? }))
        .collect()
}

/// Returns the loops of a body that go through something.
fn loops(body: At<'_>) -> impl Iterator<Item = At<'_>> {
    const KINDS: &[&str] = &["for_statement", "for_in_statement", "enhanced_for_statement", "for_expression"];
    body.descendants().into_iter().filter(|at| KINDS.contains(&at.kind()))
}

/// Returns the tokens of the tables that the loops of a body go through and that stand outside of it.
pub(super) fn of_tables(body: At<'_>) -> Vec<String> {
    let own = body.node.byte_range();
    let outside = loops(body)
        .filter_map(items)
        .filter_map(named)
        .filter(|table| !own.contains(&table.node.start_byte()));
    outside.take(MAX_LOOPS).flat_map(cells::of_table).collect()
}

/// Returns the table that a name stands for.
pub(super) fn named(name: At<'_>) -> Option<At<'_>> {
    let name = if name.kind() == "reference_expression" { name.field("value")? } else { name };
    name.given.filter(|_| name.kind() == "identifier")?.value(name).filter(|table| len(*table).is_some())
}

/// Loop over what may hold nothing.
#[derive(Clone, Debug)]
pub(crate) struct Looped {
    /// Its first and its last line.
    pub(crate) lines: RangeInclusive<usize>,
    /// Tokens of what it goes through, joined by blanks.
    pub(crate) over: String,
    /// Whether it goes through what a query finds that finds nothing without a failure.
    pub(crate) is_of_query: bool,
}

/// Beginnings of the names of queries that come to an empty list if nothing is found.
const QUERIES: &[&str] =
    &["queryAllBy", "querySelectorAll", "getElementsBy", "find_all", "find_elements", "findElements"];

/// Returns the loops of a body that go through something of which the file does not say how much it holds.
pub(super) fn open_loops(body: At<'_>) -> Vec<Looped> {
    let open = |at: At<'_>| {
        let items = match at.kind() {
            "call_expression" | "method_invocation" => each_of(at)?,
            "for_statement" | "for_in_statement" | "enhanced_for_statement" | "for_expression" => items(at)?,
            _ => return None,
        };
        let is_open = items.text().len() <= MAX_OVER && len(items).is_none();
        is_open.then(|| {
            let over = items.normal();
            let is_query = |word: &str| QUERIES.iter().any(|start| word.starts_with(start));
            let is_of_query = over.split(' ').any(is_query);
            Looped { lines: at.line()..=at.node.end_position().row + 1, over, is_of_query }
        })
    };
    body.descendants().into_iter().filter_map(open).take(MAX_LOOPS).collect()
}

/// Returns what a node goes through, if it is a loop, or a call that does something with each item.
pub(super) fn repeated(at: At<'_>) -> Option<At<'_>> {
    match at.kind() {
        "call_expression" => each_of(at),
        "for_in_statement" => items(at),
        _ => None,
    }
}

/// Returns how often something happens that happens so often in each of so many turns.
pub(super) fn times(one: usize, other: usize) -> usize {
    one.saturating_mul(other).min(MAX_ITEMS)
}

/// Returns what a call does something with each item of: `items.forEach(…)`.
fn each_of(call: At<'_>) -> Option<At<'_>> {
    let function = call.field("function").unwrap_or(call);
    let name =
        function.field("property").or_else(|| function.field("field")).or_else(|| function.field("name"))?;
    matches!(name.text(), "forEach" | "for_each")
        .then(|| function.field("object").or_else(|| function.field("value")))?
}

/// Returns what a loop goes through.
fn items(at: At<'_>) -> Option<At<'_>> {
    let range = at.children().into_iter().find(|part| part.kind() == "range_clause");
    range.and_then(|range| range.field("right")).or_else(|| at.field("right")).or_else(|| at.field("value"))
}

/// Returns whether a loop ends in its first turn.
fn leaves_at_once(at: At<'_>) -> bool {
    let statements = at.field("body").map(|body| match body.children().as_slice() {
        // Go's block holds a list.
        [list] if list.kind() == "statement_list" => list.children(),
        children => children.to_vec(),
    });
    statements.unwrap_or_default().into_iter().any(|statement| {
        matches!(
            kind_of(statement),
            "break_statement" | "break_expression" | "return_statement" | "return_expression"
        )
    })
}

/// Returns the kind of a statement, or of the expression that is one.
fn kind_of(statement: At<'_>) -> &str {
    match statement.kind() {
        "expression_statement" => statement.children().first().map_or("", |first| first.kind()),
        kind => kind,
    }
}

/// Returns the number of items of a list, whether it is there or elsewhere in the file under a name.
pub(super) fn len(at: At<'_>) -> Option<usize> {
    if at.text().len() > MAX_TEXT {
        return None;
    }
    match at.kind() {
        "list"
        | "tuple"
        | "array"
        | "array_expression"
        | "set"
        | "object"
        | "dictionary"
        | "element_value_array_initializer"
        | "array_initializer" => Some(at.children().len()),
        "composite_literal" => at.field("body").map(|body| body.children().len()),
        "array_creation_expression"
        | "reference_expression"
        | "parenthesized_expression"
        | "expression_list"
        | "as_expression"
        | "satisfies_expression" => at
            .field("value")
            .or_else(|| at.children().into_iter().find(|inner| is_list(*inner)))
            .and_then(len),
        "macro_invocation" if at.text().starts_with("vec!") => {
            let tokens = at.children().into_iter().find(|child| child.kind() == "token_tree")?;
            Some(in_brackets(&tokens.words()))
        }
        "list_comprehension" | "generator_expression" => {
            let parts = at.children();
            let loops = parts.iter().filter(|part| part.kind() == "for_in_clause");
            let sources: Option<Vec<usize>> = loops.map(|part| len(part.field("right")?)).collect();
            let is_filtered = parts.iter().any(|part| part.kind() == "if_clause");
            let product = sources.filter(|sources| !sources.is_empty())?.into_iter().fold(1, times);
            Some(product.saturating_sub(usize::from(is_filtered)))
        }
        "identifier" => {
            let value = at.given?.value(at)?;
            if value.kind() == "nil" || is_empty(&value.normal()) { Some(0) } else { len(value) }
        }
        "subscript" | "slice_expression" => {
            let whole = at.field("value").or_else(|| at.field("operand")).and_then(len);
            let end =
                at.text().rsplit_once(':').and_then(|(_, end)| end.trim_end_matches(']').trim().parse().ok());
            end.map(|end: usize| end.min(whole.unwrap_or(MAX_ITEMS))).or(whole)
        }
        // `cases.items()` and `enumerate(cases)` of Python.
        "call" => {
            const SAME: &[&str] = &["enumerate", "sorted", "list", "tuple", "reversed", "iter"];
            let function = at.field("function")?;
            let given = at.field("arguments").map(At::children).unwrap_or_default();
            match function.field("attribute") {
                Some(name) if matches!(name.text(), "items" | "keys" | "values") => {
                    len(function.field("object")?)
                }
                None if SAME.contains(&function.text()) => len(*given.first()?),
                _ => None,
            }
        }
        "call_expression" | "method_invocation" => {
            let function = at.field("function").unwrap_or(at);
            let name = function
                .field("property")
                .or_else(|| function.field("field"))
                .or_else(|| function.field("name"))?;
            let receiver = function
                .field("object")
                .or_else(|| function.field("value"))
                .or_else(|| function.field("operand"))?;
            let given = at.field("arguments").map(At::children).unwrap_or_default();
            let number = |place: usize| given.get(place).and_then(|at| at.text().parse::<usize>().ok());
            match name.text() {
                "slice" => Some(number(1)?.min(len(receiver).unwrap_or(MAX_ITEMS))),
                "take" | "limit" => Some(number(0)?.min(len(receiver).unwrap_or(MAX_ITEMS))),
                "entries" | "keys" | "values" if receiver.text() == "Object" => len(*given.first()?),
                "iter" | "into_iter" | "stream" | "values" | "entries" | "keys" => len(receiver),
                // Without a row that is left out there would be no filter.
                "filter" => Some(len(receiver)?.saturating_sub(1)),
                // `Stream.of(…)` and `List.of(…)`.
                "of" | "asList" => Some(given.len()),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_list(at: At<'_>) -> bool {
    matches!(
        at.kind(),
        "list"
            | "tuple"
            | "array"
            | "array_expression"
            | "array_initializer"
            | "identifier"
            | "composite_literal"
            | "macro_invocation"
            | "slice_expression"
            | "call_expression"
    )
}

/// Returns the number of items between the outer brackets of some tokens.
fn in_brackets(words: &[&str]) -> usize {
    let (mut depth, mut items, mut is_open) = (0_usize, 0, false);
    for word in words.get(1..words.len().saturating_sub(1)).unwrap_or_default() {
        match *word {
            "," if depth == 0 => {
                is_open = false;
                continue;
            }
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        items += usize::from(!is_open);
        is_open = true;
    }
    items
}
