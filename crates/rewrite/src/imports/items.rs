//! Names that import statements make known, and where each of them stands.

use std::ops::Range;

use tree_sitter::Node;

use crate::Language;

/// One name that an import makes known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Item {
    /// What it comes from; an alias in Go, and `static` in Java.
    pub(super) module: String,
    /// Its name there; the whole path where there are no lists. `*` stands for all names.
    pub(super) name: String,
    /// Names that it may have in the file; none where that is unknown.
    pub(super) locals: Vec<String>,
    /// Whether it is known to the type checker alone.
    pub(super) is_type: bool,
    /// Whether it has an alias: `import a.b as a` of Python is not `import a.b`, though both are known as `a`.
    pub(super) has_alias: bool,
    pub(super) range: Range<usize>,
}

impl Item {
    /// Returns a name that comes from nowhere.
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), locals: vec![name.to_owned()], ..Self::default() }
    }

    /// Returns whether a file that has this needs nothing else for `wanted`.
    pub(super) fn serves(&self, wanted: &Self) -> bool {
        self.is_same(wanted) && (!self.is_type || wanted.is_type)
    }

    /// Returns whether this is an import on demand of Java that has `wanted`.
    pub(super) fn has_on_demand(&self, wanted: &Self) -> bool {
        let package = wanted.name.rsplit_once('.').map(|(package, _)| package);
        self.module == wanted.module && package.is_some() && self.name.strip_suffix(".*") == package
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_dotted = self.module.is_empty() && self.name.contains('.');
        (&self.module, &self.name, self.locals.first()) == (&other.module, &other.name, other.locals.first())
            && (!is_dotted || self.has_alias == other.has_alias)
    }

    /// Returns how a list has it.
    pub(super) fn listed(&self) -> String {
        match self.locals.first() {
            Some(local) if *local != self.name => format!("{} as {local}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// Returns what an import statement is about: its module, where there is one for all of its names, and the names.
pub(super) fn items(node: Node<'_>, text: &str, language: Language) -> (String, Vec<Item>) {
    match language {
        Language::Python => of_python(node, text),
        Language::JavaScript | Language::TypeScript | Language::Tsx => of_script(node, text),
        Language::Rust => {
            let mut items = Vec::new();
            if let Some(argument) = node.child_by_field_name("argument") {
                of_rust(argument, text, "", &mut items);
            }
            (String::new(), items)
        }
        Language::Go => of_go(node, text),
        Language::Java => of_java(node, text),
    }
}

/// Returns a node's text in one form: without white space, where that makes no difference.
fn plain(node: Node<'_>, text: &str) -> String {
    text[node.byte_range()].split_whitespace().collect()
}

fn of_python(node: Node<'_>, text: &str) -> (String, Vec<Item>) {
    let module = match node.kind() {
        "future_import_statement" => "__future__".to_owned(),
        _ => node.child_by_field_name("module_name").map_or_else(String::new, |module| plain(module, text)),
    };
    let mut cursor = node.walk();
    let mut items = Vec::new();
    for child in node.children_by_field_name("name", &mut cursor) {
        let (name, alias) = match child.kind() {
            "aliased_import" => (child.child_by_field_name("name"), child.child_by_field_name("alias")),
            _ => (Some(child), None),
        };
        let name = name.map_or_else(String::new, |name| plain(name, text));
        let local = match alias {
            Some(alias) => plain(alias, text),
            None => name.split('.').next().unwrap_or(&name).to_owned(),
        };
        items.push(Item {
            module: module.clone(),
            name,
            locals: vec![local],
            is_type: false,
            has_alias: alias.is_some(),
            range: child.byte_range(),
        });
    }
    let mut cursor = node.walk();
    let all = node.named_children(&mut cursor).filter(|child| child.kind() == "wildcard_import");
    items.extend(all.map(|all| Item {
        module: module.clone(),
        name: "*".to_owned(),
        range: all.byte_range(),
        ..Item::default()
    }));
    (module, items)
}

fn of_script(node: Node<'_>, text: &str) -> (String, Vec<Item>) {
    let source = node.child_by_field_name("source").map_or_else(String::new, |source| plain(source, text));
    let module = source.trim_matches(['"', '\'', '`']).to_owned();
    let is_type = has_type(node);
    let mut items = Vec::new();
    let mut put = |name: String, local: String, is_type: bool, range: Range<usize>| {
        let module = module.clone();
        items.push(Item { module, name, locals: vec![local], is_type, range, ..Item::default() });
    };
    let mut cursor = node.walk();
    for clause in node.named_children(&mut cursor).filter(|child| child.kind() == "import_clause") {
        let mut parts = clause.walk();
        for part in clause.named_children(&mut parts) {
            match part.kind() {
                "identifier" => put("default".to_owned(), plain(part, text), is_type, part.byte_range()),
                "namespace_import" => {
                    let local = plain(part, text).trim_start_matches("*as").to_owned();
                    put("*".to_owned(), local, is_type, part.byte_range());
                }
                "named_imports" => {
                    let mut specifiers = part.walk();
                    for one in
                        part.named_children(&mut specifiers).filter(|one| one.kind() == "import_specifier")
                    {
                        let field = |name| one.child_by_field_name(name).map(|field| plain(field, text));
                        let name = field("name").unwrap_or_default();
                        let local = field("alias").unwrap_or_else(|| name.clone());
                        put(name, local, is_type || has_type(one), one.byte_range());
                    }
                }
                _ => {}
            }
        }
    }
    (module, items)
}

/// Returns whether `import type` or `{ type name }` is for the type checker alone.
fn has_type(node: Node<'_>) -> bool {
    type_word(node).is_some()
}

pub(super) fn type_word(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| !child.is_named() && matches!(child.kind(), "type" | "typeof"))
}

fn of_rust(node: Node<'_>, text: &str, above: &str, items: &mut Vec<Item>) {
    let joined = |path: &str| if above.is_empty() { path.to_owned() } else { format!("{above}::{path}") };
    let path = node.child_by_field_name("path").map_or_else(String::new, |path| plain(path, text));
    let mut put = |name: String, locals: Vec<String>| {
        // A path may say that it does not begin in the module itself.
        let name = name.trim_start_matches("::").to_owned();
        items.push(Item { name, locals, range: node.byte_range(), ..Item::default() });
    };
    match node.kind() {
        "use_list" => {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor).filter(|child| !child.is_extra()) {
                of_rust(child, text, above, items);
            }
        }
        "scoped_use_list" => {
            if let Some(list) = node.child_by_field_name("list") {
                of_rust(list, text, &joined(&path), items);
            }
        }
        "use_wildcard" => put(joined(&plain(node, text)), Vec::new()),
        "use_as_clause" => {
            let alias =
                node.child_by_field_name("alias").map_or_else(String::new, |alias| plain(alias, text));
            put(joined(&path), vec![alias]);
        }
        _ => {
            let own = plain(node, text);
            let name = if own == "self" && !above.is_empty() { above.to_owned() } else { joined(&own) };
            let local = name.rsplit("::").next().unwrap_or(&name).to_owned();
            put(name, vec![local]);
        }
    }
}

fn of_go(node: Node<'_>, text: &str) -> (String, Vec<Item>) {
    let path = node.child_by_field_name("path").map_or_else(String::new, |path| plain(path, text));
    let name = path.trim_matches(['"', '`']).to_owned();
    let alias = node.child_by_field_name("name").map(|alias| plain(alias, text));
    let locals = match alias.as_deref() {
        Some("_" | ".") => Vec::new(),
        Some(alias) => vec![alias.to_owned()],
        None => go_names(&name),
    };
    let module = alias.unwrap_or_default();
    (String::new(), vec![Item { module, name, locals, range: node.byte_range(), ..Item::default() }])
}

/// Returns the names that a package of Go may have, of which its path tells no more than that; the likeliest first.
fn go_names(path: &str) -> Vec<String> {
    let version = |part: &str| part.strip_prefix('v').and_then(|rest| rest.parse::<u32>().ok());
    let mut parts = path.rsplit('/');
    let mut last = parts.next().unwrap_or_default();
    let mut names = Vec::new();
    // The first version of a module is not part of its path.
    if version(last).is_some_and(|version| version > 1)
        && let Some(before) = parts.next()
    {
        names.push(last.to_owned());
        last = before;
    }
    let base = last.rsplit_once('.').filter(|(_, end)| version(end).is_some()).map_or(last, |(base, _)| base);
    let short = base.trim_start_matches("go-").trim_start_matches("go.").trim_end_matches("-go");
    let all = [base.to_owned(), short.to_owned(), short.replace('-', ""), short.replace('-', "_")];
    let all = all.into_iter().chain(last.split(['-', '.']).map(str::to_owned));
    let is_name = |name: &String| name.chars().all(|sign| sign.is_alphanumeric() || sign == '_');
    let mut likely: Vec<String> = all.filter(is_name).collect();
    likely.append(&mut names);
    likely.dedup();
    likely
}

fn of_java(node: Node<'_>, text: &str) -> (String, Vec<Item>) {
    let statement = text[node.byte_range()].trim_end_matches([';', ' ', '\t', '\r', '\n']);
    let words: Vec<&str> = statement.split_whitespace().skip(1).collect();
    let (module, words) = match words.split_first() {
        Some((&"static", path)) => ("static", path),
        _ => ("", words.as_slice()),
    };
    let name = words.concat();
    let last = name.rsplit('.').next().unwrap_or(&name);
    let locals = if last == "*" { Vec::new() } else { vec![last.to_owned()] };
    let item = Item { module: module.to_owned(), locals, range: node.byte_range(), name, ..Item::default() };
    (String::new(), vec![item])
}
