//! Misquoted text: blocks in a fence or an element, with escapes in place of line ends, or with entities in place of marks. They are
//! understood where a file has the text that is meant, and not the one that is given.

use super::lenient_json::without_fence;

/// How a text is misquoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Between lines of three backticks.
    Fenced,
    /// As character data of XML.
    CharacterData,
    /// With `\\n`, `\\t` and the like.
    Escaped,
    /// With `&lt;` and the like.
    Entities,
}

impl Form {
    /// Returns the text that is meant by one of this form.
    pub(super) fn apply_to(self, text: &str) -> String {
        match self {
            Self::Fenced => without_fence_lines(text),
            Self::CharacterData => {
                let inner = || text.trim().strip_prefix("<![CDATA[")?.strip_suffix("]]>");
                inner().unwrap_or(text).to_owned()
            }
            Self::Escaped => unescaped(text),
            Self::Entities => ["&lt;<", "&gt;>", "&quot;\"", "&#39;'", "&apos;'", "&amp;&"].iter().fold(
                text.to_owned(),
                |text, pair| {
                    let (entity, mark) = pair.split_at(pair.len() - 1);
                    text.replace(entity, mark)
                },
            ),
        }
    }

    /// Returns what the model is told.
    pub(super) fn described(self) -> &'static str {
        match self {
            Self::Fenced => "the fence around old_str was left out",
            Self::CharacterData => "the CDATA marks around old_str were left out",
            Self::Escaped => {
                "escapes such as \\n in old_str, and in new_str if it is one line, were taken as the characters that they stand for"
            }
            Self::Entities => {
                "entities such as &lt; in old_str and new_str were taken as the characters that they stand for"
            }
        }
    }
}

/// Returns the texts that may be meant by one.
pub(super) fn forms(text: &str) -> impl Iterator<Item = (Form, String)> + '_ {
    let forms = [Form::Fenced, Form::CharacterData, Form::Escaped, Form::Entities];
    forms.into_iter().map(move |form| (form, form.apply_to(text))).filter(move |(_, meant)| meant != text)
}

fn without_fence_lines(text: &str) -> String {
    // Its indentation is part of a block.
    let inner = || {
        let (_, inner) = text.trim().strip_prefix("```")?.split_once('\n')?;
        inner.strip_suffix("```")?.strip_suffix('\n')
    };
    inner().unwrap_or_else(|| if text.contains('\n') { text } else { without_fence(text) }).to_owned()
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some(mark @ ('"' | '\'' | '\\')) => plain.push(mark),
            other => {
                plain.push('\\');
                plain.extend(other);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_meant_by_what_is_misquoted() {
        for (text, form, meant) in [
            ("```python\n    x\n```", Form::Fenced, "    x"),
            ("<![CDATA[x]]>", Form::CharacterData, "x"),
            ("a\\n\\tb", Form::Escaped, "a\n\tb"),
            ("a &gt; b &amp;&amp; c", Form::Entities, "a > b && c"),
        ] {
            let found: Vec<(Form, String)> = forms(text).collect();
            assert_eq!(found, [(form, meant.to_owned())], "{text}");
        }
        assert_eq!(forms("plain text").count(), 0);
    }
}
