//! Texts of tokens that are joined by blanks: their brackets, and what stands between signs.

/// Returns the name and the arguments of a call, if a text is nothing but that call.
pub(crate) fn outer_call(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_suffix(" )")?;
    let mut depth = 0_usize;
    let open = inner.rmatch_indices([')', '(']).find_map(|(at, sign)| match sign {
        ")" => {
            depth += 1;
            None
        }
        _ if depth == 0 => Some(at),
        _ => {
            depth -= 1;
            None
        }
    })?;
    let callee = inner[..open].trim_end();
    let is_name = !callee.is_empty() && !callee.contains([' ', '"', '\''])
        || callee.ends_with(|last: char| last.is_alphanumeric());
    (is_name && !callee.starts_with(['!', '-'])).then(|| (callee, inner[open + 1..].trim()))
}

/// Returns what is in a pair of brackets around a whole text.
pub(crate) fn inner(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("( ")?.strip_suffix(" )")?;
    let mut depth = 0_i32;
    let is_closed = inner.split(' ').all(|word| {
        depth += match word {
            "(" => 1,
            ")" => -1,
            _ => 0,
        };
        depth >= 0
    });
    is_closed.then_some(inner)
}

/// Splits a text of tokens at signs that are in no brackets and no strings.
pub(crate) fn split<'a>(text: &'a str, signs: &[&str]) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut depth, mut quote, mut start, mut at) = (0_usize, None, 0, 0);
    while let Some(letter) = text[at..].chars().next() {
        let mut next = at + letter.len_utf8();
        match (quote, letter) {
            (Some(_), '\\') => next += text[next..].chars().next().map_or(0, char::len_utf8),
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 => {
                if let Some(sign) = signs.iter().find(|sign| text[at..].starts_with(**sign)) {
                    parts.push(text[start..at].trim());
                    // The blank behind a sign may be the one before the next.
                    next = at + sign.len() - 1;
                    start = next;
                }
            }
            _ => {}
        }
        at = next;
    }
    parts.push(text[start..].trim());
    parts
}

/// Returns whether a text of tokens writes out an object with its members: `& Config { Size : 3 }`, `new Node ( 1 , 2 )`.
pub(crate) fn is_object(text: &str) -> bool {
    let bare = text.trim_start_matches("& ");
    let is_struct = || bare.ends_with('}') && bare.split_once(" {").is_some_and(|(name, _)| is_type(name));
    bare.starts_with("new ") || is_struct()
}

/// Returns whether a text is the name of a type, maybe with its path.
fn is_type(text: &str) -> bool {
    let last = text.rsplit([' ', ':', '.']).next().unwrap_or(text);
    last.starts_with(char::is_uppercase)
        && text.chars().all(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | ':' | '.' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_ignores_what_is_in_strings() {
        assert_eq!(split("a == \" == \"", &[" == "]), ["a", "\" == \""]);
        assert_eq!(split("\"\\\" == \"", &[" == "]), ["\"\\\" == \""]);
    }
}
