//! Changes of values, each at one place.

use crate::value::Value;

/// A step from a value to one in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// Change of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Where the value stands that is changed.
    pub(crate) at: Vec<Step>,
    pub(crate) change: Change,
}

/// What is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The value is another one.
    Set(Value),
    /// The mapping gets a key. Those in `below` are mappings in each other that have to be made for the value.
    Insert { key: String, below: Vec<String>, value: Value },
    /// The value and its key are gone.
    Remove,
    /// The key of the value has another name.
    Rename(String),
    /// The list gets an item.
    Append(Value),
}

impl Edit {
    /// Returns the path of what is changed, as people write it.
    pub(crate) fn place(&self) -> String {
        let mut place = shown(&self.at);
        if let Change::Insert { key, below, .. } = &self.change {
            for key in std::iter::once(key).chain(below) {
                push(&mut place, key);
            }
        }
        place
    }

    /// Makes the change on a value. What is not there is not changed.
    pub(crate) fn apply_to(&self, root: &mut Value) {
        let (value, last) = match (&self.change, self.at.split_last()) {
            (Change::Remove | Change::Rename(_), Some((last, parent))) => (find(root, parent), Some(last)),
            _ => (find(root, &self.at), None),
        };
        match (value, &self.change, last) {
            (Some(value), Change::Set(new), _) => *value = new.clone(),
            (Some(Value::Map(entries)), Change::Insert { key, below, value }, _) => {
                entries.push((key.clone(), Value::nested(below, value.clone())));
            }
            (Some(Value::List(items)), Change::Append(item), _) => items.push(item.clone()),
            (Some(Value::Map(entries)), Change::Remove, Some(Step::Key(key))) => {
                entries.retain(|(name, _)| name != key);
            }
            (Some(Value::List(items)), Change::Remove, Some(Step::Index(index))) if *index < items.len() => {
                items.remove(*index);
            }
            (Some(Value::Map(entries)), Change::Rename(to), Some(Step::Key(key))) => {
                if let Some((name, _)) = entries.iter_mut().find(|(name, _)| name == key) {
                    name.clone_from(to);
                }
            }
            _ => {}
        }
    }
}

fn find<'v>(root: &'v mut Value, at: &[Step]) -> Option<&'v mut Value> {
    at.iter().try_fold(root, |value, step| match (value, step) {
        (Value::Map(entries), Step::Key(key)) => {
            entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
        }
        (Value::List(items), Step::Index(index)) => items.get_mut(*index),
        _ => None,
    })
}

/// Returns a path as people write it.
pub(crate) fn shown(at: &[Step]) -> String {
    let mut text = String::new();
    for step in at {
        match step {
            Step::Key(key) => push(&mut text, key),
            Step::Index(index) => text += &format!("[{index}]"),
        }
    }
    text
}

fn push(text: &mut String, key: &str) {
    if !text.is_empty() {
        text.push('.');
    }
    let is_bare = !key.is_empty()
        && key != "*"
        && !key.contains(|sign: char| sign.is_whitespace() || sign.is_control() || ".[]\"'".contains(sign));
    if is_bare {
        text.push_str(key);
    } else {
        text.push_str(&format!("{key:?}"));
    }
}
