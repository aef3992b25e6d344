//! Words that a name is made of.

/// Returns the words of a name, in small letters: `fail`, `under` for `failUnder`, `fail-under` and `FAIL_UNDER`.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            was_lower = false;
            words.push(String::new());
            continue;
        }
        if letter.is_uppercase() && was_lower || words.is_empty() {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
        if let Some(last) = words.last_mut() {
            last.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
