//! Text of a patch. Those of thousands of files would take as much memory as the files, so they can be in a spool.

use std::borrow::Cow;
use std::fmt;
use std::io;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use workspace::Spooled;

/// Patch of one file in Git's format.
#[derive(Clone)]
pub struct PatchText(Source);

#[derive(Clone)]
enum Source {
    Text(String),
    /// Text that is UTF-8.
    Spooled(Spooled),
}

impl PatchText {
    /// Takes a patch; `None` if it is not text.
    pub(super) fn new(patch: Vec<u8>) -> Option<Self> {
        String::from_utf8(patch).ok().map(Self::from)
    }

    /// Takes a patch from where it was put; `None` if `patch`, its content, is not text.
    pub(crate) fn spooled(patch: &[u8], spooled: Spooled) -> Option<Self> {
        std::str::from_utf8(patch).is_ok().then_some(Self(Source::Spooled(spooled)))
    }

    /// Returns the text; empty if it can no longer be read, which is no patch of anything.
    pub fn text(&self) -> Cow<'_, str> {
        self.read().unwrap_or_default()
    }

    fn read(&self) -> io::Result<Cow<'_, str>> {
        Ok(match &self.0 {
            Source::Text(text) => Cow::Borrowed(text),
            Source::Spooled(spooled) => Cow::Owned(String::from_utf8_lossy(&spooled.get()?).into_owned()),
        })
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
        serializer.serialize_str(&self.read().map_err(S::Error::custom)?)
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
