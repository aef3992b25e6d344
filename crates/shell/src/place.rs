//! Paths on a command line: where they lead, as written. Symbolic links are the sandbox's business.

use std::path::Path;

use super::classify::Scope;

/// Names of the streams that a command has open anyway, and of the null device.
const STREAMS: [&str; 5] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Folders that a command in a sandbox has for itself, created for it and discarded afterwards.
const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "~"];

/// Returns whether a path names a stream that a command has open anyway, or the null device.
pub(super) fn is_stream(text: &str) -> bool {
    STREAMS.contains(&text)
        || text.strip_prefix("/dev/fd/").is_some_and(|fd| fd.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns whether a path leaves the workspace.
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

/// Returns whether a path leads to where nothing can be written, even in a sandbox.
pub(super) fn is_out_of_reach(text: &str, scope: Scope<'_>) -> bool {
    let is_private = PRIVATE.iter().any(|folder| {
        let below = text.strip_prefix(folder);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    });
    let climbs = text.split('/').any(|name| name == "..");
    leads_outside(text, scope) && (!is_private || climbs)
}
