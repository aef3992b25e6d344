//! Replacements of a regular expression: how groups are referred to, and what looks like a reference and is none.

use super::ToolError;

/// Part of a replacement that looks like a reference to a group, and is none that can be followed. Were it taken as text, it would
/// be written into every place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{reference} in the replacement is no group of the pattern; nothing was changed. Write a group as {groups}, and this text as \
     \\{reference}"
)]
pub(super) struct NoGroup {
    reference: String,
    groups: String,
}

impl From<NoGroup> for ToolError {
    fn from(error: NoGroup) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Returns a replacement as the library reads it: groups of the pattern, which may be written `$1`, `\1`, `$&` or
/// `\g<name>`, as `${1}`, and every other dollar sign doubled.
pub(super) fn template(replacement: &str, groups: &[String]) -> Result<String, NoGroup> {
    let mut text = String::with_capacity(replacement.len());
    let mut rest = replacement;
    while let Some(at) = rest.find(['$', '\\']) {
        let (sign, after) = (&rest[at..=at], &rest[at + 1..]);
        text += &rest[..at];
        let escaped = [("n", "\n"), ("r", "\r"), ("t", "\t"), ("\\", "\\"), ("$", "$$")]
            .into_iter()
            .find(|(letter, _)| sign == "\\" && after.starts_with(letter));
        rest = if let Some((name, used)) = group(sign, after, groups) {
            text += &format!("${{{name}}}");
            &after[used..]
        } else if let Some((letter, meant)) = escaped {
            text += meant;
            &after[letter.len()..]
        } else if let Some(length) = unknown_reference(sign, after, groups) {
            let groups: Vec<String> = groups.iter().map(|name| format!("${{{name}}}")).collect();
            let reference = rest[at..=at + length].to_owned();
            return Err(NoGroup { reference, groups: groups.join(", ") });
        } else {
            text += if sign == "$" { "$$" } else { sign };
            after
        };
    }
    Ok(text + rest)
}

/// Returns the group that a sign and what follows refer to, and the length of what follows.
fn group<'a>(sign: &str, after: &'a str, groups: &[String]) -> Option<(&'a str, usize)> {
    let known = |name: &str| groups.iter().any(|group| group == name);
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = (1..=digits).rev().find(|count| known(&after[..*count]));
    let between = |open: &str, close: char| {
        let (name, _) = after.strip_prefix(open)?.split_once(close)?;
        known(name).then_some((name, open.len() + name.len() + 1))
    };
    match sign {
        "$" if after.starts_with('&') => Some(("0", 1)),
        "$" => numbered.map(|count| (&after[..count], count)).or_else(|| between("{", '}')),
        _ => numbered.map(|count| (&after[..count], count)).or_else(|| between("g<", '>')),
    }
}

/// Returns the length of what follows a sign, if both look like a reference: in a form of another language, or to a group that the
/// pattern does not have. A `$name` or `${name}` may be a variable in the text, unless the pattern has groups with names.
fn unknown_reference(sign: &str, after: &str, groups: &[String]) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = |text: &str| text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    let between = |open: &str, close: char| {
        let (name, _) = after.strip_prefix(open)?.split_once(close)?;
        (!name.is_empty() && name.chars().all(is_word)).then_some((name, open.len() + name.len() + 1))
    };
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let has_names = groups.iter().any(|group| !is_number(group));
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        return Some(digits);
    }
    if sign == "$" {
        let name = &after[..word(after)];
        let is_group = groups.iter().any(|group| !is_number(group) && name.starts_with(group.as_str()));
        let braced = between("{", '}').filter(|(name, _)| is_number(name) || has_names);
        return (is_group.then_some(name.len())).or(between("<", '>').or(braced).map(|(_, length)| length));
    }
    let forms = [("g<", '>'), ("g{", '}'), ("k<", '>'), ("k{", '}'), ("k'", '\'')];
    // A change of case, of which a letter before a code such as `\u00e9` is none.
    let changes_case = after.starts_with(['U', 'L', 'u', 'l'])
        && after[1..].starts_with(['$', '\\'])
        && after[2..].starts_with(|c: char| c.is_ascii_digit() || matches!(c, '{' | '&' | 'g' | '<'));
    let quoted = forms.iter().find_map(|(open, close)| between(open, *close)).map(|(_, length)| length);
    quoted.or(changes_case.then_some(1))
}

#[cfg(test)]
mod tests {
    use super::template;

    #[test]
    fn groups_are_written_in_many_ways() {
        let groups = ["0", "1", "2", "name"].map(str::to_owned);
        for (replacement, expected) in [
            ("plain", "plain"),
            ("$1b", "${1}b"),
            ("\\1b\\2", "${1}b${2}"),
            ("${1}b", "${1}b"),
            ("$10", "${1}0"),
            ("\\$3", "$$3"),
            ("\\\\3", "\\3"),
            ("\\$1\\\\1", "$$1\\1"),
            ("\\g<name>!", "${name}!"),
            ("${name}", "${name}"),
            ("$other!", "$$other!"),
            ("<$&>", "<${0}>"),
            ("costs 5$", "costs 5$$"),
            ("a\\nb\\d\\u00e9\\Users", "a\nb\\d\\u00e9\\Users"),
        ] {
            assert_eq!(template(replacement, &groups).as_deref(), Ok(expected), "{replacement}");
        }
        // Without groups that have names, these are variables of a shell or another language.
        let unnamed = ["0", "1"].map(str::to_owned);
        assert_eq!(template("${HOME}/$name", &unnamed).as_deref(), Ok("$${HOME}/$$name"));
    }

    #[test]
    fn what_looks_like_a_group_and_is_none_is_refused() {
        let groups = ["0", "1", "name"].map(str::to_owned);
        for (replacement, reference) in [
            ("a$2b", "$2"),
            ("\\2", "\\2"),
            ("${2}", "${2}"),
            ("${other}", "${other}"),
            ("$<name>", "$<name>"),
            ("\\k<name>", "\\k<name>"),
            ("\\k'name'", "\\k'name'"),
            ("\\g<other>", "\\g<other>"),
            ("\\g{1}", "\\g{1}"),
            ("$name!", "$name"),
            ("$names", "$names"),
            ("\\U$1", "\\U"),
            ("\\u\\1", "\\u"),
        ] {
            let error = template(replacement, &groups).expect_err(replacement).to_string();
            let expected = format!(
                "{reference} in the replacement is no group of the pattern; nothing was changed. Write a group as ${{0}}, ${{1}}, \
                 ${{name}}, and this text as \\{reference}"
            );
            assert_eq!(error, expected, "{replacement}");
        }
    }
}
