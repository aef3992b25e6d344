//! Rules with texts before and after.

use std::error::Error;

use rewrite::{Language, Rewrite, RewriteRule};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    language: Language,
    /// The name of the file, where it matters.
    #[serde(default)]
    file: String,
    rule: RewriteRule,
    #[serde(default)]
    before: String,
    after: Option<String>,
    matches: Option<usize>,
    /// Lines of the matches that stay.
    left: Option<Vec<usize>>,
    /// Part of the message, where the rule is invalid.
    error: Option<String>,
    /// Part of the message, where the file is not rewritten.
    refused: Option<String>,
}

const TABLES: [&str; 4] = [
    include_str!("cases/rewrite.yml"),
    include_str!("cases/placement.yml"),
    include_str!("cases/marks.yml"),
    include_str!("cases/imports.yml"),
];

fn chain(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", chain(source)))
}

#[test]
fn rules_rewrite_texts() {
    let cases = TABLES.map(|table| serde_yaml::from_str::<Vec<Case>>(table).expect("a table"));
    assert!(cases.iter().all(|cases| cases.len() >= 25));
    let mut failed = Vec::new();
    for case in cases.into_iter().flatten() {
        let rule = RewriteRule { language: Some(case.language), ..case.rule };
        let rewrite = match (Rewrite::new(&rule), &case.error) {
            (Err(error), Some(told)) => {
                assert!(chain(&error).contains(told), "{}: {}", case.name, chain(&error));
                continue;
            }
            (Err(error), None) => panic!("{}: {}", case.name, chain(&error)),
            (Ok(_), Some(told)) => panic!("{}: the rule is valid; expected {told}", case.name),
            (Ok(rewrite), None) => rewrite,
        };
        let result = match (
            rewrite.apply_until((case.language, &case.file), &case.before, &|| false),
            &case.refused,
        ) {
            (Err(error), Some(told)) => {
                assert!(error.to_string().contains(told), "{}: {error}", case.name);
                continue;
            }
            (Err(error), None) => {
                failed.push(format!("{}: {error}", case.name));
                continue;
            }
            (Ok(result), _) => result,
        };
        if Some(&result.text) != case.after.as_ref() || case.refused.is_some() {
            failed.push(format!("{}\n{}", case.name, result.text));
        }
        if let Some(left) = case.left {
            assert_eq!(result.left, left, "{}: {}", case.name, result.text);
        }
        if let Some(matches) = case.matches {
            assert_eq!(result.matches.len(), matches, "{}: {:?}", case.name, result.matches);
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n---\n"));
}

#[test]
fn matches_have_lines_and_columns_in_characters() {
    let rule: RewriteRule = serde_yaml::from_str("rule: { pattern: f($A) }\nfix: g($A)\n").expect("a rule");
    let rewrite = Rewrite::new(&rule).expect("a valid rule");
    let result = rewrite.apply(Language::Python, "x = 1\né = 'ü'; f(2); f(3)\n").expect("a result");
    let places: Vec<_> =
        result.matches.iter().map(|found| (found.line, found.column, found.text.as_str())).collect();
    assert_eq!(places, [(2, 10, "f(2)"), (2, 16, "f(3)")]);
    assert_eq!(result.matches[1].replacement.as_deref(), Some("g(3)"));
}

#[test]
fn rule_without_language_holds_where_it_is_valid() {
    let rule: RewriteRule =
        serde_yaml::from_str("rule: { pattern: f($A), kind: call_expression }\nfix: g($A)\n")
            .expect("a rule");
    let rewrite = Rewrite::new(&rule).expect("a valid rule");
    let languages: Vec<_> = rewrite.languages().collect();
    assert!(languages.contains(&Language::Go) && !languages.contains(&Language::Python), "{languages:?}");
    let error = rewrite.apply(Language::Python, "f(1)").expect_err("Python has no such kind");
    assert!(error.to_string().contains("Python"), "{error}");
}
