//! Text of TypeScript that its grammar does not take: members of a type that begin with a bracket and have no `;` before them, and
//! `export type *`.

use std::time::Duration;

use crate::{Language, parse};

/// Returns whether all that the grammar finds wrong in a text is what TypeScript takes. `max_time` limits each further look.
///
/// ```
/// use std::time::Duration;
///
/// use grammar::Language;
///
/// let errs_there_alone =
///     |text: &str| grammar::errs_in_type_members_alone(text, Language::TypeScript, Duration::from_secs(10));
/// assert!(errs_there_alone("type A = {\n  (): void\n  <T>(a: T): T\n}\n"));
/// assert!(errs_there_alone("export type * as A from './a'\n"));
/// assert!(!errs_there_alone("type A = {\n  (): void\n  <T>(a: T: T\n}\n"));
/// ```
pub fn errs_in_type_members_alone(text: &str, language: Language, max_time: Duration) -> bool {
    const EXPORT: &str = "export type *";
    let readable = text.replace(EXPORT, &format!("export{}*", " ".repeat(EXPORT.len() - "export*".len())));
    let parsed = |ends: &[usize]| parse(&with_semicolons(&readable, ends), &language.grammar(), max_time);
    let ends = open_ends(&readable);
    let Some(tree) = parsed(&ends) else { return false };
    // Elsewhere, a `;` may end what must go on.
    let is_of_type = |at: usize| {
        let mark = tree.root_node().descendant_for_byte_range(at, at + 1);
        let around = mark.filter(|mark| mark.kind() == ";").and_then(|mark| mark.parent());
        around.is_some_and(|around| matches!(around.kind(), "object_type" | "interface_body"))
    };
    let added = ends.iter().enumerate().filter(|(before, at)| is_of_type(*at + before));
    let of_types: Vec<usize> = added.map(|(_, at)| *at).collect();
    if of_types.is_empty() && readable == text {
        return false;
    }
    let is_clean = |tree: &tree_sitter::Tree| !tree.root_node().has_error();
    is_clean(&tree) && of_types.len() == ends.len() || parsed(&of_types).as_ref().is_some_and(is_clean)
}

/// Returns where each line ends that may be a member before one which begins with a bracket.
fn open_ends(text: &str) -> Vec<usize> {
    let (mut ends, mut at, mut last) = (Vec::new(), 0, None::<usize>);
    for line in text.split_inclusive('\n') {
        let is_open = |end: &usize| {
            !text[..*end].ends_with(['{', '(', '[', '<', ',', ';', '|', '&', '=', ':', '?'])
                && !text[..*end].ends_with("=>")
        };
        if line.trim_start().starts_with(['(', '<', '[']) {
            ends.extend(last.filter(is_open));
        }
        if !line.trim().is_empty() {
            last = Some(at + line.trim_end().len());
        }
        at += line.len();
    }
    ends
}

fn with_semicolons(text: &str, ends: &[usize]) -> String {
    let (mut made, mut copied) = (String::with_capacity(text.len() + ends.len()), 0);
    for end in ends {
        made += &text[copied..*end];
        made.push(';');
        copied = *end;
    }
    made + &text[copied..]
}
