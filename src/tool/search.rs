//! Search for lines by ripgrep's libraries, in parallel: all matches are counted, the first are shown.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileError, ResolvedPath};

use super::match_line;
use super::matcher::{FileMatcher, LineMatcher, Syntax};
use super::scope::Scope;
use super::unsearched::{Unsearched, UnsearchedLines};
use super::{Context, ToolError};
use crate::base::encoding::{TextEncoding, TextReader};
use crate::base::text::{counted, grouped};

/// Longest line, in bytes, that the searcher takes into memory; a longer one ends the search of its file.
const MAX_LINE_MEMORY: usize = 8 * 1024 * 1024;
/// Maximum number of context lines on each side.
const MAX_CONTEXT: usize = 20;
/// Number of matches after which they are no longer counted.
const MAX_COUNTED: usize = 100_000;
/// Maximum number of files whose encoding is told.
const MAX_ENCODED: usize = 10;
/// Maximum number of files listed with their counts.
const MAX_FILES: usize = 30;

/// What a search shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Show {
    #[default]
    Lines,
    Files,
}

/// Pattern to search for, and how much of each match to show.
pub(super) struct Query {
    matcher: LineMatcher,
    context: usize,
    max_results: usize,
    show: Show,
}

impl Query {
    pub(super) fn new(
        pattern: &str,
        syntax: Syntax,
        case_sensitive: bool,
        max_results: usize,
    ) -> Result<Self, ToolError> {
        if pattern.is_empty() {
            return Err(ToolError::Refused("the pattern is empty".to_owned()));
        }
        let matcher = LineMatcher::new(pattern, syntax, case_sensitive)
            .map_err(|error| ToolError::Refused(format!("invalid pattern: {}", error.brief())))?;
        Ok(Self { matcher, context: 0, max_results: max_results.clamp(1, 1_000), show: Show::Lines })
    }

    pub(super) fn with_context(mut self, lines: usize) -> Self {
        self.context = lines.min(MAX_CONTEXT);
        self
    }

    pub(super) fn showing(mut self, show: Show) -> Self {
        self.show = show;
        self
    }

    /// Searches the files of a scope in parallel, sensitive ones excluded. The result is sorted by path and
    /// line.
    pub(super) fn search(&self, scope: &Scope<'_>) -> Result<SearchResult, ToolError> {
        let (files, sensitive, skipped) = scope.readable_files()?;
        let mut found = SearchResult { sensitive, skipped, ..SearchResult::default() };
        found.why_empty = (files.len() + sensitive == 0).then(|| scope.why_empty());
        for file in self.search_files(&files, scope.cx) {
            found.add(file, self.max_results, scope.cx.result_limit());
        }
        found.show = self.show;
        Ok(found)
    }

    /// Returns the files of a scope that contain a match, or may contain one where they were not searched, sorted, sensitive ones
    /// excluded.
    pub(super) fn matching_files(&self, scope: &Scope<'_>) -> Result<Vec<ResolvedPath>, ToolError> {
        let (files, ..) = scope.readable_files()?;
        let found = self.search_files(&files, scope.cx);
        let with_match = found.into_iter().filter(|file| file.matches > 0 || !file.unsearched.is_empty());
        Ok(with_match.filter_map(|file| files.get(file.index).cloned()).collect())
    }

    /// Searches files, and returns those of which there is something to say, in order.
    fn search_files(&self, files: &[ResolvedPath], cx: &Context) -> Vec<FileMatches> {
        let (next, matches) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Mutex<Vec<FileMatches>> = Mutex::default();
        let work = || {
            let mut searcher = self.searcher();
            while matches.load(Ordering::Relaxed) < MAX_COUNTED {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(path) = files.get(index) else { break };
                let found = self.search_file(&mut searcher, index, path, cx);
                if found.matches > 0 || found.unreadable || !found.unsearched.is_empty() {
                    matches.fetch_add(found.matches, Ordering::Relaxed);
                    results.lock().push(found);
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get().min(8));
        std::thread::scope(|scope| {
            for _ in 1..threads.min(files.len()) {
                // Where no thread can be had, the others do its work.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let mut results = results.into_inner();
        results.sort_by_key(|found| found.index);
        results
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(self.matcher.line_terminator())
            .binary_detection(BinaryDetection::quit(0))
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(MAX_LINE_MEMORY))
            .build()
    }

    fn search_file(
        &self,
        searcher: &mut Searcher,
        index: usize,
        path: &ResolvedPath,
        cx: &Context,
    ) -> FileMatches {
        let max = if self.show == Show::Files { 0 } else { self.max_results };
        let name = path.to_string();
        let mut found = FileMatches { index, name, max, ..FileMatches::default() };
        if self.matcher.is_over() {
            found.unsearched.add_from(1);
            return found;
        }
        let gave_up = &Cell::new(false);
        let searched = cx.workspace.open(path).and_then(|file| {
            let mut file = TextReader::new(file);
            let sink = FileSink { found: &mut found, matcher: &self.matcher, gave_up };
            let searched = match &self.matcher {
                LineMatcher::Linear(matcher) => searcher.search_reader(&**matcher, &mut file, sink),
                LineMatcher::Backtracking(matcher) => {
                    searcher.search_reader(FileMatcher { matcher, gave_up }, &mut file, sink)
                }
            };
            found.encoding = file.encoding();
            searched.map_err(|error| FileError::Io { path: (**path).clone(), error })
        });
        found.unreadable = searched.is_err();
        found
    }
}

/// Matching lines of one file.
#[derive(Default)]
struct FileMatches {
    /// Place of the file in the list that is searched.
    index: usize,
    name: String,
    lines: Vec<Line>,
    matches: usize,
    max: usize,
    unreadable: bool,
    unsearched: UnsearchedLines,
    encoding: TextEncoding,
}

/// One line of the result: a match, or context of one.
struct Line {
    text: String,
    is_match: bool,
}

struct FileSink<'a> {
    found: &'a mut FileMatches,
    matcher: &'a LineMatcher,
    /// Whether the matcher has given up on the line instead of finding a match.
    gave_up: &'a Cell<bool>,
}

impl FileSink<'_> {
    fn push(&mut self, line: Option<u64>, is_match: bool, bytes: &[u8]) {
        let mark = if is_match { ':' } else { '-' };
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let shown = if is_match {
            match_line::clipped(text, self.matcher.matches(text))
        } else {
            match_line::clipped(text, std::iter::empty())
        };
        let line = line.unwrap_or(0);
        let text = format!("{}{mark}{line}{mark}{shown}\n", self.found.name);
        self.found.lines.push(Line { text, is_match });
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.gave_up.take() {
            let line = found.line_number().unwrap_or(0);
            let is_over = self.matcher.is_over();
            if is_over {
                self.found.unsearched.add_from(line);
            } else {
                self.found.unsearched.add(line);
            }
            return Ok(!is_over);
        }
        self.found.matches += 1;
        if self.found.matches <= self.found.max {
            self.push(found.line_number(), true, found.bytes());
        }
        Ok(self.found.matches < MAX_COUNTED)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.found.matches <= self.found.max {
            self.push(context.line_number(), false, context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.found.matches < self.found.max {
            self.found.lines.push(Line { text: "--\n".to_owned(), is_match: false });
        }
        Ok(true)
    }
}

/// Result of a search.
#[derive(Default)]
pub(super) struct SearchResult {
    text: String,
    show: Show,
    shown: usize,
    /// Number of matches of each file.
    files: BTreeMap<String, usize>,
    sensitive: usize,
    skipped: usize,
    unreadable: usize,
    /// Files with matches that are not in UTF-8.
    encoded: Vec<(String, TextEncoding)>,
    full: bool,
    unsearched: Unsearched,
    /// Why there was nothing to search, if that is so.
    why_empty: Option<String>,
}

impl SearchResult {
    fn add(&mut self, found: FileMatches, max_results: usize, max_bytes: usize) {
        self.unreadable += usize::from(found.unreadable);
        self.unsearched.add(&found.name, found.unsearched);
        if found.matches > 0 {
            if !found.encoding.is_utf8() {
                self.encoded.push((found.name.clone(), found.encoding));
            }
            self.files.insert(found.name, found.matches);
        }
        for line in found.lines {
            self.full |=
                self.shown >= max_results && line.is_match || self.text.len() + line.text.len() > max_bytes;
            if self.full {
                return;
            }
            self.text += &line.text;
            self.shown += usize::from(line.is_match);
        }
    }

    /// Returns `true` if nothing was found, and nothing was left out.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.unsearched.is_empty()
    }

    /// Returns the matches, and what is not shown of them: how many there are, and in which files.
    pub(super) fn render(mut self) -> String {
        let matches: usize = self.files.values().sum();
        let more = if matches >= MAX_COUNTED { "more than " } else { "" };
        let total = format!(
            "{more}{} in {}",
            counted(matches, "match", "es"),
            counted(self.files.len(), "file", "s")
        );
        if matches == 0 {
            self.text += "No matches found";
            self.text += if self.unsearched.is_empty() { "" } else { " in what was searched" };
            self.text.extend(self.why_empty.iter().map(|reason| format!(": {reason}")));
            self.text.push('\n');
        } else if self.show == Show::Files {
            let _ = writeln!(self.text, "{total}:");
            self.list_files(usize::MAX);
        } else if self.shown < matches {
            let _ = writeln!(
                self.text,
                "[{total}; the first {} are shown. Matches by file:]",
                grouped(self.shown)
            );
            self.list_files(MAX_FILES);
        }
        if !self.unsearched.is_empty() {
            self.text += &self.unsearched.to_string();
        }
        for (name, encoding) in self.encoded.iter().take(MAX_ENCODED) {
            let _ = writeln!(self.text, "({name} is shown as {encoding})");
        }
        if self.sensitive > 0 {
            let _ = writeln!(self.text, "({} not searched)", counted(self.sensitive, "sensitive file", "s"));
        }
        if self.skipped + self.unreadable > 0 {
            let _ = writeln!(
                self.text,
                "({} could not be read)",
                counted(self.skipped + self.unreadable, "file", "s")
            );
        }
        self.text
    }

    /// Adds the files with their counts, those with most matches if there are more than `limit`.
    fn list_files(&mut self, limit: usize) {
        let mut files: Vec<(&String, &usize)> = self.files.iter().collect();
        if files.len() > limit {
            files.sort_by_key(|(name, matches)| (std::cmp::Reverse(**matches), (*name).clone()));
        }
        let (mut text, room) = (String::new(), files.len());
        for (name, matches) in files.iter().take(limit.min(1_000)) {
            text += &format!("{:>6}  {name}\n", grouped(**matches));
        }
        if room > limit.min(1_000) {
            text += &format!("… and {} more files\n", grouped(room - limit.min(1_000)));
        }
        self.text += &text;
    }
}
