//! Guardrails: rules that no model output can turn off, checked on a call's effects before anything else.

mod ambiguous_names;
mod attributes;
mod changes;
mod code_rules;
mod context;
mod dependencies;
mod git_configured;
mod inspection;
mod links;
mod local_actions;
mod programs;
mod refusal;
mod spaces;
mod tally;
mod tracked;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::WalkBuilder;
use workspace::{
    Glob, PathGlobs, ProgramFiles, Proposed, SensitiveFiles, Workspace, WorkspaceLocation, WorkspacePath,
};

use crate::base::bounded::Bounded;
use crate::base::pattern::Pattern;
use crate::base::pattern_options::PatternOptions;
use crate::base::time_limit::TimeLimit;
use crate::command::Patterns;
use crate::config::{self};
use crate::event::{Class, CommandEffect, Effects};

use code_rules::CodeRule;
pub(crate) use context::GuardrailContext;
pub(crate) use dependencies::BaseFiles;
pub(crate) use inspection::{CODE_OWNERS, InspectionError, inspect};
pub(crate) use refusal::{InvalidGuardrail, Refusal};
use tally::Tally;
pub(crate) use tracked::{tracked, tracked_files};

/// Paths of the configuration, which are never writable, whether the file exists or not.
const CONFIG_FILES: [&str; 2] = [".github/architect.yml", ".architect.yml"];

/// Guardrails of a run, with their patterns compiled.
#[derive(Debug, Default)]
pub struct Guardrails {
    root: PathBuf,
    location: WorkspaceLocation,
    protected: PathGlobs,
    sensitive: Arc<SensitiveFiles>,
    config_file: Option<WorkspacePath>,
    /// Folders above protected files, with case folded.
    folders_above_protected: BTreeSet<String>,
    programs: ProgramFiles,
    git_configured: ProgramFiles,
    local_actions: ProgramFiles,
    allow_workflow_edits: bool,
    allowed_only: bool,
    blocked_commands: Patterns,
    code_rules: Arc<[CodeRule]>,
    max_files: Option<usize>,
    max_lines: Option<usize>,
    tally: Tally,
    max_commands: Option<usize>,
    commands: AtomicUsize,
    time_limit: TimeLimit,
}

impl Guardrails {
    /// Compiles the configured rules. The error names the one that is invalid.
    pub fn new(rules: &config::Guardrails, context: GuardrailContext<'_>) -> Result<Self, InvalidGuardrail> {
        let code_rule = |rule: &config::CodeRule| {
            let options = PatternOptions { multi_line: true, ..PatternOptions::default() };
            let pattern = Pattern::new(&rule.pattern, options)
                .map_err(|source| InvalidGuardrail::Code { pattern: rule.pattern.clone(), source })?;
            Ok(CodeRule { pattern, message: rule.message.clone(), severity: rule.severity })
        };
        Ok(Self {
            root: context.root.to_owned(),
            protected: PathGlobs::folding(&rules.protected_files)?,
            sensitive: Arc::new(SensitiveFiles::new(
                rules.sensitive_files.as_deref(),
                context.tracked,
                context.location.clone(),
            )?),
            location: context.location,
            folders_above_protected: links::folders_above(&rules.protected_files, context.config_file),
            config_file: context.config_file.and_then(|path| WorkspacePath::parse(path).ok()),
            programs: context.programs.clone(),
            git_configured: context.git_configured,
            local_actions: context.local_actions,
            allow_workflow_edits: context.allow_workflow_edits,
            allowed_only: context.allowed_only,
            blocked_commands: Patterns::read("guardrails.blocked_commands", &rules.blocked_commands)?,
            code_rules: rules.code_rules.iter().map(code_rule).collect::<Result<_, InvalidGuardrail>>()?,
            max_files: rules.max_files_modified.map(Bounded::count),
            max_lines: rules.max_lines_changed.map(Bounded::count),
            tally: Tally::default(),
            max_commands: rules.max_commands_executed.map(Bounded::count),
            commands: AtomicUsize::new(0),
            time_limit: context.time_limit,
        })
    }

    /// Checks what a command has changed, before any of it is kept. Returns warnings for the model, or all
    /// reasons why nothing may be kept. `unread` are files that it wrote but whose contents are not read.
    pub fn judge(
        &self,
        workspace: &dyn Workspace,
        Proposed { changes, large, outputs, folders }: Proposed<'_>,
    ) -> Result<Vec<String>, Vec<String>> {
        let paths = changes.iter().map(|change| &change.path).chain(large).chain(outputs);
        // Nothing is to take the place of a protected file. What is secret is not in a folder without files.
        let folders = folders.iter().filter_map(|path| self.check_protected(path).err());
        let refused: Vec<String> = paths
            .filter_map(|path| self.check_write(path).err())
            .chain(folders)
            .chain(self.check_links(changes).err())
            .map(|reason| reason.to_string())
            .collect();
        if !refused.is_empty() {
            return Err(refused);
        }
        if !self.checks_changes() {
            return Ok(Vec::new());
        }
        // Of what is not read nobody knows whether it keeps the rules.
        if let Some(path) = large.first() {
            return Err(vec![Refusal::TooLargeToCheck(path.clone()).to_string()]);
        }
        self.check_changes(workspace, changes).map_err(|reason| vec![reason.to_string()])
    }

    /// Returns which files must not be read.
    pub fn sensitive(&self) -> Arc<SensitiveFiles> {
        Arc::clone(&self.sensitive)
    }

    /// Checks a call by its effects. The error is the reason for the refusal.
    pub fn check(&self, effects: &Effects) -> Result<(), Refusal> {
        for path in &effects.reads {
            self.check_read(path)?;
        }
        for path in &effects.writes {
            self.check_write(path)?;
        }
        if let Some(remote) = &effects.remote {
            for path in &remote.paths {
                if remote.read_only { self.check_read(path)? } else { self.check_write(path)? }
            }
        }
        effects.command.as_ref().map_or(Ok(()), |command| self.check_command(command))
    }

    fn check_read(&self, path: &WorkspacePath) -> Result<(), Refusal> {
        if self.location.names_of(path).any(|path| is_git(&path)) {
            return Err(Refusal::Git(path.clone()));
        }
        match self.sensitive.find(path) {
            Some(pattern) if self.sensitive.is_list() => {
                Err(Refusal::Sensitive { path: path.clone(), pattern: pattern.to_owned() })
            }
            Some(pattern) => {
                Err(Refusal::UsuallySensitive { path: path.clone(), pattern: pattern.to_owned() })
            }
            None => Ok(()),
        }
    }

    /// Checks whether a file may be written at all. The error is the reason why not.
    pub fn check_write(&self, path: &WorkspacePath) -> Result<(), Refusal> {
        self.check_read(path)?;
        self.check_protected(path)
    }

    fn check_protected(&self, path: &WorkspacePath) -> Result<(), Refusal> {
        if let Some(reason) = self.always_protected(path) {
            return Err(Refusal::AlwaysProtected { path: path.clone(), reason });
        }
        match self.protected_by(path) {
            Some(pattern) => Err(Refusal::Protected { path: path.clone(), pattern: pattern.to_owned() }),
            None => Ok(()),
        }
    }

    /// Returns `true` if a file is protected; one that is merely sensitive is not.
    pub fn is_protected(&self, path: &WorkspacePath) -> bool {
        self.always_protected(path).is_some() || self.protected_by(path).is_some()
    }

    /// Returns the configured pattern that protects a file.
    fn protected_by(&self, path: &WorkspacePath) -> Option<&str> {
        self.location.names_of(path).find_map(|path| self.protected.find(&path))
    }

    fn check_command(&self, command: &CommandEffect) -> Result<(), Refusal> {
        if let Some(reason) = &command.blocked {
            return Err(Refusal::Blocked(reason.clone()));
        }
        let texts = std::iter::once(&command.line).chain(&command.simple).map(String::as_str);
        if let Some(pattern) = self.blocked_commands.find(texts) {
            return Err(Refusal::BlockedByPattern(pattern.to_owned()));
        }
        if self.allowed_only && command.class == Class::Dangerous {
            return Err(Refusal::Dangerous(command.reason.clone()));
        }
        self.check_unnamed(command)?;
        self.check_count(self.commands.load(Ordering::Relaxed))
    }

    /// Refuses a command that would reach sensitive files without naming them: by a glob, or in a folder.
    fn check_unnamed(&self, command: &CommandEffect) -> Result<(), Refusal> {
        // By default, what is secret is not there for commands, and what is there is not.
        if self.sensitive.is_empty()
            || !self.sensitive.is_list()
            || command.globs.is_empty() && command.trees.is_empty()
        {
            return Ok(());
        }
        let files = self.sensitive_files();
        // `*` does not match names that begin with a dot, unless the shell is told otherwise.
        let dots = ["dotglob", "GLOBIGNORE"].iter().any(|word| command.line.contains(word));
        for text in &command.globs {
            if let Some(file) = files.iter().find(|file| shell_glob_fits(text, file, dots)) {
                let glob = text.trim_start_matches("**/").to_owned();
                return Err(Refusal::Glob { glob, file: file.clone() });
            }
        }
        let within = |folder: &WorkspacePath| files.iter().find(|file| file.is_within(folder));
        match command.trees.iter().find_map(|folder| Some((folder, within(folder)?))) {
            Some((folder, file)) => Err(Refusal::Folder { folder: folder.clone(), file: file.clone() }),
            None => Ok(()),
        }
    }

    /// Returns the sensitive files that exist, including ignored ones.
    fn sensitive_files(&self) -> BTreeSet<WorkspacePath> {
        let walk = WalkBuilder::new(&self.root)
            .standard_filters(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        walk.filter_map(|entry| {
            let entry = entry.ok().filter(|entry| entry.depth() > 0)?;
            let relative = entry.path().strip_prefix(&self.root).ok()?.to_str()?;
            WorkspacePath::parse(relative).ok().filter(|path| self.sensitive.find(path).is_some())
        })
        .collect::<BTreeSet<_>>()
    }

    fn check_count(&self, commands: usize) -> Result<(), Refusal> {
        match self.max_commands {
            Some(max) if commands >= max => Err(Refusal::TooManyCommands(max)),
            _ => Ok(()),
        }
    }

    /// Counts a command that is about to run. The error says that the limit is exceeded.
    pub fn count_command(&self) -> Result<(), Refusal> {
        self.check_count(self.commands.fetch_add(1, Ordering::Relaxed))
    }

    /// Counts the commands that a resumed run had run before, unless it has run them again.
    pub fn count_earlier_commands(&self, earlier: usize) {
        self.commands.fetch_max(earlier, Ordering::Relaxed);
    }

    /// Returns why a file must never be written, whatever the configuration says.
    fn always_protected(&self, path: &WorkspacePath) -> Option<&'static str> {
        let place = self.location.names_of(path).find_map(|path| self.protected_place(&path));
        let of = |files: &ProgramFiles, reason| files.contains(path).then_some(reason);
        place
            .or_else(|| self.protected_in_nested(path))
            .or_else(|| of(&self.programs, "a hook, the model or an MCP server of this run uses it"))
            .or_else(|| {
                of(&self.git_configured, "the settings of the repository name it, so Git runs or reads it")
            })
            .or_else(|| {
                of(&self.local_actions, "workflows run it as an action, with the repository's rights")
            })
    }

    /// Returns why a file is protected as a part of a repository below the workspace: what is protected at the root is so
    /// there as well.
    fn protected_in_nested(&self, path: &WorkspacePath) -> Option<&'static str> {
        let folded = path.folded();
        let is_config = |file: &WorkspacePath| folded.ends_with(&file.folded());
        // Nearly all names are none of these, which is known without asking the disk.
        let may_be = folded.contains(".github")
            || folded.ends_with("architect.yml")
            || self.config_file.as_ref().is_some_and(is_config);
        if !may_be {
            return None;
        }
        path.as_str().match_indices('/').find_map(|(at, _)| {
            let below = WorkspacePath::parse(&path.as_str()[at + 1..]).ok()?;
            let reason = self.protected_place(&below)?;
            is_repository(&self.root.join(&path.as_str()[..at])).then_some(reason)
        })
    }

    fn protected_place(&self, path: &WorkspacePath) -> Option<&'static str> {
        let folded = path.folded();
        let within = |folder: &str| {
            folded.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if within(".github/workflows") && !self.allow_workflow_edits {
            return Some("workflows run with the repository's rights");
        }
        if within(".github/actions") {
            return Some("local actions run with the repository's rights");
        }
        // The 8.3 short name of `.architect.yml` has no leading dot.
        let is_config = CONFIG_FILES.contains(&folded.as_str())
            || (folded == "architect.yml" && path.as_str().contains('~'))
            || self.config_file.as_ref().is_some_and(|file| file.folded() == folded);
        is_config.then_some("it configures this tool")
    }
}

/// Returns `true` if a shell glob may match a file. One that begins with `**/` may be relative to any folder,
/// one that ends in `/**` stands for everything below.
fn shell_glob_fits(glob: &str, file: &WorkspacePath, dots: bool) -> bool {
    let (glob, anywhere) = glob.strip_prefix("**/").map_or((glob, false), |glob| (glob, true));
    let (glob, below) = glob.strip_suffix("/**").map_or((glob, false), |glob| (glob, true));
    // A glob that cannot be parsed is taken to match anything.
    if glob.contains('{') {
        // A list may contain slashes, as in `{a/b,c}`, so only the whole path can be compared.
        return Glob::parse(glob).map_or(true, |glob| below || anywhere || glob.matches(file.as_str()));
    }
    let names: Vec<&str> = file.names().collect();
    let patterns: Vec<&str> = glob.split('/').collect();
    let fits = |names: &[&str]| {
        let enough = if below { names.len() > patterns.len() } else { names.len() == patterns.len() };
        enough
            && patterns.iter().zip(names).all(|(pattern, name)| {
                let hidden = name.starts_with('.') && !dots && pattern.starts_with(['*', '?']);
                !hidden && Glob::parse(pattern).map_or(true, |pattern| pattern.matches(name))
            })
    };
    let starts = if anywhere { names.len() } else { 1 };
    (0..starts).any(|start| fits(&names[start..]))
}

/// Returns `true` if a folder is the root of a repository or a linked worktree, or if that cannot be known.
fn is_repository(folder: &Path) -> bool {
    match folder.join(".git").symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

/// Returns `true` if a path is, or lies in, a `.git`, as any file system may read it.
fn is_git(path: &WorkspacePath) -> bool {
    path.folded().split('/').any(|name| name == ".git")
}

#[cfg(test)]
mod tests;
