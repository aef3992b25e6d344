//! Packages that a change removes as a whole, with their code and their tests.

use crate::Change;
use crate::files::{Role, file_name};
use crate::finding::Finding;

/// Files that make a folder a package.
#[rustfmt::skip]
const MANIFESTS: &[&str] = &[
    "package.json", "Cargo.toml", "pyproject.toml", "setup.py", "go.mod", "pom.xml", "build.gradle", "build.gradle.kts",
];

/// Most manifests of a change that are looked at.
const MAX_PACKAGES: usize = 20;

/// Turns what is found in packages that are gone as a whole into notes: whether they may go is for people to decide.
pub(crate) fn note_gone(findings: Vec<Finding>, changes: &[Change<'_>]) -> Vec<Finding> {
    let manifests = changes.iter().filter(|change| MANIFESTS.contains(&file_name(change.path)));
    let folders: Vec<&str> =
        manifests.take(MAX_PACKAGES).filter_map(|change| folder(change, changes)).collect();
    let noted = |finding: Finding| {
        let package = folders.iter().find(|folder| finding.path.starts_with(**folder));
        let reason = package.map(|folder| format!("the package `{}` is gone", folder.trim_end_matches('/')));
        finding.noted_if(reason)
    };
    findings.into_iter().map(noted).collect()
}

/// Returns the folder of a package whose manifest is gone, if nothing of it is left or has gone elsewhere, and code went with it.
fn folder<'a>(manifest: &Change<'a>, changes: &[Change<'a>]) -> Option<&'a str> {
    let name = file_name(manifest.path);
    let folder = manifest.path.strip_suffix(name).filter(|folder| !folder.is_empty())?;
    let is_gone = |change: &&Change<'_>| change.before.is_some() && change.after.is_none();
    let is_code = |change: &&Change<'_>| Role::of(change.path) == Role::Source && is_gone(change);
    let is_new =
        |name: &str| changes.iter().any(|change| change.before.is_none() && file_name(change.path) == name);
    let within = || changes.iter().filter(|change| change.path.starts_with(folder));
    (MANIFESTS.contains(&name)
        && is_gone(&manifest)
        && within().all(|change| is_gone(&change))
        && within().any(|change| is_code(&change))
        && !within().any(|change| is_new(file_name(change.path))))
    .then_some(folder)
}
