//! Steps that keep of a value what they do not lose: sorted, in lower case, without white space or without some members.

use super::copies::plain;
use crate::assertion::origin::{CASE, ORDER, PART, SPACE};
use crate::syntax::tokens::{inner, split};

/// Calls of which the first argument is the value.
#[rustfmt::skip]
const CALLS: &[(u8, &[&str])] = &[
    (ORDER, &[
        "sorted", "set", "frozenset", "Counter", "collections . Counter", "new Set", "new HashSet", "new TreeSet", "new LinkedHashSet",
        "Set . copyOf", "ImmutableSet . copyOf", "Sets . newHashSet", "slices . Sorted", "HashSet :: from", "BTreeSet :: from",
        "HashSet :: from_iter", "BTreeSet :: from_iter", "sortBy", "_ . sortBy",
    ]),
    (SPACE, &["strings . TrimSpace", "bytes . TrimSpace", "strings . Fields", "dedent", "textwrap . dedent", "inspect . cleandoc"]),
    (CASE, &["strings . ToLower", "strings . ToUpper", "bytes . ToLower", "bytes . ToUpper"]),
    (PART, &["omit", "_ . omit", "lodash . omit", "pick", "_ . pick"]),
    (0, &["slices . Values", "slices . Collect", "Object . fromEntries", "Object . entries", "new ArrayList", "strings . Join"]),
];
/// Methods of the value.
#[rustfmt::skip]
const METHODS: &[(u8, &[&str])] = &[
    (ORDER, &["sort", "sorted", "toSorted", "sortBy", "toSet"]),
    (SPACE, &[
        "split_whitespace", "trim", "trim_start", "trim_end", "trimStart", "trimEnd", "stripIndent", "stripTrailing", "stripLeading",
    ]),
    (CASE, &[
        "lower", "upper", "casefold", "toLowerCase", "toUpperCase", "toLocaleLowerCase", "to_lowercase", "to_uppercase",
        "to_ascii_lowercase", "to_ascii_uppercase",
    ]),
    (PART, &["filter", "omit"]),
    (0, &[
        "iter", "into_iter", "stream", "toList", "collect", "items", "cloned", "copied", "to_vec", "to_owned", "to_string", "as_str",
        "as_slice", "join", "splitlines", "toArray", "collect_vec", "lines",
    ]),
];
/// Methods that lose white space if that is what they are given, or if they are given nothing.
const OF_BLANKS: &[&str] = &[
    "strip",
    "rstrip",
    "lstrip",
    "split",
    "removesuffix",
    "trim_end_matches",
    "trim_matches",
    "stripSuffix",
];
/// Methods that lose white space if that is what they replace.
const REPLACING: &[&str] = &["replace", "replaceAll", "replace_all"];

/// Most steps that are taken back.
const MAX_STEPS: usize = 12;

/// Takes back the steps of an expression; `of_helper` says which argument a function of the file returns, and what is lost of it.
pub(super) fn peel(text: &str, of_helper: &dyn Fn(&str) -> Option<(usize, u8)>) -> (String, u8) {
    let (mut text, mut lost) = (text.to_owned(), 0);
    for _ in 0..MAX_STEPS {
        let step = of_call(&text, of_helper)
            .or_else(|| of_comprehension(&text, of_helper))
            .or_else(|| of_range(&text))
            .or_else(|| Some((inner(&text)?.to_owned(), 0)));
        // A set that is copied from a list loses more than a copy.
        let (inner, more) = step.unwrap_or_else(|| (plain(&text), 0));
        if inner == text {
            break;
        }
        lost |= more;
        text = inner;
    }
    (text, lost)
}

/// Returns what is in the last brackets of a text, and what is before them.
fn last_call(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_suffix(" )")?;
    let mut depth = 0_usize;
    let open = inner.rmatch_indices(['(', ')']).find_map(|(at, sign)| {
        let is_open = sign == "(" && depth == 0;
        depth = if sign == ")" { depth + 1 } else { depth.saturating_sub(1) };
        is_open.then_some(at)
    })?;
    Some((inner[..open].trim(), inner[open + 1..].trim()))
}

fn loss(table: &[(u8, &[&str])], name: &str) -> Option<u8> {
    table.iter().find(|(_, names)| names.contains(&name)).map(|(lost, _)| *lost)
}

/// Returns whether a literal stands for white space alone.
fn is_blank(given: &str) -> bool {
    let plain = given.trim_start_matches("r\"").trim_matches(['"', '\'', '/', 'g', ' ']).trim();
    let bare = plain.replace("\\\\", "\\");
    given.contains(['"', '\'', '/'])
        && ["\\s", "\\n", "\\r", "\\t", "+", "*", " "]
            .iter()
            .fold(bare, |text, sign| text.replace(sign, ""))
            .is_empty()
}

fn of_call(text: &str, of_helper: &dyn Fn(&str) -> Option<(usize, u8)>) -> Option<(String, u8)> {
    let (callee, given) = last_call(text)?;
    let (callee, types) = match callee.split_once(" :: <") {
        Some((name, types)) if !types.contains('(') => (name, types),
        _ => (callee, ""),
    };
    let callee =
        if callee.starts_with("new ") { callee.split(" <").next().unwrap_or(callee) } else { callee };
    let callee = callee.replace("java . util . ", "");
    let callee = callee.as_str();
    let arguments = split(given, &[" , "]);
    let first = || Some((*arguments.first()?).to_owned()).filter(|first| !first.is_empty());
    if let Some(lost) = loss(CALLS, callee) {
        return Some((first()?, lost));
    }
    match callee {
        "map" => return Some(((*arguments.get(1)?).to_owned(), of_function(arguments[0], of_helper)?)),
        "re . sub" => {
            return is_blank(arguments.first()?).then(|| Some(((*arguments.get(2)?).to_owned(), SPACE)))?;
        }
        "strings . ReplaceAll" | "strings . Trim" | "strings . TrimRight" | "strings . TrimSuffix" => {
            return is_blank(arguments.get(1)?).then(|| Some((first()?, SPACE)))?;
        }
        _ => {}
    }
    let last = callee.rsplit(' ').next()?;
    let owner = callee.strip_suffix(last)?.trim_end_matches([' ', '.', ':']);
    if matches!(owner, "" | "self" | "this" | "Self")
        || owner.starts_with(char::is_uppercase) && !owner.contains(' ')
    {
        let (place, lost) = of_helper(last)?;
        return Some(((*arguments.get(place)?).to_owned(), lost));
    }
    let (receiver, method) = callee.rsplit_once(" . ")?;
    if method == "join" && receiver.starts_with(['"', '\'']) {
        return first().map(|first| (first, 0));
    }
    let lost = match method {
        "collect" if ["Set", "Map"].iter().any(|name| types.contains(name) || given.contains(name)) => ORDER,
        _ if OF_BLANKS.contains(&method) => (given.is_empty() || is_blank(arguments[0])).then_some(SPACE)?,
        "map" => of_function(given, of_helper)?,
        // Lines that are empty are white space.
        "filter" if given.contains("is_empty") || given.contains("trim") => SPACE,
        _ if REPLACING.contains(&method) => is_blank(arguments[0]).then_some(SPACE)?,
        _ => loss(METHODS, method)?,
    };
    Some((receiver.to_owned(), lost))
}

/// Takes back `names ( ) [ : 2 ]` and the like.
fn of_range(text: &str) -> Option<(String, u8)> {
    let (whole, range) = text.strip_suffix(" ]")?.rsplit_once(" [ ")?;
    let is_range = range.split(' ').any(|word| matches!(word, ":" | ".."));
    (is_range && range.contains(char::is_alphanumeric)).then(|| (whole.to_owned(), PART))
}

/// Returns what a function that is given to `map` loses of each item: `(n) => n.trim()`, `String::trim`.
fn of_function(text: &str, of_helper: &dyn Fn(&str) -> Option<(usize, u8)>) -> Option<u8> {
    let parts = ["=>", "->"].iter().find_map(|arrow| text.split_once(arrow));
    let parts = parts.or_else(|| text.strip_prefix("| ")?.split_once(" | "));
    let Some((name, body)) = parts else {
        let name = text.rsplit([' ', '.', ':']).next()?;
        return if OF_BLANKS.contains(&name) { Some(SPACE) } else { loss(METHODS, name) };
    };
    let (core, lost) = peel(body.trim(), of_helper);
    (core == name.trim_matches(['(', ')', ' '])).then_some(lost)
}

/// Takes back `{ k : v for k , v in X if k != "id" }` and the like.
fn of_comprehension(text: &str, of_helper: &dyn Fn(&str) -> Option<(usize, u8)>) -> Option<(String, u8)> {
    let inner = ["[ ", "{ ", "( "]
        .iter()
        .find_map(|open| text.strip_prefix(open))
        .and_then(|rest| rest.get(..rest.len().checked_sub(2)?));
    let inner = inner.filter(|inner| split(inner, &[" for "]).len() == 2);
    let [item, rest] = split(inner.unwrap_or(text), &[" for "])[..] else { return None };
    let [names, rest] = split(rest, &[" in "])[..] else { return None };
    let conditions = split(rest, &[" if "]);
    let is_set = inner.is_some() && text.starts_with('{') && split(item, &[" : "]).len() == 1;
    let lost = if conditions.len() > 1 { PART } else { 0 } | if is_set { ORDER } else { 0 };
    let of = conditions[0];
    if item.replace(" : ", " , ") == names {
        return Some((of.to_owned(), lost));
    }
    let (core, more) = if item.contains('(') { peel(item, of_helper) } else { (item.to_owned(), 0) };
    if core == names {
        return Some((of.to_owned(), lost | more));
    }
    (inner.is_some() || lost > 0).then(|| (format!("{item} for {names} in {of}"), lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_back() {
        for (text, core, lost) in [
            ("sorted ( names ( ) )", "names ( )", ORDER),
            ("sorted ( names ( ) , key = len )", "names ( )", ORDER),
            ("\" \" . join ( total ( ) . split ( ) )", "total ( )", SPACE),
            ("total ( ) . strip ( ) . lower ( )", "total ( )", SPACE | CASE),
            ("total ( ) . split ( \",\" )", "total ( ) . split ( \",\" )", 0),
            ("{ k : v for k , v in load ( ) . items ( ) if k != \"id\" }", "load ( )", PART),
            ("sorted ( n . id for n in names ( ) )", "n . id for n in names ( )", ORDER),
            ("[ n . id for n in names ( ) ]", "n . id for n in names ( )", 0),
            ("names ( ) . into_iter ( ) . collect :: < HashSet < _ >> ( )", "names ( )", ORDER),
            ("new HashSet < String > ( names ( ) )", "names ( )", ORDER),
            ("total ( ) . replace ( /\\s+/g , \" \" )", "total ( )", SPACE),
            ("total ( ) . replace ( \"a\" , \"b\" )", "total ( ) . replace ( \"a\" , \"b\" )", 0),
            ("norm ( names ( ) )", "names ( )", PART),
            ("list ( map ( str . strip , names ( ) ) )", "names ( )", SPACE),
            ("names ( ) . map ( ( n ) => n . trim ( ) )", "names ( )", SPACE),
            ("names ( ) . map ( ( n ) => n . id )", "names ( ) . map ( ( n ) => n . id )", 0),
            ("( await names ( ) ) . sort ( )", "names ( )", ORDER),
            ("names ( ) [ : 2 ]", "names ( )", PART),
            ("names ( ) [ 2 ]", "names ( ) [ 2 ]", 0),
        ] {
            let found = peel(text, &|name| (name == "norm").then_some((0, PART)));
            assert_eq!(found, (core.to_owned(), lost), "{text}");
        }
    }
}
