//! Faults that are put into code, in five languages.

use std::collections::BTreeSet;

use proptest::prelude::*;
use test_integrity::mutations;

fn told(path: &str, text: &str) -> Vec<String> {
    let lines = (1..=text.lines().count()).collect();
    mutations(path, text, &lines)
        .into_iter()
        .map(|fault| format!("{}: {} -> {}", fault.line, fault.before, fault.after))
        .collect()
}

#[test]
fn faults_are_found_in_five_languages() {
    for (path, text, expected) in [
        (
            "shop.py",
            "def f(a):\n    if a < 3 and a:\n        save(a)\n        log.info(a)\n    return a\n",
            &[
                "2: a < 3 and a -> not (a < 3 and a)",
                "2: < -> <=",
                "2: 3 -> 4",
                "2: and -> or",
                "3: save(a) -> pass",
                "5: a -> None",
            ][..],
        ),
        (
            "shop.ts",
            "export function f(a: number) {\n  if (a === 1) { save(a); }\n  return a ? 1.5 : b;\n}\n",
            &[
                "2: (a === 1) -> (!(a === 1))",
                "2: === -> !==",
                "2: 1 -> 2",
                "2: save(a); -> ;",
                "3: a -> !(a)",
                "3: a ? 1.5 : b -> undefined",
            ],
        ),
        (
            "src/lib.rs",
            "fn f(a: u8) -> u8 {\n    if a >= 3 { save(a); }\n    if let Some(b) = g() { return b; }\n    a\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { save(1); }\n}\n",
            &[
                "2: a >= 3 -> !(a >= 3)",
                "2: >= -> >",
                "2: 3 -> 4",
                "2: save(a); -> ;",
                "3: b -> Default::default()",
                "4: a -> Default::default()",
            ],
        ),
        (
            "shop.go",
            "package shop\n\nfunc F(a int) int {\n\tif a != 0 {\n\t\tsave(a)\n\t}\n\treturn a\n}\n",
            &["4: a != 0 -> !(a != 0)", "4: != -> ==", "4: 0 -> 1", "5: save(a) -> "],
        ),
        (
            "Shop.java",
            "class Shop {\n  boolean f(int a) {\n    if (a > 1 || a < 0) { save(a); }\n    return true;\n  }\n  String g() { return name; }\n}\n",
            &[
                "3: (a > 1 || a < 0) -> (!(a > 1 || a < 0))",
                "3: > -> >=",
                "3: 1 -> 2",
                "3: || -> &&",
                "3: < -> <=",
                "3: 0 -> 1",
                "3: save(a); -> ;",
                "4: true -> false",
                "6: name -> null",
            ],
        ),
    ] {
        assert_eq!(told(path, text), expected, "{path}");
    }
}

#[test]
fn only_the_named_lines_of_code_get_faults() {
    let text = "def f(a):\n    return a < 1\n\n\ndef g(a):\n    return a < 2\n";
    let lines = BTreeSet::from([6]);
    assert!(mutations("shop.py", text, &lines).iter().all(|fault| fault.line == 6));
    assert!(!mutations("shop.py", text, &lines).is_empty());
    for (path, text) in [("tests/test_shop.py", text), ("notes.md", text), ("shop.py", "def f(:\n  1 <\n")] {
        assert_eq!(told(path, text), [""; 0], "{path}");
    }
}

proptest! {
    #[test]
    fn faults_apply_to_their_text(text in "(?s)[a-z(){}=<>0-9;:,. \n]{0,200}") {
        let lines = (1..=text.lines().count()).collect();
        for path in ["a.py", "a.js", "a.rs", "a.go", "A.java"] {
            for fault in mutations(path, &text, &lines) {
                let changed = fault.apply(&text).expect("it was found there");
                prop_assert_ne!(changed, text.clone());
            }
        }
    }
}
