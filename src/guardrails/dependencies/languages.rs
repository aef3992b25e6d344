//! Programs that list dependencies: what of their text is code, and what is a comment or a text in quotes, where nothing is listed.

/// Comments and texts of a language.
#[derive(Clone, Copy, Debug)]
pub(super) struct Language {
    /// Beginnings of comments that end with the line.
    pub(super) comments: &'static [&'static str],
    /// Signs around texts that end with the line at the latest.
    pub(super) quotes: &'static str,
    /// Comments and texts that may have several lines.
    pub(super) spans: &'static [Span],
    /// Whether `<<NAME` begins a text that ends with a line of that name.
    pub(super) has_documents: bool,
}

/// Comment or text that may have several lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    open: &'static str,
    close: &'static str,
    is_comment: bool,
    /// Whether it begins at the start of a line, and takes the whole line in which it ends.
    has_lines: bool,
}

impl Span {
    pub(super) const fn comment(open: &'static str, close: &'static str) -> Self {
        Self { open, close, is_comment: true, has_lines: false }
    }

    /// Returns a comment of whole lines.
    pub(super) const fn lines(open: &'static str, close: &'static str) -> Self {
        Self { open, close, is_comment: true, has_lines: true }
    }

    pub(super) const fn text(sign: &'static str) -> Self {
        Self { open: sign, close: sign, is_comment: false, has_lines: false }
    }

    /// Returns how long the span is with which a text begins.
    fn length(&self, text: &str) -> usize {
        let mut at = self.open.len();
        while let Some(letter) = text[at..].chars().next() {
            if text[at..].starts_with(self.close) {
                at += self.close.len();
                let to_end = text[at..].find('\n').unwrap_or(text.len() - at);
                return if self.has_lines { at + to_end } else { at };
            }
            at += letter.len_utf8();
            if letter == '\\' && !self.is_comment {
                at += text[at..].chars().next().map_or(0, char::len_utf8);
            }
        }
        text.len()
    }
}

/// Program without its comments. Both texts have the same length, so that a place in one is that place in the other.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// What is left of the text.
    pub(super) text: String,
    /// The same without what stands in quotes.
    pub(super) bare: String,
}

impl Source {
    pub(super) fn of(text: &str, language: &Language) -> Self {
        let mut source = Self::default();
        let mut rest = text;
        let mut is_start = true;
        // Names of the texts that begin in the next line.
        let mut documents: Vec<&str> = Vec::new();
        while let Some(letter) = rest.chars().next() {
            let span = language
                .spans
                .iter()
                .find(|span| rest.starts_with(span.open) && (is_start || !span.has_lines));
            let to_end = rest.find('\n').unwrap_or(rest.len());
            let length = if letter == '\n' {
                let length = documents.drain(..).fold(1, |at, name| at + document(&rest[at..], name));
                source.add_text(&rest[..length], 1, "");
                length
            } else if let Some(span) = span {
                let length = span.length(rest);
                if span.is_comment {
                    source.add_comment(length);
                } else {
                    source.add_text(&rest[..length], span.open.len(), span.close);
                }
                length
            } else if language.comments.iter().any(|comment| rest.starts_with(comment)) {
                source.add_comment(to_end);
                to_end
            } else if language.quotes.contains(letter) {
                let length = quoted(&rest[..to_end], letter);
                source.add_text(&rest[..length], 1, &rest[..1]);
                length
            } else {
                if language.has_documents && source.bare.ends_with('<') && letter == '<' {
                    documents.extend(document_name(&rest[1..]));
                }
                source.text.push(letter);
                source.bare.push(letter);
                letter.len_utf8()
            };
            is_start = rest[..length].ends_with('\n');
            rest = &rest[length..];
        }
        source
    }

    fn add_comment(&mut self, length: usize) {
        let blank = " ".repeat(length);
        self.text.push_str(&blank);
        self.bare.push_str(&blank);
    }

    /// Adds a text between quotes; where it has no end, all of it is text.
    fn add_text(&mut self, text: &str, open: usize, close: &str) {
        let inner = text[open..].strip_suffix(close).unwrap_or(&text[open..]);
        self.text.push_str(text);
        self.bare.push_str(&text[..open]);
        self.bare.push_str(&" ".repeat(inner.len()));
        self.bare.push_str(&text[open + inner.len()..]);
    }

    /// Returns whether there is code at a place.
    pub(super) fn is_code(&self, at: usize) -> bool {
        self.bare.as_bytes().get(at) == self.text.as_bytes().get(at)
    }
}

/// Returns how long the text in quotes is with which a line begins.
fn quoted(line: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = line.char_indices().skip(1).find(|(_, letter)| {
        let is_end = *letter == quote && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        is_end
    });
    end.map_or(line.len(), |(at, _)| at + quote.len_utf8())
}

/// Returns the name that stands behind `<<`.
fn document_name(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['~', '-']).trim_start_matches(['"', '\'']);
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let name = &text[..text.find(|letter| !is_part(letter)).unwrap_or(text.len())];
    name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_').then_some(name)
}

/// Returns how long a text is that ends with a line of a name; nothing if there is no such line.
fn document(text: &str, name: &str) -> usize {
    let mut at = 0;
    let end = text.split_inclusive('\n').find(|line| {
        at += line.len();
        line.trim() == name
    });
    end.map_or(0, |_| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guardrails::dependencies::grammars::{ELIXIR, HCL, PYTHON, RUBY, SLASHES};

    #[test]
    fn what_is_no_code_is_blank() {
        for (language, text, bare) in [
            (&SLASHES, "a 'b' // c\nd /* e\n */ f", "a ' '     \nd          f"),
            (&PYTHON, "a = \"\"\"b\nc = 1\"\"\" # d\n", "a = \"\"\"       \"\"\"    \n"),
            (&PYTHON, "a = 'b\\'c' 'd\ne", "a = '    ' ' \ne"),
            (&PYTHON, "a = 'b\u{e9}", "a = '   "),
            (&RUBY, "a\n=begin\nb\n=end c\nd", "a\n               \nd"),
            (&RUBY, "a <<~B, 1\nc\nB\nd", "a <<~B, 1\n    d"),
            (&RUBY, "a <<B\nc", "a <<B\nc"),
            (&RUBY, "a\n__END__\nb", "a\n         "),
            (&HCL, "a = <<EOT\nb\nEOT\nc # d", "a = <<EOT\n      c    "),
            (&ELIXIR, "a \"b\nc\" d", "a \"   \" d"),
        ] {
            let source = Source::of(text, language);
            assert_eq!(source.bare, bare, "{text}");
            assert_eq!(source.text.len(), source.bare.len(), "{text}");
        }
    }
}
