//! Links in the place of folders: what they lead to would be protected under one of its names only.

use std::collections::BTreeSet;

use workspace::{FileChange, Mode, WorkspacePath};

use super::{CONFIG_FILES, Guardrails, Refusal};

/// Folders that have protected files of their own, beside the configuration's.
const FOLDERS: [&str; 2] = [".github/workflows", ".github/actions"];

/// Characters of patterns; what comes before them is the name of a folder.
const WILDCARDS: [char; 5] = ['*', '?', '[', '{', '!'];

/// Returns the folders above protected files, with case folded.
pub(super) fn folders_above(patterns: &[String], config_file: Option<&str>) -> BTreeSet<String> {
    let fixed = CONFIG_FILES.iter().chain(&FOLDERS).copied();
    let configured = patterns.iter().map(String::as_str).chain(config_file);
    fixed.chain(configured).flat_map(|pattern| above(pattern.trim_start_matches('/'))).collect()
}

fn above(pattern: &str) -> Vec<String> {
    let names: Vec<&str> = pattern.split('/').take_while(|name| !name.contains(WILDCARDS)).collect();
    // The last name is that of the file, unless a wildcard comes behind it.
    let count = names.len() - usize::from(names.len() == pattern.split('/').count());
    let folder = |end: usize| WorkspacePath::parse(&names[..end].join("/")).ok().map(|path| path.folded());
    (1..=count).filter_map(folder).filter(|folder| !folder.is_empty()).collect()
}

impl Guardrails {
    /// Checks that no link takes the place of a folder that has, or may have, protected files.
    pub fn check_links(&self, changes: &[FileChange]) -> Result<(), Refusal> {
        let is_link = |change: &&FileChange| {
            let is = |state: &workspace::FileState| state.mode == Mode::Link;
            change.after.as_ref().is_some_and(is) && !change.before.as_ref().is_some_and(is)
        };
        let refused = changes.iter().filter(is_link).find_map(|change| {
            let reason = self.protected_below(&change.path)?;
            Some(Refusal::LinkAbove { link: change.path.clone(), reason })
        });
        refused.map_or(Ok(()), Err)
    }

    fn protected_below(&self, link: &WorkspacePath) -> Option<String> {
        let found = self.location.names_of(link).map(|path| path.folded()).find(|folded| {
            // A repository below the workspace may have one as well.
            self.folders_above_protected.contains(folded) || folded.rsplit('/').next() == Some(".github")
        })?;
        Some(format!("{found} is a folder of protected files"))
    }
}
