//! Trailers of our commits: whose job they are of, by which our branches are recognized, and who made the changes.

/// The key of the trailer that marks commits of a job.
const TRAILER: &str = "Architect-CI:";

/// The keys of the trailers that name the agent and the model.
const AGENT: &str = "Architect-CI-Agent:";
const MODEL: &str = "Architect-CI-Model:";

/// Returns the trailer line by which the commits of the job with this `key` are recognized.
pub fn trailer(key: &str) -> String {
    format!("{TRAILER} {key}")
}

/// Returns the key of the job that a commit message is of, if it is one of ours.
pub(super) fn key_of(message: &str) -> Option<&str> {
    value(message, TRAILER)
}

fn value<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    message.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim)
}

/// Who has made changes: an agent, and its model or recipe. The texts are already neutralized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// The name of the agent.
    pub agent: String,
    /// The model, as people name it, such as `recipe::recipes/clock.yml`.
    pub model: String,
}

impl Author {
    /// Returns the author that a commit message names.
    pub(super) fn of(message: &str) -> Self {
        let text = |key| value(message, key).unwrap_or_default().to_owned();
        Self { agent: text(AGENT), model: text(MODEL) }
    }

    /// Returns the trailer lines that name the author.
    pub(super) fn lines(&self) -> String {
        let named = [(AGENT, &self.agent), (MODEL, &self.model)].into_iter();
        named.filter(|(_, text)| !text.is_empty()).map(|(key, text)| format!("{key} {text}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_are_read_back() {
        let author = Author { agent: "build".to_owned(), model: "recipe::a.yml".to_owned() };
        let message = format!("Do it\n\n{}{}\n", author.lines(), trailer("nightly-a"));
        assert_eq!((key_of(&message), Author::of(&message)), (Some("nightly-a"), author));
        assert_eq!((key_of("Do it\n"), Author::of("Do it\n")), (None, Author::default()));
        let named = Author { agent: String::new(), model: "m".to_owned() };
        assert_eq!(named.lines(), "Architect-CI-Model: m\n");
    }
}
