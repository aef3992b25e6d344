//! Effects of a command line, as far as its words say which files it touches.

use std::path::Path;

use shell::{Simple, Word};
use workspace::{LastLink, Workspace, WorkspacePath};

use crate::command::Assessment;
use crate::event::{CommandEffect, Effects};

/// Programs that write or remove the files named by their operands.
const WRITERS: &str = "rm rmdir mv tee touch mkdir truncate chmod chown chgrp shred unlink patch dd \
                       set-content sc add-content ac clear-content clc out-file tee-object remove-item ri del erase rd \
                       move-item mi move copy-item cpi copy new-item ni rename-item rni export-csv";

/// Programs that write their last operand, or the folder given with `-t`, and read the others.
const COPIERS: &str = "cp ln install";

/// Programs whose first operand is a mode or an owner, not a file.
const WITH_MODE: &str = "chmod chown chgrp";

/// Git's sub-commands that write files of the working tree.
const GIT_WRITERS: &str = "mv rm restore checkout clean";

/// Programs whose operands are text.
const TEXT_PRINTERS: &str = "echo printf";

/// Programs that read everything in a folder, and the option letters that make those do so that do not
/// always.
const TREE_READERS: [(&str, &str); 6] =
    [("rg", ""), ("ag", ""), ("grep", "rR"), ("egrep", "rR"), ("fgrep", "rR"), ("diff", "r")];

/// Options, by program, whose values say what to skip or to look for, so that they do not name files to read.
/// Another program may have an option of the same name that precedes a file (`sort -g`, `grep -I`).
const FILTERS: [(&str, &str); 5] = [
    ("find", "-path -ipath -wholename -iwholename -name -iname -lname -ilname -regex -iregex"),
    ("tree", "-I -P"),
    ("rg", "-g --glob --iglob"),
    ("du", "--exclude"),
    ("grep egrep fgrep", "--include --exclude --exclude-dir"),
];

/// Returns the effects of `line`, to be run in `cwd`, with its assessment.
pub fn command_effects(
    line: &str,
    cwd: &WorkspacePath,
    root: &Path,
    judgement: &Assessment,
    workspace: &dyn Workspace,
) -> Effects {
    let mut command = CommandEffect {
        line: line.to_owned(),
        cwd: cwd.clone(),
        class: judgement.verdict.class,
        reason: judgement.verdict.explained(),
        blocked: judgement.blocked.clone(),
        simple: judgement.simple(),
        globs: Vec::new(),
        trees: Vec::new(),
    };
    let mut effects = Effects::default();
    let paths = PathResolver { cwd, root, workspace };
    let moves = judgement
        .analysis
        .commands
        .iter()
        .any(|simple| matches!(simple.name(), Some("cd" | "pushd" | "popd")));
    for simple in &judgement.analysis.commands {
        for redirect in &simple.redirects {
            if redirect.target.glob {
                command.globs.extend(redirect.target.text().and_then(|text| glob(text, cwd, root)));
            }
            let path = redirect.target.text().and_then(|text| paths.path(text));
            let list = if redirect.writes { &mut effects.writes } else { &mut effects.reads };
            list.extend(path);
        }
        let Some(name) = simple.name().map(|name| name.rsplit('/').next().unwrap_or(name)) else { continue };
        if is_in(TEXT_PRINTERS, name) {
            continue;
        }
        for word in operands(name, simple) {
            let writes = writes(name, simple, word);
            if moves {
                // The line changes folders, so the file may be in any of them.
                command.globs.extend(word.text().map(|text| format!("**/{}", text.trim_start_matches("./"))));
            }
            if word.glob {
                command.globs.extend(word.text().and_then(|text| glob(text, cwd, root)));
                continue;
            }
            let text = word.text().unwrap_or_default();
            for path in parts(text).filter_map(|part| paths.path(part)) {
                if writes && (name != "git" || paths.exists(&path)) {
                    effects.writes.push(path);
                } else if paths.exists(&path) {
                    effects.reads.push(path);
                }
            }
            // In `COMMIT:PATH`, the path may exist only in that commit.
            let of_commit = text.split_once(':').filter(|_| name == "git");
            effects.reads.extend(of_commit.and_then(|(_, path)| paths.path(path)));
        }
        if reads_trees(name, simple) {
            let below = operands(name, simple)
                .filter(|word| word.glob)
                .filter_map(|word| glob(word.text()?, cwd, root));
            command.globs.extend(below.map(|glob| format!("{glob}/**")));
            let folders: Vec<WorkspacePath> = operands(name, simple)
                .filter_map(|word| paths.path(word.text()?))
                .filter(|path| paths.exists(path))
                .collect();
            command.trees.extend(if folders.is_empty() || moves { vec![cwd.clone()] } else { folders });
        }
    }
    for list in [&mut effects.reads, &mut effects.writes, &mut command.trees] {
        list.sort();
        list.dedup();
    }
    effects.command = Some(command);
    effects
}

fn is_in(list: &str, name: &str) -> bool {
    list.split(' ').any(|item| item == name)
}

/// Returns `true` if a command writes what `word` names.
fn writes(name: &str, simple: &Simple, word: &Word) -> bool {
    let has = |options: [&str; 2]| {
        let [short, long] = options;
        simple
            .arguments()
            .iter()
            .filter_map(Word::text)
            .any(|text| text.starts_with(short) && !text.starts_with("--") || text.starts_with(long))
    };
    let plain = |word: &&Word| !word.is_option();
    let first = || simple.arguments().iter().find(plain);
    let is = |other: Option<&Word>| other.is_some_and(|other| std::ptr::eq(other, word));
    match name {
        _ if is_in(COPIERS, name) => {
            has(["-t", "--target-directory"]) || is(simple.arguments().iter().rfind(plain))
        }
        // Without `-e`, the first operand is the script.
        "sed" => has(["-i", "--in-place"]) && (has(["-e", "--expression"]) || !is(first())),
        "git" => first().and_then(Word::text).is_some_and(|sub| is_in(GIT_WRITERS, sub)),
        _ if is_in(WITH_MODE, name) => !is(first()),
        _ => is_in(WRITERS, name),
    }
}

/// Returns the words that may name files: everything but options, and but the values of filter options.
fn operands<'a>(name: &str, simple: &'a Simple) -> impl Iterator<Item = &'a Word> {
    let filters =
        FILTERS.iter().find(|(programs, _)| is_in(programs, name)).map_or("", |(_, options)| options);
    let words = &simple.words;
    // Both `--exclude=x` and `--exclude x`.
    let is_filter = move |at: usize| {
        let text = |at: usize| words[at].text().unwrap_or_default();
        let option = |text: &str| text.starts_with('-') && is_in(filters, text);
        text(at).split_once('=').is_some_and(|(name, _)| option(name)) || option(text(at - 1))
    };
    (1..words.len()).filter(move |at| !is_filter(*at)).map(|at| &words[at])
}

/// Returns the word, unless it is an option, and what follows a `=` in it.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let whole = (!text.starts_with('-')).then_some(text);
    let value = text.split_once('=').map(|(_, value)| value);
    [whole, value].into_iter().flatten()
}

/// Returns a glob relative to the workspace's root, or `None` if it leads outside.
fn glob(text: &str, cwd: &WorkspacePath, root: &Path) -> Option<String> {
    let full = match text.strip_prefix('/') {
        Some(_) => Path::new(text).strip_prefix(root).ok()?.to_str()?.to_owned(),
        None if cwd.is_root() => text.to_owned(),
        None => format!("{cwd}/{text}"),
    };
    // Links need not be resolved: files behind them are found by matching their paths.
    let mut names: Vec<&str> = Vec::new();
    for name in full.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// Returns `true` if a command reads everything in the folders it names.
fn reads_trees(name: &str, simple: &Simple) -> bool {
    let short = |letters: &str| {
        simple.arguments().iter().filter_map(Word::text).any(|text| {
            text == "--recursive"
                || text.starts_with('-') && !text.starts_with("--") && text.contains(|c| letters.contains(c))
        })
    };
    TREE_READERS.iter().any(|(reader, letters)| *reader == name && (letters.is_empty() || short(letters)))
}

struct PathResolver<'a> {
    cwd: &'a WorkspacePath,
    root: &'a Path,
    workspace: &'a dyn Workspace,
}

impl PathResolver<'_> {
    /// Returns the file that a word names, with links followed, or `None` if it is outside or not a path at
    /// all.
    fn path(&self, text: &str) -> Option<WorkspacePath> {
        let path = if text.starts_with('/') {
            let below = Path::new(text).strip_prefix(self.root).ok()?.to_str()?;
            if below.is_empty() { WorkspacePath::root() } else { WorkspacePath::parse(below).ok()? }
        } else if self.cwd.is_root() {
            WorkspacePath::parse(text).ok()?
        } else {
            WorkspacePath::parse(&format!("{}/{text}", self.cwd)).ok()?
        };
        let resolved = self.workspace.resolve(&path, LastLink::Follow).ok()?;
        Some(WorkspacePath::clone(&resolved))
    }

    fn exists(&self, path: &WorkspacePath) -> bool {
        let resolved = self.workspace.resolve(path, LastLink::Follow);
        resolved.is_ok_and(|path| self.workspace.stat(&path).is_ok_and(|stat| stat.is_some()))
    }
}
