//! Arguments of a recipe's calls, with placeholders for the parts of a file's path: quoted where a shell reads them, and as
//! they are everywhere else.

use serde_json::{Map, Value};
use workspace::WorkspacePath;

use crate::base::command_template::{CommandTemplate, Dialect, MisplacedPlaceholder, operand};
use crate::base::template::{fill, path_part};
use crate::tool::command_dialect;

/// Placeholder for the whole path.
const FILE: &str = "file";

/// Arguments that a shell reads, whatever the tool.
const SHELL_ARGUMENTS: [&str; 2] = ["command", "script"];

/// Arguments of tools that run commands which no shell reads: folders, and variables, which the tool quotes.
const PLAIN_ARGUMENTS: [&str; 4] = ["cwd", "env", "environment", "env_vars"];

/// Arguments with placeholders.
pub(super) enum Template {
    Plain(Value),
    Command(CommandTemplate),
    Text(String),
    List(Vec<Template>),
    Object(Vec<(String, Template)>),
}

impl Template {
    /// Reads the arguments for a tool.
    pub(super) fn parse(tool: &str, arguments: &Map<String, Value>) -> Result<Self, MisplacedPlaceholder> {
        let dialect = command_dialect(tool);
        let field = |(name, value): (&String, &Value)| {
            let is_command = match dialect {
                Some(_) => !PLAIN_ARGUMENTS.contains(&name.as_str()),
                None => SHELL_ARGUMENTS.contains(&name.as_str()),
            };
            let dialect = is_command.then(|| dialect.unwrap_or(Dialect::Shell));
            Ok::<_, MisplacedPlaceholder>((name.clone(), Self::of(value, dialect)?))
        };
        Ok(Self::Object(arguments.iter().map(field).collect::<Result<_, _>>()?))
    }

    fn of(value: &Value, dialect: Option<Dialect>) -> Result<Self, MisplacedPlaceholder> {
        let is_placeholder = |name: &str| name == FILE || path_part("", name).is_some();
        Ok(match (value, dialect) {
            (Value::String(text), Some(dialect)) => {
                Self::Command(CommandTemplate::parse(text, dialect, is_placeholder)?)
            }
            (Value::String(text), None) => Self::Text(text.clone()),
            (Value::Array(items), _) => {
                Self::List(items.iter().map(|item| Self::of(item, dialect)).collect::<Result<_, _>>()?)
            }
            (Value::Object(map), _) => {
                let field = |(name, item): (&String, &Value)| {
                    let is_command = SHELL_ARGUMENTS.contains(&name.as_str());
                    let dialect = dialect.or_else(|| is_command.then_some(Dialect::Shell));
                    Ok::<_, MisplacedPlaceholder>((name.clone(), Self::of(item, dialect)?))
                };
                Self::Object(map.iter().map(field).collect::<Result<_, _>>()?)
            }
            (other, _) => Self::Plain(other.clone()),
        })
    }

    /// Returns the arguments with the parts of a file's path; without a file, placeholders are kept.
    pub(super) fn for_file(&self, file: Option<&WorkspacePath>) -> Value {
        let part = |name: &str| {
            let path = file?.as_str();
            Some(if name == FILE { path } else { path_part(path, name)? }.to_owned())
        };
        match self {
            Self::Plain(value) => value.clone(),
            Self::Command(line) => line.fill(|name| Some(vec![operand(&part(name)?).into_owned()])).into(),
            Self::Text(text) => fill(text, part).into(),
            Self::List(items) => items.iter().map(|item| item.for_file(file)).collect(),
            Self::Object(fields) => {
                fields.iter().map(|(name, item)| (name.clone(), item.for_file(file))).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_quoted_where_a_shell_reads_them_and_nowhere_else() {
        let file = WorkspacePath::parse("src/a b;$(x).py").expect("a path");
        let filled = |tool: &str, with: &Value, file: Option<&WorkspacePath>| {
            let template = Template::parse(tool, with.as_object().expect("an object"));
            template.map(|template| template.for_file(file))
        };
        for (tool, with, expected) in [
            (
                "run_command",
                json!({"command": "ruff {file}", "cwd": "{dir}", "env": {"N": "{name} {other}"}}),
                json!({"command": "ruff 'src/a b;$(x).py'", "cwd": "src", "env": {"N": "a b;$(x).py {other}"}}),
            ),
            ("run_command", json!({"cmd": "ruff {name}"}), json!({"cmd": "ruff 'a b;$(x).py'"})),
            ("bash", json!({"input": "ruff {name}"}), json!({"input": "ruff 'a b;$(x).py'"})),
            ("run_powershell", json!({"code": "lint {name}"}), json!({"code": "lint 'a b;$(x).py'"})),
            ("mcp_x_y", json!({"a": {"command": "x {stem}"}}), json!({"a": {"command": "x 'a b;$(x)'"}})),
            ("write_file", json!({"path": "{dir}/{stem}.txt"}), json!({"path": "src/a b;$(x).txt"})),
        ] {
            assert_eq!(filled(tool, &with, Some(&file)), Ok(expected), "{tool}");
            assert_eq!(filled(tool, &with, None), Ok(with.clone()), "{tool}");
        }
        let option = WorkspacePath::parse("-o.py").expect("a path");
        let told =
            filled("run_command", &json!({"command": "sort {file} {stem}", "cwd": "{name}"}), Some(&option));
        assert_eq!(told, Ok(json!({"command": "sort ./-o.py ./-o", "cwd": "-o.py"})));
        for with in [json!({"command": "ruff \"{file}\""}), json!({"cmd": "sh -c 'ruff {stem}'"})] {
            assert!(filled("run_command", &with, None).is_err(), "{with}");
        }
    }
}
