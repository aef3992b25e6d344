//! Colours for lines that people read on a terminal.

use anstyle::{AnsiColor, Style};
use tracing::Level;

/// Colours each line by how it begins: with the mark of an outcome, or as a line of a patch.
pub fn painted(text: &str) -> String {
    let mut painted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let style = style(line);
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        painted += &format!("{style}{line}{style:#}{end}");
    }
    painted
}

fn style(line: &str) -> Style {
    let plain = Style::new();
    match line.chars().next() {
        Some('+' | '✓') => AnsiColor::Green.on_default(),
        Some('-' | '✗') => AnsiColor::Red.on_default(),
        Some('!') => AnsiColor::Yellow.on_default(),
        Some('─') => plain.bold(),
        Some('@') if line.starts_with("@@ ") => AnsiColor::Cyan.on_default(),
        _ => plain,
    }
}

/// Returns the style of log lines of a level.
pub(super) fn of_level(level: Level) -> Style {
    match level {
        Level::ERROR => AnsiColor::Red.on_default(),
        Level::WARN => AnsiColor::Yellow.on_default(),
        Level::INFO => Style::new(),
        _ => Style::new().dimmed(),
    }
}

#[cfg(test)]
mod tests {
    use super::painted;

    #[test]
    fn lines_are_painted_one_by_one_and_keep_their_text() {
        let text = "── a.rs (+1 −1)\n@@ -1 +1 @@\n-old\n+new\n same\n\n✗ gate failed";
        let painted = painted(text);
        assert!(painted.contains("\u{1b}[31m-old\u{1b}[0m\n"), "{painted:?}");
        assert!(painted.contains("\u{1b}[32m+new\u{1b}[0m\n same\n\n"), "{painted:?}");
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), text);
    }
}
