//! Files that commands leave where Git ignores them: they appear in no diff, so they are reported, and they cast doubt on what
//! runs or loads them.

use std::collections::BTreeSet;
use std::fs;

use workspace::WorkspacePath;

use super::tool_folders::{ToolFolders, tool_folder};
use super::{Isolation, auto_loaded, untrusted_build_output};
use crate::event::NoticeLevel;
use crate::plan::may_lead_outside;

/// How many tools or links a warning names.
const MAX_NAMED: usize = 10;

/// What a command left where Git ignores it.
#[derive(Debug, Default)]
pub struct LeftBehind {
    /// Files that cast doubt on what runs or loads them: all that the agent's commands left; of others, tools, and files that are
    /// loaded by name.
    pub(super) files: Vec<WorkspacePath>,
    /// Those that programs load by their names.
    pub(super) auto_loaded: Vec<WorkspacePath>,
    /// Tools of the checkout that a program of the configuration's replaced there.
    pub(super) replaced: Vec<WorkspacePath>,
    /// Links, whoever left them.
    pub(super) links: Vec<WorkspacePath>,
}

impl Isolation {
    /// Records what a command has left, and reports tools that a hook or gate has replaced in the checkout: they stay there.
    pub(super) fn note_left_behind(&self, left: &LeftBehind, owner: Option<String>) {
        self.links.lock().extend(left.links.iter().cloned());
        let mut built = self.built.lock();
        for path in &left.files {
            let by = built.entry(path.clone()).or_insert_with(|| owner.clone());
            // What the agent has changed as well is the agent's.
            if owner.is_none() {
                *by = None;
            }
        }
        if let (Some(owner), false) = (owner, left.replaced.is_empty()) {
            let mut named: Vec<String> =
                left.replaced.iter().take(MAX_NAMED).map(ToString::to_string).collect();
            let more = left.replaced.len() - named.len();
            if more > 0 {
                named.push(format!("{more} more"));
            }
            let message = format!(
                "the {owner} changed tools that Git ignores, which stay in the checkout: {}",
                named.join(", ")
            );
            self.events.notice(NoticeLevel::Warning, message);
        }
    }

    /// Returns which folders are of tools at the moment, if that is needed, and the files that the run has changed.
    fn tool_folders(&self, is_needed: bool) -> (ToolFolders, BTreeSet<WorkspacePath>) {
        let changed = self.below.changed().unwrap_or_default();
        let folders = if is_needed {
            ToolFolders::new(self.source.tracked.iter().chain(&changed))
        } else {
            ToolFolders::default()
        };
        (folders, changed)
    }

    /// Returns what a command line of the configuration runs or loads although commands have changed it, and Git ignores
    /// it.
    pub fn doubts(&self, line: &str) -> Vec<String> {
        let path = self.shell.environment.get("PATH").map(String::as_str);
        let built = self.built.lock();
        let mut doubts = untrusted_build_output::doubts(line, path, self.root(), &built);
        let (folders, changed) = self.tool_folders(!built.is_empty());
        doubts.extend(auto_loaded_among(built.keys(), &folders));
        // Bytecode that Git does not ignore is in the diff, but nobody can read it.
        doubts.extend(changed.iter().filter(|path| workspace::is_bytecode(path)).map(ToString::to_string));
        doubts.sort();
        doubts.dedup();
        doubts
    }

    /// Reports files that commands have left where Git ignores them, if programs load some of them by their names.
    pub fn warn_of_auto_loaded(&self) {
        let built = self.built.lock();
        let (folders, _) = self.tool_folders(!built.is_empty());
        let auto_loaded = auto_loaded_among(built.keys(), &folders);
        if !auto_loaded.is_empty() {
            let message = format!(
                "commands of this run changed files that Git ignores ({} in all), which are in no diff; programs load {} of \
                 them by name: {}",
                built.len(),
                auto_loaded.len(),
                auto_loaded.join(", ")
            );
            self.events.notice(NoticeLevel::Warning, message);
        }
    }

    /// Reports links that commands, hooks and gates have left in the checkout where Git ignores them, and that lead out of
    /// it. Those in folders of tools are left out: environments of Python link the interpreter.
    pub fn warn_of_links(&self) {
        let links = self.links.lock();
        let leads_outside = |path: &&WorkspacePath| {
            tool_folder(path).is_none()
                && fs::read_link(self.root().join(path.as_str()))
                    .is_ok_and(|target| may_lead_outside(path, target.as_os_str().as_encoded_bytes()))
        };
        let mut named: Vec<String> = links.iter().filter(leads_outside).map(ToString::to_string).collect();
        if !named.is_empty() {
            let more = named.len().saturating_sub(MAX_NAMED);
            named.truncate(MAX_NAMED);
            if more > 0 {
                named.push(format!("and {more} more"));
            }
            let message = format!(
                "commands, hooks or gates of this run left links that may lead outside of the workspace, where Git ignores them: {}",
                named.join(", ")
            );
            self.events.notice(NoticeLevel::Warning, message);
        }
    }

    /// Reports such programs of a hook, a server or a model, once for each.
    pub fn report_doubts(&self, owner: &str, line: &str) {
        let programs = self.doubts(line);
        let mut doubted = self.doubted.lock();
        if !programs.is_empty() && doubted.insert(owner.to_owned()) {
            let message = format!(
                "the {owner} runs or reads files that Git ignores and that commands of this run had changed before: {}",
                programs.join(", ")
            );
            self.events.notice(NoticeLevel::Warning, message);
        }
    }
}

/// Returns the files among these that programs load by their names.
fn auto_loaded_among<'a>(
    files: impl Iterator<Item = &'a WorkspacePath>,
    folders: &ToolFolders,
) -> Vec<String> {
    files.filter(|path| auto_loaded::is_auto_loaded(path, folders)).map(ToString::to_string).collect()
}
