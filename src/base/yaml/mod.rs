//! YAML, parsed into a tree whose nodes know their locations; types are deserialized from the tree.
//!
//! Deserializing a type from the parser itself takes ten times the code that a tree takes, for each type;
//! that was a megabyte of the program for files of a few lines.

mod faults;

use std::fmt;
use std::slice;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
pub(crate) use serde_yaml::Error;
use serde_yaml::{Location, Spanned};

use faults::SkippedNodes;
pub(crate) use faults::faults;

/// Maximum nesting of lists and maps; each level takes space on the stack.
const MAX_DEPTH: usize = 32;

/// Deserializes a type from YAML. Errors name the location and quote it.
pub(crate) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    with_tree(text, |node| T::deserialize(Cursor { node, text, aside: &SkippedNodes::default() }))
}

/// Parses the tree and reads from it; an error of `read` quotes the text at its location.
fn with_tree<T>(text: &str, read: impl FnOnce(&Node) -> Result<T, Error>) -> Result<T, Error> {
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! { max_depth: MAX_DEPTH },
        // `no` is a word, as in YAML 1.2; it is the code of a country as well.
        strict_booleans: true,
    };
    serde_yaml::with_deserializer_from_str_with_options(text, options, |yaml| read(&Node::deserialize(yaml)?))
}

/// A value and its location.
type Node = Spanned<Value>;

/// A value of YAML.
enum Value {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// Entries in the order of the file.
    Map(Vec<(Node, Node)>),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Builder)
    }
}

struct Builder;

impl<'de> Visitor<'de> for Builder {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Signed(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Unsigned(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

/// A node to deserialize from, and the text that it is a part of.
#[derive(Clone, Copy)]
struct Cursor<'t> {
    node: &'t Node,
    text: &'t str,
    aside: &'t SkippedNodes,
}

impl<'t> Cursor<'t> {
    /// Returns a scalar as it is written: where a text is expected, `1.10` is not a number and `on` is not
    /// a switch.
    fn written(self) -> Option<&'t str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            Value::Null | Value::List(_) | Value::Map(_) => None,
            _ => {
                let span = self.node.defined.span();
                let start = usize::try_from(span.byte_offset()?).ok()?;
                let end = start + usize::try_from(span.byte_len()?).ok()?;
                self.text.get(start..end).map(str::trim)
            }
        }
    }

    fn list(self, list: &'t [Node]) -> List<'t> {
        List { rest: list.iter(), text: self.text, aside: self.aside }
    }

    fn map(self, map: &'t [(Node, Node)]) -> Map<'t> {
        Map { rest: map.iter(), value: None, text: self.text, aside: self.aside }
    }

    /// Deserializes this node, giving errors without a location its own.
    fn read<S: DeserializeSeed<'t>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self).map_err(|error| self.located(error))
    }

    /// Adds the location of this node to an error that has none yet.
    fn located(self, mut error: Error) -> Error {
        if let Error::Message { location, .. }
        | Error::SerdeInvalidType { location, .. }
        | Error::SerdeInvalidValue { location, .. }
        | Error::SerdeInvalidLength { location, .. }
        | Error::SerdeUnknownVariant { location, .. }
        | Error::SerdeUnknownField { location, .. }
        | Error::SerdeMissingField { location, .. } = &mut error
            && *location == Location::UNKNOWN
        {
            *location = self.node.referenced;
            self.aside.blame(self.node);
        }
        error
    }
}

/// The remaining items of a list.
struct List<'t> {
    rest: slice::Iter<'t, Node>,
    text: &'t str,
    aside: &'t SkippedNodes,
}

impl<'t> SeqAccess<'t> for List<'t> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let (text, aside) = (self.text, self.aside);
        let next = self.rest.find(|node| !aside.holds(node));
        next.map(|node| Cursor { node, text, aside }.read(seed)).transpose()
    }
}

/// The remaining entries of a map.
struct Map<'t> {
    rest: slice::Iter<'t, (Node, Node)>,
    /// The value of the key that was read last.
    value: Option<&'t Node>,
    text: &'t str,
    aside: &'t SkippedNodes,
}

impl<'t> MapAccess<'t> for Map<'t> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let (text, aside) = (self.text, self.aside);
        let next = self.rest.find(|(key, value)| !aside.holds(key) && !aside.holds(value));
        let Some((node, value)) = next else { return Ok(None) };
        self.value = Some(value);
        Cursor { node, text, aside }.read(seed).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let Some(node) = self.value.take() else { return Err(Error::custom("a value without a key")) };
        Cursor { node, text: self.text, aside: self.aside }.read(seed)
    }
}

impl<'de> Deserializer<'de> for Cursor<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Signed(value) => visitor.visit_i64(*value),
            Value::Unsigned(value) => visitor.visit_u64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::List(list) => visitor.visit_seq(self.list(list)),
            Value::Map(map) => visitor.visit_map(self.map(map)),
        }
        .map_err(|error| self.located(error))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.written() {
            Some(text) => visitor.visit_borrowed_str(text).map_err(|error| self.located(error)),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self).map_err(|error| self.located(error)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self).map_err(|error| self.located(error))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match (&self.node.value, self.written()) {
            (Value::Map(map), _) => visitor.visit_enum(MapAccessDeserializer::new(self.map(map))),
            (_, Some(text)) => visitor.visit_enum(text.into_deserializer()),
            _ => Err(Error::custom("expected a word")),
        }
        .map_err(|error| self.located(error))
    }

    // A key without a value, or followed by comments only, is an empty section.

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Null => visitor.visit_seq(self.list(&[])).map_err(|error| self.located(error)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Null => visitor.visit_map(self.map(&[])).map_err(|error| self.located(error)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        // Serde would read the items of a list as the values of the fields, in their order.
        if matches!(self.node.value, Value::List(_)) {
            return Err(self.located(Error::custom("expected keys with values, found a list")));
        }
        self.deserialize_map(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 bytes byte_buf unit unit_struct tuple tuple_struct
        ignored_any
    }
}

#[cfg(test)]
mod tests;
