//! One input, several places: a flag, an Action input, an environment variable.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;

use super::error::InputError;
use crate::base::bounded::Bounded;
use crate::base::env::{Variables, is_in_actions, is_in_ci};

/// Flags and variables, asked for one input at a time.
#[derive(Clone, Debug)]
pub struct Lookup {
    flags: BTreeMap<String, String>,
    variables: Variables,
    has_terminal: bool,
}

impl Lookup {
    /// Flags as given on the command line, and the process's variables.
    pub fn new(flags: BTreeMap<String, String>, variables: Variables) -> Self {
        Self { flags, variables, has_terminal: std::io::stdin().is_terminal() }
    }

    /// Returns a copy with another value for an input, above all other sources.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut lookup = self.clone();
        lookup.flags.insert(name.to_owned(), value.to_owned());
        lookup
    }

    /// Returns whether GitHub's runner listens.
    pub fn in_actions(&self) -> bool {
        is_in_actions(&self.variables)
    }

    /// Returns the process's variables.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Returns whether nobody is there to ask.
    pub fn in_ci(&self) -> bool {
        is_in_ci(&self.variables) || !self.has_terminal
    }

    /// Returns the text of an input: from its flag, else its Action input, else `ARCHITECT_…`. An empty Action
    /// input or variable counts as absent.
    pub fn text(&self, name: &str) -> Option<String> {
        if let Some(value) = self.flags.get(name) {
            return Some(value.clone()).filter(|value| !value.is_empty());
        }
        let upper = name.to_ascii_uppercase();
        // GitHub keeps dashes in the names of inputs; shells cannot set such variables.
        let names = [
            format!("INPUT_{upper}"),
            format!("INPUT_{}", upper.replace('-', "_")),
            format!("ARCHITECT_{}", upper.replace('-', "_")),
        ];
        names
            .iter()
            .find_map(|name| self.variables.get(name).filter(|value| !value.trim().is_empty()).cloned())
    }

    /// Returns an input that names a file or folder.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// Parses an input that is true or false; absent means false.
    pub fn flag(&self, name: &str) -> Result<bool, InputError> {
        match self.text(name).as_deref().map(str::trim) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(InputError::Value {
                name: name.to_owned(),
                given: other.to_owned(),
                expected: "true or false".to_owned(),
            }),
        }
    }

    /// Parses an input that is a whole number within bounds.
    pub fn number<const MIN: u64, const MAX: u64>(
        &self,
        name: &str,
    ) -> Result<Option<Bounded<MIN, MAX>>, InputError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let value = text.trim().parse().ok().and_then(|value| Bounded::new(value).ok());
        let unit = if name == "timeout" { "of seconds " } else { "" };
        value.map(Some).ok_or_else(|| InputError::Value {
            name: name.to_owned(),
            given: text.clone(),
            expected: format!("a whole number {unit}from {MIN} to {MAX}"),
        })
    }
}

/// Returns all variables of this process that are valid UTF-8.
pub fn variables() -> Variables {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(flags: &[(&str, &str)], variables: &[(&str, &str)]) -> Lookup {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        Lookup { flags: map(flags), variables: map(variables), has_terminal: true }
    }

    #[test]
    fn flags_beat_inputs_and_inputs_beat_the_environment() {
        let all = [("INPUT_MAX-STEPS", "3"), ("ARCHITECT_MAX_STEPS", "4")];
        assert_eq!(lookup(&[("max-steps", "2")], &all).text("max-steps").as_deref(), Some("2"));
        assert_eq!(lookup(&[], &all).text("max-steps").as_deref(), Some("3"));
        assert_eq!(lookup(&[], &all[1..]).text("max-steps").as_deref(), Some("4"));
        let empty = [("INPUT_MAX-STEPS", ""), ("ARCHITECT_MAX_STEPS", "4")];
        assert_eq!(lookup(&[], &empty).text("max-steps").as_deref(), Some("4"));
        assert_eq!(lookup(&[], &[]).text("max-steps"), None);
    }

    #[test]
    fn ci_is_recognised() {
        assert!(lookup(&[], &[("CI", "true")]).in_ci());
        assert!(lookup(&[], &[("GITHUB_ACTIONS", "true")]).in_ci());
        assert!(!lookup(&[], &[("CI", "false")]).in_ci());
        assert!(Lookup { has_terminal: false, ..lookup(&[], &[]) }.in_ci());
    }

    #[test]
    fn numbers_and_flags_are_checked() {
        let given = lookup(&[("timeout", "1h"), ("max-steps", "7"), ("strict-replay", "yes")], &[]);
        assert_eq!(given.number::<1, 10>("max-steps").ok().flatten().map(Bounded::get), Some(7));
        assert!(given.number::<1, 10>("timeout").is_err());
        assert!(given.flag("strict-replay").is_err());
        assert!(given.flag("trust-head-config").is_ok_and(|flag| !flag));
    }
}
