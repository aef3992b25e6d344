//! Searches and other calls of other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::argument_names::REMARKS;
use super::argument_values::{number, take, take_number, text};
use super::arguments::Arguments;
use super::multiline::first_line;
use super::resolved_call::UnresolvedCall;
use super::translate::{Changed, is_true};

/// Folders and files by name; a search term is part of a name.
pub(super) fn directory_search(arguments: &mut Arguments) {
    let depth = take_number(arguments, &["depth", "max_depth"]);
    let ignored = take(arguments, &["ignore", "exclude_patterns", "exclude"]);
    for remark in ["limit", "offset", "show_hidden", "max_results"] {
        arguments.remove(remark);
    }
    // Names are compared so anyway.
    if arguments.get("case_sensitive").is_some_and(is_true) {
        arguments.remove("case_sensitive");
    }
    let types = extensions(arguments);
    if !types.is_empty() {
        arguments.insert("file_type".to_owned(), json!(types.join(",")));
    }
    let term = take(arguments, &["query", "file_name", "name", "search_term"]);
    if let Some(term) = term.as_ref().and_then(text) {
        let is_glob = term.contains(['*', '?', '[', '{']);
        let pattern = match term.rsplit_once('/') {
            _ if is_glob => term.to_owned(),
            Some((above, name)) => format!("**/{above}/*{name}*"),
            None => format!("*{term}*"),
        };
        arguments.entry("pattern").or_insert(json!(pattern));
    }
    // A folder can be listed by itself or as a whole.
    if let Some(depth) = depth.filter(|depth| *depth > 0) {
        arguments.entry("recursive").or_insert(json!(depth > 1));
    }
    let ignored = ignored.as_ref().map(listed).unwrap_or_default();
    if !ignored.is_empty() {
        let excluded = ignored.split(',').map(left_out).collect::<Vec<_>>().join(",");
        let pattern = if let Some(pattern) = arguments.get("pattern").and_then(text) {
            format!("{pattern},{excluded}")
        } else {
            arguments.entry("recursive").or_insert(json!(false));
            excluded
        };
        arguments.insert("pattern".to_owned(), json!(pattern));
    }
}

/// A folder with all that is below it.
pub(super) fn tree(arguments: &mut Arguments) {
    directory_search(arguments);
    arguments.entry("recursive").or_insert(json!(true));
}

/// Returns globs that are given as a list or as one, with commas between them.
pub(super) fn listed(value: &Value) -> String {
    match value {
        Value::Array(globs) => globs.iter().filter_map(text).collect::<Vec<_>>().join(","),
        other => text(other).unwrap_or_default().to_owned(),
    }
}

/// Names of a pattern that is searched for.
const PATTERNS: [&str; 8] =
    ["pattern", "query", "regex", "search_term", "search", "regexp", "search_pattern", "patterns"];

/// Search with options as `grep` has them.
pub(super) fn grep_search(arguments: &mut Arguments) -> Changed {
    if is_command(arguments) { as_command("grep", arguments) } else { searched(arguments) }
}

/// Search with options as ripgrep has them.
pub(super) fn pattern_search(arguments: &mut Arguments) -> Changed {
    if is_command(arguments) { as_command("rg", arguments) } else { searched(arguments) }
}

/// Search for names of files, as a server for files has it, or for their text: a pattern with nothing that is about text is a name.
pub(super) fn file_search(arguments: &mut Arguments) -> Changed {
    let is_of_names = |name: &String| matches!(name.as_str(), "path" | "pattern" | "exclude_patterns");
    if !arguments.contains_key("pattern") || !arguments.keys().all(is_of_names) {
        return pattern_search(arguments);
    }
    if let Some(pattern) = arguments.remove("pattern") {
        arguments.insert("name".to_owned(), pattern);
    }
    directory_search(arguments);
    Ok(Some("list_files"))
}

fn searched(arguments: &mut Arguments) -> Changed {
    letters(arguments);
    let flag = |arguments: &mut Arguments, names: &[&str]| take(arguments, names).as_ref().map(is_true);
    if flag(arguments, &["-i", "ignore_case", "case_insensitive", "i"]) == Some(true) {
        arguments.insert("case_sensitive".to_owned(), json!(false));
    }
    if is_regex(arguments) == Some(false) || flag(arguments, &["-F"]) == Some(true) {
        arguments.insert("literal".to_owned(), json!(true));
    }
    let context = ["-C", "-A", "-B", "before_context", "after_context", "context_before", "context_after"];
    let around = context.iter().filter_map(|name| number(&arguments.remove(*name)?)).max();
    if let Some(lines) = around.filter(|lines| *lines > 0) {
        arguments.entry("context_lines").or_insert(json!(lines));
    }
    if let Some(mode) = take(arguments, &["output_mode", "output"]) {
        let show = if matches!(mode.as_str(), Some("files_with_matches" | "count" | "files" | "counts")) {
            "files"
        } else {
            "lines"
        };
        arguments.insert("show".to_owned(), json!(show));
    }
    for name in ["names_only", "files_only", "files_with_matches", "-l", "-c"] {
        if flag(arguments, &[name]) == Some(true) {
            arguments.insert("show".to_owned(), json!("files"));
        }
    }
    let is_word =
        flag(arguments, &["-w", "word", "whole_word", "whole_words", "match_whole_word", "word_regexp"]);
    pattern_forms(arguments, is_word == Some(true));
    if flag(arguments, &["-v", "invert", "invert_match", "inverted", "negate", "exclude_matches"])
        == Some(true)
    {
        let pattern = arguments.get("pattern").and_then(text).unwrap_or("PATTERN");
        return Err(UnresolvedCall(format!(
            "it shows the lines that match; those that do not: run_command(command={:?})",
            format!("grep -vn -e {} FILE", shlex::try_quote(pattern).unwrap_or_default())
        )));
    }
    let names = [
        "exclude_pattern",
        "exclude",
        "excludes",
        "exclude_patterns",
        "exclude_dir",
        "exclude_dirs",
        "exclude_globs",
        "exclude_glob",
        "ignore",
        "ignore_patterns",
    ];
    let excluded: Vec<Value> = names.iter().filter_map(|name| take(arguments, &[name])).collect();
    let kinds = take(arguments, &["type", "file_type", "language", "file_types", "lang"]);
    let kinds = kinds.as_ref().map(listed).unwrap_or_default();
    let mut types: Vec<String> = kinds.split(',').filter(|kind| !kind.is_empty()).map(file_type).collect();
    types.extend(extensions(arguments));
    if !types.is_empty() {
        arguments.insert("file_type".to_owned(), json!(types.join(",")));
    }
    let names =
        ["file_pattern", "include", "glob", "include_pattern", "includes", "globs", "include_patterns"];
    let included = take(arguments, &names);
    let mut globs: Vec<String> = included.iter().map(listed).filter(|globs| !globs.is_empty()).collect();
    let excluded = excluded.iter().map(listed).collect::<Vec<_>>().join(",");
    globs
        .extend(excluded.split(',').filter(|glob| !glob.trim().is_empty()).map(|glob| left_out(glob.trim())));
    // A glob in place of a folder.
    if let Some(path) = arguments.get("path").and_then(text)
        && path.contains(['*', '{'])
        && globs.iter().all(|glob| glob.starts_with('!'))
    {
        globs.insert(0, path.trim_start_matches("./").to_owned());
        arguments.remove("path");
    }
    if let Some(Value::Array(paths)) = arguments.get("paths").or(arguments.get("path"))
        && paths.len() > 1
        && globs.is_empty()
    {
        globs.extend(paths.iter().filter_map(text).map(place));
        arguments.remove("paths");
        arguments.remove("path");
    }
    if !globs.is_empty() {
        arguments.insert("file_pattern".to_owned(), json!(globs.join(",")));
    }
    let is_multiline = flag(arguments, &["multiline", "multi_line", "-U"]) == Some(true);
    let is_literal = arguments.get("literal").is_some_and(is_true);
    if let Some(pattern) = arguments.get("pattern").and_then(text)
        && let Some(first) = first_line(pattern, is_multiline).filter(|_| !is_literal)
    {
        return Err(UnresolvedCall(format!(
            "a pattern is searched for within a line; see what is around its first one: grep(pattern={first:?}, context_lines=5)"
        )));
    }
    arguments.retain(|name, value| match name.as_str() {
        "-n" | "sort" => false,
        "offset" => number(value) != Some(0),
        "include_ignored_files" => is_true(value),
        _ => true,
    });
    Ok(None)
}

/// Returns whether a search is given as a command line, and nothing else.
fn is_command(arguments: &Arguments) -> bool {
    let is_line = |name: &str| matches!(name, "command" | "args") || REMARKS.contains(&name);
    let line = arguments.get("command").and_then(text);
    arguments.keys().all(|name| is_line(name))
        && (arguments.contains_key("args") || line.is_some_and(|line| line.contains(' ')))
}

/// Makes a search a command, of a program unless the command line names one.
fn as_command(program: &str, arguments: &mut Arguments) -> Changed {
    let given = arguments.get("command").and_then(text).unwrap_or(program);
    let words = arguments.get("args").cloned().unwrap_or_default();
    let Some(line) = super::programs::with_words(given, &words) else { return searched(arguments) };
    *arguments = super::programs::as_command(&line);
    Ok(Some("run_command"))
}

/// Takes flags that are given as letters, `-wi` or `gi`, as arguments of their own. Some ask for what is done anyway.
fn letters(arguments: &mut Arguments) {
    let Some(flags) = take(arguments, &["flags", "options"]) else { return };
    let letters = text(&flags).map(|flags| flags.trim_start_matches('-'));
    let Some(letters) = letters.filter(|flags| flags.chars().all(|c| c.is_ascii_alphabetic())) else {
        arguments.insert("flags".to_owned(), flags);
        return;
    };
    for letter in letters.chars().filter(|letter| !"EHPRgmnrsu".contains(*letter)) {
        arguments.entry(format!("-{letter}")).or_insert(json!(true));
    }
}

/// Takes whether a pattern is a regular expression, where the call says so.
pub(super) fn is_regex(arguments: &mut Arguments) -> Option<bool> {
    let mut found = None;
    for name in ["regex", "is_regex", "use_regex", "is_regexp", "regexp", "regexp_enabled"] {
        let is_flag = |value: &Value| value.is_boolean() || matches!(value.as_str(), Some("true" | "false"));
        if arguments.get(name).is_some_and(is_flag) {
            found = Some(found.unwrap_or(false) | arguments.remove(name).as_ref().is_some_and(is_true));
        }
    }
    found
}

/// Takes the endings of files that are searched, and returns a glob for each.
pub(super) fn extensions(arguments: &mut Arguments) -> Vec<String> {
    let given = take(arguments, &["extensions", "extension", "ext", "file_extensions"]);
    let given = given.as_ref().map(listed).unwrap_or_default();
    let plain = given.split(',').map(|one| one.trim().trim_start_matches(['*', '.']));
    plain.filter(|one| !one.is_empty()).map(|one| format!("*.{one}")).collect()
}

/// Returns the glob for a file or a folder at a path, and none of that name elsewhere.
pub(super) fn place(path: &str) -> String {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    format!("./{path}")
}

/// Gives a pattern our name and form: several are alternatives, and slashes around one are no part of it.
fn pattern_forms(arguments: &mut Arguments, is_word: bool) {
    let Some(pattern) = take(arguments, &PATTERNS) else { return };
    let is_literal = arguments.get("literal").is_some_and(is_true);
    let mut pattern = match pattern {
        Value::Array(several) => {
            let several: Vec<&str> = several.iter().filter_map(text).collect();
            let quoted = |one: &&str| if is_literal { regex::escape(one) } else { format!("(?:{one})") };
            match several.as_slice() {
                [one] => (*one).to_owned(),
                several => {
                    arguments.remove("literal");
                    several.iter().map(quoted).collect::<Vec<_>>().join("|")
                }
            }
        }
        Value::String(one) => one,
        other => {
            arguments.insert("pattern".to_owned(), other);
            return;
        }
    };
    let between_slashes = || {
        let (inner, flags) = pattern.strip_prefix('/')?.rsplit_once('/')?;
        let is_flags = !flags.is_empty() && flags.chars().all(|c| matches!(c, 'i' | 'g' | 'm' | 'u'));
        (is_flags && !inner.contains('/')).then(|| (inner.to_owned(), flags.contains('i')))
    };
    if let Some((inner, ignores_case)) = between_slashes() {
        pattern = inner;
        if ignores_case {
            arguments.insert("case_sensitive".to_owned(), json!(false));
        }
    }
    if is_word {
        let inner = if is_literal { regex::escape(&pattern) } else { pattern };
        pattern = format!(r"\b(?:{inner})\b");
        arguments.remove("literal");
    }
    arguments.insert("pattern".to_owned(), json!(pattern));
}

/// Returns the globs that leave out what a glob matches, or all that is below a folder of that name.
pub(super) fn left_out(glob: &str) -> String {
    let glob = glob.trim_start_matches('!').trim_end_matches('/');
    if glob.contains(['*', '?', '[', '{']) {
        return format!("!{glob}");
    }
    format!("!{glob},!{glob}/**,!**/{glob}/**")
}

/// Returns the glob of a file type, as ripgrep names them.
fn file_type(kind: &str) -> String {
    let extensions = match kind {
        "py" | "python" => "py,pyi",
        "rust" | "rs" => "rs",
        "js" | "javascript" => "js,jsx,mjs,cjs",
        "ts" | "typescript" => "ts,tsx,mts,cts",
        "cpp" => "cpp,cc,cxx,hpp,hh,h",
        "c" => "c,h",
        "md" | "markdown" => "md",
        "yaml" | "yml" => "yaml,yml",
        "html" => "html,htm",
        "ruby" | "rb" => "rb",
        "sh" => "sh,bash",
        other => other,
    };
    if extensions.contains(',') { format!("*.{{{extensions}}}") } else { format!("*.{extensions}") }
}

/// A question in words, for which there is no index.
pub(super) fn question(arguments: &mut Arguments) -> Changed {
    let query = take(arguments, &["query", "question", "pattern"]);
    let query = query.as_ref().and_then(text).unwrap_or_default();
    let word = query
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .max_by_key(|word| word.len())
        .unwrap_or("word");
    Err(UnresolvedCall(format!(
        "there is no search by meaning; search for a word or a pattern: grep(pattern={word:?})"
    )))
}

/// Sub-agents of other kinds.
pub(super) fn subagent(arguments: &mut Arguments) {
    for remark in ["model", "resume", "name", "run_in_background", "isolation"] {
        arguments.remove(remark);
    }
    let kind = take(arguments, &["agent_type", "subagent_type", "agent", "mode", "agent_name"]);
    let kind = kind.as_ref().and_then(text).unwrap_or_default().to_lowercase();
    let own = ["test", "review"].into_iter().find(|own| kind.contains(own)).unwrap_or("explore");
    arguments.insert("agent_type".to_owned(), json!(own));
    if let (Some(task), false) =
        (take(arguments, &["prompt", "instructions", "message"]), arguments.contains_key("task"))
    {
        arguments.insert("task".to_owned(), task);
    }
    if !arguments.contains_key("task")
        && let Some(task) = arguments.remove("description")
    {
        arguments.insert("task".to_owned(), task);
    }
}

/// What goes with an address or a query and is not needed.
pub(super) fn noise(arguments: &mut Arguments) {
    let prompt = take(arguments, &["prompt"]);
    if let (Some(prompt), false) =
        (prompt.as_ref().and_then(text), arguments.contains_key("url") || arguments.contains_key("query"))
    {
        let address = prompt.split_whitespace().find(|word| word.starts_with("http"));
        let address = address.map(|word| word.trim_end_matches(['.', ',', ')', '"', '\'']));
        arguments.extend(address.map(|address| ("url".to_owned(), json!(address))));
    }
    for name in ["format", "max_length", "start_index", "raw", "num_results", "timeout", "max_results"] {
        arguments.remove(name);
    }
}
