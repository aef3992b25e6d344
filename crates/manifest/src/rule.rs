//! Rules: how people write edits, and which changes become of them in a file.

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::change::Step;
use crate::path::{Found, InvalidPath, Path, kind};
use crate::value::Value;
use crate::version::{InvalidRequirement, Requirement};
use crate::{Change, Edit, Format, ManifestError, apply, change};

/// Edit of TOML, JSON (with comments) and YAML files that keeps comments and layout: a path, and exactly one of `set`,
/// `remove`, `rename` and `add`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestRule {
    /// Path of the value, as in `project.dependencies[~^requests]`: keys with dots between them, those with dots in them in
    /// quotes; `*` stands for every key, `[0]` for an item of a list, `[*]` for all, `[name=text]` and `[name~regex]` for
    /// those whose `name` is that text or matches, and `[=text]` and `[~regex]` for texts.
    pub path: String,
    /// The value that is there afterwards. Missing keys are added; a list stays a list, and a mapping a mapping.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub set: Option<serde_json::Value>,
    /// Whether the key, or the item, is removed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub remove: bool,
    /// The new name of the key, which keeps its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rename: Option<String>,
    /// An item that the list has afterwards, at its end unless it is there. A missing list is added.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub add: Option<serde_json::Value>,
    /// When the edit is made; without it, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
}

/// Condition of an edit. All parts have to hold; `when: {}` requires a value at the path.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The path to check; without it, that of the edit, at each place separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether there has to be no value.
    #[serde(default, skip_serializing_if = "is_false")]
    pub absent: bool,
    /// Comparisons such as `>=1.2, <2` that the first version in the value, or in its `version`, has to pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A regular expression that the value has to match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
}

/// Reads a value that is given, which may be null.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(deserializer).map(Some)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for it
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Reason why a rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidManifestRule {
    /// Nothing is done, or two things at once.
    #[error("set exactly one of `set`, `remove`, `rename` and `add`")]
    OneOf,
    /// A path cannot be read.
    #[error(transparent)]
    Path(#[from] InvalidPath),
    /// A requirement cannot be read.
    #[error(transparent)]
    Requirement(#[from] InvalidRequirement),
    /// What a value has to match is not a regular expression.
    #[error("invalid regular expression in `when.matches`")]
    Matches(#[source] regex::Error),
    /// Nothing can be absent and have a version.
    #[error("`absent` cannot be combined with `version` or `matches`")]
    AbsentValue,
}

/// Edit that is ready to be made.
#[derive(Debug)]
pub struct ManifestEdit {
    path: Path,
    action: Action,
    condition: Option<Condition>,
}

#[derive(Debug)]
enum Action {
    Set(Value),
    Remove,
    Rename(String),
    Add(Value),
}

#[derive(Debug)]
struct Condition {
    path: Option<Path>,
    absent: bool,
    version: Option<Requirement>,
    matches: Option<Regex>,
}

/// The outcome of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The text; the same as before if there was nothing to do.
    pub text: String,
    /// What was changed, in the order of the rule's places.
    pub places: Vec<EditedPlace>,
}

/// Place that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedPlace {
    /// Path of the value.
    pub path: String,
    /// Line of the first change in the text before, from 1.
    pub line: usize,
    /// The lines that are gone, without the blanks around them.
    pub before: String,
    /// The lines that are there instead.
    pub after: String,
}

impl EditedPlace {
    /// Returns what an edit at `path` has changed in a text.
    pub(crate) fn between(path: String, before: &str, after: &str) -> Self {
        let is_same = |(old, new): &(&str, &str)| old == new;
        let first = before.lines().zip(after.lines()).take_while(is_same).count();
        let (old, new): (Vec<&str>, Vec<&str>) =
            (before.lines().skip(first).collect(), after.lines().skip(first).collect());
        let last = old.iter().rev().copied().zip(new.iter().rev().copied()).take_while(is_same).count();
        let text = |lines: &[&str]| lines[..lines.len() - last].join("\n").trim().to_owned();
        Self { path, line: first + 1, before: text(&old), after: text(&new) }
    }
}

impl ManifestEdit {
    /// Reads a rule.
    pub fn new(rule: &ManifestRule) -> Result<Self, InvalidManifestRule> {
        let action = match (&rule.set, rule.remove, &rule.rename, &rule.add) {
            (Some(value), false, None, None) => Action::Set(Value::of(value)),
            (None, true, None, None) => Action::Remove,
            (None, false, Some(name), None) => Action::Rename(name.clone()),
            (None, false, None, Some(value)) => Action::Add(Value::of(value)),
            _ => return Err(InvalidManifestRule::OneOf),
        };
        let condition = rule.when.as_ref().map(Condition::new).transpose()?;
        Ok(Self { path: Path::parse(&rule.path)?, action, condition })
    }

    /// Makes the edit in the text of a file, whose name says its format. A text with nothing to do stays as it is.
    pub fn apply(&self, file_name: &str, text: &str) -> Result<Edited, ManifestError> {
        let format = Format::of(file_name).ok_or(ManifestError::UnknownFormat)?;
        apply(format, text, |root| self.decide(root))
    }

    fn decide(&self, root: &Value) -> Result<Vec<Edit>, ManifestError> {
        // One that looks elsewhere is the same for all places.
        let elsewhere =
            self.condition.as_ref().map(|condition| condition.holds_elsewhere(root)).transpose()?;
        if elsewhere.flatten() == Some(false) {
            return Ok(Vec::new());
        }
        let mut edits = Vec::new();
        for found in self.path.find(root)? {
            let value = match &found {
                Found::Existing(_, value) => Some(*value),
                Found::Missing(..) => None,
            };
            if self.condition.as_ref().is_some_and(|condition| !condition.holds_at(value)) {
                continue;
            }
            edits.extend(self.edit(found, value, root)?);
        }
        Ok(edits)
    }

    fn edit(
        &self,
        found: Found<'_>,
        value: Option<&Value>,
        root: &Value,
    ) -> Result<Option<Edit>, ManifestError> {
        let change = match (&self.action, value) {
            (Action::Set(new), Some(old)) if new.is_same(old) => return Ok(None),
            (Action::Set(new), Some(old)) if new.may_replace(old) => Change::Set(new.clone()),
            (Action::Set(new), Some(old)) => {
                let Found::Existing(at, _) = found else { return Ok(None) };
                return Err(kind(&at, old, new.kind()));
            }
            (Action::Set(new), None) => return Ok(made(found, new, root)),
            (Action::Add(item), Some(Value::List(items))) => {
                if items.iter().any(|other| other.is_same(item)) {
                    return Ok(None);
                }
                Change::Append(item.clone())
            }
            (Action::Add(item), Some(Value::Null)) => Change::Set(Value::List(vec![item.clone()])),
            (Action::Add(_), Some(other)) => {
                let Found::Existing(at, _) = found else { return Ok(None) };
                return Err(kind(&at, other, "a list"));
            }
            (Action::Add(item), None) => return Ok(made(found, &Value::List(vec![item.clone()]), root)),
            (Action::Remove | Action::Rename(_), None) => return Ok(None),
            (Action::Remove, Some(_)) => Change::Remove,
            (Action::Rename(to), Some(_)) => {
                let Found::Existing(at, _) = &found else { return Ok(None) };
                let Some((Step::Key(name), parent)) = at.split_last() else {
                    return Err(ManifestError::NoKey(change::shown(at)));
                };
                if name == to {
                    return Ok(None);
                }
                if look(root, parent).is_some_and(|parent| parent.get(to).is_some()) {
                    let mut taken = parent.to_vec();
                    taken.push(Step::Key(to.clone()));
                    return Err(ManifestError::Taken(change::shown(&taken)));
                }
                Change::Rename(to.clone())
            }
        };
        Ok(match found {
            Found::Existing(at, _) => Some(Edit { at, change }),
            Found::Missing(..) => None,
        })
    }
}

/// Returns the edit that adds what is missing.
fn made(found: Found<'_>, value: &Value, root: &Value) -> Option<Edit> {
    let Found::Missing(at, keys) = found else { return None };
    let change = match (look(root, &at)?, keys.split_first()?) {
        (Value::Map(_), (key, below)) => {
            Change::Insert { key: key.clone(), below: below.to_vec(), value: value.clone() }
        }
        _ => Change::Set(Value::nested(&keys, value.clone())),
    };
    Some(Edit { at, change })
}

/// Returns the value at a place.
fn look<'v>(root: &'v Value, at: &[Step]) -> Option<&'v Value> {
    at.iter().try_fold(root, |value, step| match (value, step) {
        (value, Step::Key(key)) => value.get(key),
        (Value::List(items), Step::Index(index)) => items.get(*index),
        _ => None,
    })
}

impl Condition {
    fn new(when: &When) -> Result<Self, InvalidManifestRule> {
        if when.absent && (when.version.is_some() || when.matches.is_some()) {
            return Err(InvalidManifestRule::AbsentValue);
        }
        Ok(Self {
            path: when.path.as_deref().map(Path::parse).transpose()?,
            absent: when.absent,
            version: when.version.as_deref().map(Requirement::parse).transpose()?,
            matches: when
                .matches
                .as_deref()
                .map(Regex::new)
                .transpose()
                .map_err(InvalidManifestRule::Matches)?,
        })
    }

    /// Returns whether it holds at a place of the edit; one that looks elsewhere holds at each.
    fn holds_at(&self, value: Option<&Value>) -> bool {
        match value {
            _ if self.path.is_some() => true,
            Some(value) => !self.absent && self.fits(value),
            None => self.absent,
        }
    }

    /// Returns whether it holds at its own path; `None` if it has none.
    fn holds_elsewhere(&self, root: &Value) -> Result<Option<bool>, ManifestError> {
        let Some(path) = &self.path else { return Ok(None) };
        let mut values = Vec::new();
        for found in path.find(root)? {
            if let Found::Existing(_, value) = found {
                values.push(value);
            }
        }
        let holds =
            if self.absent { values.is_empty() } else { values.into_iter().any(|value| self.fits(value)) };
        Ok(Some(holds))
    }

    fn fits(&self, value: &Value) -> bool {
        let text = value.as_text().or_else(|| value.get("version")?.as_text());
        self.version.as_ref().is_none_or(|version| text.is_some_and(|text| version.fits(text)))
            && self.matches.as_ref().is_none_or(|regex| text.is_some_and(|text| regex.is_match(text)))
    }
}
