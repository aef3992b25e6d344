//! Names that import statements make known, and where each of them stands.

use std::ops::Range;

use tree_sitter::{Node, Tree};

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
    pub(super) range: Range<usize>,
}

/// Import statement of a file.
pub(super) struct Statement<'t> {
    pub(super) node: Node<'t>,
    pub(super) module: String,
    pub(super) items: Vec<Item>,
    /// Whether it stands in a block that may not be carried out.
    pub(super) is_nested: bool,
}

impl Item {
    /// Returns whether a file that has this needs nothing else for `wanted`.
    pub(super) fn serves(&self, wanted: &Self) -> bool {
        let package =
            || wanted.name.rsplit_once('.').is_some_and(|(package, _)| self.name == format!("{package}.*"));
        self.is_same(wanted) && (!self.is_type || wanted.is_type) || self.module == wanted.module && package()
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.module, &self.name, self.locals.first()) == (&other.module, &other.name, other.locals.first())
    }

    /// Returns how a list has it.
    pub(super) fn listed(&self) -> String {
        match self.locals.first() {
            Some(local) if *local != self.name => format!("{} as {local}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// Returns the kinds of nodes that import something.
pub(super) fn kinds(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &["import_statement", "import_from_statement", "future_import_statement"],
        Language::JavaScript | Language::TypeScript | Language::Tsx => &["import_statement"],
        Language::Rust => &["use_declaration"],
        Language::Go => &["import_spec"],
        Language::Java => &["import_declaration"],
    }
}

/// Returns the import statements of a file: those at its top level, and Python's that a `try` guards.
pub(super) fn statements<'t>(tree: &'t Tree, text: &str, language: Language) -> Vec<Statement<'t>> {
    let mut found = Vec::new();
    let root = tree.root_node();
    let mut cursor = root.walk();
    for node in root.named_children(&mut cursor) {
        let holder = match node.kind() {
            "try_statement" if language == Language::Python => node.child_by_field_name("body"),
            // Go's declaration holds one specification, or a list of them in parentheses.
            "import_declaration" if language == Language::Go => Some(node),
            _ => None,
        };
        let is_nested = node.kind() == "try_statement";
        if kinds(language).contains(&node.kind()) {
            found.push(statement(node, text, language, false));
        } else if let Some(holder) = holder {
            let mut below = holder.walk();
            for child in holder.named_children(&mut below) {
                let mut specs = child.walk();
                let all: Vec<Node<'t>> = match child.kind() {
                    "import_spec_list" => child.named_children(&mut specs).collect(),
                    _ => vec![child],
                };
                let all = all.into_iter().filter(|node| kinds(language).contains(&node.kind()));
                found.extend(all.map(|node| statement(node, text, language, is_nested)));
            }
        }
    }
    found
}

fn statement<'t>(node: Node<'t>, text: &str, language: Language, is_nested: bool) -> Statement<'t> {
    let (module, items) = match language {
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
    };
    Statement { node, module, items, is_nested }
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
        items.push(Item { module: module.clone(), name, locals: vec![local], is_type, range });
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
    (String::new(), vec![Item { module, name, locals, is_type: false, range: node.byte_range() }])
}

/// Returns the names that a package of Go may have, of which its path tells no more than that.
fn go_names(path: &str) -> Vec<String> {
    let is_version = |part: &str| part.strip_prefix('v').is_some_and(|rest| rest.parse::<u32>().is_ok());
    let mut parts = path.rsplit('/');
    let mut last = parts.next().unwrap_or_default();
    let mut names = vec![last.to_owned()];
    if is_version(last) {
        last = parts.next().unwrap_or(last);
        names.push(last.to_owned());
    }
    let base =
        last.rsplit_once('.').filter(|(_, version)| is_version(version)).map_or(last, |(base, _)| base);
    let short = base.trim_start_matches("go-").trim_end_matches("-go");
    names.extend([base.to_owned(), short.to_owned(), short.replace('-', ""), short.replace('-', "_")]);
    names.dedup();
    names
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
    let item = Item { module: module.to_owned(), locals, is_type: false, range: node.byte_range(), name };
    (String::new(), vec![item])
}
