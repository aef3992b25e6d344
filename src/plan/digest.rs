//! Digest of a plan: SHA-256 over the canonical JSON of what counts, file by file, so that no part of a large plan is there twice.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::file::Plan;
use crate::base::integrity::HashWriter;
use crate::base::time_limit::{Grace, TimeLimit, WriteUntil};

impl Plan {
    /// Computes the digest of the content, whatever the `digest` field says.
    pub fn computed_digest(&self) -> String {
        let mut hash = HashWriter::default();
        // Serialization cannot fail: all maps have string keys, and there is no NaN.
        let _ = self.write_canonical(&mut hash);
        hash.digest()
    }

    /// Computes the digest. Returns `None` if the time for the report of a run is up before that.
    pub(super) fn computed_until(&self, time_limit: &TimeLimit) -> Option<String> {
        let mut hash = HashWriter::default();
        self.write_canonical(&mut WriteUntil::new(&mut hash, time_limit, Grace::Report)).ok()?;
        Some(hash.digest())
    }

    /// Writes the members that the digest covers as canonical JSON (RFC 8785), in the order of their names, and then what that
    /// does not tell of numbers.
    fn write_canonical(&self, to: &mut impl Write) -> io::Result<()> {
        let mut object = Object { to, is_begun: false };
        object.member("agent", &self.agent)?;
        object.member("base", &self.base)?;
        if let Some(carried_over) = &self.carried_over {
            object.member("carried_over", carried_over)?;
        }
        object.list("commands", &self.commands)?;
        object.list("files", &self.files)?;
        if let Some(made) = &self.made {
            // Only another job tells of them. They say how long they took, and without an origin equal plans are to have equal
            // digests.
            object.list("gates", &self.gates)?;
            object.incomplete(self.incomplete.as_deref())?;
            object.member("made", made)?;
        } else {
            object.incomplete(self.incomplete.as_deref())?;
        }
        object.member("model", &self.model)?;
        object.member("task", &self.task)?;
        object.to.write_all(b"}")?;
        let mut count = 0;
        let mut inputs = self.commands.iter().map(|command| &command.input);
        inputs.try_for_each(|input| write_exact_numbers(input, &mut count, object.to))
    }
}

/// Writes what canonical JSON does not tell of numbers, for which all of them are floats: the digits of large integers, and whether a
/// whole number is an integer. No canonical JSON has a zero byte in it.
fn write_exact_numbers(value: &Value, count: &mut usize, to: &mut impl Write) -> io::Result<()> {
    /// Integers below it are floats without loss.
    const EXACT: u64 = 1 << 53;
    match value {
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            let is_ambiguous = match size {
                Some(size) => size >= EXACT,
                None => number.as_f64().is_some_and(|float| float.fract() == 0.0),
            };
            if is_ambiguous {
                write!(to, "\0{count}:{number}")?;
            }
            *count += 1;
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| write_exact_numbers(item, count, to)),
        Value::Object(entries) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_unstable_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            sorted.into_iter().try_for_each(|(_, value)| write_exact_numbers(value, count, to))
        }
        _ => Ok(()),
    }
}

/// Object of canonical JSON as it is written.
struct Object<'w, W> {
    to: &'w mut W,
    is_begun: bool,
}

impl<W: Write> Object<'_, W> {
    fn name(&mut self, name: &str) -> io::Result<()> {
        let separator = if self.is_begun { ',' } else { '{' };
        self.is_begun = true;
        write!(self.to, "{separator}\"{name}\":")
    }

    fn member(&mut self, name: &str, value: &impl Serialize) -> io::Result<()> {
        self.name(name)?;
        serde_json_canonicalizer::to_writer(value, self.to).map_err(io::Error::from)
    }

    fn list(&mut self, name: &str, items: &[impl Serialize]) -> io::Result<()> {
        self.name(name)?;
        self.to.write_all(b"[")?;
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.to.write_all(b",")?;
            }
            serde_json_canonicalizer::to_writer(item, self.to)?;
        }
        self.to.write_all(b"]")
    }

    fn incomplete(&mut self, reason: Option<&str>) -> io::Result<()> {
        reason.map_or(Ok(()), |reason| self.member("incomplete", &reason))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_digest_is_that_of_canonical_json() {
        let file = json!({
            "path": "é\u{1f600}.txt", "op": "modify", "mode": "100644", "before_sha256": "a", "after_sha256": null,
            "patch": "@@ -1 +1 @@\n-\"\u{7}\\\n+é\n", "lines": {"added": 1, "removed": 1},
        });
        let whole = json!({
            "schema_version": 1, "task": "t\n", "agent": "build", "model": "m", "base": null, "actions": [],
            "files": [file, {"path": "b", "op": "delete", "mode": "100644", "before_sha256": "b", "after_sha256": null, "base64": "",
                "lines": {"added": 0, "removed": 0}}],
            "commands": [], "gates": [], "guardrails": [], "hooks": [], "usage": {}, "digest": "",
        });
        for incomplete in [None, Some("interrupted")] {
            let mut covered = serde_json::Map::new();
            let mut plan: Plan = serde_json::from_value(whole.clone()).expect("a plan");
            plan.incomplete = incomplete.map(str::to_owned);
            for name in ["task", "agent", "model", "base", "files", "commands"] {
                covered.insert(name.to_owned(), whole[name].clone());
            }
            covered.extend(incomplete.map(|reason| ("incomplete".to_owned(), reason.into())));
            let mut written = Vec::new();
            plan.write_canonical(&mut written).expect("memory takes everything");
            let expected = serde_json_canonicalizer::to_vec(&Value::Object(covered)).expect("JSON");
            assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&expected));
            assert_eq!(plan.computed_digest(), crate::base::integrity::digest(&expected));
        }
    }
}
