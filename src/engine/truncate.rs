//! Truncation of long results in the middle: errors tend to be at the head or at the tail.

/// Average number of characters per token, in code and English.
pub(crate) const CHARS_PER_TOKEN: usize = 4;

/// Returns the text, shortened to about `max_tokens` if it is longer: head and tail, cut at line ends where
/// possible, with a line between them that says how much is missing.
pub(crate) fn truncate_middle(text: &str, max_tokens: usize) -> String {
    let limit = max_tokens.saturating_mul(CHARS_PER_TOKEN);
    if text.len() <= limit {
        return text.to_owned();
    }
    // The head gets two thirds, because it shows what this is.
    let head = &text[..text.floor_char_boundary(limit * 2 / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit / 3)..];
    let head = head.rfind('\n').filter(|end| *end > head.len() / 2).map_or(head, |end| &head[..=end]);
    let tail =
        tail.find('\n').filter(|start| *start < tail.len() / 2).map_or(tail, |start| &tail[start + 1..]);
    let missing = &text[head.len()..text.len() - tail.len()];
    let lines = missing.matches('\n').count();
    format!("{head}\n… {lines} lines ({} bytes) omitted; request a smaller part …\n{tail}", missing.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_stay_and_long_ones_keep_both_ends() {
        assert_eq!(truncate_middle("short", 10), "short");
        let long: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
        let cut = truncate_middle(&long, 100);
        assert!(cut.starts_with("line 0\n") && cut.ends_with("line 999\n"), "{cut}");
        assert!(cut.contains("omitted") && cut.len() < 500, "{}", cut.len());
        let wide = "ü".repeat(5_000);
        assert!(truncate_middle(&wide, 50).len() < 300);
    }
}
