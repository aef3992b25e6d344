//! Alignment of two texts: which words and marks of the new one are those of the old one, and which are new.

/// Greatest number of pairs that are compared: beyond it, what is not at the beginning or end is new.
const MAX_PAIRS: usize = 1 << 21;

/// Words and marks of two texts, and those that are the same in both.
pub(super) struct Alignment<'a> {
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    /// For each of the new text, the index of the one in the old text.
    pub(super) partners: Vec<Option<usize>>,
}

impl<'a> Alignment<'a> {
    /// Aligns lines, and between them words and marks.
    pub(super) fn of(old: &'a str, new: &'a str) -> Self {
        // In `f("a", "b")`, what comes before `"b"` may begin before a mark or behind it. Marks that belong together stay so.
        let [forward, backward] = [false, true].map(|is_reversed| Self::in_direction(old, new, is_reversed));
        let (one, other) = (forward.torn().len(), backward.torn().len());
        let mut best = if other < one { backward } else { forward };
        best.drop_marks_alone();
        for at in best.torn() {
            best.partners[at] = None;
        }
        best
    }

    fn in_direction(old: &'a str, new: &'a str, is_reversed: bool) -> Self {
        let [old_lines, new_lines] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
        let mut made = Self { old: Vec::new(), new: Vec::new(), partners: Vec::new() };
        let mut from = (0, 0);
        let pairs = partners(&old_lines, &new_lines, is_reversed).into_iter().enumerate();
        let pairs = pairs.filter_map(|(at, partner)| Some((partner?, at)));
        for (old_at, new_at) in pairs.chain([(old_lines.len(), new_lines.len())]) {
            made.add(&old_lines[from.0..old_at], &new_lines[from.1..new_at], is_reversed);
            from = (old_at, new_at);
            // The line itself, which both have.
            if let (Some(one), Some(other)) = (old_lines.get(old_at), new_lines.get(new_at)) {
                made.add(&[*one], &[*other], is_reversed);
                from = (old_at + 1, new_at + 1);
            }
        }
        made
    }

    fn add(&mut self, old: &[&'a str], new: &[&'a str], is_reversed: bool) {
        let [old, new] =
            [old, new].map(|lines| lines.iter().flat_map(|line| pieces(line)).collect::<Vec<_>>());
        let first = self.old.len();
        self.partners.extend(partners(&old, &new, is_reversed).into_iter().map(|at| Some(first + at?)));
        self.old.extend(old);
        self.new.extend(new);
    }

    /// Makes marks new that have no word or bracket beside them in both texts: any text has some.
    fn drop_marks_alone(&mut self) {
        let mut at = 0;
        while at < self.new.len() {
            let Some(partner) = self.partners[at] else {
                at += 1;
                continue;
            };
            let length = (0..self.new.len() - at)
                .take_while(|next| self.partners[at + next] == Some(partner + next))
                .count();
            let (end, old_end) = (at + length, partner + length);
            let is_at_edge = at == 0 && partner == 0 || end == self.new.len() && old_end == self.old.len();
            if !is_at_edge && self.new[at..end].iter().all(|piece| is_mark(piece)) {
                self.partners[at..end].fill(None);
            }
            at = end;
        }
    }

    /// Returns the quotation marks of which only one of two that belong together is in the old text.
    fn torn(&self) -> Vec<usize> {
        let is_letter = |at: Option<usize>| {
            at.and_then(|at| self.new.get(at)).is_some_and(|piece| piece.chars().all(char::is_alphanumeric))
        };
        let mut torn = Vec::new();
        let mut from = 0;
        for line in self.new.split_inclusive(|piece| *piece == "\n") {
            for mark in ["\"", "'"] {
                let is_quote = |at: &usize| {
                    self.new[*at] == mark && !(is_letter(at.checked_sub(1)) && is_letter(at.checked_add(1)))
                };
                let quotes: Vec<usize> = (from..from + line.len()).filter(is_quote).collect();
                let is_torn = |pair: &&[usize]| matches!(pair, [one, other] if self.partners[*one].is_some() != self.partners[*other].is_some());
                if quotes.len().is_multiple_of(2) {
                    torn.extend(quotes.chunks(2).filter(is_torn).flatten());
                }
            }
            from += line.len();
        }
        torn
    }
}

/// Returns the words of a text, and each other character of it.
fn pieces(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("...") {
            "...".len()
        } else {
            first.len_utf8()
        };
        let (piece, behind) = rest.split_at(length);
        all.push(piece);
        rest = behind;
    }
    all
}

/// Returns whether a piece is a quotation mark, a dash, an ellipsis or a blank, which may be written in several ways.
fn is_mark(piece: &str) -> bool {
    piece == "..." || piece.chars().all(|c| matches!(c, '\'' | '"' | '-' | ' ') || super::plain(c).is_some())
}

/// Returns for each of the new parts the index of its partner among the old ones, in the same order. What may be at several places is at
/// the first one, or at the last one in the reversed direction.
fn partners(old: &[&str], new: &[&str], is_reversed: bool) -> Vec<Option<usize>> {
    if !is_reversed {
        return common(old, new);
    }
    let [last_old, last_new] = [old, new].map(|parts| parts.iter().rev().copied().collect::<Vec<_>>());
    common(&last_old, &last_new).into_iter().rev().map(|at| at.map(|at| old.len() - 1 - at)).collect()
}

/// Returns the longest sequence that both have, as [`partners`] does.
fn common(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let ends = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = ends.take_while(|(one, other)| one == other).count();
    let mut found: Vec<Option<usize>> = (0..new.len()).map(|at| Some(at).filter(|at| *at < head)).collect();
    for back in 1..=tail {
        found[new.len() - back] = Some(old.len() - back);
    }
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        return found;
    }
    // A word says more than a mark.
    let weight = |part: &str| if part.trim().len() > 1 { 4 } else { 1 };
    let width = new.len() + 1;
    let mut best = vec![0_u32; (old.len() + 1) * width];
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let without = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            let with = if one == other { best[(i + 1) * width + j + 1] + weight(one) } else { 0 };
            best[i * width + j] = without.max(with);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        let here = best[i * width + j];
        if old[i] == new[j] && here == best[(i + 1) * width + j + 1] + weight(old[i]) {
            found[head + j] = Some(head + i);
            (i, j) = (i + 1, j + 1);
        } else if best[(i + 1) * width + j] == here {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_are_what_both_texts_have() {
        for (old, new, expected) in [
            // What has a partner, and in brackets what is new.
            ("a \"b\"", "a \"c\"", "a \"[c]\""),
            ("<p>\"a b\"</p>", "<p c=\"d\">\"a b\"</p>", "<p[ c=\"d\"]>\"a b\"</p>"),
            ("f(\"a\")", "f(\"b\", \"a\")", "f([\"b\", ]\"a\")"),
            ("f('a...')", "f('a...', ...b)", "f('a...'[, ...b])"),
            ("1\nit's - a\n2\n", "3\nit's - a\n4\n", "[3]\nit's - a\n[4]\n"),
            // Marks alone are no partners.
            ("<p>\"a\"</p>", "<p c=\"d\">e</p>", "<p[ c=\"d\">e]</p>"),
            ("\"a b\"", "\"a\" or \"b\"", "[\"]a[\" or \"]b[\"]"),
        ] {
            let found = Alignment::of(old, new);
            let marked: String = found
                .new
                .iter()
                .zip(&found.partners)
                .map(
                    |(piece, partner)| {
                        if partner.is_some() { (*piece).to_owned() } else { format!("[{piece}]") }
                    },
                )
                .collect();
            assert_eq!(marked.replace("][", ""), expected, "{old} {new}");
        }
    }

    #[test]
    fn long_texts_are_aligned_at_their_ends() {
        let text = |word: &str| format!("a\n{}z\n", format!("{word}\n").repeat(5_000));
        let (old, new) = (text("b"), text("c"));
        let found = Alignment::of(&old, &new);
        assert_eq!(found.partners.iter().flatten().count(), 5);
    }
}
