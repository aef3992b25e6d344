//! TOML.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, Table, TableLike};

use crate::change::{Change, Edit, Step};
use crate::value::Value;
use crate::{ManifestError, line_of};

pub(crate) fn load(text: &str) -> Result<Value, ManifestError> {
    Ok(read(parse(text)?.as_item()))
}

fn parse(text: &str) -> Result<DocumentMut, ManifestError> {
    text.parse::<DocumentMut>().map_err(|error| ManifestError::Syntax {
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })
}

fn read(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Table(table) => read_table(table),
        Item::ArrayOfTables(tables) => Value::List(tables.iter().map(|table| read_table(table)).collect()),
        Item::Value(value) => read_value(value),
    }
}

fn read_table(table: &dyn TableLike) -> Value {
    Value::Map(table.iter().map(|(key, item)| (key.to_owned(), read(item))).collect())
}

fn read_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::Text(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Number(number.value().to_string()),
        toml_edit::Value::Float(number) => Value::Number(format!("{:?}", number.value())),
        toml_edit::Value::Boolean(value) => Value::Bool(*value.value()),
        toml_edit::Value::Datetime(date) => Value::Opaque(date.value().to_string()),
        toml_edit::Value::Array(items) => Value::List(items.iter().map(read_value).collect()),
        toml_edit::Value::InlineTable(table) => read_table(table),
    }
}

pub(crate) fn edit(text: &str, edit: &Edit) -> Result<String, ManifestError> {
    let entangled = || ManifestError::Entangled(edit.place());
    let mut document = parse(text)?;
    let (last, parents) = match (&edit.change, edit.at.split_last()) {
        (Change::Remove | Change::Rename(_), Some((last, parents))) => (Some(last), parents),
        _ => (None, &edit.at[..]),
    };
    let target = parents.iter().try_fold(document.as_item_mut(), |item, step| match step {
        Step::Key(key) => item.get_mut(key.as_str()),
        Step::Index(index) => item.get_mut(*index),
    });
    let target = target.ok_or_else(entangled)?;
    let value = |value: &Value| value_of(value).ok_or_else(|| ManifestError::NoNull(edit.place()));
    let done = match (&edit.change, last) {
        (Change::Set(new), _) => set(target, value(new)?),
        (Change::Insert { key, below, value: new }, _) => insert(target, key, below, value(new)?),
        (Change::Append(item), _) => append(target, value(item)?),
        (Change::Remove, Some(Step::Key(key))) => {
            target.as_table_like_mut().and_then(|table| table.remove(key)).map(drop)
        }
        (Change::Remove, Some(Step::Index(index))) => remove_item(target, *index),
        (Change::Rename(to), Some(Step::Key(key))) => rename(target, key, to),
        _ => None,
    };
    done.ok_or_else(entangled)?;
    let edited = document.to_string();
    Ok(if edit.change == Change::Remove { with_head(text, with_others(text, edited)) } else { edited })
}

/// Returns the edited text with the comments above what was removed that are about something else: those that an empty line
/// parts from it.
fn with_others(text: &str, edited: String) -> String {
    let mut lines = text.split_inclusive('\n').zip(edited.split_inclusive('\n'));
    let start: usize = lines.by_ref().take_while(|(old, new)| old == new).map(|(old, _)| old.len()).sum();
    let Some(removed) = text[start..].strip_suffix(&edited[start..]) else { return edited };
    let is_other = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let above: Vec<&str> = removed.split_inclusive('\n').take_while(is_other).collect();
    let Some(end) = above.iter().rposition(|line| line.trim().is_empty()).filter(|_| start > 0) else {
        return edited;
    };
    let below = &edited[start..];
    let is_parted = below.is_empty() || below.starts_with(['\n', '\r']);
    let kept = above[..=end].concat();
    let kept = if is_parted { &kept[..kept.len() - above[end].len()] } else { &kept };
    if kept.trim().is_empty() { edited } else { format!("{}{kept}{below}", &edited[..start]) }
}

/// Returns the edited text with the comment at the head of the file, which the library takes for one of the first entry and
/// removes with it.
fn with_head(text: &str, edited: String) -> String {
    let is_head = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let head: usize = text.split_inclusive('\n').take_while(is_head).map(str::len).sum();
    // What stands directly above the first entry is about that, if something else comes before it.
    let kept = text[..head].rfind("\n\n").map_or(&text[..head], |end| &text[..end + 2]);
    if edited.starts_with(kept) { edited } else { format!("{kept}{}", edited.trim_start_matches('\n')) }
}

fn set(item: &mut Item, mut new: toml_edit::Value) -> Option<()> {
    match item {
        Item::Value(old) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Item::Table(table) => {
            let toml_edit::Value::InlineTable(new) = new else { return None };
            table.clear();
            for (key, value) in new {
                table.insert(&key, Item::Value(value));
            }
        }
        _ => return None,
    }
    Some(())
}

fn insert(item: &mut Item, key: &str, below: &[String], value: toml_edit::Value) -> Option<()> {
    let is_table = item.as_table().is_some_and(|table| !table.is_dotted());
    let item = item.as_table_like_mut()?;
    let mut new = Item::Value(value);
    for key in below.iter().rev() {
        if is_table {
            let mut table = Table::new();
            table.set_implicit(new.is_table());
            table.insert(key, new);
            new = Item::Table(table);
        } else {
            let mut table = InlineTable::new();
            table.insert(key.as_str(), new.into_value().ok()?);
            new = Item::Value(table.into());
        }
    }
    if let Item::Table(table) = &mut new {
        table.decor_mut().set_prefix("\n");
    }
    item.insert(key, new);
    Some(())
}

/// Adds an item to a list. In one of several lines it gets a line of its own, below the comment of the one before.
fn append(item: &mut Item, mut value: toml_edit::Value) -> Option<()> {
    let list = item.as_array_mut()?;
    let raw = |text: Option<&toml_edit::RawString>| {
        text.and_then(|raw| raw.as_str()).unwrap_or_default().to_owned()
    };
    let trailing = list.trailing().as_str().unwrap_or_default().to_owned();
    let last = list.len().checked_sub(1).and_then(|last| list.get_mut(last));
    let prefix = last.as_ref().map_or_else(String::new, |last| raw(last.decor().prefix()));
    let Some(last) = last.filter(|_| prefix.contains('\n')) else {
        list.push(value);
        return Some(());
    };
    let indent = &prefix[prefix.rfind('\n')? + 1..];
    let comments = raw(last.decor().suffix()) + &trailing;
    let kept = comments.rfind('\n').map_or("", |end| &comments[..end]).trim_end();
    value.decor_mut().set_prefix(format!("{kept}\n{indent}"));
    value.decor_mut().set_suffix("");
    last.decor_mut().set_suffix("");
    list.push_formatted(value);
    list.set_trailing_comma(true);
    let end = comments.rfind('\n').map_or(comments.as_str(), |end| &comments[end..]).to_owned();
    list.set_trailing(end);
    Some(())
}

/// Removes an item, and of the comments that behind it: what stands before it belongs to the one before.
fn remove_item(item: &mut Item, index: usize) -> Option<()> {
    if let Item::ArrayOfTables(tables) = item {
        (index < tables.len()).then(|| tables.remove(index))?;
        return Some(());
    }
    let list = item.as_array_mut()?;
    let removed = (index < list.len()).then(|| list.remove(index))?;
    let text =
        |raw: Option<&toml_edit::RawString>| raw.and_then(|raw| raw.as_str()).unwrap_or_default().to_owned();
    let prefix = text(removed.decor().prefix());
    let in_front = prefix.split_once('\n').map_or("", |(line, _)| line).to_owned();
    let joined = |next: &str| match next.split_once('\n') {
        Some((_, rest)) => format!("{in_front}\n{rest}"),
        None => format!("{in_front}{next}"),
    };
    if let Some(next) = list.get_mut(index) {
        let new = if prefix.contains('\n') { joined(&text(next.decor().prefix())) } else { prefix };
        next.decor_mut().set_prefix(new);
    } else {
        let new = joined(list.trailing().as_str().unwrap_or_default());
        list.set_trailing(new);
    }
    Some(())
}

fn rename(item: &mut Item, from: &str, to: &str) -> Option<()> {
    let renamed = |key: &Key| {
        if key.get() == from {
            Key::new(to)
                .with_leaf_decor(key.leaf_decor().clone())
                .with_dotted_decor(key.dotted_decor().clone())
        } else {
            key.clone()
        }
    };
    match item {
        Item::Table(table) => {
            let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
            let entries: Vec<(Key, Item)> =
                names.iter().filter_map(|name| table.remove_entry(name)).collect();
            for (key, item) in entries {
                table.insert_formatted(&renamed(&key), item);
            }
        }
        Item::Value(toml_edit::Value::InlineTable(table)) => {
            let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
            let entries: Vec<_> = names.iter().filter_map(|name| table.remove_entry(name)).collect();
            for (key, value) in entries {
                table.insert_formatted(&renamed(&key), value);
            }
        }
        _ => return None,
    }
    Some(())
}

/// Returns a value of TOML; `None` if it holds null, which TOML has not.
fn value_of(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => number.parse().ok()?,
        Value::Text(text) | Value::Opaque(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(value_of).collect::<Option<Array>>()?.into(),
        Value::Map(entries) => {
            let mut table = InlineTable::new();
            for (key, value) in entries {
                table.insert(key.as_str(), value_of(value)?);
            }
            table.into()
        }
    })
}
