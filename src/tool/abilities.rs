//! Abilities: what a tool of an unknown name is most likely for, by the words in its name.

/// What comes nearest to a tool of an unknown name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ability {
    /// A tool.
    Tool(&'static str),
    /// What another agent's tool does.
    As(&'static str),
    /// Something that needs no tool, or that a command does.
    Advice(&'static str),
}

use Ability::{Advice, As, Tool};

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
    let has = |about: &[&str]| words.iter().any(|word| about.contains(word));
    // Several words of a name may be about several things; the rows are in the order in which one decides.
    let ability = WORDS.iter().find(|(about, _)| has(about)).map(|(_, ability)| *ability)?;
    // What adds to a file must not become what replaces it, nor what takes a part of it away what deletes it.
    Some(match ability {
        Tool("write_file") if has(&["prepend"]) => As("prepend_file"),
        Tool("write_file") if has(&["append"]) || has(&["add"]) && has(PARTS) => As("append_file"),
        Tool("delete_file") if has(PARTS) => Tool("edit_file"),
        other => other,
    })
}

/// Words for a part of a file.
const PARTS: &[&str] = &[
    "text",
    "content",
    "contents",
    "string",
    "block",
    "section",
    "paragraph",
    "function",
    "method",
    "class",
    "code",
];

/// Returns whether advice is about the web, for which some runs have tools.
pub(super) fn is_of_web(advice: &str) -> bool {
    advice == WEB
}

/// Returns whether a name is that of a search.
pub(super) fn is_search(name: &str) -> bool {
    name.to_lowercase().contains("search")
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
            ("delete_block", Tool("edit_file")),
            ("delete_old_file", Tool("delete_file")),
            ("append_text_to_file", As("append_file")),
            ("add_section", As("append_file")),
            ("prepend_header", As("prepend_file")),
            ("add_new_file", Tool("write_file")),
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
}
