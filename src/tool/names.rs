//! Names of tools and arguments that models bring with them from other agents, and what is understood by each: one
//! table of tools, one of arguments. Whatever a call is understood as passes through the pipeline like any other.

use super::door::NotUnderstood;
use super::translate::{bulk_read, editor, line_range, many_edits, search_blocks};
use super::translate_search::{directory_search, noise, pattern_search, question, shell, subagent};
use serde_json::{Map, Value};

/// Arguments of a call.
pub(super) type Arguments = Map<String, Value>;

/// What another agent's tool is here.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// A tool of ours, whose arguments have other names at most.
    Tool(&'static str),
    /// A tool of ours, after a change of the arguments.
    Fitted(&'static str, fn(&mut Arguments)),
    /// A tool of ours, after a change of the arguments that may fail; the function may name another one. The error is a sentence that
    /// contains the right call.
    Changed(&'static str, fn(&mut Arguments) -> Result<Option<&'static str>, NotUnderstood>),
    /// Nothing of ours; a sentence says what to do instead.
    Advice(&'static str),
}

use Meaning::{Advice, Changed, Fitted, Tool};

/// Tools by the names that other agents give them, in lower case and without separators.
pub(super) const TOOLS: &[(&str, Meaning)] = &[
    // Reading.
    ("read", Changed("read_file", line_range)),
    ("readfile", Changed("read_file", line_range)),
    ("readtextfile", Changed("read_file", line_range)),
    ("viewfile", Changed("read_file", line_range)),
    ("view", Changed("read_file", line_range)),
    ("openfile", Changed("read_file", line_range)),
    ("open", Changed("read_file", line_range)),
    ("cat", Changed("read_file", line_range)),
    ("getfilecontents", Changed("read_file", line_range)),
    ("readmanyfiles", Changed("read_file", bulk_read)),
    ("readmultiplefiles", Changed("read_file", bulk_read)),
    ("readfiles", Changed("read_file", bulk_read)),
    // Writing.
    ("write", Tool("write_file")),
    ("writefile", Tool("write_file")),
    ("writetofile", Tool("write_file")),
    ("createfile", Tool("write_file")),
    ("create", Tool("write_file")),
    ("savefile", Tool("write_file")),
    ("newfile", Tool("write_file")),
    ("addfile", Tool("write_file")),
    ("createorupdatefile", Tool("write_file")),
    // Editing.
    ("edit", Changed("edit_file", many_edits)),
    ("editfile", Changed("edit_file", many_edits)),
    ("multiedit", Changed("edit_file", many_edits)),
    ("replace", Changed("edit_file", many_edits)),
    ("searchreplace", Changed("edit_file", many_edits)),
    ("strreplace", Changed("edit_file", many_edits)),
    ("stringreplace", Changed("edit_file", many_edits)),
    ("replacestringinfile", Changed("edit_file", many_edits)),
    ("multireplacestringinfile", Changed("edit_file", many_edits)),
    ("replacefilecontent", Changed("edit_file", many_edits)),
    ("replaceinfile", Changed("edit_file", search_blocks)),
    ("applydiff", Changed("apply_patch", search_blocks)),
    ("strreplaceeditor", Changed("edit_file", editor)),
    ("strreplacebasededittool", Changed("edit_file", editor)),
    ("texteditor", Changed("edit_file", editor)),
    ("editor", Changed("edit_file", editor)),
    ("insert", Changed("apply_patch", super::translate::insertion)),
    ("insertcontent", Changed("apply_patch", super::translate::insertion)),
    ("applypatch", Changed("apply_patch", search_blocks)),
    ("patch", Changed("apply_patch", search_blocks)),
    ("patchfile", Changed("apply_patch", search_blocks)),
    ("searchandreplace", Tool("replace_text")),
    ("replaceall", Tool("replace_text")),
    ("findandreplace", Tool("replace_text")),
    ("replacetext", Tool("replace_text")),
    ("renamesymbol", Tool("replace_text")),
    ("insertedit", Advice("write the change itself: edit_file(path=…, old_str=…, new_str=…)")),
    ("inserteditintofile", Advice("write the change itself: edit_file(path=…, old_str=…, new_str=…)")),
    ("notebookedit", Advice("a notebook is JSON: edit_file(path=…, old_str=…, new_str=…)")),
    ("undoedit", Advice("undo it by another edit: edit_file(path=…, old_str=…, new_str=…)")),
    // Files.
    ("deletefile", Tool("delete_file")),
    ("deletepath", Tool("delete_file")),
    ("removefile", Tool("delete_file")),
    ("delete", Tool("delete_file")),
    ("remove", Tool("delete_file")),
    ("rm", Tool("delete_file")),
    ("movefile", Tool("move_file")),
    ("movepath", Tool("move_file")),
    ("renamefile", Tool("move_file")),
    ("rename", Tool("move_file")),
    ("move", Tool("move_file")),
    ("mv", Tool("move_file")),
    (
        "createdirectory",
        Advice("folders are made with their first file: write_file(path=\"folder/file\", content=…)"),
    ),
    (
        "makedirectory",
        Advice("folders are made with their first file: write_file(path=\"folder/file\", content=…)"),
    ),
    ("mkdir", Advice("folders are made with their first file: write_file(path=\"folder/file\", content=…)")),
    ("copyfile", Advice("read it and write it again: write_file(path=…, content=…)")),
    // Listing and finding.
    ("ls", Fitted("list_files", directory_search)),
    ("list", Fitted("list_files", directory_search)),
    ("listdir", Fitted("list_files", directory_search)),
    ("listdirectory", Fitted("list_files", directory_search)),
    ("listfiles", Fitted("list_files", directory_search)),
    ("listfolder", Fitted("list_files", directory_search)),
    ("directorytree", Fitted("list_files", directory_search)),
    ("tree", Fitted("list_files", directory_search)),
    ("viewdirectory", Fitted("list_files", directory_search)),
    ("glob", Fitted("list_files", directory_search)),
    ("find", Fitted("list_files", directory_search)),
    ("findfile", Fitted("list_files", directory_search)),
    ("findfiles", Fitted("list_files", directory_search)),
    ("findbyname", Fitted("list_files", directory_search)),
    ("findpath", Fitted("list_files", directory_search)),
    ("filesearch", Fitted("list_files", directory_search)),
    ("globfilesearch", Fitted("list_files", directory_search)),
    ("grep", Fitted("grep", pattern_search)),
    ("greptool", Fitted("grep", pattern_search)),
    ("grepsearch", Fitted("grep", pattern_search)),
    ("grepfiles", Fitted("grep", pattern_search)),
    ("rg", Fitted("grep", pattern_search)),
    ("ripgrep", Fitted("grep", pattern_search)),
    ("search", Fitted("grep", pattern_search)),
    ("searchcode", Fitted("grep", pattern_search)),
    ("searchfiles", Fitted("grep", pattern_search)),
    ("searchdir", Fitted("grep", pattern_search)),
    ("searchfile", Fitted("grep", pattern_search)),
    ("searchtext", Fitted("grep", pattern_search)),
    ("searchfilecontent", Fitted("grep", pattern_search)),
    ("codesearch", Fitted("grep", pattern_search)),
    ("codebasesearch", Changed("grep", question)),
    ("semanticsearch", Changed("grep", question)),
    ("listcodedefinitionnames", Tool("get_file_summary")),
    ("outline", Tool("get_file_summary")),
    ("documentsymbols", Tool("get_file_summary")),
    ("getsymbols", Tool("get_file_summary")),
    ("listsymbols", Tool("get_file_summary")),
    ("fileoutline", Tool("get_file_summary")),
    // Commands.
    ("bash", Fitted("run_command", shell)),
    ("shell", Fitted("run_command", shell)),
    ("localshell", Fitted("run_command", shell)),
    ("sh", Fitted("run_command", shell)),
    ("terminal", Fitted("run_command", shell)),
    ("exec", Fitted("run_command", shell)),
    ("execcommand", Fitted("run_command", shell)),
    ("execute", Fitted("run_command", shell)),
    ("executebash", Fitted("run_command", shell)),
    ("executecommand", Fitted("run_command", shell)),
    ("executeshell", Fitted("run_command", shell)),
    ("runcommand", Fitted("run_command", shell)),
    ("runshellcommand", Fitted("run_command", shell)),
    ("runshell", Fitted("run_command", shell)),
    ("runbash", Fitted("run_command", shell)),
    ("runterminalcmd", Fitted("run_command", shell)),
    ("runterminalcommand", Fitted("run_command", shell)),
    ("runinterminal", Fitted("run_command", shell)),
    ("shellcommand", Fitted("run_command", shell)),
    ("powershell", Tool("run_powershell")),
    ("pwsh", Tool("run_powershell")),
    ("python", Advice("run a script of the project: run_command(command=\"python path/to/script.py\")")),
    (
        "pythoninterpreter",
        Advice("run a script of the project: run_command(command=\"python path/to/script.py\")"),
    ),
    ("executecode", Advice("run a script of the project: run_command(command=\"python path/to/script.py\")")),
    // Colleagues and the web.
    ("task", Fitted("dispatch_subagent", subagent)),
    ("agent", Fitted("dispatch_subagent", subagent)),
    ("spawnagent", Fitted("dispatch_subagent", subagent)),
    ("newtask", Fitted("dispatch_subagent", subagent)),
    ("webfetch", Fitted("fetch_url", noise)),
    ("fetch", Fitted("fetch_url", noise)),
    ("fetchwebpage", Fitted("fetch_url", noise)),
    ("readurl", Fitted("fetch_url", noise)),
    ("googlewebsearch", Fitted("web_search", noise)),
    ("websearch", Fitted("web_search", noise)),
    // The conversation.
    ("finish", Advice("to end, answer without calling a tool")),
    ("submit", Advice("to end, answer without calling a tool")),
    ("done", Advice("to end, answer without calling a tool")),
    ("finalanswer", Advice("to end, answer without calling a tool")),
    ("attemptcompletion", Advice("to end, answer without calling a tool")),
    ("exitplanmode", Advice("to end, answer without calling a tool")),
    ("askfollowupquestion", Advice("nobody can answer; decide, and say in your answer what you decided")),
    ("askuserquestion", Advice("nobody can answer; decide, and say in your answer what you decided")),
    ("think", Advice("think without a tool, and call the next one")),
    ("sequentialthinking", Advice("think without a tool, and call the next one")),
    ("viewimage", Advice("images cannot be viewed; what is text can be read: read_file(path=…)")),
];

/// Arguments by tool, or for all tools (`*`): the names that other agents use, and ours. They are taken if the tool has
/// such an argument and the call does not give it.
pub(super) const ARGUMENTS: &[(&str, &[&str], &str)] = &[
    (
        "*",
        &[
            "file_path",
            "filepath",
            "filename",
            "file_name",
            "file",
            "absolute_path",
            "target_file",
            "target_path",
            "relative_path",
            "relative_workspace_path",
            "dir_path",
            "directory",
            "dir",
            "folder",
            "target_directory",
            "directory_path",
            "search_directory",
            "search_path",
            "uri",
            "abs_path",
            "file_or_directory",
            "paths",
            "target_directories",
        ],
        "path",
    ),
    (
        "read_file",
        &["start", "startline", "line_start", "from_line", "start_line_one_indexed", "line_number"],
        "start_line",
    ),
    ("read_file", &["end", "endline", "line_end", "to_line", "end_line_one_indexed_inclusive"], "end_line"),
    (
        "write_file",
        &["contents", "text", "file_text", "code_content", "data", "file_content", "body"],
        "content",
    ),
    (
        "edit_file",
        &[
            "old_string",
            "old_text",
            "search",
            "old",
            "original",
            "old_content",
            "target_content",
            "find",
            "search_string",
        ],
        "old_str",
    ),
    (
        "edit_file",
        &[
            "new_string",
            "new_text",
            "replace",
            "new",
            "replacement",
            "new_content",
            "replacement_content",
            "replace_string",
        ],
        "new_str",
    ),
    ("edit_file", &["allow_multiple", "all", "replace_all_occurrences", "global"], "replace_all"),
    ("edit_file", &["replacements", "changes"], "edits"),
    ("apply_patch", &["input", "diff", "patch_text", "patch_content", "content", "unified_diff"], "patch"),
    (
        "replace_text",
        &["search", "old_string", "old_str", "old_name", "find", "query", "old", "search_string"],
        "pattern",
    ),
    (
        "replace_text",
        &["replace", "new_string", "new_str", "new_name", "replace_with", "new", "with"],
        "replacement",
    ),
    ("replace_text", &["use_regex", "is_regex", "is_regexp"], "regex"),
    ("replace_text", &["include", "glob", "include_pattern", "file_glob", "files", "filter"], "file_pattern"),
    ("replace_text", &["expected_count", "expected_replacements", "count"], "expect_count"),
    ("move_file", &["source", "source_path", "src", "old_path", "old_name", "path", "file_path"], "from"),
    (
        "move_file",
        &["destination", "destination_path", "dest", "dst", "new_path", "new_name", "target"],
        "to",
    ),
    (
        "list_files",
        &["query", "glob", "glob_pattern", "file_pattern", "name", "search_term", "globs"],
        "pattern",
    ),
    ("find_files", &["query", "glob", "glob_pattern", "file_pattern", "name", "search_term"], "pattern"),
    ("search_files", &["glob", "glob_pattern"], "pattern"),
    ("grep", &["query", "regex", "search_term", "search", "regexp", "search_pattern", "q"], "pattern"),
    (
        "grep",
        &["include", "glob", "include_pattern", "includes", "file_glob", "files", "glob_filter"],
        "file_pattern",
    ),
    ("grep", &["head_limit", "limit", "max_count", "max_matches"], "max_results"),
    ("grep", &["context"], "context_lines"),
    ("grep", &["fixed_strings", "is_literal", "fixed"], "literal"),
    ("search_code", &["query", "regex", "search_term", "search"], "pattern"),
    ("search_code", &["include", "glob", "include_pattern", "file_glob"], "file_pattern"),
    ("search_code", &["context"], "context_lines"),
    (
        "run_command",
        &["cmd", "command_line", "script", "shell_command", "code", "commands", "input"],
        "command",
    ),
    (
        "run_command",
        &["workdir", "working_directory", "working_dir", "dir_path", "directory", "cd", "path", "cwd_path"],
        "cwd",
    ),
    ("run_command", &["timeout_seconds", "timeout_secs", "timeout_sec", "max_time"], "timeout"),
    ("run_command", &["environment", "env_vars"], "env"),
    ("run_powershell", &["command", "cmd", "code"], "script"),
    ("dispatch_subagent", &["prompt", "instructions", "message", "objective"], "task"),
    ("dispatch_subagent", &["subagent_type", "agent", "agent_name", "mode"], "agent_type"),
    ("fetch_url", &["uri", "link", "address", "query"], "url"),
    ("web_search", &["q", "search_term", "search_query"], "query"),
];

/// Arguments that say something about a call and change nothing in what it does.
pub(super) const REMARKS: &[&str] = &[
    "description",
    "explanation",
    "instruction",
    "instructions",
    "reason",
    "reasoning",
    "justification",
    "thought",
    "purpose",
    "goal",
    "summary",
    "title",
    "tool_summary",
    "tool_action",
    "task_progress",
    "security_risk",
    "requires_approval",
    "safe_to_auto_run",
    "with_escalated_permissions",
    "sandbox_permissions",
    "line_count",
    "encoding",
    "blocking",
    "wait_for_previous_tools",
    "respect_git_ignore",
    "file_filtering_options",
    "is_background",
    "run_in_background",
    "yield_time_ms",
    "max_output_tokens",
    "login",
    "restart",
    "toolexplanation",
    "should_read_entire_file",
    "dry_run",
];

/// Returns a name in lower case without separators, and without the name of the server or namespace before it.
pub(super) fn folded(name: &str) -> String {
    let name = ["__", ".", ":", "/"].iter().fold(name, |name, mark| name.rsplit(mark).next().unwrap_or(name));
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns what another agent's tool is here.
pub(super) fn meaning(name: &str) -> Option<Meaning> {
    let name = folded(name);
    TOOLS.iter().find(|(foreign, _)| *foreign == name).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_stands_once_and_as_it_is_looked_up() {
        let mut seen = BTreeSet::new();
        for (name, _) in TOOLS {
            assert_eq!(folded(name), *name);
            assert!(seen.insert(name), "{name}");
        }
        assert_eq!(folded("functions.Read_File"), "readfile");
        assert_eq!(folded("developer__shell"), "shell");
    }
}
