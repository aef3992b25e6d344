//! Heads of statements: the declared name, its parameters, and its initializer.

use super::tokens::{Kind, Token};

/// Words that are followed by parentheses but do not name a function.
const NO_NAMES: [&str; 26] = [
    "alignas",
    "_Alignas",
    "__attribute__",
    "__attribute",
    "__declspec",
    "decltype",
    "typeof",
    "__typeof__",
    "noexcept",
    "explicit",
    "requires",
    "throw",
    "asm",
    "__asm__",
    "sizeof",
    "static_assert",
    "_Static_assert",
    "void",
    "int",
    "char",
    "long",
    "short",
    "bool",
    "float",
    "double",
    "auto",
];
/// Words that may follow a function's parameters.
const TRAILING: [&str; 8] =
    ["const", "volatile", "noexcept", "override", "final", "try", "requires", "throw"];

/// Returns `true` if a word begins the declaration of a type.
pub(super) fn is_type(token: Token<'_>) -> bool {
    matches!(token.text, "class" | "struct" | "union" | "enum")
}

/// Returns a head without what precedes its declaration: `template <…>`, and macros with arguments on lines
/// of their own. A call with the name of the surrounding class is a constructor, not a macro.
pub(super) fn strip_prefixes<'t, 'a>(mut head: &'t [Token<'a>], class: Option<&str>) -> &'t [Token<'a>] {
    loop {
        let length = match head {
            [word, next, ..] if word.kind == Kind::Word && next.says("template") => Some(0),
            [template, next, ..] if template.says("template") && next.is("<") => {
                balanced(&head[1..], "<", ">")
            }
            [word, next, ..] if word.kind == Kind::Word && next.is("(") && Some(word.text) != class => {
                let length = balanced(&head[1..], "(", ")");
                let goes_on = length.and_then(|length| head.get(1 + length)).is_some_and(|next| {
                    next.kind == Kind::Word && !TRAILING.contains(&next.text) || next.is("[") || next.is("~")
                });
                let of_type = word.text.contains("typeof") || word.text == "decltype";
                length.filter(|length| goes_on && !of_type && !is_function(&head[1 + length..], class))
            }
            _ => return head,
        };
        let Some(length) = length else { return head };
        head = &head[1 + length..];
    }
}

/// Returns `true` if exactly a function's name and parameters are left. Then the macro before them makes its
/// type, as in `EXTERN(int) count(void)`.
fn is_function(rest: &[Token<'_>], class: Option<&str>) -> bool {
    let [name, open, ..] = rest else { return false };
    let end = balanced(&rest[1..], "(", ")").and_then(|length| rest.get(1 + length));
    let ends = end.is_none_or(|next| next.kind != Kind::Word || TRAILING.contains(&next.text));
    name.kind == Kind::Word && Some(name.text) != class && open.is("(") && ends
}

/// Returns the number of tokens from an opening sign to the one that closes it, both included.
fn balanced(tokens: &[Token<'_>], open: &str, end: &str) -> Option<usize> {
    let (mut depth, mut parentheses) = (0_usize, 0_usize);
    let last = tokens.iter().position(|token| {
        // `<(a > b)>`
        if open != "(" {
            parentheses += usize::from(token.is("("));
            parentheses = parentheses.saturating_sub(usize::from(token.is(")")));
        }
        if parentheses == 0 {
            depth += usize::from(token.is(open));
            depth = depth.saturating_sub(usize::from(token.is(end)));
        }
        depth == 0
    });
    last.map(|last| last + 1)
}

/// Returns the tokens that are not in parentheses or brackets.
pub(super) fn top_level<'t, 'a>(head: &'t [Token<'a>]) -> impl Iterator<Item = Token<'a>> + use<'t, 'a> {
    let mut depth = 0_usize;
    head.iter().copied().filter(move |token| {
        let closes = token.is(")") || token.is("]");
        depth = depth.saturating_sub(usize::from(closes));
        let outside = depth == 0;
        depth += usize::from(token.is("(") || token.is("["));
        outside
    })
}

/// Returns the index of the parenthesis that opens the parameters: the one behind the first word that can be
/// a function's name.
pub(super) fn callable(head: &[Token<'_>]) -> Option<usize> {
    if let Some(operator) = head.iter().position(|token| token.says("operator")) {
        // `operator()(…)`
        let from = operator + if head.get(operator + 1).is_some_and(|next| next.is("(")) { 3 } else { 1 };
        return head.get(from..)?.iter().position(|token| token.is("(")).map(|at| from + at);
    }
    let of_type = head.first().is_some_and(|first| is_type(*first));
    let mut at = 0;
    while at + 1 < head.len() {
        let (word, next) = (head[at], head[at + 1]);
        if word.kind != Kind::Word || !next.is("(") {
            at += 1;
            continue;
        }
        let behind = at + 1 + balanced(&head[at + 1..], "(", ")").unwrap_or(head.len());
        let follows = |at: usize| head.get(at).filter(|next| next.kind == Kind::Word);
        let pointer = head.get(behind).is_some_and(|next| next.is("*") || next.is("&"));
        // A macro makes a type: `class EXPORT(x) Shape`, `STACK_OF(x) *list(void)`, `EXTERN(int)
        // count(void)`.
        let makes_type = of_type && follows(behind).is_some_and(|next| !TRAILING.contains(&next.text))
            || pointer && follows(behind + 1).is_some()
            || at == 0 && head.get(behind..).is_some_and(|rest| is_function(rest, None));
        if !NO_NAMES.contains(&word.text) && !makes_type {
            return Some(at + 1);
        }
        // The name is inside: `void (*signal(int))(int)`.
        let inside = !makes_type && head.get(at + 2).is_some_and(|next| next.is("*") || next.is("&"));
        at = if inside { at + 2 } else { behind };
    }
    None
}

/// Returns the index of the `=` of an initializer.
pub(super) fn initializer(head: &[Token<'_>]) -> Option<usize> {
    if head.iter().any(|token| token.says("operator")) {
        return None;
    }
    let mut depth = 0_isize;
    head.iter().position(|token| {
        depth += isize::from(token.is("(") || token.is("[")) - isize::from(token.is(")") || token.is("]"));
        depth == 0 && token.is("=")
    })
}

/// Returns a type's name: the last word between `class` and its bases.
pub(super) fn type_name<'a>(head: &[Token<'a>]) -> Option<&'a str> {
    top_level(head)
        .skip_while(|token| !is_type(*token))
        .skip(1)
        .take_while(|token| !token.is(":") && !token.is("<"))
        .filter(|token| token.kind == Kind::Word && token.text != "final")
        .last()
        .map(|token| token.text)
}

/// Returns the text of a head, with one space wherever the source has any.
pub(super) fn text(head: &[Token<'_>]) -> String {
    let mut text = String::new();
    let mut end = None;
    for token in head {
        if end.is_some_and(|end| end < token.start) {
            text.push(' ');
        }
        text += token.text;
        end = Some(token.end);
    }
    text
}
