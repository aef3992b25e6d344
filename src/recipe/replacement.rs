//! Templates of `replace`: every group that one names has to exist, because what does not exist is replaced by nothing.

use std::cell::RefCell;

use regex::Regex;
use regex_automata::util::interpolate;

/// Returns the first group that a template names, as the pattern's library reads it, and that the pattern does not have.
pub(super) fn unknown_group(pattern: &Regex, template: &str) -> Option<String> {
    let unknown = RefCell::new(None);
    let note = |name: String| {
        unknown.borrow_mut().get_or_insert(name);
    };
    interpolate::string(
        template,
        |index, _| {
            if index >= pattern.captures_len() {
                note(index.to_string());
            }
        },
        |name| {
            let is_known = pattern.capture_names().flatten().any(|known| known == name);
            if !is_known {
                note(name.to_owned());
            }
            None
        },
        &mut String::new(),
    );
    unknown.into_inner()
}

/// Returns how a group that does not exist may have been meant: `$1_new` names the group `1_new`.
pub(super) fn meant(name: &str) -> String {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = name.split_at(digits);
    if number.is_empty() || rest.is_empty() {
        return "write `$$` for a dollar sign".to_owned();
    }
    format!("write `${{{number}}}{rest}` for the group {number} followed by `{rest}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_of_the_pattern() {
        let pattern = Regex::new(r"(\w+)_(?P<kind>old)").expect("a pattern");
        for (template, unknown) in [
            ("$1 ${1}_new $kind ${kind} $0 $$ $$name $ 5 ${", None),
            ("$1_new", Some("1_new")),
            ("$9", Some("9")),
            ("costs $price", Some("price")),
            ("${kind_}", Some("kind_")),
        ] {
            assert_eq!(unknown_group(&pattern, template).as_deref(), unknown, "{template}");
        }
        assert_eq!(meant("1_new"), "write `${1}_new` for the group 1 followed by `_new`");
        assert_eq!(meant("price"), "write `$$` for a dollar sign");
    }
}
