//! Attributes of Git (`.gitattributes`): what a change makes of the lines that can hide changes, or have Git make something else of
//! files.

use std::collections::BTreeSet;

use workspace::{FileChange, FileState, Mode};

/// Name of the files that set attributes.
pub(super) const FILE: &str = ".gitattributes";

/// Attributes that only say which kind of text a file is. All others may hide changes, or have programs run.
const HARMLESS: [&str; 8] =
    ["conflict-marker-size", "crlf", "delta", "encoding", "eol", "linguist-language", "text", "whitespace"];

/// Endings of the names of pictures and fonts.
const PICTURES: [&str; 12] =
    ["eot", "gif", "ico", "jpeg", "jpg", "otf", "png", "ttf", "webp", "woff", "woff2", "bmp"];

/// Returns an attribute of which a change makes anything else: of all lines that set more than harmless attributes, none may come, go,
/// or take another place, as later lines undo what earlier ones say. `root` is the file at the root of the repository, whose macros
/// count everywhere.
pub(super) fn changed(change: &FileChange, root: Option<&[u8]>) -> Option<String> {
    let folded = change.path.folded();
    let name = folded.rsplit('/').next().unwrap_or_default();
    // The latter is its short name on Windows.
    if name != FILE && !name.starts_with("gitatt~") {
        return None;
    }
    let is_link = |state: &FileState| state.mode == Mode::Link;
    if change.after.as_ref().is_some_and(is_link) {
        return Some("link".to_owned());
    }
    let text = |state: Option<&FileState>| {
        state.map(|state| String::from_utf8_lossy(&state.content).into_owned()).unwrap_or_default()
    };
    let (before, after) = (text(change.before.as_ref()), text(change.after.as_ref()));
    let root = root.map(String::from_utf8_lossy).unwrap_or_default();
    let macros: BTreeSet<&str> = [root.as_ref(), &before, &after].into_iter().flat_map(macros).collect();
    let [before, after] = [&before, &after].map(|text| telling(text, &macros));
    let differs = (0..before.len().max(after.len())).find(|at| before.get(*at) != after.get(*at))?;
    let line = after.get(differs).or(before.get(differs))?;
    Some(line.1.clone())
}

/// Returns the names of macros that a file defines.
fn macros(text: &str) -> impl Iterator<Item = &str> {
    lines(text).filter_map(|line| line.strip_prefix("[attr]")?.split_whitespace().next())
}

/// Returns the lines that say something, without the mark that Git skips at the beginning.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.trim_start_matches('\u{feff}').split('\n').map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the lines that set anything but harmless attributes, each with one of these.
fn telling<'t>(text: &'t str, macros: &BTreeSet<&str>) -> Vec<(&'t str, String)> {
    lines(text).filter_map(|line| Some((line, telling_attribute(line, macros)?))).collect()
}

fn telling_attribute(line: &str, macros: &BTreeSet<&str>) -> Option<String> {
    if line.starts_with("[attr]") {
        let mut names = line.split_whitespace().map(name_of);
        return Some(names.next_back().unwrap_or_default().to_owned());
    }
    // Nobody reads the difference of a picture.
    let pattern = line.split_whitespace().next().unwrap_or_default();
    let is_of_pictures = pattern.strip_prefix("*.").is_some_and(|suffix| PICTURES.contains(&suffix));
    // A pattern in quotes may have spaces, so that parts of it pass for attributes; such a line counts.
    let mut names = line.split_whitespace().skip(1).map(name_of);
    let is_harmless = |name: &str| {
        (HARMLESS.contains(&name) || is_of_pictures && name == "binary") && !macros.contains(name)
    };
    names.find(|name| !is_harmless(name)).map(str::to_owned)
}

fn name_of(word: &str) -> &str {
    let name = word.trim_start_matches(['-', '!']);
    name.split_once('=').map_or(name, |(name, _)| name)
}
