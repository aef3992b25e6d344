//! Text of a patch, which is made from its change each time that it is asked for: those of thousands of files would take as much
//! memory as the files themselves.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use workspace::FileChange;

/// Patch of one file in Git's format.
#[derive(Clone)]
pub struct PatchText(Source);

#[derive(Clone)]
enum Source {
    Text(String),
    /// A change whose contents are UTF-8, so that its patch is.
    Change(FileChange),
}

impl PatchText {
    /// Creates the patch of a change; `None` if it would not be text.
    pub(super) fn of(change: &FileChange) -> Option<Self> {
        let states = [&change.before, &change.after].into_iter().flatten();
        if states.into_iter().all(|state| std::str::from_utf8(&state.content).is_ok()) {
            return Some(Self(Source::Change(change.clone())));
        }
        // What is not UTF-8 may stand where nothing changes.
        String::from_utf8(change.git_patch("")).ok().map(|text| Self(Source::Text(text)))
    }

    /// Returns the text.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Source::Text(text) => Cow::Borrowed(text),
            Source::Change(change) => Cow::Owned(String::from_utf8_lossy(&change.git_patch("")).into_owned()),
        }
    }
}

impl From<String> for PatchText {
    fn from(text: String) -> Self {
        Self(Source::Text(text))
    }
}

impl fmt::Debug for PatchText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text(), f)
    }
}

impl PartialEq for PatchText {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for PatchText {}

impl Serialize for PatchText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for PatchText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for PatchText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
