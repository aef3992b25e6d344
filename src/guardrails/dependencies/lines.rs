//! Lock files of lines: each new line is judged by the words in it.

use std::collections::HashSet;

use super::rejection::{Reason, RejectedRow};
use super::shapes::Judge;
use super::text_kind::Kind;

/// Keys of lines that say where something is fetched from.
const PLACES: &[&str] = &[
    "remote",
    "url",
    "git",
    "github",
    "gitlab",
    "bitbucket",
    "gist",
    "source",
    "src",
    "repo",
    "repository",
    "binary",
    "http",
    "provider",
    "mirror",
    "location",
    "pin-depends",
];

patterns! {
    // Mix evaluates its lock file, so nothing but literals may be in it.
    MIX = r#"(?x) ^ (?: %\{ | \} | "[^"\\\#]*" : \s* \{ (?: \s | , | [\[\]{}] | :\w+ | :"[\w.@-]+" | \w+: | "[^"\\\#]*" | true | false | nil )* \} ,? ) $"#;
    // Of the fields that a project of Cabal can have, only versions and flags of packages, and when the index was read.
    CABAL = r"(?x) ^ (?: constraints: \s* )? (?: any\. )? [\w-]+ (?: \s* == \s* [\d.]+ | (?: \s+ [+-] [\w-]+ )+ ) \s* ,? $
        | ^ index-state: [\w\s:.-]+ $";
}

/// Returns whether lines that begin with `#` are none to the program that reads the file.
fn has_comments(name: &str) -> bool {
    name != "mix.lock"
}

/// Judges the lines that a file gains.
pub(super) fn judge(name: &str, before: &str, after: &str, judge: &mut Judge) -> Result<(), RejectedRow> {
    let had: HashSet<&str> = before.lines().map(str::trim_end).collect();
    for line in after.lines().map(str::trim_end).filter(|line| !had.contains(line)) {
        let text = line.trim();
        let says_nothing = text.is_empty() || has_comments(name) && text.starts_with('#');
        if !says_nothing {
            self::line(name, text, judge).map_err(|why| RejectedRow { row: text.to_owned(), why })?;
        }
    }
    Ok(())
}

/// Judges all lines, whatever comes of it, for the addresses in them.
pub(super) fn each(name: &str, text: &str, judge: &mut Judge) {
    for text in text.lines().map(str::trim).filter(|text| !text.starts_with('#')) {
        let _ = line(name, text, judge);
    }
}

fn line(name: &str, text: &str, judge: &mut Judge) -> Result<(), Reason> {
    if name == "mix.lock" && !MIX.is_match(text) {
        return Err(Reason("which is code, and not the version of a package"));
    }
    if name == "cabal.project.freeze" && !text.starts_with("--") {
        return if CABAL.is_match(text) {
            Ok(())
        } else {
            Err(Reason("which is not the version of a package"))
        };
    }
    if name.ends_with(".lockfile") {
        // `group:artifact:version=configurations`
        let (package, _) = text.split_once('=').unwrap_or((text, ""));
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-+".contains(letter);
        if text.split([':', '=', ',']).all(|part| part.chars().all(is_plain))
            && package.matches(':').count() != 1
        {
            return Ok(());
        }
        return judge.judge(Kind::Spec, text);
    }
    if matches!(name, "go.sum" | "go.work.sum") {
        // Nothing is fetched because of it: it says what that has to be.
        return sums(text);
    }
    let (words, quoted) = words(text)?;
    let first = words.first().map(|word| word.trim_matches([':', '{', ',', '-']).to_lowercase());
    let key = first.unwrap_or_default();
    if key == "provider" && name == ".terraform.lock.hcl" {
        return quoted.iter().try_for_each(|place| judge.judge(Kind::Bare, place));
    }
    let is_place = PLACES.contains(&key.as_str()) && words.first().is_some_and(|word| !word.is_empty());
    let has_more = words.iter().skip(1).any(|word| !word.is_empty()) || !quoted.is_empty();
    if is_place && has_more {
        let rest = words.iter().skip(1).map(|word| word.trim_matches(['=', ':', '[', ']', '{', '}']));
        let rest: Vec<&str> = rest.filter(|word| !word.is_empty()).collect();
        let is_account = matches!(key.as_str(), "github" | "gitlab" | "bitbucket" | "gist");
        let all: Vec<&str> = quoted.iter().map(String::as_str).chain(rest).collect();
        let (place, rest) = all.split_first().ok_or(Reason("which names no place"))?;
        let place =
            if is_account && !place.contains("://") { format!("{key}:{place}") } else { (*place).to_owned() };
        judge.judge(Kind::Place, &place)?;
        return rest.iter().try_for_each(|word| judge.judge(Kind::Spec, word));
    }
    let is_git = words.iter().any(|word| {
        let word = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        matches!(word, "git" | "hg" | "git_subdir")
    });
    for (index, text) in quoted.iter().enumerate() {
        // In Elixir and Erlang, what comes first behind the kind of a place is the place.
        let is_name =
            index == 0 && words.first().is_some_and(|word| word.is_empty() || word.starts_with("{<<"));
        let is_place = is_git && !is_name && !text.bytes().all(|byte| byte.is_ascii_hexdigit()) && index < 2;
        judge.judge(if is_place { Kind::Place } else { Kind::Spec }, text)?;
    }
    words.iter().try_for_each(|word| {
        let word = word.trim_matches(|letter: char| ",;:()[]{}<>=!\\".contains(letter) && letter != '\\');
        judge.judge(Kind::Spec, word)
    })
}

fn sums(text: &str) -> Result<(), Reason> {
    let is_plain = |text: &str| {
        !text.contains("//")
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+/~!".contains(&byte))
            && !text.split('/').any(|name| matches!(name, "." | ".."))
    };
    match text.split(' ').collect::<Vec<_>>().as_slice() {
        [module, version, sum] if is_plain(module) && is_plain(version) => {
            let sum = sum.strip_prefix("h1:").and_then(|sum| sum.strip_suffix('='));
            let is_sum = sum.is_some_and(|sum| {
                sum.len() == 43
                    && sum.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
            });
            if is_sum { Ok(()) } else { Err(Reason("which has no checksum")) }
        }
        _ => Err(Reason("which is not a module with its version and checksum")),
    }
}

/// Returns what stands in quotes, and the words around that; a word is empty where a text in quotes was the first.
fn words(line: &str) -> Result<(Vec<String>, Vec<String>), Reason> {
    let mut quoted = Vec::new();
    let mut rest = String::new();
    let mut parts = line.split('"');
    rest.push_str(parts.next().unwrap_or_default());
    while let Some(text) = parts.next() {
        let behind = parts.next().ok_or(Reason("whose quotes programs read differently"))?;
        if text.contains('\\') {
            return Err(Reason("whose quotes programs read differently"));
        }
        quoted.push(text.to_owned());
        rest.push(' ');
        rest.push_str(behind);
    }
    Ok((rest.split([' ', '\t', ',']).map(str::to_owned).collect(), quoted))
}
