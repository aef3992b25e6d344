//! A text decoded in one way, and the way back from what is found in it to the original.

use std::ops::Range;

use crate::writings::Writing;

/// A text decoded in one way.
pub(super) struct Reading {
    pub(super) text: Vec<u8>,
    pieces: Vec<Piece>,
}

/// A part of a decoded text, and its origin.
struct Piece {
    /// The offset of the part in the decoded text.
    at: usize,
    /// The byte range that it comes from in the original text.
    origin: Range<usize>,
    /// Whether it was copied unchanged.
    verbatim: bool,
}

impl Reading {
    /// Decodes a text, or returns `None` if it holds no such encoding.
    pub(super) fn of(text: &[u8], writing: &Writing) -> Option<Self> {
        let mut reading = Self { text: Vec::with_capacity(text.len()), pieces: Vec::new() };
        let mut rest = 0;
        for form in writing.form.captures_iter(text) {
            let (Some(whole), Some(meaning)) = (form.get(0), (writing.meaning)(&form)) else { continue };
            reading.push(&text[rest..whole.start()], rest..whole.start(), true);
            reading.push(&meaning, whole.range(), false);
            rest = whole.end();
        }
        if reading.pieces.is_empty() {
            return None;
        }
        reading.push(&text[rest..], rest..text.len(), true);
        Some(reading)
    }

    fn push(&mut self, text: &[u8], origin: Range<usize>, verbatim: bool) {
        // An empty decoded part is recorded too, because it marks that something was removed here.
        if !(verbatim && text.is_empty()) {
            self.pieces.push(Piece { at: self.text.len(), origin, verbatim });
            self.text.extend_from_slice(text);
        }
    }

    /// Maps a range of the decoded text back to the original. Returns `None` if the original has it
    /// unchanged, so that it is found there anyway, or if it is shorter than `min`.
    pub(super) fn origin(&self, span: &Range<usize>, min: usize) -> Option<Range<usize>> {
        if span.len() < min {
            return None;
        }
        let piece = |at: usize| {
            // Of several parts that begin at the same offset, only the last one has text.
            let index = self.pieces.partition_point(|piece| piece.at <= at).checked_sub(1)?;
            Some((index, &self.pieces[index]))
        };
        let ((first, begins), (last, ends)) = (piece(span.start)?, piece(span.end - 1)?);
        if first == last && begins.verbatim {
            return None;
        }
        let offset = |piece: &Piece, at: usize| piece.origin.start + (at - piece.at);
        let start = if begins.verbatim { offset(begins, span.start) } else { begins.origin.start };
        let end = if ends.verbatim { offset(ends, span.end - 1) + 1 } else { ends.origin.end };
        Some(start..end)
    }
}
