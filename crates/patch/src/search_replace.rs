//! SEARCH/REPLACE blocks, which some models write in place of a diff.

/// Returns whether a text has blocks.
pub fn is_meant(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("<<<<<<<") || is_start(line))
}

/// Returns whether a line begins a block with hyphens, as some models write it.
fn is_start(line: &str) -> bool {
    line.trim_end().trim_start_matches('-') == " SEARCH" && line.starts_with("-------")
}

/// Returns whether a line ends a block.
fn is_end(line: &str) -> bool {
    line.starts_with(">>>>>>>") || line.starts_with("+++++++") && line.trim_start_matches('+') == " REPLACE"
}

/// Returns the old and the new text of each block, or `None` if a block has no end. Text between the blocks is ignored.
pub fn parse(text: &str) -> Option<Vec<(String, String)>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("<<<<<<<") && !is_start(line) {
            continue;
        }
        let (mut old, mut new) = (String::new(), String::new());
        loop {
            match lines.next()?.trim_end_matches('\r') {
                line if line.starts_with("=======") => break,
                // Some write the place of the block above it.
                line if old.is_empty() && (line.starts_with(":start_line:") || line == "-------") => {}
                line => old = old + line + "\n",
            }
        }
        loop {
            match lines.next()?.trim_end_matches('\r') {
                line if is_end(line) => break,
                line => new = new + line + "\n",
            }
        }
        blocks.push((old, new));
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::{is_meant, parse};

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
    }
}
