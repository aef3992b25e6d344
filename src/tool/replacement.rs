//! Search text and its replacement, for files with any kind of line ends.

use super::group_references::template;
use super::line_breaks::{matches_line_ends_alone, may_span_lines, with_any_line_ends};
use super::line_edges::within_lines;
use super::line_ends::{PlainText, plain, without_doubled_returns};
use super::matcher::Syntax;
use super::search::Query;
use super::{ToolError, replace_text::Args};
use crate::base::pattern::{Pattern, ReplaceError};
use crate::base::pattern_options::PatternOptions;

/// A search with its replacement.
pub(super) struct Replacement {
    pattern: Pattern,
    /// The pattern as it was written, if line ends themselves may be searched for or put in.
    as_written: Option<Pattern>,
    template: String,
    /// Finds the files with a match, where each is within a line.
    pub(super) query: Option<Query>,
}

impl Replacement {
    /// Reads the arguments of a call.
    pub(super) fn new(args: &Args) -> Result<Self, ToolError> {
        let refused = |reason: String| ToolError::Refused(reason);
        if args.pattern.is_empty() {
            return Err(refused("the pattern is empty".to_owned()));
        }
        let options = PatternOptions { ignore_case: !args.case_sensitive, multi_line: true };
        let compiled = |source: &str| {
            Pattern::new(source, options)
                .map_err(|error| refused(format!("invalid pattern: {}", error.brief())))
        };
        let as_written = if args.regex { within_lines(&args.pattern) } else { regex::escape(&args.pattern) };
        let source =
            if args.regex { with_any_line_ends(&as_written) } else { regex::escape(&plain(&args.pattern)) };
        let pattern = compiled(&source)?;
        let template = if args.regex {
            template(&args.replacement, &pattern.groups())?
        } else {
            args.replacement.replace('$', "$$")
        };
        let names_ends =
            template.contains('\r') || source != as_written || matches_line_ends_alone(&as_written);
        // In it, `$` stands before `\n` alone. The second engine does not know the flag.
        let with_returns = || compiled(&format!("(?-R){as_written}")).or_else(|_| compiled(&as_written));
        let as_written = names_ends.then(with_returns).transpose()?;
        let first_line = args.pattern.lines().find(|line| !line.is_empty()).unwrap_or_default();
        let (searched, syntax) =
            if args.regex { (source.as_str(), Syntax::Regex) } else { (first_line, Syntax::Literal) };
        let is_within_line = !args.regex || (!may_span_lines(&source) && !names_ends);
        let query = is_within_line.then(|| Query::new(searched, syntax, args.case_sensitive, 1).ok());
        Ok(Self { pattern, as_written, template, query: query.flatten() })
    }

    /// Returns the new text of a file, or `None` if it stays as it is, and the number of places that were found; each line keeps its end.
    /// It ends as soon as the text is longer than `limit`, in bytes.
    pub(super) fn apply(&self, content: &str, limit: usize) -> Result<(Option<String>, usize), ReplaceError> {
        let file = PlainText::of(content);
        let text = file.as_ref().map_or(content, PlainText::plain);
        let (made, times) = self.pattern.replace(text, &self.template, limit)?;
        let made = if self.template.contains('\r') { plain(&made) } else { made };
        if made == text {
            return Ok((None, times));
        }
        let made = match file {
            Some(file) => file.restored(&made),
            None => made,
        };
        Ok((Some(made), times))
    }

    /// Returns whether a call that changes no text may be meant to change line ends.
    pub(super) fn may_mean_line_ends(&self) -> bool {
        self.as_written.is_some()
    }

    /// Does the same as [`apply`](Self::apply) with line ends as they are in the file, where nothing but these would change.
    pub(super) fn apply_to_line_ends(
        &self,
        content: &str,
        limit: usize,
    ) -> Result<(Option<String>, usize), ReplaceError> {
        let Some(pattern) = &self.as_written else { return Ok((None, 0)) };
        let (made, times) = pattern.replace(content, &self.template, limit)?;
        let made = without_doubled_returns(content, made);
        let is_same_text = plain(&made) == plain(content);
        Ok(((made != content && is_same_text).then_some(made), times))
    }
}
