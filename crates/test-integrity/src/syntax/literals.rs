//! Literals in texts of tokens: what is made of them alone, what is empty, and what stands between quotes.

/// Returns what is between the quotes of a text.
pub(crate) fn literals(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(['"', '\''])?;
        let quote = rest[start..].chars().next()?;
        let inside = &rest[start + 1..];
        let mut escaped = false;
        let end = inside.find(|letter| {
            let ends = letter == quote && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        })?;
        rest = &inside[end + 1..];
        Some(&inside[..end])
    })
}

/// Returns whether a text is made of literals alone, so that no program has a part in it.
pub(crate) fn is_pure(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "true",
        "false",
        "True",
        "False",
        "None",
        "null",
        "nil",
        "undefined",
        "Ok",
        "Some",
        "Err",
        "not",
        "and",
        "or",
    ];
    let bare = without_strings(text);
    let mut words = bare.split_whitespace().peekable();
    if words.peek().is_none() {
        return !text.trim().is_empty();
    }
    while let Some(word) = words.next() {
        let is_name = word.starts_with(|first: char| first.is_alphabetic() || first == '_' || first == '$');
        let is_key = words.peek() == Some(&":");
        if is_name && !WORDS.contains(&word) && !is_key || matches!(word, "=>" | "->" | "?") {
            return false;
        }
    }
    true
}

/// Returns a text without its strings, but for those that hold values of their own.
pub(crate) fn without_strings(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut quote: Option<char> = None;
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match quote {
            Some(_) if sign == '\\' => {
                signs.next();
            }
            Some(open) if sign == open => quote = None,
            // What is put into a string is no literal.
            Some(_) if sign == '{' => plain.push_str(" _ "),
            Some(_) => {}
            None if matches!(sign, '"' | '\'' | '`') => quote = Some(sign),
            None => plain.push(sign),
        }
    }
    plain
}

/// Returns whether a text of tokens is that of a collection in which nothing is, whatever the program does.
pub(crate) fn is_empty(text: &str) -> bool {
    const EMPTY: &[&str] = &[
        "[ ]",
        "\"\"",
        "''",
        "``",
        "( )",
        "{ }",
        "vec ! [ ]",
        "list ( )",
        "dict ( )",
        "set ( )",
        "tuple ( )",
        "new Array ( )",
        "Array ( )",
        "new Set ( )",
        "new Map ( )",
        "List . of ( )",
        "Set . of ( )",
        "Map . of ( )",
        "Stream . empty ( )",
        "Stream . of ( )",
        "Collections . emptyList ( )",
        "Vec :: new ( )",
        "new ArrayList <> ( )",
        "nil",
    ];
    const ENDS: &[&str] = &[
        " { }",
        " [ : 0 ]",
        "[ : 0 ]",
        " . slice ( 0 , 0 )",
        " . take ( 0 )",
        " . limit ( 0 )",
        " if False ]",
        " if False )",
        "; 0 ]",
        " . filter ( ( ) => false )",
        " [ 0 : 0 ]",
        " [ .. 0 ]",
    ];
    const VIEWS: &[&str] = &[
        " . items ( )",
        " . values ( )",
        " . keys ( )",
        " . entries ( )",
        " . iter ( )",
        " . into_iter ( )",
        " . stream ( )",
        " . chars ( )",
    ];
    const AROUND: &[&str] = &[
        "iter (",
        "list (",
        "tuple (",
        "set (",
        "sorted (",
        "reversed (",
        "enumerate (",
        "Object . keys (",
        "Object . values (",
        "Object . entries (",
        "Array . from (",
    ];
    let mut text = text.trim();
    while !EMPTY.contains(&text) {
        let inner = VIEWS.iter().find_map(|view| text.strip_suffix(view)).or_else(|| {
            let inner = AROUND.iter().find_map(|start| text.strip_prefix(start))?;
            inner.strip_suffix(" )").filter(|inner| !inner.contains(','))
        });
        match inner.or_else(|| text.strip_prefix("& ")) {
            Some(inner) => text = inner.trim(),
            None => break,
        }
    }
    EMPTY.contains(&text)
        || ENDS.iter().any(|end| text.ends_with(end))
        || text.starts_with("Vec ::") && text.ends_with(":: new ( )")
        || text.starts_with("new ") && text.ends_with(" [ 0 ]")
        || is_empty_range(text)
}

/// Returns whether a text is that of a range whose end is not above its start.
fn is_empty_range(text: &str) -> bool {
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let given = text.strip_prefix("range (").and_then(|rest| rest.strip_suffix(')'));
    let bounds = match given {
        Some(given) => match given.split(',').collect::<Vec<_>>().as_slice() {
            [end] => Some((Some(0), number(end))),
            [start, end] => Some((number(start), number(end))),
            _ => None,
        },
        None => text.split_once(" .. ").map(|(start, end)| (number(start), number(end))),
    };
    matches!(bounds, Some((Some(start), Some(end))) if end <= start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_without_items_are_known() {
        for (text, expected) in [
            ("[ ]", true),
            ("iter ( [ ] )", true),
            ("list ( )", true),
            ("{ } . items ( )", true),
            ("PRICES [ : 0 ]", true),
            ("range ( 1 , 0 )", true),
            ("range ( 0 , 3 )", false),
            ("0 .. 0", true),
            ("0 .. n", false),
            ("Object . keys ( { } )", true),
            ("[ 1 , 2 ] . slice ( 0 , 0 )", true),
            ("[ 1 ]", false),
            ("prices", false),
        ] {
            assert_eq!(is_empty(text), expected, "{text}");
        }
    }

    #[test]
    fn literals_are_pure() {
        for (text, expected) in [
            ("3", true),
            ("{ \"tea\" : 3 }", true),
            ("{ tea : 3 }", true),
            ("[ 1 , - 2 ]", true),
            ("\"a ( b\"", true),
            ("f\"{x}\"", false),
            ("Ok ( 3 )", true),
            ("total ( 1 )", false),
            ("name", false),
            ("( ) => 3", false),
            ("", false),
        ] {
            assert_eq!(is_pure(text), expected, "{text}");
        }
    }
}
