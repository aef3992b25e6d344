//! Outlines of C and C++, read as a list of statements.
//!
//! The tree-sitter grammar of C++ is larger than those of all other languages together, and fails where
//! macros begin. An outline needs less than a grammar: where statements and blocks end, and what the head of
//! a block says.

mod declarator;
mod tokens;

use super::{MAX_DEPTH, Outline};
use declarator::{callable, initializer, is_type, strip_prefixes, text, top_level, type_name};
use tokens::{Kind, Token, tokens};

/// Words that begin a statement within a function, which broken text may expose.
const CONTROL: [&str; 12] =
    ["if", "else", "for", "while", "do", "switch", "case", "return", "goto", "catch", "friend", "delete"];
/// Words that begin a declaration if they begin a line.
const BEGINNINGS: [&str; 7] = ["extern", "inline", "namespace", "static", "template", "typedef", "using"];
const ACCESS: [&str; 5] = ["public", "private", "protected", "signals", "slots"];
const BLOCK: &str = "{ … }";

/// Maximum number of tokens of a statement's head; a longer one declares nothing that people would look for.
const MAX_HEAD: usize = 400;

/// Open block whose content is shown.
struct Scope<'a> {
    /// Index of the type or namespace in the outline; `None` for `extern "C"`.
    symbol: Option<usize>,
    /// Name of the type, by which its constructors are recognized.
    name: Option<&'a str>,
}

/// Kind of a block, by the head before it.
#[derive(Clone, Copy)]
enum BlockKind<'a> {
    /// A type, with its name, or a namespace.
    Shown(Option<&'a str>),
    /// A wrapper that is not shown.
    Wrapper,
    /// A function's body: the statement ends with it.
    Body,
    /// The values of an enumeration.
    Values,
    /// An initializer, or the members of what `typedef` names.
    Value,
}

/// State while reading a source.
struct Reader<'a> {
    outline: Outline,
    /// Offsets of the lines' beginnings, in bytes.
    lines: Vec<usize>,
    scopes: Vec<Scope<'a>>,
    /// Tokens of the statement so far.
    head: Vec<Token<'a>>,
}

/// Outlines a source.
pub(super) fn outline(source: &str) -> Outline {
    let lines = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut reader = Reader { outline: Outline::default(), lines, scopes: Vec::new(), head: Vec::new() };
    reader.read(&tokens(source));
    reader.outline
}

impl<'a> Reader<'a> {
    fn read(&mut self, tokens: &[Token<'a>]) {
        let mut at = 0;
        // Open parentheses and brackets in the head.
        let mut nested = 0_usize;
        while let Some(&token) = tokens.get(at) {
            at += 1;
            // An unclosed parenthesis must not swallow the rest of the file.
            if nested > 0
                && self.lines.binary_search(&token.start).is_ok()
                && (BEGINNINGS.contains(&token.text)
                    || is_type(token) && tokens.get(at + 1).is_some_and(|next| next.is("{")))
            {
                self.outline.has_errors = true;
                self.head.clear();
                nested = 0;
            }
            if self.head.len() > MAX_HEAD {
                self.head.clear();
            }
            match (token.kind, token.text) {
                (Kind::Directive, _) => self.directive(token),
                (Kind::Sign, "{") => {
                    let kind = if nested > 0 { BlockKind::Value } else { self.block_kind() };
                    if let BlockKind::Shown(_) | BlockKind::Wrapper = kind {
                        self.enter(kind, token);
                        continue;
                    }
                    let end = closing_brace(tokens, at - 1);
                    self.outline.has_errors |= end.is_none();
                    at = end.map_or(tokens.len(), |end| end + 1);
                    self.skip_block(kind, token, tokens[at - 1]);
                    // `MACRO(x) = { … } MACRO_END(x)`: a macro may end an initializer without a semicolon.
                    if tokens.get(at).is_some_and(|next| next.kind == Kind::Word)
                        && initializer(&self.head).is_some()
                    {
                        self.head.clear();
                    }
                }
                (Kind::Sign, "}") => match self.scopes.pop() {
                    Some(scope) => {
                        if let Some(symbol) =
                            scope.symbol.and_then(|symbol| self.outline.symbols.get_mut(symbol))
                        {
                            symbol.end = line(&self.lines, token.start);
                        }
                        self.head.clear();
                    }
                    None => self.outline.has_errors = true,
                },
                (Kind::Sign, ";") => {
                    self.outline.has_errors |= nested > 0;
                    nested = 0;
                    self.declaration(token);
                    self.head.clear();
                }
                (Kind::Sign, ":") if self.head.last().is_some_and(|last| ACCESS.contains(&last.text)) => {
                    self.head.clear();
                }
                (Kind::Sign, sign) => {
                    match sign {
                        "(" | "[" => nested += 1,
                        ")" | "]" => nested = nested.saturating_sub(1),
                        _ => {}
                    }
                    self.head.push(token);
                }
                _ => self.head.push(token),
            }
            if self.outline.cut {
                return;
            }
        }
        self.outline.has_errors |= !self.scopes.is_empty();
    }

    /// Returns the statement so far, without what precedes its declaration.
    fn declaration_head(&self) -> &[Token<'a>] {
        strip_prefixes(&self.head, self.class())
    }

    /// Returns the name of the innermost open type.
    fn class(&self) -> Option<&'a str> {
        self.scopes.last().and_then(|scope| scope.name)
    }

    fn directive(&mut self, token: Token<'a>) {
        let text = token.text.trim_start_matches(['#', ' ', '\t']);
        // `#define F(x)` is a function to its readers, `#define F (x)` a value.
        let function = text.strip_prefix("define").is_some_and(|rest| {
            rest.trim_start().split_once('(').is_some_and(|(name, _)| !name.contains(char::is_whitespace))
        });
        if function || text.starts_with("include") {
            let first = token.text.lines().next().unwrap_or_default();
            self.push([token, token], first.trim_end_matches([' ', '\\', '\r']));
        }
    }

    /// Returns the kind of the block that begins after the head.
    fn block_kind(&self) -> BlockKind<'a> {
        let head = self.declaration_head();
        let Some(first) = head.first() else { return BlockKind::Wrapper };
        let says = |word| top_level(head).any(|token| token.says(word));
        let call = callable(head);
        if says("namespace") {
            return BlockKind::Shown(None);
        }
        if CONTROL.contains(&first.text) {
            return BlockKind::Body;
        }
        // `extern "C"`, or the name of a macro that opens a namespace.
        if head.len() == 1
            || matches!(head, [.., word, text] if word.says("extern") && text.kind == Kind::Text)
        {
            return BlockKind::Wrapper;
        }
        if first.says("typedef") || initializer(head).is_some() {
            return BlockKind::Value;
        }
        if let Some(call) = call {
            // `Shape() : side{1} {`: the first of the two blocks initializes a member.
            let list = head[call..]
                .iter()
                .position(|token| token.is(")"))
                .is_some_and(|end| top_level(&head[call + end + 1..]).any(|token| token.is(":")));
            let last = head[head.len() - 1];
            return if list && (last.kind == Kind::Word || last.is(">")) {
                BlockKind::Value
            } else {
                BlockKind::Body
            };
        }
        if says("enum") {
            return BlockKind::Values;
        }
        match type_name(head) {
            Some(name) => BlockKind::Shown(Some(name)),
            // Nothing, or a type without a name, whose members belong to a variable.
            None => BlockKind::Value,
        }
    }

    fn enter(&mut self, kind: BlockKind<'a>, brace: Token<'a>) {
        let scope = match kind {
            BlockKind::Shown(name) => {
                let head = self.declaration_head();
                let symbol = self.outline.symbols.len();
                let (ends, signature) = ([head[0], brace], text(head));
                self.push(ends, &signature);
                Scope { symbol: Some(symbol), name }
            }
            _ => Scope { symbol: None, name: None },
        };
        self.scopes.push(scope);
        self.outline.cut |= self.scopes.len() > MAX_DEPTH;
        self.head.clear();
    }

    /// Continues after a block whose content is not shown.
    fn skip_block(&mut self, kind: BlockKind<'a>, open: Token<'a>, end: Token<'a>) {
        if let BlockKind::Body | BlockKind::Values = kind {
            let head = self.declaration_head();
            let is_function = head.first().is_some_and(|first| !CONTROL.contains(&first.text));
            if is_function {
                let (ends, signature) = ([head[0], end], text(head));
                self.push(ends, &signature);
            }
            self.head.clear();
        } else {
            self.head.push(Token { kind: Kind::Block, text: BLOCK, start: open.start, end: end.end });
        }
    }

    /// Reads a statement without a block, which ends at the semicolon.
    fn declaration(&mut self, semicolon: Token<'a>) {
        let head = self.declaration_head();
        let Some(first) = head.first() else { return };
        let shown = match first.text {
            "using" | "typedef" | "concept" => true,
            "namespace" | "template" => false,
            word if CONTROL.contains(&word) => false,
            _ => self.declares_function(head),
        };
        if shown {
            let (ends, signature) = ([*first, semicolon], text(head));
            self.push(ends, &signature);
        }
    }

    fn declares_function(&self, head: &[Token<'a>]) -> bool {
        let Some(call) = callable(head) else { return false };
        if initializer(head).is_some_and(|assigned| assigned < call) {
            return false;
        }
        // `Shape origin(1, 2);` is a variable.
        if head.get(call + 1).is_some_and(|first| {
            first.kind == Kind::Text || first.text.starts_with(|first: char| first.is_ascii_digit())
        }) {
            return false;
        }
        // A function has a type before its name; a macro has none, and a constructor has none either.
        let name = &head[..call];
        name.len() > 1 || self.class() == Some(name[0].text)
    }

    fn push(&mut self, [first, last]: [Token<'a>; 2], signature: &str) {
        let depth = self.scopes.iter().filter(|scope| scope.symbol.is_some()).count();
        let lines = line(&self.lines, first.start)..=line(&self.lines, last.end.max(1) - 1);
        self.outline.push(lines, depth, signature);
    }
}

/// Returns the line of a byte offset, from 1.
fn line(lines: &[usize], at: usize) -> usize {
    lines.partition_point(|start| *start <= at)
}

/// Returns the index of the brace that closes the one at `open`.
fn closing_brace(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    tokens[open..]
        .iter()
        .position(|token| {
            depth += usize::from(token.is("{"));
            depth -= usize::from(token.is("}"));
            depth == 0
        })
        .map(|length| open + length)
}
