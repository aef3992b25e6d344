//! Imports of the checkout's Python programs: the folders in which they look for modules, and the modules that they name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use workspace::{ProgramFiles, WorkspacePath};

use super::program_words::ProgramWords;
use super::python_modules::{imported, standard_modules};
use crate::trust::normalize;

/// Endings of what Python imports.
const MODULES: [&str; 4] = ["py", "pyc", "so", "pth"];

/// Most files that are read for what they import, and the longest, in bytes.
const MAX_READ: usize = 500;
const MAX_MODULE: u64 = 1024 * 1024;

/// Returns the modules of a folder: files, and folders that hold some.
pub(super) fn modules_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder)
        .into_iter()
        .filter(|full| is_module(full) || entries(full).iter().any(|inner| is_module(inner)))
        .collect()
}

/// Returns the folders in which programs look for modules. `starts` are those that they may be started in.
pub(super) fn import_folders(words: &ProgramWords, starts: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    if words.imports_from_start {
        found.extend(starts.iter().cloned());
    }
    let from = |name: &String| starts.iter().map(|start| normalize(&start.join(name))).collect::<Vec<_>>();
    found.extend(words.import_folders.iter().flat_map(from));
    if !words.is_isolated {
        let scripts = words.programs.iter().flat_map(from).filter(|full| is_python(full));
        found.extend(scripts.filter_map(|script| script.parent().map(Path::to_owned)));
    }
    found
}

/// Adds what programs may load from a folder: what takes the place of a standard module, and what they name, whether it
/// exists or not. Where one holds a secret, every module of the folder.
pub(super) fn add_imports(
    folder: &Path,
    programs: &BTreeSet<PathBuf>,
    path_of: impl Fn(&Path) -> Option<WorkspacePath>,
    has_secret: bool,
    started: &mut ProgramFiles,
) {
    let Some(path) = path_of(folder) else { return };
    for name in standard_modules() {
        started.add_module(&path, name);
    }
    if has_secret {
        started.add_level(&path);
        for package in modules_in(folder).into_iter().filter(|full| full.is_dir()) {
            path_of(&package).inspect(|package| started.add_folder(package));
        }
    }
    for (above, name) in imports(folder, programs) {
        path_of(&above).inspect(|above| started.add_module(above, &name));
    }
}

/// Returns the modules that programs import from a folder, and these in turn: the folder that each is looked for in, and
/// its name there.
pub(super) fn imports(folder: &Path, programs: &BTreeSet<PathBuf>) -> BTreeSet<(PathBuf, String)> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<PathBuf> = programs.iter().flat_map(|full| python_files(full)).collect();
    let mut read: BTreeSet<PathBuf> = BTreeSet::new();
    while let Some(full) = waiting.pop() {
        if read.len() >= MAX_READ || !read.insert(full.clone()) {
            continue;
        }
        for name in imported(&text_of(&full)) {
            let (mut place, dotted) = base_of(&name, &full, folder);
            for part in dotted.split('.').filter(|part| !part.is_empty()) {
                found.insert((place.clone(), part.to_owned()));
                place.push(part);
                waiting.extend(module_files(&place));
            }
        }
    }
    found
}

/// Returns the files that a module consists of when it is imported, as far as they exist.
pub(super) fn module_files(place: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    [place.with_extension("py"), place.join("__init__.py")].into_iter().filter(|file| file.is_file())
}

/// Returns the folder that the name of a module is meant from, and the name without leading dots.
fn base_of<'n>(name: &'n str, file: &Path, folder: &Path) -> (PathBuf, &'n str) {
    let dotted = name.trim_start_matches('.');
    match name.len() - dotted.len() {
        0 => (folder.to_owned(), dotted),
        dots => (file.ancestors().nth(dots).unwrap_or(folder).to_owned(), dotted),
    }
}

/// Returns a file, or the files of a package.
fn python_files(full: &Path) -> Vec<PathBuf> {
    if full.is_dir() {
        entries(full).into_iter().filter(|file| is_python(file)).collect()
    } else {
        vec![full.to_owned()]
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn is_module(full: &Path) -> bool {
    full.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| MODULES.contains(&ending))
}

/// Returns whether Python runs a file: by its ending, or by its first line.
fn is_python(full: &Path) -> bool {
    let is_named = full.extension().is_some_and(|ending| ending == "py" || ending == "pyw");
    is_named && full.is_file()
        || full.extension().is_none()
            && text_of(full)
                .lines()
                .next()
                .is_some_and(|line| line.starts_with("#!") && line.contains("python"))
}

fn text_of(full: &Path) -> String {
    let is_sensible =
        fs::symlink_metadata(full).is_ok_and(|found| found.is_file() && found.len() <= MAX_MODULE);
    is_sensible
        .then(|| fs::read(full).ok())
        .flatten()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}
