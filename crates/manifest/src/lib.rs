//! Edits of manifests: values of TOML, JSON and YAML files are set, removed, renamed and added, and everything around them,
//! comments and layout included, stays as it is.
//!
//! What an edit means is decided on the values alone, the same for all formats. Each format only carries it out on the
//! text, and its result is read again: unless the values are exactly those that were meant, nothing is changed. An unusual file
//! is therefore refused rather than damaged.
//!
//! ```
//! use manifest::{ManifestEdit, ManifestRule};
//!
//! let rule: ManifestRule = serde_yaml::from_str(
//!     "path: dependencies.httpx\n\
//!      set: '0.28'\n\
//!      when: { version: '<0.28' }\n",
//! )?;
//! let edit = ManifestEdit::new(&rule)?;
//! let done = edit.apply("Pipfile.toml", "[dependencies]\nhttpx = \"0.27\" # the client\n")?;
//! assert_eq!(done.text, "[dependencies]\nhttpx = \"0.28\" # the client\n");
//! assert_eq!((done.places[0].path.as_str(), done.places[0].line), ("dependencies.httpx", 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod json;
mod path;
mod rule;
mod toml;
mod value;
mod version;
mod yaml;

use std::borrow::Cow;

use change::{Change, Edit};
use value::Value;

pub use path::InvalidPath;
pub use rule::{Edited, EditedPlace, InvalidManifestRule, ManifestEdit, ManifestRule, When};
pub use version::InvalidRequirement;

/// Maximum size of a file, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Maximum size of a file that is only read, in bytes.
const MAX_READ: usize = 64 * 1024 * 1024;

/// Maximum of edits times bytes: each edit reads the file again.
const MAX_WORK: usize = 256 * 1024 * 1024;

/// Format of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.toml`, `Pipfile`, `Cargo.lock`, `poetry.lock`
    Toml,
    /// `.json`, `.jsonc`; comments and trailing commas are allowed
    Json,
    /// `.yml`, `.yaml`
    Yaml,
}

/// Reason why a manifest cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// The name of the file does not say the format.
    #[error("the format is not known; `manifest` edits .toml, .json, .jsonc, .yml and .yaml files")]
    UnknownFormat,
    /// The file is above [`MAX_BYTES`].
    #[error("the file has {0} bytes; the limit is {MAX_BYTES}")]
    TooLarge(usize),
    /// The file cannot be parsed.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A key that occurs twice in a mapping, so that it is unclear which is meant.
    #[error("line {line}: duplicate key `{key}`")]
    DuplicateKey {
        /// Line of the second, from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// A key that is not a text.
    #[error("line {line}: the key is not a string")]
    ComplexKey {
        /// Line, from 1.
        line: usize,
    },
    /// The file has several documents.
    #[error("line {line}: a second document begins; only files with a single document can be edited")]
    SeveralDocuments {
        /// Line, from 1.
        line: usize,
    },
    /// What is there is of another kind.
    #[error("`{path}` is {found}, not {expected}")]
    Kind {
        /// Path.
        path: String,
        /// Kind of what is there.
        found: &'static str,
        /// Kind that is needed.
        expected: &'static str,
    },
    /// The new name of a key is taken.
    #[error("`{0}` already exists; remove one of the two first")]
    Taken(String),
    /// The root of a file is not removed or renamed, nor is an item of a list renamed.
    #[error("`{0}` is not a key; only keys of mappings have names")]
    NoKey(String),
    /// A change of an anchor would change all of its aliases; a merge key may hold the value.
    #[error("`{0}` is shared by an anchor, an alias or `<<`; edit it by hand")]
    Shared(String),
    /// The value has a tag, such as `!vault`.
    #[error("`{0}` has a tag; edit it by hand")]
    Tagged(String),
    /// The format cannot express the value.
    #[error("TOML has no null, which `{0}` would be")]
    NoNull(String),
    /// There are so many places in a file so large that the edits would take minutes.
    #[error(
        "the path matches {0} places or more, too many for a file of this size; use a more specific path"
    )]
    TooManyPlaces(usize),
    /// Lines end with and without a carriage return.
    #[error("some lines end with CRLF and others with LF; make them consistent first")]
    MixedLineEnds,
    /// The text could not be changed in such a way that its values are those that were requested.
    #[error("`{0}` cannot be changed without touching other parts of the file; edit it by hand")]
    Entangled(String),
}

impl Format {
    /// Returns the format of a file, by its name or path.
    pub fn of(file_name: &str) -> Option<Self> {
        let name = file_name.rsplit('/').next().unwrap_or(file_name).to_ascii_lowercase();
        if ["pipfile", "cargo.lock", "poetry.lock", "uv.lock"].contains(&name.as_str()) {
            return Some(Self::Toml);
        }
        Some(match name.rsplit_once('.')?.1 {
            "toml" => Self::Toml,
            "json" | "jsonc" => Self::Json,
            "yml" | "yaml" => Self::Yaml,
            _ => return None,
        })
    }

    fn load(self, text: &str) -> Result<Value, ManifestError> {
        match self {
            Self::Toml => toml::load(text),
            Self::Json => json::load(text),
            Self::Yaml => yaml::load(text),
        }
    }

    fn edit(self, text: &str, edit: &Edit) -> Result<String, ManifestError> {
        match self {
            Self::Toml => toml::edit(text, edit),
            Self::Json => json::edit(text, edit),
            Self::Yaml => yaml::edit(text, edit),
        }
    }
}

/// Returns the values of a file. Numbers are texts as they are written, and so is what is only kept: dates, aliases, and what has a
/// tag. A file whose values programs could read differently, such as one with a key that stands twice, is refused.
pub fn values(format: Format, text: &str) -> Result<serde_json::Value, ManifestError> {
    if text.len() > MAX_READ {
        return Err(ManifestError::TooLarge(text.len()));
    }
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(format.load(&body.replace("\r\n", "\n"))?.into_json())
}

/// Returns whether anything in a YAML file stands for what is elsewhere: an anchor, an alias, a tag, or a merge key.
pub fn has_references(text: &str) -> bool {
    yaml::has_references(&text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n"))
}

/// Carries out what `decide` makes of the values. Returns the text, and the paths of what was changed.
fn apply(
    format: Format,
    text: &str,
    decide: impl FnOnce(&Value) -> Result<Vec<Edit>, ManifestError>,
) -> Result<Edited, ManifestError> {
    if text.len() > MAX_BYTES {
        return Err(ManifestError::TooLarge(text.len()));
    }
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let all_breaks = body.matches('\n').count();
    let windows_breaks = body.matches("\r\n").count();
    let is_windows = windows_breaks > 0 && windows_breaks == all_breaks;
    let body: Cow<'_, str> = if is_windows { body.replace("\r\n", "\n").into() } else { body.into() };
    let mut value = format.load(&body)?;
    let edits = decide(&value)?;
    if edits.is_empty() {
        return Ok(Edited { text: text.to_owned(), places: Vec::new() });
    }
    if windows_breaks > 0 && !is_windows {
        return Err(ManifestError::MixedLineEnds);
    }
    if edits.len().saturating_mul(body.len()) > MAX_WORK {
        return Err(ManifestError::TooManyPlaces(edits.len()));
    }
    let mut body = body.into_owned();
    let mut places = Vec::with_capacity(edits.len());
    // From the last to the first, so that the indexes of those that remain hold.
    for edit in edits.iter().rev() {
        let edited = format.edit(&body, edit)?;
        places.push(EditedPlace::between(edit.place(), &body, &edited));
        body = edited;
        edit.apply_to(&mut value);
        let is_as_meant = format.load(&body).is_ok_and(|found| found.is_same(&value));
        if !is_as_meant {
            return Err(ManifestError::Entangled(edit.place()));
        }
    }
    if is_windows {
        body = body.replace('\n', "\r\n");
    }
    places.reverse();
    Ok(Edited { text: format!("{mark}{body}"), places })
}

/// Returns the line of a byte, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}
