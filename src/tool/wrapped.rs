//! Wrappings of arguments: objects in objects, lists and texts, as some models and servers hand them over.

use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::lenient_json;
use super::misquoted::Escapes;
use super::repeated_name::repeated;
use super::resolved_call::UnresolvedCall;
use crate::base::text::{counted, shortened, without_fence};

/// Names under which all arguments of a call are handed over together.
const WRAPPERS: [&str; 9] = [
    "arguments",
    "parameters",
    "params",
    "input",
    "args",
    "kwargs",
    "tool_input",
    "tool_parameters",
    "toolInput",
];
/// Names of what may stand beside them, and is no argument.
const BESIDE: [&str; 6] = ["name", "tool", "tool_name", "toolName", "id", "type"];

/// Returns the arguments as an object: given as one, as JSON text of one, in elements, or as the one text that a tool takes.
pub(super) fn object(arguments: &Value) -> Result<Arguments, UnresolvedCall> {
    match arguments {
        Value::Object(object) => unwrapped(object.clone()),
        Value::String(text) => of_text(text).and_then(unwrapped),
        Value::Array(items) => match items.as_slice() {
            [] => Ok(Map::new()),
            [one @ (Value::Object(_) | Value::String(_))] => object(one),
            several if several.iter().all(Value::is_object) => Err(too_many(several.len())),
            _ => Ok(Map::from_iter([("input".to_owned(), arguments.clone())])),
        },
        _ => Ok(Map::new()),
    }
}

/// Returns the object that another one does nothing but hold.
fn unwrapped(object: Arguments) -> Result<Arguments, UnresolvedCall> {
    let mut inner = object.iter().filter(|(name, _)| !BESIDE.contains(&name.as_str()));
    let (Some((name, value)), None) = (inner.next(), inner.next()) else { return Ok(object) };
    if !WRAPPERS.contains(&name.as_str()) {
        return Ok(object);
    }
    match value {
        Value::Object(inner) => unwrapped(inner.clone()),
        Value::String(text) if text.trim_start().starts_with('{') => match lenient_object(text)? {
            Some(inner) => unwrapped(inner),
            None => Ok(object),
        },
        _ => Ok(object),
    }
}

/// Returns the object that a text is meant as, or `None` if it is none.
fn lenient_object(text: &str) -> Result<Option<Arguments>, UnresolvedCall> {
    let Some(json) = lenient_json::rewritten(text) else { return Ok(None) };
    check_names(&json)?;
    match serde_json::from_slice(json.as_bytes()) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        _ => Ok(None),
    }
}

/// Refuses arguments in which a name has two values.
pub(super) fn check_names(json: &str) -> Result<(), UnresolvedCall> {
    let Some(name) = repeated(json) else { return Ok(()) };
    Err(UnresolvedCall(format!(
        "Invalid arguments: `{}` has two values in one object, and nothing was done; make one call for each, all in one turn, or give \
         several edits of one file as a list: edit_file(path=…, edits=[{{\"old_str\": …, \"new_str\": …}}, …])",
        shortened(&name, 100)
    )))
}

fn of_text(text: &str) -> Result<Arguments, UnresolvedCall> {
    let plain = without_fence(text.trim());
    check_names(plain)?;
    match serde_json::from_slice(plain.as_bytes()) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(list @ Value::Array(_)) if plain.starts_with("[{") => object(&list),
        Err(error) if plain.starts_with('{') => nearly_object(plain, &error),
        _ if plain.is_empty() => Ok(Map::new()),
        _ => Ok(elements(plain).unwrap_or_else(|| Map::from_iter([("input".to_owned(), json!(plain))]))),
    }
}

fn too_many(objects: usize) -> UnresolvedCall {
    UnresolvedCall(format!(
        "Invalid arguments: {objects} objects in one call; make one call for each, all in one turn"
    ))
}

/// Returns the arguments in a text that is meant as an object. The error says what is wrong with it.
fn nearly_object(text: &str, error: &serde_json::Error) -> Result<Arguments, UnresolvedCall> {
    let objects: Vec<Value> =
        serde_json::Deserializer::from_str(text).into_iter().map_while(Result::ok).collect();
    if objects.len() > 1 {
        return Err(too_many(objects.len()));
    }
    if let Some(object) = lenient_object(text)? {
        return Ok(object);
    }
    if error.is_eof() {
        return Err(UnresolvedCall(format!(
            "Invalid arguments: not valid JSON: the call was cut off after {} of arguments, and nothing of it was done; make it \
             again, smaller: a long file in parts (write_file, then write_file with mode=\"append\"), many edits in several calls",
            counted(text.chars().count(), "character", "s")
        )));
    }
    Err(UnresolvedCall(format!(
        "Invalid arguments: not valid JSON: {error}; within a string, write \\n for a line end, \\\" for a quote and \\\\ for a backslash"
    )))
}

/// Returns the arguments in a text of elements alone: `<path>a.py</path>`, or `<parameter name="path">a.py</parameter>`.
fn elements(text: &str) -> Option<Arguments> {
    let mut arguments = outer_elements(text)?;
    for _ in 0..lenient_json::MAX_DEPTH {
        // An element around all others says nothing.
        let inner = match arguments.iter().collect::<Vec<_>>().as_slice() {
            [(_, Value::String(inner))] => outer_elements(inner),
            _ => None,
        };
        match inner {
            Some(inner) => arguments = inner,
            None => return Some(arguments),
        }
    }
    None
}

/// Returns the elements of a text by name, with what is in each as it stands.
fn outer_elements(text: &str) -> Option<Arguments> {
    let mut arguments = Map::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (tag, after) = rest.strip_prefix('<')?.split_once('>')?;
        let (element, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        };
        let (value, after) = after.split_once(&format!("</{element}>"))?;
        let name = match attributes.trim().strip_prefix("name=") {
            Some(name) => name.trim_matches(['"', '\'']),
            None => element,
        };
        if !is_name(element) || !is_name(name) {
            return None;
        }
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = json!(value.strip_suffix('\n').unwrap_or(value));
        if arguments.insert(name.to_owned(), value).is_some() {
            return None;
        }
        rest = after.trim_start();
    }
    Some(arguments)
}

/// Returns arguments that are written as those of a function, `path="a.py", start_line=2`, or a line each, `path: a.py`; `None` if any
/// of their names is not `known`.
pub(super) fn keyword_arguments(text: &str, known: &dyn Fn(&str) -> bool) -> Option<Arguments> {
    let text = text.trim();
    let call = || {
        let (name, inner) = text.strip_suffix(')')?.split_once('(')?;
        name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.')).then_some(inner)
    };
    let mut rest = call().unwrap_or(text).trim();
    let mut arguments = Map::new();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let (name, after) = rest.split_at(end);
        let after = after.trim_start();
        let value = after.strip_prefix(['=', ':'])?.trim_start();
        if !known(name) {
            return None;
        }
        let (value, after) = quoted(value).unwrap_or_else(|| {
            let (value, after) = value.split_once([',', '\n']).unwrap_or((value, ""));
            (value.trim().to_owned(), after)
        });
        if arguments.insert(name.to_owned(), json!(value)).is_some() {
            return None;
        }
        rest = after.trim_start_matches([',', ' ', '\n', '\t']);
    }
    (!arguments.is_empty()).then_some(arguments)
}

/// Returns the text in the quotes that another begins with, and what is behind them. Where line ends are written as such, what looks
/// like one is part of the text.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let inner = &text[1..];
    let mut is_escaped = false;
    let end = inner.find(|c: char| {
        let is_end = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    let (value, after) = (&inner[..end], &inner[end + 1..]);
    if value.contains('\n') {
        return Some((value.replace(&format!("\\{quote}"), &quote.to_string()), after));
    }
    Some((Escapes::ALL.apply_to(value), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_out_of_what_is_around_them() {
        let expected = json!({"path": "a.py"});
        for given in [
            json!({"input": {"path": "a.py"}}),
            json!({"parameters": {"arguments": {"path": "a.py"}}}),
            json!({"name": "read_file", "arguments": "{\"path\": \"a.py\"}"}),
            json!([{"path": "a.py"}]),
            json!("[{\"path\": \"a.py\"}]"),
            json!("```json\n{\"path\": \"a.py\"}\n```"),
            json!("<path>a.py</path>"),
            json!("<arguments>\n<path>\na.py\n</path>\n</arguments>"),
            json!("<parameter name=\"path\">a.py</parameter>"),
        ] {
            assert_eq!(object(&given).map(Value::Object), Ok(expected.clone()), "{given}");
        }
        for given in [json!("ls -a"), json!("a < b > c"), json!({"input": "ls", "cwd": "x"})] {
            let found = object(&given).expect("arguments");
            assert!(found.contains_key("input"), "{given}: {found:?}");
        }
        assert!(object(&json!([{"path": "a"}, {"path": "b"}])).is_err());
        let deep = |levels: usize| {
            let (open, close): (Vec<String>, Vec<String>) =
                (0..levels).map(|level| (format!("<e{level}>"), format!("</e{level}>"))).unzip();
            open.concat() + "x" + &close.into_iter().rev().collect::<String>()
        };
        assert!(elements(&deep(100)).is_some());
        assert_eq!(elements(&deep(200)), None);
        assert_eq!(elements("<path>a</path><path>b</path>"), None);
        let twice = r#"{"old_str": "a", "new_str": "b", "old_str": "c", "new_str": "d"}"#;
        for given in [json!(twice), json!({"arguments": twice}), json!(twice.replace('"', "'"))] {
            let error = object(&given).expect_err("two edits").to_string();
            assert!(error.contains("`old_str` has two values in one object"), "{error}");
        }
        assert!(object(&json!("{'path': 'a', 'path': 'a'}")).is_ok());
    }

    #[test]
    fn keyword_arguments_have_known_names() {
        let known = |name: &str| matches!(name, "path" | "start_line");
        for (text, expected) in [
            ("path=\"a.py\", start_line=2", Some(json!({"path": "a.py", "start_line": "2"}))),
            ("path: a.py", Some(json!({"path": "a.py"}))),
            ("read_file(path='a, b.py')", Some(json!({"path": "a, b.py"}))),
            ("path=\"a\\n\\\"b\\\" \\d\\\\n\"", Some(json!({"path": "a\n\"b\" \\d\\n"}))),
            ("path='it\\'s\n\\n', start_line=2", Some(json!({"path": "it's\n\\n", "start_line": "2"}))),
            ("path='a', path='b'", None),
            ("path='a' ; echo", None),
            ("FOO=1 make", None),
            ("a.py", None),
        ] {
            assert_eq!(keyword_arguments(text, &known).map(Value::Object), expected, "{text}");
        }
    }
}
