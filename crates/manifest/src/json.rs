//! JSON, with comments and trailing commas where people have them.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstInputValue, CstNode, CstRootNode, ObjectPropName};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::change::{Change, Edit, Step};
use crate::value::Value;
use crate::{ManifestError, line_of};

/// What is read: JSON as programs of its surroundings write it, and none of JSON5.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

pub(crate) fn load(text: &str) -> Result<Value, ManifestError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options())
        .map_err(|error| syntax(text, error.range().start, error.kind().to_string()))?;
    let value = parsed.value.ok_or_else(|| syntax(text, 0, "the file is empty".to_owned()))?;
    read(text, &value)
}

fn syntax(text: &str, byte: usize, message: String) -> ManifestError {
    ManifestError::Syntax { line: line_of(text, byte), message }
}

fn read(text: &str, value: &ast::Value<'_>) -> Result<Value, ManifestError> {
    Ok(match value {
        ast::Value::StringLit(text) => Value::Text(text.value.to_string()),
        ast::Value::NumberLit(number) => Value::Number(number.value.to_owned()),
        ast::Value::BooleanLit(value) => Value::Bool(value.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => {
            Value::List(array.elements.iter().map(|item| read(text, item)).collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut entries: Vec<(String, Value)> = Vec::with_capacity(object.properties.len());
            let mut names = std::collections::HashSet::new();
            for property in &object.properties {
                let key = property.name.as_str().to_owned();
                if !names.insert(key.clone()) {
                    return Err(ManifestError::DuplicateKey { line: line_of(text, property.start()), key });
                }
                entries.push((key, read(text, &property.value)?));
            }
            Value::Map(entries)
        }
    })
}

pub(crate) fn edit(text: &str, edit: &Edit) -> Result<String, ManifestError> {
    if let Some(edited) = insert_within_line(text, edit) {
        return Ok(edited);
    }
    let entangled = || ManifestError::Entangled(edit.place());
    let root = CstRootNode::parse(text, &options())
        .map_err(|error| syntax(text, error.range().start, error.kind().to_string()))?;
    let mut node = root.value().ok_or_else(entangled)?;
    let (last, parents) = match (&edit.change, edit.at.split_last()) {
        (Change::Remove | Change::Rename(_), Some((last, parents))) => (Some(last), parents),
        _ => (None, &edit.at[..]),
    };
    for step in parents {
        node = below(&node, step).ok_or_else(entangled)?;
    }
    let done = match (&edit.change, last) {
        (Change::Set(value), _) => set(&root, node, edit.at.last(), value),
        (Change::Insert { key, below, value }, _) => node.as_object().map(|object| {
            object.append(key, input(&Value::nested(below, value.clone())));
        }),
        (Change::Append(item), _) => node.as_array().map(|array| drop(array.append(input(item)))),
        (Change::Remove, Some(Step::Key(key))) => {
            node.as_object().and_then(|object| object.get(key)).map(jsonc_parser::cst::CstObjectProp::remove)
        }
        (Change::Remove, Some(Step::Index(index))) => {
            node.as_array().and_then(|array| array.elements().into_iter().nth(*index)).map(CstNode::remove)
        }
        (Change::Rename(to), Some(Step::Key(key))) => {
            match node.as_object().and_then(|object| object.get(key)).and_then(|property| property.name()) {
                Some(ObjectPropName::String(name)) => {
                    name.set_raw_value(serde_json::Value::from(to.as_str()).to_string());
                    Some(())
                }
                _ => None,
            }
        }
        _ => None,
    };
    done.ok_or_else(entangled)?;
    Ok(root.to_string())
}

/// Returns the text with another entry in an object that stands within a line, which the library would spread over several.
fn insert_within_line(text: &str, edit: &Edit) -> Option<String> {
    let Change::Insert { key, below, value } = &edit.change else { return None };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options()).ok()?;
    let mut found = &parsed.value?;
    for step in &edit.at {
        found = match (found, step) {
            (ast::Value::Object(object), Step::Key(key)) => &object.get(key)?.value,
            (ast::Value::Array(array), Step::Index(index)) => array.elements.get(*index)?,
            _ => return None,
        };
    }
    let ast::Value::Object(object) = found else { return None };
    let last = object.properties.last()?.end();
    let is_bare = text[last..object.end()].trim_end_matches('}').trim().is_empty();
    if !is_bare || text[object.start()..object.end()].contains('\n') {
        return None;
    }
    let has_space = text[object.start()..].starts_with("{ ") || text[..last].contains("\": ");
    let [comma, colon] = if has_space { [", ", ": "] } else { [",", ":"] };
    let key = serde_json::Value::from(key.as_str());
    let value = written(&Value::nested(below, value.clone()));
    Some(format!("{}{comma}{key}{colon}{value}{}", &text[..last], &text[last..]))
}

/// Returns a value within a line.
fn written(value: &Value) -> String {
    match value {
        Value::List(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entry = |(key, value): &(String, Value)| {
                format!("{}: {}", serde_json::Value::from(key.as_str()), written(value))
            };
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::Null => "null".to_owned(),
        value => value.as_text().unwrap_or_default().to_owned(),
    }
}

fn below(node: &CstNode, step: &Step) -> Option<CstNode> {
    match step {
        Step::Key(key) => node.as_object()?.get(key)?.value(),
        Step::Index(index) => node.as_array()?.elements().into_iter().nth(*index),
    }
}

fn set(root: &CstRootNode, node: CstNode, last: Option<&Step>, value: &Value) -> Option<()> {
    match last {
        None => root.set_value(input(value)),
        Some(Step::Key(_)) => {
            let property = node.parent()?.as_object_prop()?;
            property.set_value(input(value));
        }
        Some(Step::Index(_)) => drop(match node {
            CstNode::Container(container) => match container {
                jsonc_parser::cst::CstContainerNode::Array(array) => array.replace_with(input(value)),
                jsonc_parser::cst::CstContainerNode::Object(object) => object.replace_with(input(value)),
                _ => return None,
            },
            CstNode::Leaf(leaf) => match leaf {
                jsonc_parser::cst::CstLeafNode::BooleanLit(it) => it.replace_with(input(value)),
                jsonc_parser::cst::CstLeafNode::NullKeyword(it) => it.replace_with(input(value)),
                jsonc_parser::cst::CstLeafNode::NumberLit(it) => it.replace_with(input(value)),
                jsonc_parser::cst::CstLeafNode::StringLit(it) => it.replace_with(input(value)),
                _ => return None,
            },
        }),
    }
    Some(())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.clone()),
        Value::Text(text) | Value::Opaque(text) => CstInputValue::String(text.clone()),
        Value::List(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Map(entries) => {
            CstInputValue::Object(entries.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
