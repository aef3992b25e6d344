//! Conditions that come to the same in every run: comparisons of literals, lengths of what is empty, and what is joined from these.

use crate::syntax::{At, is_empty, is_string};

/// Longest condition that is evaluated, in bytes, and how deep it may be nested.
const MAX_LENGTH: usize = 400;
const MAX_DEPTH: usize = 12;

/// What an expression of literals comes to.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Truth(bool),
    Number(f64),
    Text(String),
    /// A collection of so many items.
    Items(usize),
    Nothing,
}

impl Value {
    fn holds(&self) -> bool {
        match self {
            Self::Truth(truth) => *truth,
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Items(count) => *count > 0,
            Self::Nothing => false,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Truth(truth) => Some(f64::from(u8::from(*truth))),
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn length(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.chars().count()),
            Self::Items(count) => Some(*count),
            _ => None,
        }
    }
}

/// Returns whether a condition holds in every run, or in none; `None` if that depends.
pub(in crate::extract) fn truth(at: At<'_>) -> Option<bool> {
    let is_short = at.text().len() <= MAX_LENGTH;
    is_short.then(|| evaluated(at, 0)).flatten().map(|value| value.holds())
}

/// Returns whether an expression is nothing: `null`, `undefined` or `None`.
pub(in crate::extract) fn is_nothing(at: At<'_>) -> bool {
    at.text().len() <= MAX_LENGTH && evaluated(at, 0) == Some(Value::Nothing)
}

fn evaluated(at: At<'_>, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    let below = |at: At<'_>| evaluated(at, depth + 1);
    let text = at.text();
    match at.kind() {
        "true" | "boolean_literal" if matches!(text, "true" | "True") => Some(Value::Truth(true)),
        "false" | "boolean_literal" if matches!(text, "false" | "False") => Some(Value::Truth(false)),
        "none" | "null" | "nil" | "undefined" | "null_literal" => Some(Value::Nothing),
        kind if kind.contains("integer")
            || kind.contains("float")
            || matches!(kind, "number" | "int_literal") =>
        {
            let digits: String = text.chars().filter(|letter| *letter != '_').collect();
            digits
                .trim_end_matches(|letter: char| letter.is_ascii_alphabetic())
                .parse()
                .ok()
                .map(Value::Number)
        }
        kind if is_string(kind) => {
            let is_plain = text.starts_with(['"', '\'', '`']) && !text.contains("${") && !text.contains('\\');
            is_plain.then(|| Value::Text(text.trim_matches(['"', '\'', '`']).to_owned()))
        }
        "list" | "tuple" | "array" | "array_expression" | "tuple_expression" | "set" | "dictionary"
        | "object" => {
            let items = at.children();
            let is_spread = |item: &At<'_>| item.kind().contains("splat") || item.kind().contains("spread");
            let is_repeated = at.kind() == "array_expression" && text.contains(';');
            (!items.iter().any(is_spread) && !is_repeated).then_some(Value::Items(items.len()))
        }
        "parenthesized_expression" | "expression_list" => match at.children().as_slice() {
            [inner] => below(*inner),
            _ => None,
        },
        "not_operator" => below(at.field("argument")?).map(|value| Value::Truth(!value.holds())),
        "unary_expression" | "unary_operator" => {
            let operand = at
                .field("argument")
                .or_else(|| at.field("operand"))
                .or_else(|| at.children().first().copied())?;
            let value = below(operand)?;
            match text.chars().next()? {
                '!' => Some(Value::Truth(!value.holds())),
                '-' => value.number().map(|number| Value::Number(-number)),
                'v' if text.starts_with("void") => Some(Value::Nothing),
                _ => None,
            }
        }
        "comparison_operator" => match at.children().as_slice() {
            [one, other] => {
                let sign = at.source.get(one.node.end_byte()..other.node.start_byte())?.trim();
                compared(sign, *one, *other, depth)
            }
            _ => None,
        },
        "binary_expression" | "binary_operator" | "boolean_operator" => {
            let (one, other) = (at.field("left")?, at.field("right")?);
            let sign = at
                .field("operator")
                .map(At::text)
                .or_else(|| at.source.get(one.node.end_byte()..other.node.start_byte()))?
                .trim();
            joined(sign, one, other, depth)
        }
        "member_expression" => {
            let is_length = at.field("property").is_some_and(|name| name.text() == "length");
            let object = is_length.then(|| at.field("object")).flatten()?;
            sized(object, depth).map(length)
        }
        "call" | "call_expression" | "method_invocation" => called(at, depth),
        _ => None,
    }
}

/// Returns what `and`, `or`, a comparison or a sum comes to.
fn joined(sign: &str, one: At<'_>, other: At<'_>, depth: usize) -> Option<Value> {
    let both = || evaluated(one, depth + 1).zip(evaluated(other, depth + 1));
    match sign {
        // One side alone decides.
        "&&" | "and" | "||" | "or" => {
            let decides = matches!(sign, "||" | "or");
            let sides = [evaluated(one, depth + 1), evaluated(other, depth + 1)];
            if sides.iter().flatten().any(|side| side.holds() == decides) {
                return Some(Value::Truth(decides));
            }
            both().map(|_| Value::Truth(!decides))
        }
        "+" | "-" | "*" | "%" => {
            let (one, other) = both().and_then(|(one, other)| Some((one.number()?, other.number()?)))?;
            Some(Value::Number(match sign {
                "+" => one + other,
                "-" => one - other,
                "*" => one * other,
                _ if other == 0.0 => return None,
                _ => one % other,
            }))
        }
        _ => compared(sign, one, other, depth),
    }
}

/// Returns what a comparison of literals comes to.
fn compared(sign: &str, one: At<'_>, other: At<'_>, depth: usize) -> Option<Value> {
    if matches!(sign, "in" | "not in") {
        let value = evaluated(one, depth + 1)?;
        let items = other.children();
        let known: Option<Vec<Value>> = items.into_iter().map(|item| evaluated(item, depth + 1)).collect();
        let is_list = matches!(other.kind(), "list" | "tuple" | "set");
        return is_list
            .then(|| Value::Truth(known.is_some_and(|known| known.contains(&value)) == (sign == "in")));
    }
    let (one, other) = (evaluated(one, depth + 1)?, evaluated(other, depth + 1)?);
    let numbers = one.number().zip(other.number());
    let order = match (&one, &other) {
        (Value::Text(one), Value::Text(other)) => one.partial_cmp(other),
        _ => numbers.and_then(|(one, other)| one.partial_cmp(&other)),
    };
    let is_same = one == other || numbers.is_some_and(|(one, other)| one.to_bits() == other.to_bits());
    Some(Value::Truth(match sign {
        "==" | "===" | "is" => is_same,
        "!=" | "!==" | "is not" => !is_same,
        "<" => order?.is_lt(),
        "<=" => order?.is_le(),
        ">" => order?.is_gt(),
        ">=" => order?.is_ge(),
        _ => return None,
    }))
}

/// Returns what a call of something built in comes to.
fn called(at: At<'_>, depth: usize) -> Option<Value> {
    let given = at.field("arguments").map(At::children).unwrap_or_default();
    let function = at.field("function");
    if let (Some(name), [first]) = (function.map(At::text), given.as_slice()) {
        match name {
            "len" => return sized(*first, depth).map(length),
            "bool" | "Boolean" => {
                return evaluated(*first, depth + 1).map(|value| Value::Truth(value.holds()));
            }
            "any" | "all" => {
                return (sized(*first, depth)? == 0).then_some(Value::Truth(name == "all"));
            }
            _ => {}
        }
    }
    let receiver = at.field("object").or_else(|| {
        function.and_then(|function| function.field("value").or_else(|| function.field("object")))
    });
    let name = at.field("name").or_else(|| {
        function.and_then(|function| function.field("field").or_else(|| function.field("property")))
    })?;
    let size = sized(receiver.filter(|_| given.is_empty())?, depth)?;
    match name.text() {
        "len" | "length" | "size" | "count" => Some(length(size)),
        "is_empty" | "isEmpty" => Some(Value::Truth(size == 0)),
        _ => None,
    }
}

/// Returns the number of items of a literal, or of a collection that is made empty.
fn sized(at: At<'_>, depth: usize) -> Option<usize> {
    if is_empty(&at.normal()) {
        return Some(0);
    }
    evaluated(at, depth + 1)?.length()
}

fn length(size: usize) -> Value {
    Value::Number(f64::from(u32::try_from(size).unwrap_or(u32::MAX)))
}
