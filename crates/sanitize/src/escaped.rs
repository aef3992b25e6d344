//! Escaped forms of a secret: how programs write it in quotes, URLs and markup. Text that contains one may be encoded as Base64
//! afterwards, which hides the escapes from a search that would decode them.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Returns the forms of a text in the quotes of shells, CSV and SQL, which escape only the quotes.
pub(super) fn quoted(text: &str) -> Vec<String> {
    let forms = [("'", "'\"'\"'"), ("'", "'\\''"), ("'", "''"), ("\"", "\"\"")];
    forms
        .iter()
        .filter(|(sign, _)| text.contains(sign))
        .map(|(sign, form)| text.replace(sign, form))
        .collect()
}

/// Returns all escaped forms of a text that differ from it.
pub(super) fn escaped(text: &str) -> Vec<String> {
    let json = serde_json::Value::from(text).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or_default();
    let code = |sign: char| {
        let mut units = [0; 2];
        sign.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>()
    };
    let percent = |kept: &str| {
        each(text, |sign| {
            let is_kept = sign.is_ascii_alphanumeric() || "-_.~".contains(sign) || kept.contains(sign);
            let mut bytes = [0; 4];
            let bytes = sign.encode_utf8(&mut bytes).bytes();
            (!is_kept).then(|| bytes.map(|byte| format!("%{byte:02X}")).collect())
        })
    };
    let html = |double: &str, single: &str| {
        each(text, |sign| {
            let entity = match sign {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => double,
                '\'' => single,
                _ => return None,
            };
            Some(entity.to_owned())
        })
    };
    let mut forms = vec![
        json.to_owned(),
        json.replace('/', "\\/"),
        each(json, |sign| (!sign.is_ascii()).then(|| code(sign))),
        // As Go and templates of web pages write it.
        each(json, |sign| (!sign.is_ascii() || "<>&".contains(sign)).then(|| code(sign))),
        each(json, |sign| "<>&".contains(sign).then(|| code(sign))),
        percent(""),
        percent("/"),
        percent("!'()*"),
        percent("").replace("%20", "+"),
        html("&quot;", "&#x27;"),
        html("&quot;", "&#39;"),
        html("&#34;", "&#39;"),
        html("&quot;", "'"),
        html("\"", "'"),
        text.replace('\\', "\\\\"),
        text.replace('\\', "\\\\").replace('\'', "\\'"),
    ];
    forms.extend(quoted(text));
    forms.retain(|form| form != text);
    forms
}

/// Replaces the characters for which `form` returns one.
fn each(text: &str, form: impl Fn(char) -> Option<String>) -> String {
    text.chars().map(|sign| form(sign).unwrap_or_else(|| sign.to_string())).collect()
}

/// Returns the bytes of a secret as hexadecimal digits.
pub(super) fn hexadecimal(secret: &str) -> String {
    secret.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes of a secret in UTF-16, least significant first.
pub(super) fn utf16(secret: &str) -> Vec<u8> {
    secret.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Returns what is the same in every base64 text of something that holds these bytes.
pub(super) fn base64_spellings(content: &[u8]) -> Vec<String> {
    let mut spellings = Vec::new();
    // Base64 of a longer text that holds the secret: at three alignments, without the characters that also
    // depend on what comes before and after it.
    for (lead, dropped) in [(0, 0), (1, 2), (2, 3)] {
        let bytes: Vec<u8> = std::iter::repeat_n(0, lead).chain(content.iter().copied()).collect();
        for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            let end = encoded.len() - usize::from(!bytes.len().is_multiple_of(3));
            if end > dropped + 6 {
                spellings.push(encoded[dropped..end].to_owned());
            }
        }
    }
    spellings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_those_of_programs() {
        let forms = escaped("a\"b\\c&<'/ \u{fc}");
        for expected in [
            "a\\\"b\\\\c&<'/ \u{fc}",
            "a\\\"b\\\\c&<'\\/ \u{fc}",
            "a\\\"b\\\\c&<'/ \\u00fc",
            "a\\\"b\\\\c\\u0026\\u003c'/ \u{fc}",
            "a%22b%5Cc%26%3C%27%2F%20%C3%BC",
            "a%22b%5Cc%26%3C%27/%20%C3%BC",
            "a%22b%5Cc%26%3C%27%2F+%C3%BC",
            "a&quot;b\\c&amp;&lt;&#x27;/ \u{fc}",
            "a\"b\\\\c&<\\'/ \u{fc}",
            "a\"b\\c&<'\"'\"'/ \u{fc}",
        ] {
            assert!(forms.iter().any(|form| form == expected), "{expected}: {forms:?}");
        }
        assert!(escaped("plain123").is_empty());
    }
}
