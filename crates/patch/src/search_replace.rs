//! SEARCH/REPLACE blocks, which some models write in place of a diff.

/// Returns whether a text has blocks.
pub fn is_meant(text: &str) -> bool {
    text.lines().any(is_beginning)
}

/// Returns whether a line begins a block, which some models write with hyphens.
fn is_beginning(line: &str) -> bool {
    let has_hyphens = || line.trim_end().trim_start_matches('-') == " SEARCH" && line.starts_with("-------");
    line.starts_with("<<<<<<<") || has_hyphens()
}

/// Returns whether a line is between the old and the new text of a block.
fn is_middle(line: &str) -> bool {
    line.trim_end() == "======="
}

/// Returns whether a line ends a block.
fn is_end(line: &str) -> bool {
    line.starts_with(">>>>>>>") || line.starts_with("+++++++") && line.trim_start_matches('+') == " REPLACE"
}

/// Returns the old and the new text of each block, or `None` if a block has no end, or marks within it, so that it can be read in
/// several ways: seven equals signs also underline a title. Text between the blocks is ignored.
pub fn parse(text: &str) -> Option<Vec<(String, String)>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().map(|line| line.trim_end_matches('\r'));
    while let Some(line) = lines.next() {
        if !is_beginning(line) {
            continue;
        }
        let (mut old, mut new) = (String::new(), String::new());
        loop {
            match lines.next()? {
                line if is_middle(line) => break,
                line if is_beginning(line) || is_end(line) => return None,
                // Some write the place of the block above it.
                line if old.is_empty() && (line.starts_with(":start_line:") || line == "-------") => {}
                line => old = old + line + "\n",
            }
        }
        loop {
            match lines.next()? {
                line if is_end(line) => break,
                line if is_beginning(line) || is_middle(line) => return None,
                line => new = new + line + "\n",
            }
        }
        blocks.push((old, new));
    }
    Some(blocks)
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
    use super::{is_meant, named_files, parse};

    #[test]
    fn blocks_are_read() {
        let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        let text = "<<<<<<< SEARCH\n:start_line:3\n-------\na\n=======\nb\nc\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nd\n=======\n>>>>>>> REPLACE\n";
        assert_eq!(parse(text), Some(vec![pair("a\n", "b\nc\n"), pair("d\n", "")]));
        assert_eq!(parse("<<<<<<< SEARCH\na\n=======\n"), None);
        let hyphens = "------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n";
        assert!(is_meant(hyphens) && !is_meant("-------\n+++ b\n"));
        assert_eq!(parse(hyphens), Some(vec![pair("a\n", "b\n")]));
        assert_eq!(parse("nothing"), Some(vec![]));
        let title = "<<<<<<< SEARCH\nAbout\n=====\n=======\nAbout it\n========\n>>>>>>> REPLACE\n";
        assert_eq!(parse(title), Some(vec![pair("About\n=====\n", "About it\n========\n")]));
        let ambiguous =
            "<<<<<<< SEARCH\nSummary\n=======\na\n=======\nSummary\n=======\nb\n>>>>>>> REPLACE\n";
        assert_eq!(parse(ambiguous), None);
        assert_eq!(parse("<<<<<<< SEARCH\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> REPLACE\n"), None);
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
