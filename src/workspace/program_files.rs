//! Programs in the checkout that a run starts by itself, such as hooks: what judges or drives a run must not be
//! rewritten by it.

use std::collections::BTreeSet;

use super::path::WorkspacePath;

/// Endings of files that are run, or loaded by what is run; names without an ending count as well.
const LOADED: [&str; 28] = [
    "bash", "cjs", "cts", "fish", "jar", "js", "jsx", "ksh", "lua", "mjs", "mk", "mts", "node", "php", "pl",
    "pm", "ps1", "pth", "py", "pyc", "pyz", "rb", "sh", "so", "ts", "tsx", "wasm", "zsh",
];

/// The programs of a run: files, and folders whose files they may load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramFiles {
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl ProgramFiles {
    /// Adds a file, whether it exists or not. What could be loaded from the folder around it counts as well, unless that
    /// is the checkout itself.
    pub fn add_file(&mut self, path: &WorkspacePath) {
        self.files.insert(path.folded());
        if let Some(folder) = path.parent().filter(|folder| !folder.is_root()) {
            self.folders.insert(folder.folded());
        }
    }

    /// Adds a file alone.
    pub fn add_single(&mut self, path: &WorkspacePath) {
        self.files.insert(path.folded());
    }

    /// Adds a folder that is run as a whole, such as a Python package.
    pub fn add_folder(&mut self, path: &WorkspacePath) {
        if !path.is_root() {
            self.folders.insert(path.folded());
        }
    }

    /// Returns whether a file is one of the programs, or could be loaded by one.
    pub fn contains(&self, path: &WorkspacePath) -> bool {
        let folded = path.folded();
        if self.files.contains(&folded) {
            return true;
        }
        let name = folded.rsplit('/').next().unwrap_or(&folded);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        ending.is_none_or(|ending| LOADED.contains(&ending))
            && folded.match_indices('/').any(|(at, _)| self.folders.contains(&folded[..at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_what_they_may_load_are_known() {
        let path = |text: &str| WorkspacePath::parse(text).expect("a path");
        let mut programs = ProgramFiles::default();
        programs.add_file(&path("ci/h.sh"));
        programs.add_file(&path("check.py"));
        programs.add_single(&path("Makefile"));
        programs.add_folder(&path("tools/pkg"));
        for inside in
            ["ci/h.sh", "ci/H.SH", "ci/util.sh", "ci/sub/x", "check.py", "Makefile", "tools/pkg/__main__.py"]
        {
            assert!(programs.contains(&path(inside)), "{inside}");
        }
        for outside in ["ci/README.md", "other.py", "src/ci/h.sh", "ci2/h.sh", "tools/x.py", "sub/Makefile"] {
            assert!(!programs.contains(&path(outside)), "{outside}");
        }
    }
}
