//! Statements of test files that are there as before but for one part, which makes them demand less: what is accepted of a mock, how
//! many cases are tried, which of them are left.

use std::collections::BTreeMap;

use regex::Regex;

use super::reported::Reported;
use super::rows::{drops_groups, fewer_rows, rows, words};
use crate::Change;
use crate::extract::{Statement, statements};
use crate::files::{Language, Role};
use crate::finding::{Finding, Kind, short};

/// Longest statement that is compared, in tokens.
const MAX_TOKENS: usize = 400;
/// Most statements of one file that are compared with each other.
const MAX_CHANGED: usize = 400;

/// Words that accept whatever there is, or leave something out of a comparison.
#[rustfmt::skip]
const LOOSE: &[&str] = &[
    "any", "anything", "anytimes", "anynumber", "maybe", "lenient", "loose", "relaxed", "suppress", "allow", "ignoring", "ignore", "ignored",
    "ignores", "permissive", "optionally", "anonymous", "atleast", "atmost", "least", "most", "nonstrict", "unordered",
];
/// Last words of names of matchers that fit any value of a kind.
#[rustfmt::skip]
const OF_ANY: &[&str] = &[
    "args", "arguments", "parameters", "int", "long", "short", "byte", "double", "float", "boolean", "bool", "char", "string", "list",
];
/// Calls of a chain that say what of a call is demanded.
#[rustfmt::skip]
const DEMANDS: &[&str] = &[
    "with", "withf", "times", "once", "exactly", "in_sequence", "never", "Once", "Times", "Twice", "withArgs", "with_args", "hasMessage",
    "WithMessage", "strict",
];
/// Calls that leave some of a collection.
#[rustfmt::skip]
const LIMITS: &[&str] = &[
    "limit", "take", "take_while", "takeWhile", "skip", "skip_while", "dropWhile", "filter", "step_by", "first", "head", "slice", "sample",
    "reject", "select", "drop", "Take", "Where", "Skip", "retain",
];
/// Names of sizes and kinds of values, which say little of them.
const SIZES: &[&str] = &["len", "length", "size", "count", "Len", "keys", "typeof"];
/// Parts of names of numbers that say how much is tried.
const EFFORTS: &[&str] = &[
    "count",
    "cases",
    "tries",
    "iterations",
    "runs",
    "repeat",
    "repetitions",
    "examples",
    "rounds",
    "trials",
    "samples",
];
/// Members of annotations that choose among cases.
const KEYS: &[&str] = &["names", "mode", "include", "exclude", "excludes", "failureThreshold"];

/// Returns which statements of the files of tests demand less than before. What something else was `reported` of is left out.
pub(crate) fn compare(changes: &[Change<'_>], reported: &Reported<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for change in changes.iter().filter(|change| Role::of(change.path) == Role::Test) {
        let (Some(before), Some(after)) = (change.before, change.after) else { continue };
        let (mut gone, mut new) = (read(change.path, before), read(change.path, after));
        without_same(&mut gone, &mut new);
        if gone.len() > MAX_CHANGED || new.len() > MAX_CHANGED {
            continue;
        }
        if Language::of(change.path).is_none() {
            findings.extend(fewer_rows(
                change.path,
                (&gone, &rows(before, after)),
                (&new, &rows(after, before)),
            ));
        }
        for (line, now) in new {
            let alike = gone.iter().filter(|(_, was)| was.first() == now.first() && was.get(1) == now.get(1));
            let Some((_, was)) = alike
                .max_by_key(|(_, was)| common(was, &now))
                .filter(|(_, was)| common(was, &now) * 2 > was.len())
            else {
                continue;
            };
            let of_rows = Language::of(change.path).is_none() && drops_groups(was, &now);
            let fewer = of_rows.then_some((Kind::FewerCases, "leaves some of them out"));
            if let Some((kind, what)) = fewer.or_else(|| weaker(was, &now)) {
                let message =
                    format!("`{}` became `{}`, which {what}", short(&was.join(" ")), short(&now.join(" ")));
                findings.push(Finding::new(change.path, line, kind, message));
            }
        }
    }
    findings.retain(|finding| !reported.covers(&finding.path, finding.line));
    findings
}

fn read(path: &str, text: &str) -> Vec<Statement> {
    let all = if Language::of(path).is_some() {
        statements(path, text)
    } else {
        text.lines().enumerate().map(|(at, line)| (at + 1, words(line))).collect()
    };
    let is_go = Language::of(path) == Some(Language::Go);
    let plain = all.into_iter().map(|(line, words)| {
        let words = without_last_commas(words);
        (line, if is_go { with_any(words) } else { words })
    });
    plain.filter(|(_, words)| (2..=MAX_TOKENS).contains(&words.len())).collect()
}

/// Returns the tokens of Go with the shorter name of the type that everything is of: `any` for `interface{}`.
fn with_any(words: Vec<String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::with_capacity(words.len());
    for word in words {
        found.push(word);
        if found.ends_with(&["interface".to_owned(), "{".to_owned(), "}".to_owned()]) {
            found.truncate(found.len() - 3);
            found.push("any".to_owned());
        }
    }
    found
}

/// Removes the commas behind the last items of lists, which formatters set and remove.
fn without_last_commas(words: Vec<String>) -> Vec<String> {
    let is_last = |at: usize| {
        words[at] == "," && words.get(at + 1).is_some_and(|next| matches!(next.as_str(), ")" | "]" | "}"))
    };
    let kept: Vec<bool> = (0..words.len()).map(|at| !is_last(at)).collect();
    words.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(word, _)| word).collect()
}

/// Takes out what is in both.
fn without_same(gone: &mut Vec<Statement>, new: &mut Vec<Statement>) {
    let mut counts: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for (_, words) in gone.iter() {
        *counts.entry(words.clone()).or_default() += 1;
    }
    let mut met: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    new.retain(|(_, words)| {
        let known = counts.get(words).copied().unwrap_or(0);
        let times = met.entry(words.clone()).or_default();
        *times += 1;
        *times > known
    });
    gone.retain(|(_, words)| {
        let left = met.get_mut(words).filter(|times| **times > 0);
        left.map(|times| *times -= 1).is_none()
    });
}

/// Returns how many tokens two statements have in common.
fn common(was: &[String], now: &[String]) -> usize {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for token in now {
        *counts.entry(token).or_default() += 1;
    }
    let is_there = |token: &&String| {
        counts.get_mut(token.as_str()).filter(|count| **count > 0).map(|count| *count -= 1).is_some()
    };
    was.iter().filter(is_there).count()
}

/// Returns how many tokens at the beginning and at the end of two statements are the same.
fn ends(was: &[String], now: &[String]) -> (usize, usize) {
    let start = was.iter().zip(now).take_while(|(one, other)| one == other).count();
    let least = was.len().min(now.len()) - start;
    let end =
        was.iter().rev().zip(now.iter().rev()).take(least).take_while(|(one, other)| one == other).count();
    (start, end)
}

/// Returns how a statement demands less than it did.
fn weaker(was: &[String], now: &[String]) -> Option<(Kind, &'static str)> {
    if is_message(was) && is_message(now) {
        return None;
    }
    let (start, end) = ends(was, now);
    let (old, new) = (&was[start..was.len() - end], &now[start..now.len() - end]);
    let calls = |tokens: &[String], names: &[&str]| {
        tokens
            .windows(2)
            .filter(|two| names.contains(&two[0].as_str()) && matches!(two[1].as_str(), "(" | "=" | "{"))
            .count()
    };
    let loose = |tokens: &[String]| {
        tokens.iter().enumerate().filter(|(at, token)| is_loose(tokens, *at, token)).count()
    };
    let literals = was
        .iter()
        .filter(|token| {
            token.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''))
        })
        .count();
    if old.is_empty() && literals > 1 && calls(new, LIMITS) > 0 && new.len() < 40 {
        return Some((Kind::FewerCases, "leaves some of them out"));
    }
    if loose(now) > loose(was) && old.len() < 60 && !asks_more(old, new) {
        return Some((Kind::WeakerAssertion, "accepts more"));
    }
    // gomock and Mockito demand one call if nobody says how many.
    let is_usual =
        old.windows(3).any(|three| matches!(three[0].as_str(), "Times" | "times") && three[2] == "1")
            && !was.iter().any(|token| token == "expect" || token.starts_with("expect_"));
    if new.len() < old.len() && calls(old, DEMANDS) > calls(new, DEMANDS) && !is_usual {
        return Some((Kind::WeakerAssertion, "accepts more"));
    }
    let says_true = |tokens: &[String]| tokens.windows(2).any(|two| two[0] == "return" && two[1] == "true");
    if says_true(new) && !says_true(old) && new.iter().any(|token| token == "func") {
        return Some((Kind::WeakerAssertion, "accepts whatever there is"));
    }
    let writes = |token: &String| {
        ["update", "golden", "bless", "regenerate"].iter().any(|word| token.to_lowercase().contains(word))
    };
    if was.iter().any(writes) && old.is_empty() && new.first().is_some_and(|first| first == "||") {
        return Some((Kind::WeakerAssertion, "writes what is expected in more cases"));
    }
    // A member or an argument of this name is no size that is asked for.
    let sizes = |tokens: &[String]| {
        tokens.windows(2).filter(|two| SIZES.contains(&two[0].as_str()) && two[1] == "(").count()
    };
    if sizes(new) > sizes(old) + 1 {
        return Some((Kind::WeakerAssertion, "compares only the sizes"));
    }
    if let ([one], [other]) = (old, new)
        && is_narrower(one, other)
    {
        return Some((Kind::FewerCases, "fits fewer files"));
    }
    // What an assertion within the statement expects says nothing of how much is tried.
    let is_expected = was[..start].iter().rev().take_while(|token| *token != ";").any(|token| {
        matches!(token.as_str(), "expect" | "assert" | "assertThat") || token.starts_with("assert_")
    });
    if !is_comparison(now) && !is_expected && fewer_tried(old, new, &was[..start]) {
        return Some((Kind::FewerCases, "tries less"));
    }
    let is_check = now.iter().take(6).any(|token| {
        ["assert", "expect", "verify"].iter().any(|word| token.to_lowercase().starts_with(word))
    });
    if is_check
        && matches!((old, new), ([one], [other]) if one == "true" && other == "false")
        && now.iter().filter(|token| *token == ",").count() > 1
    {
        return Some((Kind::WeakerAssertion, "compares less strictly"));
    }
    let is_annotation = was.first().is_some_and(|first| first == "@");
    if is_annotation && calls(new, KEYS) > calls(old, KEYS) {
        return Some((Kind::FewerCases, "leaves some of them out"));
    }
    None
}

/// Returns whether a statement of Go's says what is wrong, where the condition before it has decided: `t . Errorf ( "got %d" , n )`.
fn is_message(statement: &[String]) -> bool {
    const NAMES: &[&str] = &["Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf"];
    matches!(statement, [_, dot, name, open, ..] if dot == "." && open == "(" && NAMES.contains(&name.as_str()))
}

/// Returns whether a call without arguments became one of a longer name that has some: `called ( )` and `called_with ( 1 , ANY )`.
fn asks_more(old: &[String], new: &[String]) -> bool {
    let ([was, rest @ ..], [now, given @ ..]) = (old, new) else { return false };
    let is_given = |(at, token): (usize, &String)| {
        token.starts_with(char::is_alphanumeric) && !is_loose(given, at, token)
    };
    let is_bare = rest.iter().all(|token| matches!(token.as_str(), "(" | ")"));
    is_bare
        && now.len() > was.len()
        && now.starts_with(was.as_str())
        && given.iter().enumerate().any(is_given)
}

/// Returns whether a statement is an assertion, in which numbers are what is expected.
fn is_comparison(statement: &[String]) -> bool {
    const OF_T: &[&str] = &["is", "not", "deepEqual", "equal", "equals", "same", "strictEqual", "like"];
    let mut words = statement.iter().filter(|token| !matches!(token.as_str(), "self" | "." | "await"));
    let first = words.next().map_or("", String::as_str);
    ["expect", "assert", "Assert", "require"].iter().any(|start| first.starts_with(start))
        || first == "t" && words.next().is_some_and(|name| OF_T.contains(&name.as_str()))
}

/// Returns whether a token stands for whatever there is.
fn is_loose(tokens: &[String], at: usize, token: &str) -> bool {
    let is_name = token.starts_with(char::is_alphabetic);
    let words = crate::syntax::words(token);
    let says = is_name
        && words
            .iter()
            .any(|word| LOOSE.contains(&word.as_str()) || LOOSE.contains(&words.concat().as_str()))
        // A class or a function may have no name.
        && (words.first().is_none_or(|first| first != "anonymous") || words.len() == 1);
    // A map has no order.
    let says = says && !token.ends_with("InAnyOrderEntriesOf");
    let next = tokens.get(at + 1).map_or("", String::as_str);
    // Go, Python, Kotlin and Swift have a type of this name, which is neither called nor given types, and others are of what may come
    // later.
    let is_type = matches!(token, "any" | "Any") && !matches!(next, "(" | "<" | "[")
        || token.starts_with("Maybe") && next == "<";
    // A type of TypeScript's, which nothing demands at run time: `as AnyEvent`, `: any[]`; and a memory order of Rust's.
    let last = |places: usize| at.checked_sub(places).map_or("", |at| tokens[at].as_str());
    let is_list = next == "[" && tokens.get(at + 2).is_some_and(|end| end == "]");
    let is_type = is_type
        || last(1) == "as"
        || token == "any" && is_list && matches!(last(1), ":" | "<" | "|")
        || last(1) == "::" && last(2) == "Ordering";
    // A server answers requests of any method: `router . Any ( "/users" , list )`.
    let is_method = words == ["any"]
        && matches!(next, "(" | ",")
        && tokens.get(at + 2).is_some_and(|path| path.starts_with("\"/") || path.starts_with("'/"));
    // A value whose name alone has the word: `decode ( anyJson , text )`. RSpec's `any_args` and ScalaMock's `anyInt` are matchers.
    let is_value = words.len() > 1
        && !words.last().is_some_and(|last| OF_ANY.contains(&last.as_str()))
        && token.starts_with(char::is_lowercase)
        && at.checked_sub(1).is_some_and(|before| matches!(tokens[before].as_str(), "(" | ","))
        && matches!(next, ")" | ",");
    // FakeItEasy's `A<int>._`.
    let is_placeholder = token == "_" && at > 1 && tokens[at - 1] == "." && tokens[at - 2] == ">";
    says && !is_type && !is_method && !is_value || is_placeholder
}

/// Returns whether a pattern of files fits fewer than another one, all of which that one fits: `"ui/*.rs"` and `"ui/a-*.rs"`.
fn is_narrower(one: &str, other: &str) -> bool {
    let pattern = one.split('*').map(regex::escape).collect::<Vec<_>>().join(".*");
    let is_glob = |text: &str| {
        text.starts_with('"') && text.contains('*') && text.len() < 200 && !text.contains([' ', '\\'])
    };
    is_glob(one)
        && is_glob(other)
        && one != other
        && Regex::new(&format!("^{pattern}$")).is_ok_and(|whole| whole.is_match(other))
}

/// Returns whether a number that says how much is tried is lower, or is said for the first time and is small.
fn fewer_tried(old: &[String], new: &[String], above: &[String]) -> bool {
    let is_effort = |name: &str| EFFORTS.iter().any(|part| name.to_lowercase().contains(part));
    let number = |token: &String| token.replace('_', "").parse::<u64>().ok();
    if let ([one], [other]) = (old, new)
        && let (Some(one), Some(other)) = (number(one), number(other))
    {
        let name = above.iter().rev().find(|token| token.starts_with(char::is_alphabetic));
        return other < one && name.is_some_and(|name| is_effort(name));
    }
    let tried = |tokens: &[String]| {
        let found = tokens
            .windows(3)
            .filter(|three| is_effort(&three[0]) && matches!(three[1].as_str(), ":" | "=" | "("));
        found.filter_map(|three| number(&three[2])).min()
    };
    tried(old).is_none() && tried(new).is_some_and(|count| count <= 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weaker_by(was: &str, now: &str) -> Option<Kind> {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        weaker(&words(was), &words(now)).map(|(kind, _)| kind)
    }

    #[test]
    fn one_part_of_a_statement_tells() {
        for (was, now, expected) in [
            (
                "m . EXPECT ( ) . Send ( 1 )",
                "m . EXPECT ( ) . Send ( gomock . Any ( ) )",
                Some(Kind::WeakerAssertion),
            ),
            (
                "m . expect_rate ( ) . times ( 1 ) . returning ( x )",
                "m . expect_rate ( ) . returning ( x )",
                Some(Kind::WeakerAssertion),
            ),
            ("m . Send ( 1 ) . Times ( 1 )", "m . Send ( 1 )", None),
            (
                "quick . Check ( same , nil )",
                "quick . Check ( same , & quick . Config { MaxCount : 1 } )",
                Some(Kind::FewerCases),
            ),
            ("Stream . of ( 1 , 2 )", "Stream . of ( 1 , 2 ) . limit ( 1 )", Some(Kind::FewerCases)),
            ("rows . iter ( )", "rows . iter ( ) . filter ( f )", None),
            (
                "JSONAssert . assertEquals ( a , b , true )",
                "JSONAssert . assertEquals ( a , b , false )",
                Some(Kind::WeakerAssertion),
            ),
            (
                "@ EnumSource ( Currency . class )",
                "@ EnumSource ( value = Currency . class , names = \"EUR\" )",
                Some(Kind::FewerCases),
            ),
            ("var m map [ string ] int", "var m map [ string ] any", None),
            ("add ( 1 , 2 )", "add ( 1 , 3 )", None),
        ] {
            assert_eq!(weaker_by(was, now), expected, "{was}");
        }
    }
}
