//! Values as YAML writes them, and what a plain text means there.

use granit_parser::ScalarStyle;

use crate::value::Value;

/// Returns what a scalar without quotes is.
pub(super) fn resolved(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_number(text) => Value::Number(text.to_owned()),
        _ => Value::Text(text.to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    let radix =
        |digits: &str, radix: u32| !digits.is_empty() && digits.chars().all(|sign| sign.is_digit(radix));
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let unsigned = text.trim_start_matches(['+', '-']);
    if text.len() - unsigned.len() > 1 {
        return false;
    }
    matches!(unsigned, ".inf" | ".Inf" | ".INF")
        || matches!(text, ".nan" | ".NaN" | ".NAN")
        || (unsigned.starts_with(|sign: char| sign.is_ascii_digit() || sign == '.')
            && unsigned.chars().all(|sign| sign.is_ascii_digit() || ".eE+-".contains(sign))
            && unsigned.parse::<f64>().is_ok())
}

/// Returns a scalar in the style of the one that it replaces, if that can be.
pub(super) fn scalar(value: &Value, style: ScalarStyle, is_flow: bool) -> String {
    let Value::Text(text) = value else { return plain(value) };
    match style {
        ScalarStyle::Plain | ScalarStyle::Literal | ScalarStyle::Folded if is_plain(text, is_flow) => {
            text.clone()
        }
        ScalarStyle::SingleQuoted
            if !text.contains(|sign: char| sign.is_control() || !is_printable(sign)) =>
        {
            format!("'{}'", text.replace('\'', "''"))
        }
        _ => quoted(text),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        _ => value.as_text().unwrap_or_default().to_owned(),
    }
}

/// Returns a text in double quotes, whose escapes are those of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    for sign in serde_json::Value::from(text).to_string().chars() {
        if is_printable(sign) {
            quoted.push(sign);
        } else {
            quoted += &format!("\\U{:08x}", u32::from(sign));
        }
    }
    quoted
}

fn is_printable(sign: char) -> bool {
    !matches!(sign, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns whether a text without quotes is read as that text, by YAML 1.1 as well, which many programs follow.
fn is_plain(text: &str, is_flow: bool) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let lower = text.to_ascii_lowercase();
    let is_word =
        matches!(lower.as_str(), "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | "~");
    // `1.10` is a number, `12:30` was one, and `2024-01-01` is a date; `1.2.3` is a text.
    let is_numeric = text.chars().all(|sign| sign.is_ascii_hexdigit() || "+-._:xoeTZ".contains(sign))
        && text.starts_with(|sign: char| sign.is_ascii_digit() || "+-.".contains(sign))
        && !(text.matches('.').count() > 1 && text.chars().all(|sign| sign.is_ascii_digit() || sign == '.'));
    !is_word
        && !is_numeric
        && !first.is_whitespace()
        && !text.ends_with([' ', ':'])
        && !"-?:,[]{}#&*!|>'\"%@`=<".contains(first)
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains(|sign: char| sign.is_control() || !is_printable(sign))
        && !(is_flow && text.contains([',', '[', ']', '{', '}']))
}

/// Returns a key.
pub(super) fn key(name: &str, is_flow: bool) -> String {
    let is_simple = is_plain(name, is_flow) || (name == "on" && !is_flow);
    if is_simple { name.to_owned() } else { quoted(name) }
}

/// Returns a value within a line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entry = |(name, value): &(String, Value)| format!("{}: {}", key(name, true), flow(value));
            match entries.iter().map(entry).collect::<Vec<_>>().join(", ") {
                entries if entries.is_empty() => "{}".to_owned(),
                entries => format!("{{ {entries} }}"),
            }
        }
        value => scalar(value, ScalarStyle::Plain, true),
    }
}

/// Returns a value as it stands in lines of its own, from the first sign of the first line. The others have the
/// indentation `indent`.
pub(super) fn block(value: &Value, indent: &str) -> String {
    match value {
        Value::List(items) if !items.is_empty() => {
            let item = |item: &Value| format!("- {}", block(item, &format!("{indent}  ")));
            items.iter().map(item).collect::<Vec<_>>().join(&format!("\n{indent}"))
        }
        Value::Map(entries) if !entries.is_empty() => {
            let entries = entries.iter().map(|(name, value)| entry(name, value, indent));
            entries.collect::<Vec<_>>().join(&format!("\n{indent}"))
        }
        Value::List(_) | Value::Map(_) => flow(value),
        value => scalar(value, ScalarStyle::Plain, false),
    }
}

/// Returns an entry of a mapping whose lines have the indentation `indent`.
pub(super) fn entry(name: &str, value: &Value, indent: &str) -> String {
    let name = key(name, false);
    if let Value::Text(text) = value
        && let Some(block) = literal(text, indent)
    {
        return format!("{name}: {block}");
    }
    let is_block = match value {
        Value::List(items) => !items.is_empty(),
        Value::Map(entries) => !entries.is_empty(),
        _ => false,
    };
    if is_block {
        let deeper = format!("{indent}  ");
        format!("{name}:\n{deeper}{}", block(value, &deeper))
    } else {
        format!("{name}: {}", block(value, indent))
    }
}

/// Returns a text as a block of lines below an entry with the indentation `indent`; `None` if it cannot be one.
pub(super) fn literal(text: &str, indent: &str) -> Option<String> {
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("\n{indent}  {line}") };
    let lines = text.trim_end_matches('\n').split('\n');
    is_literal(text).then(|| format!("|{}", lines.map(line).collect::<String>()))
}

/// Returns whether a text can be a block of lines: the first is not indented, and one line break is at its end.
fn is_literal(text: &str) -> bool {
    text.strip_suffix('\n').is_some_and(|text| text.contains('\n') && !text.ends_with('\n'))
        && !text.starts_with(char::is_whitespace)
        && text.chars().all(|sign| sign == '\n' || sign == '\t' || (!sign.is_control() && is_printable(sign)))
}
