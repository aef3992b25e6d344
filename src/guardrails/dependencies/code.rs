//! Manifests that are programs: the parts of their code that are about dependencies.

use std::ops::Range;

use regex::Regex;

use super::ecosystem::Part;
use super::languages::Source;

/// Returns a line with one space where there are several.
pub(super) fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the parts of a program that are of some kinds, each in one line; `None` if they cannot be told.
pub(super) fn parts(source: &Source, parts: &[Part]) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for part in parts {
        match part {
            Part::Line(pattern) => {
                let pattern = Regex::new(pattern).ok()?;
                let lines = lines(source).into_iter().filter(|(bare, _)| pattern.is_match(bare));
                found.extend(lines.map(|(_, line)| line));
            }
            Part::Block(pattern) => {
                found.extend(blocks(source, pattern, 0..source.bare.len())?.into_iter().flat_map(lines_of));
            }
            Part::Within(pattern, lines) => {
                let lines = Regex::new(lines).ok()?;
                let blocks = blocks(source, pattern, 0..source.bare.len())?;
                found.extend(blocks.into_iter().flat_map(lines_of).filter(|line| lines.is_match(line)));
            }
            Part::Function(pattern, block) => {
                for function in Regex::new(pattern).ok()?.find_iter(&source.bare) {
                    let range = function_at(&source.bare, function.start());
                    found.extend(blocks(source, block, range)?.into_iter().flat_map(lines_of));
                }
            }
            Part::Name(pattern) => {
                let pattern = Regex::new(pattern).ok()?;
                let names = pattern.captures_iter(&source.text);
                let names = names.filter(|name| name.get(0).is_some_and(|all| source.is_code(all.start())));
                found.extend(names.map(|name| name[1].to_owned()));
            }
            Part::Used(pattern) => {
                let pattern = Regex::new(pattern).ok()?;
                let used = |line: &str| {
                    let name = pattern.captures(line)?.get(1)?.as_str();
                    let name = Regex::new(&format!(r"\b{}\b", regex::escape(name))).ok()?;
                    found.iter().any(|part| name.is_match(part)).then_some(())
                };
                let used: Vec<String> = lines(source)
                    .into_iter()
                    .map(|(_, line)| line)
                    .filter(|line| used(line).is_some())
                    .collect();
                found.extend(used);
            }
        }
    }
    found.sort();
    found.dedup();
    Some(found)
}

/// Returns the blocks that begin as a pattern says.
fn blocks<'s>(source: &'s Source, pattern: &str, within: Range<usize>) -> Option<Vec<&'s str>> {
    let pattern = Regex::new(pattern).ok()?;
    let found = pattern.find_iter(&source.bare).filter(|found| within.contains(&found.start()));
    Some(found.map(|found| &source.text[block(&source.bare, found.start())]).collect())
}

/// Returns the lines of a block, sorted by whoever compares them.
fn lines_of(block: &str) -> Vec<String> {
    let lines = block.lines().map(|line| plain(line).trim_end_matches([',', ')', ']', '}', ' ']).to_owned());
    lines.filter(|line| line.chars().any(char::is_alphanumeric)).collect()
}

/// Returns lines, without what is in quotes and with it, each with those that follow where brackets or a comma at the end say so.
fn lines(source: &Source) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let (mut at, mut is_open) = (0, false);
    for line in source.bare.split_inclusive('\n') {
        let (bare, text) = (plain(line), plain(&source.text[at..at + line.len()]));
        at += line.len();
        if bare.is_empty() {
            continue;
        }
        match lines.last_mut().filter(|_| is_open) {
            Some((last, last_text)) => {
                *last = format!("{last} {bare}");
                *last_text = format!("{last_text} {text}");
            }
            None => lines.push((bare, text)),
        }
        let last = lines.last().map_or("", |(bare, _)| bare.as_str());
        let count = |letters: &[char]| last.matches(letters).count();
        is_open = last.ends_with([',', '\\']) || count(&['(', '[']) > count(&[')', ']']);
    }
    lines
}

/// Returns the range from a place to the end of the brackets that open there, or of the line if none do.
pub(super) fn block(text: &str, start: usize) -> Range<usize> {
    let mut depth = 0_usize;
    for (index, letter) in text[start..].char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return start..start + index + 1;
                }
            }
            '\n' if depth == 0 && !text[start..start + index].trim_end().ends_with(['=', ',']) => {
                return start..start + index;
            }
            _ => {}
        }
    }
    start..text.len()
}

/// Returns the range of a function: the line in which it begins, and those below that are further to the right.
fn function_at(text: &str, start: usize) -> Range<usize> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let own = indentation(&text[line..]);
    let mut lines = text[line..].split_inclusive('\n');
    let first = lines.next().map_or(0, str::len);
    let inner = lines.take_while(|line| line.trim().is_empty() || indentation(line) > own);
    line..line + first + inner.map(str::len).sum::<usize>()
}
