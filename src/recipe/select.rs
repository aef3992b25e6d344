//! Selection of a step's files, as the tools see them, including planned edits.

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Bytes;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use workspace::{FileError, Glob, InvalidGlob, ResolvedPath, WorkspacePath};

use super::file::Step;
use crate::base::pattern::line_matcher;
use crate::tool::Context;

/// Why the files of a step could not be selected, or not be changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SelectError {
    #[error(transparent)]
    Glob(#[from] InvalidGlob),
    #[error(transparent)]
    Line(#[from] grep_regex::Error),
    #[error(transparent)]
    Rewrite(#[from] rewrite::RewriteError),
    #[error(transparent)]
    Manifest(#[from] manifest::ManifestError),
    #[error(transparent)]
    File(#[from] FileError),
}

/// Returns the matching files, sorted. Sensitive files, ignored files and links never match.
pub(super) fn select(step: &Step, cx: &Context) -> Result<Vec<WorkspacePath>, SelectError> {
    let globs =
        |patterns: &[String]| patterns.iter().map(|glob| Glob::parse(glob)).collect::<Result<Vec<_>, _>>();
    let (files, exclude) = (globs(&step.files)?, globs(&step.exclude)?);
    let line = step.containing.as_deref().map(containing).transpose()?;
    let root = cx.workspace.resolve(&WorkspacePath::root(), workspace::LastLink::Follow);
    let walk = root.and_then(|root| cx.workspace.walk(&root, None))?;
    let mut found = Vec::new();
    for entry in walk.found.into_iter().filter(|entry| !entry.directory) {
        let path = entry.path.as_str();
        let wanted = (files.is_empty() || files.iter().any(|glob| glob.matches(path)))
            && !exclude.iter().any(|glob| glob.matches(path))
            && cx.sensitive.find(&entry.path).is_none();
        if !wanted {
            continue;
        }
        let contains = match &line {
            None => true,
            Some(line) => contains(line, &entry.path, cx)?,
        };
        if contains {
            found.push((*entry.path).clone());
        }
    }
    Ok(found)
}

/// Compiles the pattern that a line of a file has to match.
pub(super) fn containing(pattern: &str) -> Result<RegexMatcher, grep_regex::Error> {
    line_matcher(pattern, &RegexMatcherBuilder::new())
}

fn contains(line: &RegexMatcher, path: &ResolvedPath, cx: &Context) -> Result<bool, FileError> {
    let mut found = false;
    let mut searcher = SearcherBuilder::new()
        .line_terminator(line.line_terminator().unwrap_or_default())
        .binary_detection(BinaryDetection::quit(0))
        .build();
    let sink = Bytes(|_, _| {
        found = true;
        Ok(false)
    });
    let searched = searcher.search_reader(line, cx.workspace.open(path)?, sink);
    searched.map_err(|error| FileError::Io { path: (**path).clone(), error })?;
    Ok(found)
}
