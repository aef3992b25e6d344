//! Replacements in many files by other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::argument_names::names_of;
use super::argument_values::{take, text};
use super::arguments::Arguments;
use super::fitting::plain_names;
use super::resolved_call::UnresolvedCall;
use super::translate::{Changed, is_true};
use super::translate_edit::many_edits;
use super::translate_search::{extensions, is_regex, left_out, listed, place};

/// Gives a rename of a symbol our arguments: its name is a whole word.
pub(super) fn symbol_rename(arguments: &mut Arguments) -> Changed {
    arguments.insert("whole_word".to_owned(), json!(true));
    text_replacement(arguments)
}

/// Names of what is replaced.
const PATTERNS: [&str; 12] = [
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
    "needle",
];
/// Names of what is put in place of a pattern.
const REPLACEMENTS: [&str; 9] =
    ["replacement", "replace", "new_string", "new_str", "new_name", "replace_with", "new", "with", "repl"];

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

/// Names of several replacements in one call.
const SEVERAL: [&str; 4] = ["operations", "replacements", "edits", "changes"];

/// Refuses several replacements in one call: a later one would see what an earlier one has written.
fn check_one(arguments: &Arguments) -> Result<(), UnresolvedCall> {
    let call = |(old, new): (&Value, &Value)| format!("replace_text(pattern={old}, replacement={new})");
    let given = |names: &[&str], of: &Arguments| names.iter().find_map(|name| of.get(*name)).cloned();
    let pair = |one: &Value| {
        let one = plain_names(one.as_object()?.clone());
        Some(call((&given(&PATTERNS, &one)?, &given(&REPLACEMENTS, &one)?)))
    };
    let several = SEVERAL.iter().find_map(|name| arguments.get(*name));
    let calls: Vec<String> = match (several, given(&PATTERNS, arguments), given(&REPLACEMENTS, arguments)) {
        (Some(Value::Array(several)), ..) => several.iter().filter_map(pair).collect(),
        (Some(Value::Object(by_pattern)), ..) => {
            by_pattern.iter().map(|(old, new)| call((&json!(old), new))).collect()
        }
        (None, Some(Value::Array(old)), Some(Value::Array(new))) => old.iter().zip(&new).map(call).collect(),
        _ => return Ok(()),
    };
    let calls = calls.into_iter().take(10).collect::<Vec<_>>().join(", ");
    Err(UnresolvedCall(format!("make one call for each, all in one turn: {calls}")))
}

/// Takes options that say what is done anyway, and those that we have other names for.
fn options(arguments: &mut Arguments) {
    for name in ["replace_all", "global", "all", "recursive", "multiline"] {
        if arguments.get(name).is_some_and(is_true) {
            arguments.remove(name);
        }
    }
    let letters = arguments.get("flags").and_then(text).map(|flags| flags.trim_start_matches('-').to_owned());
    if let Some(letters) = letters.filter(|letters| letters.chars().all(|letter| "gimu".contains(letter))) {
        arguments.remove("flags");
        if letters.contains('i') {
            arguments.insert("case_sensitive".to_owned(), json!(false));
        }
    }
    if take(arguments, &["ignore_case", "case_insensitive"]).as_ref().is_some_and(is_true) {
        arguments.insert("case_sensitive".to_owned(), json!(false));
    }
    if let Some(is_sensitive) = take(arguments, &["match_case"]) {
        arguments.entry("case_sensitive").or_insert(is_sensitive);
    }
    let globs = names_of("replace_text", "file_pattern");
    let included = take(arguments, &globs).as_ref().map(listed).into_iter();
    let excluded = take(arguments, &["exclude", "exclude_pattern", "exclude_patterns", "excludes", "ignore"]);
    let excluded = excluded.as_ref().map(listed).unwrap_or_default();
    let excluded = excluded.split(',').map(str::trim).filter(|glob| !glob.is_empty()).map(left_out);
    let globs: Vec<String> =
        included.chain(extensions(arguments)).filter(|glob| !glob.is_empty()).chain(excluded).collect();
    if !globs.is_empty() {
        arguments.insert("file_pattern".to_owned(), json!(globs.join(",")));
    }
}

/// Returns the tool for one place of a file that is a text, or else matches a regular expression, as `mode` says.
pub(super) fn content_replacement(arguments: &mut Arguments) -> Changed {
    match take(arguments, &["mode"]).as_ref().and_then(text) {
        Some("regex") => pattern_replacement(arguments).map(|tool| tool.or(Some("replace_text"))),
        Some("literal") | None => many_edits(arguments),
        Some(other) => Err(UnresolvedCall(format!(
            "unknown mode {other:?}; call edit_file(path=…, old_str=…, new_str=…), or replace_text(pattern=…, replacement=…, regex=true)"
        ))),
    }
}

/// Gives a call of the agent whose replacement is called `repl` what its tool does: a dot matches line ends, and of several matches,
/// none is meant unless the call says so.
fn one_match(arguments: &mut Arguments) {
    if !arguments.contains_key("repl") {
        return;
    }
    if !take(arguments, &["allow_multiple_occurrences"]).as_ref().is_some_and(is_true) {
        arguments.entry("expect_count").or_insert(json!(1));
    }
    let pattern = PATTERNS.iter().find_map(|name| take(arguments, &[name]));
    arguments.extend(pattern.map(|pattern| {
        let dotted =
            pattern.as_str().filter(|text| text.contains('.')).map(|text| json!(format!("(?s){text}")));
        ("pattern".to_owned(), dotted.unwrap_or(pattern))
    }));
}

/// Returns the tool that replaces what a regular expression matches, unless the call says that it is a text.
pub(super) fn pattern_replacement(arguments: &mut Arguments) -> Changed {
    // The name of the expression is that of the option here.
    let is_expression = |given: &Value| given.as_str().is_some_and(|given| given.parse::<bool>().is_err());
    if arguments.get("regex").is_some_and(is_expression)
        && let Some(expression) = arguments.remove("regex")
    {
        arguments.entry("pattern").or_insert(expression);
    }
    one_match(arguments);
    if !names_of("replace_text", "regex").iter().any(|name| arguments.contains_key(*name)) {
        arguments.entry("regex").or_insert(json!(true));
    }
    text_replacement(arguments)
}

/// Gives a replacement with options as other agents have them our arguments.
pub(super) fn text_replacement(arguments: &mut Arguments) -> Changed {
    check_one(arguments)?;
    if let Some(files) = take(arguments, &["files"]) {
        let files = listed(&files);
        let files = files.split(',').map(str::trim).filter(|file| !file.is_empty());
        let places =
            files.map(|file| if file.contains(['*', '?', '{', '!']) { file.to_owned() } else { place(file) });
        arguments.entry("file_pattern").or_insert(json!(places.collect::<Vec<_>>().join(",")));
    }
    options(arguments);
    let names = ["whole_word", "whole_words", "word", "match_whole_word"];
    let is_word = take(arguments, &names).as_ref().is_some_and(is_true);
    if let Some(pattern) = take(arguments, &PATTERNS) {
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
    Ok(None)
}
