//! Comments that are about what follows them: directives of Go's compiler, and what tools are told about the next line.

use crate::imports::words;

/// Directives of Go about the declaration that follows. Others are about the file, or for tools: `//go:build`, `//go:generate`.
const DIRECTIVES: [&str; 19] = [
    "cgo_unsafe_args",
    "embed",
    "fix",
    "nocheckptr",
    "noescape",
    "noinline",
    "nointerface",
    "norace",
    "nosplit",
    "notinheap",
    "nowritebarrier",
    "nowritebarrierrec",
    "registerparams",
    "systemstack",
    "uintptrescapes",
    "uintptrkeepalive",
    "wasmexport",
    "wasmimport",
    "yeswritebarrierrec",
];

/// First words of comments by which compilers and linters are told about the line below.
const ABOUT_NEXT: [&str; 13] = [
    "@ts-expect-error",
    "@ts-ignore",
    "$FlowFixMe",
    "biome-ignore ",
    "c8 ignore next",
    "deno-lint-ignore ",
    "istanbul ignore next",
    "lint:ignore ",
    "noinspection ",
    "nolint",
    "prettier-ignore",
    "pylint: disable-next",
    "v8 ignore next",
];

/// Returns the name of a directive of Go, and what follows it.
fn parts(comment: &str) -> Option<(&str, &str)> {
    let directive = comment.strip_prefix("//go:")?;
    Some(directive.split_once(char::is_whitespace).unwrap_or((directive, "")))
}

/// Returns whether a directive says itself which declaration it is about, wherever it stands.
fn is_named(name: &str) -> bool {
    name == "linkname" || name.starts_with("cgo_") && !DIRECTIVES.contains(&name)
}

/// Returns whether a comment of Go is a directive about a declaration.
pub(crate) fn is_directive(comment: &str) -> bool {
    let is_known = |(name, _): (&str, &str)| DIRECTIVES.contains(&name) || is_named(name);
    comment.starts_with("//export ") || parts(comment).is_some_and(is_known)
}

/// Returns whether a comment tells a tool something about the line below.
pub(crate) fn is_about_next(comment: &str) -> bool {
    let told = comment.trim_start_matches(['/', '*', '#', ' ', '\t']);
    let first = told.split_whitespace().next().unwrap_or_default();
    let is_known = ABOUT_NEXT.iter().any(|start| told.starts_with(start));
    first.ends_with("-next-line") || is_known && !first.ends_with("-start") && !first.ends_with("-end")
}

/// Returns where in some comments those begin that are about a declaration of Go, if there are any; `None` if they are mixed with others.
pub(crate) fn own_start(comments: &str, declaration: &str) -> Option<Option<usize>> {
    let (mut start, mut at) = (None, 0);
    for line in comments.split_inclusive('\n') {
        let comment = line.trim();
        let names = parts(comment).filter(|(name, _)| is_named(name)).map(|(_, rest)| rest);
        let is_other = names.is_some_and(|names| {
            let name = names.split_whitespace().next().unwrap_or_default();
            words(declaration, name) == 0
        });
        if is_other && start.is_some() {
            return None;
        }
        if !is_other && (is_directive(comment) || is_about_next(comment)) {
            start = start.or(Some(at + line.len() - line.trim_start().len()));
        }
        at += line.len();
    }
    Some(start)
}
