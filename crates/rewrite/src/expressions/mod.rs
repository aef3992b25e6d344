//! Expressions: where they stand in a syntax tree, and when they need parentheses there.

mod f_string;
mod node_kinds;
mod operand;
mod parentheses;
mod place;
mod precedence;

pub(crate) use f_string::Field;
pub(crate) use node_kinds::{holds_items, is_delimited, takes_list};
pub(crate) use operand::{is_blank, is_body, is_operand, takes_as_element};
pub(crate) use parentheses::{Fate, fates, in_parentheses, is_token};
pub(crate) use place::{Frame, Place, places, trimmed};
pub(crate) use precedence::{Class, Expression, Part};
