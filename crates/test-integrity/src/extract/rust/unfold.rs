//! Tests in Rust's macros that the grammar takes for tokens: those of proptest and quickcheck.

/// Returns a text in which functions in `proptest! { … }` stand as if they were outside of it, at the same places. What they ask
/// a strategy for (`value in 0..9`) is left out: it is no parameter that the grammar knows.
pub(in crate::extract) fn unfold(text: &str) -> Option<String> {
    const MACROS: &[&str] = &["proptest! {", "proptest!{", "quickcheck! {", "quickcheck!{"];
    let mut bytes: Option<Vec<u8>> = None;
    for name in MACROS {
        for (start, _) in text.match_indices(name) {
            let open = start + name.len() - 1;
            let Some(end) = closing(text.as_bytes(), open) else { continue };
            let bytes = bytes.get_or_insert_with(|| text.as_bytes().to_vec());
            blank(bytes, start, open + 1);
            blank(bytes, end, end + 1);
            leave_out_parameters(bytes, open + 1, end);
        }
    }
    bytes.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Returns the place of the bracket that closes one.
fn closing(bytes: &[u8], open: usize) -> Option<usize> {
    let pair = match bytes.get(open)? {
        b'{' => (b'{', b'}'),
        b'(' => (b'(', b')'),
        _ => (b'[', b']'),
    };
    let (mut depth, mut is_text) = (0_usize, false);
    let mut at = open;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\\' if is_text => at += 1,
            b'"' => is_text = !is_text,
            byte if !is_text && byte == pair.0 => depth += 1,
            byte if !is_text && byte == pair.1 => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Puts blanks in the place of what is neither a blank nor the end of a line.
fn blank(bytes: &mut [u8], start: usize, end: usize) {
    if let Some(part) = bytes.get_mut(start..end) {
        part.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
}

fn leave_out_parameters(bytes: &mut [u8], start: usize, end: usize) {
    let mut at = start;
    while at + 3 < end {
        let is_inner = bytes[at..].starts_with(b"#![");
        if is_inner && let Some(close) = closing(bytes, at + 2) {
            blank(bytes, at, close + 1);
            at = close;
        } else if bytes[at..].starts_with(b"fn ") {
            let open = bytes[at..end].iter().position(|byte| *byte == b'(').map(|place| at + place);
            if let Some((open, close)) = open.and_then(|open| Some((open, closing(bytes, open)?))) {
                blank(bytes, open + 1, close);
                at = close;
            }
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_stand_outside_at_the_same_places() {
        let text = "proptest! {\n    #![proptest_config(c())]\n    #[test]\n    fn f(x in 0..9) { prop_assert_eq!(x, \"}\"); }\n}\n";
        let unfolded = unfold(text).expect("a macro");
        assert_eq!(unfolded.len(), text.len());
        assert_eq!(
            unfolded.split_whitespace().collect::<Vec<_>>().join(" "),
            "#[test] fn f( ) { prop_assert_eq!(x, \"}\"); }"
        );
        assert_eq!(unfold("fn f() {}"), None);
    }
}
