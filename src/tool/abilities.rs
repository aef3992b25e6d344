//! Abilities: what a tool of an unknown name is most likely for, by the words in its name.

use serde_json::{Value, json};

use super::names::Arguments;

/// What comes nearest to a tool of an unknown name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ability {
    /// A tool.
    Tool(&'static str),
    /// Something that needs no tool, or that a command does.
    Advice(&'static str),
}

use Ability::{Advice, Tool};

/// Answer to a question.
pub(super) const NOBODY: &str =
    "nobody can answer during a run; decide, and say in your answer what you decided";
/// Answer to code that is no command line.
pub(super) const SCRIPT: &str =
    "run a script of the project: run_command(command=\"python path/to/script.py\")";
const END: &str = "to end, answer without calling a tool";
const DELIVERED: &str = "what you change is committed and delivered after the run; there is nothing to call";
const WEB: &str =
    "this run reads no web pages; what the project needs may be in its dependencies: grep(pattern=…)";

/// Words in names, and what they are about: the first row with a word of the name decides.
const WORDS: &[(&[&str], Ability)] = &[
    (
        &["undo", "revert", "restore", "rollback", "reset", "checkpoint"],
        Advice("a file is put back by Git: run_command(command=\"git checkout -- FILE\")"),
    ),
    (&["commit", "push", "pr", "pull", "merge", "publish", "deploy", "release"], Advice(DELIVERED)),
    (
        &["git", "branch", "checkout", "stash", "blame", "diff", "changed", "history", "log"],
        Advice("Git is a command: run_command(command=\"git status\"), run_command(command=\"git diff\")"),
    ),
    (&["sleep"], Advice("a command waits: run_command(command=\"sleep 5\")")),
    (
        &["background", "process", "processes", "terminal", "await", "poll", "wait"],
        Tool("background_command"),
    ),
    (
        &["subagent", "agent", "delegate", "oracle", "investigator", "explorer", "explore", "expert"],
        Tool("dispatch_subagent"),
    ),
    (
        &[
            "ask",
            "user",
            "human",
            "question",
            "questions",
            "clarify",
            "confirm",
            "approval",
            "message",
            "notify",
            "respond",
            "reply",
        ],
        Advice(NOBODY),
    ),
    (
        &["mode", "slash", "mcp", "resource", "resources", "skill", "skills", "toolsearch", "memory"],
        Advice("there is no such thing in a run; go on with the tools that you have"),
    ),
    (
        &[
            "done", "finish", "finished", "complete", "submit", "end", "exit", "stop", "quit", "finalize",
            "answer",
        ],
        Advice(END),
    ),
    (&["todo", "todos", "task", "tasks", "plan", "checklist", "progress"], Tool("todo")),
    (
        &["think", "thinking", "reason", "reasoning", "reflect", "brainstorm"],
        Advice("think without a tool, and call the next one"),
    ),
    (
        &[
            "web",
            "url",
            "http",
            "browser",
            "browse",
            "curl",
            "wget",
            "internet",
            "google",
            "docs",
            "documentation",
            "download",
        ],
        Advice(WEB),
    ),
    (
        &[
            "test",
            "tests",
            "lint",
            "build",
            "compile",
            "format",
            "diagnostics",
            "errors",
            "problems",
            "failure",
        ],
        Advice("run the project's own command: run_command(command=\"…\")"),
    ),
    (&["python", "ipython", "interpreter", "repl"], Advice(SCRIPT)),
    (&["run", "exec", "execute", "shell", "bash", "script", "eval", "command"], Tool("run_command")),
    (
        &["lines", "line", "edit", "update", "modify", "change", "insert", "rewrite", "fix", "body"],
        Tool("edit_file"),
    ),
    (&["replace", "substitute"], Tool("replace_text")),
    (&["patch", "apply"], Tool("apply_patch")),
    (&["move", "rename"], Tool("move_file")),
    (&["delete", "remove", "rm", "unlink", "rmdir"], Tool("delete_file")),
    (&["copy"], Advice("a command copies: run_command(command=\"cp FROM TO\")")),
    (&["write", "create", "new", "save", "add", "append", "prepend", "overwrite"], Tool("write_file")),
    (&["overview", "outline", "summary", "skeleton"], Tool("get_file_summary")),
    (
        &[
            "symbol",
            "symbols",
            "definition",
            "definitions",
            "references",
            "usages",
            "usage",
            "grep",
            "search",
            "query",
            "lookup",
            "callers",
        ],
        Tool("grep"),
    ),
    (
        &[
            "list",
            "dir",
            "directory",
            "folder",
            "tree",
            "glob",
            "files",
            "structure",
            "exists",
            "find",
            "map",
        ],
        Tool("list_files"),
    ),
    (
        &[
            "read", "view", "show", "open", "load", "get", "fetch", "print", "display", "content", "file",
            "type", "code", "batch",
        ],
        Tool("read_file"),
    ),
];

/// Returns what comes nearest to a tool, given the words of its name.
pub(super) fn nearest(name: &str) -> Option<Ability> {
    let name = super::fitting::snake_case(name);
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    // Several words of a name may be about several things; the rows are in the order in which one decides.
    WORDS.iter().find(|(about, _)| words.iter().any(|word| about.contains(word))).map(|(_, ability)| *ability)
}

/// Returns whether advice is about the web, for which some runs have tools.
pub(super) fn is_of_web(advice: &str) -> bool {
    advice == WEB
}

/// Returns whether a name is that of a search.
pub(super) fn is_search(name: &str) -> bool {
    name.to_lowercase().contains("search")
}

/// Programs that models call like tools.
const PROGRAMS: [&str; 49] = [
    "awk", "bun", "bundle", "cargo", "chmod", "cmake", "composer", "cp", "date", "deno", "df", "diff",
    "docker", "dotnet", "du", "echo", "env", "file", "git", "go", "gradle", "jq", "make", "mvn", "nl",
    "node", "npm", "npx", "php", "pip", "pnpm", "poetry", "printf", "pytest", "rake", "rmdir", "ruby",
    "ruff", "sort", "stat", "tail", "touch", "tox", "tsc", "uniq", "uv", "wc", "which", "yarn",
];

/// Returns the command line of a call of a program as if it were a tool, and whether the call leaves no doubt about it.
pub(super) fn program(name: &str, arguments: &Arguments) -> Option<(String, bool)> {
    let program = name.trim().to_lowercase();
    if !PROGRAMS.contains(&program.as_str()) {
        return None;
    }
    let is_list_alone = match arguments.iter().collect::<Vec<_>>().as_slice() {
        [] => true,
        [(name, _)] => matches!(name.as_str(), "args" | "arguments" | "argv" | "command" | "input"),
        _ => false,
    };
    let mut line = program.clone();
    for value in arguments.values() {
        let own = value.as_str().and_then(|words| words.trim().strip_prefix(&format!("{program} ")));
        let words = match (own, value) {
            (Some(own), _) => json!(own),
            // What comes alone is the rest of the line; of several, each is a word.
            (None, Value::String(word)) if !is_list_alone => json!([word]),
            (None, other) => other.clone(),
        };
        line = with_words(&line, &words)?;
    }
    Some((line, is_list_alone))
}

/// Returns the words of a list, which may be numbers; `None` if one is neither.
pub(super) fn words_of(list: &[Value]) -> Option<Vec<String>> {
    let word = |word: &Value| match word {
        Value::String(word) => Some(word.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    list.iter().map(word).collect()
}

/// Returns a command line with more words: a list of them, or as they stand. `None` if one is no word, or cannot be quoted.
pub(super) fn with_words(line: &str, words: &Value) -> Option<String> {
    let more = match words {
        Value::Array(words) => shlex::try_join(words_of(words)?.iter().map(String::as_str)).ok()?,
        Value::String(words) => words.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Object(_) => return None,
    };
    Some(if more.is_empty() { line.to_owned() } else { format!("{line} {more}") })
}

/// Returns the arguments of a command.
pub(super) fn as_command(line: &str) -> Arguments {
    Arguments::from_iter([("command".to_owned(), json!(line))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_names_tell_what_a_tool_is_for() {
        for (name, expected) in [
            ("view_source_file", Tool("read_file")),
            ("getFile", Tool("read_file")),
            ("find_symbol", Tool("grep")),
            ("list_code_usages", Tool("grep")),
            ("get_symbols_overview", Tool("get_file_summary")),
            ("delete_lines", Tool("edit_file")),
            ("replace_symbol_body", Tool("edit_file")),
            ("project_structure", Tool("list_files")),
            ("TaskUpdate", Tool("todo")),
            ("runSubagent", Tool("dispatch_subagent")),
            ("request_user_input", Advice(NOBODY)),
            ("run_python", Advice(SCRIPT)),
            ("code_interpreter", Advice(SCRIPT)),
            ("create_pull_request", Advice(DELIVERED)),
            ("browser_navigate", Advice(WEB)),
        ] {
            assert_eq!(nearest(name), Some(expected), "{name}");
        }
        assert_eq!(nearest("xyzzy"), None);
    }

    #[test]
    fn programs_are_commands() {
        let of = |arguments: Value| arguments.as_object().cloned().unwrap_or_default();
        assert_eq!(
            program("git", &of(json!({"args": ["log", "-n", "2 3"]}))),
            Some(("git log -n '2 3'".to_owned(), true))
        );
        assert_eq!(
            program("pytest", &of(json!({"args": "-x tests"}))),
            Some(("pytest -x tests".to_owned(), true))
        );
        assert_eq!(
            program("cp", &of(json!({"src": "a b", "dst": "c"}))),
            Some(("cp 'a b' c".to_owned(), false))
        );
        assert_eq!(program("view", &Arguments::new()), None);
        assert_eq!(program("git", &of(json!({"args": ["log"], "force": true}))), None);
        for (words, expected) in [
            (json!(["-n", 3, ""]), Some("x -n 3 ''")),
            (json!([]), Some("x")),
            (json!(["-n", true]), None),
            (json!({"n": 3}), None),
            (json!(true), None),
        ] {
            assert_eq!(with_words("x", &words).as_deref(), expected, "{words}");
        }
    }
}
