//! Web addresses that a text names without marking where they end. GitHub makes a link of such an address and of all that stands
//! behind it up to a blank or `<`, also of backslashes and of backticks with which code would begin: what stands behind them would
//! be read in another way than it was written. In `<` and `>`, an address ends where it says.

use std::fmt::Write;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// What an address begins with, and what may be a part of it. GitHub goes on behind `>`, which no address has.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(r"(?i)(?:https?://|ftp://|www\.)[^\s<>]*").expect("the pattern is valid")
});

/// Signs that end a sentence, or what is marked in one, rather than an address.
const AFTER_ADDRESS: &str = "?!.,:;*_~'\"”“„’‘»«›…–—。，、）」";

/// Signs that end what has been opened before the address.
const PAIRS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// Signs in an address that Markdown would read.
const READ: [char; 5] = ['_', '*', '~', '[', ']'];

/// A part of a text that GitHub would begin a link with.
#[derive(Debug)]
pub(crate) struct Address {
    /// Where it is.
    pub(crate) range: Range<usize>,
    /// The page that it leads to; `None` where it is no whole address, or none of a page.
    pub(crate) url: Option<String>,
}

/// Finds the addresses of a text, in their order.
pub(crate) fn addresses(text: &str) -> Vec<Address> {
    if !text.contains("://") && !text.as_bytes().windows(4).any(|four| four.eq_ignore_ascii_case(b"www.")) {
        return Vec::new();
    }
    let address = |found: regex::Match<'_>| {
        let (whole, start) = (found.as_str(), found.start());
        let end = end_of(whole);
        match page(&whole[..end]) {
            Some(url) => Address { range: start..start + end, url: Some(url) },
            None => Address { range: found.range(), url: None },
        }
    };
    ADDRESS.find_iter(text).map(address).collect()
}

/// Returns the address of a page that may stand between `<` and `>`.
fn page(address: &str) -> Option<String> {
    let lower = address.to_ascii_lowercase();
    let (url, host) = match (lower.strip_prefix("https://"), lower.strip_prefix("http://")) {
        (Some(host), _) | (_, Some(host)) => (address.to_owned(), host),
        _ => (format!("http://{address}"), lower.strip_prefix("www.")?),
    };
    // What looks like the name of a character would be one.
    let has_entity = address.contains('&') && address.contains(';');
    (host.starts_with(char::is_alphanumeric) && !has_entity).then_some(url)
}

/// Returns where an address ends, without the signs of the sentence that it stands in.
fn end_of(text: &str) -> usize {
    let mut left = PAIRS.map(|(open, close)| {
        let count = |sign: char| text.matches(sign).count();
        count(close).saturating_sub(count(open))
    });
    let mut address = text;
    loop {
        if let Some(shorter) = address.strip_suffix(|sign| AFTER_ADDRESS.contains(sign)) {
            address = shorter;
            continue;
        }
        let closes = |(_, close): &(char, char)| address.ends_with(*close);
        match PAIRS.iter().position(closes).filter(|pair| left[*pair] > 0) {
            Some(pair) => {
                left[pair] -= 1;
                address = &address[..address.len() - 1];
            }
            None => return address.len(),
        }
    }
}

/// Returns a text in which Markdown reads no sign of an address, so that none is torn apart. `is_text` returns whether a position of
/// the text is neither in code nor in a link.
pub(crate) fn with_whole_addresses(text: &str, is_text: &dyn Fn(usize) -> bool) -> String {
    let (mut whole, mut from) = (String::with_capacity(text.len()), 0);
    for found in ADDRESS.find_iter(text).filter(|found| is_text(found.start())) {
        // With a backtick, code begins.
        let address = found.as_str().split('`').next().unwrap_or_default();
        let end = found.start() + end_of(address);
        whole += &text[from..found.start()];
        let mut is_escaped = false;
        for sign in text[found.start()..end].chars() {
            if READ.contains(&sign) && !is_escaped {
                whole.push('\\');
            }
            is_escaped = sign == '\\' && !is_escaped;
            whole.push(sign);
        }
        from = end;
    }
    whole + &text[from..]
}

/// Encodes the signs of a URL that could end it, or the cell of a table that it stands in, or begin code.
pub(crate) fn encoded(url: &str) -> String {
    let mut encoded = String::with_capacity(url.len());
    // Both together could be the name of a character.
    let has_names = url.contains('&');
    for sign in url.chars() {
        let is_end = sign.is_whitespace() || sign.is_control() || "\\`<>\"|[]{}^".contains(sign);
        if is_end || sign == ';' && has_names {
            for byte in sign.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        } else {
            encoded.push(sign);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_end_where_their_sentence_goes_on() {
        for (text, expected) in [
            ("see http://e.com.", &["http://e.com"][..]),
            ("(https://e.com/a_(b))", &["https://e.com/a_(b)"]),
            ("HTTPS://E.com/a?b=c&d#e, www.e.com: x", &["HTTPS://E.com/a?b=c&d#e", "http://www.e.com"]),
            ("“www.e.com”, —http://e.com/a—", &["http://www.e.com", "http://e.com/a"]),
            ("http://e.com/a>", &["http://e.com/a"]),
            ("http://e.com/`a`", &["http://e.com/`a`"]),
            (
                "see \"https://e.com/a[b]={c}\", [https://e.com/d]",
                &["https://e.com/a[b]={c}", "https://e.com/d"],
            ),
            ("http://e.com/<img>", &["http://e.com/"]),
        ] {
            let found: Vec<String> = addresses(text).into_iter().filter_map(|found| found.url).collect();
            assert_eq!(found, expected, "{text}");
        }
        for text in [
            "www.",
            "the http:// part",
            "ftp://e.com/x",
            "awww. I see",
            "http://`x`",
            "http://e.com/&#47;a",
            "xhttp://.",
        ] {
            assert!(matches!(addresses(text)[..], [Address { url: None, .. }]), "{text}");
        }
        for (text, expected) in [
            ("see https://e.com/__init__.py, __so__", r"see https://e.com/\_\_init\_\_.py, __so__"),
            ("**https://e.com/a*b**", r"**https://e.com/a\*b**"),
            (r"https://e.com/\_x", r"https://e.com/\_x"),
            ("https://e.com/a_`b_c`", "https://e.com/a_`b_c`"),
        ] {
            assert_eq!(with_whole_addresses(text, &|_| true), expected);
            assert_eq!(with_whole_addresses(text, &|_| false), text);
        }
        assert_eq!(encoded("https://e.com/`a` \\|ä"), "https://e.com/%60a%60%20%5C%7Cä");
    }
}
