//! Secrets in tables of bytes.

use super::super::Masker;
use super::MASK;

/// Returns a text as `xxd`, `hexdump` and `od` show it, by their own notations.
fn dumped(text: &str) -> Vec<(&'static str, String)> {
    let rows = |offset: fn(usize) -> String, row: &dyn Fn(&[u8]) -> String| -> String {
        let chunks = text.as_bytes().chunks(16).enumerate();
        chunks.map(|(at, bytes)| format!("{}{}\n", offset(16 * at), row(bytes))).collect()
    };
    let shown = |bytes: &[u8]| -> String {
        bytes.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' }).collect()
    };
    let each =
        |bytes: &[u8], form: fn(u8) -> String| bytes.iter().map(|byte| form(*byte)).collect::<String>();
    let words = |bytes: &[u8], form: fn(u16) -> String| -> String {
        let pairs = bytes.chunks(2).map(|two| u16::from_le_bytes([two[0], two.get(1).copied().unwrap_or(0)]));
        pairs.map(form).collect()
    };
    let octal: fn(usize) -> String = |at| format!("{at:07o}");
    let hex: fn(usize) -> String = |at| format!("{at:08x}");
    vec![
        (
            "xxd",
            rows(|at| format!("{at:08x}:"), &|bytes| {
                let pairs: String = bytes
                    .chunks(2)
                    .map(|two| format!(" {}", each(two, |byte| format!("{byte:02x}"))))
                    .collect();
                format!("{pairs:<40}  {}", shown(bytes))
            }),
        ),
        (
            "hexdump -C",
            rows(hex, &|bytes| {
                format!(" {:<49}  |{}|", each(bytes, |byte| format!(" {byte:02x}")), shown(bytes))
            }),
        ),
        ("hexdump", rows(octal, &|bytes| words(bytes, |word| format!(" {word:04x}")))),
        ("od", rows(octal, &|bytes| words(bytes, |word| format!(" {word:06o}")))),
        ("od -b", rows(octal, &|bytes| each(bytes, |byte| format!(" {byte:03o}")))),
        (
            "od -tx1z",
            rows(octal, &|bytes| {
                format!("{}  >{}<", each(bytes, |byte| format!(" {byte:02x}")), shown(bytes))
            }),
        ),
        (
            "od -c",
            rows(octal, &|bytes| {
                each(bytes, |byte| {
                    if byte == b'\n' { "  \\n".to_owned() } else { format!("{:>4}", char::from(byte)) }
                })
            }),
        ),
    ]
}

/// Returns a text as these programs show it if they are asked for other numbers, or for no offsets.
fn dumped_otherwise(text: &str) -> Vec<(&'static str, String)> {
    let rows = |has_offsets: bool, row: &dyn Fn(&[u8]) -> String| -> String {
        let offset = |at: usize| if has_offsets { format!("{:07o}", 16 * at) } else { String::new() };
        text.as_bytes()
            .chunks(16)
            .enumerate()
            .map(|(at, bytes)| format!("{}{}\n", offset(at), row(bytes)))
            .collect()
    };
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let numbers = |bytes: &[u8], size: usize, form: &dyn Fn(u64) -> String| -> String {
        bytes.chunks(size).map(|bytes| form(number(bytes))).collect()
    };
    let cell = |byte: u64| match u8::try_from(byte).map(char::from) {
        Ok('\n') => "  \\n".to_owned(),
        letter => format!("{:>4}", letter.unwrap_or_default()),
    };
    let little = |bytes: &[u8]| {
        let text: String = bytes
            .iter()
            .map(|byte| char::from(*byte))
            .map(|letter| if letter == '\n' { '.' } else { letter })
            .collect();
        let words: String = bytes
            .chunks(4)
            .map(|word| format!("{:>9}", format!("{:0>1$x}", number(word), 2 * word.len())))
            .collect();
        format!("{words:<36}  {text}")
    };
    let mut offset = 0;
    let xxd = text.as_bytes().chunks(16).map(|bytes| {
        offset += 16;
        format!("{:08x}:{}\n", offset - 16, little(bytes))
    });
    vec![
        ("xxd -e", xxd.collect()),
        ("od -An -tx1", rows(false, &|bytes| numbers(bytes, 1, &|byte| format!(" {byte:02x}")))),
        ("od -An", rows(false, &|bytes| numbers(bytes, 2, &|word| format!(" {word:06o}")))),
        ("od -An -c", rows(false, &|bytes| numbers(bytes, 1, &cell))),
        ("od -An -tu4", rows(false, &|bytes| numbers(bytes, 4, &|word| format!(" {word:>10}")))),
        (
            "od -tx1c",
            rows(true, &|bytes| {
                let numbers_of = |form: &dyn Fn(u64) -> String| numbers(bytes, 1, form);
                format!("{}\n       {}", numbers_of(&|byte| format!("  {byte:02x}")), numbers_of(&cell))
            }),
        ),
        ("od -td1", rows(true, &|bytes| numbers(bytes, 1, &|byte| format!(" {byte:>4}")))),
        ("od -tu1", rows(true, &|bytes| numbers(bytes, 1, &|byte| format!(" {byte:>3}")))),
        ("od -td2", rows(true, &|bytes| numbers(bytes, 2, &|word| format!(" {word:>6}")))),
        ("od -tu2", rows(true, &|bytes| numbers(bytes, 2, &|word| format!(" {word:>5}")))),
        ("od -td4", rows(true, &|bytes| numbers(bytes, 4, &|word| format!(" {word:>11}")))),
        ("od -to4", rows(true, &|bytes| numbers(bytes, 4, &|word| format!(" {word:011o}")))),
        ("od -tu8", rows(true, &|bytes| numbers(bytes, 8, &|word| format!(" {word:>20}")))),
        ("od -to8", rows(true, &|bytes| numbers(bytes, 8, &|word| format!(" {word:022o}")))),
        ("hexdump -d", rows(true, &|bytes| numbers(bytes, 2, &|word| format!("   {word:05}")))),
        (
            "od -tx4 --endian=big",
            rows(true, &|bytes| {
                bytes.chunks(4).map(|word| format!(" {:08x}", number(word).swap_bytes() >> 32)).collect()
            }),
        ),
    ]
}

#[test]
fn no_table_of_bytes_gives_a_secret_away() {
    for secret in ["Pa\"ss\\w0rd&<x>'$y", "aB3xY7qW9eR5tZ1uI8oP2-sD4fG6hJ0k"] {
        let masker = Masker::new([secret]);
        let text = format!("key={secret} and more\n");
        for (kind, text) in dumped(&text).into_iter().chain(dumped_otherwise(&text)) {
            let masked = masker.mask(&text).into_owned();
            assert!(masked.contains(MASK), "{kind}: {text}");
            // Rows are masked whole, so that nothing of it is left in the column beside.
            let parts: Vec<&str> = (0..=secret.len() - 6).map(|at| &secret[at..at + 6]).collect();
            assert!(!parts.iter().any(|part| masked.contains(part)), "{kind}: {text} became {masked}");
        }
        let text = "nothing in this that anybody could want to hide";
        for (kind, text) in dumped(text).into_iter().chain(dumped_otherwise(text)) {
            assert_eq!(masker.mask(&text), text, "{kind}");
        }
    }
}
