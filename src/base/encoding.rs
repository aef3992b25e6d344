//! Encodings of text files: UTF-8 with or without a mark, UTF-16 by its mark, or one byte for each character. A mark is no part of
//! the text, so it stays where it is whatever becomes of the text.
//!
//! Nothing is guessed from how often a byte occurs. Whatever is decoded here is encoded again without the loss of a byte.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, Read};

use encoding_rs::{Decoder, Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Encoding of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    #[default]
    Utf8,
    /// With a byte order mark.
    MarkedUtf8,
    Utf16Le,
    Utf16Be,
    /// Latin-1 and the characters that Windows has in addition.
    Windows1252,
}

impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "UTF-8",
            Self::MarkedUtf8 => "UTF-8 with a byte order mark",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Windows1252 => "windows-1252 (Latin-1)",
        })
    }
}

/// Text, and how it is written in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) encoding: TextEncoding,
}

/// Reason why bytes are not read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotText {
    /// A NUL byte, which no text has.
    Binary,
    /// Text, perhaps, in an encoding that is not known; with the first byte that is not UTF-8.
    Unknown(usize),
}

/// Character that an encoding does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{encoding} has no {character:?} (U+{:04X})", u32::from(*.character))]
pub(crate) struct Inexpressible {
    encoding: TextEncoding,
    character: char,
}

/// Decodes text: as UTF-8 if it is that, as UTF-16 if it begins with its mark, and as windows-1252 if every byte beyond ASCII
/// can be a character of it.
pub(crate) fn decode(bytes: &[u8]) -> Result<Decoded<'_>, NotText> {
    if let Some((encoding, known)) = marked(bytes) {
        let text = known.decode_without_bom_handling_and_without_replacement(&bytes[2..]);
        let text = text.filter(|text| !text.contains('\0')).ok_or(NotText::Binary)?;
        return Ok(Decoded { text, encoding });
    }
    if bytes.contains(&0) {
        return Err(NotText::Binary);
    }
    if let Some(Ok(text)) = bytes.strip_prefix(UTF_8_MARK).map(std::str::from_utf8) {
        return Ok(Decoded { text: text.into(), encoding: TextEncoding::MarkedUtf8 });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Decoded { text: text.into(), encoding: TextEncoding::Utf8 }),
        Err(_) if is_windows_1252(bytes) => {
            let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
            Ok(Decoded { text, encoding: TextEncoding::Windows1252 })
        }
        Err(error) => Err(NotText::Unknown(error.valid_up_to())),
    }
}

/// The byte order mark in UTF-8.
const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the encoding that a mark of two bytes at the beginning tells.
fn marked(bytes: &[u8]) -> Option<(TextEncoding, &'static Encoding)> {
    match bytes {
        [0xff, 0xfe, ..] => Some((TextEncoding::Utf16Le, UTF_16LE)),
        [0xfe, 0xff, ..] => Some((TextEncoding::Utf16Be, UTF_16BE)),
        _ => None,
    }
}

/// Returns whether bytes that are not UTF-8 are text in windows-1252: they have no control characters that text has not, none
/// of the five bytes that stand for nothing, and no characters in UTF-8, between which the others would be damage.
fn is_windows_1252(bytes: &[u8]) -> bool {
    let is_text = |byte: &u8| match byte {
        b'\t'..=b'\r' | 0x1a | 0x1b => true,
        0x00..=0x1f | 0x7f | 0x81 | 0x8d | 0x8f | 0x90 | 0x9d => false,
        _ => true,
    };
    bytes.iter().all(is_text) && bytes.utf8_chunks().all(|chunk| chunk.valid().is_ascii())
}

impl TextEncoding {
    /// Returns whether text is in UTF-8.
    pub(crate) fn is_utf8(self) -> bool {
        matches!(self, Self::Utf8 | Self::MarkedUtf8)
    }

    /// Returns whether files in this encoding begin with a mark.
    pub(crate) fn has_mark(self) -> bool {
        !matches!(self, Self::Utf8 | Self::Windows1252)
    }

    /// Encodes a text, with the mark that the encoding has.
    pub(crate) fn encode(self, text: String) -> Result<Vec<u8>, Inexpressible> {
        let pairs = |mark: u16, pair: fn(u16) -> [u8; 2]| {
            std::iter::once(mark).chain(text.encode_utf16()).flat_map(pair).collect()
        };
        match self {
            Self::Utf8 => Ok(text.into_bytes()),
            Self::MarkedUtf8 => Ok([UTF_8_MARK, text.as_bytes()].concat()),
            Self::Utf16Le => Ok(pairs(0xfeff, u16::to_le_bytes)),
            Self::Utf16Be => Ok(pairs(0xfeff, u16::to_be_bytes)),
            Self::Windows1252 => {
                let (bytes, _, has_replaced) = WINDOWS_1252.encode(&text);
                if has_replaced {
                    let is_missing = |c: &char| WINDOWS_1252.encode(c.encode_utf8(&mut [0; 4])).2;
                    let character = text.chars().find(is_missing).unwrap_or_default();
                    return Err(Inexpressible { encoding: self, character });
                }
                Ok(bytes.into_owned())
            }
        }
    }
}

/// Bytes that are read at a time.
const CHUNK: usize = 32 << 10;

/// Reader that returns text of any encoding as UTF-8. It knows what it has read and not what follows: bytes that are not UTF-8
/// become the characters that they are in windows-1252.
pub(crate) struct TextReader<R> {
    from: R,
    /// Bytes that are not decoded yet.
    raw: Vec<u8>,
    /// Text that is, and how much of it has been taken.
    text: Vec<u8>,
    taken: usize,
    decoder: Option<Decoder>,
    has_begun: bool,
    has_ended: bool,
    encoding: TextEncoding,
}

impl<R: Read> TextReader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            from,
            raw: Vec::new(),
            text: Vec::new(),
            taken: 0,
            decoder: None,
            has_begun: false,
            has_ended: false,
            encoding: TextEncoding::Utf8,
        }
    }

    /// Returns the encoding of what has been read so far.
    pub(crate) fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    fn read_more(&mut self) -> io::Result<()> {
        let known = self.raw.len();
        self.raw.resize(known + CHUNK, 0);
        let count = loop {
            match self.from.read(&mut self.raw[known..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.raw.truncate(known + *count.as_ref().unwrap_or(&0));
        self.has_ended = count? == 0;
        if !self.has_begun && (self.raw.len() >= UTF_8_MARK.len() || self.has_ended) {
            self.has_begun = true;
            if self.raw.starts_with(UTF_8_MARK) {
                self.encoding = TextEncoding::MarkedUtf8;
                self.raw.drain(..UTF_8_MARK.len());
            } else if let Some((encoding, known)) = marked(&self.raw) {
                self.encoding = encoding;
                self.decoder = Some(known.new_decoder_without_bom_handling());
                self.raw.drain(..2);
            }
        }
        if self.has_begun {
            self.decode();
        }
        Ok(())
    }

    fn decode(&mut self) {
        if let Some(decoder) = &mut self.decoder {
            let most = decoder.max_utf8_buffer_length(self.raw.len()).unwrap_or(0);
            self.text.resize(most, 0);
            let (_, _, written, _) = decoder.decode_to_utf8(&self.raw, &mut self.text, self.has_ended);
            self.text.truncate(written);
            self.raw.clear();
            return;
        }
        let whole = self.raw.len() - if self.has_ended { 0 } else { begun_character(&self.raw) };
        let rest = self.raw.split_off(whole);
        let bytes = std::mem::replace(&mut self.raw, rest);
        if std::str::from_utf8(&bytes).is_ok() {
            self.text = bytes;
            return;
        }
        self.encoding = TextEncoding::Windows1252;
        for chunk in bytes.utf8_chunks() {
            self.text.extend_from_slice(chunk.valid().as_bytes());
            let (other, _) = WINDOWS_1252.decode_without_bom_handling(chunk.invalid());
            self.text.extend_from_slice(other.as_bytes());
        }
    }
}

/// Returns the number of bytes at the end that begin a character in UTF-8 and do not end it.
fn begun_character(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let Some(at) = tail.iter().rposition(|byte| *byte & 0xc0 != 0x80) else { return 0 };
    let needed = match tail[at] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let begun = tail.len() - at;
    if begun < needed { begun } else { 0 }
}

impl<R: Read> BufRead for TextReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.taken == self.text.len() && !self.has_ended {
            self.text.clear();
            self.taken = 0;
            self.read_more()?;
        }
        Ok(&self.text[self.taken..])
    }

    fn consume(&mut self, amount: usize) {
        self.taken = (self.taken + amount).min(self.text.len());
    }
}

impl<R: Read> Read for TextReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_known_by_its_bytes() {
        for (bytes, expected) in [
            (&b""[..], Ok(("", TextEncoding::Utf8))),
            ("caf\u{e9}".as_bytes(), Ok(("caf\u{e9}", TextEncoding::Utf8))),
            (b"\xef\xbb\xbfa\xc3\xa9", Ok(("a\u{e9}", TextEncoding::MarkedUtf8))),
            (b"\xef\xbb\xbf", Ok(("", TextEncoding::MarkedUtf8))),
            (b"\xef\xbb\xbf\xe9", Err(NotText::Unknown(3))),
            (b"caf\xe9", Ok(("caf\u{e9}", TextEncoding::Windows1252))),
            (b"\x80\x93", Ok(("\u{20ac}\u{201c}", TextEncoding::Windows1252))),
            (b"\xff\xfea\0\xe9\0", Ok(("a\u{e9}", TextEncoding::Utf16Le))),
            (b"\xfe\xff\0a\xd8\x3d\xde\0", Ok(("a\u{1f600}", TextEncoding::Utf16Be))),
            // Half a pair, half a character, UTF-32, no mark.
            (b"\xff\xfea", Err(NotText::Binary)),
            (b"\xfe\xff\xd8\x3d", Err(NotText::Binary)),
            (b"\xff\xfe\0\0a\0\0\0", Err(NotText::Binary)),
            (b"a\0b\0", Err(NotText::Binary)),
            // Shift JIS, damaged UTF-8, something else.
            (b"a \x83\x8d", Err(NotText::Unknown(2))),
            (b"\xc3\xa9 \xe9", Err(NotText::Unknown(3))),
            (b"\x01\xe9", Err(NotText::Unknown(1))),
        ] {
            let found = decode(bytes).map(|found| (found.text.into_owned(), found.encoding));
            let expected = expected.map(|(text, encoding)| (text.to_owned(), encoding));
            assert_eq!(found, expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_an_encoding_does_not_have_is_named() {
        let error = TextEncoding::Windows1252.encode("\u{e9} \u{2192}".to_owned()).expect_err("an arrow");
        assert_eq!(error.to_string(), "windows-1252 (Latin-1) has no '\u{2192}' (U+2192)");
    }

    /// Reader that returns one piece at a time.
    struct Pieces(Vec<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(piece) = self.0.pop() else { return Ok(0) };
            buffer[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    proptest! {
        #[test]
        fn what_is_decoded_is_encoded_again(bytes in prop::collection::vec(any::<u8>(), 0..40), mark in 0..4_usize) {
            let bytes = [[&b""[..], b"\xff\xfe", b"\xfe\xff", UTF_8_MARK][mark], &bytes].concat();
            if let Ok(Decoded { text, encoding }) = decode(&bytes) {
                prop_assert_eq!(encoding.encode(text.into_owned()), Ok(bytes));
            }
        }

        #[test]
        fn readers_return_the_text_whatever_the_pieces(
            text in "[a-z\u{e9}\u{20ac}\u{1f600}\n]{0,40}",
            which in 0..4_usize,
            size in 1..5_usize,
        ) {
            let encoding =
                [TextEncoding::Utf8, TextEncoding::MarkedUtf8, TextEncoding::Utf16Le, TextEncoding::Utf16Be][which];
            let bytes = encoding.encode(text.clone()).expect("any text");
            let mut pieces: Vec<Vec<u8>> = bytes.chunks(size).map(<[u8]>::to_vec).collect();
            pieces.reverse();
            let mut reader = TextReader::new(Pieces(pieces));
            let mut read = String::new();
            reader.read_to_string(&mut read).expect("UTF-8");
            prop_assert_eq!(read, text);
            prop_assert_eq!(reader.encoding(), encoding);
        }
    }

    #[test]
    fn readers_take_single_bytes_for_characters() {
        let mut reader = TextReader::new(&b"caf\xe9 \xc3\xa9 \xe2\x82"[..]);
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("UTF-8");
        assert_eq!(
            (read.as_str(), reader.encoding()),
            ("caf\u{e9} \u{e9} \u{e2}\u{201a}", TextEncoding::Windows1252)
        );
    }
}
