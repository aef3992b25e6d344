//! Shared parts of the listing and searching tools: scope, ripgrep's matcher, and limits.

use std::fmt::Write;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::read_file::resolve;
use super::{Context, ToolError};
use crate::workspace::{FileError, Found, Glob, Kind, ResolvedPath};

/// Maximum number of entries of one listing.
pub(super) const MAX_ENTRIES: usize = 1_000;
/// Maximum size of one result, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum length shown of one line, in bytes.
const MAX_LINE: usize = 400;
/// Longest line, in bytes, that the searcher takes into memory; a longer one ends the search of its file.
const MAX_LINE_MEMORY: usize = 8 * 1024 * 1024;
/// Maximum number of context lines on each side.
const MAX_CONTEXT: usize = 20;

pub(super) fn here() -> String {
    ".".to_owned()
}

pub(super) fn any() -> String {
    "*".to_owned()
}

pub(super) fn yes() -> bool {
    true
}

/// Folder (or single file) to search, and which of its files.
pub(super) struct Scope<'a> {
    cx: &'a Context,
    start: ResolvedPath,
    glob: Option<Glob>,
    depth: Option<usize>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        cx: &'a Context,
        path: &str,
        pattern: Option<&str>,
        depth: Option<usize>,
    ) -> Result<Self, ToolError> {
        let glob = pattern
            .filter(|pattern| *pattern != "*")
            .map(Glob::parse)
            .transpose()
            .map_err(|error| ToolError::Refused(error.to_string()))?;
        Ok(Self { cx, start: resolve(path, cx)?, glob, depth })
    }

    /// Returns the matching files and folders, and the number of entries that had to be skipped.
    pub(super) fn entries(&self) -> Result<(Vec<Found>, usize), ToolError> {
        if self.cx.workspace.stat(&self.start)?.is_some_and(|stat| stat.kind == Kind::File) {
            return Ok((vec![Found { path: self.start.clone(), directory: false }], 0));
        }
        let mut walk = self.cx.workspace.walk(&self.start, self.depth)?;
        walk.found.retain(|found| {
            // A path glob may be relative to the root or to the folder that is searched.
            let below = found.path.relative_to(&self.start).unwrap_or(found.path.as_str());
            let fits = |glob: &Glob| glob.matches(below) || glob.matches(found.path.as_str());
            self.glob.as_ref().is_none_or(fits)
        });
        Ok((walk.found, walk.skipped))
    }

    /// Returns the matching files, and the number of entries that had to be skipped.
    pub(super) fn files(&self) -> Result<(Vec<ResolvedPath>, usize), ToolError> {
        let (found, skipped) = self.entries()?;
        Ok((found.into_iter().filter(|found| !found.directory).map(|found| found.path).collect(), skipped))
    }
}

/// Joins lines up to `limit` and [`MAX_BYTES`], followed by remarks on what is missing.
pub(super) fn listing(lines: impl Iterator<Item = String>, limit: usize, skipped: usize) -> String {
    let mut text = String::new();
    let mut shown = 0;
    let mut rest = 0;
    for line in lines {
        if shown < limit && text.len() + line.len() < MAX_BYTES {
            text += &line;
            text.push('\n');
            shown += 1;
        } else {
            rest += 1;
        }
    }
    if shown == 0 {
        text += "No files found\n";
    }
    if rest > 0 {
        let _ = writeln!(text, "… {rest} more not shown; narrow the path or the pattern");
    }
    if skipped > 0 {
        let _ = writeln!(text, "({skipped} entries skipped: unreadable or not named in UTF-8)");
    }
    text
}

/// Pattern to search for, and how much of each match to show.
pub(super) struct Query {
    matcher: RegexMatcher,
    context: usize,
    max_results: usize,
}

impl Query {
    pub(super) fn literal(text: &str, case_sensitive: bool, max_results: usize) -> Result<Self, ToolError> {
        let mut builder = RegexMatcherBuilder::new();
        builder.fixed_strings(true);
        Self::build(builder, text, case_sensitive, max_results)
    }

    pub(super) fn regex(pattern: &str, case_sensitive: bool, max_results: usize) -> Result<Self, ToolError> {
        Self::build(RegexMatcherBuilder::new(), pattern, case_sensitive, max_results)
    }

    fn build(
        mut builder: RegexMatcherBuilder,
        pattern: &str,
        case_sensitive: bool,
        max_results: usize,
    ) -> Result<Self, ToolError> {
        if pattern.is_empty() {
            return Err(ToolError::Refused("the pattern is empty".to_owned()));
        }
        let matcher = builder
            .case_insensitive(!case_sensitive)
            .line_terminator(Some(b'\n'))
            .build(pattern)
            .map_err(|error| ToolError::Refused(format!("invalid pattern: {error}")))?;
        Ok(Self { matcher, context: 0, max_results: max_results.clamp(1, 1_000) })
    }

    pub(super) fn with_context(mut self, lines: usize) -> Self {
        self.context = lines.min(MAX_CONTEXT);
        self
    }

    /// Searches the files of a scope in parallel, sensitive ones excluded. The result is sorted by path and
    /// line.
    pub(super) fn search(&self, scope: &Scope<'_>) -> Result<String, ToolError> {
        let (mut files, skipped) = scope.files()?;
        let all = files.len();
        if !scope.cx.sensitive.is_empty() {
            files.retain(|path| scope.cx.sensitive.find(path).is_none());
        }
        let mut output = SearchOutput { sensitive: all - files.len(), skipped, ..SearchOutput::default() };
        let (found, all_searched) = self.search_files(&files, scope.cx);
        for file in found {
            output.add(file, self.max_results);
        }
        output.more |= !all_searched;
        Ok(output.render())
    }

    /// Searches files in order until there are enough matches, so that the result covers the first files
    /// without gaps. Also returns whether all files were searched.
    fn search_files(&self, files: &[ResolvedPath], cx: &Context) -> (Vec<FileMatches>, bool) {
        let (next, matches) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Mutex<Vec<(usize, FileMatches)>> = Mutex::default();
        let work = || {
            let mut searcher = self.searcher();
            while matches.load(Ordering::Relaxed) < self.max_results {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(path) = files.get(index) else { break };
                let found = self.search_file(&mut searcher, path, cx);
                if found.matches > 0 || found.unreadable {
                    matches.fetch_add(found.matches, Ordering::Relaxed);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, found));
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get().min(8));
        std::thread::scope(|scope| {
            for _ in 1..threads.min(files.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(index, _)| *index);
        (results.into_iter().map(|(_, found)| found).collect(), next.into_inner() >= files.len())
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(MAX_LINE_MEMORY))
            .build()
    }

    fn search_file(&self, searcher: &mut Searcher, path: &ResolvedPath, cx: &Context) -> FileMatches {
        let mut found = FileMatches { max: self.max_results, ..FileMatches::default() };
        let searched = cx.workspace.open(path).and_then(|file| {
            let sink = FileSink { path, found: &mut found };
            searcher
                .search_reader(&self.matcher, file, sink)
                .map_err(|error| FileError::Io { path: (**path).clone(), error })
        });
        found.unreadable = searched.is_err();
        found
    }
}

/// Matching lines of one file.
#[derive(Default)]
struct FileMatches {
    lines: Vec<Line>,
    matches: usize,
    max: usize,
    unreadable: bool,
}

/// One line of the result: a match, or context of one.
struct Line {
    text: String,
    is_match: bool,
}

struct FileSink<'a> {
    path: &'a ResolvedPath,
    found: &'a mut FileMatches,
}

impl FileSink<'_> {
    fn push(&mut self, line: Option<u64>, is_match: bool, bytes: &[u8]) {
        let mark = if is_match { ':' } else { '-' };
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let cut = text.floor_char_boundary(MAX_LINE);
        let tail = if cut < text.len() { " …" } else { "" };
        let line = line.unwrap_or(0);
        let text = format!("{}{mark}{line}{mark}{}{tail}\n", self.path, &text[..cut]);
        self.found.lines.push(Line { text, is_match });
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.found.matches += 1;
        self.push(found.line_number(), true, found.bytes());
        Ok(self.found.matches <= self.found.max)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.push(context.line_number(), false, context.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.found.lines.push(Line { text: "--\n".to_owned(), is_match: false });
        Ok(true)
    }
}

#[derive(Default)]
struct SearchOutput {
    text: String,
    matches: usize,
    sensitive: usize,
    skipped: usize,
    unreadable: usize,
    more: bool,
}

impl SearchOutput {
    fn add(&mut self, found: FileMatches, max_results: usize) {
        self.unreadable += usize::from(found.unreadable);
        for line in found.lines {
            if self.matches >= max_results && line.is_match || self.text.len() + line.text.len() > MAX_BYTES {
                self.more = true;
                return;
            }
            self.text += &line.text;
            self.matches += usize::from(line.is_match);
        }
    }

    fn render(mut self) -> String {
        if self.matches == 0 {
            self.text += "No matches found\n";
        }
        if self.more {
            let _ = writeln!(
                self.text,
                "… stopped after {} matches; narrow the pattern or the path",
                self.matches
            );
        }
        if self.sensitive > 0 {
            let _ = writeln!(self.text, "({} sensitive files not searched)", self.sensitive);
        }
        if self.skipped + self.unreadable > 0 {
            let _ = writeln!(self.text, "({} files could not be read)", self.skipped + self.unreadable);
        }
        self.text
    }
}
