//! Values of arguments as models write them: numbers and lists as text, one argument under several names.

use serde_json::Value;

use super::arguments::Arguments;

/// Takes the first of several arguments out of a call.
pub(super) fn take(arguments: &mut Arguments, names: &[&str]) -> Option<Value> {
    names.iter().filter_map(|name| arguments.remove(*name)).find(|value| !value.is_null())
}

/// Takes the first of several arguments, if it is a number. What is none stays, for the tool to complain of.
pub(super) fn take_number(arguments: &mut Arguments, names: &[&str]) -> Option<i64> {
    let name = names.iter().find(|name| arguments.contains_key(**name))?;
    let number = number(arguments.get(*name)?)?;
    arguments.remove(*name);
    Some(number)
}

/// Returns a whole number, which may be written as text.
pub(super) fn number(value: &Value) -> Option<i64> {
    let whole = |real: &f64| real.fract() == 0.0;
    value
        .as_i64()
        .or_else(|| format!("{:.0}", value.as_f64().filter(whole)?).parse().ok())
        .or_else(|| value.as_str()?.trim().parse().ok())
}

pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Returns a value that was given as JSON text.
pub(super) fn parsed(value: Value) -> Value {
    match &value {
        Value::String(text) => serde_json::from_slice(text.as_bytes()).unwrap_or(value),
        _ => value,
    }
}
