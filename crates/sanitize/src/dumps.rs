//! Rows of bytes as `xxd`, `hexdump` and `od` print them: an offset, the bytes in some notation, and often the same as text.

use std::ops::RangeInclusive;

use regex::bytes::Captures;

/// A row. Its groups are the offset, the colon that `xxd` writes behind it, and the rest. What `od` shows of the same bytes in other
/// notations is on lines below, without an offset.
pub(super) const ROW: &str =
    r"(?m)^[ \t]*(?-u:([0-9A-Fa-f]+)(:?)([ \t][^\r\n]*))(?-u:\r?\n {7,}[^\r\n]*)*(?:\r?\n)?";

/// A row without an offset, as `od -An` prints it.
pub(super) const BARE_ROW: &str = r"(?m)^(?-u:( [^\r\n]*))(?:\r?\n)?";

/// Digits that an offset may have.
const OFFSET: RangeInclusive<usize> = 6..=16;

/// Width of a cell in the output of `od -c` and `od -a`.
const CELL: usize = 4;

/// Names that `od -a` has for control characters.
const CONTROLS: [&[u8]; 30] = [
    b"nul", b"soh", b"stx", b"etx", b"eot", b"enq", b"ack", b"bel", b"bs", b"vt", b"ff", b"so", b"si",
    b"dle", b"dc1", b"dc2", b"dc3", b"dc4", b"nak", b"syn", b"etb", b"can", b"em", b"sub", b"esc", b"fs",
    b"gs", b"rs", b"us", b"del",
];

/// Order of the bytes in a number of several.
#[derive(Clone, Copy)]
enum Order {
    MostSignificantFirst,
    LeastSignificantFirst,
}

/// Returns the bytes of a row, or `None` if the text is no row.
pub(super) fn bytes(row: &Captures<'_>) -> Option<Vec<u8>> {
    let (offset, colon, rest) = (row.get(1)?, row.get(2)?, row.get(3)?);
    OFFSET.contains(&offset.len()).then(|| contents(!colon.is_empty(), rest.as_bytes()))?
}

/// Returns the bytes of a row whose numbers are in the order that its program does not write unless it is asked to.
pub(super) fn bytes_in_other_order(row: &Captures<'_>) -> Option<Vec<u8>> {
    let (offset, colon, rest) = (row.get(1)?, row.get(2)?, row.get(3)?);
    let text = std::str::from_utf8(rest.as_bytes()).ok().filter(|_| OFFSET.contains(&offset.len()))?;
    if colon.is_empty() {
        return numbers(without_text(text), Order::MostSignificantFirst);
    }
    // The text begins where the numbers of a whole row end, and the last number of a shorter row stands to the right.
    let text = text.trim_start();
    let width = text.split(' ').next().filter(|word| word.len() > 2).map(|word| 32 + 32 / word.len())?;
    numbers(text.get(..width).unwrap_or(text), Order::LeastSignificantFirst)
}

/// Returns the bytes of a row without an offset, or `None` if the text is no row.
pub(super) fn bare_bytes(row: &Captures<'_>) -> Option<Vec<u8>> {
    contents(false, row.get(1)?.as_bytes())
}

fn contents(is_of_xxd: bool, rest: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(rest).ok();
    if is_of_xxd {
        return numbers(text?.trim_start().split("  ").next()?, Order::MostSignificantFirst);
    }
    let decode = |text: &str| {
        let text = without_text(text);
        columns(text).or_else(|| numbers(text, Order::LeastSignificantFirst))
    };
    let has_letters_alone = |text: &str| text.split_ascii_whitespace().all(|word| word.len() == 1);
    let decoded = match text {
        Some(text) if has_letters_alone(text) => cells(rest).or_else(|| decode(text)),
        text => text.and_then(decode).or_else(|| cells(rest)),
    };
    decoded.filter(|bytes| !bytes.is_empty())
}

/// Returns a row without the column in which its bytes stand as text.
fn without_text(row: &str) -> &str {
    let end = row.find("  |").or_else(|| row.find("  >")).unwrap_or(row.len());
    &row[..end]
}

/// Returns the bytes of numbers in columns whose width says how large the numbers are.
fn columns(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end();
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let shortest = words.iter().map(|word| word.len()).min()?;
    let longest = words.iter().map(|word| word.len()).max()?;
    let width = text.len().checked_div(words.len()).filter(|width| *width * words.len() == text.len())?;
    let is_end = |(index, _): (usize, &&str)| {
        let end = (index + 1) * width;
        text.get(..end).is_some_and(|before| !before.ends_with(' '))
            && text.as_bytes().get(end).is_none_or(|next| *next == b' ')
    };
    if !words.iter().enumerate().all(is_end) {
        return None;
    }
    let (radix, size) = match (width, shortest, longest) {
        (4, 1..=2, 2..=3) | (5, _, ..=3) => (10, 1),
        (6, _, ..=5) | (7, ..=5, _) | (8, 5, 5) => (10, 2),
        (12, 11, 11) => (8, 4),
        (11 | 12, _, _) => (10, 4),
        (23, 22, 22) => (8, 8),
        (21, _, _) => (10, 8),
        _ => return None,
    };
    let mut bytes = Vec::new();
    for word in words {
        // Numbers with a sign are those of bytes beyond all letters.
        let number = i128::from_str_radix(word, radix).ok()?.to_le_bytes();
        bytes.extend(&number[..size]);
    }
    Some(bytes)
}

/// Returns the bytes of numbers that are all of the same kind.
fn numbers(text: &str, order: Order) -> Option<Vec<u8>> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let are = |length: usize, digits: &str| {
        words.iter().all(|word| word.len() == length && word.chars().all(|digit| digits.contains(digit)))
    };
    let (radix, size) = match words.first()?.len() {
        8 if are(8, "01") => (2, Some(1)),
        6 if are(6, "01234567") => (8, Some(2)),
        3 if are(3, "01234567") => (8, Some(1)),
        1 | 3 => (10, Some(1)),
        // The last number of a row may be shorter.
        2 | 4 | 8 | 16 => (16, None),
        _ => return None,
    };
    let mut bytes = Vec::new();
    for word in words {
        let size = size.unwrap_or(word.len().div_ceil(2)).min(8);
        let number = u64::from_str_radix(word, radix).ok()?.to_be_bytes();
        let (zeros, own) = number.split_at(8 - size);
        if zeros.iter().any(|byte| *byte != 0) {
            return None;
        }
        match order {
            Order::MostSignificantFirst => bytes.extend(own),
            Order::LeastSignificantFirst => bytes.extend(own.iter().rev()),
        }
    }
    Some(bytes)
}

/// Returns the bytes of cells with a character, its escape, its name or its octal number.
fn cells(rest: &[u8]) -> Option<Vec<u8>> {
    rest.chunks(CELL).map(cell).collect()
}

fn cell(cell: &[u8]) -> Option<u8> {
    Some(match cell.trim_ascii_start() {
        b"" if cell.len() == CELL => b' ',
        b"sp" => b' ',
        b"nl" | b"\\n" => b'\n',
        b"cr" | b"\\r" => b'\r',
        b"ht" | b"\\t" => b'\t',
        [letter] if cell.len() == CELL => *letter,
        // Other control characters, of which no secret consists.
        [b'\\', _] => 0,
        name if CONTROLS.contains(&name) => 0,
        digits => u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_programs_are_read() {
        for (is_of_xxd, row) in [
            (false, "   k   e   y   =   P   a   \"   s   s   /   w       r   d   &  \\n"),
            (false, "   k   e   y   =   P   a   \"   s   s   /   w  sp   r   d   &  nl"),
            (false, " 062553 036571 060520 071442 027563 020167 062162 005046"),
            (false, " 656b 3d79 6150 7322 2f73 2077 6472 0a26"),
            (false, " 6b 65 79 3d 50 61 22 73 73 2f 77 20 72 64 26 0a  >key=Pa\"ss/w rd&.<"),
            (false, "  6b 65 79 3d 50 61 22 73  73 2f 77 20 72 64 26 0a  |key=Pa\"ss/w rd&.|"),
            (false, " 153 145 171 075 120 141 042 163 163 057 167 040 162 144 046 012"),
            (false, " 107 101 121  61  80  97  34 115 115  47 119  32 114 100  38  10"),
            (false, " 3d79656b 73226150 20772f73 0a266472"),
            (false, " 25963 15737 24912 29474 12147  8311 25714  2598"),
            (false, "  25963  15737  24912  29474  12147   8311  25714   2598"),
            (false, "   25963   15737   24912   29474   12147   08311   25714   02598"),
            (false, " 1031365995 1931632976  544681843  170288242"),
            (false, "  1031365995  1931632976   544681843   170288242"),
            (false, "  8296300460826518891   731382430828015475"),
            (false, " 07536262553 16310460520 04035627563 01211462162"),
            (false, " 0714423025007536262553 0050463107104035627563"),
            (false, "  107  101  121   61   80   97   34  115  115   47  119   32  114  100   38   10"),
            (true, " 6b65 793d 5061 2273 732f 7720 7264 260a  key=Pa\"ss/w rd&."),
            (true, " 6b65793d 50612273 732f7720 7264260a  key=Pa\"ss/w rd&."),
        ] {
            assert_eq!(
                contents(is_of_xxd, row.as_bytes()).as_deref(),
                Some(&b"key=Pa\"ss/w rd&\n"[..]),
                "{row}"
            );
        }
        for row in [" fix the bug", " 12 eggs", "", " 999", " (HEAD) one two"] {
            assert_eq!(contents(false, row.as_bytes()), None, "{row}");
        }
    }
}
