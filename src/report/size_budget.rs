//! Size limits of reports: the least important parts shrink first.

/// A part of a report. When space is short, those with the lowest weight shrink first.
#[derive(Clone)]
pub(super) struct Section {
    weight: u8,
    full: String,
    /// The replacement when space is short: a line, or nothing.
    short: String,
}

impl Section {
    pub(super) fn new(weight: u8, full: String, short: impl Into<String>) -> Self {
        Self { weight, full, short: short.into() }
    }

    /// Creates a section that never shrinks.
    pub(super) fn fixed(full: String) -> Self {
        Self { weight: u8::MAX, short: full.clone(), full }
    }
}

/// Joins the sections into a text of at most `limit` UTF-16 units, of which GitHub never counts more. While
/// the text is too long, the section with the lowest weight is replaced by its short form; of several, the
/// longest.
pub(super) fn fit(mut sections: Vec<Section>, limit: usize) -> String {
    let length = |text: &str| text.encode_utf16().count();
    let mut total: usize = sections.iter().map(|section| length(&section.full)).sum();
    while total > limit {
        let shrinkable = sections
            .iter_mut()
            .filter(|section| section.full != section.short)
            .min_by_key(|section| (section.weight, usize::MAX - section.full.len()));
        let Some(section) = shrinkable else { break };
        total = total - length(&section.full) + length(&section.short);
        section.full.clone_from(&section.short);
    }
    let mut text: String = sections.into_iter().map(|section| section.full).collect();
    if total > limit {
        // Only absurdly long fixed sections get here.
        let note = "\n\n… shortened; see the report files of the run\n";
        let mut units = 0;
        let end = text.char_indices().find(|(_, c)| {
            units += c.len_utf16();
            units > limit.saturating_sub(note.len())
        });
        text.truncate(end.map_or(text.len(), |(at, _)| at));
        text += note;
    }
    text
}
