//! Replacements in many files by other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::names::Arguments;
use super::translate::{is_true, take};
use super::translate_search::{is_regex, listed, place};

/// Gives a rename of a symbol our arguments: its name is a whole word.
pub(super) fn symbol_rename(arguments: &mut Arguments) {
    arguments.insert("whole_word".to_owned(), json!(true));
    text_replacement(arguments);
}

/// Names of what is put in place of a pattern.
const REPLACEMENTS: [&str; 8] =
    ["replacement", "replace", "new_string", "new_str", "new_name", "replace_with", "new", "with"];

/// Returns a replacement as one of a regular expression that means the same text.
fn as_template(replacement: &Value) -> Value {
    match replacement {
        Value::String(text) => json!(text.replace('\\', r"\\").replace('$', r"\$")),
        Value::Array(lines) => lines.iter().map(as_template).collect(),
        other => other.clone(),
    }
}

/// Returns a regular expression for a text as a whole word. At a sign, no word begins or ends.
fn as_word(text: &str) -> String {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let edge = |c| if is_letter(c) { r"\b" } else { "" };
    let (start, end) = (edge(text.chars().next()), edge(text.chars().next_back()));
    format!("{start}(?:{}){end}", regex::escape(text))
}

/// Gives a replacement with options as other agents have them our arguments.
pub(super) fn text_replacement(arguments: &mut Arguments) {
    if let Some(files) = take(arguments, &["files"]) {
        let files = listed(&files);
        let files = files.split(',').map(str::trim).filter(|file| !file.is_empty());
        let places =
            files.map(|file| if file.contains(['*', '?', '{', '!']) { file.to_owned() } else { place(file) });
        arguments.entry("file_pattern").or_insert(json!(places.collect::<Vec<_>>().join(",")));
    }
    let names = ["whole_word", "whole_words", "word", "match_whole_word"];
    let is_word = take(arguments, &names).as_ref().is_some_and(is_true);
    let given = [
        "pattern",
        "search",
        "find",
        "old_str",
        "old_string",
        "old_name",
        "symbol",
        "symbol_name",
        "name_path",
        "query",
        "regexp",
    ];
    if let Some(pattern) = take(arguments, &given) {
        let is_regex = is_regex(arguments) == Some(true);
        let word = pattern
            .as_str()
            .filter(|_| is_word)
            .map(|pattern| if is_regex { format!(r"\b(?:{pattern})\b") } else { as_word(pattern) });
        if word.is_some() && !is_regex {
            for name in REPLACEMENTS {
                if let Some(replacement) = arguments.get_mut(name) {
                    *replacement = as_template(replacement);
                }
            }
        }
        if word.is_some() || is_regex {
            arguments.insert("regex".to_owned(), json!(true));
        }
        arguments.insert("pattern".to_owned(), word.map_or(pattern, Value::String));
    }
}
