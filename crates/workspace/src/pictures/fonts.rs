//! Fonts: tables of glyphs, plain or compressed.

use super::{number, range};

/// Fonts: a list of tables that cover the file but for the space between them.
pub(super) fn font(
    content: &[u8],
    starts: &[&[u8; 4]],
    header: usize,
    size: usize,
    place: usize,
) -> Option<bool> {
    if !starts.iter().any(|start| content.starts_with(*start)) {
        return Some(false);
    }
    let count = number(range(content, 4, 2)?)?;
    let mut places = Vec::new();
    for table in 0..count {
        let entry = range(content, header + size * table, size)?;
        places.push((number(&entry[place..place + 4])?, number(&entry[place + 4..place + 8])?));
    }
    covers(content, header + size * count, places)
}

/// Returns whether these parts, each by its start and length, leave no more than padding of a file.
fn covers(content: &[u8], from: usize, mut places: Vec<(usize, usize)>) -> Option<bool> {
    places.sort_unstable();
    let is_padding = |start: usize, end: usize| {
        start >= end
            || content.get(start..end).is_some_and(|gap| gap.len() < 4 && gap.iter().all(|byte| *byte == 0))
    };
    let mut at = from;
    for (start, length) in &places {
        if !is_padding(at, *start) {
            return Some(false);
        }
        at = at.max(start.checked_add(*length)?);
    }
    Some(!places.is_empty() && at <= content.len() && is_padding(at, content.len()))
}

/// Compressed fonts: their tables, and no text beside them.
pub(super) fn packed_font(content: &[u8], suffix: &str) -> Option<bool> {
    let kinds: [&[u8]; 3] = [b"\0\x01\0\0", b"OTTO", b"true"];
    let is_newer = suffix == "woff2";
    // In the newer one, the length of the compressed tables comes before the version.
    let (start, header, extras): (&[u8], _, _) = if is_newer { (b"wOF2", 48, 28) } else { (b"wOFF", 44, 24) };
    let is_known = content.starts_with(start) && kinds.contains(&range(content, 4, 4)?);
    let has_extras = range(content, extras, header - extras)?.iter().any(|byte| *byte != 0);
    if !is_known || has_extras || number(range(content, 8, 4)?)? != content.len() {
        return Some(false);
    }
    let count = number(range(content, 12, 2)?)?;
    if is_newer {
        let (mut at, length) = (header, number(range(content, 20, 4)?)?);
        for _ in 0..count {
            at = entry(content, at)?;
        }
        return covers(content, at, vec![(at, length)]);
    }
    let mut places = Vec::new();
    for table in 0..count {
        let entry = range(content, header + 20 * table, 20)?;
        places.push((number(&entry[4..8])?, number(&entry[8..12])?));
    }
    covers(content, header + 20 * count, places)
}

/// Returns where the entry of a table ends that begins at a place: its kind, its length and, if it is written in another way, that length.
fn entry(content: &[u8], at: usize) -> Option<usize> {
    /// Numbers of the kinds of tables that are written in another way as a rule: outlines and their places.
    const REWRITTEN: [u8; 2] = [10, 11];
    let flags = *content.get(at)?;
    let (kind, version) = (flags & 0x3f, flags >> 6);
    let at = number_at(content, if kind == 0x3f { at + 5 } else { at + 1 })?;
    let is_rewritten = if REWRITTEN.contains(&kind) { version != 3 } else { version != 0 };
    if is_rewritten { number_at(content, at) } else { Some(at) }
}

/// Returns where a number ends of which each byte but the last has its first bit set.
fn number_at(content: &[u8], at: usize) -> Option<usize> {
    let length = content.get(at..)?.iter().take(5).position(|byte| byte & 0x80 == 0)?;
    Some(at + length + 1)
}
