//! Names of JavaScript's tests, as a runner prints them.

use crate::syntax::At;

/// Returns the name that an expression comes to. What is known only when it runs is a placeholder, `${value}`; of a name that
/// is nothing else, the expression is returned.
pub(super) fn label(at: At<'_>) -> Option<String> {
    match at.kind() {
        "string" | "template_string" | "binary_expression" => {
            let mut name = String::new();
            let mut waiting = vec![at];
            while let Some(at) = waiting.pop() {
                let sides = at.field("left").zip(at.field("right"));
                match (at.kind(), sides) {
                    ("string" | "template_string", _) => name += &unquoted(at.text()),
                    ("binary_expression", Some((left, right))) => waiting.extend([right, left]),
                    ("parenthesized_expression", _) => waiting.extend(at.children()),
                    _ => name += "${value}",
                }
            }
            Some(name)
        }
        "identifier" => Some(at.text().to_owned()),
        _ => None,
    }
}

/// Returns what a literal says: without its quotes, and with what its escapes stand for.
fn unquoted(text: &str) -> String {
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    let mut plain = String::with_capacity(inner.len());
    let mut signs = inner.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            plain.push(sign);
            continue;
        }
        match signs.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('u') => plain.extend(code_point(&mut signs)),
            Some('x') => plain.extend(hexadecimal(signs.by_ref().take(2))),
            Some('\n') | None => {}
            Some(other) => plain.push(other),
        }
    }
    plain
}

/// Reads what follows `\u`: four digits, or some in braces.
fn code_point(signs: &mut std::str::Chars<'_>) -> Option<char> {
    if signs.as_str().starts_with('{') {
        return hexadecimal(signs.by_ref().skip(1).take_while(|sign| *sign != '}'));
    }
    hexadecimal(signs.by_ref().take(4))
}

fn hexadecimal(digits: impl Iterator<Item = char>) -> Option<char> {
    u32::from_str_radix(&digits.collect::<String>(), 16).ok().and_then(char::from_u32)
}
