//! Tables of the languages: what each grammar calls the things that an outline shows.

use std::fmt;

use tree_sitter::Node;

/// Language that can be outlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Read by its grammar.
    Parsed(grammar::Language),
    /// `.c`
    C,
    /// `.cpp` and its many spellings, and `.h`, which may be either
    Cpp,
}

/// Role of a syntax node in an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Not shown, and not entered.
    Nothing,
    /// Not shown, but entered.
    Wrapper,
    /// Shown with all of its text.
    Import,
    /// Shown up to its body.
    Definition,
    /// Shown up to its body, which is then entered.
    Type,
}

/// Node kinds of a grammar, by role.
#[derive(Clone, Copy)]
pub(super) struct Kinds {
    imports: &'static [&'static str],
    definitions: &'static [&'static str],
    types: &'static [&'static str],
    wrappers: &'static [&'static str],
}

const PYTHON: Kinds = Kinds {
    imports: &["import_statement", "import_from_statement", "future_import_statement"],
    definitions: &["function_definition"],
    types: &["class_definition"],
    wrappers: &[
        "decorated_definition",
        "if_statement",
        "else_clause",
        "try_statement",
        "except_clause",
        "block",
    ],
};

const RUST: Kinds = Kinds {
    imports: &["use_declaration", "extern_crate_declaration"],
    definitions: &[
        "struct_item",
        "enum_item",
        "union_item",
        "type_item",
        "const_item",
        "static_item",
        "macro_definition",
        "function_item",
        "function_signature_item",
        "associated_type",
    ],
    types: &["trait_item", "impl_item", "mod_item"],
    wrappers: &["foreign_mod_item", "declaration_list"],
};

const ECMASCRIPT: Kinds = Kinds {
    imports: &["import_statement"],
    definitions: &[
        "function_declaration",
        "generator_function_declaration",
        "function_signature",
        "method_definition",
        "method_signature",
        "abstract_method_signature",
        "type_alias_declaration",
        "enum_declaration",
    ],
    types: &[
        "class_declaration",
        "abstract_class_declaration",
        "interface_declaration",
        "internal_module",
        "module",
    ],
    wrappers: &[
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "ambient_declaration",
        "expression_statement",
    ],
};

const GO: Kinds = Kinds {
    imports: &["package_clause", "import_declaration"],
    definitions: &["function_declaration", "method_declaration", "type_spec", "type_alias"],
    types: &[],
    wrappers: &["type_declaration"],
};

const JAVA: Kinds = Kinds {
    imports: &["package_declaration", "import_declaration"],
    definitions: &["method_declaration", "constructor_declaration", "compact_constructor_declaration"],
    types: &[
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
    ],
    wrappers: &["enum_body_declarations"],
};

impl Language {
    /// Returns the language of a file, by the extension of its name.
    pub fn of(file_name: &str) -> Option<Self> {
        let (_, extension) = file_name.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "c" => Some(Self::C),
            "h" | "cpp" | "cc" | "cxx" | "c++" | "hpp" | "hh" | "hxx" | "ipp" => Some(Self::Cpp),
            _ => grammar::Language::of(file_name).map(Self::Parsed),
        }
    }

    /// Returns the grammar and its table; `None` for C and C++, which are read without a grammar.
    pub(super) fn grammar(self) -> Option<(tree_sitter::Language, Kinds)> {
        use grammar::Language::{Go, Java, JavaScript, Python, Rust, Tsx, TypeScript};
        let Self::Parsed(language) = self else { return None };
        let kinds = match language {
            Python => PYTHON,
            Rust => RUST,
            JavaScript | TypeScript | Tsx => ECMASCRIPT,
            Go => GO,
            Java => JAVA,
        };
        Some((language.grammar(), kinds))
    }
}

impl fmt::Display for Language {
    /// Writes the language's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parsed(language) => language.fmt(f),
            Self::C => f.write_str("C"),
            Self::Cpp => f.write_str("C++"),
        }
    }
}

impl Kinds {
    /// Returns the role of a node.
    pub(super) fn role(self, node: Node<'_>, source: &str) -> Role {
        match node.kind() {
            // Broken text may still contain definitions.
            "ERROR" => Role::Wrapper,
            "variable_declarator" | "public_field_definition" | "field_definition" => {
                declarator(node, source)
            }
            kind if self.imports.contains(&kind) => Role::Import,
            kind if self.definitions.contains(&kind) => Role::Definition,
            kind if self.types.contains(&kind) => Role::Type,
            kind if self.wrappers.contains(&kind) => Role::Wrapper,
            _ => Role::Nothing,
        }
    }
}

/// Returns the role of a variable, which is shown if its value is a function, a class or a module.
fn declarator(node: Node<'_>, source: &str) -> Role {
    let Some(value) = node.child_by_field_name("value") else { return Role::Nothing };
    match value.kind() {
        "arrow_function" | "function_expression" | "generator_function" => Role::Definition,
        "class" => Role::Type,
        "call_expression" if source[value.byte_range()].starts_with("require(") => Role::Import,
        _ => Role::Nothing,
    }
}
