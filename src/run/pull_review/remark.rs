//! Remarks on files of which the reviewer is shown nothing, or not everything as it is; the report repeats them.

use std::fmt;

/// Share of a file that nobody can read, from which on it is binary, in percent.
const UNREADABLE_PERCENT: usize = 30;

/// What a review does not show of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remark {
    /// It is binary, and so large.
    Binary(usize),
    /// It is text with so many NUL bytes.
    Nul(usize),
    /// Its content is withheld from agents.
    Sensitive,
    /// Its name is not text.
    Name,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary(bytes) => write!(f, "binary, {bytes} bytes; its content is not shown"),
            Self::Nul(count) => {
                write!(f, "text, but with NUL bytes ({count}), which hide it from other tools")
            }
            Self::Sensitive => f.write_str("a sensitive file; its content is not shown to the model"),
            Self::Name => f.write_str("a name that is not UTF-8; its content is not shown"),
        }
    }
}

impl Remark {
    /// Returns whether the content is left out.
    pub(super) fn hides_content(self) -> bool {
        !matches!(self, Self::Nul(_))
    }

    /// Judges by the content alone: what the checkout's attributes say is the author's choice.
    pub(super) fn of_content(content: &[u8]) -> Option<Self> {
        // Text is readable but for a few bytes, wherever they are.
        let lossy = String::from_utf8_lossy(content);
        let nul = lossy.matches('\0').count();
        let is_sign = |sign: &char| {
            *sign == '\u{fffd}' || sign.is_control() && !matches!(sign, '\n' | '\r' | '\t' | '\u{c}')
        };
        let unreadable = lossy.chars().filter(is_sign).count();
        let is_binary = nul > 0 && unreadable * 100 > lossy.chars().count() * UNREADABLE_PERCENT;
        if is_binary {
            return Some(Self::Binary(content.len()));
        }
        (nul > 0).then_some(Self::Nul(nul))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_is_what_nobody_can_read() {
        let source = b"/*\0*/ eval(y)\n";
        let image: Vec<u8> = (0..=255).cycle().take(4096).collect();
        let code = [source.repeat(50), vec![0; 60]].concat();
        for (content, expected) in [
            (&b"eval(x)\n"[..], None),
            (source, Some(Remark::Nul(1))),
            (&image, Some(Remark::Binary(4096))),
            (&code, Some(Remark::Nul(110))),
            ("caf\u{e9}".as_bytes(), None),
            (b"", None),
        ] {
            assert_eq!(Remark::of_content(content), expected, "{content:?}");
        }
    }
}
