//! Layout of lists: what `$$$NAME` stands for is taken from the text as it is, with its lines and the space around it.

use ast_grep_core::NodeMatch;
use ast_grep_core::tree_sitter::StrDoc;
use serde_json::Value;

use crate::language::PatternLanguage;

/// Signs around the number of a place in a template. They are of no language, and no file has reason to hold them.
const MARKS: [char; 2] = ['\u{e000}', '\u{e001}'];

/// Place of a template where the text of several nodes is put in the midst of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    name: String,
    /// What stands right before it.
    before: Option<char>,
    /// What stands right behind it.
    behind: Option<char>,
    /// Whether a comma follows, maybe behind a blank.
    has_comma: bool,
}

/// Returns a `fix` with marks in place of the lists that keep their layout, and those lists. One that begins a line takes the
/// indentation of the template instead, and `transformed` names are no nodes.
pub(crate) fn with_marks(fix: &Value, is_transformed: impl Fn(&str) -> bool) -> (Value, Vec<Spread>) {
    let mut spreads = Vec::new();
    let mut fix = fix.clone();
    let template = match &mut fix {
        Value::Object(form) => form.get_mut("template"),
        text => Some(text),
    };
    if let Some(Value::String(template)) = template {
        *template = marked(template, &is_transformed, &mut spreads);
    }
    (fix, spreads)
}

fn marked(template: &str, is_transformed: &impl Fn(&str) -> bool, spreads: &mut Vec<Spread>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("$$$") {
        let behind = &rest[at + 3..];
        let is_part = |sign: char| sign.is_ascii_uppercase() || sign == '_' || sign.is_ascii_digit();
        let name = &behind[..behind.find(|sign| !is_part(sign)).unwrap_or(behind.len())];
        text += &rest[..at];
        let line = text.rsplit('\n').next().unwrap_or_default();
        rest = &behind[name.len()..];
        if name.is_empty() || line.trim().is_empty() || is_transformed(name) {
            text += "$$$";
            text += name;
            continue;
        }
        let before = text.chars().next_back();
        text += &mark(spreads.len());
        spreads.push(Spread {
            name: name.to_owned(),
            before,
            behind: rest.chars().next(),
            has_comma: rest.trim_start().starts_with(','),
        });
    }
    text + rest
}

fn mark(index: usize) -> String {
    format!("{}{index}{}", MARKS[0], MARKS[1])
}

/// Returns a replacement with the texts of its lists in place of their marks.
pub(crate) fn filled(
    replacement: &str,
    spreads: &[Spread],
    found: &NodeMatch<'_, StrDoc<PatternLanguage>>,
    text: &str,
) -> String {
    let mut filled = String::with_capacity(replacement.len());
    let mut rest = replacement;
    for (index, spread) in spreads.iter().enumerate() {
        let Some((before, behind)) = rest.split_once(&mark(index)) else { continue };
        filled += before;
        filled += spread.text(found, text);
        rest = behind;
    }
    filled + rest
}

impl Spread {
    fn text<'t>(&self, found: &NodeMatch<'_, StrDoc<PatternLanguage>>, text: &'t str) -> &'t str {
        let nodes = found.get_env().get_multiple_matches(&self.name);
        let nodes = match nodes.split_last() {
            // The comma behind the last of them is there already.
            Some((last, others)) if self.has_comma && last.text() == "," => others,
            _ => &nodes,
        };
        let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return "" };
        let (mut start, mut end) = (first.range().start, last.range().end);
        // The space before the first belongs to a bracket, if that is the same one.
        let space = text[..start].trim_end();
        if self.before.is_some() && space.chars().next_back() == self.before {
            start = space.len();
        }
        let space = text[end..].trim_start();
        if self.behind.is_some() && space.chars().next() == self.behind {
            end = text.len() - space.len();
        }
        &text[start..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_within_a_line_keep_their_layout() {
        for (fix, expected, count) in [
            ("f($$$A)", "f(\u{e000}0\u{e001})", 1),
            ("f($$$A, $B, $$$REST)", "f(\u{e000}0\u{e001}, $B, \u{e000}1\u{e001})", 2),
            ("with x:\n    $$$BODY\n", "with x:\n    $$$BODY\n", 0),
            ("$$$A", "$$$A", 0),
            ("f($$$)", "f($$$)", 0),
            ("f($$$T)", "f($$$T)", 0),
        ] {
            let (with, spreads) = with_marks(&Value::from(fix), |name| name == "T");
            assert_eq!((with, spreads.len()), (Value::from(expected), count));
        }
    }
}
