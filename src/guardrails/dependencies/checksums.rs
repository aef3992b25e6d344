//! Checksums of a lock file, which say what has to be fetched: how hard it is to make something else that has the same one.

use serde_json::Value;

/// Keys of checksums that do not say how they are made.
const KEYS: [&str; 13] = [
    "checksum",
    "checksums",
    "hash",
    "hashes",
    "integrity",
    "md5",
    "narhash",
    "sha1",
    "sha256",
    "sha512",
    "shasum",
    "spec checksums",
    "contenthash",
];

/// Returns the length in bits of the longest checksum in the text at some keys, if it is one.
pub(super) fn strength(keys: &[String], text: &str) -> Option<usize> {
    let is_number = |key: &&String| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    let mut named = keys.iter().rev().skip_while(is_number).map(|key| key.to_lowercase());
    let is_key = named.next().is_some_and(|key| KEYS.contains(&key.as_str()))
        || named.next().is_some_and(|key| matches!(key.as_str(), "checksums" | "spec checksums"));
    text.split([' ', ',']).filter_map(|one| of_one(one, is_key)).max()
}

fn of_one(text: &str, is_key: bool) -> Option<usize> {
    let (name, sum) = text.split_once(['-', ':', '=', '/']).unwrap_or(("", text));
    let bits = match name.to_ascii_lowercase().as_str() {
        "md5" => 128,
        "sha1" => 160,
        "sha224" => 224,
        "sha256" | "h1" | "zh" | "blake3" => 256,
        "sha384" => 384,
        "sha512" | "blake2b" | "b5" => 512,
        _ if is_key && sum.len() >= 32 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()) => 4 * sum.len(),
        _ => return None,
    };
    (sum.len() >= 16).then_some(bits)
}

/// Returns the lengths in bits of all checksums in a value at some keys.
fn strengths(value: &Value, keys: &mut Vec<String>, found: &mut Vec<usize>) {
    let mut inner = |key: String, value: &Value| {
        keys.push(key);
        strengths(value, keys, found);
        keys.pop();
    };
    match value {
        Value::Object(entries) => entries.iter().for_each(|(key, value)| inner(key.clone(), value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| inner(index.to_string(), item));
        }
        Value::String(text) => found.extend(strength(keys, text)),
        _ => {}
    }
}

/// Returns the length in bits of the shortest checksum in a value.
pub(super) fn weakest(value: &Value) -> Option<usize> {
    let mut found = Vec::new();
    strengths(value, &mut Vec::new(), &mut found);
    found.into_iter().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_known_by_their_names_and_keys() {
        for (key, text, bits) in [
            ("integrity", "sha512-AAAAAAAAAAAAAAAAAAAAAAAAAA==", Some(512)),
            ("integrity", "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=", Some(160)),
            ("integrity", "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA= sha512-AAAAAAAAAAAAAAAAAAAAAAAAAA==", Some(512)),
            ("checksum", "10c0/0123456789abcdef0123456789abcdef", Some(128)),
            ("shasum", "0123456789abcdef0123456789abcdef01234567", Some(160)),
            ("file", "sha256:0123456789abcdef", Some(256)),
            ("rev", "0123456789abcdef0123456789abcdef01234567", None),
            ("integrity", "1.0.0", None),
            ("version", "sha1-1.0", None),
        ] {
            assert_eq!(strength(&[key.to_owned(), "0".to_owned()], text), bits, "{key} {text}");
        }
    }
}
