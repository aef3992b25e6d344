//! Calls that fail a test, known by the words of their names rather than by the library that they are from.

use super::chains::Link;
use crate::assertion::{Assertion, Strength, vocabulary};
use crate::syntax::At;

/// Returns the first word of a name, in small letters.
fn first_word(name: &str) -> String {
    let name = name.trim_start_matches('_');
    let end = name
        .char_indices()
        .skip(1)
        .find(|(_, letter)| letter.is_uppercase() || *letter == '_')
        .map_or(name.len(), |(at, _)| at);
    name[..end].to_lowercase()
}

/// Returns whether a name says that what it stands for fails the test unless something holds.
pub(in crate::extract) fn is_check(name: &str) -> bool {
    const VERBS: &[&str] = &["assert", "verify", "ensure", "require", "check", "confirm", "should", "must"];
    let first = first_word(name);
    VERBS.contains(&first.as_str()) || first == "expect" && name.len() > "expect".len()
}

/// Returns whether a call stands by itself, so that it can only be there for what it does: its value is waited for at most.
pub(in crate::extract) fn is_statement(at: At<'_>) -> bool {
    let mut parent = at.node.parent();
    while let Some(node) = parent.filter(|node| matches!(node.kind(), "await_expression" | "try_expression"))
    {
        parent = node.parent();
    }
    parent.is_some_and(|node| matches!(node.kind(), "expression_statement" | "defer_statement"))
}

/// Returns how much a matcher demands, by the names in it: `Equal ( 2 )`, `not ( is_empty ( ) )`, `qt . IsNil`.
pub(in crate::extract) fn demand(matcher: &str, is_negative: bool) -> Strength {
    #[rustfmt::skip]
    const WRAPPERS: &[&str] = &[
        "ok", "err", "some", "is", "all", "AllOf", "allOf", "all_of", "pointee", "field", "property", "anything", "eq", "Some", "Ok", "Err",
    ];
    #[rustfmt::skip]
    const BOUNDED: &[&str] = &[
        "contain", "has", "have", "start", "end", "gt", "ge", "lt", "le", "near", "match", "numerically", "any", "or", "less", "greater", "consist",
        "each", "satisf", "subset", "prefix", "suffix", "closeto", "unordered",
    ];
    let words: Vec<&str> = matcher.split(' ').collect();
    let is_name = |word: &&str| word.starts_with(char::is_alphabetic);
    let names: Vec<&str> = words.iter().copied().filter(is_name).collect();
    let plain: Vec<String> = names.iter().map(|name| vocabulary::plain(name)).collect();
    let says_not = |name: &&&str| {
        let rest = name.strip_prefix("not").or_else(|| name.strip_prefix("Not"));
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with('_') || rest.starts_with(char::is_uppercase)
        })
    };
    let negative = is_negative
        || names.iter().any(|name| says_not(&name))
        || plain.iter().any(|name| matches!(name.as_str(), "isnot" | "ne"));
    let of_nothing = ["nil", "empty", "zero", "null", "none", "occurred", "\"\"", "throw"]
        .iter()
        .any(|word| matcher.to_lowercase().contains(word));
    if negative {
        return if of_nothing { Strength::Present } else { Strength::Bounded };
    }
    if plain.iter().any(|name| {
        matches!(
            name.as_str(),
            "anything"
                | "haveoccurred"
                | "notnil"
                | "betruthy"
                | "befalsey"
                | "bepresent"
                | "exist"
                | "exists"
        )
    }) || words.contains(&"_")
    {
        return Strength::Present;
    }
    let outer = names.iter().find(|name| {
        !WRAPPERS.contains(*name)
            && name.len() > 1
            && !matches!(**name, "qt" | "gomega" | "matchers" | "predicate")
    });
    let outer = vocabulary::plain(outer.copied().unwrap_or_default());
    if matches!(
        outer.as_str(),
        "matcherror"
            | "erroris"
            | "haveexactelements"
            | "containexactly"
            | "haveattributes"
            | "startwith"
            | "hasentry"
    ) {
        Strength::Exact
    } else if ["len", "size", "count"].iter().any(|part| outer.ends_with(part) || outer.starts_with(part)) {
        Strength::Partial
    } else if BOUNDED.iter().any(|part| outer.starts_with(part)) {
        Strength::Bounded
    } else {
        Strength::Exact
    }
}

/// Makes an assertion of a value and a matcher: `expect_that!(a, eq(1))`, `Expect(a).To(Equal(1))`.
pub(in crate::extract) fn of_matcher(
    value: &str,
    matcher: &str,
    is_negative: bool,
    line: usize,
    words: &[&str],
) -> Assertion {
    let mut assertion = Assertion::of_call("equal", &[value.to_owned(), "(matcher)".to_owned()], line, words);
    let expected = matcher.split_once("( ").and_then(|(_, rest)| rest.strip_suffix(" )")).unwrap_or_default();
    // That there is no error is hardly more than that the call was made.
    let is_no_error = matcher.starts_with("Succeed (")
        || value.to_lowercase().ends_with("err")
            && ["nil", "occurred"].iter().any(|word| matcher.to_lowercase().contains(word));
    assertion.strength = match demand(matcher, is_negative) {
        _ if expected == value && !value.is_empty() => Strength::Nothing,
        _ if is_no_error => Strength::Present,
        strength => strength,
    };
    assertion.sides = (assertion.strength == Strength::Exact && !expected.is_empty())
        .then(|| (value.to_owned(), expected.to_owned()));
    assertion
}

/// Returns what a chain of Go's demands: of Gomega's matchers, or of an object that a library made of the test.
pub(in crate::extract) fn of_go(at: At<'_>, links: &[Link<'_>]) -> Option<Assertion> {
    const ROOTS: &[&str] = &["Expect", "Ω", "Eventually", "Consistently", "ExpectWithOffset"];
    // What holds a function with assertions of its own runs these.
    let asserts = |given: &String| {
        given.starts_with("func (")
            && ["t . ", "assert", "require", "Expect", "Assert"].iter().any(|word| given.contains(word))
    };
    let runs = |link: &Link<'_>| link.given().iter().any(asserts);
    let awaits = links.iter().any(|link| matches!(link.called(), "Eventually" | "Consistently"));
    if !is_statement(at) || links.iter().any(runs) && !awaits {
        return None;
    }
    let words = at.words();
    if let Some(start) = links.iter().position(|link| ROOTS.contains(&link.called()))
        && let Some(end) =
            links.last().filter(|end| end.name.contains("To") || end.name.starts_with("Should"))
    {
        let value = links[start].given().into_iter().next().unwrap_or_default();
        let matcher = end.given().into_iter().next().unwrap_or_default();
        return Some(of_matcher(&value, &matcher, end.name.contains("Not"), at.line(), &words));
    }
    let (root, last) = (links.first()?, links.last()?);
    let given = last.given();
    let object = root.receiver();
    let is_of_test = |given: &[String]| {
        given.iter().any(|given| matches!(given.as_str(), "t" | "tb" | "s . T ( )" | "suite . T ( )" | "c"))
    };
    // A suite of testify's has both.
    let is_of_suite = links.len() > 1 && matches!(root.name, "Require" | "Assert") && root.given().is_empty();
    let is_checker = is_of_suite || !object.is_empty() && is_made_of_test(at, object);
    let is_library = links.iter().any(|link| is_of_test(&link.given()))
        && (links.iter().any(|link| says_check(link.called())) || says_check(object));
    if !is_checker && !is_library || !last.name.starts_with(char::is_uppercase) || is_of_runner(last.name) {
        return None;
    }
    let rest: Vec<String> = given
        .into_iter()
        .filter(|given| !matches!(given.as_str(), "t" | "tb" | "s . T ( )" | "suite . T ( )"))
        .collect();
    // The matcher may stand between both sides: `c.Assert(a, qt.Equals, 1)`.
    if let [value, matcher, ..] = rest.as_slice()
        && matcher.split(' ').nth(1) == Some(".")
        && matcher.split(' ').nth(2).is_some_and(|name| name.starts_with(char::is_uppercase))
        && matches!(last.name, "Assert" | "Check" | "Require" | "That")
    {
        let mut assertion = of_matcher(value, matcher, false, at.line(), &words);
        assertion.sides = rest
            .get(2)
            .filter(|_| assertion.strength == Strength::Exact)
            .map(|other| (value.clone(), other.clone()));
        return Some(assertion);
    }
    let above = links.len().checked_sub(2).and_then(|place| links[place].given().into_iter().next());
    let all: Vec<String> = rest.into_iter().chain(above).collect();
    // What is in a file of its own is compared as a whole, whatever the call is named.
    let is_of_file = matches!(object, "golden" | "goldie" | "cupaloy" | "snaps");
    Some(Assertion::of_call(if is_of_file { "equal" } else { last.name }, &all, at.line(), &words))
}

/// Returns whether a name has a word of checks in it.
fn says_check(name: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "assert", "expect", "verify", "require", "check", "should", "must", "match", "snapshot", "golden", "equal", "cmp", "autogold", "cupaloy",
        "approvals",
    ];
    let lower = name.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// Returns whether a method is one of the runner's own, which demands nothing.
pub(in crate::extract) fn is_of_runner(name: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "Run", "Helper", "Parallel", "Cleanup", "Log", "Logf", "Skip", "Skipf", "SkipNow", "Setenv", "Finish", "EXPECT", "New", "Patch", "Defer",
        "TempDir", "Close", "Stop", "Start", "Done", "Add", "T",
    ];
    NAMES.contains(&name)
}

/// Returns whether an object was made by a library of assertions, of the test: `c := qt.New(t)`.
fn is_made_of_test(at: At<'_>, object: &str) -> bool {
    const MAKERS: &[&str] = &[
        "assert.",
        "require.",
        "qt.",
        "is.",
        "gomega.",
        "NewWithT(",
        "NewGomega",
        "td.",
        "httpexpect.",
        "quicktest.",
        "be.",
        "should.",
        "expect.",
    ];
    let mut node = Some(at.node);
    let mut outer = None;
    while let Some(inner) = node {
        if matches!(inner.kind(), "function_declaration" | "method_declaration") {
            outer = Some(inner);
        }
        node = inner.parent();
    }
    let text = outer.map_or("", |outer| at.with(outer).text());
    let starts = [format!("{object} := "), format!("{object} = ")];
    text.len() < 50_000
        && starts.iter().any(|start| {
            text.match_indices(start.as_str()).any(|(place, _)| {
                let line = text[place + start.len()..].lines().next().unwrap_or_default();
                MAKERS.iter().any(|maker| line.starts_with(maker))
                    && ["(t)", "(t,", "(tb", "T())"].iter().any(|given| line.contains(given))
            })
        })
}
