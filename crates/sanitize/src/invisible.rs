//! Invisible characters, which can hide text from people while models read it.
//!
//! They are replaced by their codes, such as `⟨U+200B⟩`, in whatever people or models are to read. Some
//! belong to visible characters (an emoji in its colors, letters of scripts that join) and are kept.

use std::fmt::Write;
use std::sync::LazyLock;

use icu_properties::props::{Alphabetic, DefaultIgnorableCodePoint, Emoji, GraphemeExtend};
use icu_properties::{CodePointSetData, CodePointSetDataBorrowed};
use regex::Regex;

/// Characters that, by Unicode, are not displayed by software that does not support them.
const IGNORABLE: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<DefaultIgnorableCodePoint>();
const EMOJI: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<Emoji>();
const LETTERS: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<Alphabetic>();

/// Marks that combine with a letter, such as those that join letters in the scripts of India.
const SIGNS: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<GraphemeExtend>();

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';
const EMOJI_STYLE: char = '\u{fe0f}';

/// Returns whether a character is invisible, or changes the direction of others. Spaces and ordinary line
/// ends do not count.
pub fn is_invisible(c: char) -> bool {
    !c.is_ascii()
        && (IGNORABLE.contains(c)
            || matches!(c,
                // Blank without being a space: Braille, Ogham, a note without a head, Khitan.
                '\u{2800}' | '\u{1680}' | '\u{1d159}' | '\u{16fe4}'
                // What arranges hieroglyphs.
                | '\u{13430}'..='\u{1343f}'
                // Unusual line ends, and controls of direction and of annotations.
                | '\u{2028}'..='\u{202e}' | '\u{61c}' | '\u{fff9}'..='\u{fffc}'))
}

/// Returns whether an invisible character between two others affects what people see, so that it is kept.
fn belongs(before: Option<char>, c: char, after: Option<char>) -> bool {
    let is_emoji = |c: char| !c.is_ascii() && EMOJI.contains(c);
    let joins = |c: char| {
        !c.is_ascii() && (LETTERS.contains(c) || SIGNS.contains(c)) && !is_latin(c) && !is_invisible(c)
    };
    let (Some(before), after) = (before, after) else { return false };
    match c {
        EMOJI_STYLE => is_emoji(before) || (before.is_ascii() && after == Some('\u{20e3}')),
        JOINER => {
            let after = after.is_some_and(|after| is_emoji(after) || joins(after));
            after && (is_emoji(before) || before == EMOJI_STYLE || joins(before))
        }
        '\u{13430}'..='\u{1343f}' => matches!(before, '\u{13000}'..='\u{13455}'),
        NON_JOINER => joins(before) && after.is_some_and(joins),
        _ => false,
    }
}

/// Returns whether a letter belongs to a script whose letters never join, so that a joiner between them has
/// no effect.
fn is_latin(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{52f}' | '\u{1e00}'..='\u{1fff}')
}

/// Replaces invisible characters, and others for which `also` returns true, by their codes.
pub fn shown(text: &str, also: fn(char) -> bool) -> String {
    // Nearly all texts are such, and no character of ASCII is invisible.
    if text.is_ascii() && !text.chars().any(also) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let hidden = is_invisible(c) && !belongs(before, c, rest.peek().copied());
        if hidden || also(c) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            shown.push(c);
        }
        before = shown.chars().next_back();
    }
    shown
}

/// Replaces invisible characters by their codes in a text that a model will read, so that nothing in it is
/// hidden from people. A byte order mark at its beginning is kept.
pub fn marked(text: &str) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => format!("\u{feff}{}", shown(rest, |_| false)),
        None => shown(text, |_| false),
    }
}

/// Replaces the codes of invisible characters by the characters, for a model's quotation from a text that
/// [`marked`] has changed.
pub fn unmarked(text: &str) -> String {
    static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("⟨U\\+([0-9A-F]{4,6})⟩").ok());
    let Some(mark) = MARK.as_ref() else { return text.to_owned() };
    let character = |found: &regex::Captures<'_>| {
        let c = u32::from_str_radix(&found[1], 16).ok().and_then(char::from_u32).filter(|c| is_invisible(*c));
        c.map_or_else(|| found[0].to_owned(), String::from)
    };
    mark.replace_all(text, character).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_nobody_sees_is_shown_as_its_code() {
        let ranges = [
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x115f..=0x1160,
            0x1680..=0x1680,
            0x17b4..=0x17b5,
            0x180b..=0x180f,
            0x200b..=0x200f,
            0x2028..=0x202e,
            0x2060..=0x206f,
            0x2800..=0x2800,
            0x3164..=0x3164,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xffa0..=0xffa0,
            0xfff9..=0xfffb,
            0x13430..=0x1343f,
            0x1d159..=0x1d159,
            0x1d173..=0x1d17a,
            0xe0000..=0xe007f,
            0xe0100..=0xe01ef,
        ];
        for code in ranges.into_iter().flatten() {
            let c = char::from_u32(code).expect("a character");
            assert_eq!(marked(&format!("a{c}b")), format!("a⟨U+{code:04X}⟩b"));
        }
        // Whatever hides behind an emoji.
        assert_eq!(marked("❤\u{fe0f}\u{fe0f}"), "❤\u{fe0f}⟨U+FE0F⟩");
        assert_eq!(marked("🏴\u{e0067}"), "🏴⟨U+E0067⟩");
        assert_eq!(marked("1\u{fe0f}"), "1⟨U+FE0F⟩");
        assert_eq!(marked("a\u{200d}é\u{200c}é"), "a⟨U+200D⟩é⟨U+200C⟩é");
    }

    #[test]
    fn what_belongs_to_visible_characters_stays() {
        for text in [
            "plain\r\n\ttext é ü 漢字",
            "❤\u{fe0f} 1\u{fe0f}\u{20e3}",
            "👩\u{200d}💻 🏳\u{fe0f}\u{200d}🌈",
            "می\u{200c}خواهم क्\u{200d}ष",
            "\u{feff}first line",
            "no\u{a0}break",
            "\u{13000}\u{13430}\u{13001}",
        ] {
            assert_eq!(marked(text), text);
        }
    }

    #[test]
    fn codes_become_the_characters_that_they_stand_for() {
        assert_eq!(unmarked("a⟨U+200B⟩b⟨U+E0061⟩"), "a\u{200b}b\u{e0061}");
        for text in ["⟨U+0041⟩", "⟨U+110000⟩", "⟨U+zz⟩", "\\u{200b}", "plain"] {
            assert_eq!(unmarked(text), text);
        }
    }

    proptest! {
        #[test]
        fn marks_lead_back_and_are_stable(text in "[a-c é❤漢\u{200b}\u{200d}\u{fe0f}\u{3164}\u{e0041}\n]{0,30}") {
            let text = text.trim_start_matches('\u{feff}');
            prop_assert_eq!(&unmarked(&marked(text)), text);
            prop_assert_eq!(marked(&marked(text)), marked(text));
        }
    }
}
