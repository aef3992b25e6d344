//! Shared folders of a batch: folders of its checkout that Git ignores, such as `node_modules`, and that its tasks see in their
//! worktrees, so that not every task has to install what its commands need.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use workspace::{WorkspacePath, confined};

use super::manifest::Task;
use super::start_error::{NotShareable, StartError};
use crate::command::sandbox::SharedFolder;
use crate::git::Repository;

/// Checks that the folders which tasks name can be shared.
pub(super) fn check(repository: &Repository, commit: &str, tasks: &[Task]) -> Result<(), StartError> {
    let named: BTreeSet<&String> = tasks.iter().flat_map(|task| &task.entry.shared).collect();
    if named.is_empty() {
        return Ok(());
    }
    let checkout = repository.root().join(repository.prefix());
    let files = repository.ids_of(commit)?;
    for folder in named {
        let refused = |reason| StartError::NotShareable { folder: folder.clone(), reason };
        find(&checkout, folder).map_err(refused)?;
        let folder = folder.trim_matches('/');
        let below = format!("{folder}/");
        let first = files.range(below.clone()..).next().filter(|(path, _)| path.starts_with(&below));
        if let Some((path, _)) = files.get_key_value(folder).or(first) {
            return Err(refused(NotShareable::Tracked(path.clone())));
        }
    }
    Ok(())
}

/// Checks that a folder of the checkout exists, and that no link leads to it.
fn find(checkout: &Path, folder: &str) -> Result<(), NotShareable> {
    let mut path = checkout.to_owned();
    for name in Path::new(folder) {
        path.push(name);
        let metadata = fs::symlink_metadata(&path).map_err(|_| NotShareable::Missing)?;
        if metadata.is_symlink() {
            let link = path.strip_prefix(checkout).unwrap_or(&path).display().to_string();
            return Err(NotShareable::Link(link));
        }
        if !metadata.is_dir() {
            return Err(NotShareable::Missing);
        }
    }
    Ok(())
}

/// Creates the empty folders in a task's checkout in which its commands see those of the batch.
pub(super) fn prepare(from: &Path, task: &Task, checkout: &Path) -> io::Result<Vec<SharedFolder>> {
    if task.entry.shared.is_empty() {
        return Ok(Vec::new());
    }
    let own = Dir::open_ambient_dir(checkout, ambient_authority())?;
    let folders = task.entry.shared.iter().map(|folder| {
        let path = WorkspacePath::parse(folder).map_err(io::Error::other)?;
        confined::create_dir(&own, &path)?;
        Ok(SharedFolder { from: from.join(path.as_str()), at: checkout.join(path.as_str()) })
    });
    folders.collect()
}
