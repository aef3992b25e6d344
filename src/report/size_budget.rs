//! Size limits of reports: the least important parts shrink first, and what fits in the end is shown after all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A part of a report. When space is short, those with the lowest weight shrink first.
#[derive(Clone)]
pub(super) struct Section {
    weight: u8,
    /// The texts that it may have, from the longest to the shortest: a cut, a line, or nothing. Each has its length, which is
    /// asked for again and again where thousands of sections have to shrink.
    forms: Vec<(String, usize)>,
    /// The form that it has.
    at: usize,
}

impl Section {
    pub(super) fn new(weight: u8, full: String, short: impl Into<String>) -> Self {
        Self::with_forms(weight, vec![full, short.into()])
    }

    /// Creates a section that shrinks from one form to the next.
    pub(super) fn with_forms(weight: u8, forms: Vec<String>) -> Self {
        let measured = |form: String| {
            let length = length(&form);
            (form, length)
        };
        let forms = forms.into_iter().map(measured).collect();
        Self { weight, forms, at: 0 }
    }

    /// Creates a section that never shrinks.
    pub(super) fn fixed(full: String) -> Self {
        Self::with_forms(u8::MAX, vec![full])
    }

    fn text(&self) -> &str {
        self.forms.get(self.at).map_or("", |(text, _)| text)
    }

    fn length(&self) -> usize {
        self.forms.get(self.at).map_or(0, |(_, length)| *length)
    }

    /// Returns the next shorter form, if there is one.
    fn next(&self) -> Option<usize> {
        (self.at + 1..self.forms.len()).find(|at| self.length() > self.forms[*at].1)
    }
}

fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Joins the sections into a text of at most `limit` UTF-16 units, of which GitHub never counts more. While
/// the text is too long, the section with the lowest weight takes its next shorter form; of several, the
/// longest. The room that the last cut leaves goes to the most important sections that fit into it.
pub(super) fn fit(mut sections: Vec<Section>, limit: usize) -> String {
    let mut total: usize = sections.iter().map(Section::length).sum();
    let turn = |at: usize, section: &Section| (Reverse(section.weight), section.text().len(), Reverse(at));
    let mut shrinkable = BinaryHeap::new();
    if total > limit {
        shrinkable.extend(sections.iter().enumerate().map(|(at, section)| turn(at, section)));
    }
    while total > limit {
        let Some((_, _, Reverse(at))) = shrinkable.pop() else { break };
        let section = &mut sections[at];
        let Some(next) = section.next() else { continue };
        total -= section.length();
        section.at = next;
        total += section.length();
        shrinkable.push(turn(at, section));
    }
    let mut by_weight: Vec<&mut Section> = sections.iter_mut().filter(|section| section.at > 0).collect();
    by_weight.sort_by_key(|section| u8::MAX - section.weight);
    for section in by_weight {
        let others = total - section.length();
        let fits = (0..section.at).find(|at| others + section.forms[*at].1 <= limit);
        section.at = fits.unwrap_or(section.at);
        total = others + section.length();
    }
    let mut text: String = sections.iter().map(Section::text).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_not_thrown_away() {
        let message = |length: usize| "m".repeat(length);
        let sections = || {
            let diffs = (0..3).map(|n| Section::new(2, n.to_string().repeat(10), "-"));
            let text = Section::with_forms(8, vec![message(100), message(60), message(20)]);
            diffs.chain([text]).collect::<Vec<_>>()
        };
        assert_eq!(fit(sections(), 130).len(), 130);
        // The message is cut once, and all diffs fit again.
        assert_eq!(
            fit(sections(), 95),
            format!("{}{}{}{}", "0".repeat(10), "1".repeat(10), "2".repeat(10), message(60))
        );
        // Only one of them does.
        assert_eq!(fit(sections(), 75), format!("{}--{}", "0".repeat(10), message(60)));
        assert_eq!(fit(sections(), 23), format!("---{}", message(20)));
    }
}
