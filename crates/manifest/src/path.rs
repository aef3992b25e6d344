//! Paths: keys with dots between them, and in brackets which items of a list are meant.

use regex::Regex;

use crate::ManifestError;
use crate::change::{Step, shown};
use crate::value::Value;

/// Maximum number of places that a path may lead to in a file.
const MAX_PLACES: usize = 10_000;

/// Path of values.
#[derive(Clone, Debug)]
pub(crate) struct Path(Vec<Segment>);

#[derive(Clone, Debug)]
enum Segment {
    Key(String),
    AnyKey,
    Index(usize),
    AnyItem,
    /// Items, or their values of a key, that are a text or match it.
    Items(Option<String>, Fit),
}

#[derive(Clone, Debug)]
enum Fit {
    Equals(String),
    Matches(Regex),
}

/// Reason why a path cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InvalidPath {
    /// It names nothing.
    #[error("the path is empty")]
    Empty,
    /// A key between two dots is missing.
    #[error("a key is missing in the path `{0}`; quote keys that contain dots, as in `a.\"b.c\"`")]
    NoKey(String),
    /// Quotes or brackets are not closed, or stand where none may be.
    #[error(
        "invalid quotes or brackets in the path `{0}`; write `\"…\"`, `[0]`, `[*]`, `[name=text]` or `[~regex]`"
    )]
    Brackets(String),
    /// What items have to match is not a regular expression.
    #[error("invalid regular expression in the path `{0}`")]
    Regex(String, #[source] regex::Error),
}

/// Place that a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found<'v> {
    Existing(Vec<Step>, &'v Value),
    /// The last value that exists, and the keys that are missing in it.
    Missing(Vec<Step>, Vec<String>),
}

impl Path {
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidPath> {
        let brackets = || InvalidPath::Brackets(text.to_owned());
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inside) = rest.strip_prefix('[') {
                let (segment, behind) = items(inside, text)?;
                segments.push(segment);
                rest = behind;
            } else {
                if !segments.is_empty() {
                    rest = rest.strip_prefix('.').ok_or_else(brackets)?;
                }
                let (key, behind) = match rest.chars().next().filter(|sign| matches!(sign, '"' | '\'')) {
                    Some(quote) => rest[1..].split_once(quote).ok_or_else(brackets)?,
                    None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
                };
                let is_quoted = rest.starts_with(['"', '\'']);
                if !is_quoted && (key.is_empty() || key.contains(char::is_whitespace)) {
                    return Err(InvalidPath::NoKey(text.to_owned()));
                }
                if !is_quoted && key.contains([']', '"', '\'']) {
                    return Err(brackets());
                }
                let is_any = key == "*" && !is_quoted;
                segments.push(if is_any { Segment::AnyKey } else { Segment::Key(key.to_owned()) });
                rest = behind;
                if rest == "." {
                    return Err(InvalidPath::NoKey(text.to_owned()));
                }
            }
        }
        if segments.is_empty() { Err(InvalidPath::Empty) } else { Ok(Self(segments)) }
    }

    /// Returns the places that the path leads to, in their order.
    pub(crate) fn find<'v>(&self, root: &'v Value) -> Result<Vec<Found<'v>>, ManifestError> {
        let mut found = Vec::new();
        walk(&self.0, root, &mut Vec::new(), &mut found)?;
        Ok(found)
    }
}

/// Reads what is in brackets, and returns the text behind them.
fn items<'t>(inside: &'t str, path: &str) -> Result<(Segment, &'t str), InvalidPath> {
    let brackets = || InvalidPath::Brackets(path.to_owned());
    if let Some(behind) = inside.strip_prefix("*]") {
        return Ok((Segment::AnyItem, behind));
    }
    let operator = inside.find(['=', '~', ']']).ok_or_else(brackets)?;
    let (key, behind) = inside.split_at(operator);
    if let Some(behind) = behind.strip_prefix(']') {
        return Ok((Segment::Index(key.parse().map_err(|_| brackets())?), behind));
    }
    let (is_regex, wanted) = (behind.starts_with('~'), &behind[1..]);
    let (wanted, behind) = match wanted.chars().next().filter(|sign| matches!(sign, '"' | '\'')) {
        Some(quote) => wanted[1..].split_once(&format!("{quote}]")).ok_or_else(brackets)?,
        None => wanted.split_once(']').ok_or_else(brackets)?,
    };
    let fit = if is_regex {
        Fit::Matches(Regex::new(wanted).map_err(|error| InvalidPath::Regex(path.to_owned(), error))?)
    } else {
        Fit::Equals(wanted.to_owned())
    };
    let key = key.trim_matches(['"', '\'']);
    Ok((Segment::Items((!key.is_empty()).then(|| key.to_owned()), fit), behind))
}

fn walk<'v>(
    segments: &[Segment],
    value: &'v Value,
    at: &mut Vec<Step>,
    found: &mut Vec<Found<'v>>,
) -> Result<(), ManifestError> {
    let Some((first, others)) = segments.split_first() else {
        if found.len() == MAX_PLACES {
            return Err(ManifestError::TooManyPlaces(MAX_PLACES));
        }
        found.push(Found::Existing(at.clone(), value));
        return Ok(());
    };
    let mut below = |step: Step, value: &'v Value| {
        at.push(step);
        let done = walk(others, value, at, found);
        at.pop();
        done
    };
    match (first, value) {
        (_, Value::Opaque(_)) => return Err(ManifestError::Shared(shown(at))),
        (Segment::Key(key), Value::Map(_)) => match value.get(key) {
            Some(value) => below(Step::Key(key.clone()), value)?,
            None if value.get("<<").is_some() => return Err(ManifestError::Shared(shown(at))),
            None => found.extend(missing(segments, at)),
        },
        (Segment::Key(_), Value::Null) => found.extend(missing(segments, at)),
        (Segment::AnyKey, Value::Map(entries)) => {
            for (key, value) in entries {
                below(Step::Key(key.clone()), value)?;
            }
        }
        (Segment::Index(index), Value::List(items)) => {
            if let Some(value) = items.get(*index) {
                below(Step::Index(*index), value)?;
            }
        }
        (Segment::AnyItem | Segment::Items(..), Value::List(items)) => {
            for (index, value) in items.iter().enumerate() {
                if first.fits(value) {
                    below(Step::Index(index), value)?;
                }
            }
        }
        // A wildcard looks at everything, and what is of another kind is none of it.
        (Segment::AnyKey | Segment::AnyItem | Segment::Items(..), _) | (Segment::Index(_), Value::Null) => {}
        (Segment::Key(_), _) => return Err(kind(at, value, "a mapping")),
        (Segment::Index(_), _) => return Err(kind(at, value, "a list")),
    }
    Ok(())
}

pub(crate) fn kind(at: &[Step], value: &Value, expected: &'static str) -> ManifestError {
    let path = if at.is_empty() { "the file".to_owned() } else { shown(at) };
    ManifestError::Kind { path, found: value.kind(), expected }
}

/// Returns the place that could be made: all that is missing has to be keys.
fn missing<'v>(segments: &[Segment], at: &[Step]) -> Option<Found<'v>> {
    let key = |segment: &Segment| if let Segment::Key(key) = segment { Some(key.clone()) } else { None };
    let keys: Option<Vec<String>> = segments.iter().map(key).collect();
    Some(Found::Missing(at.to_vec(), keys?))
}

impl Segment {
    fn fits(&self, value: &Value) -> bool {
        let Self::Items(key, fit) = self else { return true };
        let value = match key {
            Some(key) => value.get(key),
            None => Some(value),
        };
        let Some(text) = value.and_then(Value::as_text) else { return false };
        match fit {
            Fit::Equals(wanted) => text == wanted,
            Fit::Matches(regex) => regex.is_match(text),
        }
    }
}
