//! Counts things.

/// A module that nobody formatted yet.
pub mod messy;

/// The greeting that the build script read.
pub const GREETING: &str = include!(concat!(env!("OUT_DIR"), "/greeting.rs"));

/// Counts the words of a text.
///
/// ```
/// assert_eq!(counter::count("a b"), 2);
/// ```
pub fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

#[cfg(test)]
mod tests {
    #[test]
    fn counts_words() {
        assert_eq!(super::count(super::GREETING), 2);
    }

    #[test]
    #[ignore = "shows what a failure looks like"]
    fn fails() {
        assert_eq!(super::count("one"), 2);
    }
}
