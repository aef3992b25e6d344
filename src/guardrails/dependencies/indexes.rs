//! Indexes that packages of a lock file name by a name of the project's own: those of Pipenv and renv.

use std::collections::BTreeMap;

use serde_json::Value;

use super::addresses::Address;
use super::formats::name_of;
use super::manifests::{self, at};
use super::rejection::{Reason, RejectedRow};
use super::values::values;

/// Index that a Pipfile has where it names none.
const DEFAULT: (&str, &str) = ("pypi", "https://pypi.org/simple");

/// Returns the address of the index that a package comes from, as the lock file has it. Where a package of Pipenv names none, it is
/// the first one.
pub(super) fn of_package(file: &str, lock: &Value, package: &Value) -> Option<Address> {
    let (sources, name, address, index) = match file {
        "pipfile.lock" => ("_meta.sources", "name", "url", "index"),
        "renv.lock" => ("R.Repositories", "Name", "URL", "Repository"),
        _ => return None,
    };
    let mut sources = at(lock, sources)?.as_array()?.iter();
    let source = match package.get(index) {
        Some(index) => sources.find(|source| source.get(name) == Some(index)),
        None if file == "pipfile.lock" => sources.next(),
        None => None,
    };
    Address::of(source?.get(address)?.as_str()?).ok()
}

/// Checks that each package of Pipenv that is new or changed names an index that the Pipfile names, and that this is the same one in
/// both files. A Pipfile that is not there says nothing.
pub(super) fn judge(path: &str, before: &str, after: &str, pipfile: Option<&str>) -> Result<(), RejectedRow> {
    if name_of(path) != "pipfile.lock" {
        return Ok(());
    }
    // What cannot be read has been refused.
    let (Some(before), Some(after)) = (values(path, before), values(path, after)) else { return Ok(()) };
    let locked = named(at(&after, "_meta.sources"));
    let listed = pipfile.map(|text| {
        let values = manifests::values("Pipfile", text).unwrap_or_default();
        match values.get("source") {
            None => BTreeMap::from([(DEFAULT.0.to_owned(), DEFAULT.1.to_owned())]),
            listed => named(listed),
        }
    });
    for group in ["default", "develop"] {
        let packages = at(&after, group).and_then(Value::as_object).into_iter().flatten();
        for (name, package) in packages {
            let Some(index) = package.get("index").and_then(Value::as_str) else { continue };
            let is_new = before.get(group).and_then(|had| had.get(name)) != Some(package);
            let is_listed = |listed: &BTreeMap<String, String>| listed.get(index) == locked.get(index);
            if is_new && !(locked.contains_key(index) && listed.as_ref().is_none_or(is_listed)) {
                let why = Reason("which is no index that the Pipfile names");
                return Err(RejectedRow::new(format!("{group}.{name}.index: {index}"), why));
            }
        }
    }
    Ok(())
}

/// Returns the addresses of indexes by their names.
fn named(sources: Option<&Value>) -> BTreeMap<String, String> {
    let sources = sources.and_then(Value::as_array).into_iter().flatten();
    let text = |source: &Value, key: &str| Some(source.get(key)?.as_str()?.to_owned());
    sources.filter_map(|source| Some((text(source, "name")?, text(source, "url")?))).collect()
}
