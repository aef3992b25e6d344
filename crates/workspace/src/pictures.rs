//! Pictures and fonts: the only files that nobody has to read as text. Each has to be what its name says from the first to the last byte,
//! because programs run many a file that only begins like one, and to hold no text but a few plain words, because a shell runs every
//! line that it can read.

mod fonts;
mod text;

use fonts::{font, packed_font};
use text::{has_commands, has_lines, is_plain, is_script};

/// Returns whether content is a picture or a font of the kind that its name says, and nothing else.
pub(crate) fn is_picture_or_font(name: &str, content: &[u8]) -> bool {
    let suffix = name.rsplit_once('.').map_or_else(String::new, |(_, suffix)| suffix.to_ascii_lowercase());
    let is_whole = match suffix.as_str() {
        "png" => png(content),
        "gif" => gif(content),
        "jpg" | "jpeg" => jpeg(content),
        "webp" => webp(content),
        "ico" => Some(icon(content) == Some(true) || png(content) == Some(true)),
        "ttf" | "otf" => font(content, &[b"\0\x01\0\0", b"OTTO", b"true"], 12, 16, 8),
        "woff" | "woff2" => packed_font(content, &suffix),
        _ => Some(false),
    };
    let is_plain_font = matches!(suffix.as_str(), "ttf" | "otf");
    let is_run = if is_plain_font { has_commands(content) } else { has_lines(content) };
    is_whole.unwrap_or(false) && !is_script(content) && !is_run
}

/// Reads a number, most significant byte first.
fn number(bytes: &[u8]) -> Option<usize> {
    bytes.iter().try_fold(0_usize, |sum, byte| sum.checked_mul(256)?.checked_add(usize::from(*byte)))
}

/// Reads a number, least significant byte first.
fn reversed(bytes: &[u8]) -> Option<usize> {
    number(&bytes.iter().rev().copied().collect::<Vec<u8>>())
}

fn range(content: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    content.get(at..at.checked_add(length)?)
}

/// Kinds of chunks in a PNG that a picture needs, and that hold no compressed text.
const CHUNKS: [&[u8]; 28] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"acTL", b"fcTL", b"fdAT", b"bKGD", b"cHRM", b"cICP", b"eXIf",
    b"gAMA", b"hIST", b"iCCP", b"iTXt", b"mDCV", b"cLLI", b"oFFs", b"pHYs", b"sBIT", b"sRGB", b"tEXt",
    b"tIME", b"tRNS", b"iDOT", b"orNT", b"vpAg", b"sTER",
];

fn png(content: &[u8]) -> Option<bool> {
    let mut at = 8;
    if range(content, 0, 8)? != b"\x89PNG\r\n\x1a\n" || range(content, 8, 8)? != b"\0\0\0\rIHDR" {
        return Some(false);
    }
    let mut has_data = false;
    loop {
        let length = number(range(content, at, 4)?)?;
        let kind = range(content, at + 4, 4)?;
        if !CHUNKS.contains(&kind) {
            return Some(false);
        }
        has_data |= kind == b"IDAT";
        let start = at + 8;
        let data = range(content, start, length)?;
        let is_readable = match kind {
            b"tEXt" => is_plain(data),
            // A keyword and a zero, then whether it is compressed, and how.
            b"iTXt" => is_plain(data) && data.split(|byte| *byte == 0).nth(1) == Some(&[]),
            b"iCCP" => is_plain(data.split(|byte| *byte == 0).next()?),
            _ => true,
        };
        if !is_readable {
            return Some(false);
        }
        let mut checksum = flate2::Crc::new();
        checksum.update(kind);
        checksum.update(data);
        if number(range(content, start + length, 4)?)? != checksum.sum() as usize {
            return Some(false);
        }
        at = start + length + 4;
        if kind == b"IEND" {
            return Some(has_data && length == 0 && at == content.len());
        }
    }
}

fn gif(content: &[u8]) -> Option<bool> {
    if !content.starts_with(b"GIF87a") && !content.starts_with(b"GIF89a") {
        return Some(false);
    }
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    // Blocks of bytes, each behind its length, until one of none.
    let blocks = |mut at: usize| loop {
        let length = usize::from(*content.get(at)?);
        at += length + 1;
        if length == 0 {
            return Some(at);
        }
    };
    let mut at = 13 + table(*content.get(10)?);
    loop {
        at = match *content.get(at)? {
            b'!' => blocks(at + 2)?,
            b',' => blocks(at + 10 + table(*content.get(at + 9)?) + 1)?,
            b';' => return Some(at + 1 == content.len()),
            _ => return Some(false),
        };
    }
}

fn jpeg(content: &[u8]) -> Option<bool> {
    if !content.starts_with(b"\xff\xd8\xff") {
        return Some(false);
    }
    let mut at = 2;
    loop {
        if *content.get(at)? != 0xff {
            return Some(false);
        }
        match *content.get(at + 1)? {
            0xff => at += 1,
            0xd9 => return Some(at + 2 == content.len()),
            0x00..=0xbf | 0xd0..=0xd8 => return Some(false),
            marker => {
                let length = number(range(content, at + 2, 2)?)?;
                at += 2 + length;
                if length < 2 {
                    return Some(false);
                }
                // The picture follows; in it, only these come behind a byte 255.
                let is_data = |at: usize| {
                    Some(*content.get(at)? != 0xff || matches!(content.get(at + 1)?, 0 | 0xd0..=0xd7))
                };
                while marker == 0xda && is_data(at)? {
                    at += 1;
                }
            }
        }
    }
}

fn webp(content: &[u8]) -> Option<bool> {
    if range(content, 0, 4)? != b"RIFF" || range(content, 8, 4)? != b"WEBP" {
        return Some(false);
    }
    let mut at = 12;
    while at < content.len() {
        let kind = range(content, at, 4)?;
        let kinds: [&[u8]; 9] =
            [b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP", b"EXIF", b"XMP "];
        let length = reversed(range(content, at + 4, 4)?)?;
        at = at.checked_add(8 + length + length % 2)?;
        if !kinds.contains(&kind) {
            return Some(false);
        }
    }
    Some(at == content.len() && reversed(range(content, 4, 4)?)? == content.len() - 8)
}

/// Icons: a list of pictures, of which each is a PNG or a bitmap, one behind the other.
fn icon(content: &[u8]) -> Option<bool> {
    if range(content, 0, 4)? != b"\0\0\x01\0" {
        return Some(false);
    }
    let count = reversed(range(content, 4, 2)?)?;
    let mut at = 6 + 16 * count;
    for entry in 0..count {
        let entry = range(content, 6 + 16 * entry, 16)?;
        let (length, start) = (reversed(&entry[8..12])?, reversed(&entry[12..16])?);
        let picture = range(content, start, length)?;
        if start != at || !(bitmap(picture) == Some(true) || png(picture) == Some(true)) {
            return Some(false);
        }
        at = start + length;
    }
    Some(count > 0 && at == content.len())
}

/// Bitmaps of an icon: a header, a table of colours, and as many dots as the header says, each once in colour and once for the mask.
fn bitmap(content: &[u8]) -> Option<bool> {
    const HEADER: usize = 40;
    let field = |at: usize, length: usize| reversed(range(content, at, length)?);
    let (width, rows, bits, colors) = (field(4, 4)?, field(8, 4)? / 2, field(14, 2)?, field(32, 4)?);
    let is_plain = field(0, 4)? == HEADER && field(12, 2)? == 1 && field(16, 4)? == 0;
    if !is_plain || !matches!(bits, 1 | 4 | 8 | 24 | 32) || width > 256 || rows > 256 || colors > 256 {
        return Some(false);
    }
    let table = match bits {
        1 | 4 | 8 if colors == 0 => 4 << bits,
        _ => 4 * colors,
    };
    // Rows are filled up to four bytes.
    let row = |bits: usize| (width * bits).div_ceil(32) * 4;
    let dots = HEADER + table + rows * row(bits);
    Some(content.len() == dots + rows * row(1) || bits == 32 && content.len() == dots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        let mut sum = flate2::Crc::new();
        sum.update(kind);
        sum.update(data);
        let length = u32::try_from(data.len()).expect("a small chunk").to_be_bytes();
        [&length, kind, data, &sum.sum().to_be_bytes()].concat()
    }

    fn a_png(more: &[u8]) -> Vec<u8> {
        let header = chunk(b"IHDR", b"\0\0\0\x01\0\0\0\x01\x08\0\0\0\0");
        let chunks = [header, more.to_vec(), chunk(b"IDAT", b"\x78\x9c"), chunk(b"IEND", b"")].concat();
        [b"\x89PNG\r\n\x1a\n".as_slice(), &chunks].concat()
    }

    /// Returns a compressed font with tables, and with more behind them that its header names.
    fn a_woff(start: &[u8], packed: &[u8], tables: &[u8], extra: &[u8]) -> Vec<u8> {
        let is_newer = start == b"wOF2";
        let header = if is_newer { 48 } else { 44 };
        let length = |length: usize| u32::try_from(length).expect("a small font").to_be_bytes();
        let count = if is_newer { 2 } else { 1 };
        let mut font = [start, b"\0\x01\0\0", &length(header + tables.len() + extra.len())].concat();
        font.extend([0, count, 0, 0, 0, 0, 0, 0]);
        if is_newer {
            font.extend(packed);
        }
        font.extend([0; 4]);
        let at = if extra.is_empty() { 0 } else { header + tables.len() };
        font.extend([length(at), length(extra.len()), length(extra.len()), [0; 4], [0; 4]].concat());
        [font, tables.to_vec(), extra.to_vec()].concat()
    }

    #[test]
    fn pictures_are_what_they_are_called_up_to_their_end() {
        let png = a_png(b"");
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xda\0\x02\x01\xff\0\x02\xff\xd0\xff\xd9";
        let gif = b"GIF87a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
        let webp = b"RIFF\x0e\0\0\0WEBPVP8L\x02\0\0\0ab";
        let mut bitmap = [b"\x28\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\x20\0".as_slice(), &[0; 24]].concat();
        bitmap.extend([1, 2, 3, 4, 0, 0, 0, 0]);
        let icon =
            [b"\0\0\x01\0\x01\0\x01\x01\0\0\x01\0\x20\0\x30\0\0\0\x16\0\0\0".as_slice(), &bitmap].concat();
        let font =
            [b"\0\x01\0\0\0\x01\0\0\0\0\0\0nameSUM!\0\0\0\x1c\0\0\0\x03".as_slice(), b"abc\0"].concat();
        let woff = a_woff(b"wOFF", &[0; 4], b"name\0\0\0\x40\0\0\0\x03\0\0\0\x03\0\0\0\0abc\0", b"");
        let woff2 = a_woff(b"wOF2", b"\0\0\0\x04", b"\x05\x03\x0a\x03\x02abcd", b"");
        let all: [(&str, &[u8]); 8] = [
            ("a.PNG", &png),
            ("a.jpeg", jpeg),
            ("a.gif", gif),
            ("a.webp", webp),
            ("a.ico", &icon),
            ("a.ttf", &font),
            ("a.woff", &woff),
            ("a.woff2", &woff2),
        ];
        for (name, content) in all {
            assert!(is_picture_or_font(name, content), "{name}");
            // Nothing stands behind the end, and nothing is left out.
            assert!(!is_picture_or_font(name, &[content, b"\ntouch x\n"].concat()), "{name}");
            for length in 0..content.len() - 1 {
                assert!(!is_picture_or_font(name, &content[..length]), "{name} {length}");
            }
            assert!(!is_picture_or_font("a.bin", content) && !is_picture_or_font("a", content));
        }
        assert!(is_picture_or_font("a.png", &a_png(&chunk(b"tEXt", b"Software\0A program, version 3"))));
        for more in [
            chunk(b"tEXt", b"a\0<?php system(1)"),
            chunk(b"tEXt", b"a\0<?= more_than_chance() ?>"),
            chunk(b"tEXt", b"a\0PK\x05\x06 an archive"),
            chunk(b"shEl", b"x"),
            chunk(b"tEXt", b"a\0\ntouch x\n"),
            chunk(b"tEXt", b"a\0;touch x;"),
            chunk(b"iTXt", b"a\0\0\0\0\0x\ny"),
            chunk(b"iTXt", b"a\0\x01\0\0\0x"),
            chunk(b"zTXt", b"a\0\0x"),
            chunk(b"iCCP", b"a\nb\0\0x"),
            chunk(b"eXIf", b"a\ntouch pwned\n"),
            chunk(b"IDAT", b"a\nsh ./install.sh #\xff"),
        ] {
            assert!(!is_picture_or_font("a.png", &a_png(&more)));
        }
        assert!(is_picture_or_font("a.png", &a_png(&chunk(b"iTXt", b"Title\0\0\0en\0\0A picture"))));
        for (name, content) in [
            ("a.jpg", b"\xff\xd8\xff\xfe\0\x0e\ntouch xyz\n\xff\xda\0\x02\x01\xff\xd9".to_vec()),
            (
                "a.gif",
                b"GIF87a\x01\0\x01\0\0\0\0!\xfe\x0b\ntouch xy\n\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"
                    .to_vec(),
            ),
            (
                "a.ico",
                b"\0\0\x01\0\x01\0\x01\x01\0\0\x01\0\x20\0\x0d\0\0\0\x16\0\0\0\x28\0\0\0\nsh ./a\n#".to_vec(),
            ),
            ("a.woff", a_woff(b"wOFF", b"", b"name\0\0\0\x40\0\0\0\x03\0\0\0\x03\0\0\0\0abc\0", b"\nsh a\n")),
            ("a.woff2", a_woff(b"wOF2", b"\0\0\0\x04", b"\x05\x03\x0a\x03\x02abcd", b"\nsh a\n")),
        ] {
            assert!(!is_picture_or_font(name, &content), "{name}");
        }
        let a_font = |text: &[u8]| {
            let length = u32::try_from(text.len()).expect("a small font").to_be_bytes();
            [b"\0\x01\0\0\0\x01\0\0\0\0\0\0nameSUM!\0\0\0\x1c".as_slice(), &length, text].concat()
        };
        assert!(is_picture_or_font(
            "a.ttf",
            &a_font(b"\0\nCopyright (c) of somebody\n\x0aEdotaccent\x0aafii10017\0")
        ));
        for line in
            ["touch pwned", "./run.sh #", "./install.sh", "  curl -L evil", "A=b sh ./x", "$SHELL x.sh"]
        {
            let text = format!("\0\n{line}\n");
            assert!(!is_picture_or_font("a.ttf", &a_font(text.as_bytes())), "{line}");
        }
        let mut forged = a_png(b"");
        forged[20] ^= 1;
        assert!(!is_picture_or_font("a.png", &forged));
    }
}
