//! Reads what `assert.throws(f, expected)` expects of a failure: a class, a pattern, an object, or a function that judges it.

use crate::assertion::vocabulary::is_vacuous;

/// Ways in which a function asks for the text or a member of a failure.
const QUESTIONS: &[&str] =
    &[" === ", " == ", " . test ( ", " . match ( ", " . includes ( ", " . startsWith ( "];

/// Returns the class of the failure that is expected, and whether more is said of it.
pub(super) fn expected(given: &str) -> (String, bool) {
    if is_vacuous(given) || given.ends_with("=> true") {
        return (String::new(), false);
    }
    if given.starts_with(['/', '{']) {
        return (String::new(), true);
    }
    let is_function = given.contains(" => ") || given.starts_with("function");
    let says = is_function && QUESTIONS.iter().any(|question| given.contains(question));
    let kind = given.split_once(" instanceof ").and_then(|(_, rest)| rest.split(' ').next());
    match kind.filter(|_| is_function) {
        Some(kind) => (kind.to_owned(), says),
        None if says => (String::new(), true),
        None => (given.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::expected;

    #[test]
    fn functions_say_what_they_ask_for() {
        for (given, kind, says) in [
            ("RuleError", "RuleError", false),
            ("/no rule/", "", true),
            ("/./", "", false),
            ("( ) => true", "", false),
            ("( error ) => error instanceof RuleError", "RuleError", false),
            ("( error ) => error instanceof RuleError && error . at === 4", "RuleError", true),
            ("( error ) => error . code === 'E'", "", true),
        ] {
            assert_eq!(expected(given), (kind.to_owned(), says), "{given}");
        }
    }
}
