//! Searches and other calls of other agents' tools with the arguments changed to those of ours.

use serde_json::{Value, json};

use super::door::NotUnderstood;
use super::names::Arguments;
use super::translate::{Changed, is_true, number, take, text};

/// Folders and files by name; a search term is part of a name.
pub(super) fn directory_search(arguments: &mut Arguments) {
    let depth = take(arguments, &["depth", "max_depth"]).as_ref().and_then(number);
    let ignored = take(arguments, &["ignore", "exclude_patterns", "exclude"]);
    for remark in ["case_sensitive", "limit", "offset", "type", "show_hidden", "max_results", "extensions"] {
        arguments.remove(remark);
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
        let excluded = ignored.split(',').map(|glob| format!("!{glob}")).collect::<Vec<_>>().join(",");
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
fn listed(value: &Value) -> String {
    match value {
        Value::Array(globs) => globs.iter().filter_map(text).collect::<Vec<_>>().join(","),
        other => text(other).unwrap_or_default().to_owned(),
    }
}

/// Search with options as ripgrep has them.
pub(super) fn pattern_search(arguments: &mut Arguments) {
    let flag = |arguments: &mut Arguments, names: &[&str]| take(arguments, names).as_ref().map(is_true);
    if flag(arguments, &["-i", "ignore_case", "case_insensitive", "i"]) == Some(true) {
        arguments.insert("case_sensitive".to_owned(), json!(false));
    }
    if flag(arguments, &["is_regexp", "is_regex", "regexp_enabled"]) == Some(false) {
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
    if flag(arguments, &["names_only", "files_only", "files_with_matches", "-l"]) == Some(true) {
        arguments.insert("show".to_owned(), json!("files"));
    }
    let excluded = take(arguments, &["exclude_pattern", "exclude", "excludes"]);
    let kind = take(arguments, &["type", "file_type", "language", "file_types"]);
    let kind = kind.map(|kind| kind.get(0).cloned().unwrap_or(kind));
    let included = take(arguments, &["file_pattern", "include", "glob", "include_pattern", "includes"]);
    let mut globs: Vec<String> = included.iter().map(listed).filter(|globs| !globs.is_empty()).collect();
    globs.extend(kind.as_ref().and_then(text).map(file_type));
    globs.extend(excluded.iter().map(listed).filter(|glob| !glob.is_empty()).map(|glob| format!("!{glob}")));
    // Several places are patterns of paths: each as a file, and as a folder.
    if let Some(Value::Array(paths)) = arguments.get("paths").or(arguments.get("path"))
        && paths.len() > 1
    {
        let below = |path: &str| {
            let path = path.trim_start_matches("./").trim_end_matches('/');
            format!("{path},{path}/**")
        };
        if globs.is_empty() {
            globs.extend(paths.iter().filter_map(text).map(below));
            arguments.remove("paths");
            arguments.remove("path");
        }
    }
    if !globs.is_empty() {
        arguments.insert("file_pattern".to_owned(), json!(globs.join(",")));
    }
    for remark in ["-n", "multiline", "offset", "sort", "include_ignored_files", "max_count_per_file"] {
        arguments.remove(remark);
    }
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
    Err(NotUnderstood(format!(
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
    for name in [
        "format",
        "max_length",
        "start_index",
        "raw",
        "allowed_domains",
        "blocked_domains",
        "num_results",
        "timeout",
        "max_results",
    ] {
        arguments.remove(name);
    }
}
