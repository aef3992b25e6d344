//! Masker: replaces secrets in whatever leaves the process.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::secret_names::{looks_secret, pattern, secrets_of};
use super::spellings::Spellings;

/// Returns whether a variable is an input of ours whose name sounds like that of a secret, but that never
/// holds one.
fn is_setting(name: &str) -> bool {
    let name = name.replace('-', "_");
    let input = name.strip_prefix("INPUT_").or_else(|| name.strip_prefix("ARCHITECT_"));
    matches!(input, Some("COMMENT_KEY" | "API_KEY_ENV"))
}

/// The text that replaces a secret.
pub const MASK: &str = "***";

/// Minimum length of a secret, in bytes. Shorter values are words rather than secrets, and masking them
/// would blot out ordinary text.
const MIN_SECRET: usize = 6;

/// Minimum length from which a secret of letters and digits cannot be a word of a format, in bytes.
const MIN_UNMISTAKABLE: usize = 8;

/// Values that variables with secret-sounding names hold in harmless set-ups, and that reports are full of.
const ORDINARY: [&str; 24] = [
    "true",
    "false",
    "none",
    "null",
    "disabled",
    "enabled",
    "default",
    "password",
    "secret",
    "changeme",
    "changeit",
    "example",
    "postgres",
    "mariadb",
    "rabbitmq",
    "localhost",
    "success",
    "failed",
    "partial",
    "dry-run",
    "staging",
    "production",
    "development",
    "testing",
];

/// Strings that are secrets by their shape, whoever issued them.
pub(crate) static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    let shapes = [
        r"gh[pousr]_[A-Za-z0-9]{36,}",
        r"github_pat_[A-Za-z0-9_]{60,}",
        r"gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_\-]{20,}",
        r"sk-(?:ant-|proj-|or-v1-|svcacct-)[A-Za-z0-9_\-]{20,}",
        r"sk-[A-Za-z0-9]{32,}(?-u:\b)",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}",
        r"AIza[A-Za-z0-9_\-]{35}",
        r"xox[abeoprs]-[A-Za-z0-9\-]{10,}",
        r"npm_[A-Za-z0-9]{36}",
        r"pypi-[A-Za-z0-9_\-]{50,}",
        r"crates_io_[A-Za-z0-9]{30,}",
        r"[sr]k_live_[A-Za-z0-9]{16,}",
        r"dckr_[po]at_[A-Za-z0-9_\-]{20,}",
        r"hv[sbr]\.[A-Za-z0-9_\-]{24,}",
        r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
        r"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
        // The private part of a key of PuTTY.
        r"Private-Lines: [0-9]+[ \t\r\n\\nr]+[A-Za-z0-9+/=]{16,}(?:(?:[ \t\r\n]|\\[nr])+[A-Za-z0-9+/=]+)*",
    ];
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(&format!(r"(?-u:\b)(?:{})", shapes.join("|"))).expect("the shapes are valid")
});

/// Private keys in their usual armour. Code that looks for keys names their first lines, too; so a key has up to its last line only what
/// keys consist of, or something of it follows soon. Then it may be cut, or stand in whatever shows it, such as numbered lines.
pub(crate) static KEYS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?x) -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----
        (?: [A-Za-z0-9+/=\ \t\r\n"',>|\#*\\:.-]*? -----END\ [A-Z\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----
          | (?: [^\n]*\n ){0,4}? [^\n]*? [A-Za-z0-9+/=]{40} (?s:.)*? (?: -----END\ [A-Z\ ]*PRIVATE\ KEY(?:\ BLOCK)?----- | \z )
        )"#,
    )
});

/// Returns a text without what a pattern finds.
fn replaced<'a>(text: Cow<'a, str>, pattern: &Regex) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => pattern.replace_all(text, MASK),
        Cow::Owned(text) => Cow::Owned(pattern.replace_all(&text, MASK).into_owned()),
    }
}

/// The secrets of this process, ready to be found and replaced.
#[derive(Clone, Debug)]
pub struct Masker {
    secrets: Vec<String>,
    /// All secrets.
    all: Spellings,
    /// The secrets that cannot be a word of a format, or of anything else that we write ourselves.
    unmistakable: Spellings,
}

impl Masker {
    /// Creates a masker for the variables of the environment whose names mark them as secrets, those named
    /// in `also`, and the `further` values.
    pub fn from_environment(
        environment: &BTreeMap<String, String>,
        also: &[&str],
        further: &[String],
    ) -> Self {
        let of_variable = |(name, value): (&'_ String, &'_ String)| -> Vec<String> {
            if also.contains(&name.as_str()) {
                return vec![value.clone()];
            }
            if is_setting(name) {
                return Vec::new();
            }
            secrets_of(name, value).into_iter().map(str::to_owned).collect()
        };
        let secrets: Vec<String> = environment.iter().flat_map(of_variable).collect();
        Self::new(secrets.iter().chain(further).map(String::as_str))
    }

    /// Creates a masker for these values. Short and ordinary ones are left out.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let is_secret =
            |value: &String| value.len() >= MIN_SECRET && !ORDINARY.contains(&value.to_lowercase().as_str());
        let secrets: BTreeSet<String> = secrets.into_iter().flat_map(parts).filter(is_secret).collect();
        let mixed = |secret: &&str| {
            secret.bytes().any(|byte| byte.is_ascii_digit())
                && secret.bytes().any(|byte| byte.is_ascii_alphabetic())
        };
        let unmistakable: Vec<&str> = secrets
            .iter()
            .map(String::as_str)
            .filter(mixed)
            .filter(|secret| secret.len() >= MIN_UNMISTAKABLE)
            .collect();
        let all = Spellings::new(secrets.iter().map(String::as_str));
        // Mostly, no secret could be a word.
        let unmistakable = if unmistakable.len() == secrets.len() {
            all.clone()
        } else {
            Spellings::new(unmistakable.into_iter())
        };
        Self { all, unmistakable, secrets: secrets.into_iter().collect() }
    }

    /// Returns the secrets in plain text, to register them with the runner.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Replaces known secrets in a text, and everything shaped like a secret.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        replaced(replaced(self.mask_known(text), &KEYS), &SHAPES)
    }

    /// Replaces known secrets in a text, in all their spellings.
    pub fn mask_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        without(text, &self.all)
    }

    /// Replaces secrets that only came together in a rendering of what had been masked before. A secret
    /// that could be a mere word is kept, because the rendering's own words may equal it.
    pub fn mask_rendered<'a>(&self, text: &'a str) -> Cow<'a, str> {
        without(text, &self.unmistakable)
    }

    /// Returns whether a path, whose names cannot have all letters, is made of a known secret: its letters and digits in order, whatever
    /// stands between them.
    pub fn is_in_path(&self, path: &str) -> bool {
        let plain = |text: &str| text.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>();
        let path = plain(path);
        let secrets = self.secrets.iter().map(|secret| plain(secret));
        secrets.filter(|secret| secret.len() >= MIN_UNMISTAKABLE).any(|secret| path.contains(&secret))
    }

    /// Returns whether a text holds a known secret, in any of its spellings.
    pub fn knows_of(&self, text: &[u8]) -> bool {
        self.all.is_in(text)
    }
}

/// Splits a secret into the parts that may be quoted alone: the whole, its lines, and if it is a JSON
/// object, those of its values that are secrets.
fn parts(secret: &str) -> Vec<String> {
    let mut parts: Vec<String> = vec![secret.trim().to_owned()];
    parts.extend(secret.lines().map(|line| line.trim().to_owned()));
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(secret) {
        inner_secrets(&value, &mut parts);
    }
    parts
}

fn inner_secrets(value: &Value, parts: &mut Vec<String>) {
    let Value::Object(members) = value else { return };
    for (name, member) in members {
        match member {
            Value::String(text) if looks_secret(name) => {
                parts.push(text.clone());
                parts.extend(text.lines().map(|line| line.trim().to_owned()));
            }
            other => inner_secrets(other, parts),
        }
    }
}

/// Replaces all occurrences of the secrets by the mask.
fn without<'a>(text: &'a str, secrets: &Spellings) -> Cow<'a, str> {
    let spans = secrets.spans(text.as_bytes());
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = 0;
    for Range { start, end } in spans {
        // In an encoding with several bytes for a character, the match may begin or end within one.
        let (start, end) = (text.floor_char_boundary(start), text.ceil_char_boundary(end));
        // Two spellings of one secret may overlap.
        if end <= rest {
            continue;
        }
        masked += &text[rest..start.max(rest)];
        if start >= rest {
            masked += MASK;
        }
        rest = end;
    }
    masked += &text[rest..];
    Cow::Owned(masked)
}

#[cfg(test)]
mod tests;
