//! Resolves the names that a file imports.

use std::collections::BTreeSet;

use super::At;

/// Imported name, and the words of what it stands for: the module's, and the name that it has there.
pub(crate) struct Import<'a> {
    pub(crate) name: &'a str,
    pub(crate) words: BTreeSet<String>,
}

/// Returns the names that an import brings, in whatever language; none if it is not an import.
pub(crate) fn imports(at: At<'_>) -> Vec<Import<'_>> {
    let mut found = Vec::new();
    match at.kind() {
        // Python's, and that of JavaScript and TypeScript.
        "import_statement" => match at.field("source") {
            Some(module) => ecmascript(at, module, &mut found),
            None => at.children().into_iter().for_each(|module| python(module, &[], &mut found)),
        },
        "variable_declarator" => required(at, &mut found),
        "import_from_statement" => {
            let module = at.field("module_name");
            let words: Vec<&str> = module.iter().flat_map(|module| identifiers(module.text())).collect();
            let names =
                at.children().into_iter().filter(|child| Some(child.node) != module.map(|at| at.node));
            names.for_each(|name| python(name, &words, &mut found));
        }
        "use_declaration" => rust(at, &mut found),
        "import_spec" => {
            let path = at.field("path").map_or("", At::text);
            let name = at.field("name").map_or_else(|| identifiers(path).last().unwrap_or(""), At::text);
            found.push(import(name, identifiers(path)));
        }
        "import_declaration" => {
            // Go's holds specifications, which come by themselves.
            let scoped = at.children().into_iter().find(|child| child.kind() == "scoped_identifier");
            if let Some(path) = scoped.map(At::text) {
                found.push(import(identifiers(path).last().unwrap_or(""), identifiers(path)));
            }
        }
        _ => {}
    }
    found.retain(|import| !import.name.is_empty());
    found
}

fn import<'a>(name: &'a str, words: impl Iterator<Item = &'a str>) -> Import<'a> {
    let words = words.filter(|word| !matches!(*word, "crate" | "super" | "self")).map(str::to_owned);
    Import { name, words: words.collect() }
}

fn ecmascript<'a>(at: At<'a>, module: At<'a>, found: &mut Vec<Import<'a>>) {
    for below in at.descendants() {
        match below.kind() {
            "import_specifier" => {
                let name = below.field("name").map_or("", At::text);
                let local = below.field("alias").map_or(name, At::text);
                found.push(import(local, identifiers(module.text()).chain([name])));
            }
            "import_clause" | "namespace_import" => {
                let local = below.children().into_iter().find(|child| child.kind() == "identifier");
                found.extend(local.map(|local| import(local.text(), identifiers(module.text()))));
            }
            _ => {}
        }
    }
}

/// Reads `const { a } = require("b")`.
fn required<'a>(declarator: At<'a>, found: &mut Vec<Import<'a>>) {
    let value = declarator.field("value").filter(|value| value.text().starts_with("require("));
    let (Some(module), Some(pattern)) =
        (value.and_then(|value| value.field("arguments")), declarator.field("name"))
    else {
        return;
    };
    let names = pattern.descendants().into_iter();
    let is_name = |at: &At<'_>| matches!(at.kind(), "identifier" | "shorthand_property_identifier_pattern");
    found.extend(
        names
            .filter(is_name)
            .map(|name| import(name.text(), identifiers(module.text()).chain([name.text()]))),
    );
}

fn python<'a>(at: At<'a>, module: &[&'a str], found: &mut Vec<Import<'a>>) {
    let (path, local) = match at.kind() {
        "aliased_import" => match (at.field("name"), at.field("alias")) {
            (Some(name), Some(alias)) => (name.text(), alias.text()),
            _ => return,
        },
        "dotted_name" => (at.text(), at.text().split('.').next().unwrap_or_default()),
        _ => return,
    };
    found.push(import(local.trim(), module.iter().copied().chain(identifiers(path))));
}

fn rust<'a>(declaration: At<'a>, found: &mut Vec<Import<'a>>) {
    let Some(argument) = declaration.field("argument") else { return };
    let mut waiting: Vec<(At<'a>, Vec<&'a str>)> = vec![(argument, Vec::new())];
    while let Some((at, above)) = waiting.pop() {
        let path = |at: Option<At<'a>>| -> Vec<&'a str> {
            above.iter().copied().chain(at.into_iter().flat_map(|at| identifiers(at.text()))).collect()
        };
        match at.kind() {
            "scoped_use_list" => {
                let path = path(at.field("path"));
                let list = at.field("list").map(At::children).unwrap_or_default();
                waiting.extend(list.into_iter().map(|child| (child, path.clone())));
            }
            "use_list" => waiting.extend(at.children().into_iter().map(|child| (child, above.clone()))),
            "use_as_clause" => {
                let name = at.field("alias").map_or("", At::text);
                found.push(import(name, path(at.field("path")).into_iter()));
            }
            "use_wildcard" => {}
            _ => {
                let words = path(Some(at));
                let name = words.iter().rev().find(|word| **word != "self").copied().unwrap_or("");
                found.push(import(name, words.into_iter()));
            }
        }
    }
}

/// Returns the identifiers of a text.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    words.filter(|word| word.starts_with(|first: char| first.is_alphabetic() || first == '_'))
}
