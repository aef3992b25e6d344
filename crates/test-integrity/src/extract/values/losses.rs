//! Origins of what assertions compare: the value that a side comes from, by way of assignments, of statements that change it in place
//! and of functions of the file, and what is lost on that way.

use super::steps::peel;
use super::{Binding, Values};
use crate::assertion::Assertion;
use crate::assertion::origin::{ORDER, Origin, PART};
use crate::syntax::{At, is_pure};

/// Most values that are followed from one to the next.
const MAX_STEPS: usize = 8;
/// Most functions within functions that are looked into.
const MAX_DEPTH: usize = 3;
/// Longest function that is looked into, in bytes.
const MAX_FUNCTION: usize = 1_000;
/// Methods that take something out of the value that they are called of.
const REMOVING: &[&str] =
    &["pop", "remove", "discard", "retain", "removeIf", "remove_entry", "swap_remove", "splice"];

/// What a body does to the values of names on their way.
struct Way<'a> {
    root: At<'a>,
    values: &'a Values<'a>,
    /// Names of which something is lost in place, with the ends of the statements.
    lost: Vec<(String, usize, u8)>,
    /// Names of what is left of a value that is taken apart.
    rest: Vec<Binding>,
    depth: usize,
}

/// Notes what both sides of the assertions of a body come from.
pub(in crate::extract) fn settle(
    root: At<'_>,
    values: &Values<'_>,
    unordered: &[(String, usize)],
    assertions: &mut [Assertion],
    starts: &[usize],
) {
    let way = Way::of(root, values, unordered, 0);
    for (assertion, start) in assertions.iter_mut().zip(starts) {
        // What is expected are all its arguments.
        let is_listed = assertion.name.to_lowercase().contains("containsexactly");
        let sides = assertion.operands().filter(|_| !is_listed);
        let (tested, expected) = sides.unwrap_or((&assertion.subject, &assertion.text));
        if !tested.is_empty() {
            let (tested, expected) = (way.origin(tested, *start), way.origin(expected, *start));
            // What begins like a literal may be made of what is tested: `[...names()].sort()`.
            let is_swapped = is_written(&tested.core) && !is_written(&expected.core);
            assertion.origins =
                Some(Box::new(if is_swapped { (expected, tested) } else { (tested, expected) }));
        }
    }
}

/// Returns whether a value is written out in a test.
fn is_written(core: &str) -> bool {
    is_pure(core)
        || core.ends_with('}')
        || [". of (", "vec ! [", "json ! ("].iter().any(|maker| core.contains(maker))
}

impl<'a> Way<'a> {
    fn of(root: At<'a>, values: &'a Values<'a>, unordered: &[(String, usize)], depth: usize) -> Self {
        let lost = unordered.iter().map(|(name, end)| (name.clone(), *end, ORDER)).collect();
        let mut way = Self { root, values, lost, rest: Vec::new(), depth };
        let mut items: Vec<(&str, &str)> = Vec::new();
        for at in root.descendants() {
            way.rest.extend(taken_apart(at));
            items.extend(item(at));
            if let Some(name) = reduced(at) {
                let of = items.iter().rfind(|(item, _)| *item == name).map_or(name, |(_, list)| list);
                way.lost.push((of.to_owned(), at.node.end_byte(), PART));
            }
        }
        way
    }

    /// Returns what a value comes from.
    fn origin(&self, side: &str, at: usize) -> Origin {
        let (mut at, mut origin) = (at, Origin { core: side.to_owned(), lost: 0 });
        for _ in 0..MAX_STEPS {
            let (core, lost) = peel(&origin.core, &|name| self.of_helper(name));
            origin = Origin { core, lost: origin.lost | lost };
            let known = self.values.bindings.iter().map(|binding| (binding, 0));
            let bound = known
                .chain(self.rest.iter().map(|binding| (binding, PART)))
                .filter(|(binding, _)| binding.name == origin.core && binding.end <= at)
                .max_by_key(|(binding, _)| binding.end);
            let from = bound.map_or(0, |(binding, _)| binding.start);
            let in_place =
                self.lost.iter().filter(|(name, end, _)| *name == origin.core && (from..=at).contains(end));
            origin.lost |= in_place.fold(0, |all, (.., lost)| all | lost);
            let Some((binding, lost)) = bound else { break };
            origin.lost |= lost;
            // The value of a block is what it names last.
            let last = binding.value.strip_prefix("{ let ").and_then(|block| block.strip_suffix(" }"));
            (origin.core, at) = match last {
                Some(block) => (block.rsplit(' ').next().unwrap_or_default().to_owned(), binding.end - 1),
                None => (binding.value.clone(), binding.start),
            };
        }
        origin
    }

    /// Returns which argument a function of the file returns, and what is lost of it.
    fn of_helper(&self, name: &str) -> Option<(usize, u8)> {
        let function = self.root.given?.function(name).filter(|_| self.depth < MAX_DEPTH)?;
        let function = At { given: self.root.given, ..function };
        if function.text().len() > MAX_FUNCTION {
            return None;
        }
        if matches!(function.kind(), "identifier" | "attribute" | "member_expression" | "selector_expression")
        {
            let (core, lost) = peel(&format!("{} ( _ )", function.normal()), &|_| None);
            return (core == "_").then_some((0, lost));
        }
        let parameters = function.field("parameters").or_else(|| function.field("parameter"));
        let names = parameters.map(parameters_of).unwrap_or_default();
        let values = Values::of(function, &[]);
        let way = Way::of(function, &values, &super::order::lost(function), self.depth + 1);
        let mut found: Option<(usize, u8)> = None;
        for result in results(function) {
            let origin = way.origin(&result.normal(), result.node.start_byte());
            let place = names.iter().position(|(name, _)| *name == origin.core)?;
            let lost = origin.lost | names[place].1 | found.map_or(0, |(_, lost)| lost);
            if found.is_some_and(|(other, _)| other != place) {
                return None;
            }
            found = Some((place, lost));
        }
        found
    }
}

/// Returns the names of parameters, and what is lost of an argument that is taken apart.
fn parameters_of(parameters: At<'_>) -> Vec<(&str, u8)> {
    let all = parameters.children();
    let all = if all.is_empty() { vec![parameters] } else { all };
    let own = all.into_iter().filter(|given| !matches!(given.text(), "self" | "&self" | "cls"));
    own.map(|given| {
        let name = given.field("pattern").or_else(|| given.field("name")).unwrap_or(given);
        if let Some(rest) = rest_of(name) {
            return (rest, PART);
        }
        let is_typed = name.kind() == "typed_parameter";
        let name = name.children().first().filter(|_| is_typed).map_or(name.text(), |name| name.text());
        (name.trim_start_matches("mut ").trim(), 0)
    })
    .collect()
}

/// Returns the name of what is left of an object that a pattern takes apart: `{ id, ...rest }`.
fn rest_of(pattern: At<'_>) -> Option<&str> {
    let is_object = pattern.kind() == "object_pattern";
    let rest =
        is_object.then(|| pattern.children().into_iter().find(|part| part.kind() == "rest_pattern"))??;
    Some(rest.text().trim_start_matches("...").trim())
}

/// Returns the results of a function.
fn results(function: At<'_>) -> Vec<At<'_>> {
    let Some(body) = function.field("body") else { return Vec::new() };
    if !body.kind().contains("block") {
        return vec![body];
    }
    let all = body.descendants().into_iter();
    let returned = all.filter(|at| matches!(at.kind(), "return_statement" | "return_expression"));
    let mut found: Vec<At<'_>> = returned.filter_map(|at| at.children().first().copied()).collect();
    let last = body.children().into_iter().next_back();
    let is_result = |last: &At<'_>| {
        function.kind() == "function_item"
            && !last.kind().ends_with("_statement")
            && last.kind() != "let_declaration"
    };
    found.extend(last.filter(is_result));
    found
}

/// Returns the name that holds the rest of a value of JavaScript's which is taken apart.
fn taken_apart(at: At<'_>) -> Option<Binding> {
    let name = (at.kind() == "variable_declarator").then(|| at.field("name"))??;
    let (name, value) = (rest_of(name)?.to_owned(), at.field("value")?.normal());
    Some(Binding { name, value, start: at.node.start_byte(), end: at.node.end_byte() })
}

/// Returns the name of the items of a list that a loop goes through, and that of the list.
fn item(at: At<'_>) -> Option<(&str, &str)> {
    if !at.kind().contains("for_") && !matches!(at.kind(), "enhanced_for_statement" | "range_clause") {
        return None;
    }
    let name = ["left", "pattern", "name"].iter().find_map(|field| at.field(field))?;
    let list = ["right", "value"].iter().find_map(|field| at.field(field))?;
    let item = name.text().rsplit(',').next()?.trim();
    Some((item, list.text().trim_start_matches(['&', '*']).trim_start_matches("mut ")))
}

/// Returns the name of a value of which a statement takes something away, or gives something another value.
fn reduced(at: At<'_>) -> Option<&str> {
    let target = match at.kind() {
        "delete_statement" => at.children().first().copied(),
        "unary_expression" if at.text().starts_with("delete ") => at.field("argument"),
        "expression_statement" => {
            let inner = at.children().first().copied()?;
            match inner.kind() {
                "assignment" | "assignment_expression" => inner.field("left"),
                "call" | "call_expression" | "method_invocation" => return removed_of(inner),
                _ => None,
            }
        }
        "assignment_statement" => at.field("left"),
        _ => None,
    };
    let target = target?;
    target.text().contains(['.', '[']).then(|| owner(target.text()))
}

/// Returns the name of a value that a call takes something out of.
fn removed_of(call: At<'_>) -> Option<&str> {
    if call.field("function").is_some_and(|function| function.text() == "delete") {
        return Some(call.field("arguments")?.children().first()?.text());
    }
    let function = call.field("function");
    let method = match function {
        Some(function) => ["attribute", "property", "field"].iter().find_map(|name| function.field(name)),
        None => call.field("name"),
    };
    let is_removing = method.is_some_and(|method| REMOVING.contains(&method.text()));
    is_removing.then(|| owner(function.or_else(|| call.field("object")).map_or("", At::text)))
}

/// Returns the name that an expression begins with.
fn owner(text: &str) -> &str {
    text.split(['.', '[', '(', ' ']).next().unwrap_or(text)
}
