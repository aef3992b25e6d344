//! Selection of a step's files, as the tools see them, including planned edits.

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Bytes;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use rewrite::{InvalidRule, Language, Rewrite, RewriteError};
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
    Rewrite(#[from] RewriteError),
    #[error(transparent)]
    Unless(#[from] Box<InvalidRule>),
    #[error(transparent)]
    Manifest(#[from] manifest::ManifestError),
    #[error(transparent)]
    File(#[from] FileError),
}

/// Files of a step.
#[derive(Debug, Default)]
pub(super) struct Selected {
    pub(super) files: Vec<WorkspacePath>,
    /// Those that `unless` excludes.
    pub(super) excluded: Vec<WorkspacePath>,
}

/// Returns the matching files, sorted. Sensitive files, ignored files and links never match.
pub(super) fn select(step: &Step, cx: &Context) -> Result<Selected, SelectError> {
    let globs =
        |patterns: &[String]| patterns.iter().map(|glob| Glob::parse(glob)).collect::<Result<Vec<_>, _>>();
    let (files, exclude) = (globs(&step.files)?, globs(&step.exclude)?);
    let line = step.containing.as_deref().map(containing).transpose()?;
    let unless = step.unless.as_ref().map(Rewrite::new).transpose().map_err(Box::new)?;
    let root = cx.workspace.resolve(&WorkspacePath::root(), workspace::LastLink::Follow);
    let walk = root.and_then(|root| cx.workspace.walk(&root, None))?;
    let mut selected = Selected::default();
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
        if !contains {
            continue;
        }
        let is_excluded = match &unless {
            None => false,
            Some(rule) => excludes(rule, &entry.path, cx)?,
        };
        let files = if is_excluded { &mut selected.excluded } else { &mut selected.files };
        files.push((*entry.path).clone());
    }
    Ok(selected)
}

/// Returns whether a rule has a match in a file. One that cannot be searched to its end may have one.
fn excludes(rule: &Rewrite, path: &ResolvedPath, cx: &Context) -> Result<bool, FileError> {
    let state = cx.workspace.read(path)?;
    let (Ok(text), Some(language)) =
        (std::str::from_utf8(&state.content), path.file_name().and_then(Language::of))
    else {
        return Ok(false);
    };
    Ok(match rule.apply_until((language, ""), text, &|| cx.cancel.is_cancelled()) {
        Ok(found) => !found.matches.is_empty(),
        Err(RewriteError::OtherLanguage(_)) => false,
        Err(_) => true,
    })
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
