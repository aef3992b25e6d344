//! Text of files as tools read and write it: in its encoding, and with lines of any length.

use std::sync::Arc;

use architect_ci::tool::Registry;
use serde_json::json;
use workspace::{DiskWorkspace, OverlayWorkspace, TrackedWorkspace};

use crate::support::Sandbox;
use crate::tools::{call, context};

#[tokio::test(flavor = "multi_thread")]
async fn replacements_tell_of_files_in_unknown_encodings() {
    let registry = Registry::with_built_in();
    let sandbox = Sandbox::new(&[("a.txt", "old\n")]);
    let files =
        [("japanese.txt", b"\x83\x8d old\n".as_slice()), ("program", b"\0old\n"), ("other.txt", b"\x83\x8d")];
    for (path, content) in files {
        std::fs::write(sandbox.repo().join(path), content).expect("a file");
    }
    let told = "1 file with matches in an unknown encoding, which only a command can change: japanese.txt";
    // The second may extend over lines, so that all files are read.
    for pattern in ["old", "old|x\\s"] {
        let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
        let cx = context(Arc::new(OverlayWorkspace::new(disk)), false);
        let args = json!({"pattern": pattern, "replacement": "new", "regex": true});
        let first = call(&registry, &cx, "replace_text", &args).await;
        assert!(first.output.contains("1 place in 1 file"), "{first:?}");
        assert!(first.output.contains(told), "{first:?}");
        let second = call(&registry, &cx, "replace_text", &args).await;
        assert!(second.error.as_ref().is_some_and(|error| error.contains(told)), "{second:?}");
    }
}

/// Text as a file has it, in each encoding that tools write.
fn encoded(encoding: &str, text: &str) -> Vec<u8> {
    let pairs = |mark: &[u8], pair: fn(u16) -> [u8; 2]| {
        mark.iter().copied().chain(text.encode_utf16().flat_map(pair)).collect()
    };
    match encoding {
        "UTF-16LE" => pairs(b"\xff\xfe", u16::to_le_bytes),
        "UTF-16BE" => pairs(b"\xfe\xff", u16::to_be_bytes),
        _ => text.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_keep_their_encoding() {
    let registry = Registry::with_built_in();
    for encoding in ["UTF-16LE", "UTF-16BE", "windows-1252 (Latin-1)"] {
        let sandbox = Sandbox::new(&[]);
        let of = |text: &str| encoded(encoding, text);
        for path in ["a.txt", "b.txt"] {
            std::fs::write(sandbox.repo().join(path), of("caf\u{e9}\r\none\r\n")).expect("a file");
        }
        let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
        let cx = context(Arc::new(TrackedWorkspace::new(disk)), false);
        let now = |path: &str| std::fs::read(sandbox.repo().join(path)).expect("a file");
        let told = format!("[in {encoding}, which edits keep]");
        let calls = [
            ("read_file", json!({"path": "a.txt", "end_line": 1}), "caf\u{e9}\r\none\r\n"),
            (
                "edit_file",
                json!({"path": "a.txt", "old_str": "one", "new_str": "\u{fc}ne"}),
                "caf\u{e9}\r\n\u{fc}ne\r\n",
            ),
            (
                "write_file",
                json!({"path": "a.txt", "content": "\u{e0}\n", "mode": "append"}),
                "caf\u{e9}\r\n\u{fc}ne\r\n\u{e0}\r\n",
            ),
            ("write_file", json!({"path": "a.txt", "content": "\u{e9}\n"}), "\u{e9}\r\n"),
            ("apply_patch", json!({"path": "a.txt", "patch": "@@ @@\n-\u{e9}\n+\u{e8}\n"}), "\u{e8}\r\n"),
        ];
        for (tool, args, expected) in calls {
            let result = call(&registry, &cx, tool, &args).await;
            assert!(result.output.contains(&told), "{encoding}: {tool}: {result:?}");
            assert_eq!(now("a.txt"), of(expected), "{encoding}: {tool}");
        }
        let found = call(&registry, &cx, "grep", &json!({"pattern": "caf\u{e9}"})).await;
        assert!(found.output.starts_with("b.txt:1:caf\u{e9}\n"), "{encoding}: {found:?}");
        assert!(found.output.contains(&format!("(b.txt is shown as {encoding})")), "{encoding}: {found:?}");
        let args = json!({"pattern": "caf(.)", "regex": true, "replacement": "th$1"});
        let replaced = call(&registry, &cx, "replace_text", &args).await;
        assert!(replaced.output.contains("-caf\u{e9}\n+th\u{e9}\n"), "{encoding}: {replaced:?}");
        assert_eq!(now("b.txt"), of("th\u{e9}\r\none\r\n"), "{encoding}");
        if !encoding.starts_with("UTF") {
            let before = now("b.txt");
            for (tool, args) in [
                ("edit_file", json!({"path": "b.txt", "old_str": "one", "new_str": "\u{2192}"})),
                ("write_file", json!({"path": "b.txt", "content": "\u{2192}"})),
                ("replace_text", json!({"pattern": "one", "replacement": "\u{2192}"})),
                ("apply_patch", json!({"path": "b.txt", "patch": "@@ @@\n-one\n+\u{2192}\n"})),
            ] {
                let refused = call(&registry, &cx, tool, &args).await;
                let says = "b.txt: windows-1252 (Latin-1) has no '\u{2192}' (U+2192)";
                assert!(refused.error.is_some_and(|error| error.contains(says)), "{tool}");
                assert_eq!(now("b.txt"), before, "{tool}");
            }
            // These two bytes are one character of UTF-8.
            let args = json!({"path": "b.txt", "content": "\u{c3}\u{a9}"});
            let refused = call(&registry, &cx, "write_file", &args).await;
            let says =
                "b.txt: in windows-1252 (Latin-1), this text would be misread as another encoding; write it";
            assert!(refused.error.is_some_and(|error| error.contains(says)));
            assert_eq!(now("b.txt"), before);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_in_unknown_encodings_is_refused_with_the_way_out() {
    let registry = Registry::with_built_in();
    let sandbox = Sandbox::new(&[]);
    std::fs::write(sandbox.repo().join("a b.txt"), b"one \x83\x8d\n").expect("a file");
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let cx = context(Arc::new(OverlayWorkspace::new(disk)), false);
    for (tool, args) in [
        ("read_file", json!({"path": "a b.txt"})),
        ("edit_file", json!({"path": "a b.txt", "old_str": "one", "new_str": "two"})),
        ("apply_patch", json!({"path": "a b.txt", "patch": "@@ @@\n-one\n+two\n"})),
    ] {
        let error = call(&registry, &cx, tool, &args).await.error.expect("a refusal");
        let says = "run_command(command=\"iconv -f ENCODING -t utf-8 'a b.txt'\")";
        assert!(error.contains("byte 4 is not UTF-8") && error.contains(says), "{tool}: {error}");
    }
    // UTF-16 without its mark.
    std::fs::write(sandbox.repo().join("wide.txt"), b"o\0n\0e\0").expect("a file");
    let args = json!({"path": "wide.txt", "content": "two\n", "mode": "append"});
    let error = call(&registry, &cx, "write_file", &args).await.error.expect("a refusal");
    assert!(error.contains("wide.txt is a binary file (6 bytes)"), "{error}");
}

#[tokio::test]
async fn long_lines_are_shown_around_matches_and_read_on_from_any_column() {
    let registry = Registry::with_built_in();
    let sandbox = Sandbox::new(&[("a.min.js", &format!("{}found\n", "x".repeat(4_000)))]);
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let cx = context(Arc::new(OverlayWorkspace::new(disk)), false);
    for (tool, args, says) in [
        (
            "read_file",
            json!({"path": "a.min.js"}),
            "… [columns 1–500 of 4,005; continue with start_column=501]\n",
        ),
        ("read_file", json!({"path": "a.min.js", "start_column": 4_001}), "1\t… found\n"),
        ("grep", json!({"pattern": "found"}), "xfound [column 4,001 of 4,005]\n"),
        ("grep", json!({"pattern": "f(?=ound)"}), "xfound [column 4,001 of 4,005]\n"),
    ] {
        let result = call(&registry, &cx, tool, &args).await;
        assert!(result.output.contains(says) && result.output.len() < 700, "{args}: {result:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_on_which_a_pattern_takes_too_long_are_named() {
    let registry = Registry::with_built_in();
    let long = "x".repeat(200_000);
    let sandbox = Sandbox::new(&[
        ("a.min.js", &format!("one\n{long}\nxx xx\n{long}\n")),
        ("b.js", "xx yy\n"),
        ("c.js", "yy yy\n"),
    ]);
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let cx = context(Arc::new(OverlayWorkspace::new(disk)), false);
    let started = std::time::Instant::now();
    // The same word twice, for which each start reads to the end of the line.
    let pattern = "(\\w+) \\1$";
    let left_out = "(not searched, because the pattern takes too long there: a.min.js lines 2, 4. ";
    let found = call(&registry, &cx, "grep", &json!({"pattern": pattern})).await;
    assert!(found.output.starts_with("a.min.js:3:xx xx\nc.js:1:yy yy\n"), "{found:?}");
    assert!(found.output.contains(left_out), "{found:?}");
    let none = call(&registry, &cx, "grep", &json!({"pattern": "(\\w+) \\1!"})).await;
    assert!(none.output.starts_with("No matches found in what was searched\n(not searched"), "{none:?}");
    let args = json!({"pattern": "(\\w+) \\1$", "replacement": "$1", "regex": true});
    let refused = call(&registry, &cx, "replace_text", &args).await;
    let says = "a.min.js: the pattern takes too long on this text";
    assert!(refused.error.as_ref().is_some_and(|error| error.contains(says)), "{refused:?}");
    let args = json!({"pattern": "(\\w+) \\1$", "replacement": "$1", "regex": true, "path": "c.js"});
    let replaced = call(&registry, &cx, "replace_text", &args).await;
    assert!(replaced.output.contains("Replaced 1 place"), "{replaced:?}");
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
