//! Reads the configuration from its text.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{ConfigError, Fault};
use super::sections::Config;
use crate::base::yaml;

/// Parses a configuration. `file` is its name in errors.
pub fn parse(text: &str, file: &str) -> Result<Config, ConfigError> {
    parse_as(text, file)
}

/// Returns the keys that a configuration sets, or every error in it.
pub fn check(text: &str, file: &str) -> Result<Value, Vec<Fault>> {
    if is_empty(text) {
        return Ok(Value::Null);
    }
    let faults = yaml::faults::<Config>(text);
    if !faults.is_empty() {
        return Err(faults.iter().map(|error| Fault::from_yaml(error, file)).collect());
    }
    yaml::from_str(text).map_err(|error| vec![Fault::from_yaml(&error, file)])
}

/// Returns whether a text has nothing but comments.
fn is_empty(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

/// Parses YAML of any form; text with nothing but comments gives the default.
pub fn parse_as<T: DeserializeOwned + Default>(text: &str, file: &str) -> Result<T, ConfigError> {
    if is_empty(text) {
        return Ok(T::default());
    }
    yaml::from_str(text).map_err(|error| ConfigError::from_yaml(&error, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, "architect.yml").expect_err("the text is no configuration").to_string()
    }

    #[test]
    fn errors_show_place_excerpt_and_the_way_out() {
        insta::assert_snapshot!("unknown_key", error("llm:\n  modle: openai::gpt-5\n"));
        insta::assert_snapshot!("wrong_type", error("llm:\n  timeout: soon\n"));
        insta::assert_snapshot!(
            "out_of_range",
            error("hooks:\n  pre_tool_use:\n  - name: x\n    command: y\n    timeout: 900\n")
        );
        insta::assert_snapshot!("duplicate_key", error("llm:\n  stream: true\n  stream: false\n"));
        insta::assert_snapshot!("broken_yaml", error("llm: [unclosed\n"));
        insta::assert_snapshot!("unknown_variant", error("github:\n  comment: allways\n"));
    }

    #[test]
    fn an_empty_file_is_the_default_configuration() {
        assert!(parse("# nothing yet\n\n", "x").is_ok_and(|config| config.llm.stream));
    }
}
