//! Demands on members of a response that became one on all of its text: `andExpect(jsonPath("$.id").value(4))` and
//! `isStrictlyEqualTo("{\"id\": 4}")`.

use serde_json::Value;

use crate::assertion::{Assertion, Strength};
use crate::syntax::literals;

/// Returns whether a document that a new assertion compares with has the member that a demand of a chain names by its path.
pub(super) fn is_in_document(part: &Assertion, fresh: &[&Assertion]) -> bool {
    let Some((path, rest)) = path(part) else { return false };
    let documents = fresh.iter().filter(|other| other.strength == Strength::Exact && !other.is_conditional);
    documents.filter_map(|other| document(&other.text)).any(|document| {
        member(&document, path).is_some_and(|found| demand(rest).is_some_and(|demand| demand.holds(found)))
    })
}

/// Returns the path that a demand of a chain names, and what follows it.
fn path(part: &Assertion) -> Option<(&str, &str)> {
    let path = literals(&part.text).next().filter(|path| part.is_link() && path.starts_with('$'))?;
    let (_, rest) = part.text.split_once(path)?;
    Some((path, rest.get(1..)?))
}

/// Returns the JSON that a text of tokens holds as a string.
fn document(text: &str) -> Option<Value> {
    let block = text.split("\"\"\"").nth(1).and_then(|block| serde_json::from_str(block).ok());
    let quoted = |inner: &str| {
        let text: String = serde_json::from_str(&format!("\"{inner}\"")).ok()?;
        serde_json::from_str(&text).ok()
    };
    let value = block.or_else(|| literals(text).find_map(quoted));
    value.filter(|value: &Value| value.is_object() || value.is_array())
}

/// Returns what a path leads to: `$[0].id`.
fn member<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    let mut found = document;
    let steps = path.strip_prefix('$')?.split(['.', '[']).map(|step| step.trim_end_matches(']'));
    for step in steps.filter(|step| !step.is_empty()) {
        found = match step.parse::<usize>() {
            Ok(place) => found.get(place)?,
            Err(_) => found.get(step.trim_matches(['\'', '"']))?,
        };
    }
    Some(found)
}

/// What is demanded of a member.
enum Demand {
    Value(Value),
    Size(usize),
    Presence,
}

impl Demand {
    fn holds(&self, found: &Value) -> bool {
        match self {
            Self::Value(value) => value == found,
            Self::Size(size) => found.as_array().is_some_and(|items| items.len() == *size),
            Self::Presence => true,
        }
    }
}

/// Returns what is demanded behind a path: `) . value ( 4 )`, `, hasSize ( 1 ) )`.
fn demand(rest: &str) -> Option<Demand> {
    let (before, given) = rest.rsplit_once(" ( ")?;
    let name = before.rsplit(' ').next()?;
    let given = given.trim_end_matches([' ', ')']);
    match name {
        "value" | "is" | "equalTo" | "isEqualTo" => {
            serde_json::from_str(given.trim_end_matches('L')).ok().map(Demand::Value)
        }
        "hasSize" => given.parse().ok().map(Demand::Size),
        "exists" => Some(Demand::Presence),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_documents() {
        let text = r#"f ( """[{"id": 3, "name": "a ( b"}]""" )"#;
        let document = document(text).unwrap_or_default();
        for (path, rest, expected) in [
            ("$[0].id", ") . value ( 3 ) )", true),
            ("$[0].id", ") . value ( 4 ) )", false),
            ("$[0]['id']", ", is ( 3L ) ) )", true),
            ("$", ", hasSize ( 1 ) ) )", true),
            ("$", ", hasSize ( 2 ) ) )", false),
            ("$[0].price", ") . value ( 3 ) )", false),
            ("$[0].id", ") . value ( greaterThan ( 1 ) ) )", false),
        ] {
            let found = member(&document, path).zip(demand(rest));
            assert_eq!(found.is_some_and(|(found, demand)| demand.holds(found)), expected, "{path} {rest}");
        }
        let text = r#"f ( "{\"id\": 3}" )"#;
        assert_eq!(self::document(text).and_then(|all| member(&all, "$.id").cloned()), Some(Value::from(3)));
        assert!(self::document("f ( \"3\" )").is_none());
    }
}
