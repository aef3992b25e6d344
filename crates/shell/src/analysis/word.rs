//! Words: what is left of them without quotes, and what only the shell could know.

use std::collections::BTreeMap;

use brush_parser::ParserOptions;
use brush_parser::word::{Parameter, ParameterExpr, TildeExpr, WordPiece, WordPieceWithSource, parse};

use super::guarded;

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word as written.
    pub raw: String,
    /// The word as the command gets it, except for globs; `None` if it depends on an expansion.
    text: Option<String>,
    /// Whether unquoted characters make it a glob or a brace list.
    pub glob: bool,
}

impl Word {
    /// Returns the word as the command gets it (a glob as written), or `None` if it depends on an expansion.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Creates a word that is known.
    pub(crate) fn known(text: &str) -> Self {
        Self { raw: text.to_owned(), text: Some(text.to_owned()), glob: false }
    }

    /// Creates a word that is known although it is written differently.
    pub(super) fn quoted(raw: &str, text: &str) -> Self {
        Self { raw: raw.to_owned(), text: Some(text.to_owned()), glob: false }
    }

    /// Creates a word that is decided at run time.
    pub(super) fn unknown(raw: &str) -> Self {
        Self { raw: raw.to_owned(), text: None, glob: false }
    }

    /// Returns whether the word is an option.
    pub fn is_option(&self) -> bool {
        self.text().is_some_and(|text| text.starts_with('-') && text != "-")
    }
}

/// Values of variables that the line itself sets to known texts.
pub(super) type Variables = BTreeMap<String, Vec<Word>>;

/// What a word contains besides its text.
#[derive(Default)]
pub(super) struct WordParts {
    /// Command substitutions.
    pub(super) scripts: Vec<String>,
    /// Texts that are words themselves, such as defaults of parameters.
    pub(super) words: Vec<String>,
    /// A description of what is set or evaluated when the word is expanded.
    pub(super) dynamic: Option<String>,
    /// The reason why a word was not understood.
    pub(super) unclear: Option<String>,
}

/// Parses a word. What has to be walked through as well is added to `found`.
pub(super) fn read(raw: &str, variables: &Variables, found: &mut WordParts) -> Word {
    let options = ParserOptions::default();
    let mut word = Word { raw: raw.to_owned(), text: Some(String::new()), glob: false };
    if let Some(Ok(pieces)) = guarded(|| parse(raw, &options)) {
        append(&mut word, &pieces, false, variables, found);
    } else {
        found.unclear = Some(format!("the word {raw} cannot be parsed"));
        word.text = None;
    }
    word
}

fn append(
    word: &mut Word,
    pieces: &[WordPieceWithSource],
    quoted: bool,
    variables: &Variables,
    found: &mut WordParts,
) {
    for piece in pieces {
        match &piece.piece {
            WordPiece::Text(text) => {
                // `a{b,c}` and `[a-z]*` stand for several words.
                word.glob |= !quoted && text.contains(['*', '?', '[', '{']);
                push(word, text);
            }
            WordPiece::SingleQuotedText(text) => push(word, text),
            WordPiece::AnsiCQuotedText(text) => {
                // `$'…'` is also a way to hide something; text without escapes stays text.
                if text.contains('\\') { word.text = None } else { push(word, text) }
            }
            WordPiece::EscapeSequence(text) => {
                let escaped = text.strip_prefix('\\').unwrap_or(text);
                push(word, if escaped == "\n" { "" } else { escaped });
            }
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                append(word, inner, true, variables, found);
            }
            WordPiece::TildeExpansion(TildeExpr::Home) => push(word, "~"),
            WordPiece::TildeExpansion(_) => push(word, "~other"),
            WordPiece::CommandSubstitution(script) | WordPiece::BackquotedCommandSubstitution(script) => {
                found.scripts.push(script.clone());
                word.text = None;
            }
            WordPiece::ArithmeticExpression(expression) => {
                found.words.push(expression.value.clone());
                // Stands for any number.
                push(word, "0");
            }
            WordPiece::ParameterExpansion(expression) => {
                parameter(word, expression, quoted, variables, found);
            }
        }
    }
}

fn push(word: &mut Word, text: &str) {
    if let Some(all) = &mut word.text {
        all.push_str(text);
    }
}

fn parameter(
    word: &mut Word,
    expression: &ParameterExpr,
    quoted: bool,
    variables: &Variables,
    found: &mut WordParts,
) {
    match expression {
        ParameterExpr::Parameter { parameter: Parameter::Named(name), indirect: false } => {
            match name.as_str() {
                "HOME" => push(word, "~"),
                "PWD" => push(word, "."),
                name => match variables.get(name).and_then(|values| harmless(values, quoted)) {
                    Some(value) => {
                        word.glob |= value.glob;
                        push(word, value.text().unwrap_or_default());
                    }
                    None => word.text = None,
                },
            }
        }
        ParameterExpr::Parameter { .. } | ParameterExpr::ParameterLength { .. } => word.text = None,
        other => {
            word.text = None;
            let runs =
                matches!(other, ParameterExpr::AssignDefaultValues { .. } | ParameterExpr::Transform { .. });
            if runs {
                found.dynamic = Some(format!("{} is set or evaluated while it is expanded", word.raw));
            }
            // Whatever the form, every text in it may contain a substitution.
            found.words.extend(texts(other));
        }
    }
}

/// Returns one value that stands for all of them, if none is an option or leads outside.
///
/// Without quotes, whitespace would make several words of a value.
fn harmless(values: &[Word], quoted: bool) -> Option<&Word> {
    let plain = |word: &Word| {
        let text = word.text().filter(|text| quoted || !text.contains(char::is_whitespace)).unwrap_or("/");
        !text.starts_with(['-', '/', '~']) && !text.split('/').any(|name| name == "..")
    };
    values.first().filter(|_| values.iter().all(plain))
}

/// Returns the texts inside `${…}`.
fn texts(expression: &ParameterExpr) -> Vec<String> {
    use ParameterExpr as P;
    let some = |text: &Option<String>| text.iter().cloned().collect();
    match expression {
        P::UseDefaultValues { default_value, .. } | P::AssignDefaultValues { default_value, .. } => {
            some(default_value)
        }
        P::IndicateErrorIfNullOrUnset { error_message, .. } => some(error_message),
        P::UseAlternativeValue { alternative_value, .. } => some(alternative_value),
        P::RemoveSmallestSuffixPattern { pattern, .. }
        | P::RemoveLargestSuffixPattern { pattern, .. }
        | P::RemoveSmallestPrefixPattern { pattern, .. }
        | P::RemoveLargestPrefixPattern { pattern, .. }
        | P::UppercaseFirstChar { pattern, .. }
        | P::UppercasePattern { pattern, .. }
        | P::LowercaseFirstChar { pattern, .. }
        | P::LowercasePattern { pattern, .. } => some(pattern),
        P::ReplaceSubstring { pattern, replacement, .. } => {
            std::iter::once(pattern.clone()).chain(replacement.iter().cloned()).collect()
        }
        P::Substring { offset, length, .. } => std::iter::once(offset.value.clone())
            .chain(length.iter().map(|length| length.value.clone()))
            .collect(),
        _ => Vec::new(),
    }
}
