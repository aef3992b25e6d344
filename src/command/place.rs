//! Where the paths on a command line lead, as they are written. Links are the sandbox's business.

use std::path::Path;

use super::classify::Scope;

/// Names of what a command has open anyway, and of nothing.
const STREAMS: [&str; 5] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Folders that behind walls are a command's own, made for it and thrown away afterwards.
const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "~"];

/// Whether a path names what a command has open anyway, or nothing at all.
pub(super) fn is_stream(text: &str) -> bool {
    STREAMS.contains(&text)
        || text.strip_prefix("/dev/fd/").is_some_and(|fd| fd.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a path leaves the workspace.
pub(super) fn leads_outside(text: &str, scope: Scope<'_>) -> bool {
    if is_stream(text) {
        return false;
    }
    if text.starts_with('~') || text.contains("://") {
        return true;
    }
    let (mut depth, path) = match text.strip_prefix('/') {
        Some(_) => match Path::new(text).strip_prefix(scope.root).ok().and_then(Path::to_str) {
            Some(below) => (0, below),
            None => return true,
        },
        None => (scope.depth, text),
    };
    // A brace list may hide a way out: `{..,a}/x`.
    if path.contains("..") && path.contains('{') {
        return true;
    }
    path.split('/').any(|name| {
        depth += match name {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth < 0
    }) || ["{/", ",/", "{~", ",~"].iter().any(|start| path.contains(start))
}

/// Whether a path leads to where nothing can be written, even behind walls.
pub(super) fn is_out_of_reach(text: &str, scope: Scope<'_>) -> bool {
    let is_private = PRIVATE.iter().any(|folder| {
        let below = text.strip_prefix(folder);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    });
    let climbs = text.split('/').any(|name| name == "..");
    leads_outside(text, scope) && (!is_private || climbs)
}
