//! Text in pictures: what interpreters and shells would find there.

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
pub(super) fn is_script(content: &[u8]) -> bool {
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

/// Least length of what a shell would read as a line, where no noise is in it.
const LINE: usize = 8;

/// Least length of readable text at the start of a line that cannot be chance.
const START: usize = 16;

/// Returns whether content has lines of readable text, which a shell would run: whole ones, or the beginnings of some.
pub(super) fn has_lines(content: &[u8]) -> bool {
    lines(content).any(|line| line.iter().any(u8::is_ascii_alphabetic))
}

/// Returns whether content has lines of readable text that begin as commands do: with a word that has no capital, a path or
/// a variable, and something behind it.
/// Plain fonts have names of glyphs, and notices that begin with capitals.
pub(super) fn has_commands(content: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./~$\"'=-".contains(byte);
    lines(content).any(|line| {
        let mut words = line.trim_ascii().split(|byte| matches!(byte, b' ' | b'\t'));
        let command = words.next().unwrap_or_default();
        let is_name = command.first().is_some_and(u8::is_ascii_uppercase)
            && !command.iter().any(|byte| b"=/".contains(byte));
        let is_command =
            command.iter().all(is_part) && command.iter().any(u8::is_ascii_alphabetic) && !is_name;
        let is_path = [b"./".as_slice(), b"../", b"~/"].iter().any(|start| command.starts_with(start));
        is_command && (is_path || words.next().and_then(<[u8]>::first).is_some_and(u8::is_ascii_graphic))
    })
}

/// Returns the readable beginnings of lines that are so long that they are no chance.
fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_readable = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    // What stands before the first end of a line is behind the sign of the format.
    let lines = content.split(|byte| matches!(byte, b'\n' | b'\r')).skip(1);
    lines.filter_map(move |line| {
        let readable = line.iter().take_while(|byte| is_readable(byte)).count();
        let is_long = readable >= START || readable >= LINE && readable == line.len();
        is_long.then(|| &line[..readable])
    })
}

/// Returns whether a text has no sign with which a shell could do anything.
pub(super) fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"\0 .,:/()+_@-".contains(byte))
}
