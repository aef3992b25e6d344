//! Tests of the masker.

mod dumped;

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

#[test]
fn every_spelling_of_a_secret_is_masked() {
    let secret = "pa\"ss/w+rd&42";
    let masker = Masker::new([secret]);
    for lead in ["", "x", "xy", "user:"] {
        let encoded = STANDARD.encode(format!("{lead}{secret} and more"));
        assert!(masker.mask(&encoded).contains(MASK), "{lead:?}: {encoded}");
    }
    for text in [
        secret.to_owned(),
        "pa%22ss%2Fw%2Brd%2642".to_owned(),
        serde_json::json!({ "key": secret }).to_string(),
        format!("before {secret} after {secret}"),
    ] {
        let masked = masker.mask(&text);
        assert!(masked.contains(MASK) && !masked.contains("rd"), "{masked}");
    }
    assert_eq!(masker.mask("nothing here"), "nothing here");
}

/// Returns a secret in the spellings that programs and libraries produce, each with its name.
fn spelled(secret: &str) -> Vec<(&'static str, String)> {
    let bytes = secret.as_bytes();
    let each = |form: fn(u8) -> String| bytes.iter().map(|byte| form(*byte)).collect::<String>();
    let joined = |by: &str| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(by);
    let json = serde_json::Value::from(secret).to_string();
    vec![
        ("plain", secret.to_owned()),
        ("small letters", secret.to_ascii_lowercase()),
        ("capitals", secret.to_ascii_uppercase()),
        ("base64", STANDARD.encode(secret)),
        ("base64 without padding", STANDARD.encode(secret).trim_end_matches('=').to_owned()),
        ("base64 for addresses", base64::engine::general_purpose::URL_SAFE.encode(secret)),
        ("base64 after one letter", STANDARD.encode(format!("x{secret}yz"))),
        ("base64 after two letters", STANDARD.encode(format!("xy{secret}z"))),
        ("base64 in an address", STANDARD.encode(secret).replace('+', "%2B").replace('=', "%3D")),
        ("base64 over lines", {
            let text = STANDARD.encode(format!("{secret}{secret}"));
            text.as_bytes().chunks(12).map(|line| String::from_utf8_lossy(line).into_owned() + "\n").collect()
        }),
        ("base64 of JSON", STANDARD.encode(&json)),
        (
            "base64 of percent",
            STANDARD.encode(
                percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string(),
            ),
        ),
        (
            "base64 of HTML",
            STANDARD.encode(
                secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"),
            ),
        ),
        ("base64 of C", STANDARD.encode(format!("{secret:?}"))),
        ("numbers", format!("{bytes:?}")),
        ("numbers without commas", format!("{bytes:?}").replace(',', "")),
        ("numbers on lines", format!("{bytes:#?}")),
        ("hex", joined("")),
        ("HEX", joined("").to_uppercase()),
        ("hex apart", joined(" ")),
        ("hex with colons", joined(":")),
        ("hex as C has it", joined(", 0x")),
        ("hex by twos", {
            let text = joined("");
            text.as_bytes().chunks(4).map(|four| String::from_utf8_lossy(four).into_owned() + " ").collect()
        }),
        ("percent", each(|byte| format!("%{byte:02X}"))),
        ("percent, small", each(|byte| format!("%{byte:02x}"))),
        (
            "percent where needed",
            percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string(),
        ),
        ("JSON", json.clone()),
        ("JSON in JSON", serde_json::Value::from(json).to_string()),
        ("JSON, all escaped", each(|byte| format!("\\u{byte:04x}"))),
        ("C", each(|byte| format!("\\x{byte:02x}"))),
        ("C, octal", each(|byte| format!("\\{byte:03o}"))),
        (
            "shell",
            secret
                .chars()
                .map(
                    |letter| {
                        if letter.is_ascii_alphanumeric() {
                            letter.to_string()
                        } else {
                            format!("\\{letter}")
                        }
                    },
                )
                .collect(),
        ),
        ("shell, quoted by Python", format!("'{}'", secret.replace('\'', "'\"'\"'"))),
        ("shell, quoted", format!("'{}'", secret.replace('\'', "'\\''"))),
        (
            "HTML",
            secret.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('\'', "&#39;"),
        ),
        ("HTML, decimal", each(|byte| format!("&#{byte};"))),
        ("HTML, hexadecimal", each(|byte| format!("&#x{byte:X};"))),
    ]
}

/// Returns two parts of a secret with what programs put between them.
fn split(secret: &str) -> Vec<(&'static str, String)> {
    let (left, right) = secret.split_at(secret.len() / 2);
    let mut split = vec![
        ("over lines", format!("{left}\n{right}")),
        ("over lines of Windows", format!("{left}\r\n{right}")),
        ("over numbered lines", format!("     1\t{left}\n     2\t{right}")),
        ("over quoted lines", format!("> {left}\n> {right}")),
        ("over lines of a shell", format!("{left}\\\n{right}")),
        ("over lines as grep -n has them", format!("3:{left}\n4:{right}")),
        ("over lines as grep -rn has them", format!("f.rs:3:{left}\nf.rs-4-{right}")),
        ("over lines as awk numbers them", format!("1 {left}\n2 {right}")),
        ("over lines of a diff", format!("@@ -1 +1,2 @@\n+{left}\n+{right}")),
        ("over numbered lines of a diff", format!("    12 | +{left}\n    13 | +{right}")),
        (
            "over coloured lines",
            format!("\x1b[m+\x1b[m\x1b[m{left}\x1b[m\n\x1b[32m+\x1b[m\x1b[32m{right}\x1b[m"),
        ),
        ("coloured", format!("\x1b[01;31m\x1b[K{left}\x1b[m\x1b[K{right}")),
        ("coloured, as cat -v has it", format!("^[[31m{left}^[[0m{right}")),
        ("coloured, in JSON", serde_json::Value::from(format!("\x1b[m{left}\x1b[0m{right}")).to_string()),
        ("linked by a terminal", format!("\x1b]8;;\x07{left}\x1b]8;;\x1b\\{right}")),
        ("in columns", format!("{left}\t{right}")),
        ("in strings", format!("\"{left}\" + \"{right}\"")),
        ("in strings over lines", format!("'{left}'\n    '{right}'")),
    ];
    // Others have what looks like a tag themselves, which no page shows as it is.
    if !secret.contains('<') {
        split.push(("in tags", format!("<b>{left}</b><span class=\"x\">{right}</span>")));
        split.push(("in tags over lines", format!("<td>{left}</td>\n  <td>{right}</td>")));
    }
    split
}

#[test]
fn no_spelling_gives_a_secret_away() {
    for secret in [
        "pa\"ss/w+rd&42",
        "it's<a>%secret",
        "Pa\"ss\\w0rd&<x>'$y",
        "Zm9vYmFyc2VjcmV0",
        "aaaabbbbccccdddd0123",
    ] {
        let masker = Masker::new([secret]);
        for (kind, text) in spelled(secret).into_iter().chain(split(secret)) {
            let masked = masker.mask(&text).into_owned();
            assert!(masked.contains(MASK), "{kind}: {text}");
            // What is left is too little to draw conclusions from.
            let left = masked.replace(MASK, "").chars().filter(char::is_ascii_alphanumeric).count();
            assert!(left <= 6, "{kind}: {text} became {masked}");
            assert!(masker.knows_of(text.as_bytes()), "{kind}: {text}");
        }
    }
}

#[test]
fn parts_of_json_secrets_are_secrets_and_ordinary_words_are_none() {
    let account =
        r#"{"type": "service_account", "private_key": "-----BEGIN X-----\nabcdefgh\n", "user": "someone"}"#;
    let environment = BTreeMap::from(
        [("ACCOUNT_SECRET", account), ("DB_PASSWORD", "success"), ("MY_PASS", "Postgres")]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let masker = Masker::from_environment(&environment, &[], &[]);
    assert_eq!(
        masker.mask("abcdefgh and someone: success in postgres"),
        "*** and someone: success in postgres"
    );
    assert!(!masker.secrets().iter().any(|secret| secret == "success"));
}

#[test]
fn renderings_keep_their_own_words() {
    let masker = Masker::new(["details", "summary-of-mine", "hunter2hunter2"]);
    let text = "<details>summary-of-mine hunter2hunter2</details>";
    assert_eq!(masker.mask_rendered(text), "<details>summary-of-mine ***</details>");
    assert_eq!(masker.mask(text), "<***>*** ***</***>");
}

proptest::proptest! {
    #[test]
    fn masking_never_fails_and_leaves_no_plain_secret(text in "(a1b2|c3d4|\\\\|%|&#|;|x|\n|\t|ü|€|[0-9a-f]{2}| |=){0,40}") {
        let masker = Masker::new(["a1b2c3d4"]);
        let masked = masker.mask(&text);
        proptest::prop_assert!(!masked.contains("a1b2c3d4"));
    }
}

/// What programs put between the parts of a text.
const SEPARATORS: &str = "\t|\n|\r\n|\\\\n|\n {1,8}[0-9]{1,5}\t|\n[0-9]{1,5}:|\n[a-f]{1,5}/[a-f]\\.rs:[0-9]{1,5}:|\n[+>#|*-] |\x1b\\[[0-9]{1,2}m|\x1b\\[K|</?[a-f]{1,5}>|<[a-f] class=\"[a-f]{1,5}\">|\" \\+ \"|'\n *'";

proptest::proptest! {
    #[test]
    fn secrets_are_masked_whatever_stands_between_their_parts(
        cuts in proptest::collection::vec((1_usize..31, SEPARATORS), 1..5),
    ) {
        // Without digits: behind `0:`, one that begins a part may as well number its line.
        const SECRET: &str = "qZtkLmvWxgTbhYcsVdzRguGhiJnoPppS";
        let mut text = SECRET.to_owned();
        let mut cuts = cuts;
        cuts.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        cuts.dedup_by_key(|(at, _)| *at);
        for (at, separator) in &cuts {
            text.insert_str(*at, separator);
        }
        let masker = Masker::new([SECRET]);
        proptest::prop_assert_eq!(masker.mask(&format!("x={text} y")).into_owned(), format!("x={MASK} y"), "{}", text);
    }

    #[test]
    fn what_stands_between_parts_is_no_secret(
        parts in proptest::collection::vec(("[a-f]{1,9}", SEPARATORS), 0..20),
    ) {
        let masker = Masker::new(["qZ7kLm4Wx9Tb2Yc6Vd8Rg3Gh5Jn1Pp0S"]);
        let text: String = parts.into_iter().map(|(part, separator)| part + &separator).collect();
        proptest::prop_assert_eq!(masker.mask(&text).into_owned(), text);
    }
}

/// Text that begins what it does not end: whoever looks for the end from each beginning takes time that grows with the square.
#[test]
fn hostile_text_is_masked_in_linear_time() {
    let masker = Masker::new(["qZ7kLm4Wx9Tb2Yc6Vd8Rg3Gh5Jn1Pp0S"]);
    let pieces = [
        "<a",
        "<a ",
        "\t",
        " \t",
        "\n",
        "\n<a\n",
        "\x1b[",
        "\x1b]8",
        "\x1b[0;",
        "\"",
        "\"\n",
        "\n1",
        "\na-",
        "0000000 61 ",
        "\n0000000 6",
        "\\",
        "\\n \t",
    ];
    for piece in pieces {
        let time = |size: usize| {
            let text = piece.repeat(size / piece.len());
            let once = || {
                let began = std::time::Instant::now();
                masker.mask(&text);
                began.elapsed()
            };
            // Other programs may take the processor, but hardly each time.
            (0..3).map(|_| once()).min().unwrap()
        };
        let (once, more) = (time(40_000), time(160_000));
        // Four times as much; the square would be sixteen times.
        assert!(
            more < 9 * once + std::time::Duration::from_millis(200),
            "{piece:?}: {once:?}, then {more:?}"
        );
    }
}

#[test]
fn a_secret_in_pieces_is_masked() {
    let masker = Masker::new(["Zm9v+YmFy/c2VjcmV0", "short7"]);
    for (text, expected) in [
        ("a Zm9v+Ym\nFy/c2VjcmV0 b", "a *** b"),
        ("+Zm9v+YmFy\r\n+/c2VjcmV0\n+more", "+***\n+more"),
        ("Zm9v\n+YmFy/c2VjcmV0", "***"),
        ("> Zm9v+YmFy\n> /c2VjcmV0", "> ***"),
        ("Zm9v+YmFy \\\n  /c2VjcmV0", "***"),
        ("{\"a\": \"Zm9v+YmFy\\n/c2VjcmV0\"}", "{\"a\": \"***\"}"),
        ("Zm9v+YmFy ⏎ /c2VjcmV0", "***"),
        ("Z\nm\n9\nv\n+\nY\nm\nF\ny\n/\nc\n2\nV\nj\nc\nm\nV\n0", "***"),
        ("Zm9v+YmFy and /c2VjcmV0", "Zm9v+YmFy and /c2VjcmV0"),
        ("sho\nrt7", "sho\nrt7"),
        ("Zm9v+YmFy/c2VjcmV0\nZm9v+YmFy/c2VjcmV0", "***\n***"),
    ] {
        assert_eq!(masker.mask(text), expected, "{text:?}");
        assert_eq!(masker.knows_of(text.as_bytes()), text != expected, "{text:?}");
    }
}

#[test]
fn token_shapes_are_masked_without_knowing_them() {
    let masker = Masker::new([]);
    for token in [
        format!("ghp_{}", "a1".repeat(18)),
        format!("sk-ant-{}", "x9".repeat(20)),
        "AKIAABCDEFGHIJKLMNOP".to_owned(),
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----".to_owned(),
        format!(
            "-----BEGIN RSA PRIVATE KEY-----\n  2\t{}\n(and more)\n-----END RSA PRIVATE KEY-----",
            "aB3+".repeat(16)
        ),
        format!("Private-Lines: 2\r\n{0}\r\n{0}", "aB3+".repeat(16)),
    ] {
        assert_eq!(masker.mask(&format!("key: {token}.")), "key: ***.", "{token}");
    }
    // A key that is cut ends with the text.
    let cut = format!("-----BEGIN PRIVATE KEY-----\n{}\n[…]\nmore", "aB3+".repeat(16));
    assert_eq!(masker.mask(&cut), "***");
    for text in [
        "sk-learn is fine",
        "ghp_short",
        "a task-runner-for-everybody-in-the-house",
        "if key.contains(\"-----BEGIN RSA PRIVATE KEY-----\") {\n    return true;\n}\nand the rest\n",
        "a = \"-----BEGIN PRIVATE KEY-----\"; f(a);\nb = \"-----END PRIVATE KEY-----\";\n",
    ] {
        assert_eq!(masker.mask(text), text);
    }
}

#[test]
fn only_what_looks_secret_is_taken_from_the_environment() {
    let environment = BTreeMap::from(
        [
            ("MY_TOKEN", "hunter2hunter2"),
            ("HOME", "/home/runner"),
            ("OTHER", "also-secret"),
            ("USE_TOKEN", "true"),
            ("INPUT_COMMENT-KEY", "nightly-docs"),
            ("ARCHITECT_API_KEY_ENV", "NAME_OF_IT"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let masker = Masker::from_environment(&environment, &["OTHER"], &[]);
    let text = "hunter2hunter2 /home/runner also-secret true nightly-docs NAME_OF_IT";
    assert_eq!(masker.mask(text), "*** /home/runner *** true nightly-docs NAME_OF_IT");
}
