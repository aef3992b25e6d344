//! Folders that hold installed tools or build outputs, recognized by their names. A folder in which Git tracks a file, or in which
//! the run has changed one, belongs to the project, whatever its name is.

use std::collections::BTreeSet;

use workspace::WorkspacePath;

/// Names of folders in which a project's tools are installed.
const OF_TOOLS: [&str; 12] = [
    "node_modules",
    ".venv",
    "venv",
    "env",
    ".env",
    "vendor",
    ".tox",
    ".nox",
    ".bundle",
    ".yarn",
    ".direnv",
    ".tools",
];

/// Names of folders that only builds write to, and whose content no program loads by its name.
const OF_BUILDS: [&str; 1] = ["target"];

/// Names of folders in which builds leave shared libraries.
const OF_LIBRARIES: [&str; 7] = ["target", "build", "dist", "out", ".libs", "bin", "obj"];

/// Folders of the project that have such a name, and are therefore neither.
#[derive(Debug, Default)]
pub(super) struct ToolFolders {
    of_project: BTreeSet<WorkspacePath>,
}

impl ToolFolders {
    /// Finds the folders with such names that contain files of the project.
    pub(super) fn new<'a>(project: impl Iterator<Item = &'a WorkspacePath>) -> Self {
        let is_named = |name: &str| {
            OF_TOOLS.contains(&name) || OF_BUILDS.contains(&name) || OF_LIBRARIES.contains(&name)
        };
        let mut of_project = BTreeSet::new();
        for file in project.filter(|file| file.names().any(is_named)) {
            let named = folders_above(file).filter(|folder| folder.file_name().is_some_and(is_named));
            of_project.extend(named);
        }
        Self { of_project }
    }

    /// Returns the tool folder that contains a file.
    pub(super) fn of_tools(&self, path: &WorkspacePath) -> Option<WorkspacePath> {
        self.first(path, &OF_TOOLS)
    }

    /// Returns whether a file is in a build folder.
    pub(super) fn is_built(&self, path: &WorkspacePath) -> bool {
        self.first(path, &OF_BUILDS).is_some()
    }

    /// Returns whether a file is in a folder in which builds leave shared libraries.
    pub(super) fn is_library(&self, path: &WorkspacePath) -> bool {
        self.first(path, &OF_LIBRARIES).is_some()
    }

    fn first(&self, path: &WorkspacePath, names: &[&str]) -> Option<WorkspacePath> {
        folders_above(path).find(|folder| {
            folder.file_name().is_some_and(|name| names.contains(&name)) && !self.of_project.contains(folder)
        })
    }
}

/// Returns the outermost part of a path, the path included, that has the name of a tool folder.
pub(super) fn tool_folder(path: &WorkspacePath) -> Option<WorkspacePath> {
    let is_named = |place: &WorkspacePath| place.file_name().is_some_and(|name| OF_TOOLS.contains(&name));
    folders_above(path).chain([path.clone()]).find(is_named)
}

/// Returns the folders that a file is in, the outermost first.
fn folders_above(path: &WorkspacePath) -> impl Iterator<Item = WorkspacePath> {
    let mut folders: Vec<WorkspacePath> = path
        .names()
        .scan(WorkspacePath::root(), |folder, name| {
            *folder = folder.child(name);
            Some(folder.clone())
        })
        .collect();
    folders.pop();
    folders.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_files_of_the_project_are_none_of_tools() {
        let parse = |text: &str| WorkspacePath::parse(text).expect("a path");
        let project = ["app/vendor/__init__.py", "src/target/main.c", "lib/a.py"].map(parse);
        let folders = ToolFolders::new(project.iter());
        for (text, tools, built) in [
            ("vendor/a/b.php", Some("vendor"), false),
            ("app/vendor/b.py", None, false),
            ("app/vendor/node_modules/b.js", Some("app/vendor/node_modules"), false),
            (".venv", None, false),
            (".venv/lib/target/a", Some(".venv"), true),
            ("target/debug/a", None, true),
            ("src/target/a", None, false),
        ] {
            let found = folders.of_tools(&parse(text));
            assert_eq!(found.as_ref().map(WorkspacePath::as_str), tools, "{text}");
            assert_eq!(folders.is_built(&parse(text)), built, "{text}");
        }
    }
}
