//! Matching and replacing in one text.

use ast_grep_config::RuleConfig;
use ast_grep_core::AstGrep;
use ast_grep_core::tree_sitter::StrDoc;

use crate::{Language, MAX_BYTES, MAX_DEPTH, MAX_TIME, RewriteError};

/// A place that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Line of its start, from 1.
    pub line: usize,
    /// Column of its start, from 1, in characters.
    pub column: usize,
    /// Its text.
    pub text: String,
    /// What stands in its place; `None` if the rule only finds.
    pub replacement: Option<String>,
}

/// What a rule made of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The text with all matches replaced.
    pub text: String,
    /// The matches, in their order, inner ones after those that contain them. Their places are those of the text as
    /// it was when they were found.
    pub matches: Vec<Match>,
}

type Document = StrDoc<Language>;

/// Replaces all matches of a rule. A match that contains others goes first, and the inner ones, which it took along,
/// follow in a further pass, as long as each pass leaves no more matches than were inside of others: a rule whose
/// result matches again is applied once.
pub(crate) fn rewrite(
    rule: &RuleConfig<Language>,
    language: Language,
    text: &str,
) -> Result<Rewritten, RewriteError> {
    let mut done = Rewritten { text: text.to_owned(), matches: Vec::new() };
    let mut allowed = usize::MAX;
    loop {
        let pass = pass(rule, &parse(language, &done.text)?, &done.text);
        if pass.matches.is_empty() || pass.matches.len() + pass.inner > allowed {
            break;
        }
        allowed = pass.inner;
        done.text = pass.text;
        done.matches.extend(pass.matches);
        if allowed == 0 {
            break;
        }
    }
    done.text = checked(language, text, done.text)?;
    Ok(done)
}

/// Returns the text that became of another one. Fails if it has a syntax error that the other did not have.
pub(crate) fn checked(language: Language, before: &str, after: String) -> Result<String, RewriteError> {
    if before == after {
        return Ok(after);
    }
    let broken = |text: &str| Ok::<_, RewriteError>(parse(language, text)?.1);
    if let Some(at) = broken(&after)?
        && broken(before)?.is_none()
    {
        let line = after[..at].matches('\n').count();
        let text = after.lines().nth(line).unwrap_or_default().trim().chars().take(200).collect();
        return Err(RewriteError::Broken { line: line + 1, text });
    }
    Ok(after)
}

/// Result of one pass over a text.
struct Pass {
    text: String,
    matches: Vec<Match>,
    /// Number of matches that lie inside of others.
    inner: usize,
}

fn pass(rule: &RuleConfig<Language>, (tree, _): &(AstGrep<Document>, Option<usize>), text: &str) -> Pass {
    let root = tree.root();
    let fixer = rule.fixer.first();
    let mut pass = Pass { text: String::with_capacity(text.len()), matches: Vec::new(), inner: 0 };
    let mut end = 0;
    let mut lines = LineCounter::new(text);
    for found in root.find_all(&rule.matcher) {
        let range = found.range();
        let Some(fixer) = fixer else {
            let (line, column) = lines.position(range.start);
            pass.matches.push(Match { line, column, text: text[range].to_owned(), replacement: None });
            continue;
        };
        let edit = found.make_edit(&rule.matcher, fixer);
        if edit.position < end {
            pass.inner += 1;
            continue;
        }
        let (line, column) = lines.position(range.start);
        let replacement = String::from_utf8_lossy(&edit.inserted_text).into_owned();
        pass.text.push_str(&text[end..edit.position]);
        pass.text.push_str(&replacement);
        end = edit.position + edit.deleted_length;
        let text = text[range].to_owned();
        pass.matches.push(Match { line, column, text, replacement: Some(replacement) });
    }
    pass.text.push_str(&text[end..]);
    pass
}

/// Parses a text within the limits. Returns its tree, and the byte at which its first syntax error begins.
fn parse(language: Language, text: &str) -> Result<(AstGrep<Document>, Option<usize>), RewriteError> {
    if text.len() > MAX_BYTES {
        return Err(RewriteError::TooLarge(text.len()));
    }
    let tree = grammar::parse(text, &language.grammar(), MAX_TIME).ok_or(RewriteError::TooSlow)?;
    let error = survey(&tree)?;
    let document = StrDoc { src: text.to_owned(), lang: language, tree };
    Ok((AstGrep::doc(document), error))
}

/// Walks a tree without recursion. Returns the byte at which the first syntax error begins; fails if the tree is too
/// deep.
fn survey(tree: &tree_sitter::Tree) -> Result<Option<usize>, RewriteError> {
    let mut cursor = tree.walk();
    let (mut depth, mut error) = (0, None);
    loop {
        let node = cursor.node();
        if error.is_none() && (node.is_error() || node.is_missing()) {
            error = Some(node.start_byte());
        }
        if cursor.goto_first_child() {
            depth += 1;
            if depth > MAX_DEPTH {
                return Err(RewriteError::TooDeep);
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(error);
            }
            depth -= 1;
        }
    }
}

/// Lines and columns of bytes that come in ascending order, so that a text is gone through once.
struct LineCounter<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    line_start: usize,
}

impl<'t> LineCounter<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1, line_start: 0 }
    }

    fn position(&mut self, byte: usize) -> (usize, usize) {
        if byte < self.at {
            *self = Self::new(self.text);
        }
        for (offset, _) in self.text[self.at..byte].match_indices('\n') {
            self.line += 1;
            self.line_start = self.at + offset + 1;
        }
        self.at = byte;
        (self.line, self.text[self.line_start..byte].chars().count() + 1)
    }
}
