//! Places that manifests name. What a manifest says of where packages come from counts as much as what settings and lock files say of
//! it, whatever the key. Only what is for people, such as the homepage, is left out.

use std::collections::HashSet;

use serde_json::Value;

use super::addresses::Address;
use super::code;
use super::ecosystem::{Ecosystem, How};
use super::formats::name_of;
use super::grammars::{PYTHON, RUBY, SLASHES};
use super::languages::{Language, Source};
use super::manifests::{listed_lines, manifest_of, values};
use super::rejection::RejectedRow;
use super::shapes::Judge;
use super::table::fits;
use super::values::xml;

patterns! {
    // A scheme alone is enough for some programs: `https:evil.example`. One that is put together, as in `${p}://evil.example`, is none
    // that anybody knows. What stands before the last `@` is no host, whatever its signs.
    URL = r#"(?xi) (?: ^ | [^a-z0-9+.-] )
        (?<url> (?: [a-z0-9+.-]* :// \[? | (?: [a-z0-9]+ \+ )* (?: https? | ssh | git | s?ftp | svn | hg | oci | s3 | gcs | gs | wss? ) : | (?: github | gitlab | bitbucket | gist ) : )
        (?: [^\s"/?\x23]* @ )? [^\s"'`<>=()\[\],;:] [^\s"'`<>()\[\],;|]* )"#;
    NETWORK = r#"(?:^|[\s"'`(\[=+])(?<url>[A-Za-z0-9_-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+:[^\s"'`<>()\[\],;]+)"#;
    // What programs in code write for a repository of a code host, and Terraform for a host without a scheme.
    HOSTED = r#"\b(?<host>github|gitlab|bitbucket|gist)["']?\s*(?::|=>|=|\(|\s)\s*["']?(?<path>[\w.-]+/[\w.-]+)"#;
    BARE = r#"\bsource\s*=\s*"(?<place>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+/[^"]*)""#;
    SHORT = r"^[A-Za-z0-9_-][\w.-]*/[\w.-]+(?:\x23\S*)?$";
    FOR_PEOPLE = r"\b(?:pom|licenses?|scm|developers?|organization|issueManagement)\b(?:\.\w+)?\s*\{";
    FETCHES = r"\b(?:repositories|maven|ivy|apply|dependencies|plugins)\b";
}

/// Tables whose keys the formats of manifests fix, so that one for people is none that the author chose, such as the name of a group
/// of dependencies.
const FIXED: &[&[&str]] = &[
    &[],
    &["package"],
    &["project"],
    &["tool", "pdm"],
    &["tool", "pixi"],
    &["tool", "poetry"],
    &["workspace"],
    &["workspace", "package"],
];

/// Keys of what is for people, in small letters and without signs between words.
const PEOPLE: &[&str] = &[
    "$schema",
    "annotations",
    "author",
    "authoremail",
    "authors",
    "badges",
    "bugs",
    "bugtracker",
    "changelog",
    "cimanagement",
    "contributors",
    "description",
    "developers",
    "docs",
    "documentation",
    "funding",
    "homepage",
    "homepageurl",
    "issuemanagement",
    "issuetracker",
    "license",
    "licenses",
    "licenseurl",
    "mailinglists",
    "maintainer",
    "maintainers",
    "organization",
    "packageiconurl",
    "packagelicenseurl",
    "packageprojecturl",
    "packagereleasenotes",
    "readme",
    "repository",
    "repositoryurl",
    "scm",
    "support",
    "urls",
    // What is run, which anybody reads as a program.
    "activation",
    "scripts",
    "tasks",
];

/// The same in charts of Helm, where other files name sources of packages so.
const PEOPLE_OF_CHARTS: &[&str] = &["home", "icon", "sources"];

/// Properties of .NET for people. Others have any names.
const OF_NET: &[&str] = &[
    "authors",
    "description",
    "packageiconurl",
    "packagelicenseurl",
    "packageprojecturl",
    "packagereleasenotes",
    "repositoryurl",
];

/// Programs that say of themselves, and not only of packages, where something is. Of these, what lists packages counts.
const ABOUT_THEMSELVES: &[&str] = &[
    "setup.py",
    "*.gemspec",
    "mix.exs",
    "flake.nix",
    "conanfile.py",
    "*.podspec",
    "*.tf",
    "*.tofu",
    "dub.sdl",
    "*.opam",
    "*.nimble",
];

/// Judges the places that a manifest names and did not name before.
pub(super) fn judge(
    ecosystem: &Ecosystem,
    path: &str,
    before: &str,
    after: &str,
    judge: &mut Judge,
) -> Result<(), RejectedRow> {
    let had: HashSet<String> = places(ecosystem, path, before).into_iter().collect();
    for place in places(ecosystem, path, after).into_iter().filter(|place| !had.contains(place)) {
        match Address::of(&place) {
            Ok(address) => judge.found.push(address),
            Err(why) => return Err(RejectedRow::new(place, why)),
        }
    }
    Ok(())
}

/// Returns all addresses in a manifest, those for people as well: who wrote it knows them.
pub(super) fn addresses(text: &str) -> Vec<Address> {
    let mut found = Vec::new();
    add_urls(text, &mut found);
    found.iter().filter_map(|place| Address::of(place).ok()).collect()
}

/// Returns the texts in a manifest that name a place that something is fetched from.
fn places(ecosystem: &Ecosystem, path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let name = name_of(path);
    let is_xml = ["proj", "props", "targets", "xml", "pom"].iter().any(|end| name.ends_with(end));
    let how = manifest_of(ecosystem, path).map(|manifest| manifest.how);
    if is_xml {
        match xml(text) {
            Some(rows) => elements(&rows, &mut found),
            None => add_urls(text, &mut found),
        }
    } else if let Some(values) = values(path, text) {
        Walk { name: &name, found: &mut found }.walk(&values, &mut Vec::new());
    } else {
        let code = match how {
            Some(How::Keys(_) | How::Catalog) => vec![text.to_owned()],
            None => vec![without_people(&Source::of(text, language_of(&name)))],
            Some(How::Code(language, _))
                if !ABOUT_THEMSELVES.iter().any(|of| fits(of, &path.to_lowercase())) =>
            {
                vec![without_people(&Source::of(text, &language))]
            }
            // Two slashes begin a comment only at the start of a line: behind a scheme, they do not.
            Some(How::Lines(_)) => {
                let is_comment =
                    |line: &&str| line.trim_start().starts_with('#') || line.trim_start().starts_with("//");
                text.lines().filter(|line| !is_comment(line)).map(str::to_owned).collect()
            }
            Some(how) => listed_lines(path, text, how).unwrap_or_else(|| vec![text.to_owned()]),
        };
        for text in &code {
            add_code(text, &mut found);
        }
    }
    // What is on the machine itself is fetched from nowhere, and a path below the checkout is no address.
    let is_own = |place: &String| {
        let rest = place.split_once("://").map_or("", |(_, rest)| rest);
        // What programs could read as the end of a user name is not looked at further.
        let host = if rest.contains(['@', '\\']) { "" } else { rest };
        let host = host.split(['/', ':', '?', '#']).next().unwrap_or_default();
        place.starts_with("file:") && (rest.starts_with("./") || rest.starts_with("../"))
            || place.starts_with("http") && matches!(host, "localhost" | "127.0.0.1")
    };
    found.retain(|place| !is_own(place));
    found
}

/// Returns the language of a program that describes a build.
fn language_of(name: &str) -> &'static Language {
    match name {
        "workspace" | "workspace.bazel" => &PYTHON,
        name if name.ends_with(".gemfile") => &RUBY,
        _ => &SLASHES,
    }
}

/// Adds the URLs in a text.
fn add_urls(text: &str, found: &mut Vec<String>) {
    let urls = URL.captures_iter(text).chain(NETWORK.captures_iter(text));
    found.extend(urls.map(|url| url["url"].trim_end_matches(['.', '}']).to_owned()));
}

/// Adds what a part of a program names.
fn add_code(text: &str, found: &mut Vec<String>) {
    add_urls(text, found);
    found.extend(HOSTED.captures_iter(text).map(|found| format!("{}:{}", &found["host"], &found["path"])));
    found.extend(BARE.captures_iter(text).map(|found| format!("https://{}", &found["place"])));
    // Go has modules by name.
    if let Some((_, target)) = text.strip_prefix("replace ").and_then(|rest| rest.split_once("=>"))
        && let Some(module) = target.split_whitespace().next()
        && !module.starts_with(['.', '/'])
    {
        found.push(format!("https://{module}"));
    }
}

/// Returns a program without the blocks that say who has made it.
fn without_people(source: &Source) -> String {
    let mut text = source.text.clone();
    for block in FOR_PEOPLE.find_iter(&source.bare).map(|found| code::block(&source.bare, found.start())) {
        if !FETCHES.is_match(&source.bare[block.clone()]) {
            let blank = " ".repeat(block.len());
            text.replace_range(block, &blank);
        }
    }
    text
}

/// Returns a key in small letters, without signs between words.
fn folded(key: &str) -> String {
    key.to_lowercase().replace(['-', '_', ' '], "")
}

/// Returns whether an element of XML is for people: only where the format fixes its name, and unless a value is put together with it.
fn is_element_for_people(element: &str, all: &str) -> bool {
    let element = element.to_lowercase();
    let names: Vec<&str> = element.split('/').collect();
    // The place of a package is called a repository there.
    let is_known = |name: &str| name != "repository" && PEOPLE.contains(&name);
    match names.as_slice() {
        // Properties of .NET, which any other may name.
        ["project", .., "propertygroup", name] => {
            OF_NET.contains(name) && !all.contains(&format!("$({name}"))
        }
        ["ivy-module", "info", name, ..] => is_known(name),
        ["project" | "package", name, ..] => {
            let is_used = ["", "project.", "pom."].iter().any(|of| all.contains(&format!("${{{of}{name}")));
            (is_known(name) || element == "project/url") && !is_used
        }
        _ => false,
    }
}

/// Adds what elements of XML name: in attributes, and in texts.
fn elements(rows: &Value, found: &mut Vec<String>) {
    let all = rows.to_string().to_lowercase().replace(' ', "");
    for row in rows.as_array().into_iter().flatten().filter_map(Value::as_object) {
        let element = row.get("element").and_then(Value::as_str).unwrap_or_default();
        if is_element_for_people(element, &all) {
            continue;
        }
        // Namespaces and the places of their schemas are names.
        let is_fetched = |key: &str| key != "element" && !key.starts_with("xmlns") && key != "schemaLocation";
        let texts = row.iter().filter(|(key, _)| is_fetched(key)).filter_map(|(_, value)| value.as_str());
        texts.for_each(|text| add_urls(text, found));
    }
}

/// Walk through the values of a manifest.
struct Walk<'a> {
    name: &'a str,
    found: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn walk<'v>(&mut self, value: &'v Value, keys: &mut Vec<&'v str>) {
        match value {
            Value::String(text) => self.text(text, keys),
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, keys)),
            Value::Object(entries) => {
                for (key, value) in entries {
                    if !self.is_for_people(key, keys) {
                        // Import maps have addresses as keys.
                        add_urls(key, self.found);
                        keys.push(key);
                        self.walk(value, keys);
                        keys.pop();
                    }
                }
            }
            _ => {}
        }
    }

    fn is_for_people(&self, key: &str, above: &[&str]) -> bool {
        let key = folded(key);
        // Groups of packages have any names there.
        if self.name == "pipfile" {
            return above.is_empty() && key == "scripts";
        }
        let is_known =
            PEOPLE.contains(&&*key) || self.name == "chart.yaml" && PEOPLE_OF_CHARTS.contains(&&*key);
        is_known && FIXED.contains(&above)
    }

    fn text(&mut self, text: &str, keys: &[&str]) {
        add_urls(text, self.found);
        let key = keys.last().map(|key| key.to_lowercase()).unwrap_or_default();
        let is_word = !text.contains([':', ' ']);
        match key.as_str() {
            // At the top, it says where the package itself is.
            "github" | "gitlab" | "bitbucket" | "gist" if is_word && keys.len() > 1 && text.contains('/') => {
                self.found.push(format!("{key}:{text}"));
            }
            "channel" | "channels" if is_word && self.is_of_conda(keys) => self.channel(text),
            "dependencies" if self.is_of_conda(keys) => {
                if let Some((channel, _)) = text.split_once("::") {
                    self.channel(channel);
                }
            }
            _ if self.name == "package.json"
                && keys.iter().any(|key| is_of_npm(key))
                && SHORT.is_match(text) =>
            {
                self.found.push(format!("github:{text}"));
            }
            _ => {}
        }
    }

    fn is_of_conda(&self, keys: &[&str]) -> bool {
        self.name.starts_with("environment") || self.name == "pixi.toml" || keys.contains(&"pixi")
    }

    /// Adds a channel of conda, which is an account.
    fn channel(&mut self, name: &str) {
        if !matches!(name, "defaults" | "nodefaults") {
            self.found.push(format!("https://conda.anaconda.org/{name}/-"));
        }
    }
}

/// Returns whether a key lists packages of npm with how each is asked for.
fn is_of_npm(key: &str) -> bool {
    let is_listed = key.to_lowercase().ends_with("dependencies") && !key.starts_with("patched");
    is_listed || matches!(key, "overrides" | "resolutions" | "catalog" | "catalogs")
}
