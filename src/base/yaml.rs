//! YAML, parsed into a tree whose nodes know their locations; types are deserialized from the tree.
//!
//! Deserializing a type from the parser itself takes ten times the code that a tree takes, for each type;
//! that was a megabyte of the program for files of a few lines.

use std::fmt;
use std::slice;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde_yaml::{Error, Location, Spanned};

/// Maximum nesting of lists and maps; each level takes space on the stack.
const MAX_DEPTH: usize = 32;

/// Deserializes a type from YAML. Errors name the location and quote it.
pub(crate) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! { max_depth: MAX_DEPTH },
        // `no` is a word, as in YAML 1.2; it is the code of a country as well.
        strict_booleans: true,
    };
    serde_yaml::with_deserializer_from_str_with_options(text, options, |yaml| {
        let node = Node::deserialize(yaml)?;
        T::deserialize(Cursor { node: &node, text })
    })
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
        List { rest: list.iter(), text: self.text }
    }

    fn map(self, map: &'t [(Node, Node)]) -> Map<'t> {
        Map { rest: map.iter(), value: None, text: self.text }
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
        }
        error
    }
}

/// The remaining items of a list.
struct List<'t> {
    rest: slice::Iter<'t, Node>,
    text: &'t str,
}

impl<'t> SeqAccess<'t> for List<'t> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let text = self.text;
        self.rest.next().map(|node| Cursor { node, text }.read(seed)).transpose()
    }
}

/// The remaining entries of a map.
struct Map<'t> {
    rest: slice::Iter<'t, (Node, Node)>,
    /// The value of the key that was read last.
    value: Option<&'t Node>,
    text: &'t str,
}

impl<'t> MapAccess<'t> for Map<'t> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some((node, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some(value);
        Cursor { node, text: self.text }.read(seed).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let Some(node) = self.value.take() else { return Err(Error::custom("a value without a key")) };
        Cursor { node, text: self.text }.read(seed)
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
        self.deserialize_map(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 bytes byte_buf unit unit_struct tuple tuple_struct
        ignored_any
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::Add;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        On,
        Many(Vec<String>),
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Form {
        name: String,
        count: Option<u8>,
        share: f64,
        flag: bool,
        word: Option<Word>,
        list: Vec<u64>,
        inner: BTreeMap<String, serde_json::Value>,
    }

    #[test]
    fn text_stays_as_it_is_written_and_the_rest_has_its_type() {
        let text = "name: 1.10\ncount: 7\nshare: 2\nflag: true\nword: on\nlist:\ninner: {a: [1, -2, x, null], 3: 0x10}\n";
        let form: Form = from_str(text).expect("YAML");
        let inner = [("3", serde_json::json!(16)), ("a", serde_json::json!([1, -2, "x", null]))];
        let inner = inner.map(|(key, value)| (key.to_owned(), value)).into();
        let expected = Form {
            name: "1.10".to_owned(),
            count: Some(7),
            share: 2.0,
            flag: true,
            word: Some(Word::On),
            inner,
            ..Form::default()
        };
        assert_eq!(form, expected);
        let text = "base: &base\n- 2024-01-01\nword: {many: *base}\n";
        let both: BTreeMap<String, serde_json::Value> = from_str(text).expect("YAML");
        assert_eq!(both["word"], serde_json::json!({"many": ["2024-01-01"]}));
        let text = "word: {many: [off, 007, ~tilde, 'null', \"a\\tb\", é ü]}\nname: >\n  folded\n  text\n";
        let form: Form = from_str(text).expect("YAML");
        let many = ["off", "007", "~tilde", "null", "a\tb", "é ü"].map(str::to_owned).into();
        assert_eq!((form.word, form.name), (Some(Word::Many(many)), "folded text\n".to_owned()));
        let text = "base: &base {a: 1, b: x}\nword: {<<: *base, b: y}\n";
        let both: BTreeMap<String, serde_json::Value> = from_str(text).expect("YAML");
        assert_eq!(both["word"], serde_json::json!({"a": 1, "b": "y"}));
        // Aliases are read where they are defined.
        let text = "word: {many: [&a 1.50, *a]}\n";
        let form: Form = from_str(text).expect("YAML");
        assert_eq!(form.word, Some(Word::Many(["1.50", "1.50"].map(str::to_owned).into())));
    }

    #[test]
    fn errors_know_their_place() {
        for (text, place, message) in [
            ("name: a\nlist: [1, x]\n", (2, 11), "invalid type: string \"x\", expected u64"),
            ("name: a\ncuont: 1\n", (2, 1), "unknown field `cuont`"),
            ("flag: yes\n", (1, 7), "invalid type: string \"yes\", expected a boolean"),
            ("word: off\n", (1, 7), "unknown variant `off`"),
            ("count: 256\n", (1, 8), "invalid value: integer `256`, expected u8"),
            ("name: [a]\n", (1, 7), "invalid type: sequence, expected a string"),
            ("name: ~\n", (1, 7), "invalid type: unit value, expected a string"),
            ("word: []\n", (1, 7), "expected a word"),
            ("flag: true\nflag: false\n", (2, 1), "duplicate"),
            ("list: [1\n", (1, 7), "unclosed"),
            ("a: &a [*a]\n", (1, 8), "recursive"),
        ] {
            let error = from_str::<Form>(text).expect_err(text);
            let at = error.location().map(|at| (at.line(), at.column()));
            assert!(error.to_string().contains(message), "{text:?}: {error}");
            assert_eq!(at, Some(place), "{text:?}: {error}");
        }
    }

    #[test]
    fn neither_depth_nor_aliases_cost_more_than_the_text() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(from_str::<serde_json::Value>(&deep).is_err());
        let deep = "- ".repeat(100_000);
        assert!(from_str::<serde_json::Value>(&deep).is_err());
        assert!(from_str::<serde_json::Value>(&"[".repeat(MAX_DEPTH).add(&"]".repeat(MAX_DEPTH))).is_ok());
        let laughs: String = (1..20)
            .map(|n| {
                let before = format!("*a{}, ", n - 1).repeat(9);
                format!("a{n}: &a{n} [{before}]\n")
            })
            .collect();
        let error = from_str::<serde_json::Value>(&format!("a0: &a0 ha\n{laughs}")).expect_err("too much");
        assert!(error.to_string().contains("budget") || error.to_string().contains("alias"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in r"([a-z]{1,3}: |- |\n| |[\[\]{},&*!'#|>~]|[0-9]|é|\t|<<: ){0,30}") {
            // A value, or an error with a location: no panic.
            let _ = from_str::<Form>(&text);
            let _ = from_str::<serde_json::Value>(&text);
        }
    }
}
