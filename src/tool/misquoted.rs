//! Misquoted text: blocks in a fence or an element, with escapes in place of line ends, or with entities in place of marks. They are
//! understood where a file has the text that is meant, and not the one that is given.

use super::file_kind::FileKind;

/// How a text is misquoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Between lines of three backticks.
    Fenced,
    /// As character data of XML.
    CharacterData,
    /// With a backslash before characters of these kinds.
    Escaped(Escapes),
    /// With `&lt;` and the like.
    Entities,
}

/// Kinds of characters that are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Escapes {
    /// `\"` and `\'`.
    quotes: bool,
    /// `\\`.
    backslashes: bool,
    /// `\n`, `\t` and `\r`.
    blanks: bool,
}

impl Escapes {
    /// From fewest to most: what is no misquotation stays.
    const SETS: [Self; 4] = [
        Self { quotes: true, backslashes: false, blanks: false },
        Self { quotes: false, backslashes: true, blanks: false },
        Self { quotes: true, backslashes: true, blanks: false },
        Self { quotes: true, backslashes: true, blanks: true },
    ];

    /// All kinds.
    pub(super) const ALL: Self = Self::SETS[3];

    /// Returns a text with characters of these kinds in place of their escapes.
    pub(super) fn apply_to(self, text: &str) -> String {
        let mut plain = String::with_capacity(text.len());
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let next = if c == '\\' { rest.next() } else { None };
            match next {
                Some('n') if self.blanks => plain.push('\n'),
                Some('t') if self.blanks => plain.push('\t'),
                Some('r') if self.blanks => plain.push('\r'),
                Some(mark @ ('"' | '\'')) if self.quotes => plain.push(mark),
                Some('\\') if self.backslashes => plain.push('\\'),
                other => {
                    plain.push(c);
                    plain.extend(other);
                }
            }
        }
        plain
    }
}

/// Marks in a replacement, such as escapes, of which nothing tells whether they are part of the file's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "old_str has marks such as escapes or fences that the file does not have there, and it is not clear whether {0} in new_str is one; \
     give both texts as they are to stand in the file, without marks of their own"
)]
pub(super) struct UnclearMark(&'static str);

impl Form {
    /// Returns the text that is meant by one of this form.
    pub(super) fn apply_to(self, text: &str) -> String {
        match self {
            Self::Fenced => without_fence_lines(text),
            Self::CharacterData => {
                let inner = || text.trim().strip_prefix("<![CDATA[")?.strip_suffix("]]>");
                inner().unwrap_or(text).to_owned()
            }
            Self::Escaped(escapes) => escapes.apply_to(text),
            Self::Entities => ENTITIES.iter().fold(text.to_owned(), |text, (entities, mark)| {
                entities.iter().fold(text, |text, entity| text.replace(entity, mark))
            }),
        }
    }

    /// Returns the text that is meant by a replacement for `old`, which has this form.
    pub(super) fn replacement(self, old: &str, new: &str) -> Result<String, UnclearMark> {
        let Self::Escaped(escapes) = self else {
            if self == Self::Entities
                && let Some(entity) = entity_in(new)
                && [old, new].into_iter().any(has_raw_mark)
            {
                return Err(UnclearMark(entity));
            }
            let meant = self.apply_to(new);
            let keeps_fence = self == Self::Fenced && meant == new && new.trim_start().starts_with("```");
            return if keeps_fence { Err(UnclearMark("```")) } else { Ok(meant) };
        };
        // What the old text has in this way too is no misquotation, and of what it has not, nobody can tell.
        let is_unclear =
            |is_known: bool, escape: &str| !is_known && new.contains(escape) && !old.contains(escape);
        let kinds = [(escapes.quotes, "\\\""), (escapes.quotes, "\\'"), (escapes.backslashes, "\\\\")];
        // Beside other escapes, one of a line end is one as well, or part of a string; where line ends are line ends, it is that.
        let is_one_line = !new.contains('\n');
        let blanks = ["\\n", "\\t"].map(|blank| (escapes.blanks || !is_one_line, blank));
        let kinds = kinds.into_iter().chain(blanks);
        if let Some((_, escape)) = kinds.into_iter().find(|(is_known, escape)| is_unclear(*is_known, escape))
        {
            return Err(UnclearMark(escape));
        }
        // A text as a whole is escaped only if all of its marks are.
        let is_mixed = |quote: char, escape: &str| {
            new.contains(escape) && [old, new].into_iter().any(|text| has_unescaped(text, quote))
        };
        let quotes = [('"', "\\\""), ('\'', "\\'")];
        if let Some((_, escape)) =
            quotes.into_iter().find(|(quote, escape)| escapes.quotes && is_mixed(*quote, escape))
        {
            return Err(UnclearMark(escape));
        }
        // Where line ends are line ends, what looks like one is part of a string.
        let escapes = Escapes { blanks: escapes.blanks && !new.contains('\n'), ..escapes };
        Ok(escapes.apply_to(new))
    }

    /// Returns what the model is told.
    pub(super) fn described(self) -> &'static str {
        match self {
            Self::Fenced => "the fence around old_str was left out",
            Self::CharacterData => "the CDATA marks around old_str were left out",
            Self::Escaped(Escapes { blanks: true, .. }) => {
                "escapes such as \\n in old_str, and in new_str if it is one line, were taken as the characters that they stand for"
            }
            Self::Escaped(Escapes { quotes: true, backslashes: false, .. }) => {
                "escaped quotes (\\\") in old_str and new_str were taken as quotes"
            }
            Self::Escaped(_) => "doubled backslashes in old_str and new_str were taken as single ones",
            Self::Entities => {
                "entities such as &lt; in old_str and new_str were taken as the characters that they stand for"
            }
        }
    }
}

/// Entities of each mark. That of the ampersand comes last, because it may be part of others.
const ENTITIES: [(&[&str], &str); 5] = [
    (&["&lt;", "&#60;", "&#x3C;", "&#x3c;"], "<"),
    (&["&gt;", "&#62;", "&#x3E;", "&#x3e;"], ">"),
    (&["&quot;", "&#34;", "&#x22;"], "\""),
    (&["&#39;", "&apos;", "&#x27;"], "'"),
    (&["&amp;", "&#38;", "&#x26;"], "&"),
];

/// Returns the first entity of the list that a text has.
fn entity_in(text: &str) -> Option<&'static str> {
    ENTITIES.iter().flat_map(|(entities, _)| *entities).copied().find(|entity| text.contains(entity))
}

/// Returns whether a text has a mark that would be an entity if the text as a whole were encoded.
fn has_raw_mark(text: &str) -> bool {
    let is_entity = |rest: &str| {
        ENTITIES.iter().any(|(entities, _)| entities.iter().any(|entity| rest.starts_with(entity)))
    };
    text.contains(['<', '>']) || text.match_indices('&').any(|(at, _)| !is_entity(&text[at..]))
}

/// Returns whether a text has a quote with no backslash before it.
fn has_unescaped(text: &str, quote: char) -> bool {
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        if sign == quote {
            return true;
        }
        if sign == '\\' {
            signs.next();
        }
    }
    false
}

/// Refuses entities in a replacement that were taken as marks, as the note says, in a file where entities are text.
pub(super) fn check_entities(name: &str, note: Option<&str>, new: &str) -> Result<(), UnclearMark> {
    let is_taken = note.is_some_and(|note| note.contains(Form::Entities.described()));
    match entity_in(new).filter(|_| is_taken && FileKind::of(name).has_entities()) {
        Some(entity) => Err(UnclearMark(entity)),
        None => Ok(()),
    }
}

/// Returns the texts that may be meant by one.
pub(super) fn forms(text: &str) -> impl Iterator<Item = (Form, String)> + '_ {
    let escaped = Escapes::SETS.into_iter().map(Form::Escaped);
    let forms = [Form::Fenced, Form::CharacterData].into_iter().chain(escaped).chain([Form::Entities]);
    let meant = forms.map(move |form| (form, form.apply_to(text)));
    meant.filter(move |(_, meant)| meant != text && !meant.is_empty())
}

fn without_fence_lines(text: &str) -> String {
    // Its indentation is part of a block.
    let inner = || {
        let (_, inner) = text.trim().strip_prefix("```")?.split_once('\n')?;
        inner.strip_suffix("```")?.strip_suffix('\n')
    };
    inner().unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_meant_by_what_is_misquoted() {
        for (text, form, meant) in [
            ("```python\n    x\n```", Form::Fenced, "    x"),
            ("<![CDATA[x]]>", Form::CharacterData, "x"),
            ("a\\n\\tb", Form::Escaped(Escapes::SETS[3]), "a\n\tb"),
            ("f(\\\"\\n\\\\\\\")", Form::Escaped(Escapes::SETS[0]), "f(\"\\n\\\\\")"),
            ("a &gt; b &amp;&amp; &amp;lt; &#x27;", Form::Entities, "a > b && &lt; '"),
        ] {
            let found = forms(text).find(|(found, _)| *found == form);
            assert_eq!(found, Some((form, meant.to_owned())), "{text}");
        }
        assert_eq!(forms("plain text").count(), 0);
    }
    #[test]
    fn replacements_are_written_without_the_escapes_of_what_they_replace() {
        let [quotes, backslashes, _, all] = Escapes::SETS;
        for (escapes, old, new, expected) in [
            (quotes, r#"f(\"a\")"#, "f(\\\"b\\\")\ng(\\\"c\\\")", Ok("f(\"b\")\ng(\"c\")")),
            (quotes, r#"f(\"a\")"#, r#"f(\"a\n\")"#, Err(UnclearMark(r"\n"))),
            (quotes, r#"f(\"a\n\")"#, r#"f(\"b\n\")"#, Ok(r#"f("b\n")"#)),
            (quotes, r#"f(\"a\")"#, r#"f(\"a\\n\")"#, Err(UnclearMark(r"\\"))),
            (quotes, r#"f(\"a\\\")"#, r#"f(\"b\\\")"#, Ok(r#"f("b\\")"#)),
            (backslashes, r"\\d", r"\\d\\w", Ok(r"\d\w")),
            (backslashes, r"\\d", r#"\\d\""#, Err(UnclearMark(r#"\""#))),
            (all, r"a\nb", r#"a\n\"c\\n\""#, Ok("a\n\"c\\n\"")),
            (all, r"a\nb", "a\n\\\"c\\n\\\"", Ok("a\n\"c\\n\"")),
            (quotes, r#"m=\"a\""#, r#"m="say \"a\"""#, Err(UnclearMark(r#"\""#))),
            (quotes, r#"m=\"a\""#, r#"m="a""#, Ok(r#"m="a""#)),
            (quotes, r#"m=\"a\""#, r#"m='a' + \"b\""#, Ok(r#"m='a' + "b""#)),
        ] {
            let replacement = Form::Escaped(escapes).replacement(old, new);
            assert_eq!(replacement.as_deref(), expected.as_deref(), "{old} {new}");
        }
    }

    #[test]
    fn entities_are_taken_as_marks_where_the_text_as_a_whole_is_encoded() {
        for (old, new, expected) in [
            ("a &lt; b", "a &lt;= b &amp;&amp; c", Ok("a <= b && c")),
            ("a &amp;&amp; b", "a < b", Ok("a < b")),
            ("a &amp;&amp; b", "a &amp;&amp; c.replace(/&/g, '&amp;')", Err(UnclearMark("&amp;"))),
            ("a &amp;&amp; b", "a &amp;&amp; b && c", Err(UnclearMark("&amp;"))),
            ("<td>R&amp;D</td>", "<td>R&amp;D &lt;internal&gt;</td>", Err(UnclearMark("&lt;"))),
            ("R&amp;D&nbsp;", "R&amp;D", Err(UnclearMark("&amp;"))),
        ] {
            let replacement = Form::Entities.replacement(old, new);
            assert_eq!(replacement.as_deref(), expected.as_deref(), "{old} {new}");
        }
        let note = Form::Entities.described();
        for (name, note, new, is_clear) in [
            ("a.html", Some(note), "R&amp;D", false),
            ("a.html", Some(note), "R", true),
            ("a.html", None, "R&amp;D", true),
            ("a.js", Some(note), "a &amp;&amp; b", true),
        ] {
            assert_eq!(check_entities(name, note, new).is_ok(), is_clear, "{name} {new}");
        }
    }
}
