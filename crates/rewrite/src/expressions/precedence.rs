//! Values, and the places in which they need parentheses.
//!
//! The grammars take more than the languages do, so that a value is a node of its own is not enough: it stands without parentheses where
//! any value may stand, or where an operator takes it by a rule that all the languages share.

use tree_sitter::Node;

use super::node_kinds::{holds_items, is_delimited, is_postfix, takes_any, takes_list};
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
    /// What only a list of arguments or of items has, such as a splat.
    Item,
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
pub(crate) struct Expression {
    pub(crate) kind: String,
    pub(crate) class: Class,
    /// Its operator.
    sign: String,
    /// Whether it has line breaks outside of brackets of its own.
    pub(crate) has_lines: bool,
    pub(crate) starts_with_brace: bool,
    ends_with_brace: bool,
}

/// Node that a value is a part of.
#[derive(Clone, Debug)]
pub(crate) struct Position {
    pub(crate) value: Expression,
    pub(crate) part: Part,
    /// Whether line breaks mean nothing there.
    pub(crate) is_bracketed: bool,
    /// Whether a brace behind it begins a block.
    pub(crate) is_in_header: bool,
    /// Whether the node is an argument of a call.
    pub(crate) is_argument: bool,
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

impl Expression {
    pub(crate) fn new(node: Node<'_>, text: &str) -> Self {
        let (kind, sign) = (node.kind(), sign(node));
        let class = class(node, sign);
        let own = text.get(node.byte_range()).unwrap_or_default();
        let has_lines = own.contains('\n') && has_lines(node);
        Self {
            kind: kind.to_owned(),
            class,
            sign: sign.to_owned(),
            has_lines,
            starts_with_brace: own.starts_with('{') && kind != "statement_block",
            ends_with_brace: own.ends_with('}'),
        }
    }

    /// Returns whether the value needs no parentheses in a place, given what is around it.
    pub(crate) fn stands(&self, language: Language, slot: &Position, (before, behind): (&str, &str)) -> bool {
        let frame = slot.value.kind.as_str();
        if self.has_lines && language == Language::Python && !slot.is_bracketed {
            return false;
        }
        let has_blocks = matches!(language, Language::Go | Language::Rust);
        let is_literal = self.ends_with_brace && matches!(self.class, Class::Unary | Class::Declared);
        if slot.is_in_header && (has_blocks && is_literal || !has_blocks && self.sign == "in") {
            return language == Language::Python;
        }
        if frame == "token_tree" {
            return is_delimited(before, behind) || self.class == Class::Closed;
        }
        if language == Language::Go && matches!(frame, "go_statement" | "defer_statement") {
            return self.kind == "call_expression";
        }
        // The grammar takes an object for one there.
        if self.starts_with_brace && frame == "arrow_function" {
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
            Class::Declared | Class::Strings => true,
            Class::Item => holds_items(frame),
            Class::Block => !is_first || takes_any(frame, is_first),
            Class::Chain | Class::Bare => {
                is_plain && !(is_first && (is_postfix(frame) || slot.value.class == Class::Assignment))
            }
            Class::List => takes_list(language, frame, is_first),
            Class::Type => self.stands_in_type(slot),
            Class::Assignment => self.is_assigned(language, slot),
            Class::Loose => takes_any(frame, is_first),
            _ if matches!(frame, "list_splat" | "dictionary_splat") => {
                slot.is_argument || self.binds_in_splat(frame)
            }
            _ => takes_any(frame, is_first) || self.binds_tighter(language, slot, behind),
        }
    }

    /// Returns whether an operator takes the whole value, given that the grammar does.
    fn binds_tighter(&self, language: Language, slot: &Position, behind: &str) -> bool {
        let is_cast_read = || {
            language == Language::Rust && !(slot.part == Part::First && behind.trim_start().starts_with('<'))
                || language == Language::Java
        };
        let is_negation = self.sign == "not";
        let takes = |class: Class| match (class, self.class) {
            (Class::Logical, Class::Logical) => (self.sign == "??") == (slot.value.sign == "??"),
            (Class::Comparison | Class::Arithmetic, Class::Unary) => !is_negation,
            (Class::Unary, Class::Unary) => !slot.value.kind.starts_with("await"),
            (Class::Unary, Class::Power) => {
                language == Language::Python && !slot.value.kind.starts_with("await")
            }
            (Class::Unary, Class::Comparison | Class::Arithmetic) => slot.value.sign == "not",
            (Class::Power, Class::Unary) => {
                language == Language::Python
                    && (slot.part != Part::First && !is_negation || self.kind == "await")
            }
            (Class::Cast, Class::Arithmetic | Class::Unary) => language != Language::Rust,
            (Class::Comparison | Class::Arithmetic, Class::Arithmetic | Class::Power)
            | (
                Class::Logical,
                Class::Comparison | Class::Arithmetic | Class::Power | Class::Unary | Class::Cast,
            ) => true,
            (Class::Comparison | Class::Arithmetic, Class::Cast) => is_cast_read(),
            _ => false,
        };
        let is_choice = matches!(
            slot.value.kind.as_str(),
            "conditional_expression" | "ternary_expression" | "for_in_clause" | "if_clause"
        );
        let is_range = slot.value.kind == "range_expression"
            && matches!(self.class, Class::Arithmetic | Class::Unary | Class::Cast);
        let is_matched = slot.value.kind == "let_condition"
            && matches!(self.class, Class::Arithmetic | Class::Unary | Class::Cast | Class::Comparison)
            && !self.ends_with_brace;
        let is_default = is_choice && self.class == Class::Logical;
        is_range
            || is_matched
            || is_default
            || takes(if is_choice { Class::Logical } else { slot.value.class })
    }

    /// Returns whether a splat in a display takes the value.
    fn binds_in_splat(&self, frame: &str) -> bool {
        matches!(self.class, Class::Unary | Class::Arithmetic | Class::Power) && self.sign != "not"
            || frame == "list_splat" && self.class == Class::Cast
    }

    fn is_assigned(&self, language: Language, slot: &Position) -> bool {
        let frame = slot.value.kind.as_str();
        let is_statement = matches!(frame, "expression_statement" | "parenthesized_expression");
        let is_set = matches!(frame, "assignment" | "augmented_assignment") && slot.part != Part::First;
        match self.kind.as_str() {
            "named_expression" => {
                frame == "parenthesized_expression"
                    || matches!(frame, "if_statement" | "elif_clause" | "while_statement" | "match_statement")
                    || matches!(frame, "argument_list" | "list" | "tuple" | "set" | "generator_expression")
                    || frame == "subscript" && slot.part != Part::First
            }
            _ if language == Language::Python => is_statement || is_set,
            _ => is_statement || takes_any(frame, slot.part == Part::First),
        }
    }

    fn stands_in_type(&self, slot: &Position) -> bool {
        let (kind, is_first) = (self.kind.as_str(), slot.part == Part::First);
        match slot.value.kind.as_str() {
            "union_type" => {
                !matches!(kind, "function_type" | "constructor_type" | "conditional_type" | "infer_type")
            }
            "intersection_type" => kind == "intersection_type",
            "conditional_type" => {
                !is_first || !matches!(kind, "function_type" | "constructor_type" | "conditional_type")
            }
            "lookup_type" => !is_first,
            "array_type" | "index_type_query" | "readonly_type" | "optional_type" | "channel_type"
            | "reference_type" | "pointer_type" | "bounded_type" => false,
            _ => true,
        }
    }
}

/// Returns whether a node has line breaks outside of brackets and literals.
fn has_lines(node: Node<'_>) -> bool {
    let is_literal = node.kind().contains("string") && node.kind() != "concatenated_string";
    let is_bracketed = node.child(0).is_some_and(|first| matches!(first.kind(), "(" | "[" | "{"));
    if is_literal || is_bracketed || node.start_position().row == node.end_position().row {
        return false;
    }
    let mut cursor = node.walk();
    let mut row = node.start_position().row;
    node.children(&mut cursor).any(|child| {
        let is_below = child.start_position().row > row;
        row = child.end_position().row;
        is_below || has_lines(child)
    })
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
        "list_splat" | "dictionary_splat" | "keyword_argument" | "spread_element" => Class::Item,
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
