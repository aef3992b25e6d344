//! Arguments as models write them where JSON is meant: within a fence, with comments, raw line ends in strings, single quotes, names
//! without quotes, Python's constants, commas and braces too many. Whatever can be read in one way is rewritten as JSON.

use std::iter::Peekable;
use std::str::Chars;

use crate::base::text::without_fence;

/// Returns a text as the JSON that is meant; `None` if it is cut off, or can be read in more than one way.
pub(super) fn rewritten(text: &str) -> Option<String> {
    let text = without_fence(text.trim());
    let json = String::with_capacity(text.len() + 8);
    let mut writer = Writer { rest: text.chars().peekable(), json, depth: 0 };
    writer.value()?;
    let is_end = |c: char| c.is_whitespace() || matches!(c, '}' | ']' | ')' | '`' | ';' | ',');
    writer.rest.all(is_end).then_some(writer.json)
}

/// Maximum depth of values within each other, as a JSON parser has it.
pub(super) const MAX_DEPTH: usize = 128;

/// Rewrites a text as JSON, value by value.
struct Writer<'a> {
    rest: Peekable<Chars<'a>>,
    json: String,
    /// Number of values around the next one.
    depth: usize,
}

impl Writer<'_> {
    /// Skips blanks and comments.
    fn skip(&mut self) -> Option<()> {
        loop {
            match self.rest.peek() {
                Some(c) if c.is_whitespace() => {
                    self.rest.next();
                }
                Some('/') => {
                    self.rest.next();
                    match self.rest.next()? {
                        '/' => while self.rest.next_if(|c| *c != '\n').is_some() {},
                        '*' => {
                            let mut before = ' ';
                            loop {
                                let c = self.rest.next()?;
                                if (before, c) == ('*', '/') {
                                    break;
                                }
                                before = c;
                            }
                        }
                        _ => return None,
                    }
                }
                Some('#') => while self.rest.next_if(|c| *c != '\n').is_some() {},
                _ => return Some(()),
            }
        }
    }

    fn value(&mut self) -> Option<()> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.value_within()?;
        self.depth -= 1;
        Some(())
    }

    fn value_within(&mut self) -> Option<()> {
        self.skip()?;
        match *self.rest.peek()? {
            '{' => self.list('}', true),
            '[' => self.list(']', false),
            quote @ ('"' | '\'') => self.string(quote),
            _ => {
                let word = self.word();
                let constant = match word.as_str() {
                    "True" | "true" => "true",
                    "False" | "false" => "false",
                    "None" | "null" | "undefined" | "nil" => "null",
                    number if number.parse::<f64>().is_ok() => number,
                    _ => return None,
                };
                self.json.push_str(constant);
                Some(())
            }
        }
    }

    /// Rewrites an object or an array, without a comma at its end.
    fn list(&mut self, end: char, has_names: bool) -> Option<()> {
        self.json.extend(self.rest.next());
        let mut is_first = true;
        loop {
            self.skip()?;
            if self.rest.next_if_eq(&end).is_some() {
                self.json.push(end);
                return Some(());
            }
            if !is_first {
                self.json.push(',');
            }
            is_first = false;
            if has_names {
                self.name()?;
                self.skip()?;
                self.rest.next_if_eq(&':')?;
                self.json.push(':');
            }
            self.value()?;
            self.skip()?;
            if self.rest.next_if_eq(&',').is_none() && self.rest.peek() != Some(&end) {
                return None;
            }
        }
    }

    fn name(&mut self) -> Option<()> {
        if let quote @ ('"' | '\'') = *self.rest.peek()? {
            self.string(quote)
        } else {
            let word = self.word();
            self.json.push('"');
            self.json.push_str(&word);
            self.json.push('"');
            (!word.is_empty()).then_some(())
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+')) {
            word.push(c);
        }
        word
    }

    /// Rewrites a string. A backslash that begins no escape, as in `\d`, stands for itself; then that of `\n` beside it may as well, as
    /// in `C:\new\data`, so that there are two ways to read the string.
    fn string(&mut self, quote: char) -> Option<()> {
        self.rest.next();
        self.json.push('"');
        let (mut has_letter_escape, mut has_plain_backslash) = (false, false);
        loop {
            match self.rest.next()? {
                c if c == quote => break,
                '\\' => match self.rest.next()? {
                    c @ ('b' | 'f' | 'n' | 'r' | 't') => {
                        has_letter_escape = true;
                        self.json.extend(['\\', c]);
                    }
                    c @ ('"' | '\\' | '/' | 'u') => self.json.extend(['\\', c]),
                    '\'' => self.json.push('\''),
                    c => {
                        has_plain_backslash = true;
                        self.json.push_str("\\\\");
                        self.plain(c);
                    }
                },
                c => self.plain(c),
            }
        }
        self.json.push('"');
        (!(has_letter_escape && has_plain_backslash)).then_some(())
    }

    fn plain(&mut self, c: char) {
        match c {
            '"' => self.json.push_str("\\\""),
            '\n' => self.json.push_str("\\n"),
            '\r' => self.json.push_str("\\r"),
            '\t' => self.json.push_str("\\t"),
            c if c < ' ' => self.json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => self.json.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn object(text: &str) -> Option<Value> {
        let value = serde_json::from_slice(rewritten(text)?.as_bytes()).ok();
        value.filter(Value::is_object)
    }

    #[test]
    fn what_can_be_read_in_one_way_is_taken() {
        for (text, expected) in [
            ("{\"a\": \"one\ntwo\"}", json!({"a": "one\ntwo"})),
            (r#"{"a": "\d+\.x"}"#, json!({"a": "\\d+\\.x"})),
            (r#"{"a": 1}}"#, json!({"a": 1})),
            ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
            ("{\"a\": 1, /* why */ \"b\": [1, 2,], // so\n}", json!({"a": 1, "b": [1, 2]})),
            ("{'a': None, 'b': True, 'c': 'it\\'s \"x\"'}", json!({"a": null, "b": true, "c": "it's \"x\""})),
            ("{a: 1, b_c: 'x'}", json!({"a": 1, "b_c": "x"})),
        ] {
            assert_eq!(object(text), Some(expected), "{text}");
        }
        for text in [
            "{\"a\": \"cut",
            "{\"a\": 1} {\"b\": 2}",
            "{\"a\": \"x\"y\"}",
            "{a}",
            "a: 1",
            "[1]",
            "{\"a\" 1}",
            r#"{"a": "C:\new\data"}"#,
            r#"{"a": "\bone\d"}"#,
        ] {
            assert_eq!(object(text), None, "{text}");
        }
        let deep = format!("{{'a': {}", "[".repeat(200_000));
        assert_eq!(object(&deep), None);
    }
}
