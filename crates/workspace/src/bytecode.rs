//! Python bytecode: Python trusts a file of it that claims to belong to a source, and creates it again where it is missing.

use std::path::Path;

use super::path::WorkspacePath;

/// Name of the folder, next to the sources, in which Python keeps it.
const FOLDER: &str = "__pycache__";

/// Returns `true` if Python takes a file for the bytecode of a source, or finds bytecode through it: an entry with the name of
/// such a folder may be a link to another one.
pub fn is_bytecode(path: &WorkspacePath) -> bool {
    let is_folder =
        |path: &WorkspacePath| path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(FOLDER));
    let is_kept_there = || {
        path.parent().is_some_and(|folder| is_folder(&folder))
            && Path::new(path.as_str())
                .extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case("pyc"))
    };
    is_folder(path) || is_kept_there()
}

/// Returns the path of the source that a file in such a folder belongs to, such as `src/a.py`.
pub fn source_of_bytecode(path: &WorkspacePath) -> Option<WorkspacePath> {
    let (name, _) = path.file_name()?.split_once('.')?;
    Some(path.parent()?.parent()?.child(&format!("{name}.py")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytecode_is_known_by_its_place() {
        for (text, bytecode, source) in [
            ("__pycache__/a.cpython-311.pyc", true, Some("a.py")),
            ("src/app/__pycache__/a.cpython-311.opt-1.pyc", true, Some("src/app/a.py")),
            ("src/__PYCACHE__/a.cpython-311.pyc", true, Some("src/a.py")),
            ("src/app/__pycache__", true, None),
            ("a.pyc", false, None),
            ("__pycache__/notes.txt", false, Some("notes.py")),
        ] {
            let path = WorkspacePath::parse(text).expect("a path");
            assert_eq!(is_bytecode(&path), bytecode, "{text}");
            let found = source_of_bytecode(&path);
            assert_eq!(found.as_ref().map(WorkspacePath::as_str), source, "{text}");
        }
    }
}
