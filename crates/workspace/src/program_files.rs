//! Programs in the checkout that a run starts by itself, such as hooks: what judges or drives a run must not be
//! rewritten by it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::path::WorkspacePath;

/// Endings of files that are run, or loaded by what is run; names without an ending count as well.
const LOADED: [&str; 28] = [
    "bash", "cjs", "cts", "fish", "jar", "js", "jsx", "ksh", "lua", "mjs", "mk", "mts", "node", "php", "pl",
    "pm", "ps1", "pth", "py", "pyc", "pyz", "rb", "sh", "so", "ts", "tsx", "wasm", "zsh",
];

/// Endings of what Python imports.
const MODULES: [&str; 4] = ["py", "pyc", "so", "pth"];

/// The programs of a run, and whatever they may load: what is compared with the base commit where that says what runs, and
/// what the run itself must not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramFiles {
    files: BTreeSet<String>,
    /// Folders whose files may be loaded.
    folders: BTreeSet<String>,
    /// Folders that count with everything in them.
    trees: BTreeSet<String>,
    /// Folders whose own files may be loaded, and the packages that are created in them.
    levels: BTreeSet<String>,
    /// Python modules, as paths without an ending.
    modules: BTreeSet<String>,
    /// Folders in which, and below which, files with an ending may be loaded.
    endings: BTreeSet<(String, String)>,
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

    /// Adds a folder with everything in it, such as `node_modules`; a file, if it is one.
    pub fn add_tree(&mut self, path: &WorkspacePath) {
        if !path.is_root() {
            self.trees.insert(path.folded());
        }
    }

    /// Adds whatever could be loaded from a folder by its name, which may be the checkout itself: its own files, and the
    /// packages that are created in it, but not what other folders in it hold.
    pub fn add_level(&mut self, folder: &WorkspacePath) {
        self.levels.insert(folder.folded());
    }

    /// Adds what Python would import by this name from a folder, whether it exists or not.
    pub fn add_module(&mut self, folder: &WorkspacePath, name: &str) {
        self.modules.insert(folder.child(name).folded());
    }

    /// Adds every file with this ending at or below a folder, which may be the checkout itself.
    pub fn add_ending(&mut self, folder: &WorkspacePath, ending: &str) {
        self.endings.insert((folder.folded(), ending.to_lowercase()));
    }

    /// Returns whether a file is one of the programs, or could be loaded by one.
    pub fn contains(&self, path: &WorkspacePath) -> bool {
        // Most runs have none, and ask for every file of the checkout.
        if *self == Self::default() {
            return false;
        }
        let folded = path.folded();
        let mut above = folded.match_indices('/').map(|(at, _)| &folded[..at]);
        if self.files.contains(&folded)
            || self.trees.contains(&folded)
            || above.clone().any(|folder| self.trees.contains(folder))
        {
            return true;
        }
        let (folder, name) = folded.rsplit_once('/').unwrap_or(("", &folded));
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        let is_loaded = ending.is_none_or(|ending| LOADED.contains(&ending));
        let has_ending = |(folder, known): &(String, String)| {
            let is_below =
                folder.is_empty() || folded.strip_prefix(&**folder).is_some_and(|rest| rest.starts_with('/'));
            is_below && ending == Some(known.as_str())
        };
        self.endings.iter().any(has_ending)
            || is_loaded && above.any(|folder| self.folders.contains(folder))
            || is_loaded && ending.is_some() && self.levels.contains(folder)
            || module(folder, name).is_some_and(|(folder, name)| {
                self.levels.contains(folder) || self.modules.contains(join(folder, name).as_ref())
            })
    }
}

/// Returns the folder and the name that Python imports a file by: `a/json.py`, `a/json/__init__.py` and
/// `a/__pycache__/json.cpython-312.pyc` are all `json` in `a`.
fn module<'a>(folder: &'a str, name: &'a str) -> Option<(&'a str, &'a str)> {
    let (stem, endings) = name.split_once('.')?;
    let ending = endings.rsplit('.').next().unwrap_or(endings);
    if !MODULES.contains(&ending) {
        return None;
    }
    let split = |path: &'a str| path.rsplit_once('/').unwrap_or(("", path));
    match split(folder) {
        (above, "__pycache__") => Some((above, stem)),
        (above, package) if stem == "__init__" && !package.is_empty() => Some((above, package)),
        _ => Some((folder, stem)),
    }
}

fn join<'a>(folder: &str, name: &'a str) -> Cow<'a, str> {
    if folder.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(format!("{folder}/{name}")) }
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

    #[test]
    fn modules_are_known_by_the_name_that_they_are_imported_by() {
        let path = |text: &str| WorkspacePath::parse(text).expect("a path");
        let mut programs = ProgramFiles::default();
        programs.add_module(&WorkspacePath::root(), "json");
        programs.add_module(&path("ci"), "cProfile");
        programs.add_tree(&path("node_modules"));
        for inside in [
            "json.py",
            "JSON.py",
            "json.cpython-312-x86_64-linux-gnu.so",
            "json/__init__.py",
            "__pycache__/json.cpython-312.pyc",
            "ci/cProfile.py",
            "node_modules/.bin/x",
            "node_modules",
            "Node_Modules/a/README.md",
        ] {
            assert!(programs.contains(&path(inside)), "{inside}");
        }
        for outside in [
            "json.txt",
            "json",
            "json/x.py",
            "pkg/json.py",
            "__init__.py",
            "__pycache__/a.pyc",
            "sub/node_modules",
        ] {
            assert!(!programs.contains(&path(outside)), "{outside}");
        }
        programs.add_level(&WorkspacePath::root());
        for inside in ["new.py", "new/__init__.py", "new.js", "__pycache__/new.cpython-312.pyc"] {
            assert!(programs.contains(&path(inside)), "{inside}");
        }
        for outside in ["README.md", "LICENSE", "src/new.py", "new/other.py"] {
            assert!(!programs.contains(&path(outside)), "{outside}");
        }
        programs.add_ending(&path("src"), "R");
        for (file, is_inside) in
            [("src/a.R", true), ("src/b/a.r", true), ("a.R", false), ("src/a.txt", false)]
        {
            assert_eq!(programs.contains(&path(file)), is_inside, "{file}");
        }
    }
}
