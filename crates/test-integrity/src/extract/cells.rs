//! Values of the cases of a test, as the words that its body would say them with.

use super::rows;
use crate::syntax::At;

/// Longest table whose tokens are read, in bytes.
pub(super) const MAX_TABLE: usize = 100_000;

/// Returns the tokens of a table of cases: of a list, also by its name, or of what is put into a template.
pub(super) fn of_table(table: At<'_>) -> Vec<String> {
    let only = table.children().into_iter().next().filter(|_| table.kind() == "arguments");
    let table = rows::named(only.unwrap_or(table)).unwrap_or(table);
    if table.text().len() > MAX_TABLE {
        return Vec::new();
    }
    let words = if table.kind() == "template_string" {
        let parts = table.children().into_iter();
        parts.filter(|part| part.kind() == "template_substitution").flat_map(At::words).collect()
    } else {
        table.words()
    };
    words.into_iter().map(str::to_owned).collect()
}

/// Returns the values of the cases that an annotation holds; a row of text is split at its commas.
pub(super) fn of_annotation(annotation: At<'_>) -> Vec<String> {
    let is_csv = annotation.text().contains("CsvSource");
    let delimiter = annotation.text().split_once("delimiter").and_then(|(_, rest)| {
        let quoted = rest.split(['"', '\'']).nth(1)?;
        quoted.chars().next()
    });
    let mut cells = Vec::new();
    for word in annotation.words() {
        match word.strip_prefix('"') {
            Some(text) if is_csv => {
                let rows = text.trim_matches('"').lines();
                cells.extend(rows.flat_map(|row| of_row(row, delimiter.unwrap_or(','))));
            }
            _ => cells.push(word.to_owned()),
        }
    }
    cells
}

/// Returns the cells of a row of text, as literals.
fn of_row(row: &str, delimiter: char) -> Vec<String> {
    let mut is_quoted = false;
    let cells = row.split(|sign| {
        is_quoted ^= sign == '\'';
        sign == delimiter && !is_quoted
    });
    let literal = |cell: &str| {
        let is_bare = cell.parse::<f64>().is_ok() || matches!(cell, "true" | "false");
        if is_bare { cell.to_owned() } else { format!("\"{}\"", cell.trim_matches('\'')) }
    };
    cells.map(str::trim).filter(|cell| !cell.is_empty()).map(literal).collect()
}

#[cfg(test)]
mod tests {
    use super::of_row;

    #[test]
    fn rows_are_split_into_literals() {
        for (row, expected) in [
            ("DE89, true", &["\"DE89\"", "true"] as &[&str]),
            ("'a, b', 3.50", &["\"a, b\"", "3.50"]),
            ("'', false", &["\"\"", "false"]),
            ("  ", &[]),
        ] {
            assert_eq!(of_row(row, ','), expected, "{row}");
        }
    }
}
