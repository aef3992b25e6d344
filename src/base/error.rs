//! Errors as text: what happened, and why.

use std::error::Error;

/// Returns an error with everything that caused it, from the general to the specific, joined by `: `.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        // Some libraries repeat their cause in their own message.
        if !text.ends_with(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("could not read {0}")]
    struct Outer(&'static str, #[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("line 3: {0}")]
    struct Inner(#[source] std::num::ParseIntError);

    #[test]
    fn causes_follow_and_are_not_repeated() {
        let number = "x".parse::<u8>().expect_err("no number");
        let error = Outer("a.txt", Inner(number));
        assert_eq!(chain(&error), "could not read a.txt: line 3: invalid digit found in string");
        assert_eq!(chain(&std::fmt::Error), std::fmt::Error.to_string());
    }
}
