//! Restraints: arguments of other agents' tools by which a call would do less than ours does. To leave one out would do what the
//! model asked not to do, so each is obeyed, or the call is refused.

use serde_json::Value;

use super::Tool;
use super::arguments::Arguments;
use super::resolved_call::{UnresolvedCall, usage};

/// Words in the name of an argument that, if it is true, only tries the call.
const TRIES: [&str; 8] = ["dry", "dryrun", "preview", "simulate", "simulation", "pretend", "noop", "whatif"];
/// Whole names of such arguments.
const TRIES_BY_NAME: [&str; 9] = [
    "no_op",
    "what_if",
    "check_only",
    "validate_only",
    "plan_only",
    "diff_only",
    "test_only",
    "print_only",
    "no_write",
];
/// Words in the name of an argument that, if it is false, does not carry the call out.
const ACTS: [&str; 8] = ["apply", "execute", "perform", "persist", "write", "save", "commit", "inplace"];
/// Whole names of arguments that, if they are false, keep a call from something that ours does.
const ACTS_BY_NAME: [&str; 6] =
    ["in_place", "create_directories", "create_dirs", "create_parents", "make_dirs", "parents"];
/// Words in the name of an argument that, if it is false, keeps a file that is there.
const REPLACES: [&str; 2] = ["overwrite", "clobber"];
/// Whole names of arguments that, if they are true, keep a file that is there.
const KEEPS: [&str; 8] = [
    "create_only",
    "no_clobber",
    "no_overwrite",
    "fail_if_exists",
    "must_not_exist",
    "if_not_exists",
    "only_if_missing",
    "exclusive",
];

/// What the restraints of a call ask for.
#[derive(Default)]
pub(super) struct Restraints {
    /// The first argument that asks to change nothing.
    tries: Option<String>,
    /// The first argument that asks to keep a file that is there.
    keeps: Option<String>,
}

impl Restraints {
    /// Takes them out of the arguments of a call, and with them those of their names that restrain nothing.
    pub(super) fn take(arguments: &mut Arguments) -> Self {
        let mut found = Self::default();
        arguments.retain(|name, value| {
            let plain = name.trim_start_matches('-').replace('-', "_").to_lowercase();
            let has = |words: &[&str]| plain.split('_').any(|word| words.contains(&word));
            let tries = has(&TRIES) || TRIES_BY_NAME.contains(&plain.as_str());
            let acts = has(&ACTS) || ACTS_BY_NAME.contains(&plain.as_str());
            // `no_overwrite` is the opposite of `overwrite`.
            let keeps = KEEPS.contains(&plain.as_str());
            let replaces = has(&REPLACES) && !keeps;
            let is_known = tries || keeps || replaces || acts && is_no(value);
            if (tries && is_yes(value)) || (acts && is_no(value)) {
                found.tries.get_or_insert_with(|| name.clone());
            } else if (keeps && is_yes(value)) || (replaces && is_no(value)) {
                found.keeps.get_or_insert_with(|| name.clone());
            }
            // Anything but yes and no is for the tool to complain of.
            !(is_known && (is_yes(value) || is_no(value) || value.is_null()))
        });
        found
    }

    /// Obeys them in a call of a tool. The error says what to call instead.
    pub(super) fn obeyed(&self, tool: &dyn Tool, arguments: &mut Value) -> Result<(), UnresolvedCall> {
        if !tool.sensitive() {
            return Ok(());
        }
        let refused = |name: &str| {
            let call = match tool.name() {
                "replace_text" => {
                    "to see the places first, call grep(pattern=…, show=\"files\"); to replace them"
                        .to_owned()
                }
                _ => "to do it".to_owned(),
            };
            Err(UnresolvedCall(format!(
                "{} has no {name}, and nothing was done; {call}, leave it out: {}",
                tool.name(),
                usage(tool)
            )))
        };
        if let Some(name) = &self.tries {
            return refused(name);
        }
        match (&self.keeps, tool.name()) {
            // It never replaces a file.
            (None, _) | (Some(_), "move_file") => Ok(()),
            (Some(name), "write_file") => match arguments.as_object_mut() {
                Some(arguments) if arguments.get("mode").is_none_or(|mode| mode != "append") => {
                    arguments.insert("mode".to_owned(), Value::from("create"));
                    Ok(())
                }
                _ => refused(name),
            },
            (Some(name), _) => refused(name),
        }
    }
}

pub(super) fn is_yes(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "true" | "yes" | "1" | "on"),
        _ => false,
    }
}

fn is_no(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "false" | "no" | "0" | "off"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn restraints_are_found_by_name_and_value() {
        for (arguments, tries, keeps) in [
            (json!({"dry_run": true}), true, false),
            (json!({"dryrun": "True"}), true, false),
            (json!({"--dry-run": 1}), true, false),
            (json!({"preview_only": true}), true, false),
            (json!({"apply": false}), true, false),
            (json!({"execute_now": "false"}), true, false),
            (json!({"save": false}), true, false),
            (json!({"in_place": false}), true, false),
            (json!({"create_directories": false}), true, false),
            (json!({"inplace": 0}), true, false),
            (json!({"auto_commit": "no"}), true, false),
            (json!({"dry_run": false, "overwrite": true, "no_clobber": false}), false, false),
            (json!({"overwrite": false}), false, true),
            (json!({"overwrite_existing": 0}), false, true),
            (json!({"no_overwrite": true}), false, true),
            (json!({"fail_if_exists": true}), false, true),
        ] {
            let Value::Object(mut given) = arguments.clone() else { unreachable!("an object") };
            let found = Restraints::take(&mut given);
            assert_eq!((found.tries.is_some(), found.keeps.is_some()), (tries, keeps), "{arguments}");
            assert!(given.is_empty(), "{arguments}: {given:?}");
        }
        let Value::Object(mut others) = json!({"write": "text", "apply": true, "patch": "p"}) else {
            unreachable!("an object")
        };
        Restraints::take(&mut others);
        assert_eq!(others.len(), 3);
    }
}
