//! Masker: replaces secrets in whatever leaves the process.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::secret_names::{looks_secret, secrets_of};
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
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    let shapes = [
        r"gh[pousr]_[A-Za-z0-9]{36,255}",
        r"github_pat_[A-Za-z0-9_]{60,255}",
        r"gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_\-]{20,64}",
        r"sk-(?:ant-|proj-|or-v1-|svcacct-)[A-Za-z0-9_\-]{20,255}",
        r"sk-[A-Za-z0-9]{32,64}\b",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}",
        r"AIza[A-Za-z0-9_\-]{35}",
        r"xox[abeoprs]-[A-Za-z0-9\-]{10,255}",
        r"npm_[A-Za-z0-9]{36}",
        r"pypi-[A-Za-z0-9_\-]{50,255}",
        r"crates_io_[A-Za-z0-9]{30,}",
        r"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
    ];
    let pem = r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)";
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(&format!(r"\b(?:{})|{pem}", shapes.join("|"))).expect("the shapes are valid")
});

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
        Self {
            all: Spellings::new(secrets.iter().map(String::as_str)),
            unmistakable: Spellings::new(
                secrets
                    .iter()
                    .map(String::as_str)
                    .filter(mixed)
                    .filter(|secret| secret.len() >= MIN_UNMISTAKABLE),
            ),
            secrets: secrets.into_iter().collect(),
        }
    }

    /// Returns the secrets in plain text, to register them with the runner.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Replaces known secrets in a text, and everything shaped like a secret.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.mask_known(text) {
            Cow::Borrowed(text) => SHAPES.replace_all(text, MASK),
            Cow::Owned(text) => Cow::Owned(SHAPES.replace_all(&text, MASK).into_owned()),
        }
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
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn every_spelling_of_a_secret_is_masked() {
        let secret = "pa\"ss/w+rd&42";
        let masker = Masker::new([secret]);
        for lead in ["", "x", "xy", "user:"] {
            let encoded = STANDARD.encode(format!("{lead}{secret} and more"));
            assert!(masker.mask(&encoded).contains(MASK), "{lead:?}: {encoded}");
        }
        for text in [
            secret.to_owned(),
            "pa%22ss%2Fw%2Brd%2642".to_owned(),
            serde_json::json!({ "key": secret }).to_string(),
            format!("before {secret} after {secret}"),
        ] {
            let masked = masker.mask(&text);
            assert!(masked.contains(MASK) && !masked.contains("rd"), "{masked}");
        }
        assert_eq!(masker.mask("nothing here"), "nothing here");
    }

    /// Returns a secret in the spellings that programs and libraries produce, each with its name.
    fn spelled(secret: &str) -> Vec<(&'static str, String)> {
        let bytes = secret.as_bytes();
        let each = |form: fn(u8) -> String| bytes.iter().map(|byte| form(*byte)).collect::<String>();
        let joined = |by: &str| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(by);
        let (left, right) = secret.split_at(secret.len() / 2);
        let json = serde_json::Value::from(secret).to_string();
        vec![
            ("plain", secret.to_owned()),
            ("base64", STANDARD.encode(secret)),
            ("base64 without padding", STANDARD.encode(secret).trim_end_matches('=').to_owned()),
            ("base64 for addresses", base64::engine::general_purpose::URL_SAFE.encode(secret)),
            ("base64 after one letter", STANDARD.encode(format!("x{secret}yz"))),
            ("base64 after two letters", STANDARD.encode(format!("xy{secret}z"))),
            ("base64 in an address", STANDARD.encode(secret).replace('+', "%2B").replace('=', "%3D")),
            ("base64 over lines", {
                let text = STANDARD.encode(format!("{secret}{secret}"));
                text.as_bytes()
                    .chunks(12)
                    .map(|line| String::from_utf8_lossy(line).into_owned() + "\n")
                    .collect()
            }),
            ("hex", joined("")),
            ("HEX", joined("").to_uppercase()),
            ("hex apart", joined(" ")),
            ("hex with colons", joined(":")),
            ("hex as C has it", joined(", 0x")),
            ("hex by twos", {
                let text = joined("");
                text.as_bytes()
                    .chunks(4)
                    .map(|four| String::from_utf8_lossy(four).into_owned() + " ")
                    .collect()
            }),
            ("percent", each(|byte| format!("%{byte:02X}"))),
            ("percent, small", each(|byte| format!("%{byte:02x}"))),
            (
                "percent where needed",
                percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string(),
            ),
            ("JSON", json.clone()),
            ("JSON in JSON", serde_json::Value::from(json).to_string()),
            ("JSON, all escaped", each(|byte| format!("\\u{byte:04x}"))),
            ("C", each(|byte| format!("\\x{byte:02x}"))),
            ("C, octal", each(|byte| format!("\\{byte:03o}"))),
            (
                "shell",
                secret
                    .chars()
                    .map(|letter| {
                        if letter.is_ascii_alphanumeric() {
                            letter.to_string()
                        } else {
                            format!("\\{letter}")
                        }
                    })
                    .collect(),
            ),
            ("shell, quoted", format!("'{}'", secret.replace('\'', "'\\''"))),
            (
                "HTML",
                secret
                    .replace('&', "&amp;")
                    .replace('<', "&lt;")
                    .replace('"', "&quot;")
                    .replace('\'', "&#39;"),
            ),
            ("HTML, decimal", each(|byte| format!("&#{byte};"))),
            ("HTML, hexadecimal", each(|byte| format!("&#x{byte:X};"))),
            ("over lines", format!("{left}\n{right}")),
            ("over lines of Windows", format!("{left}\r\n{right}")),
            ("over numbered lines", format!("     1\t{left}\n     2\t{right}")),
            ("over quoted lines", format!("> {left}\n> {right}")),
            ("over lines of a shell", format!("{left}\\\n{right}")),
        ]
    }

    #[test]
    fn no_spelling_gives_a_secret_away() {
        for secret in ["pa\"ss/w+rd&42", "it's<a>%secret", "Zm9vYmFyc2VjcmV0", "aaaabbbbccccdddd0123"] {
            let masker = Masker::new([secret]);
            for (kind, text) in spelled(secret) {
                let masked = masker.mask(&text).into_owned();
                assert!(masked.contains(MASK), "{kind}: {text}");
                // What is left is too little to draw conclusions from.
                let left = masked.replace(MASK, "").chars().filter(char::is_ascii_alphanumeric).count();
                assert!(left <= 6, "{kind}: {text} became {masked}");
                assert!(masker.knows_of(text.as_bytes()), "{kind}: {text}");
            }
        }
    }

    #[test]
    fn parts_of_json_secrets_are_secrets_and_ordinary_words_are_none() {
        let account = r#"{"type": "service_account", "private_key": "-----BEGIN X-----\nabcdefgh\n", "user": "someone"}"#;
        let environment = BTreeMap::from(
            [("ACCOUNT_SECRET", account), ("DB_PASSWORD", "success"), ("MY_PASS", "Postgres")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let masker = Masker::from_environment(&environment, &[], &[]);
        assert_eq!(
            masker.mask("abcdefgh and someone: success in postgres"),
            "*** and someone: success in postgres"
        );
        assert!(!masker.secrets().iter().any(|secret| secret == "success"));
    }

    #[test]
    fn renderings_keep_their_own_words() {
        let masker = Masker::new(["details", "summary-of-mine", "hunter2hunter2"]);
        let text = "<details>summary-of-mine hunter2hunter2</details>";
        assert_eq!(masker.mask_rendered(text), "<details>summary-of-mine ***</details>");
        assert_eq!(masker.mask(text), "<***>*** ***</***>");
    }

    proptest::proptest! {
        #[test]
        fn masking_never_fails_and_leaves_no_plain_secret(text in "(a1b2|c3d4|\\\\|%|&#|;|x|\n|\t|ü|€|[0-9a-f]{2}| |=){0,40}") {
            let masker = Masker::new(["a1b2c3d4"]);
            let masked = masker.mask(&text);
            proptest::prop_assert!(!masked.contains("a1b2c3d4"));
        }
    }

    #[test]
    fn a_secret_in_pieces_is_masked() {
        let masker = Masker::new(["Zm9v+YmFy/c2VjcmV0", "short7"]);
        for (text, expected) in [
            ("a Zm9v+Ym\nFy/c2VjcmV0 b", "a *** b"),
            ("+Zm9v+YmFy\r\n+/c2VjcmV0\n+more", "+***\n+more"),
            ("Zm9v\n+YmFy/c2VjcmV0", "***"),
            ("> Zm9v+YmFy\n> /c2VjcmV0", "> ***"),
            ("Zm9v+YmFy \\\n  /c2VjcmV0", "***"),
            ("{\"a\": \"Zm9v+YmFy\\n/c2VjcmV0\"}", "{\"a\": \"***\"}"),
            ("Zm9v+YmFy ⏎ /c2VjcmV0", "***"),
            ("Z\nm\n9\nv\n+\nY\nm\nF\ny\n/\nc\n2\nV\nj\nc\nm\nV\n0", "***"),
            ("Zm9v+YmFy and /c2VjcmV0", "Zm9v+YmFy and /c2VjcmV0"),
            ("sho\nrt7", "sho\nrt7"),
            ("Zm9v+YmFy/c2VjcmV0\nZm9v+YmFy/c2VjcmV0", "***\n***"),
        ] {
            assert_eq!(masker.mask(text), expected, "{text:?}");
            assert_eq!(masker.knows_of(text.as_bytes()), text != expected, "{text:?}");
        }
    }

    #[test]
    fn token_shapes_are_masked_without_knowing_them() {
        let masker = Masker::new([]);
        for token in [
            format!("ghp_{}", "a1".repeat(18)),
            format!("sk-ant-{}", "x9".repeat(20)),
            "AKIAABCDEFGHIJKLMNOP".to_owned(),
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----".to_owned(),
        ] {
            assert_eq!(masker.mask(&format!("key: {token}.")), "key: ***.", "{token}");
        }
        for text in ["sk-learn is fine", "ghp_short", "a task-runner-for-everybody-in-the-house"] {
            assert_eq!(masker.mask(text), text);
        }
    }

    #[test]
    fn only_what_looks_secret_is_taken_from_the_environment() {
        let environment = BTreeMap::from(
            [
                ("MY_TOKEN", "hunter2hunter2"),
                ("HOME", "/home/runner"),
                ("OTHER", "also-secret"),
                ("USE_TOKEN", "true"),
                ("INPUT_COMMENT-KEY", "nightly-docs"),
                ("ARCHITECT_API_KEY_ENV", "NAME_OF_IT"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let masker = Masker::from_environment(&environment, &["OTHER"], &[]);
        let text = "hunter2hunter2 /home/runner also-secret true nightly-docs NAME_OF_IT";
        assert_eq!(masker.mask(text), "*** /home/runner *** true nightly-docs NAME_OF_IT");
    }
}
