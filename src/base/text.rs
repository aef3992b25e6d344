//! Texts, and bytes as text.

/// Returns a number with a comma between groups of three digits: `12,345`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number and its noun, in the plural unless the number is 1: `1 file`, `2,509 files`. `plural` is the
/// ending of the plural.
pub(crate) fn counted(number: usize, noun: &str, plural: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { plural })
}

/// Returns the text within a fence of backticks around the whole, or the text itself. In a fence of several lines, the rest of the
/// first one is the name of a language; in one of a single line, only `json` is.
pub(crate) fn without_fence(text: &str) -> &str {
    let inner = || {
        let inner = text.strip_prefix("```")?;
        let inner = match inner.split_once('\n') {
            Some((_, inner)) => inner,
            None => inner.strip_prefix("json").unwrap_or(inner),
        };
        Some(inner.trim_end().strip_suffix("```")?.trim())
    };
    inner().unwrap_or(text)
}

/// Serializes a value as JSON the way that files have it: indented, with a newline at the end.
pub(crate) fn pretty_json(value: &impl serde::Serialize) -> std::io::Result<String> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

/// Returns the beginning of a text, at most `max` characters.
pub(crate) fn first_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// Returns a text of at most `max` characters as it is, and a longer one as its beginning with an ellipsis. If the text is masked
/// later, the masker finds the beginning of a secret by that mark, where the cut has taken its end.
pub(crate) fn shortened(text: &str, max: usize) -> String {
    let start = first_chars(text, max);
    if start.len() < text.len() { format!("{}…", start.trim_end()) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let shown: Vec<String> = [0, 999, 1_000, 12_345, 1_234_567].into_iter().map(grouped).collect();
        assert_eq!(shown, ["0", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!([counted(1, "match", "es"), counted(0, "file", "s")], ["1 match", "0 files"]);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!([first_chars("äöü", 2), first_chars("äöü", 3)], ["äö", "äöü"]);
        assert_eq!([shortened("äö ü", 3), shortened("äö ü", 4)], ["äö…", "äö ü"]);
    }
}
