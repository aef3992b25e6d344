//! Manifests that are programs: the parts of their text that are about dependencies.

use regex::Regex;

use super::table::{Comments, Part};

/// Returns a line with one space where there are several.
pub(super) fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text without comments; what is in quotes is none.
pub(super) fn without_comments(text: &str, comments: Comments) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut quote: Option<char> = None;
    while let Some(letter) = rest.chars().next() {
        let mut length = letter.len_utf8();
        match quote {
            Some(_) if letter == '\\' => {
                length += rest[length..].chars().next().map_or(0, char::len_utf8);
            }
            Some(open) if letter == open || letter == '\n' => quote = None,
            None if comments.quotes.contains(letter) => quote = Some(letter),
            None if comments.is_block && rest.starts_with("/*") => {
                rest = rest.split_once("*/").map_or("", |(_, behind)| behind);
                plain.push(' ');
                continue;
            }
            None if comments.lines.iter().any(|mark| rest.starts_with(mark)) => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            _ => {}
        }
        plain.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    plain
}

/// Returns the parts of a text that are of a kind, in one line each; `None` if they cannot be told.
pub(super) fn parts(text: &str, part: &Part) -> Option<Vec<String>> {
    Some(match part {
        Part::Line(pattern) => {
            let pattern = Regex::new(pattern).ok()?;
            joined(text).into_iter().filter(|line| pattern.is_match(line)).collect()
        }
        Part::Block(pattern) => {
            let pattern = Regex::new(pattern).ok()?;
            pattern.find_iter(text).flat_map(|found| lines_of(block(text, found.start()))).collect()
        }
        Part::Within(pattern, lines) => {
            let (pattern, lines) = (Regex::new(pattern).ok()?, Regex::new(lines).ok()?);
            let blocks = pattern.find_iter(text).map(|found| block(text, found.start()));
            blocks.flat_map(lines_of).filter(|line| lines.is_match(line)).collect()
        }
        Part::Name(pattern) => {
            let pattern = Regex::new(pattern).ok()?;
            pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
        }
    })
}

/// Returns the lines of a block, sorted by whoever compares them.
fn lines_of(block: &str) -> Vec<String> {
    let lines = block.lines().map(|line| plain(line).trim_end_matches([',', ')', ']', '}', ' ']).to_owned());
    lines.filter(|line| line.chars().any(char::is_alphanumeric)).collect()
}

/// Returns lines, each with those that follow where brackets or a comma at the end say so.
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines().map(plain).filter(|line| !line.is_empty()) {
        match lines.last_mut().filter(|_| is_open) {
            Some(last) => {
                last.push(' ');
                last.push_str(&line);
            }
            None => lines.push(line),
        }
        let last = lines.last().map_or("", String::as_str);
        let count = |letters: &[char]| last.matches(letters).count();
        is_open = last.ends_with([',', '\\']) || count(&['(', '[']) > count(&[')', ']']);
    }
    lines
}

/// Returns the text from a place to the end of the brackets that open there, or of the line if none do.
fn block(text: &str, start: usize) -> &str {
    let mut depth = 0_usize;
    for (index, letter) in text[start..].char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return &text[start..=start + index];
                }
            }
            '\n' if depth == 0 && !text[start..start + index].trim_end().ends_with(['=', ',']) => {
                return &text[start..start + index];
            }
            _ => {}
        }
    }
    &text[start..]
}
