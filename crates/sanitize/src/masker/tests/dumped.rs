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

#[test]
fn no_table_of_bytes_gives_a_secret_away() {
    for secret in ["Pa\"ss\\w0rd&<x>'$y", "aB3xY7qW9eR5tZ1uI8oP2-sD4fG6hJ0k"] {
        let masker = Masker::new([secret]);
        for (kind, text) in dumped(&format!("key={secret} and more\n")) {
            let masked = masker.mask(&text).into_owned();
            assert!(masked.contains(MASK), "{kind}: {text}");
            // Rows are masked whole, so that nothing of it is left in the column beside.
            let parts: Vec<&str> = (0..=secret.len() - 6).map(|at| &secret[at..at + 6]).collect();
            assert!(!parts.iter().any(|part| masked.contains(part)), "{kind}: {text} became {masked}");
        }
        for (kind, text) in dumped("nothing in this that anybody could want to hide") {
            assert_eq!(masker.mask(&text), text, "{kind}");
        }
    }
}
