//! Encodings in which programs write text, character by character, and what they put between the parts of a text.

use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

use crate::dumps;

/// Minimum length of a secret that is looked for across lines, columns and tags, in bytes; a shorter match would be a coincidence.
const MIN_SPLIT: usize = 8;

/// An encoding in which programs write text.
pub(super) struct Writing {
    /// The encoded form of one unit, such as an escape.
    pub(super) form: LazyLock<Regex>,
    /// Decodes a match of the form; `None` if it is not one after all.
    pub(super) meaning: fn(&Captures<'_>) -> Option<Vec<u8>>,
    /// Minimum length of a secret that is looked for in the decoded text, in bytes.
    pub(super) min: usize,
}

/// Compiles a constant pattern.
fn pattern(text: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "constant patterns, compiled in a test")]
    Regex::new(text).expect("a valid pattern")
}

/// Escape sequences of terminals, such as colours, also as `cat -v` shows them.
const TERMINAL: &str = r"(?:\x1b|\^\[)(?-u:\[[0-9;:?]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))";

/// A tag or a comment of HTML and XML.
const TAG: &str = r"</?[A-Za-z!](?-u:[^<>])*>";

/// The joint of two parts: one of its patterns may begin only where none of the others could have begun before, so that no text is
/// gone through twice.
///
/// - A line end, however it is written, and what often stands around it: blanks, colours, and before the next line's text its
///   number.
/// - A tab or a colour, and those behind it.
/// - The ends of two strings that a program joins.
fn joint(before_line: &str) -> String {
    let gap = format!(r"(?:[ \t]|{TERMINAL})*");
    let line = format!(r"{gap}(?:\\?\r?\n|(?:\\r)?\\n|⏎){gap}(?:{before_line}{gap})?");
    let strings = r#"["'`](?:[ \t]|\\?\r?\n)*[+.&]?(?:[ \t]|\\?\r?\n)*["'`]"#;
    format!(r"{line}|(?:\t|{TERMINAL}){gap}|{strings}")
}

/// The number of a line, with the sign that sets it apart from the text.
const NUMBER: &str = r"[0-9]{1,6}(?:\t|→|:[ \t]|[ \t]*[|│])";

/// A name and a number as `grep` writes them, a number before blanks, the sign of a diff, a quote or a list. Each may also be a part of
/// the secret.
const NUMBER_OR_SIGN: &str =
    r"(?:(?-u:[^\s:]+[:\-])?[0-9]{1,7}(?:[:\-=.)]|→|[ \t]*[|│]|[ \t]+))?[ \t]*(?:[+\-|>#*])?";

pub(super) static WRITINGS: [Writing; 11] = [
    Writing {
        form: LazyLock::new(|| pattern(r"%([0-9A-Fa-f]{2})")),
        meaning: |form| byte(form.get(1)?.as_bytes(), 16),
        min: 0,
    },
    // Escapes of JSON, C, Python and shells; quotes of shells and CSV.
    Writing {
        form: LazyLock::new(|| {
            pattern(
                r#"\\(?:[uU](?:\{(?<braces>[0-9A-Fa-f]{1,6})\}|(?<long>0[0-9A-Fa-f]{7})|(?<code>[0-9A-Fa-f]{4}))|x(?<hex>[0-9A-Fa-f]{2})|(?<octal>[0-3]?[0-7]{1,2})|(?<letter>(?s:.)))|(?<quote>'\\''|'"'"'|""|'')"#,
            )
        }),
        meaning: |form| {
            if let Some(quote) = form.name("quote") {
                return Some(quote.as_bytes()[..1].to_vec());
            }
            if let Some(code) = ["braces", "long", "code"].iter().find_map(|name| form.name(name)) {
                return character(code.as_bytes(), 16);
            }
            if let Some(code) = form.name("hex") {
                return byte(code.as_bytes(), 16);
            }
            if let Some(code) = form.name("octal") {
                return byte(code.as_bytes(), 8);
            }
            Some(match form.name("letter")?.as_bytes() {
                b"n" => b"\n".to_vec(),
                b"t" => b"\t".to_vec(),
                b"r" => b"\r".to_vec(),
                b"e" => b"\x1b".to_vec(),
                other => other.to_vec(),
            })
        },
        min: 0,
    },
    // Entities of HTML and XML.
    Writing {
        form: LazyLock::new(|| {
            pattern(r"&(?:#[xX](?<hex>[0-9A-Fa-f]{1,6})|#(?<code>[0-9]{1,7})|(?<name>[A-Za-z]{2,8}));")
        }),
        meaning: |form| {
            if let Some(code) = form.name("hex") {
                return character(code.as_bytes(), 16);
            }
            if let Some(code) = form.name("code") {
                return character(code.as_bytes(), 10);
            }
            let name = form.name("name")?.as_bytes();
            ENTITIES
                .iter()
                .find(|(known, _)| known.as_bytes() == name)
                .map(|(_, sign)| sign.as_bytes().to_vec())
        },
        min: 0,
    },
    // Bytes in hexadecimal, with separators in between.
    Writing {
        form: LazyLock::new(|| pattern(r"(?-u:\b)(?:0[xX])?((?:[0-9A-Fa-f]{2})+)(?:[ :,;\-]{1,2}|(?-u:\b))")),
        meaning: |form| form.get(1)?.as_bytes().chunks(2).map(|pair| Some(byte(pair, 16)?[0])).collect(),
        min: 0,
    },
    // Bytes in decimal numbers, with separators in between; as many as the shortest secret has.
    Writing {
        form: LazyLock::new(|| {
            pattern(
                r"(?-u:\b)[0-9]{1,3}(?:(?:[ \t]*[,;][ \t]*(?:\r?\n[ \t]*)?|[ \t]*\r?\n[ \t]*|[ \t]+)[0-9]{1,3}(?-u:\b)){5,}",
            )
        }),
        meaning: |form| {
            let numbers = form.get(0)?.as_bytes().split(|byte| !byte.is_ascii_digit());
            let numbers = numbers.filter(|digits| !digits.is_empty());
            // What is no byte stands for one that no secret has.
            Some(
                numbers
                    .map(|digits| number(digits, 10).and_then(|n| u8::try_from(n).ok()).unwrap_or(0))
                    .collect(),
            )
        },
        min: 0,
    },
    // Tables of bytes.
    Writing { form: LazyLock::new(|| pattern(dumps::ROW)), meaning: dumps::bytes, min: 0 },
    Writing {
        form: LazyLock::new(|| pattern(dumps::ROW)),
        meaning: dumps::bytes_in_other_order,
        min: MIN_SPLIT,
    },
    Writing { form: LazyLock::new(|| pattern(dumps::BARE_ROW)), meaning: dumps::bare_bytes, min: MIN_SPLIT },
    // Parts in tags, which may have lines of their own. What looks like a tag may also be a part of the secret.
    Writing { form: LazyLock::new(|| pattern(TAG)), meaning: |_| Some(Vec::new()), min: MIN_SPLIT },
    // Parts on lines, in columns, colours and strings.
    Writing {
        form: LazyLock::new(|| pattern(&joint(NUMBER))),
        meaning: |_| Some(Vec::new()),
        min: MIN_SPLIT,
    },
    Writing {
        form: LazyLock::new(|| pattern(&joint(NUMBER_OR_SIGN))),
        meaning: |_| Some(Vec::new()),
        min: MIN_SPLIT,
    },
];

const ENTITIES: [(&str, &str); 31] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("sol", "/"),
    ("bsol", "\\"),
    ("plus", "+"),
    ("equals", "="),
    ("colon", ":"),
    ("semi", ";"),
    ("commat", "@"),
    ("num", "#"),
    ("excl", "!"),
    ("dollar", "$"),
    ("percnt", "%"),
    ("lpar", "("),
    ("rpar", ")"),
    ("ast", "*"),
    ("comma", ","),
    ("period", "."),
    ("quest", "?"),
    ("lsqb", "["),
    ("rsqb", "]"),
    ("lcub", "{"),
    ("rcub", "}"),
    ("verbar", "|"),
    ("grave", "`"),
    ("lowbar", "_"),
    ("hyphen", "-"),
];

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

fn byte(digits: &[u8], radix: u32) -> Option<Vec<u8>> {
    Some(vec![u8::try_from(number(digits, radix)?).ok()?])
}

fn character(digits: &[u8], radix: u32) -> Option<Vec<u8>> {
    Some(char::from_u32(number(digits, radix)?)?.to_string().into_bytes())
}

/// Returns the patterns of all encodings.
#[cfg(test)]
pub(super) fn patterns() -> impl Iterator<Item = &'static str> {
    WRITINGS.iter().map(|writing| writing.form.as_str())
}
