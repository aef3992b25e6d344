//! Keeps head and tail of a long result: errors tend to stand at one of the two.

/// Characters of a token, on average, in code and English.
pub const CHARS_PER_TOKEN: usize = 4;

/// The text, or its head and tail with a word on how much is missing, cut at line ends where possible.
pub fn cut_middle(text: &str, max_tokens: usize) -> String {
    let limit = max_tokens.saturating_mul(CHARS_PER_TOKEN);
    if text.len() <= limit {
        return text.to_owned();
    }
    // Two thirds for the head: it says what this is.
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
        assert_eq!(cut_middle("short", 10), "short");
        let long: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
        let cut = cut_middle(&long, 100);
        assert!(cut.starts_with("line 0\n") && cut.ends_with("line 999\n"), "{cut}");
        assert!(cut.contains("omitted") && cut.len() < 500, "{}", cut.len());
        let wide = "ü".repeat(5_000);
        assert!(cut_middle(&wide, 50).len() < 300);
    }
}
