//! Statements of tests that stay and decide less: a demand is dropped from a chain of calls, a pattern fits more, a number of
//! calls is no longer one number, a call reports instead of failing, an option ignores what was an error.

use super::hunks::{Difference, Rewritten, counted, tokens};
use super::reported::Reported;
use crate::Change;
use crate::assertion::vocabulary::plain;
use crate::files::Role;
use crate::finding::{Finding, Kind, short};

/// Calls of a chain that demand something of the calls or answers that it is about.
const DEMANDS: &[&str] = &[
    "times",
    "once",
    "twice",
    "thrice",
    "never",
    "exactly",
    "calledonce",
    "calledtwice",
    "atleast",
    "atmost",
    "withargs",
    "withexactargs",
    "raiseforstatus",
    "errorforstatus",
    "orfail",
    "verifiable",
];
/// Numbers of calls that are any number, or many.
const MANY: &[&str] = &[
    "anytimes",
    "any",
    "zeroormore",
    "maybe",
    "optional",
    "optionally",
    "lenient",
    "morethanorexactly",
    "morethanorequalto",
    "lessthanorexactly",
    "atleast",
    "atmost",
    "mintimes",
    "maxtimes",
    "atleastonce",
    "atmostonce",
    "allowed",
    "persist",
];
/// Types and patterns that everything fits.
const EVERYTHING: &[&str] = &["_", "any", "unknown", "Any", "ANY", "anything", "..", "Anything", "Throwable"];
/// Ways to build a test or a group of tests, in which a letter in front leaves it out.
const BUILDERS: &[&str] = &[
    "It",
    "Entry",
    "Describe",
    "Context",
    "When",
    "Specify",
    "DescribeTable",
    "DescribeTableSubtree",
    "it",
    "test",
    "describe",
    "context",
    "specify",
    "fixture",
];
/// Parts of the names of options that say what to do about something wrong.
const POLICIES: &[&str] = &[
    "unhandled",
    "unexpected",
    "missing",
    "policy",
    "behavio",
    "strict",
    "fail",
    "warning",
    "error",
    "undefined",
    "unknown",
    "unmatched",
    "conflict",
    "mismatch",
    "leak",
];
/// What options say to do, the mildest first.
const ACTIONS: &[&[&str]] = &[
    &[
        "ignore",
        "bypass",
        "allow",
        "off",
        "none",
        "silent",
        "skip",
        "pass",
        "passthrough",
        "suppress",
        "continue",
        "never",
    ],
    &["warn", "warning", "log", "info", "print", "report"],
    &[
        "error", "fail", "deny", "throw", "raise", "panic", "abort", "reject", "strict", "fatal", "forbid",
        "always",
    ],
];

/// Returns the statements of the files of tests that decide less than before. What something else was `reported` of is left out.
pub(crate) fn compare(changes: &[Change<'_>], reported: &Reported<'_>) -> Vec<Finding> {
    let of_tests = || changes.iter().filter(|change| Role::of(change.path) == Role::Test);
    let now = counted(of_tests().filter_map(|change| change.after));
    let was = counted(of_tests().filter_map(|change| change.before));
    // A line that stands somewhere else now has moved.
    let is_moved = |line: &str| now.get(line.trim()) >= was.get(line.trim());
    let defines = |name: &str| of_tests().filter_map(|change| change.after).any(|text| defines(text, name));
    let mut findings = Vec::new();
    for change in of_tests() {
        let (Some(before), Some(after)) = (change.before, change.after) else { continue };
        let difference = Difference::of(before, after);
        // A test that looks at the exit code itself needs nobody to look at it.
        let asks_itself = after.matches("returncode").count() > before.matches("returncode").count();
        let mut found = |line: usize, gone: Option<&str>, kind: Kind, message: String| {
            if !reported.covers(change.path, line)
                && !gone.is_some_and(|name| reported.names(change.path, name))
            {
                findings.push(Finding::new(change.path, line, kind, message));
            }
        };
        for rewritten in difference.rewritten.iter().filter(|rewritten| !is_comment(rewritten)) {
            if let Some(prefixed) = left_out(rewritten) {
                found(rewritten.line, None, Kind::SkippedTest, format!("a test is left out: `{prefixed}`"));
            } else if let Some(what) = decides_less(rewritten, &defines).filter(|_| !asks_itself) {
                let (old, new) = (rewritten.old.join(" "), rewritten.new.join(" "));
                let message = if new.is_empty() {
                    format!("{what}: `{}` is gone", short(&old))
                } else {
                    format!("{what}: `{}` became `{}`", short(&old), short(&new))
                };
                let name = rewritten.old.first().copied().filter(|name| name.len() > 3);
                found(rewritten.line, name, Kind::WeakerAssertion, message);
            }
        }
        // A link of a chain that stands on a line of its own.
        for (line, text) in difference.gone.iter().filter(|(_, text)| !is_moved(text)) {
            let words = tokens(text);
            let is_link = words.first() == Some(&".") && is_demand(&words[1..], &[]);
            let is_alone = difference.come.iter().all(|(at, _)| at.abs_diff(*line) > 3);
            // The line above has it now.
            let is_joined = || {
                difference.rewritten.iter().any(|other| {
                    other.line.abs_diff(*line) <= 3 && other.new.windows(words.len()).any(|now| now == words)
                })
            };
            if is_link && is_alone && !is_joined() {
                found(
                    *line,
                    None,
                    Kind::WeakerAssertion,
                    format!("a demand is dropped: `{}` is gone", text.trim()),
                );
            }
        }
    }
    findings
}

/// Returns whether a text defines a function of this name.
fn defines(text: &str, name: &str) -> bool {
    const KEYWORDS: &[&str] = &["fn", "def", "func", "function", "void", "const", "let", "macro_rules"];
    text.lines().filter(|line| line.contains(name)).any(|line| {
        let words = tokens(line);
        words.iter().position(|word| *word == name).is_some_and(|at| {
            words[..at].iter().any(|word| KEYWORDS.contains(word))
                && words[..at].iter().all(|word| *word != "(")
        })
    })
}

fn is_comment(rewritten: &Rewritten<'_>) -> bool {
    let first = rewritten.head.first().or_else(|| rewritten.old.first());
    first.is_some_and(|word| matches!(*word, "/" | "*" | "#")) && !is_attribute(&rewritten.head)
}

fn is_attribute(head: &[&str]) -> bool {
    head.starts_with(&["#", "["])
}

/// Returns the call that a letter in front turned into one that builds nothing.
fn left_out(rewritten: &Rewritten<'_>) -> Option<String> {
    let ([old], [new]) = (rewritten.old.as_slice(), rewritten.new.as_slice()) else { return None };
    let is_called = rewritten.tail.first() == Some(&"(");
    let is_prefixed = new.strip_prefix(['P', 'X', 'x']) == Some(*old) && BUILDERS.contains(old);
    (is_called && is_prefixed).then(|| (*new).to_owned())
}

/// Returns how a statement decides less than before.
fn decides_less(rewritten: &Rewritten<'_>, defines: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let Rewritten { head, old, new, tail, .. } = rewritten;
    let link = if head.last() == Some(&".") { Some(old.as_slice()) } else { old.strip_prefix(&["."]) };
    if new.is_empty() && link.is_some_and(|link| is_demand(link, head) && !is_usual(link, head)) {
        return Some("a demand is dropped");
    }
    if counts_less(rewritten) {
        return Some("any number of calls will do");
    }
    if is_turned_off(old, new) {
        return Some("an option checks less");
    }
    if let ([old], [new]) = (old.as_slice(), new.as_slice()) {
        if is_milder(head, old, new) {
            return Some("an option is milder");
        }
        let is_call = matches!(tail.first(), Some(&("(" | "<")));
        let tries = force(new) == 0 && plain(new).ends_with(&plain(old));
        let is_milder_call = is_statement(head) && force(new) < force(old) && (force(old) > 1 || tries);
        if is_call && is_milder_call && !defines(new) {
            return Some("a call reports instead of failing");
        }
    }
    fits_everything(rewritten).then_some("everything fits")
}

/// Returns whether tokens begin with a call that demands something: `times ( 1 )`, and `expect ( 2 )` of a mock.
fn is_demand(words: &[&str], head: &[&str]) -> bool {
    let [name, "(", rest @ ..] = words else { return false };
    let of_number =
        || rest.first().is_some_and(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    let name = plain(name);
    // Waiting for an answer is no demand of what a test is about.
    DEMANDS.contains(&name.as_str()) && !head.contains(&"retry") || name == "expect" && of_number()
}

/// Returns whether words demand what a mock demands anyway: gomock expects one call.
fn is_usual(words: &[&str], head: &[&str]) -> bool {
    head.contains(&"EXPECT") && words.starts_with(&["Times", "(", "1"])
}

/// Returns whether calls were counted and may now be any number.
fn counts_less(rewritten: &Rewritten<'_>) -> bool {
    const COUNTED: &[&str] = &["times", "once", "twice", "exactly", "expect", "never", "calledonce"];
    let Rewritten { head, old, new, .. } = rewritten;
    let is_number = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    let name = |words: &[&str]| {
        words.iter().find(|word| word.starts_with(char::is_alphabetic)).map(|word| plain(word))
    };
    let callee =
        || head.iter().rev().find(|word| word.starts_with(char::is_alphabetic)).map(|word| plain(word));
    let was_counted = match name(old) {
        Some(name) => COUNTED.contains(&name.as_str()),
        None => {
            old.iter().any(is_number)
                && callee().is_some_and(|name| COUNTED.contains(&name.as_str()) || name == "verify")
        }
    };
    let is_many = match name(new) {
        Some(name) => MANY.contains(&name.as_str()),
        // A range that has no end.
        None => new.contains(&".."),
    };
    was_counted && is_many
}

/// Returns whether an option that makes a call stricter was turned off or left out: `, check = True`.
fn is_turned_off(old: &[&str], new: &[&str]) -> bool {
    const STRICT: &[&str] =
        &["strict", "exact", "check", "failon", "throwon", "raiseon", "verify", "require", "assertall"];
    let is_on = |word: &str| matches!(word, "true" | "True");
    let is_off = |word: &str| matches!(word, "false" | "False");
    let own: Vec<&str> = old.iter().copied().filter(|word| *word != ",").collect();
    let theirs: Vec<&str> = new.iter().copied().filter(|word| *word != ",").collect();
    match (own.as_slice(), theirs.as_slice()) {
        ([key, "=" | ":", value], []) => {
            let key = plain(key);
            is_on(value) && STRICT.iter().any(|strict| key.starts_with(strict))
        }
        ([key, "=" | ":", value], [other, "=" | ":", now]) => {
            let name = plain(key);
            key == other
                && is_on(value)
                && is_off(now)
                && STRICT.iter().any(|strict| name.starts_with(strict))
        }
        _ => false,
    }
}

/// Returns whether the value of an option that says what to do about something wrong is milder.
fn is_milder(head: &[&str], old: &str, new: &str) -> bool {
    let bare = |word: &str| {
        word.rsplit(['.', ':']).next().unwrap_or(word).trim_matches(['"', '\'', '`']).to_ascii_lowercase()
    };
    let level = |word: &str| ACTIONS.iter().position(|words| words.contains(&bare(word).as_str()));
    let [.., key, ":" | "=" | ","] = head else { return false };
    let key = bare(key);
    let is_policy = POLICIES.iter().any(|part| key.contains(part)) || key.starts_with("on_");
    is_policy && level(old).zip(level(new)).is_some_and(|(old, new)| new < old)
}

/// Returns whether nothing is made of the result of a call: it stands alone, with its receiver.
fn is_statement(head: &[&str]) -> bool {
    let is_part = |word: &&str| {
        matches!(*word, "." | "::" | "await")
            || word.starts_with(|first: char| first.is_alphabetic() || first == '_')
    };
    matches!(head.last(), Some(&("." | "::"))) && head.iter().all(is_part) && !head.contains(&"return")
}

/// Returns how a call of this name ends if something is wrong: 3 if it fails, 1 if it tells, 0 if it says nothing of it.
fn force(name: &str) -> usize {
    const FAILING: &[&str] =
        &["assert", "verify", "must", "require", "ensure", "enforce", "orthrow", "orfail", "expect"];
    const MILD: &[&str] =
        &["try", "safe", "maybe", "soft", "evaluate", "sample", "loose", "lenient", "optional"];
    let name = plain(name);
    if MILD.iter().any(|part| name.starts_with(part)) {
        0
    } else if FAILING.iter().any(|part| name.contains(part)) && !name.contains("requirement") {
        3
    } else if name.starts_with("check") || name.starts_with("validate") {
        2
    } else {
        1
    }
}

/// Returns whether a pattern, a matcher or a type of something that is demanded became one that everything fits.
fn fits_everything(rewritten: &Rewritten<'_>) -> bool {
    let Rewritten { head, old, new, .. } = rewritten;
    let is_word = |word: &&&str| {
        word.starts_with(|first: char| first.is_alphanumeric() || matches!(first, '_' | '.' | '"'))
    };
    let is_everything = |word: &&str| EVERYTHING.contains(word);
    // The name of the assertion may change along with the type.
    let is_name = |word: &&str| force(word) == 3 || matches!(*word, "mock" | "gomock" | "jasmine");
    let theirs: Vec<&str> = new.iter().filter(is_word).filter(|word| **word != ".").copied().collect();
    let only = !theirs.is_empty() && theirs.iter().all(|word| is_everything(word) || is_name(word));
    let demands = head.iter().chain(old).any(|word| {
        let name = plain(word);
        force(word) == 3 || matches!(name.as_str(), "matches" | "match" | "with" | "should")
    });
    // Go's `any` is another name of this.
    if old.as_slice() == ["interface", "{", "}"] {
        return false;
    }
    let had = old.iter().any(is_everything);
    let is_more = theirs.iter().any(is_everything) && (!had || new.len() < old.len());
    only && demands && is_more && old.iter().filter(is_word).count() > 0
}
