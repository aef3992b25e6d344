//! Edits of the text. Anything they cannot handle, such as a key after `?`, results in unexpected values, which the caller
//! detects.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::{Document, Kind, Node, entry_end, parse, render};
use crate::ManifestError;
use crate::change::{Change, Edit, Step, shown};
use crate::value::Value;

pub(crate) fn edit(text: &str, edit: &Edit) -> Result<String, ManifestError> {
    let document = parse(text)?;
    let (last, parents) = match (&edit.change, edit.at.split_last()) {
        (Change::Remove | Change::Rename(_), Some((last, parents))) => (Some(last), parents),
        _ => (None, &edit.at[..]),
    };
    let target = document.find(parents)?;
    let entangled = || ManifestError::Entangled(edit.place());
    let (range, new) = match (&edit.change, last) {
        (Change::Set(value), _) => {
            document.own(target, &edit.at)?;
            match edit.at.split_last() {
                None => set_root(text, target, value),
                Some((Step::Key(key), parent)) if target.start == target.end => {
                    let (key, value_node) = document.find(parent)?.entry(key).ok_or_else(entangled)?;
                    let end = entry_end(text, key, value_node);
                    // Behind the colon a mapping cannot begin, but one in braces can.
                    (end..end, format!(" {}", render::flow(value)))
                }
                Some((Step::Index(_), _)) if target.start == target.end => return Err(entangled()),
                Some(_) if value.is_empty() && target.is_block_collection() => {
                    emptied(text, &document, target, &edit.at, value)
                }
                Some((_, parent)) if target.is_block_scalar() => {
                    let parent = document.find(parent)?;
                    set_block_scalar(text, parent, target, value).ok_or_else(entangled)?
                }
                Some((_, parent)) => {
                    let is_flow = document.find(parent)?.is_flow();
                    (target.start..target.end, set(text, target, value, is_flow))
                }
            }
        }
        (Change::Insert { key, below, value }, _) => {
            let value = Value::nested(below, value.clone());
            insert_entry(text, target, key, &value).ok_or_else(entangled)?
        }
        (Change::Append(item), _) => append(text, target, item).ok_or_else(entangled)?,
        (Change::Rename(to), Some(Step::Key(key))) => {
            let (key, _) = target.entry(key).ok_or_else(entangled)?;
            let Kind::Scalar { style, .. } = &key.kind else { return Err(entangled()) };
            let new = match style {
                ScalarStyle::Plain => render::key(to, target.is_flow()),
                style => render::scalar(&Value::Text(to.clone()), *style, target.is_flow()),
            };
            (key.start..key.end, new)
        }
        (Change::Remove, Some(step)) => {
            let at = target.index_of(step).ok_or_else(entangled)?;
            if target.is_block_collection() && target.parts(text).len() == 1 {
                let empty = match step {
                    Step::Index(_) => Value::List(Vec::new()),
                    Step::Key(_) => Value::Map(Vec::new()),
                };
                emptied(text, &document, target, parents, &empty)
            } else {
                remove(text, target, at).ok_or_else(entangled)?
            }
        }
        _ => return Err(entangled()),
    };
    let mut text = text.to_owned();
    text.replace_range(range, &new);
    Ok(text)
}

impl Document {
    /// Returns the node at a place, if no other place shares it.
    fn find(&self, at: &[Step]) -> Result<&Node, ManifestError> {
        let mut node = &self.root;
        self.own(node, &[])?;
        for (depth, step) in at.iter().enumerate() {
            let here = &at[..=depth];
            let below = match (&node.kind, step) {
                (Kind::List { items, .. }, Step::Index(index)) => items.get(*index),
                (Kind::Map { .. }, Step::Key(key)) => node.entry(key).map(|(_, value)| value),
                _ => None,
            };
            node = below.ok_or_else(|| ManifestError::Entangled(shown(here)))?;
            self.own(node, here)?;
        }
        Ok(node)
    }

    fn own(&self, node: &Node, at: &[Step]) -> Result<(), ManifestError> {
        if matches!(node.kind, Kind::Alias) || self.used_anchors.contains(&node.anchor) {
            return Err(ManifestError::Shared(shown(at)));
        }
        if node.has_tag { Err(ManifestError::Tagged(shown(at))) } else { Ok(()) }
    }
}

impl Node {
    fn is_flow(&self) -> bool {
        matches!(self.kind, Kind::List { is_flow: true, .. } | Kind::Map { is_flow: true, .. })
    }

    fn is_block_collection(&self) -> bool {
        matches!(self.kind, Kind::List { is_flow: false, .. } | Kind::Map { is_flow: false, .. })
    }

    fn is_block_scalar(&self) -> bool {
        matches!(self.kind, Kind::Scalar { style: ScalarStyle::Literal | ScalarStyle::Folded, .. })
    }

    fn entry(&self, name: &str) -> Option<(&Self, &Self)> {
        let Kind::Map { entries, .. } = &self.kind else { return None };
        let is_it = |key: &Self| matches!(&key.kind, Kind::Scalar { text, .. } if text == name);
        entries.iter().find(|(key, _)| is_it(key)).map(|(key, value)| (key, value))
    }

    fn index_of(&self, step: &Step) -> Option<usize> {
        match (&self.kind, step) {
            (Kind::List { items, .. }, Step::Index(index)) => (*index < items.len()).then_some(*index),
            (Kind::Map { entries, .. }, Step::Key(name)) => entries
                .iter()
                .position(|(key, _)| matches!(&key.kind, Kind::Scalar { text, .. } if text == name)),
            _ => None,
        }
    }

    /// Returns where the entries of a mapping, or the items of a list, begin and end.
    fn parts(&self, text: &str) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::List { items, .. } => items.iter().map(|item| item.start..item.end).collect(),
            Kind::Map { entries, .. } => {
                entries.iter().map(|(key, value)| key.start..entry_end(text, key, value)).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

/// Returns blanks up to the column of a place.
fn indent(text: &str, at: usize) -> String {
    text[line_start(text, at)..at].chars().map(|_| ' ').collect()
}

fn set_root(text: &str, root: &Node, value: &Value) -> (Range<usize>, String) {
    if root.start < root.end {
        return (root.start..root.end, set(text, root, value, false));
    }
    // Behind the comments of an empty file.
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    (text.len()..text.len(), format!("{gap}{}\n", render::block(value, "")))
}

fn set(text: &str, old: &Node, value: &Value, is_in_flow: bool) -> String {
    match (&old.kind, value) {
        (_, Value::List(_) | Value::Map(_)) if is_in_flow || old.is_flow() => render::flow(value),
        (_, Value::List(_) | Value::Map(_)) => render::block(value, &indent(text, old.start)),
        (Kind::Scalar { style, .. }, value) => render::scalar(value, *style, is_in_flow),
        (_, value) => render::scalar(value, ScalarStyle::Plain, is_in_flow),
    }
}

/// Returns what replaces a collection in lines of its own that gets empty: brackets, behind the colon of its key if
/// there is no comment between.
fn emptied(
    text: &str,
    document: &Document,
    collection: &Node,
    at: &[Step],
    empty: &Value,
) -> (Range<usize>, String) {
    let colon = || {
        let (Step::Key(name), parent) = at.split_last()? else { return None };
        let (key, _) = document.find(parent).ok()?.entry(name)?;
        let between = &text[key.end..collection.start];
        let colon = between.find(':')? + 1;
        between[colon..].trim().is_empty().then_some(key.end + colon)
    };
    match colon() {
        Some(colon) => (colon..collection.end, format!(" {}", render::flow(empty))),
        None => (collection.start..collection.end, render::flow(empty)),
    }
}

/// Returns what replaces a block of lines, with its `|` or `>`: another block where the text is one of lines.
fn set_block_scalar(text: &str, parent: &Node, old: &Node, value: &Value) -> Option<(Range<usize>, String)> {
    let (header, comment) = block_header(text, old)?;
    let start = parent.parts(text).into_iter().find(|part| part.contains(&old.start))?.start;
    let column = indent(text, start);
    let new = match value {
        Value::List(_) | Value::Map(_) => render::flow(value),
        Value::Text(text) => {
            render::literal(text, &column).unwrap_or_else(|| render::scalar(value, ScalarStyle::Plain, false))
        }
        value => render::scalar(value, ScalarStyle::Plain, false),
    };
    // The comment behind the sign stays on its line.
    let new = match (new.split_once('\n'), comment) {
        (_, "") => new,
        (Some((sign, lines)), comment) => format!("{sign} {comment}\n{lines}"),
        (None, comment) => format!("{new} {comment}"),
    };
    Some((header..old.end.max(header + 1), new))
}

/// Returns where the sign of a block of lines is, and the comment behind it.
fn block_header<'t>(text: &'t str, block: &Node) -> Option<(usize, &'t str)> {
    let is_sign = |at: usize| {
        let rest = text[at + 1..].lines().next().unwrap_or_default();
        let rest = rest
            .trim_start_matches(|sign: char| sign.is_ascii_digit() || matches!(sign, '+' | '-'))
            .trim_end();
        let comment = rest.trim_start();
        (rest.is_empty() || comment.len() < rest.len() && comment.starts_with('#')).then_some((at, comment))
    };
    // A comment may have such signs as well, so the first one of its line counts.
    let end = text[..block.start].rfind(['|', '>'])?;
    let start = line_start(text, end);
    let mut signs = text[start..=end].match_indices(['|', '>']).map(|(at, _)| start + at);
    signs.find_map(is_sign)
}

/// Returns what is put behind the last part of a collection in brackets.
fn insert_in_flow(text: &str, collection: &Node, new: &str) -> (Range<usize>, String) {
    let parts = collection.parts(text);
    let (Some(last), Some(first)) = (parts.last(), parts.first()) else {
        let (open, close) =
            if matches!(collection.kind, Kind::Map { .. }) { ("{ ", " }") } else { ("[", "]") };
        return (collection.start..collection.end, format!("{open}{new}{close}"));
    };
    let prefix = &text[line_start(text, first.start)..first.start];
    let behind = &text[last.end..collection.end];
    let comma = behind.find(',').filter(|comma| behind[..*comma].trim().is_empty());
    let at = comma.map_or(last.end, |comma| last.end + comma + 1);
    let gap = if prefix.trim().is_empty() && text[collection.start..first.start].contains('\n') {
        format!("\n{prefix}")
    } else {
        " ".to_owned()
    };
    if comma.is_some() {
        // The comment of the line stays with what it is about.
        let at = if gap.starts_with('\n') { line_end(text, at).min(collection.end - 1) } else { at };
        return (at..at, format!("{gap}{new},"));
    }
    // So does that of the last part, which gets a comma.
    let end = if gap.starts_with('\n') { line_end(text, at).min(collection.end - 1) } else { at };
    (at..end, format!(",{}{gap}{new}", text[at..end].trim_end()))
}

fn insert_entry(text: &str, map: &Node, key: &str, value: &Value) -> Option<(Range<usize>, String)> {
    let Kind::Map { is_flow, entries } = &map.kind else { return None };
    if *is_flow {
        let is_whole = map.start == 0 && text[map.end..].trim().is_empty() && entries.is_empty();
        if is_whole {
            return Some((map.start..map.end, render::entry(key, value, "")));
        }
        let entry = format!("{}: {}", render::key(key, true), render::flow(value));
        return Some(insert_in_flow(text, map, &entry));
    }
    let parts = map.parts(text);
    let indent = indent(text, parts.first()?.start);
    let at = line_end(text, parts.last()?.end);
    Some((at..at, format!("\n{indent}{}", render::entry(key, value, &indent))))
}

fn append(text: &str, list: &Node, item: &Value) -> Option<(Range<usize>, String)> {
    let Kind::List { is_flow, items } = &list.kind else { return None };
    if *is_flow {
        return Some(insert_in_flow(text, list, &render::flow(item)));
    }
    let dash = dash(text, items.first()?.start)?;
    let indent = indent(text, dash);
    let at = line_end(text, items.last()?.end);
    Some((at..at, format!("\n{indent}- {}", render::block(item, &format!("{indent}  ")))))
}

/// Returns where the `-` of an item stands.
pub(super) fn dash(text: &str, item: usize) -> Option<usize> {
    let before = text[..item].trim_end();
    before.ends_with('-').then(|| before.len() - 1)
}

fn remove(text: &str, collection: &Node, index: usize) -> Option<(Range<usize>, String)> {
    let parts = collection.parts(text);
    let part = parts.get(index)?.clone();
    let next = parts.get(index + 1);
    if collection.is_flow() {
        let whole = match (next, index.checked_sub(1).and_then(|before| parts.get(before))) {
            (Some(next), _) => part.start..next.start,
            (None, Some(before)) => before.end..part.end,
            (None, None) => part.clone(),
        };
        let has_comment =
            text[whole.start..part.start].contains('#') || text[part.end..whole.end].contains('#');
        return (!has_comment).then(|| (whole, String::new()));
    }
    let is_list = matches!(collection.kind, Kind::List { .. });
    let start = if is_list { dash(text, part.start)? } else { part.start };
    if text[line_start(text, start)..start].trim().is_empty() {
        let end = line_end(text, part.end);
        let end = if end < text.len() { end + 1 } else { end };
        return Some((line_start(text, start)..end, String::new()));
    }
    // The first of a mapping in a list, behind the `-`.
    let next = if is_list { dash(text, next?.start)? } else { next?.start };
    (!text[part.end..next].contains('#')).then(|| (start..next, String::new()))
}
