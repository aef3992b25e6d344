//! Path resolution: follows symbolic links one name at a time, over whatever layer answers the look-ups.
//!
//! Doing it here (instead of with `realpath`) gives one rule for the disk and the overlay workspace, and an
//! answer for paths that do not exist yet.

use std::path::Path;

use super::path::{PathError, ResolvedPath, WorkspacePath};
use super::{FileError, LastLink, inside};

/// Maximum number of links in one path, which is Linux's own limit.
const MAX_LINKS: usize = 40;

/// The kind of entry that one name in a path leads to.
pub(crate) enum Step {
    /// A folder, below which resolution continues.
    Directory,
    /// A symbolic link with its target as written.
    Link(String),
    /// A file, a special file, or nothing: what follows it in the path is taken literally.
    End,
}

/// Resolves `path`; `look` says what each prefix of it is. A path that leads out of the workspace, which is at
/// `root`, is an error.
pub(crate) fn resolve(
    root: &Path,
    path: &WorkspacePath,
    last: LastLink,
    mut look: impl FnMut(&WorkspacePath) -> Result<Step, FileError>,
) -> Result<ResolvedPath, FileError> {
    let mut todo: Vec<String> = path.names().rev().map(str::to_owned).collect();
    let mut done = WorkspacePath::root();
    let mut links = 0;
    while let Some(name) = todo.pop() {
        if name == ".." {
            // Only the target of a link brings `..` here, and `done` contains no links, so going up is exact.
            done = done.parent().ok_or_else(|| PathError::Escapes(path.to_string()))?;
            continue;
        }
        let here = done.child(&name);
        if todo.is_empty() && last == LastLink::Keep {
            return Ok(ResolvedPath(here));
        }
        match look(&here)? {
            Step::Directory => done = here,
            Step::End => {
                done = here;
                // There can be no link below something that is not a folder.
                while let Some(name) = todo.pop() {
                    done = match name.as_str() {
                        ".." => done.parent().ok_or_else(|| PathError::Escapes(path.to_string()))?,
                        name => done.child(name),
                    };
                }
            }
            Step::Link(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(FileError::LinkLoop(path.clone()));
                }
                let mut target = target.as_str();
                if target.starts_with('/') {
                    let below = root.to_str().and_then(|root| inside(target, root));
                    target = below.ok_or_else(|| PathError::Escapes(path.to_string()))?;
                    done = WorkspacePath::root();
                }
                let names = target.split('/').filter(|name| !matches!(*name, "" | "."));
                todo.extend(names.rev().map(str::to_owned));
            }
        }
    }
    Ok(ResolvedPath(done))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(path: &str) -> Result<String, String> {
        let look = |path: &WorkspacePath| {
            Ok(match path.as_str() {
                "dir" | "dir/sub" | "real" => Step::Directory,
                "link" => Step::Link("dir/sub".into()),
                "dir/up" => Step::Link("../real/file".into()),
                "out" => Step::Link("../../etc".into()),
                "abs" => Step::Link("/etc/passwd".into()),
                "dir/abs-in" => Step::Link("/ws/link/x".into()),
                "abs-root" => Step::Link("/ws/".into()),
                "abs-up" => Step::Link("/ws/../etc".into()),
                "abs-near" => Step::Link("/wsx".into()),
                "loop" => Step::Link("loop".into()),
                "hop" => Step::Link("link/../up".into()),
                _ => Step::End,
            })
        };
        let path = WorkspacePath::parse(path).map_err(|error| error.to_string())?;
        resolve(Path::new("/ws"), &path, LastLink::Follow, look)
            .map(|path| path.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn links_are_followed_inside_only() {
        assert_eq!(follow("link/x").as_deref(), Ok("dir/sub/x"));
        assert_eq!(follow("dir/up").as_deref(), Ok("real/file"));
        assert_eq!(follow("hop").as_deref(), Ok("real/file"));
        assert_eq!(follow("new/deep/file").as_deref(), Ok("new/deep/file"));
        assert_eq!(follow("dir/abs-in").as_deref(), Ok("dir/sub/x"));
        assert_eq!(follow("abs-root/real").as_deref(), Ok("real"));
        for path in ["out", "out/passwd", "abs", "abs-up", "abs-near"] {
            assert_eq!(follow(path), Err(format!("ACCESS DENIED: path escapes the workspace: {path}")));
        }
        assert!(follow("loop").is_err_and(|error| error.contains("too many symbolic links")));
    }

    #[test]
    fn the_last_link_can_be_kept() {
        let path = WorkspacePath::parse("dir/up").expect("a plain path");
        let look = |path: &WorkspacePath| {
            Ok(if path.as_str() == "dir" { Step::Directory } else { Step::Link("x".into()) })
        };
        let kept = resolve(Path::new("/ws"), &path, LastLink::Keep, look).expect("resolves");
        assert_eq!(kept.to_string(), "dir/up");
    }
}
