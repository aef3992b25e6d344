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

/// Letters that look like operators or separators: programs read a name where people read `!=` or `||`.
const OPERATORS: &str = "ǃǀǁǂ꞉ꓸꓹꓺꓻꓼꓽᐸᐳ\u{37e}";

/// Longest row of private characters that is an icon, or a few, and not a text.
const MAX_PRIVATE: usize = 2;

/// Returns a word of code that is not what it looks like: with a letter that looks like an operator, of forms of letters that some
/// programs read as the plain ones, or of characters without a meaning.
pub fn disguised_word(code: &str) -> Option<&str> {
    if code.is_ascii() {
        return None;
    }
    let is_part = |letter: char| {
        letter.is_alphanumeric() || letter == '_' || OPERATORS.contains(letter) || is_private(letter)
    };
    let mut rest = code;
    let mut before = ' ';
    while let Some(start) = rest.find(is_part) {
        before = rest[..start].chars().next_back().unwrap_or(before);
        rest = &rest[start..];
        let (word, behind) = rest.split_at(rest.find(|letter| !is_part(letter)).unwrap_or(rest.len()));
        let after = behind.chars().next().unwrap_or(' ');
        if !word.is_ascii() && is_disguised(before, word, after) {
            return Some(word);
        }
        before = word.chars().next_back().unwrap_or(before);
        rest = behind;
    }
    None
}

fn is_disguised(before: char, word: &str, after: char) -> bool {
    let has_plain = word.contains(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
    let is_operator = word.contains(|letter| OPERATORS.contains(letter)) && (has_plain || after == '=');
    let is_styled = word.chars().all(is_styled) && (before == '.' || "([.=".contains(after));
    let private = word.split(|letter| !is_private(letter)).map(|row| row.chars().count()).max();
    is_operator || is_styled || private.is_some_and(|count| count > MAX_PRIVATE)
}

/// Returns whether a letter is a form of one of Latin, or of a digit, that Python and others read as the plain one.
fn is_styled(letter: char) -> bool {
    matches!(letter, '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}')
}

fn is_private(letter: char) -> bool {
    matches!(letter, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}')
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

    #[test]
    fn words_of_code_that_are_disguised_are_found() {
        for (text, word) in [
            ("if (environmentǃ=ENV_PROD) {", Some("environmentǃ")),
            ("if (a ǃ= b) {", Some("ǃ")),
            ("x = aǁb", Some("aǁb")),
            ("let a_ǃ = 1", Some("a_ǃ")),
            ("𝐞𝐯𝐚𝐥(1)", Some("𝐞𝐯𝐚𝐥")),
            ("ｅｖａｌ(1)", Some("ｅｖａｌ")),
            ("os.ｓｙｓｔｅｍ", Some("ｓｙｓｔｅｍ")),
            ("𝓍 = 1; 𝓍=2", Some("𝓍")),
            ("s = \"\u{e001}\u{e002}\u{e003}\"", Some("\u{e001}\u{e002}\u{e003}")),
            ("// ＡＰＩ を使う、ＡＰＩ（外部）", None),
            ("icon = \"\u{e0b0}\" -- \u{f015} \u{f07b}", None),
            ("let größe = naïve + 変数.値(1)", None),
            ("the set 𝔽 of numbers", None),
            ("plain", None),
        ] {
            assert_eq!(disguised_word(text), word, "{text}");
        }
    }
}
