//! Outlines of source files, by language, as the model reads them.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use outline::{Language, Outline};
use proptest::prelude::*;

#[test]
fn outline_of_every_language() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/outline");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut all = String::new();
    for name in names {
        let source = std::fs::read_to_string(folder.join(&name)).unwrap();
        let language = Language::of(&name).expect("a known language");
        let outline = Outline::of(&source, language).expect("an outline");
        writeln!(all, "== {name}: {language}\n{}", outline.render()).unwrap();
    }
    insta::assert_snapshot!(all);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn outline_lines_stay_within_file(
        text in r#"(class |struct A|namespace |template|operator|using |typedef |enum |int |f|~|\(|\)|\{|\}|;|:|::|<|>|=|"|'|R"x\(|\)x"|/\*|\*/|//|#if 0|#else|#endif|#define f\(|\\|\n|é| |,){0,40}"#,
    ) {
        let lines = text.lines().count().max(1);
        let outline = Outline::of(&text, Language::Cpp).expect("an outline");
        for symbol in outline.symbols {
            prop_assert!(1 <= symbol.start && symbol.start <= symbol.end && symbol.end <= lines, "{symbol:?}");
        }
    }
}

#[test]
fn outline_of_hostile_text_is_bounded() {
    let deep = "class A:\n".to_owned()
        + &(1..300).map(|depth| format!("{}class B:\n", " ".repeat(depth))).collect::<String>();
    let many: String = (0..5_000).map(|n| format!("def f{n}(x): pass\n")).collect();
    let long = format!("def f({}): pass\n", "argument, ".repeat(5_000));
    let cases = [
        ("a.py", deep),
        ("a.py", many),
        ("a.py", long),
        ("a.rs", "impl<".repeat(20_000)),
        ("a.cpp", "template<class T> struct A { A<".repeat(5_000)),
        ("a.ts", "(".repeat(200_000)),
        ("a.js", "`${".repeat(50_000)),
        ("a.go", "func(".repeat(50_000)),
        ("a.java", "class A {".repeat(20_000)),
        ("a.c", "int (*".repeat(50_000)),
        ("a.c", "a b{} ".repeat(100_000)),
        ("a.c", "R\"".repeat(100_000)),
        ("a.c", "#if x\n{\n#else\n".repeat(50_000)),
        ("a.cpp", "namespace {".repeat(50_000)),
        ("a.cpp", "template <".repeat(50_000)),
        ("a.cpp", "#define x /* \\\n".repeat(50_000)),
        ("a.c", "\u{0}\u{feff}é\r\r#if\n".repeat(20_000)),
    ];
    for (name, source) in cases {
        let started = Instant::now();
        if let Ok(outline) = Outline::of(&source, Language::of(name).unwrap()) {
            assert!(outline.symbols.len() <= 500, "{name}");
            assert!(outline.symbols.iter().all(|symbol| symbol.signature.chars().count() <= 161), "{name}");
            assert!(outline.symbols.iter().all(|symbol| symbol.start <= symbol.end), "{name}");
        }
        assert!(started.elapsed() < Duration::from_mins(1), "{name}: {:?}", started.elapsed());
    }
}
