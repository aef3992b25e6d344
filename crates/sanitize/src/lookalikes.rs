//! Letters of other scripts that look like those of Latin: in a word of both, people read another name than programs do.

/// Letters of Cyrillic, Greek, Armenian and Cherokee that look like one of Latin. Greek letters that formulas use are none.
const LOOKALIKES: &str = "асԁеԍһіјӏорԛѕухѵԝАВЕЅІЈКМНОРСТХУԌԚԜӀοΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲօսոհցᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ";

/// Returns whether a letter looks like one of Latin, or is a form of it that some programs read as the plain one.
fn is_lookalike(letter: char) -> bool {
    !letter.is_ascii()
        && (LOOKALIKES.contains(letter)
            || matches!(letter, '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d6a3}'))
}

/// Returns a word of letters of Latin in which the others all look like some. Where one does not, everybody sees what script it is.
pub fn mixed_word(text: &str) -> Option<&str> {
    // Most texts have no such letter.
    if text.is_ascii() {
        return None;
    }
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let is_mixed = |word: &&str| {
        let mut foreign = word.chars().filter(|letter| !letter.is_ascii()).peekable();
        word.contains(|letter: char| letter.is_ascii_alphabetic())
            && foreign.peek().is_some()
            && foreign.all(is_lookalike)
    };
    words.filter(|word| !word.is_ascii()).find(is_mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_letters_that_look_alike_are_found() {
        for (text, word) in [
            ("if usеr == admin", Some("usеr")),
            ("import rеquests", Some("rеquests")),
            ("ｅval(x)", Some("ｅval")),
            ("is_\u{430}dmin", Some("\u{430}dmin")),
            ("\u{1d41e}val", Some("\u{1d41e}val")),
            ("Привет, мир: web-сайт, test_создание, getТовар", None),
            ("let dρ = Δx * αβ; // µs, naïve, Straße", None),
            ("漢字kanji ひらがなabc", None),
            ("Ελληνικά text", None),
        ] {
            assert_eq!(mixed_word(text), word, "{text}");
        }
    }
}
