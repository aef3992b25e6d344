//! Option syntax: how options are written on command lines.

use super::analysis::Word;

/// Returns whether a list of names, separated by spaces, contains one.
pub(super) fn is_in(list: &str, name: &str) -> bool {
    !name.is_empty() && list.split(' ').any(|item| item == name)
}

/// Returns whether a word is the option: as it is, with a value after `=`, in a cluster of short options, or
/// abbreviated.
pub(super) fn is_option(word: &str, option: &str) -> bool {
    if word == option {
        return true;
    }
    let name = word.split('=').next().unwrap_or(word);
    if let Some(long) = option.strip_prefix("--") {
        // GNU programs accept the beginning of a long option for the whole.
        return name.strip_prefix("--").is_some_and(|name| !name.is_empty() && long.starts_with(name));
    }
    let letter = option.strip_prefix('-').filter(|letter| letter.chars().count() == 1);
    match letter {
        Some(letter) => {
            word.starts_with('-')
                && !word.starts_with("--")
                && word[1..].contains(letter)
                && !word[1..].starts_with(|c: char| c.is_ascii_digit())
        }
        None => name == option || name.strip_prefix('-').is_some_and(|name| name == option),
    }
}

/// Returns what is left of `arguments` after leading options; those in `values` take the next word.
pub(super) fn after_leading<'a>(arguments: &'a [Word], values: &str) -> &'a [Word] {
    let mut rest = arguments;
    while let Some(text) = rest.first().and_then(Word::text).filter(|text| text.starts_with('-')) {
        if text == "--" {
            return &rest[1..];
        }
        let taken = if is_in(values, text) { 2 } else { 1 };
        rest = rest.get(taken..).unwrap_or_default();
    }
    rest
}

/// Returns the words that are neither options nor values of the options in `values`.
pub(super) fn operands<'a>(arguments: &'a [Word], values: &str) -> Vec<&'a Word> {
    let mut found = Vec::new();
    let (mut at, mut options) = (0, true);
    while let Some(word) = arguments.get(at) {
        at += 1;
        match word.text().filter(|text| options && text.starts_with('-') && *text != "-") {
            Some("--") => options = false,
            Some(text) if is_in(values, text) => at += 1,
            Some(_) => {}
            None => found.push(word),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_in_every_spelling() {
        for (word, option, expected) in [
            ("-o", "-o", true),
            ("-no", "-o", true),
            ("-5o", "-o", false),
            ("--output=x", "--output", true),
            ("--ou", "--output", true),
            ("--co=x", "--compress-program", true),
            ("--", "--output", false),
            ("--other", "--output", false),
            ("-exec", "-exec", true),
            ("--exec", "-exec", true),
            ("o", "-o", false),
        ] {
            assert_eq!(is_option(word, option), expected, "{word} as {option}");
        }
    }

    #[test]
    fn operands_are_what_options_leave() {
        let words = ["-C", "dir", "--quiet", "push", "--", "-x"].map(Word::known);
        let texts =
            |words: Vec<&Word>| words.iter().filter_map(|word| word.text()).collect::<Vec<_>>().join(" ");
        assert_eq!(texts(operands(&words, "-C")), "push -x");
        assert_eq!(texts(operands(&words, "")), "dir push -x");
        assert_eq!(after_leading(&words, "-C")[0].text(), Some("push"));
        assert!(after_leading(&words[..1], "-C").is_empty());
    }
}
