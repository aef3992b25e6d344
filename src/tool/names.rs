//! Names of tools that models bring with them from other agents, and what is understood by each. Whatever a call is
//! understood as passes through the pipeline like any other.

use super::door::NotUnderstood;
use super::todo_list::todo_list;
use super::translate::{
    appended, bulk_read, editor, insertion_before, line_range, many_edits, search_blocks, written,
};
use super::translate_command::{background, of_server, shell, stopped, together};
use super::translate_search::{directory_search, noise, pattern_search, question, subagent, tree};
use crate::base::command_template::Dialect;
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
    ("getfilecontent", Changed("read_file", line_range)),
    ("readfilecontent", Changed("read_file", line_range)),
    ("readfilecontents", Changed("read_file", line_range)),
    ("readlines", Changed("read_file", line_range)),
    ("readfilelines", Changed("read_file", line_range)),
    ("viewcode", Changed("read_file", line_range)),
    ("viewcontent", Changed("read_file", line_range)),
    ("showfile", Changed("read_file", line_range)),
    ("fsread", Changed("read_file", line_range)),
    ("readmanyfiles", Changed("read_file", bulk_read)),
    ("readmultiplefiles", Changed("read_file", bulk_read)),
    ("readfiles", Changed("read_file", bulk_read)),
    // Writing.
    ("write", Fitted("write_file", written)),
    ("writefile", Fitted("write_file", written)),
    ("writetofile", Fitted("write_file", written)),
    ("createfile", Fitted("write_file", written)),
    ("create", Fitted("write_file", written)),
    ("savefile", Fitted("write_file", written)),
    ("newfile", Fitted("write_file", written)),
    ("addfile", Fitted("write_file", written)),
    ("createorupdatefile", Fitted("write_file", written)),
    ("fswrite", Fitted("write_file", written)),
    ("overwritefile", Fitted("write_file", written)),
    ("appendtofile", Fitted("write_file", appended)),
    ("appendfile", Fitted("write_file", appended)),
    // Editing.
    ("edit", Changed("edit_file", many_edits)),
    ("editfile", Changed("edit_file", many_edits)),
    ("multiedit", Changed("edit_file", many_edits)),
    ("replace", Changed("edit_file", many_edits)),
    ("searchreplace", Changed("edit_file", many_edits)),
    ("strreplace", Changed("edit_file", many_edits)),
    ("stringreplace", Changed("edit_file", many_edits)),
    ("modifyfile", Changed("edit_file", many_edits)),
    ("updatefile", Changed("edit_file", many_edits)),
    ("replacestringinfile", Changed("edit_file", many_edits)),
    ("multireplacestringinfile", Changed("edit_file", many_edits)),
    ("replacefilecontent", Changed("edit_file", many_edits)),
    ("editblock", Changed("edit_file", many_edits)),
    ("replaceinfile", Changed("edit_file", search_blocks)),
    ("applydiff", Changed("apply_patch", search_blocks)),
    ("strreplaceeditor", Changed("edit_file", editor)),
    ("strreplacebasededittool", Changed("edit_file", editor)),
    ("texteditor", Changed("edit_file", editor)),
    ("editor", Changed("edit_file", editor)),
    ("insert", Changed("apply_patch", super::translate::insertion)),
    ("insertcontent", Changed("apply_patch", insertion_before)),
    ("insertline", Changed("apply_patch", super::translate::insertion)),
    ("insertlines", Changed("apply_patch", super::translate::insertion)),
    ("inserttext", Changed("apply_patch", super::translate::insertion)),
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
    ("reapply", Advice("write the change itself: edit_file(path=…, old_str=…, new_str=…)")),
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
    ("directorytree", Fitted("list_files", tree)),
    ("tree", Fitted("list_files", tree)),
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
    ("getfileinfo", Tool("get_file_summary")),
    ("outline", Tool("get_file_summary")),
    ("documentsymbols", Tool("get_file_summary")),
    ("getsymbols", Tool("get_file_summary")),
    ("listsymbols", Tool("get_file_summary")),
    ("fileoutline", Tool("get_file_summary")),
    // Commands.
    ("bash", Changed("run_command", shell)),
    ("shell", Changed("run_command", shell)),
    ("localshell", Changed("run_command", shell)),
    ("sh", Changed("run_command", shell)),
    ("terminal", Changed("run_command", shell)),
    ("exec", Changed("run_command", shell)),
    ("run", Changed("run_command", shell)),
    ("cmd", Changed("run_command", shell)),
    ("command", Changed("run_command", shell)),
    ("execcommand", Changed("run_command", shell)),
    ("execute", Changed("run_command", shell)),
    ("executebash", Changed("run_command", shell)),
    ("executecommand", Changed("run_command", shell)),
    ("executeshell", Changed("run_command", shell)),
    ("runcommand", Changed("run_command", shell)),
    ("runshellcommand", Changed("run_command", shell)),
    ("runshell", Changed("run_command", shell)),
    ("runbash", Changed("run_command", shell)),
    ("runterminalcmd", Changed("run_command", shell)),
    ("runterminalcommand", Changed("run_command", shell)),
    ("runinterminal", Changed("run_command", shell)),
    ("shellcommand", Changed("run_command", shell)),
    ("bashoutput", Changed("background_command", background)),
    ("taskoutput", Changed("background_command", background)),
    ("getterminaloutput", Changed("background_command", background)),
    ("commandstatus", Changed("background_command", background)),
    ("readprocessoutput", Changed("background_command", background)),
    ("writestdin", Changed("background_command", background)),
    ("backgroundcommand", Changed("background_command", background)),
    ("readoutput", Changed("background_command", background)),
    ("readbackgroundoutput", Changed("background_command", background)),
    ("getoutput", Changed("background_command", background)),
    ("getcommandoutput", Changed("background_command", background)),
    ("commandoutput", Changed("background_command", background)),
    ("readbackground", Changed("background_command", background)),
    ("readterminal", Changed("background_command", background)),
    ("checkcommandstatus", Changed("background_command", background)),
    ("awaitcommand", Changed("background_command", background)),
    ("process", Changed("background_command", background)),
    ("stopcommand", Changed("background_command", stopped)),
    ("stopbackgroundcommand", Changed("background_command", stopped)),
    ("killcommand", Changed("background_command", stopped)),
    ("killprocess", Changed("background_command", stopped)),
    ("stopprocess", Changed("background_command", stopped)),
    ("terminateprocess", Changed("background_command", stopped)),
    ("killbackground", Changed("background_command", stopped)),
    ("killshell", Changed("background_command", stopped)),
    ("killbash", Changed("background_command", stopped)),
    ("taskstop", Changed("background_command", stopped)),
    ("killterminal", Changed("background_command", stopped)),
    (
        "sed",
        Advice(
            "replace text with replace_text(pattern=…, replacement=…), or run it: run_command(command=\"sed …\")",
        ),
    ),
    ("powershell", Tool("run_powershell")),
    ("pwsh", Tool("run_powershell")),
    ("python", Advice("run a script of the project: run_command(command=\"python path/to/script.py\")")),
    (
        "pythoninterpreter",
        Advice("run a script of the project: run_command(command=\"python path/to/script.py\")"),
    ),
    ("executecode", Advice("run a script of the project: run_command(command=\"python path/to/script.py\")")),
    (
        "executeipythoncell",
        Advice("run a script of the project: run_command(command=\"python path/to/script.py\")"),
    ),
    ("ipython", Advice("run a script of the project: run_command(command=\"python path/to/script.py\")")),
    ("readlints", Advice("run the project's own linter: run_command(command=\"…\")")),
    ("lspdiagnostics", Advice("run the project's own compiler or linter: run_command(command=\"…\")")),
    ("getdiagnostics", Advice("run the project's own compiler or linter: run_command(command=\"…\")")),
    ("geterrors", Advice("run the project's own compiler or linter: run_command(command=\"…\")")),
    ("runtests", Advice("say how: run_command(command=\"…\") with the project's own test command")),
    ("runtest", Advice("say how: run_command(command=\"…\") with the project's own test command")),
    ("gitdiff", Advice("Git is a command: run_command(command=\"git diff\")")),
    ("gitstatus", Advice("Git is a command: run_command(command=\"git status\")")),
    ("gitlog", Advice("Git is a command: run_command(command=\"git log --oneline -20\")")),
    ("gitshow", Advice("Git is a command: run_command(command=\"git show HEAD\")")),
    (
        "gitcommit",
        Advice("what you change is committed and delivered after the run; there is nothing to call"),
    ),
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
    ("todowrite", Changed("todo", todo_list)),
    ("writetodos", Changed("todo", todo_list)),
    ("updatetodos", Changed("todo", todo_list)),
    ("updatetodolist", Changed("todo", todo_list)),
    ("managetodolist", Changed("todo", todo_list)),
    ("todo", Changed("todo", todo_list)),
    ("updateplan", Changed("todo", todo_list)),
    (
        "todoread",
        Advice("your list is in what you wrote last; to change it: todo(items=[{task: …, status: …}])"),
    ),
    ("parallel", Changed("read_file", together)),
    ("usemcptool", Changed("read_file", of_server)),
    ("accessmcpresource", Changed("read_file", of_server)),
    ("skill", Advice("there are no skills; what a file describes can be read: read_file(path=…)")),
    (
        "savememory",
        Advice(
            "nothing is remembered after the run, unless the task asks for a file: write_file(path=…, content=…)",
        ),
    ),
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

/// Returns a name in lower case without separators, and without the name of the server or namespace before it.
pub(super) fn folded(name: &str) -> String {
    let name = ["__", ".", ":", "/"].iter().fold(name, |name, mark| name.rsplit(mark).next().unwrap_or(name));
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Tools that only some runs have, besides those of [`Registry::with_built_in`](super::Registry::with_built_in).
const OF_SOME_RUNS: [&str; 7] = [
    "run_command",
    "background_command",
    "run_powershell",
    "fetch_url",
    "web_search",
    "dispatch_subagent",
    "todo",
];

/// Name that is none of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnknownTool {
    /// The tool whose name is most similar.
    pub(crate) nearest: Option<String>,
}

/// Checks the name of a tool in a list of tools that an agent has: ours as it is, or one of a server.
pub(crate) fn known_by_name(name: &str) -> Result<(), UnknownTool> {
    let registry = super::Registry::with_built_in();
    let own: Vec<&str> = registry.all().map(|tool| tool.name()).chain(OF_SOME_RUNS).collect();
    if name.starts_with("mcp_") || own.contains(&name) {
        return Ok(());
    }
    let same = own.iter().find(|own| folded(own) == folded(name)).copied();
    let nearest = same.or_else(|| crate::base::did_you_mean::nearest(name, own.iter().copied()));
    Err(UnknownTool { nearest: nearest.map(str::to_owned) })
}

/// Checks the name of a tool, whichever a run may have: ours, those of other agents, and those of servers.
pub(crate) fn known_in_some_run(name: &str) -> Result<(), UnknownTool> {
    let registry = super::Registry::with_built_in();
    let own: Vec<&str> = registry.all().map(|tool| tool.name()).chain(OF_SOME_RUNS).collect();
    let wanted = folded(name);
    if name.starts_with("mcp_") || meaning(name).is_some() || own.iter().any(|own| folded(own) == wanted) {
        return Ok(());
    }
    let nearest = crate::base::did_you_mean::nearest(name, own).map(str::to_owned);
    Err(UnknownTool { nearest })
}

/// Returns the language of the command lines that a tool runs, by whatever name it is called; `None` if it runs none.
pub(crate) fn command_dialect(name: &str) -> Option<Dialect> {
    let wanted = folded(name);
    let is = |own: &str| {
        wanted == folded(own)
            || matches!(meaning(name), Some(Tool(meant) | Fitted(meant, _) | Changed(meant, _)) if meant == own)
    };
    if is("run_powershell") {
        Some(Dialect::PowerShell)
    } else if is("run_command") {
        Some(Dialect::Shell)
    } else {
        None
    }
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
