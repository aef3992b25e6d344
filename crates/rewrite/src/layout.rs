//! Layout of a replacement: what metavariables stand for is taken from the text as it is, with its lines and the space around
//! it, and new lines are indented as the file is.

use std::cmp::Ordering;
use std::ops::Range;

use ast_grep_core::NodeMatch;
use ast_grep_core::tree_sitter::StrDoc;
use tree_sitter::Node;

use crate::Language;
use crate::expressions::{Class, Expression, Fate, fates, holds_items, in_parentheses};
use crate::language::PatternLanguage;
use crate::source::{DEFAULT_WIDTH, Source};

type Found<'t> = NodeMatch<'t, StrDoc<PatternLanguage>>;

/// `fix` of a rule, in its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// Node of `$NAME`.
    Node(String),
    /// Nodes of `$$$NAME` that begin a line: they take the indentation of the template.
    Lines(String),
    /// Nodes of `$$$NAME` in the midst of a line.
    List(Spread),
    /// Text that a `transform` has made.
    Made(String),
}

/// Place of a template where the text of several nodes is put in the midst of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spread {
    name: String,
    /// What stands right before it.
    before: Option<char>,
    /// What stands right behind it.
    behind: Option<char>,
    /// Whether a comma follows, maybe behind a blank.
    has_comma: bool,
}

/// Replacement that is being put together.
#[derive(Default)]
struct Output {
    text: String,
    /// Starts of lines that are indented already.
    fixed: Vec<usize>,
    /// Values that may need parentheses.
    values: Vec<(Range<usize>, Expression)>,
    /// Whether there is something that cannot be put in.
    is_misfit: bool,
}

impl Template {
    /// Takes a `fix` apart. `is_made` says which names a `transform` makes.
    pub(crate) fn new(fix: &serde_json::Value, is_made: impl Fn(&str) -> bool) -> Self {
        let template = match fix {
            serde_json::Value::Object(form) => form.get("template").and_then(serde_json::Value::as_str),
            text => text.as_str(),
        };
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = template.unwrap_or_default();
        while let Some(at) = rest.find('$') {
            text += &rest[..at];
            let behind = rest[at..].trim_start_matches('$');
            let dollars = (rest.len() - at - behind.len()).min(3);
            let behind = &rest[at + dollars..];
            let is_part = |sign: char| sign.is_ascii_uppercase() || sign == '_' || sign.is_ascii_digit();
            let name = &behind[..behind.find(|sign| !is_part(sign)).unwrap_or(behind.len())];
            rest = &behind[name.len()..];
            if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
                text += &"$$$"[..dollars];
                text += name;
                continue;
            }
            let has_line = match text.rsplit_once('\n') {
                Some((_, line)) => line.trim().is_empty(),
                None => text.trim().is_empty() && parts.is_empty(),
            };
            let before = text.chars().next_back();
            let name = name.to_owned();
            let part = match dollars {
                _ if is_made(&name) => Part::Made(name),
                3 if has_line => Part::Lines(name),
                3 => {
                    let has_comma = rest.trim_start().starts_with(',');
                    Part::List(Spread { name, before, behind: rest.chars().next(), has_comma })
                }
                _ => Part::Node(name),
            };
            parts.extend([Part::Text(std::mem::take(&mut text)), part]);
        }
        parts.push(Part::Text(text + rest));
        Self(parts)
    }

    /// Returns the names of the metavariables that a match binds.
    pub(crate) fn names(&self) -> Vec<&str> {
        let names = self.0.iter().filter_map(|part| match part {
            Part::Node(name) | Part::Lines(name) => Some(name.as_str()),
            Part::List(spread) => Some(spread.name.as_str()),
            Part::Text(_) | Part::Made(_) => None,
        });
        names.collect()
    }

    /// Returns the replacement of a match, in which what metavariables stand for is in parentheses where it would be taken apart; `None` if
    /// it would be even so.
    pub(crate) fn filled(&self, found: &Found<'_>, source: &Source<'_>) -> Option<String> {
        let language = found.lang().0;
        let out = self.put_together(found, source, &[]);
        let fates = if out.values.is_empty() { Vec::new() } else { fates(language, &out.text, &out.values) };
        if out.is_misfit || fates.contains(&Fate::Misfits) {
            return None;
        }
        let held: Vec<bool> = fates.iter().map(|fate| *fate == Fate::NeedsParentheses).collect();
        let out = if held.contains(&true) { self.put_together(found, source, &held) } else { out };
        Some(out.indented(source.indent_at(found.range().start)))
    }

    /// Returns the parts of a replacement, with parentheses around some of the values among them.
    fn put_together(&self, found: &Found<'_>, source: &Source<'_>, held: &[bool]) -> Output {
        let language = found.lang().0;
        let base = source.indent_at(found.range().start);
        let width = self.width();
        let mut out = Output::default();
        // Indentation of the template's current line, as the file has it.
        let mut indent = String::new();
        // The same of the line that the current one is indented below.
        let mut header = None;
        let mut is_first_gone = false;
        for (at, part) in self.0.iter().enumerate() {
            let env = found.get_env();
            match part {
                Part::Text(text) => {
                    let is_next = std::mem::take(&mut is_first_gone);
                    let text = text
                        .trim_start()
                        .strip_prefix(',')
                        .filter(|_| is_next)
                        .map_or(text.as_str(), str::trim_start);
                    let lines = text.split('\n').count();
                    for (index, line) in text.split('\n').enumerate() {
                        let rest = line.trim_start_matches([' ', '\t']);
                        if index > 0 {
                            let new = source.converted(&line[..line.len() - rest.len()], width, base);
                            if !rest.is_empty() || index + 1 == lines {
                                header = match new.len().cmp(&indent.len()) {
                                    Ordering::Less => None,
                                    Ordering::Equal => header,
                                    Ordering::Greater => Some(indent),
                                };
                                indent = new;
                            }
                            out.text += source.newline;
                            out.text += if rest.is_empty() && index + 1 < lines { "" } else { &indent };
                            out.text += rest;
                        } else {
                            out.text += line;
                        }
                    }
                }
                Part::Node(name) => {
                    let behind = match self.0.get(at + 1) {
                        Some(Part::Text(text)) => text.as_str(),
                        _ => "",
                    };
                    if let Some(node) = env.get_match(name) {
                        let layout = (base, indent.as_str());
                        out.put_node(source, (language, node.get_inner_node()), (held, behind), layout);
                    }
                }
                Part::Lines(name) => {
                    let nodes = env.get_multiple_matches(name);
                    let range = nodes.first().zip(nodes.last());
                    // Go's list of statements has the end of its last line.
                    let range = range.map(|(first, last)| {
                        let start = first.range().start;
                        start..start + source.text[start..last.range().end].trim_end().len()
                    });
                    let starts = nodes.iter().map(|node| node.range().start);
                    let header = header.as_deref();
                    match source.indent_of_block(starts) {
                        Some(old) => out.put(source, range, old, (base, &indent, header)),
                        None => out.put(source, range, base, (base, header.unwrap_or(&indent), None)),
                    }
                }
                Part::List(spread) => {
                    let list = spread.text(found, source.text);
                    is_first_gone = list.is_empty() && out.begins_list();
                    out.put_as_is(list);
                }
                Part::Made(name) => {
                    let text = env.get_transformed(name).map_or(&[][..], Vec::as_slice);
                    let text = String::from_utf8_lossy(text);
                    let value = in_parentheses(found.lang().0, &text).and_then(|held| held.value);
                    let value = value.filter(|value| value.class != Class::Closed);
                    let text = text.replace('\n', &format!("\n{indent}"));
                    out.put_value(value, held, |out| out.text += &text);
                }
            }
        }
        out
    }

    /// Returns the width of the template's own level of indentation, in blanks.
    fn width(&self) -> usize {
        let texts =
            self.0.iter().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
        let lines = texts.flat_map(|text| text.split('\n').skip(1));
        let widths = lines.map(|line| line.len() - line.trim_start_matches(' ').len());
        widths.filter(|width| *width > 0).min().unwrap_or(DEFAULT_WIDTH)
    }
}

/// Returns a node, or the one within it that is all of it.
fn single(mut node: Node<'_>) -> Node<'_> {
    while let Some(child) = node.named_child(0).filter(|child| child.byte_range() == node.byte_range()) {
        node = child;
    }
    node
}

impl Output {
    /// Returns whether a value that is put in next may need parentheses, given the text behind it.
    fn may_bind(&self, value: &Expression, behind: &str) -> bool {
        let is_part = matches!(value.class, Class::List | Class::Item | Class::Assignment | Class::Declared);
        let is_argument = self.text.trim_end().ends_with(['(', '[', ','])
            && behind.trim_start().starts_with([')', ']', ',']);
        let is_number = ["number", "integer", "int_literal", "integer_literal", "float_literal"];
        let is_open = value.class != Class::Closed
            || self.text.ends_with("new ")
            || self.text.ends_with('{')
            || behind.starts_with('.') && is_number.iter().any(|kind| value.kind.ends_with(kind));
        is_open && (is_part || !is_argument) || value.has_lines || value.starts_with_brace
    }

    /// Puts in a node of the file.
    fn put_node(
        &mut self,
        source: &Source<'_>,
        (language, node): (Language, Node<'_>),
        (held, behind): (&[bool], &str),
        (base, indent): (&str, &str),
    ) {
        let range = node.byte_range();
        let value = Expression::new(single(node), source.text);
        // The grammar of Python takes `*a.b` for a member of `*a`.
        self.is_misfit |=
            value.class == Class::Item && node.parent().is_some_and(|parent| !holds_items(parent.kind()));
        // Two braces would be one of a string.
        if language == Language::Python
            && source.text[range.clone()].starts_with('{')
            && self.text.ends_with('{')
        {
            self.text.push(' ');
        }
        let value = Some(value).filter(|value| self.may_bind(value, behind));
        let old = source.indent_at(range.start);
        self.put_value(value, held, |out| out.put(source, Some(range), old, (base, indent, None)));
    }

    /// Puts in a value, if it is one that may need parentheses, or something else. Those that are held get some.
    fn put_value(&mut self, value: Option<Expression>, held: &[bool], put: impl FnOnce(&mut Self)) {
        let Some(value) = value else { return put(self) };
        let is_held = held.get(self.values.len()) == Some(&true);
        self.text += if is_held { "(" } else { "" };
        let start = self.text.len();
        put(self);
        self.values.push((start..self.text.len(), value));
        self.text += if is_held { ")" } else { "" };
    }

    /// Returns whether what is put in next is the first of a list: in parentheses, only that of a call may have a single item.
    fn begins_list(&self) -> bool {
        let call = self.text.strip_suffix('(').and_then(|text| text.chars().next_back());
        self.text.ends_with('[') || call.is_some_and(|sign| sign.is_alphanumeric() || "_)]>!".contains(sign))
    }

    fn put_as_is(&mut self, text: &str) {
        let start = self.text.len();
        self.fixed.extend(text.match_indices('\n').map(|(at, _)| start + at + 1));
        self.text += text;
    }

    /// Puts in a part of the file, with its lines as far to the right of the new place as they were of their old one, which had the
    /// indentation `old`. Lines of literals stay, since their blanks are part of the value. Clauses that go on with the statement whose
    /// block this is, such as `else`, go below its new header.
    fn put(
        &mut self,
        source: &Source<'_>,
        range: Option<Range<usize>>,
        old: &str,
        (base, indent, header): (&str, &str, Option<&str>),
    ) {
        let Some(range) = range else { return };
        let is_moved = old.strip_prefix(base) != Some(indent);
        let mut at = range.start;
        for line in source.text[range.clone()].split_inclusive('\n') {
            let can_move = is_moved && !source.is_literal(at);
            let is_clause = || line.len() - line.trim_start().len() == base.len() && !line.trim().is_empty();
            let moved = line.strip_prefix(old).map(|rest| (indent, rest)).or_else(|| {
                let header = header.filter(|_| is_clause())?;
                Some((header, line.strip_prefix(base)?))
            });
            match moved.filter(|_| can_move) {
                _ if at == range.start => {}
                Some((indent, rest)) => {
                    self.text += indent;
                    self.text += rest;
                    at += line.len();
                    continue;
                }
                None => self.fixed.push(self.text.len()),
            }
            self.text += line;
            at += line.len();
        }
    }

    /// Returns the text with the indentation of the match in front of each line but the first.
    fn indented(self, base: &str) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            if at > 0 && !line.trim().is_empty() && self.fixed.binary_search(&at).is_err() {
                text += base;
            }
            text += line;
            at += line.len();
        }
        text
    }
}

impl Spread {
    fn text<'t>(&self, found: &Found<'_>, text: &'t str) -> &'t str {
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
        for (fix, lists, lines) in [
            ("f($$$A)", 1, 0),
            ("f($$$A, $B, $$$REST)", 2, 0),
            ("with x:\n    $$$BODY\n", 0, 1),
            ("$$$A", 0, 1),
            ("f($$$)", 0, 0),
            ("f($$$T)", 0, 0),
            ("$A$$$B", 1, 0),
        ] {
            let Template(parts) = Template::new(&serde_json::Value::from(fix), |name| name == "T");
            let count = |is_one: fn(&Part) -> bool| parts.iter().filter(|part| is_one(part)).count();
            let found =
                (count(|part| matches!(part, Part::List(_))), count(|part| matches!(part, Part::Lines(_))));
            assert_eq!(found, (lists, lines), "{fix}: {parts:?}");
        }
    }
}
