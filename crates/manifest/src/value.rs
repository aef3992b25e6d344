//! Values common to all formats: edits are decided on them, and results are compared with them.

/// Value of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A number as it is written, so that none is too large.
    Number(String),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
    /// What is only kept, as it is written: dates, aliases, and what has a tag.
    Opaque(String),
}

impl Value {
    /// Returns the value of a recipe.
    pub(crate) fn of(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => Self::Number(number.to_string()),
            serde_json::Value::String(text) => Self::Text(text.clone()),
            serde_json::Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            serde_json::Value::Object(fields) => {
                Self::Map(fields.iter().map(|(key, value)| (key.clone(), Self::of(value))).collect())
            }
        }
    }

    /// Returns the value as JSON, with numbers, and what is only kept, as texts.
    pub(crate) fn into_json(self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(value) => value.into(),
            Self::Number(text) | Self::Text(text) | Self::Opaque(text) => text.into(),
            Self::List(items) => items.into_iter().map(Self::into_json).collect(),
            Self::Map(entries) => {
                let entries = entries.into_iter().map(|(key, value)| (key, value.into_json()));
                serde_json::Value::Object(entries.collect())
            }
        }
    }

    /// Returns a mapping of one key in another, with the value in the innermost.
    pub(crate) fn nested(keys: &[String], value: Self) -> Self {
        keys.iter().rev().fold(value, |value, key| Self::Map(vec![(key.clone(), value)]))
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns whether it is a list or a mapping with nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }

    /// Returns the text of a scalar.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Number(text) | Self::Text(text) => Some(text),
            Self::Bool(true) => Some("true"),
            Self::Bool(false) => Some("false"),
            _ => None,
        }
    }

    /// Returns whether two values are the same, in whatever order the keys of their mappings stand.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(own), Self::List(others)) => {
                own.len() == others.len() && own.iter().zip(others).all(|(own, other)| own.is_same(other))
            }
            (Self::Map(own), Self::Map(others)) => {
                let sorted = |entries: &[(String, Self)]| {
                    let mut order: Vec<usize> = (0..entries.len()).collect();
                    order.sort_by(|a, b| entries[*a].0.cmp(&entries[*b].0));
                    order
                };
                own.len() == others.len()
                    && sorted(own).into_iter().zip(sorted(others)).all(|(at, other)| {
                        own[at].0 == others[other].0 && own[at].1.is_same(&others[other].1)
                    })
            }
            (Self::Number(own), Self::Number(other)) => {
                own == other
                    || (is_small(own) && is_small(other) && own.parse::<f64>() == other.parse::<f64>())
            }
            _ => self == other,
        }
    }

    /// Returns whether a value of this kind may stand in place of the other: what was a list stays one.
    pub(crate) fn may_replace(&self, other: &Self) -> bool {
        match other {
            Self::Null => true,
            Self::List(_) => matches!(self, Self::List(_)),
            Self::Map(_) => matches!(self, Self::Map(_)),
            Self::Opaque(_) => false,
            _ => !matches!(self, Self::List(_) | Self::Map(_)),
        }
    }

    /// Returns what people call a value of this kind.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
            Self::Opaque(_) => "a date, an alias or a value with a tag",
        }
    }
}

/// Returns whether a number is short enough for a float to hold it exactly.
fn is_small(number: &str) -> bool {
    number.len() <= 15
}
