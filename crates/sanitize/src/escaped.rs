//! Forms in which programs write a text between quotes, in addresses and in markup, before they encode the whole in base64.

/// Returns the forms of a text in quotes of shells, of CSV and of SQL, which nothing else in them is escaped for.
pub(super) fn quoted(text: &str) -> Vec<String> {
    let forms = [("'", "'\"'\"'"), ("'", "'\\''"), ("'", "''"), ("\"", "\"\"")];
    forms
        .iter()
        .filter(|(sign, _)| text.contains(sign))
        .map(|(sign, form)| text.replace(sign, form))
        .collect()
}

/// Returns the other escaped forms of a text, as far as they differ from it.
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
        // As Go writes it, and templates of web pages.
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

/// Replaces the characters for which there is a form.
fn each(text: &str, form: impl Fn(char) -> Option<String>) -> String {
    text.chars().map(|sign| form(sign).unwrap_or_else(|| sign.to_string())).collect()
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
