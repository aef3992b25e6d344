//! Parts of commands, and commands that look at a part of what they looked at before.

use super::check::Check;

/// Returns the part of a line, between semicolons, that calls the tool.
pub(super) fn own_part(check: &Check) -> &str {
    let calls = |part: &&str| check.tool.split(' ').all(|word| part.contains(word));
    check.text.split(';').find(calls).unwrap_or(&check.text)
}

/// Returns whether a command that looked at everything, or at a folder, now names files or folders in it.
pub(super) fn is_part(before: &str, after: &str) -> bool {
    let paths = |text: &str| -> Vec<String> {
        const OF_CONFIGURATION: &[&str] =
            &["--config", "--config-file", "-c", "--rcfile", "--project", "-p", "--manifest-path"];
        // The file of settings of a tool says nothing of what it looks at.
        let given: Vec<&str> = text.split_whitespace().collect();
        let is_configuration = |at: usize| at > 0 && OF_CONFIGURATION.contains(&given[at - 1]);
        let words = given.iter().enumerate().filter(|(at, _)| !is_configuration(*at));
        let words = words.map(|(_, word)| word.trim_matches(['"', '\'', ',']).to_owned());
        let is_path = |word: &String| {
            !word.starts_with(['-', '{', '$'])
                && !word.contains("://")
                && !word.contains('=')
                && !word.ends_with("mvnw")
                && !word.ends_with("gradlew")
                && (word.contains('/') || [".py", ".js", ".ts", ".go"].iter().any(|end| word.ends_with(end)))
        };
        words.filter(is_path).collect()
    };
    let (old, new) = (paths(before), paths(after));
    // A linter that read the whole folder reads what it names now.
    let whole = |text: &str| text.split_whitespace().any(|word| word == ".");
    if old.is_empty() && new.is_empty() && whole(before) && !whole(after) {
        let names = |text: &str| text.split_whitespace().filter(|word| is_word(word)).count();
        return names(after) > names(before);
    }
    let is_within = |path: &String| {
        old.is_empty()
            || old.iter().any(|whole| path.starts_with(whole.trim_end_matches("...")) && path != whole)
    };
    !new.is_empty() && new.iter().all(is_within)
}

/// Returns whether a word may name a folder.
fn is_word(word: &str) -> bool {
    word.starts_with(char::is_alphabetic)
        && word.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}
