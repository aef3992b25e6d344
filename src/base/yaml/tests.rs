//! Tests of how YAML is deserialized.

use std::collections::BTreeMap;
use std::ops::Add;

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Word {
    On,
    Many(Vec<String>),
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
struct Form {
    name: String,
    count: Option<u8>,
    share: f64,
    flag: bool,
    word: Option<Word>,
    list: Vec<u64>,
    inner: BTreeMap<String, serde_json::Value>,
}

#[test]
fn text_stays_as_it_is_written_and_the_rest_has_its_type() {
    let text = "name: 1.10\ncount: 7\nshare: 2\nflag: true\nword: on\nlist:\ninner: {a: [1, -2, x, null], 3: 0x10}\n";
    let form: Form = from_str(text).expect("YAML");
    let inner = [("3", serde_json::json!(16)), ("a", serde_json::json!([1, -2, "x", null]))];
    let inner = inner.map(|(key, value)| (key.to_owned(), value)).into();
    let expected = Form {
        name: "1.10".to_owned(),
        count: Some(7),
        share: 2.0,
        flag: true,
        word: Some(Word::On),
        inner,
        ..Form::default()
    };
    assert_eq!(form, expected);
    let text = "base: &base\n- 2024-01-01\nword: {many: *base}\n";
    let both: BTreeMap<String, serde_json::Value> = from_str(text).expect("YAML");
    assert_eq!(both["word"], serde_json::json!({"many": ["2024-01-01"]}));
    let text = "word: {many: [off, 007, ~tilde, 'null', \"a\\tb\", é ü]}\nname: >\n  folded\n  text\n";
    let form: Form = from_str(text).expect("YAML");
    let many = ["off", "007", "~tilde", "null", "a\tb", "é ü"].map(str::to_owned).into();
    assert_eq!((form.word, form.name), (Some(Word::Many(many)), "folded text\n".to_owned()));
    let text = "base: &base {a: 1, b: x}\nword: {<<: *base, b: y}\n";
    let both: BTreeMap<String, serde_json::Value> = from_str(text).expect("YAML");
    assert_eq!(both["word"], serde_json::json!({"a": 1, "b": "y"}));
    // Aliases are read where they are defined.
    let text = "word: {many: [&a 1.50, *a]}\n";
    let form: Form = from_str(text).expect("YAML");
    assert_eq!(form.word, Some(Word::Many(["1.50", "1.50"].map(str::to_owned).into())));
}

#[test]
fn errors_know_their_place() {
    for (text, place, message) in [
        ("name: a\nlist: [1, x]\n", (2, 11), "invalid type: string \"x\", expected u64"),
        ("name: a\ncuont: 1\n", (2, 1), "unknown field `cuont`"),
        ("flag: yes\n", (1, 7), "invalid type: string \"yes\", expected a boolean"),
        ("word: off\n", (1, 7), "unknown variant `off`"),
        ("count: 256\n", (1, 8), "invalid value: integer `256`, expected u8"),
        ("name: [a]\n", (1, 7), "invalid type: sequence, expected a string"),
        ("name: ~\n", (1, 7), "invalid type: unit value, expected a string"),
        ("word: []\n", (1, 7), "expected a word"),
        ("[]\n", (1, 1), "expected keys with values, found a list"),
        ("flag: true\nflag: false\n", (2, 1), "duplicate"),
        ("list: [1\n", (1, 7), "unclosed"),
        ("a: &a [*a]\n", (1, 8), "recursive"),
    ] {
        let error = from_str::<Form>(text).expect_err(text);
        let at = error.location().map(|at| (at.line(), at.column()));
        assert!(error.to_string().contains(message), "{text:?}: {error}");
        assert_eq!(at, Some(place), "{text:?}: {error}");
    }
}

#[test]
fn neither_depth_nor_aliases_cost_more_than_the_text() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(from_str::<serde_json::Value>(&deep).is_err());
    let deep = "- ".repeat(100_000);
    assert!(from_str::<serde_json::Value>(&deep).is_err());
    assert!(from_str::<serde_json::Value>(&"[".repeat(MAX_DEPTH).add(&"]".repeat(MAX_DEPTH))).is_ok());
    let laughs: String = (1..20)
        .map(|n| {
            let before = format!("*a{}, ", n - 1).repeat(9);
            format!("a{n}: &a{n} [{before}]\n")
        })
        .collect();
    let error = from_str::<serde_json::Value>(&format!("a0: &a0 ha\n{laughs}")).expect_err("too much");
    assert!(error.to_string().contains("budget") || error.to_string().contains("alias"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_it(text in r"([a-z]{1,3}: |- |\n| |[\[\]{},&*!'#|>~]|[0-9]|é|\t|<<: ){0,30}") {
        // A value, or an error with a location: no panic.
        let _ = from_str::<Form>(&text);
        let _ = from_str::<serde_json::Value>(&text);
    }
}

#[test]
fn all_faults_are_found_each_at_its_place() {
    let text = "name: [a]\nlist: [1, x, 2, y]\ncuont: 1\nflag: yes\nword: {many: [on, {}]}\n";
    let found: Vec<_> = faults::<Form>(text)
        .iter()
        .map(|error| error.location().map(|at| (at.line(), at.column())))
        .collect();
    let places = [(1, 7), (2, 11), (2, 17), (3, 1), (4, 7), (5, 19)].map(Some);
    assert_eq!(found, places);
    assert!(faults::<Form>("name: a\nlist: [1]\n").is_empty());
    // What YAML itself does not allow is one fault.
    assert_eq!(faults::<Form>("flag: [\nname: [a]\ncuont: 1\n").len(), 1);
}

#[derive(Debug, Deserialize)]
struct Strict {
    #[expect(dead_code, reason = "read alone")]
    must: u8,
}

#[test]
fn what_is_there_and_wrong_is_not_missing_as_well() {
    let list = "- must: x\n- mast: 1\n- must: 300\n";
    let found: Vec<String> =
        faults::<Vec<Strict>>(list).iter().map(|error| error.without_snippet().to_string()).collect();
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[1].contains("missing field `must`"), "{found:#?}");
}
