//! Decides what may be shown: masks secrets, takes the effects out of what others wrote, and tells harmless variables from
//! those that children are not to see.
//!
//! Whatever leaves a process that handles secrets and text of strangers goes through two steps. A [`Masker`]
//! replaces secrets, in every spelling that programs produce by accident; the functions of [`untrusted`] keep
//! the text, but not what a platform would do with it: mention people, close issues, load images, hide lines, or
//! follow commands in a log.
//!
//! ```
//! use sanitize::{MASK, Masker, untrusted};
//!
//! let masker = Masker::new(["hunter2hunter2"]);
//! // The base64 of "user:hunter2hunter2".
//! assert_eq!(masker.mask("Basic dXNlcjpodW50ZXIyaHVudGVyMg=="), "Basic dXNlcjp***g==");
//! assert_eq!(masker.mask("password=hunter2%68unter2"), format!("password={MASK}"));
//!
//! // A mark that turns text around is shown as its code; in a code span, nobody is notified.
//! assert_eq!(untrusted::visible("main\u{202e}sr.exe"), "main⟨U+202E⟩sr.exe");
//! assert_eq!(untrusted::markdown("Thanks @octocat!").trim_end(), "Thanks `@octocat`!");
//! ```

mod active;
mod addresses;
mod assigned;
pub mod csv;
mod cut;
mod dumps;
pub mod environment;
mod escaped;
pub mod invisible;
pub mod lookalikes;
mod markdown;
mod masker;
mod reading;
pub mod secret_names;
mod spellings;
pub mod tokens;
pub mod untrusted;
mod writings;

pub use masker::{MASK, Masker};

#[cfg(test)]
mod tests {
    use regex::bytes::RegexBuilder;

    /// Most bytes that a pattern may compile to; a repetition with an upper limit, such as `{36,255}`, would take more.
    const MAX: usize = 64 << 10;

    /// Compiling these is most of what the program does before its first request.
    #[test]
    fn patterns_of_every_start_are_small() {
        let shapes = super::masker::SHAPES.as_str();
        let of_variables = [
            super::secret_names::USERINFO.as_str(),
            super::environment::SECRET_OPTION.as_str(),
            super::environment::NUMBER.as_str(),
            super::environment::LOCAL_ADDRESS.as_str(),
        ];
        let keys = super::masker::KEYS.as_str();
        for pattern in [shapes, keys].into_iter().chain(of_variables).chain(super::writings::patterns()) {
            let compiled = RegexBuilder::new(pattern).size_limit(MAX).build();
            assert!(compiled.is_ok(), "{pattern}");
        }
    }
}
