//! Pictures and fonts: the only files that nobody has to read as text. Each has to be what its name says from the first to the last byte,
//! because programs run many a file that only begins like one.

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
        "woff" => packed_font(content, b"wOFF"),
        "woff2" => packed_font(content, b"wOF2"),
        _ => Some(false),
    };
    is_whole.unwrap_or(false) && !is_script(content)
}

/// Beginnings of code that interpreters look for anywhere in a file, in small letters.
const CODE: [&[u8]; 13] = [
    b"<?php",
    b"<script",
    b"#!/",
    b"require(",
    b"eval(",
    b"system(",
    b"import(",
    b"__import__",
    b"function(",
    b"<%@",
    // Python and Java run an archive wherever it is in a file.
    b"pk\x01\x02",
    b"pk\x03\x04",
    b"pk\x05\x06",
];

/// Number of readable characters behind `<?=` or `<%` that cannot be chance.
const READABLE: usize = 16;

/// Returns whether a picture holds code that some interpreter would find in it.
fn is_script(content: &[u8]) -> bool {
    let lower = content.to_ascii_lowercase();
    let holds = |code: &&[u8]| lower.windows(code.len()).any(|window| window == *code);
    let is_short_tag = |at: usize| {
        let rest = lower.get(at..).unwrap_or_default();
        let behind = rest
            .strip_prefix(b"<?=")
            .or_else(|| rest.strip_prefix(b"<%"))
            .and_then(|rest| rest.get(..READABLE));
        behind.is_some_and(|behind| behind.iter().all(|byte| matches!(byte, b' '..=b'~')))
    };
    CODE.iter().any(holds) || (0..lower.len()).filter(|at| lower[*at] == b'<').any(is_short_tag)
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

/// Kinds of chunks in a PNG.
const CHUNKS: [&[u8]; 34] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"acTL", b"fcTL", b"fdAT", b"bKGD", b"cHRM", b"cICP", b"eXIf",
    b"gAMA", b"hIST", b"iCCP", b"iTXt", b"mDCV", b"cLLI", b"oFFs", b"pCAL", b"pHYs", b"sBIT", b"sCAL",
    b"sPLT", b"sRGB", b"tEXt", b"tIME", b"tRNS", b"zTXt", b"iDOT", b"caBX", b"orNT", b"vpAg", b"npTc",
    b"sTER",
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

/// Icons: a list of pictures, of which each is a PNG or begins with the header of a bitmap, one behind the other.
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
        if start != at || !(picture.starts_with(b"\x28\0\0\0") || png(picture)?) {
            return Some(false);
        }
        at = start + length;
    }
    Some(count > 0 && at == content.len())
}

/// Fonts: a list of tables that cover the file but for the space between them.
fn font(content: &[u8], starts: &[&[u8; 4]], header: usize, size: usize, place: usize) -> Option<bool> {
    if !starts.iter().any(|start| content.starts_with(*start)) {
        return Some(false);
    }
    let count = number(range(content, 4, 2)?)?;
    let mut places = Vec::new();
    for table in 0..count {
        let entry = range(content, header + size * table, size)?;
        places.push((number(&entry[place..place + 4])?, number(&entry[place + 4..place + 8])?));
    }
    covers(content, header + size * count, places)
}

/// Returns whether these parts, each by its start and length, leave no more than padding of a file.
fn covers(content: &[u8], from: usize, mut places: Vec<(usize, usize)>) -> Option<bool> {
    places.sort_unstable();
    let is_padding = |start: usize, end: usize| {
        start >= end
            || content.get(start..end).is_some_and(|gap| gap.len() < 4 && gap.iter().all(|byte| *byte == 0))
    };
    let mut at = from;
    for (start, length) in &places {
        if !is_padding(at, *start) {
            return Some(false);
        }
        at = at.max(start.checked_add(*length)?);
    }
    Some(!places.is_empty() && at <= content.len() && is_padding(at, content.len()))
}

/// Compressed fonts say how long they are; what is in them is compressed.
fn packed_font(content: &[u8], start: &[u8]) -> Option<bool> {
    let kinds: [&[u8]; 3] = [b"\0\x01\0\0", b"OTTO", b"true"];
    let is_known = content.starts_with(start) && kinds.contains(&range(content, 4, 4)?);
    Some(is_known && number(range(content, 8, 4)?)? == content.len())
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

    #[test]
    fn pictures_are_what_they_are_called_up_to_their_end() {
        let png = a_png(b"");
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xda\0\x02\x01\xff\0\x02\xff\xd0\xff\xd9";
        let gif = b"GIF87a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
        let webp = b"RIFF\x0e\0\0\0WEBPVP8L\x02\0\0\0ab";
        let icon =
            [b"\0\0\x01\0\x01\0\x01\x01\0\0\x01\0\x08\0\x05\0\0\0\x16\0\0\0".as_slice(), b"\x28\0\0\0x"]
                .concat();
        let font =
            [b"\0\x01\0\0\0\x01\0\0\0\0\0\0nameSUM!\0\0\0\x1c\0\0\0\x03".as_slice(), b"abc\0"].concat();
        let woff = b"wOFF\0\x01\0\0\0\0\0\x0ex\0";
        let all: [(&str, &[u8]); 7] = [
            ("a.PNG", &png),
            ("a.jpeg", jpeg),
            ("a.gif", gif),
            ("a.webp", webp),
            ("a.ico", &icon),
            ("a.ttf", &font),
            ("a.woff", woff),
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
        ] {
            assert!(!is_picture_or_font("a.png", &a_png(&more)));
        }
        let mut forged = a_png(b"");
        forged[20] ^= 1;
        assert!(!is_picture_or_font("a.png", &forged));
    }
}
