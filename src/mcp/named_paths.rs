//! Files of the checkout that a text names to a server. The server opens the text itself, so that every way in which
//! it may read it counts: as the kernel does, name by name through links, and with `..` resolved by text first.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use workspace::WorkspacePath;

use crate::tool::ToolError;

/// Maximum number of links in one path, and the maximum length of a path, both Linux's own.
const MAX_LINKS: usize = 40;
const MAX_LENGTH: usize = 4096;

/// Entries of a process in `/proc` that lead to wherever that process is.
const MAGIC_LINKS: [&str; 5] = ["cwd", "root", "fd", "map_files", "exe"];

/// Returns the files in the checkout at `root` that `text` may name to a server that works there. A text that leads
/// through another process's folders cannot be judged, and is an error.
pub(super) fn named_paths(text: &str, root: &Path) -> Result<Vec<WorkspacePath>, ToolError> {
    let mut found = Vec::new();
    if text.is_empty() || text.contains('\0') {
        return Ok(found);
    }
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let home = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let whole = match home.zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest.trim_start_matches('/')),
        None => real_root.join(text),
    };
    let by_text = fold(&whole);
    for spelling in [&whole, &by_text] {
        if spelling.as_os_str().len() <= MAX_LENGTH {
            found.extend(follow(spelling, text)?.map_or(Ok(None), |place| within(&place, &real_root, text))?);
        }
    }
    // A link is judged by its own name as well.
    for root in [root, &real_root] {
        found.extend(within(&by_text, root, text)?);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Returns an absolute path without `..`, which is resolved by text.
fn fold(path: &Path) -> PathBuf {
    let mut folded = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => {
                folded.pop();
            }
            Component::Normal(name) => folded.push(name),
            _ => {}
        }
    }
    folded
}

/// Returns the place to which an absolute path leads, or `None` if its links lead nowhere. What does not exist is taken
/// literally.
fn follow(path: &Path, text: &str) -> Result<Option<PathBuf>, ToolError> {
    let names = |path: &Path| -> Vec<OsString> {
        let part = |part: Component<'_>| match part {
            Component::ParentDir => Some(OsString::from("..")),
            Component::Normal(name) => Some(name.to_owned()),
            _ => None,
        };
        path.components().rev().filter_map(part).collect()
    };
    let proc = Path::new("/proc");
    let mut todo = names(path);
    let mut here = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = todo.pop() {
        if name == ".." {
            here.pop();
            continue;
        }
        let in_process = here != proc && here.starts_with(proc);
        if in_process && MAGIC_LINKS.iter().any(|magic| name == *magic) {
            return Err(ToolError::Refused(format!(
                "ACCESS DENIED: {text} leads through /proc to where a process is, which cannot be checked; give the \
                 file's path relative to the checkout instead"
            )));
        }
        // Links to the process that looks, which here would be another one than there.
        if here == proc && name == "self" {
            here.push(name);
            continue;
        }
        if here == proc && name == "thread-self" {
            here.push("self/task/self");
            continue;
        }
        here.push(name);
        let Ok(target) = std::fs::read_link(&here) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Ok(None);
        }
        here.pop();
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        todo.extend(names(&target));
    }
    Ok(Some(here))
}

/// Returns the path within the checkout of an absolute one, or `None` if it is outside.
fn within(place: &Path, root: &Path, text: &str) -> Result<Option<WorkspacePath>, ToolError> {
    let Ok(below) = place.strip_prefix(root) else { return Ok(None) };
    if below.as_os_str().is_empty() {
        return Ok(Some(WorkspacePath::root()));
    }
    let unclear = || {
        ToolError::Refused(format!(
            "ACCESS DENIED: {text} leads to a file whose name cannot be checked; give the file's path relative to the \
             checkout instead"
        ))
    };
    let below = below.to_str().ok_or_else(unclear)?;
    // A name that is too long is no file's.
    Ok(WorkspacePath::parse(&format!("./{below}")).ok())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_file_in_the_checkout_is_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("repo");
        std::fs::create_dir_all(root.join("deep/er")).expect("a folder");
        std::os::unix::fs::symlink("deep/er", root.join("l")).expect("a link");
        std::os::unix::fs::symlink(&root, dir.path().join("alias")).expect("a link");
        let (at, above) = (root.display(), dir.path().display());
        for (text, expected) in [
            (".env".to_owned(), vec![".env"]),
            ("../repo/.env".to_owned(), vec![".env"]),
            ("../alias/.env".to_owned(), vec![".env"]),
            (format!("{at}/../repo/.env"), vec![".env"]),
            (format!("/tmp/../{at}/.env"), vec![".env"]),
            (format!("/proc/self/../..{at}/.env"), vec![".env"]),
            (format!("{above}/alias/.git/config"), vec![".git/config"]),
            ("no/such/../../.env".to_owned(), vec![".env"]),
            ("l/../secret.key".to_owned(), vec!["deep/secret.key", "secret.key"]),
            ("l/x".to_owned(), vec!["deep/er/x", "l/x"]),
            (format!("{at}"), vec!["."]),
            ("../other/.env".to_owned(), vec![]),
            ("/etc/passwd".to_owned(), vec![]),
            ("/proc/meminfo".to_owned(), vec![]),
            ("a\0b".to_owned(), vec![]),
        ] {
            let found = named_paths(&text, &root).map_err(|error| error.to_string());
            let found: Vec<String> =
                found.expect("a text that can be judged").into_iter().map(String::from).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn places_of_other_processes_are_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink("/proc/self/cwd", dir.path().join("here")).expect("a link");
        for text in [
            "/proc/self/cwd/.env",
            "/proc/thread-self/cwd/.env",
            "/proc/thread-self/../../cwd/.env",
            "/proc/self/root/etc/passwd",
            "/proc/1/cwd/.env",
            "/proc/self/task/1/cwd/.env",
            "/dev/fd/3",
            "/tmp/../proc//self/./cwd/.env",
            "here/.env",
        ] {
            let refused = named_paths(text, dir.path()).map_err(|error| error.to_string());
            assert!(refused.is_err_and(|error| error.contains("relative to the checkout instead")), "{text}");
        }
    }
}
