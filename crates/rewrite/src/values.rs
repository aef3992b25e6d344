//! Values, and the places in which they need parentheses.
//!
//! The grammars take more than the languages do, so that a value is a node of its own is not enough: it stands without parentheses where
//! any value may stand, or where an operator takes it by a rule that all the languages share.

use tree_sitter::Node;

use crate::Language;

/// What parentheses depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A name, a literal, a call, or anything in brackets.
    Closed,
    /// An object, which could be a block, or a function or class, which could be a declaration.
    Declared,
    /// Literals of strings that stand one behind the other.
    Strings,
    /// Values with commas between them.
    List,
    /// A block of Rust with a value.
    Block,
    /// A chain of members that may end early (`a?.b`).
    Chain,
    /// `new` without arguments.
    Bare,
    Type,
    Unary,
    Power,
    Arithmetic,
    Cast,
    Comparison,
    Logical,
    /// An operator that takes in all that it can, such as a lambda.
    Loose,
    Assignment,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) kind: String,
    pub(crate) class: Class,
    /// Its operator.
    sign: String,
    /// Whether it has line breaks outside of brackets of its own.
    has_lines: bool,
    ends_with_brace: bool,
}

/// Node that a value is a part of.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) value: Value,
    pub(crate) part: Part,
    /// Whether line breaks mean nothing there.
    pub(crate) is_bracketed: bool,
    /// Whether a brace behind it begins a block.
    pub(crate) is_in_header: bool,
}

/// Part of a node that a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Its beginning.
    First,
    /// What `new` makes something of.
    Constructor,
    /// What an `else` of the node's own follows.
    BeforeElse,
    Other,
}

impl Value {
    pub(crate) fn new(node: Node<'_>, text: &str) -> Self {
        let (kind, sign) = (node.kind(), sign(node));
        let class = class(node, sign);
        let own = text.get(node.byte_range()).unwrap_or_default();
        let has_lines = !matches!(class, Class::Closed | Class::Declared | Class::Type) && own.contains('\n');
        Self {
            kind: kind.to_owned(),
            class,
            sign: sign.to_owned(),
            has_lines,
            ends_with_brace: own.ends_with('}'),
        }
    }

    /// Returns whether the value needs no parentheses in a place, given what follows it.
    pub(crate) fn stands(&self, language: Language, slot: &Slot, behind: &str) -> bool {
        let frame = slot.value.kind.as_str();
        if self.has_lines && language == Language::Python && !slot.is_bracketed {
            return false;
        }
        if self.ends_with_brace && slot.is_in_header && matches!(self.class, Class::Unary | Class::Declared) {
            return false;
        }
        if slot.part == Part::BeforeElse
            && (matches!(self.class, Class::Logical | Class::Block) || self.ends_with_brace)
        {
            return false;
        }
        let (is_plain, is_first) = (slot.part != Part::Constructor, slot.part == Part::First);
        match self.class {
            Class::Closed => is_plain || !self.kind.contains("call"),
            // The grammar takes an object for one there.
            Class::Declared => self.kind != "object" || frame != "arrow_function",
            Class::Strings => true,
            Class::Block => !is_first || takes_any(frame, is_first),
            Class::Chain | Class::Bare => {
                is_plain && !(is_first && (is_postfix(frame) || slot.value.class == Class::Assignment))
            }
            Class::List => takes_list(language, frame, is_first),
            Class::Type => self.stands_in_type(&slot.value),
            Class::Assignment => self.is_assigned(language, slot),
            Class::Loose => takes_any(frame, is_first),
            _ => takes_any(frame, is_first) || self.binds_tighter(language, slot, behind),
        }
    }

    /// Returns whether an operator takes the whole value, given that the grammar does.
    fn binds_tighter(&self, language: Language, slot: &Slot, behind: &str) -> bool {
        let is_cast_read = || {
            language == Language::Rust && !(slot.part == Part::First && behind.trim_start().starts_with('<'))
                || language == Language::Java
        };
        let is_negation = self.sign == "not";
        let takes = |class: Class| match (class, self.class) {
            (Class::Logical, Class::Logical) => (self.sign == "??") == (slot.value.sign == "??"),
            (Class::Comparison | Class::Arithmetic, Class::Unary) => !is_negation,
            (Class::Unary, Class::Comparison) => slot.value.sign == "not",
            (Class::Unary, Class::Unary) => !slot.value.kind.starts_with("await"),
            (Class::Unary, Class::Power) => language == Language::Python,
            (Class::Comparison | Class::Arithmetic, Class::Arithmetic | Class::Power)
            | (Class::Logical, Class::Comparison | Class::Arithmetic | Class::Power | Class::Unary) => true,
            (Class::Logical | Class::Comparison | Class::Arithmetic, Class::Cast) => is_cast_read(),
            _ => false,
        };
        let is_choice = matches!(
            slot.value.kind.as_str(),
            "conditional_expression" | "ternary_expression" | "for_in_clause" | "if_clause"
        );
        takes(if is_choice { Class::Logical } else { slot.value.class })
    }

    fn is_assigned(&self, language: Language, slot: &Slot) -> bool {
        let frame = slot.value.kind.as_str();
        let is_statement = matches!(frame, "expression_statement" | "parenthesized_expression");
        let is_set = matches!(frame, "assignment" | "augmented_assignment") && slot.part != Part::First;
        match self.kind.as_str() {
            "named_expression" => {
                frame == "parenthesized_expression"
                    || matches!(frame, "if_statement" | "elif_clause" | "while_statement" | "if_clause")
                    || matches!(frame, "argument_list" | "list" | "tuple" | "set")
            }
            _ if language == Language::Python => is_statement || is_set,
            _ => is_statement || takes_any(frame, slot.part == Part::First),
        }
    }

    fn stands_in_type(&self, frame: &Self) -> bool {
        match frame.kind.as_str() {
            "union_type" | "intersection_type" => self.kind == frame.kind,
            "conditional_type" => {
                matches!(self.kind.as_str(), "union_type" | "intersection_type" | "index_type_query")
            }
            "array_type" | "index_type_query" | "lookup_type" | "readonly_type" | "optional_type"
            | "rest_type" | "channel_type" | "reference_type" | "pointer_type" | "bounded_type" => false,
            _ => true,
        }
    }
}

/// Returns the operator of a node, if it is one.
fn sign(node: Node<'_>) -> &str {
    let kind = node.kind();
    let is_operator =
        kind.starts_with("binary_") || kind.starts_with("unary_") || kind.ends_with("_operator");
    if !is_operator {
        return "";
    }
    let operator = node.child_by_field_name("operator").or_else(|| node.child_by_field_name("operators"));
    let first = || node.children(&mut node.walk()).find(|child| !child.is_named() && !child.is_extra());
    operator.or_else(first).map_or("", |sign| sign.kind())
}

fn class(node: Node<'_>, sign: &str) -> Class {
    match node.kind() {
        "binary_expression" | "binary_operator" | "boolean_operator" => match sign {
            "**" => Class::Power,
            "&&" | "||" | "and" | "or" | "??" => Class::Logical,
            "==" | "!=" | "<" | ">" | "<=" | ">=" | "===" | "!==" | "in" | "instanceof" => Class::Comparison,
            _ => Class::Arithmetic,
        },
        "comparison_operator" | "instanceof_expression" => Class::Comparison,
        "unary_expression"
        | "unary_operator"
        | "not_operator"
        | "reference_expression"
        | "update_expression"
        | "await"
        | "await_expression"
        | "cast_expression" => Class::Unary,
        "type_cast_expression" | "as_expression" | "satisfies_expression" | "type_assertion" => Class::Cast,
        "conditional_expression"
        | "ternary_expression"
        | "lambda"
        | "lambda_expression"
        | "arrow_function"
        | "closure_expression"
        | "range_expression"
        | "return_expression"
        | "break_expression"
        | "yield_expression" => Class::Loose,
        "assignment"
        | "augmented_assignment"
        | "assignment_expression"
        | "augmented_assignment_expression"
        | "compound_assignment_expr"
        | "named_expression"
        | "yield"
        | "assignment_statement"
        | "short_var_declaration" => Class::Assignment,
        "sequence_expression" | "expression_list" | "pattern_list" => Class::List,
        "concatenated_string" => Class::Strings,
        "object"
        | "function_expression"
        | "generator_function"
        | "class"
        | "composite_literal"
        | "struct_expression" => Class::Declared,
        "if_expression" | "match_expression" | "block" | "unsafe_block" | "async_block" | "const_block"
        | "loop_expression" | "while_expression" | "for_expression" => Class::Block,
        "member_expression" | "subscript_expression" | "call_expression" if is_chain(node) => Class::Chain,
        "new_expression" if node.child_by_field_name("arguments").is_none() => Class::Bare,
        "union_type" | "intersection_type" | "function_type" | "conditional_type" | "index_type_query"
        | "readonly_type" | "infer_type" | "constructor_type" | "bounded_type" | "channel_type" => {
            Class::Type
        }
        _ => Class::Closed,
    }
}

/// Returns whether a node, or what it is a member or a call of, may end early.
fn is_chain(node: Node<'_>) -> bool {
    let is_member = matches!(node.kind(), "member_expression" | "subscript_expression" | "call_expression");
    let has_sign =
        || node.children(&mut node.walk()).any(|child| matches!(child.kind(), "optional_chain" | "?."));
    let inner = || node.child_by_field_name("object").or_else(|| node.child_by_field_name("function"));
    is_member && (has_sign() || inner().is_some_and(is_chain))
}

/// Returns whether a kind of node is a value with something behind it.
pub(crate) fn is_postfix(kind: &str) -> bool {
    matches!(
        kind,
        "call"
            | "call_expression"
            | "attribute"
            | "subscript"
            | "member_expression"
            | "subscript_expression"
            | "field_expression"
            | "field_access"
            | "selector_expression"
            | "index_expression"
            | "slice_expression"
            | "try_expression"
            | "await_expression"
            | "method_invocation"
            | "array_access"
            | "non_null_expression"
            | "update_expression"
    )
}

/// Returns whether a kind of node takes any value, but for several and for assignments.
fn takes_any(kind: &str, is_first: bool) -> bool {
    let is_index =
        matches!(kind, "subscript" | "subscript_expression" | "index_expression" | "array_access" | "slice");
    let is_set = kind.contains("assignment") || kind == "short_var_declaration";
    (is_index || is_set) && (!is_first || kind == "slice")
        || kind.ends_with("_statement") && kind != "send_statement"
        || kind.ends_with("_comprehension")
        || matches!(
            kind,
            "argument_list"
                | "arguments"
                | "list"
                | "array"
                | "tuple"
                | "set"
                | "array_expression"
                | "tuple_expression"
                | "array_initializer"
                | "literal_element"
                | "literal_value"
                | "keyed_element"
                | "field_initializer"
                | "pair"
                | "keyword_argument"
                | "default_parameter"
                | "typed_default_parameter"
                | "variable_declarator"
                | "let_declaration"
                | "const_item"
                | "static_item"
                | "var_spec"
                | "const_spec"
                | "public_field_definition"
                | "field_definition"
                | "element_value_pair"
                | "return_expression"
                | "parenthesized_expression"
                | "elif_clause"
                | "if_expression"
                | "while_expression"
                | "for_expression"
                | "match_expression"
                | "match_arm"
                | "switch_expression"
                | "expression_case"
                | "range_clause"
                | "for_clause"
                | "arrow_function"
                | "lambda"
                | "lambda_expression"
                | "closure_expression"
                | "template_substitution"
                | "interpolation"
                | "with_item"
                | "as_pattern"
                | "jsx_expression"
                | "expression_list"
                | "spread_element"
                | "decorator"
                | "generator_expression"
                | "yield"
                | "yield_expression"
                | "block"
                | "module"
                | "program"
                | "source_file"
                | "statement_list"
        )
}

/// Returns whether a kind of node takes several values with commas between them.
fn takes_list(language: Language, kind: &str, is_first: bool) -> bool {
    match kind {
        "expression_statement" | "return_statement" | "parenthesized_expression" => true,
        "subscript" | "subscript_expression" => !is_first,
        "assignment" | "augmented_assignment" | "yield" => language == Language::Python && !is_first,
        "for_statement" => language == Language::Python,
        "assignment_statement" | "short_var_declaration" | "expression_case" => language == Language::Go,
        "throw_statement" | "template_substitution" | "if_statement" | "while_statement" => {
            language != Language::Python
        }
        _ => false,
    }
}
