//! Tokens of C and C++: without comments, and with only the first branch of an `#if … #else` whose branches
//! open and close different blocks.

use std::sync::LazyLock;

use regex::Regex;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, a keyword or a number.
    Word,
    /// A string or a character.
    Text,
    /// A sign: one character, except for `::` and `->`.
    Sign,
    /// A preprocessor directive, with its continuation lines.
    Directive,
    /// A placeholder for a block that was left out of a head.
    Block,
}

/// Token and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Offset of the beginning, in bytes.
    pub(super) start: usize,
    /// Offset of the end, in bytes; for a block that was left out, the end of the block.
    pub(super) end: usize,
}

impl Token<'_> {
    /// Returns `true` if the token is the sign `sign`.
    pub(super) fn is(self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }

    /// Returns `true` if the token is the word `word`.
    pub(super) fn says(self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }
}

/// Expression for a comment, a directive, a literal, a word or a sign; they are distinguished by how they
/// begin.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant, which every test of this file would show broken")]
    Regex::new(
        r#"(?x)
          //(?:[^\n\\]|\\(?s:.))* | (?s:/\*.*?(?:\*/|\z))
        | (?m:^)[\ \t]*\#(?:[^\n\\/]|\\\r?(?s:.)|/[^\n/*]|(?s:/\*.*?\*/))*
        | "(?:[^"\\\n]|\\(?s:.))*"? | '(?:[^'\\\n]|\\(?s:.))*'?
        | [0-9](?:[\w.]|'\w)* | [\w$]+
        | :: | -> | \S
        "#,
    )
    .expect("an expression")
});

/// Splits a source into tokens.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(found) = TOKEN.find_at(source, at) {
        let (text, start) = (found.as_str(), found.start());
        at = found.end();
        let first = text.trim_start_matches([' ', '\t']).chars().next();
        let kind = match first {
            Some('/') if text.len() > 1 => continue,
            Some('#') if text.len() > 1 => Kind::Directive,
            Some('"' | '\'') => Kind::Text,
            Some(first) if first.is_alphanumeric() || matches!(first, '_' | '$') => Kind::Word,
            _ => Kind::Sign,
        };
        if let Some(end) = raw(source, text, at) {
            at = end;
            all.push(Token { kind: Kind::Text, text: &source[start..at], start, end: at });
        } else {
            all.push(Token { kind, text: text.trim(), start, end: at });
        }
    }
    one_way(&all)
}

/// Returns the end of a raw string (`R"x(…)x"`) if `word` and what follows it begin one.
fn raw(source: &str, word: &str, end: usize) -> Option<usize> {
    if !matches!(word, "R" | "LR" | "uR" | "UR" | "u8R") {
        return None;
    }
    let rest = source[end..].strip_prefix('"')?;
    // The standard limits the delimiter to sixteen characters.
    let length = rest.bytes().take(17).position(|byte| byte == b'(')?;
    let (fence, inside) = (&rest[..length], &rest[length + 1..]);
    if fence.contains([' ', '\\', ')', '"', '\n']) {
        return None;
    }
    let close = format!("){fence}\"");
    Some(inside.find(&close).map_or(source.len(), |at| source.len() - inside.len() + at + close.len()))
}

/// Preprocessor conditional that is open.
struct Choice {
    /// Number of open blocks at its beginning.
    before: isize,
    /// Whether the current branch is left out.
    dropped: bool,
    /// Whether the branches after this one are left out.
    decided: bool,
}

/// Removes `#if 0` blocks, and all later branches of a conditional whose first branch leaves a block open:
/// keeping both would open twice what is closed once.
fn one_way<'a>(all: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::with_capacity(all.len());
    let mut choices: Vec<Choice> = Vec::new();
    let mut open = 0_isize;
    for token in all {
        let dropped = choices.last().is_some_and(|choice| choice.dropped);
        if token.kind == Kind::Directive {
            let mut words = token.text.trim_start_matches(['#', ' ', '\t']).split_whitespace();
            match words.next().unwrap_or_default() {
                "if" | "ifdef" | "ifndef" => {
                    let never = words.next() == Some("0") && words.next().is_none();
                    choices.push(Choice { before: open, dropped: dropped || never, decided: dropped });
                }
                "else" | "elif" | "elifdef" | "elifndef" => {
                    if let Some(choice) = choices.last_mut() {
                        choice.decided |= open != choice.before;
                        choice.dropped = choice.decided;
                    }
                }
                "endif" => drop(choices.pop()),
                _ if dropped => {}
                _ => kept.push(*token),
            }
            continue;
        }
        if dropped {
            continue;
        }
        open += isize::from(token.is("{")) - isize::from(token.is("}"));
        kept.push(*token);
    }
    kept
}
