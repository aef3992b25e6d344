//! Placeholders: texts with `{name}` in them. `{{name}}` stands for the text `{name}`; other braces are
//! left as they are, because most of them are code.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Returns the pattern of placeholders. Doubled braces come first, so that they are never taken for a name.
fn pattern() -> &'static Regex {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
        Regex::new(r"\{\{([a-z][a-z0-9_]*)\}\}|\{([a-z][a-z0-9_]*)\}").expect("a valid pattern")
    });
    &PATTERN
}

/// Replaces every placeholder that has a value, and turns doubled braces into single ones; other
/// placeholders are kept.
pub(crate) fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    pattern()
        .replace_all(text, |found: &Captures<'_>| match (found.get(1), found.get(2)) {
            (Some(escaped), _) => format!("{{{}}}", escaped.as_str()),
            (None, name) => name.and_then(|name| value(name.as_str())).unwrap_or_else(|| found[0].to_owned()),
        })
        .into_owned()
}

/// Returns the names of the placeholders in a text, in order, with repetitions.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    places(text).map(|(_, name)| name)
}

/// Returns where the placeholders of a text begin, with their names, in order.
pub(crate) fn places(text: &str) -> impl Iterator<Item = (usize, &str)> {
    pattern().captures_iter(text).filter_map(|found| Some((found.get(0)?.start(), found.get(2)?.as_str())))
}

/// Returns whether a text is a valid name for a placeholder.
pub(crate) fn is_name(text: &str) -> bool {
    names(&format!("{{{text}}}")).eq([text])
}

/// Returns a part of a path: `dir` (`.` if there is none), `name`, or `stem`; `None` for any other part.
pub(crate) fn path_part<'a>(path: &'a str, part: &str) -> Option<&'a str> {
    let (dir, name) = path.rsplit_once('/').unwrap_or((".", path));
    match part {
        "dir" => Some(dir),
        "name" => Some(name),
        "stem" => {
            Some(name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_value_are_replaced_once_and_the_rest_stays() {
        let value = |name: &str| (name == "file").then(|| "a{file}b".to_owned());
        for (text, filled) in [
            ("see {file}", "see a{file}b"),
            ("{{file}} is {file}", "{file} is a{file}b"),
            ("f\"{other}\" {\"json\": 1} {0} {File} x{3,4}", "f\"{other}\" {\"json\": 1} {0} {File} x{3,4}"),
            ("{{{file}}}", "{{file}}"),
            ("", ""),
        ] {
            assert_eq!(fill(text, value), filled, "{text}");
        }
        let parts = ["dir", "name", "stem", "x"].map(|part| path_part(".gitignore", part));
        assert_eq!(parts, [Some("."), Some(".gitignore"), Some(".gitignore"), None]);
        assert_eq!(path_part("a/b.c.d", "stem"), Some("b.c"));
        assert_eq!(names("{a} {{b}} {c_1}").collect::<Vec<_>>(), ["a", "c_1"]);
        assert!(is_name("file_2") && !is_name("File") && !is_name("a b") && !is_name(""));
    }
}
