//! SEARCH/REPLACE blocks, which some models write in place of a diff.

/// Returns whether a text has blocks.
pub fn is_meant(text: &str) -> bool {
    text.lines().any(is_beginning)
}

/// Fewest signs of a mark that has its word behind it; without one, it has seven.
const MIN_SIGNS: usize = 5;
/// Number of signs of a mark as it is written by rule.
const SIGNS: usize = 7;

/// Block of old text, and of new text to put in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The lines to find, each with its end.
    pub old: String,
    /// The lines to put in their place, each with its end.
    pub new: String,
    /// The line of the file at which the old text is said to begin.
    pub line: Option<usize>,
}

/// Returns how many times a sign stands at the start of a line, and what is behind it.
fn signs(line: &str, sign: char) -> (usize, &str) {
    let rest = line.trim_start_matches(sign);
    (line.len() - rest.len(), rest.trim())
}

/// Returns how many signs begin a block in a line that does. Some models write hyphens.
fn beginning(line: &str) -> Option<usize> {
    let (count, word) = signs(line, '<');
    let (hyphens, word_behind) = signs(line, '-');
    if count >= SIGNS || count >= MIN_SIGNS && word == "SEARCH" {
        return Some(count);
    }
    (hyphens >= MIN_SIGNS && word_behind == "SEARCH").then_some(SIGNS)
}

fn is_beginning(line: &str) -> bool {
    beginning(line).is_some()
}

/// Returns whether a line is between the old and the new text of a block that begins with so many signs.
fn is_middle(line: &str, count: usize) -> bool {
    let (signs, rest) = signs(line, '=');
    rest.is_empty() && (signs == SIGNS || signs == count)
}

/// Returns whether a line ends a block.
fn is_end(line: &str) -> bool {
    let (count, word) = signs(line, '>');
    let (pluses, word_behind) = signs(line, '+');
    count >= SIGNS
        || count >= MIN_SIGNS && word == "REPLACE"
        || pluses >= MIN_SIGNS && word_behind == "REPLACE"
}

/// Returns a line of a text that the marks of blocks are escaped in by a backslash.
fn unescaped(line: &str) -> &str {
    let escaped = line.strip_prefix('\\');
    escaped.filter(|line| is_beginning(line) || is_middle(line, SIGNS) || is_end(line)).unwrap_or(line)
}

/// Returns the blocks of a text, or `None` if a block has no end, or marks within it, so that it can be read in several ways: seven
/// equals signs also underline a title. Text between the blocks is ignored.
pub fn parse(text: &str) -> Option<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().map(|line| line.trim_end_matches('\r')).peekable();
    while let Some(line) = lines.next() {
        let Some(count) = beginning(line) else { continue };
        let mut block = Block { old: String::new(), new: String::new(), line: None };
        // Some write the place of the block above it, and a rule below the place.
        let mut has_place = false;
        while let Some((name, value)) = lines.peek().and_then(|line| place(line)) {
            has_place = true;
            if name == "start_line" {
                block.line = value;
            }
            lines.next();
        }
        if has_place {
            lines.next_if(|line| line.trim_end() == "-------");
        }
        loop {
            match lines.next()? {
                line if is_middle(line, count) => break,
                line if is_beginning(line) || is_end(line) => return None,
                line => block.old = block.old + unescaped(line) + "\n",
            }
        }
        loop {
            match lines.next()? {
                line if is_end(line) => break,
                line if is_beginning(line) || is_middle(line, count) => return None,
                line => block.new = block.new + unescaped(line) + "\n",
            }
        }
        blocks.push(block);
    }
    Some(blocks)
}

/// Returns the name and the number in a line such as `:start_line:12`.
fn place(line: &str) -> Option<(&str, Option<usize>)> {
    let (name, value) = line.trim().strip_prefix(':')?.split_once(':')?;
    matches!(name, "start_line" | "end_line").then(|| (name, value.trim().parse().ok()))
}

/// Most files of which it is told that a text names them.
const MAX_NAMED: usize = 5;

/// Returns the first files that a text names above its blocks, each once: lines that are nothing but a path.
pub fn named_files(text: &str) -> Vec<&str> {
    let mut files = Vec::new();
    let mut is_within = false;
    for line in text.lines() {
        is_within = (is_within || is_beginning(line)) && !is_end(line);
        let name = line.trim().trim_matches(['`', '*', '#', ':', ' ']);
        let is_path = name.contains(['.', '/'])
            && !name.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>'))
            && name.contains(char::is_alphanumeric);
        if !is_within && !is_end(line) && is_path && files.len() < MAX_NAMED && !files.contains(&name) {
            files.push(name);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{Block, is_meant, named_files, parse};

    fn block(old: &str, new: &str, line: Option<usize>) -> Block {
        Block { old: old.to_owned(), new: new.to_owned(), line }
    }

    #[test]
    fn blocks_are_read() {
        let one = |old: &str, new: &str| Some(vec![block(old, new, None)]);
        for (text, expected) in [
            (
                "<<<<<<< SEARCH\n:start_line:3\n-------\na\n=======\nb\nc\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nd\n=======\n>>>>>>> REPLACE\n",
                Some(vec![block("a\n", "b\nc\n", Some(3)), block("d\n", "", None)]),
            ),
            (
                "<<<<<<< SEARCH\n:start_line: 3\n:end_line: 4\n-------\na\n=======\nb\n>>>>>>> REPLACE\n",
                Some(vec![block("a\n", "b\n", Some(3))]),
            ),
            ("<<<<<<< SEARCH\na\n=======\n", None),
            ("------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n", one("a\n", "b\n")),
            ("nothing", Some(vec![])),
            // More and fewer signs.
            ("<<<<< SEARCH\na\n=====\nb\n>>>>> REPLACE\n", one("a\n", "b\n")),
            ("<<<<<<<< SEARCH\na\n========\nb\n>>>>>>>> REPLACE\n", one("a\n", "b\n")),
            ("<<<<<< SEARCH\na\n=======\nb\n>>>>>> REPLACE\n", one("a\n", "b\n")),
            ("<<<<< x\na\n", Some(vec![])),
            // Titles, rules, and marks within a text.
            (
                "<<<<<<< SEARCH\nAbout\n=====\n=======\nAbout it\n========\n>>>>>>> REPLACE\n",
                one("About\n=====\n", "About it\n========\n"),
            ),
            ("<<<<<<< SEARCH\n-------\na\n=======\nb\n>>>>>>> REPLACE\n", one("-------\na\n", "b\n")),
            ("<<<<<<< SEARCH\nSummary\n=======\na\n=======\nSummary\n=======\nb\n>>>>>>> REPLACE\n", None),
            (
                "<<<<<<< SEARCH\nSummary\n\\=======\n=======\n\\<<<<<<< HEAD\n>>>>>>> REPLACE\n",
                one("Summary\n=======\n", "<<<<<<< HEAD\n"),
            ),
            ("<<<<<<< SEARCH\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> REPLACE\n", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert!(is_meant("------- SEARCH\n") && !is_meant("-------\n+++ b\n"));
    }

    #[test]
    fn files_are_named_above_blocks() {
        let block = "<<<<<<< SEARCH\na.py\n=======\nb/c\n>>>>>>> REPLACE\n";
        for (text, expected) in [
            (block.to_owned(), vec![]),
            (format!("src/a.py\n{block}\n`src/b.py`\n```python\n{block}```\n"), vec!["src/a.py", "src/b.py"]),
            (format!("Now change it:\n\n**src/a.py**\n{block}src/a.py\n{block}"), vec!["src/a.py"]),
        ] {
            assert_eq!(named_files(&text), expected, "{text}");
        }
    }
}
