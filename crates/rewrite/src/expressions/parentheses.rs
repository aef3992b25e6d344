//! Parentheses around a value, without which something beside it would take a part of it.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::f_string::refuses_in_quotes;
use super::place::{Place, places};
use super::precedence::{Class, Expression};
use crate::{Language, MAX_TIME};

/// A value in parentheses.
pub(crate) struct Held {
    pub(crate) text: String,
    /// The value; none if it is several.
    pub(crate) value: Option<Expression>,
}

/// What becomes of a value that is put into a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Fits,
    NeedsParentheses,
    /// Nothing would help.
    Misfits,
}

/// Expression that was put into a text, and where.
pub(crate) type Put = (Range<usize>, Expression);

/// Code around a text, before and behind it.
type Wrapping = (&'static str, &'static str);

/// Returns a text in parentheses, if it is a value, or a type of TypeScript.
pub(crate) fn in_parentheses(language: Language, new: &str) -> Option<Held> {
    let new = new.trim();
    let held = |(before, behind): Wrapping, newline: &str| {
        let text = format!("({new}{newline})");
        let code = format!("{before}{text}{behind}");
        let tree = grammar::parse(&code, &language.grammar(), MAX_TIME)?;
        let (start, end) = (before.len(), before.len() + text.len());
        let whole = tree.root_node().named_descendant_for_byte_range(start, end)?;
        if tree.root_node().has_error() || whole.byte_range() != (start..end) {
            return None;
        }
        let mut cursor = whole.walk();
        let mut values = whole.named_children(&mut cursor).filter(|child| !child.is_extra());
        let value = values.next()?;
        let is_single = values.next().is_none() && whole.kind() != "tuple";
        Some(Held { value: is_single.then(|| Expression::new(value, &code)), text })
    };
    let contexts = [Some(around_value(language)), around_type(language)];
    contexts.into_iter().flatten().find_map(|context| {
        // Go would take the end of the line for that of the statement.
        held(context, "").or_else(|| held(context, "\n").filter(|_| language != Language::Go))
    })
}

fn around_value(language: Language) -> Wrapping {
    match language {
        Language::Python => ("_ = ", ""),
        Language::JavaScript | Language::TypeScript | Language::Tsx => ("let _ = ", ""),
        Language::Go => ("package p\nfunc f() { _ = ", " }"),
        Language::Rust => ("fn f() { let _ = ", "; }"),
        Language::Java => ("class A { Object a = ", "; }"),
    }
}

fn around_type(language: Language) -> Option<Wrapping> {
    match language {
        Language::TypeScript | Language::Tsx => Some(("type _ = ", ";")),
        Language::Go => Some(("package p\ntype _ ", "\n")),
        Language::Rust => Some(("type A = ", ";")),
        Language::Python | Language::JavaScript | Language::Java => None,
    }
}

/// Returns what makes a file of a part of something.
fn around_parts(language: Language) -> &'static [Wrapping] {
    match language {
        Language::Python => &[("_ = {", "}"), ("", "\ndef f(): pass"), ("f(", ")")],
        Language::JavaScript | Language::TypeScript | Language::Tsx => &[
            ("_ = { ", " }"),
            ("class A { ", " }"),
            ("switch (a) { ", "\n}"),
            ("interface A { ", " }"),
            ("function f(", ") {}"),
            ("_ = <A ", " />"),
            ("f(", ")"),
        ],
        Language::Go => &[("package p\nvar _ = A{ ", " }"), ("package p\nfunc f() { switch { ", "\n} }")],
        Language::Rust => &[
            ("fn f() { A { ", " }; }"),
            ("fn f() { match a { ", "\n} }"),
            ("struct A { ", " }"),
            ("impl A { ", " }"),
            ("fn f(", ") {}"),
        ],
        Language::Java => &[
            ("class A { ", "\n}"),
            ("class A { void f() { switch (a) { ", "\n} } }"),
            ("", " class A {}"),
            ("@interface A { ", " }"),
        ],
    }
}

/// Returns what becomes of some values in a text, which are in ascending order.
pub(crate) fn fates(language: Language, text: &str, values: &[Put]) -> Vec<Fate> {
    let in_function = match language {
        Language::Go => Some(("package p\nfunc f() { ", "\n}")),
        Language::Rust => Some(("fn f() { ", "\n}")),
        Language::Java => Some(("class A { void f() { ", "\n} }")),
        Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => None,
    };
    let has_type = values.iter().any(|(_, value)| value.class == Class::Type);
    let of_type = around_type(language).filter(|_| has_type);
    let contexts = [of_type, in_function, Some(("", "")), Some(around_value(language))];
    let contexts = contexts.into_iter().flatten().chain(around_parts(language).iter().copied());
    let mut trees = contexts.filter_map(|(before, behind)| {
        let code = format!("{before}{text}{behind}");
        let tree = grammar::parse(&code, &language.grammar(), MAX_TIME)?;
        (!tree.root_node().has_error()).then_some((before.len(), code, tree))
    });
    // What parentheses would not mend either is found in the file.
    let Some((start, code, tree)) = trees.next() else {
        return vec![Fate::NeedsParentheses; values.len()];
    };
    let ranges = values.iter().map(|(range, _)| start + range.start..start + range.end);
    let places = places(tree.root_node(), &code, ranges.clone().map(|range| (range.clone(), range)));
    let each = values.iter().zip(ranges.zip(&places));
    let fate_of = |((own, value), (range, place)): (&Put, (Range<usize>, &Place))| {
        let is_first = text[..own.start].trim().is_empty();
        let is_cut = value.class == Class::Block
            && is_first
            && !text[own.end..].trim_start_matches(';').trim().is_empty();
        if is_cut { Fate::NeedsParentheses } else { fate(language, (&tree, &code), value, (range, place)) }
    };
    each.map(fate_of).collect()
}

fn fate(
    language: Language,
    (tree, code): (&Tree, &str),
    value: &Expression,
    (range, place): (Range<usize>, &Place),
) -> Fate {
    if let Some(quote) = quote_around(language, tree, code, &range) {
        let own = &code[range.clone()];
        let is_format = value.kind == "lambda" || value.class == Class::Assignment;
        return match () {
            () if refuses_in_quotes(quote, own) || value.class == Class::Item => Fate::Misfits,
            () if is_format => Fate::NeedsParentheses,
            () => Fate::Fits,
        };
    }
    let (before, behind) = (&code[..range.start], &code[range.end..]);
    let joins = before.chars().next_back().zip(code[range.clone()].chars().next());
    if joins.is_some_and(|(before, first)| is_token(before, first)) {
        return Fate::NeedsParentheses;
    }
    let Some(frame) = &place.frame else { return Fate::Fits };
    let around = tree.root_node().descendant_for_byte_range(range.start, range.end);
    let is_text = around.is_some_and(|node| {
        node.byte_range() != range && node.child_count() == 0 || node.kind().contains("string")
    });
    if is_text && place.value.is_none() || frame.is_text() {
        return Fate::Fits;
    }
    let is_same = |now: &Expression| {
        now.class == Class::Closed && value.class == Class::Closed || now.kind == value.kind
    };
    match &place.value {
        Some(now) if is_same(now) && now.stands(language, &frame.slot, (before, behind)) => Fate::Fits,
        _ if value.class == Class::Item => Fate::Misfits,
        _ => Fate::NeedsParentheses,
    }
}

/// Returns the quote of the string of Python within whose braces a range is.
fn quote_around<'t>(language: Language, tree: &Tree, code: &'t str, range: &Range<usize>) -> Option<&'t str> {
    if language != Language::Python {
        return None;
    }
    let node = tree.root_node().descendant_for_byte_range(range.start, range.end);
    let braces = std::iter::successors(node, Node::parent).find(|node| node.kind() == "interpolation")?;
    let start = braces.parent()?.child(0).and_then(|start| code.get(start.byte_range()))?;
    Some(start.trim_start_matches(|sign: char| sign.is_alphabetic()))
}

/// Returns whether two signs are the beginning of a token in one of the languages, whatever the grammar makes of them.
pub(crate) fn is_token(before: char, behind: char) -> bool {
    before == behind && "+-*/&|<=".contains(before)
        || matches!((before, behind), ('/', '*') | ('<', '-') | ('&', '^') | ('-' | '=', '>'))
}
