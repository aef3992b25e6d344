//! Lists of Python's packages: packages with their versions and checksums, and options that say where they come from.

use std::collections::HashSet;

use super::addresses::Address;
use super::rejection::{Reason, RejectedRow};
use super::shapes::Judge;
use super::table::{Role, role_of};
use super::text_kind::Kind;

patterns! {
    NAMES = r"^(?::all:|:none:|[A-Za-z0-9._-]+(?:,[A-Za-z0-9._-]+)*)$";
    PACKAGE = r#"(?x) ^ (?<name> [A-Za-z0-9][A-Za-z0-9._-]* ) (?: \s* \[ [A-Za-z0-9._,\s-]* \] )?
        (?: \s* @ \s* (?<place> \S+ ) | \s* (?<versions> [=<>!~^(][A-Za-z0-9.*+!<>=~,()\s_-]* )? )
        (?: \s* ; \s* (?<marker> [A-Za-z0-9_.\s"'<>=!~(),+*-]+? ) )?
        (?: \s+ --hash[=\ ] \w+ : [0-9A-Fa-f]+ )* $"#;
}

/// Option of a package that says what has to be fetched.
const HASH: &str = "--hash";

/// Returns the addresses that a list names.
pub(super) fn addresses(text: &str) -> Vec<Address> {
    let words = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    words.flat_map(str::split_whitespace).filter_map(|word| Address::of(word).ok()).collect()
}

/// Judges what changes in a list.
pub(super) fn judge(path: &str, before: &str, after: &str, judge: &mut Judge) -> Result<(), RejectedRow> {
    let after = joined(after)?;
    let before = joined(before).unwrap_or_default();
    let had: HashSet<&String> = before.iter().collect();
    let has: HashSet<&String> = after.iter().collect();
    for line in after.iter().filter(|line| !had.contains(line)) {
        self::line(path, line, judge).map_err(|why| RejectedRow { row: line.clone(), why })?;
        // With a checksum anywhere, pip asks for one everywhere; without any, it takes whatever comes.
        if before.iter().any(|line| line.contains(HASH)) && !line.starts_with('-') && !line.contains(HASH) {
            return Err(RejectedRow::new(line, Reason("which has no checksum, as others had")));
        }
    }
    let is_option =
        |line: &&&String| line.starts_with('-') && !line.starts_with("-r") && !line.starts_with("-e");
    match before.iter().filter(|line| !has.contains(line)).find(|line| is_option(&line)) {
        Some(line) => Err(RejectedRow {
            row: line.clone(),
            why: Reason("whose loss could make packages come from elsewhere"),
        }),
        None => Ok(()),
    }
}

fn line(path: &str, text: &str, judge: &mut Judge) -> Result<(), Reason> {
    const UNCLEAR: Reason = Reason("which is not a package, or not written as all programs read it");
    if text.contains(['\\', '$', '%', '`']) || !text.is_ascii() {
        return Err(UNCLEAR);
    }
    if text.starts_with('-') {
        let (option, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
        let value = value.trim();
        return match option {
            _ if value.contains(char::is_whitespace) => Err(UNCLEAR),
            "-r" | "--requirement" | "-c" | "--constraint" => {
                judge.judge(Kind::Path, value)?;
                let is_judged =
                    role_of(&beside(path, value)).is_some_and(|(_, role)| role == Role::Requirements);
                if is_judged {
                    Ok(())
                } else {
                    Err(Reason(
                        "which is not a recognized requirements file name, so it would not be checked",
                    ))
                }
            }
            "-e" | "--editable" if !value.contains("://") => {
                judge.judge(Kind::Path, value.strip_prefix("file:").unwrap_or(value))
            }
            "-i" | "--index-url" | "--extra-index-url" | "-f" | "--find-links" | "-e" | "--editable" => {
                judge.found.push(Address::of(value)?);
                Ok(())
            }
            "--pre" | "--require-hashes" | "--prefer-binary" if value.is_empty() => Ok(()),
            "--no-binary" | "--only-binary" if NAMES.is_match(value) => Ok(()),
            _ => Err(Reason("which is an option that is not known to be harmless")),
        };
    }
    if text.starts_with("./") && !text.contains(' ') {
        return judge.judge(Kind::Path, text);
    }
    // Options of a package, of which only checksums are harmless.
    if text.split(HASH).any(|part| part.contains(" -")) {
        return Err(UNCLEAR);
    }
    match PACKAGE.captures(text) {
        Some(found) => match found.name("place") {
            Some(place) => {
                judge.found.push(Address::of(place.as_str())?);
                Ok(())
            }
            None => Ok(()),
        },
        None => Address::of(text).map(|address| judge.found.push(address)),
    }
}

/// Returns the path that a list names, which begins in its folder.
fn beside(path: &str, value: &str) -> String {
    let mut names: Vec<&str> = path.split('/').collect();
    names.pop();
    for name in value.split('/') {
        match name {
            "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Returns the lines of a list as pip joins them, without comments. Only checksums may stand on lines of their own.
fn joined(text: &str) -> Result<Vec<String>, RejectedRow> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let trimmed = line.trim();
        let is_hash = trimmed.starts_with("--hash");
        if is_open && !(is_hash && line.starts_with([' ', '\t'])) {
            let why = Reason("which is a part of the line above it, as programs read it");
            return Err(RejectedRow { row: trimmed.to_owned(), why });
        }
        let (own, opens) = match trimmed.strip_suffix('\\') {
            Some(own) if !trimmed.starts_with('#') => (own.trim_end(), true),
            _ => (trimmed, false),
        };
        let own = if own.starts_with('#') { "" } else { own.split(" #").next().unwrap_or(own).trim_end() };
        match lines.last_mut().filter(|_| is_open) {
            Some(last) => {
                last.push(' ');
                last.push_str(own);
            }
            None if !own.is_empty() => lines.push(own.to_owned()),
            None => {}
        }
        is_open = opens;
    }
    Ok(lines)
}
