//! Cells of tables for spreadsheets, which take a text that begins like a formula for one.

use crate::untrusted::visible;

/// Returns a row of CSV (RFC 4180) with its line end, which is one line: line breaks in a cell are written as `\n`. Every
/// cell is in quotes; one that a spreadsheet would compute begins with an apostrophe, and signs that nobody sees are shown
/// as their codes.
///
/// ```
/// use sanitize::csv::row;
///
/// assert_eq!(row(&["a \"b\"", "=HYPERLINK(\"x\")"]), "\"a \"\"b\"\"\",\"'=HYPERLINK(\"\"x\"\")\"\r\n");
/// ```
pub fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    cells.join(",") + "\r\n"
}

fn quoted(text: &str) -> String {
    if is_plain(text) {
        return format!("\"{text}\"");
    }
    let text = visible(&text.replace("\r\n", "\\n").replace(['\r', '\n'], "\\n"));
    format!("\"{}\"", neutral(&text).replace('"', "\"\""))
}

/// Returns whether a cell, like most, begins with a letter or a digit and has no sign that is written in another way.
fn is_plain(text: &str) -> bool {
    let is_sign = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'<');
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_sign)
}

/// Returns a cell that is not a formula.
fn neutral(text: &str) -> String {
    let first = text.trim_start().chars().next();
    let begins = text.starts_with('\t') || first.is_some_and(|sign| "=+-@|%＝＋－＠".contains(sign));
    if begins { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn formulas_and_separators_lose_their_effects() {
        for (text, cell) in [
            ("plain, text", "\"plain, text\""),
            ("=1+1", "\"'=1+1\""),
            (" =1+1", "\"' =1+1\""),
            ("+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""),
            ("-2", "\"'-2\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("＝1", "\"'＝1\""),
            ("\t=1", "\"'\t=1\""),
            ("a\r=1", "\"a\\n=1\""),
            ("\n=1", "\"\\n=1\""),
            ("a\r\n\"b", "\"a\\n\"\"b\""),
            ("x\",\"=1", "\"x\"\",\"\"=1\""),
            ("a\u{202e}b", "\"a⟨U+202E⟩b\""),
            ("a<!-- architect-ci", "\"a<! -- architect-ci\""),
            ("a\u{7f}b", "\"a⟨U+007F⟩b\""),
            ("", "\"\""),
        ] {
            assert_eq!(row(&[text]), format!("{cell}\r\n"), "{text:?}");
        }
    }
}
