//! Tool `grep`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::matcher::Syntax;
use super::read_file::resolve;
use super::scope::Scope;
use super::search::{Query, Show};
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::event::Effects;

/// Tool that searches for lines.
pub(super) struct Grep;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Regular expression, within a line
    #[serde(alias = "text")]
    pattern: String,
    /// Folder or file
    #[serde(default = "super::scope::here")]
    path: String,
    /// Globs of the files to search (*.py,!tests/**)
    #[serde(default = "super::scope::any")]
    file_pattern: String,
    /// Take the pattern as it is, not as a regular expression
    #[serde(default)]
    literal: bool,
    #[serde(default = "super::scope::yes")]
    case_sensitive: bool,
    /// Lines shown around each match
    #[serde(default)]
    context_lines: usize,
    #[serde(default = "max_results")]
    max_results: usize,
    /// Show matching lines, or only files with their counts
    #[serde(default)]
    show: Show,
    #[serde(default = "super::scope::yes")]
    #[schemars(skip)]
    recursive: bool,
    /// Globs that the files have to match as well.
    #[serde(default = "super::scope::any")]
    #[schemars(skip)]
    file_type: String,
}

fn max_results() -> usize {
    100
}

impl Args {
    fn search(&self, syntax: Syntax, scope: &Scope<'_>) -> Result<super::search::SearchResult, ToolError> {
        let query = Query::new(&self.pattern, syntax, self.case_sensitive, self.max_results)?;
        query.with_context(self.context_lines).showing(self.show).search(scope)
    }
}

impl FileTool for Grep {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "grep",
            description: "Search files for lines that match a regular expression. Says how many matches there are in which files.",
            sensitive: false,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        Ok(Effects::read(&resolve(&args.path, cx)?))
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let depth = if args.recursive { None } else { Some(1) };
        let scope = Scope::new(cx, &args.path, Some(&args.file_pattern), depth)?.of_types(&args.file_type)?;
        let syntax = if args.literal { Syntax::Literal } else { Syntax::Regex };
        let is_plain = args.literal || regex::escape(&args.pattern) == args.pattern;
        let (found, error) = match args.search(syntax, &scope) {
            Ok(found) if !found.is_empty() || is_plain => return Ok(ToolResult::done(found.render())),
            Ok(found) => (Some(found), None),
            Err(error) if is_plain => return Err(error),
            Err(error) => (None, Some(error)),
        };
        // In the basic syntax of `grep`, the signs of an alternative and a group have a backslash.
        let extended = extended(&args.pattern).filter(|_| !args.literal);
        if let Some(pattern) = extended {
            let query = Query::new(&pattern, Syntax::Regex, args.case_sensitive, args.max_results);
            let found = query
                .and_then(|query| query.with_context(args.context_lines).showing(args.show).search(&scope));
            if let Ok(found) = found
                && !found.is_empty()
            {
                return Ok(ToolResult::done(format!("[searched for {pattern}]\n{}", found.render())));
            }
        }
        // Code is often searched for as it stands, with parentheses and dots in it.
        let literal = args.search(Syntax::Literal, &scope)?;
        match (literal.is_empty(), error, found) {
            (false, None, _) => Ok(ToolResult::done(format!(
                "[no match as a regular expression; these lines contain it literally]\n{}",
                literal.render()
            ))),
            (false, Some(error), _) => Ok(ToolResult::done(format!(
                "[{error}; these lines contain it literally]\n{}",
                literal.render()
            ))),
            (true, Some(error), _) => Err(ToolError::Refused(format!(
                "{error}; taken literally (literal=true), it has no match either"
            ))),
            (true, None, found) => Ok(ToolResult::done(found.unwrap_or(literal).render())),
        }
    }
}

/// Returns a pattern of basic syntax in the extended one, if it has signs of the former.
fn extended(pattern: &str) -> Option<String> {
    let signs = ['|', '(', ')', '{', '}', '+', '?'];
    let (mut text, mut has_signs) = (String::with_capacity(pattern.len()), false);
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some(sign) if signs.contains(&sign) => {
                    has_signs = true;
                    text.push(sign);
                }
                other => {
                    text.push('\\');
                    text.extend(other);
                }
            },
            sign if signs.contains(&sign) => text.extend(['\\', sign]),
            other => text.push(other),
        }
    }
    has_signs.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::extended;

    #[test]
    fn basic_patterns_become_extended_ones() {
        for (pattern, expected) in [
            ("def\\|class", Some("def|class")),
            ("f(x)\\|\\(a\\)", Some("f\\(x\\)|(a)")),
            ("def|class", None),
            ("\\d+", None),
        ] {
            assert_eq!(extended(pattern).as_deref(), expected, "{pattern}");
        }
    }
}
