//! Words of a test that name something outside of it.

use std::collections::BTreeMap;

/// Returns the words of a test without the names of its own variables and functions, except where those words name something
/// else: `total` in `let total = shop.total()` is the method.
pub(crate) fn outer_words(words: &[String]) -> Vec<String> {
    let at = |index: Option<usize>| index.and_then(|index| words.get(index)).map_or("", String::as_str);
    let around = |index: usize| (at(index.checked_sub(1)), at(Some(index + 1)));
    let mut own: BTreeMap<&str, bool> = BTreeMap::new();
    for (index, word) in words.iter().enumerate() {
        let (before, behind) = around(index);
        let is_function = matches!(before, "def" | "fn" | "function" | "func" | "class");
        if is_function || is_variable(before, behind) {
            *own.entry(word.as_str()).or_default() |= is_function;
        }
    }
    let is_outer = |(index, word): &(usize, &String)| {
        let (before, behind) = around(*index);
        let is_called = behind == "(" && !matches!(before, "def" | "fn" | "function" | "func");
        match own.get(word.as_str()) {
            None => true,
            Some(_) if matches!(before, "." | "?." | "::" | "->") => true,
            Some(is_function) => !is_function && is_called,
        }
    };
    words.iter().enumerate().filter(is_outer).map(|(_, word)| word.clone()).collect()
}

/// Returns whether a word between two others is a variable that is declared or assigned.
fn is_variable(before: &str, behind: &str) -> bool {
    match before {
        "let" | "const" | "var" | "mut" | "static" => !matches!(behind, "::" | "(" | "{" | "<"),
        "for" => matches!(behind, "in" | "of" | ","),
        // Arguments by name, and what belongs to something else.
        "(" | "," | "." | "?." | "::" | "->" => behind == ":=",
        _ => matches!(behind, "=" | ":="),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_own_variables_name_nothing_else() {
        for (text, word, expected) in [
            ("let vat = 1 ; assert ( vat )", "vat", false),
            ("let mut vat = 1 ;", "vat", false),
            ("let vat = shop . vat ( ) ;", "vat", true),
            ("let vat = vat ( 1 ) ;", "vat", true),
            ("vat = 1 assert vat == 1", "vat", false),
            ("price ( vat = 1 )", "vat", true),
            ("assert vat == 1", "vat", true),
            ("def vat ( ) : return 1 assert vat ( )", "vat", false),
            ("for vat in [ 1 ] : assert vat", "vat", false),
            ("vat := 1", "vat", false),
            ("if let Vat :: Low ( n ) = f ( )", "Vat", true),
            ("const vat = trs :: vat ;", "vat", true),
        ] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            assert_eq!(outer_words(&words).iter().any(|found| found == word), expected, "{text}");
        }
    }
}
