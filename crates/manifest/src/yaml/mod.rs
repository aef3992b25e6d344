//! YAML: each node with where it is in the text, which edits then change.

mod edit;
mod render;

use std::collections::HashSet;

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle};

use crate::value::Value;
use crate::{ManifestError, line_of};

pub(crate) use edit::edit;

/// Node with its place.
#[derive(Debug)]
struct Node {
    /// Where it begins; anchors and tags come before.
    start: usize,
    /// Where its last sign ends. An empty value begins and ends at one place.
    end: usize,
    kind: Kind,
    /// Number of its anchor, 0 if it has none.
    anchor: usize,
    has_tag: bool,
}

#[derive(Debug)]
enum Kind {
    Scalar { text: String, style: ScalarStyle },
    List { is_flow: bool, items: Vec<Node> },
    Map { is_flow: bool, entries: Vec<(Node, Node)> },
    Alias,
}

/// Document with the anchors that aliases stand for.
struct Document {
    root: Node,
    used_anchors: HashSet<usize>,
}

pub(crate) fn load(text: &str) -> Result<Value, ManifestError> {
    read(text, &parse(text)?.root)
}

/// Returns whether anything stands for what is elsewhere: an anchor, an alias, a tag, or `<<`.
pub(crate) fn has_references(text: &str) -> bool {
    fn refers(node: &Node) -> bool {
        node.anchor != 0
            || node.has_tag
            || match &node.kind {
                Kind::Alias => true,
                Kind::Scalar { .. } => false,
                Kind::List { items, .. } => items.iter().any(refers),
                Kind::Map { entries, .. } => entries.iter().any(|(key, value)| {
                    matches!(&key.kind, Kind::Scalar { text, .. } if text == "<<")
                        || refers(key)
                        || refers(value)
                }),
            }
    }
    parse(text).is_ok_and(|document| refers(&document.root))
}

fn read(text: &str, node: &Node) -> Result<Value, ManifestError> {
    if node.has_tag {
        return Ok(Value::Opaque(text[node.start..node.end].to_owned()));
    }
    Ok(match &node.kind {
        Kind::Alias => Value::Opaque(text[node.start..node.end].to_owned()),
        Kind::Scalar { text, style: ScalarStyle::Plain } => render::resolved(text),
        Kind::Scalar { text, .. } => Value::Text(text.clone()),
        Kind::List { items, .. } => {
            Value::List(items.iter().map(|item| read(text, item)).collect::<Result<_, _>>()?)
        }
        Kind::Map { entries, .. } => {
            let mut read_entries = Vec::with_capacity(entries.len());
            let mut names = HashSet::new();
            for (key, value) in entries {
                let line = || line_of(text, key.start);
                let Kind::Scalar { text: name, .. } = &key.kind else {
                    return Err(ManifestError::ComplexKey { line: line() });
                };
                if !names.insert(name) {
                    return Err(ManifestError::DuplicateKey { line: line(), key: name.clone() });
                }
                read_entries.push((name.clone(), read(text, value)?));
            }
            Value::Map(read_entries)
        }
    })
}

/// Reads the one document of a text.
fn parse(text: &str) -> Result<Document, ManifestError> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut open: Vec<Node> = Vec::new();
    // Keys whose values follow, for each mapping that is open.
    let mut keys: Vec<Option<Node>> = Vec::new();
    let mut root = None;
    let mut used_anchors = HashSet::new();
    let mut documents = 0;
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| syntax(&error))?;
        let range = span.byte_range().unwrap_or_default();
        let node = |kind, anchor, has_tag| Node { start: range.start, end: range.end, kind, anchor, has_tag };
        let done = match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if documents > 1 {
                    return Err(ManifestError::SeveralDocuments { line: line_of(text, range.start) });
                }
                continue;
            }
            Event::Alias(anchor) => {
                used_anchors.insert(anchor);
                node(Kind::Alias, 0, false)
            }
            Event::Scalar(value, style, anchor, tag) => {
                let kind = Kind::Scalar { text: value.into_owned(), style };
                let mut scalar = node(kind, anchor, tag.is_some());
                scalar.end = scalar.start + text[scalar.start..scalar.end].trim_end().len();
                scalar
            }
            Event::SequenceStart(style, anchor, tag) => {
                let is_flow = style == StructureStyle::Flow;
                open.push(node(Kind::List { is_flow, items: Vec::new() }, anchor, tag.is_some()));
                continue;
            }
            Event::MappingStart(style, anchor, tag) => {
                let is_flow = style == StructureStyle::Flow;
                open.push(node(Kind::Map { is_flow, entries: Vec::new() }, anchor, tag.is_some()));
                keys.push(None);
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if matches!(event, Event::MappingEnd) {
                    keys.pop();
                }
                let Some(closed) = open.pop() else { continue };
                with_end(text, closed, span)
            }
            _ => continue,
        };
        match open.last_mut().map(|node| &mut node.kind) {
            None => root = Some(done),
            Some(Kind::List { items, .. }) => items.push(done),
            Some(Kind::Map { entries, .. }) => match keys.last_mut() {
                Some(key @ None) => *key = Some(done),
                Some(key) => entries.extend(key.take().map(|key| (key, done))),
                None => {}
            },
            Some(_) => {}
        }
    }
    let end = text.len();
    let empty = Kind::Scalar { text: String::new(), style: ScalarStyle::Plain };
    let root = root.unwrap_or(Node { start: end, end, kind: empty, anchor: 0, has_tag: false });
    Ok(Document { root, used_anchors })
}

fn syntax(error: &ScanError) -> ManifestError {
    ManifestError::Syntax { line: error.marker().line(), message: error.info() }
}

/// Returns a collection that ends: one in brackets with them, another with the last of what is in it.
fn with_end(text: &str, mut node: Node, span: Span) -> Node {
    let last = match &node.kind {
        Kind::List { is_flow: false, items } => items.last().map(|item| item.end),
        Kind::Map { is_flow: false, entries } => {
            entries.last().map(|(key, value)| entry_end(text, key, value))
        }
        _ => span.byte_range().map(|range| range.end),
    };
    node.end = last.unwrap_or(node.end).max(node.start);
    if let Kind::Map { is_flow: false, entries } = &node.kind
        && let Some((key, _)) = entries.first()
    {
        node.start = key.start;
    }
    // The parser says otherwise where a list has the indentation of its key.
    if let Kind::List { is_flow: false, items } = &node.kind
        && let Some(start) = items.first().and_then(|item| edit::dash(text, item.start))
    {
        node.start = start;
    }
    node
}

/// Returns where an entry of a mapping ends; one without a value with its colon.
fn entry_end(text: &str, key: &Node, value: &Node) -> usize {
    if value.start < value.end {
        return value.end;
    }
    // Where the value would be is behind the colon; whatever comes later is no part of the entry.
    let until = (value.start + 1).clamp(key.end, text.len());
    let colon = text.as_bytes()[key.end..until].iter().position(|byte| *byte == b':');
    colon.map_or(key.end, |colon| key.end + colon + 1)
}
