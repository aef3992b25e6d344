//! JUnit's XML, as most runners can write it.

use roxmltree::{Document, Node};

use super::{Outcome, Results, duration_ms, parse, path_parts};

/// Most attributes of an element, of which those of JUnit have a dozen: the parser compares each with all others.
const MAX_ATTRIBUTES: usize = 256;

/// Most elements around a test that are asked for its file; suites of suites of suites are six or seven deep.
const MAX_DEPTH: usize = 64;

/// Reads the output of test runners, whichever they are, and JUnit's XML that is printed among it.
pub fn parse_all(output: &str) -> Results {
    let mut results = parse(output);
    for document in documents(output) {
        let read = junit(document);
        if read.is_empty() && document.contains("<testcase") {
            results.doubts.push("what looks like JUnit XML is invalid".to_owned());
        }
        results.extend(read);
    }
    results
}

/// Returns the documents of JUnit's XML in an output, among other text.
fn documents(output: &str) -> impl Iterator<Item = &str> {
    let mut rest = output;
    std::iter::from_fn(move || {
        let start = rest.find("<testsuite")?;
        let text = &rest[start..];
        let closing = if text.starts_with("<testsuites") { "</testsuites>" } else { "</testsuite>" };
        let end = text.find(closing)? + closing.len();
        rest = &text[end..];
        Some(&text[..end])
    })
}

/// Reads JUnit's XML. Text that is no such XML gives no results, nor does one with more than 256 attributes of an element.
pub fn junit(xml: &str) -> Results {
    let mut results = Results::default();
    if xml.split('<').any(|tag| attributes(tag) > MAX_ATTRIBUTES) {
        return results;
    }
    let Ok(document) = Document::parse(xml) else { return results };
    for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
        let Some(name) = case.attribute("name") else { continue };
        let has = |tag: &str| case.children().find(|child| child.has_tag_name(tag));
        let failure = has("failure").or_else(|| has("error"));
        let outcome = match (failure, has("skipped")) {
            (Some(_), _) => Outcome::Failed,
            (None, Some(_)) => Outcome::Skipped,
            (None, None) => Outcome::Passed,
        };
        let attribute =
            failure.or_else(|| has("skipped")).and_then(|node: Node<'_, '_>| node.attribute("message"));
        let message = attribute.and_then(|text| text.lines().next());
        let class = case.attribute("classname").unwrap_or_default();
        // Names of classes and modules have dots, those of files have slashes, and those of groups have blanks.
        let above: Vec<String> = if class.contains(' ') {
            class.split(" > ").map(str::to_owned).collect()
        } else {
            class.split(['.', '/', '\\', '$']).flat_map(|part| part.split("::")).map(str::to_owned).collect()
        };
        let file = file_of(case).filter(|file| file.last().is_some_and(|stem| !above.contains(stem)));
        let name = name.strip_suffix("()").unwrap_or(name);
        let is_split = |at: usize| at > 0 && !name[..at].split('(').next().unwrap_or_default().contains(' ');
        let (name, case_name) = match name.find(['[', '{']).filter(|at| is_split(*at)) {
            Some(at) => (&name[..at], Some(&name[at..])),
            None => (name, None),
        };
        let own: Vec<String> = if name.contains(' ') {
            name.split(" > ").map(str::to_owned).collect()
        } else {
            name.split("::").map(str::to_owned).collect()
        };
        let parts =
            file.into_iter().flatten().chain(above).chain(own).filter(|part| !part.is_empty()).collect();
        results.add(parts, outcome, message);
        let case_name = case_name.map(|name| name.trim_matches(['[', ']', '{', '}']));
        results.complete(case_name, case.attribute("time").and_then(|time| duration_ms(time, 1000.0)));
    }
    results
}

/// Counts the quoted values in a tag, given without its opening bracket. A tag ends at the first closing bracket outside of quotes, and no
/// opening one may stand in quotes.
fn attributes(tag: &str) -> usize {
    let mut open = None;
    let mut count = 0;
    for byte in tag.bytes() {
        match (open, byte) {
            (None, b'>') => break,
            (None, b'"' | b'\'') => {
                open = Some(byte);
                count += 1;
            }
            (Some(quote), _) if byte == quote => open = None,
            _ => {}
        }
    }
    count
}

/// Returns the parts of the path of a test's file, if the XML names it: the test itself, or what it is in. Two files may have
/// tests of the same names.
fn file_of(case: Node<'_, '_>) -> Option<Vec<String>> {
    let named = case.ancestors().take(MAX_DEPTH).find_map(|node| {
        let of_file = ["file", "filepath"].into_iter().find_map(|name| node.attribute(name));
        // Vitest and others call a suite as the file is called.
        of_file
            .or_else(|| node.attribute("name").filter(|name| node.has_tag_name("testsuite") && is_path(name)))
    })?;
    Some(path_parts(named))
}

fn is_path(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    name.contains('/') && !name.contains(' ') && matches!(extension.len(), 1..=4)
}
