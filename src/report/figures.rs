//! Figures and lines as people read them.

/// Formats milliseconds for people, such as `1.2 s`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// Formats a number of tokens: 12345 as `12.3k`.
pub(super) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Formats a number of bytes: 12345 as `12.3 kB`.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{}.{} kB", count / 1_000, count % 1_000 / 100),
        1_000_000..1_000_000_000 => format!("{}.{} MB", count / 1_000_000, count % 1_000_000 / 100_000),
        _ => format!("{}.{} GB", count / 1_000_000_000, count % 1_000_000_000 / 100_000_000),
    }
}

/// Formats an amount in US dollars; below one dollar to the hundredth of a cent.
pub(super) fn cost(usd: f64) -> String {
    if usd < 1.0 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

pub(super) fn plural(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// Shortens a line to about 120 bytes, the width that a table can bear.
pub(super) fn cut(line: &str) -> String {
    let end = line.floor_char_boundary(120);
    if end < line.len() { format!("{} …", &line[..end]) } else { line.to_owned() }
}
