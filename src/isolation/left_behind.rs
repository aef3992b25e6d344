//! What commands have left where Git ignores it: told, as it is in no diff, and held against what runs or obeys it.

use std::fs;

use workspace::WorkspacePath;

use super::{Isolation, auto_loaded, doubt};
use crate::event::NoticeLevel;
use crate::plan::may_lead_outside;

impl Isolation {
    /// Returns what a command line of the configuration's runs or obeys although commands have changed it, and Git ignores
    /// it.
    pub fn doubts(&self, line: &str) -> Vec<String> {
        let path = self.shell.environment.get("PATH").map(String::as_str);
        let built = self.built.lock();
        let mut doubts = doubt::doubts(line, path, self.root(), &built);
        doubts.extend(built.iter().filter(|path| auto_loaded::is_auto_loaded(path)).map(ToString::to_string));
        doubts.sort();
        doubts.dedup();
        doubts
    }

    /// Tells of files that commands have left where Git ignores them, if programs obey some of them by their names.
    pub fn warn_of_auto_loaded(&self) {
        let built = self.built.lock();
        let auto_loaded: Vec<String> =
            built.iter().filter(|path| auto_loaded::is_auto_loaded(path)).map(ToString::to_string).collect();
        if !auto_loaded.is_empty() {
            let told = format!(
                "commands of this run changed files that Git ignores ({} in all), which are in no diff; by their names, programs \
                 obey or load {} of them: {}",
                built.len(),
                auto_loaded.len(),
                auto_loaded.join(", ")
            );
            self.events.notice(NoticeLevel::Warning, told);
        }
    }

    /// Tells of links that commands have left in the checkout where Git ignores them, and that lead out of it. Those in folders
    /// of tools are left out: environments of Python link the interpreter.
    pub fn warn_of_links(&self) {
        let built = self.built.lock();
        let leads_outside = |path: &&WorkspacePath| {
            doubt::tool_folder(path).is_none()
                && fs::read_link(self.root().join(path.as_str()))
                    .is_ok_and(|target| may_lead_outside(path, target.as_os_str().as_encoded_bytes()))
        };
        let links: Vec<String> = built.iter().filter(leads_outside).map(ToString::to_string).collect();
        if !links.is_empty() {
            let told = format!(
                "commands of this run left links that may lead outside of the workspace, where Git ignores them: {}",
                links.join(", ")
            );
            self.events.notice(NoticeLevel::Warning, told);
        }
    }

    /// Tells of such programs of a hook, a server or a model, once for each.
    pub fn tell_of_doubts(&self, owner: &str, line: &str) {
        let programs = self.doubts(line);
        let mut doubted = self.doubted.lock();
        if !programs.is_empty() && doubted.insert(owner.to_owned()) {
            let told = format!(
                "the {owner} runs or reads files that Git ignores and that commands of this run had changed before: {}",
                programs.join(", ")
            );
            self.events.notice(NoticeLevel::Warning, told);
        }
    }
}
