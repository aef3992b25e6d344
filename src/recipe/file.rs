//! Recipe files: the format in which people write recipes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use manifest::ManifestRule;
use rewrite::{Rewrite, RewriteRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use workspace::{Glob, WorkspacePath};

use super::arguments::Template;
use super::edit::Edit;
use super::problem::{Problem, RecipeError};
use crate::config::parse_as;
use crate::tool::known_in_some_run;

/// Largest recipe, in bytes.
pub const MAX_RECIPE: u64 = 10_000_000;

/// A deterministic refactor: steps, one after the other.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Its purpose, in one line.
    #[serde(default)]
    pub description: String,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// Examples of what it does and does not do, run by `architect-ci recipe test` and by a batch before it starts.
    #[serde(default)]
    pub tests: Vec<Example>,
}

/// An example: files before and after. A second run of the recipe must change nothing, and a file that parses
/// before must parse afterwards.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What it shows, in a few words.
    pub name: String,
    /// Contents of the files before, by path.
    pub before: BTreeMap<String, String>,
    /// Contents of the files that the recipe changes or adds. All others must stay unchanged.
    #[serde(default)]
    pub after: BTreeMap<String, String>,
    /// Files that the recipe deletes.
    #[serde(default)]
    pub deleted: Vec<String>,
    /// Whether a second run of the recipe is allowed to change something.
    #[serde(default)]
    pub repeats: bool,
}

/// Actions, done once or for each matching file.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Globs of the files for which the actions are done, as in `**/*.py`; if neither these nor `containing`
    /// is given, they are done once.
    #[serde(default)]
    pub files: Vec<String>,
    /// Globs of files to skip.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// A regular expression that at least one line of the file has to match.
    #[serde(default)]
    pub containing: Option<String>,
    /// A rule without `fix`, as in `rewrite`: a file with a match is skipped, and named in the report. What is done in several actions is
    /// so done in a file as a whole or not at all.
    #[serde(default)]
    pub unless: Option<RewriteRule>,
    /// What is done: each action for all files, then the next.
    #[serde(rename = "do")]
    pub actions: Vec<Action>,
}

/// One action: a call of a tool, `replace`, `rewrite` or `manifest`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// The tool's name, such as `edit_file`, `apply_patch` or `run_command`.
    #[serde(default)]
    pub tool: Option<String>,
    /// The tool's arguments. `{file}`, `{dir}`, `{name}` and `{stem}` stand for the file's path, folder,
    /// name, and name without extension; in a command they are quoted for the shell.
    #[serde(default)]
    pub with: Map<String, Value>,
    /// A replacement for every match of a regular expression in the file.
    #[serde(default)]
    pub replace: Option<Replace>,
    /// A structural replacement: a rule, in the syntax of ast-grep, over the syntax tree of the file. Files of other
    /// languages than the rule's are left alone.
    #[serde(default)]
    pub rewrite: Option<RewriteRule>,
    /// An edit of a TOML, JSON or YAML file that keeps its comments and layout.
    #[serde(default)]
    pub manifest: Option<ManifestRule>,
    /// Whether the recipe continues, without this file, if the action fails; otherwise it ends there.
    #[serde(default)]
    pub optional: bool,
}

/// A pattern and its replacement.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replace {
    /// A regular expression; `(?m)` makes `^` and `$` match at line ends.
    pub pattern: String,
    /// The replacement; `$1` or `${name}` is what a group matched, `$$` a dollar sign.
    pub with: String,
}

impl Recipe {
    /// Parses and validates a recipe. `file` is its name in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, RecipeError> {
        let recipe: Self = parse_as(text, file)?;
        recipe.check().map_err(|(place, problem)| RecipeError::Step {
            file: file.to_owned(),
            place,
            problem,
        })?;
        Ok(recipe)
    }

    fn check(&self) -> Result<(), (String, Problem)> {
        if self.steps.is_empty() {
            return Err(("steps".to_owned(), Problem::NoSteps));
        }
        for (index, step) in self.steps.iter().enumerate() {
            let here = format!("steps[{index}]");
            step.check().map_err(|problem| (here.clone(), problem))?;
            for (number, action) in step.actions.iter().enumerate() {
                action
                    .check(step.is_for_files())
                    .map_err(|problem| (format!("{here}.do[{number}]"), problem))?;
            }
        }
        let mut names = BTreeSet::new();
        for (index, example) in self.tests.iter().enumerate() {
            let here = format!("tests[{index}]");
            example.check().map_err(|problem| (here.clone(), problem))?;
            if !names.insert(&example.name) {
                return Err((here, Problem::SameName(example.name.clone())));
            }
        }
        Ok(())
    }

    /// Returns the maximum number of turns that following it takes.
    pub fn turns(&self) -> u32 {
        let actions: usize = self.steps.iter().map(|step| step.actions.len()).sum();
        u32::try_from(actions).unwrap_or(u32::MAX).saturating_add(1)
    }
}

impl Step {
    /// Returns `true` if the actions are done for each matching file.
    pub fn is_for_files(&self) -> bool {
        !self.files.is_empty() || self.containing.is_some()
    }

    fn check(&self) -> Result<(), Problem> {
        for glob in self.files.iter().chain(&self.exclude) {
            Glob::parse(glob)?;
        }
        if let Some(pattern) = &self.containing {
            super::select::containing(pattern).map_err(|source| Problem::Containing(Box::new(source)))?;
        }
        if !self.exclude.is_empty() && !self.is_for_files() {
            return Err(Problem::ExcludeAlone);
        }
        if let Some(rule) = &self.unless {
            if !self.is_for_files() {
                return Err(Problem::UnlessAlone);
            }
            if rule.fix.is_some() {
                return Err(Problem::UnlessFix);
            }
            Rewrite::new(rule).map_err(|error| Problem::Unless(Box::new(error)))?;
        }
        if self.actions.is_empty() { Err(Problem::NoActions) } else { Ok(()) }
    }
}

impl Example {
    fn check(&self) -> Result<(), Problem> {
        for path in self.before.keys().chain(self.after.keys()).chain(&self.deleted) {
            let path = WorkspacePath::parse(path)?;
            if path.as_str().split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
                return Err(Problem::GitFolder(path));
            }
        }
        let mut folders = self.before.keys().flat_map(|path| Path::new(path).ancestors().skip(1));
        let is_file = |folder: &&Path| folder.to_str().is_some_and(|path| self.before.contains_key(path));
        if let Some(both) = folders.find(is_file) {
            return Err(Problem::FileAndFolder(both.display().to_string()));
        }
        if self.before.is_empty() { Err(Problem::NoFilesBefore) } else { Ok(()) }
    }
}

impl Action {
    fn check(&self, for_files: bool) -> Result<(), Problem> {
        let given =
            [self.tool.is_some(), self.replace.is_some(), self.rewrite.is_some(), self.manifest.is_some()];
        if given.into_iter().filter(|is_given| *is_given).count() != 1 {
            return Err(Problem::OneOf);
        }
        if let Some(name) = &self.tool {
            known_in_some_run(name)
                .map_err(|unknown| Problem::UnknownTool { name: name.clone(), nearest: unknown.nearest })?;
            return Ok(Template::parse(name, &self.with).map(drop)?);
        }
        if !self.with.is_empty() {
            return Err(Problem::WithAlone);
        }
        if !for_files {
            return Err(Problem::NoFiles);
        }
        if self.rewrite.as_ref().is_some_and(|rule| rule.fix.is_none()) {
            return Err(Problem::NoFix);
        }
        Edit::of(self).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::chain;

    #[test]
    fn mistakes_are_named_with_their_place() {
        let error = |text: &str| chain(&Recipe::parse(text, "r.yml").expect_err("no recipe"));
        for (text, expected) in [
            ("steps: []\n", "r.yml: steps: there are no steps"),
            ("steps:\n- do: []\n", "r.yml: steps[0]: `do` is empty"),
            (
                "steps:\n- do: [{}]\n",
                "r.yml: steps[0].do[0]: set exactly one of `tool`, `replace`, `rewrite` and `manifest`",
            ),
            ("steps:\n- do: [{replace: {pattern: a, with: b}}]\n", "give the step `files`"),
            (
                "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: '(', with: b}}]\n",
                "invalid regular expression",
            ),
            (
                "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: '(\\w+)_old', with: '$1_new'}}]\n",
                "steps[0].do[0]: `replace.with` names the group `1_new`, which the pattern does not have; write `${1}_new`",
            ),
            ("steps:\n- files: ['[']\n  do: [{tool: grep}]\n", "invalid glob"),
            (
                "steps:\n- containing: '('\n  do: [{tool: grep}]\n",
                "invalid regular expression in `containing`",
            ),
            ("steps:\n- exclude: [a]\n  do: [{tool: grep}]\n", "`exclude` requires"),
            ("steps:\n- unless: {rule: {pattern: a}}\n  do: [{tool: grep}]\n", "`unless` requires"),
            (
                "steps:\n- files: [a]\n  unless: {rule: {pattern: a}, fix: b}\n  do: [{tool: grep}]\n",
                "steps[0]: `unless` has a `fix`",
            ),
            (
                "steps:\n- files: [a]\n  unless: {rule: {kind: nothing}, language: go}\n  do: [{tool: grep}]\n",
                "steps[0]: invalid `unless`: not a valid rule for Go",
            ),
            (
                "steps:\n- files: ['*.py']\n  do: [{rewrite: {rule: {kind: nothing}, fix: x, language: python}}]\n",
                "steps[0].do[0]: invalid `rewrite`: not a valid rule for Python",
            ),
            ("steps:\n- files: ['*.py']\n  do: [{rewrite: {rule: {pattern: a}}}]\n", "requires `fix`"),
            ("steps:\n- do: [{rewrite: {rule: {pattern: a}, fix: b}}]\n", "give the step `files`"),
            ("steps:\n- do: [{tool: grep}]\ntests: [{name: a, before: {}}]\n", "tests[0]: `before` is empty"),
            ("steps:\n- do: [{tool: grep}]\ntests: [{name: a, before: {../x: a}}]\n", "tests[0]: "),
            (
                "steps:\n- do: [{tool: grep}]\ntests: [{name: a, before: {x: a, x/y: b}}]\n",
                "tests[0]: x is both a file and a folder in `before`",
            ),
            (
                "steps:\n- do: [{tool: grep}]\ntests: [{name: a, before: {x: a}}, {name: a, before: {x: a}}]\n",
                "tests[1]: two tests are called \"a\"",
            ),
            (
                "steps:\n- do: [{tool: grep}]\ntests: [{name: a, before: {x/.git/config: a}}]\n",
                "tests[0]: x/.git/config is in a `.git` folder",
            ),
            (
                "steps:\n- do: [{tool: edit_fle}]\n",
                "steps[0].do[0]: unknown tool `edit_fle`; did you mean `edit_file`?",
            ),
            ("steps:\n- do: [{tool: frobnicate}]\n", "steps[0].do[0]: unknown tool `frobnicate`"),
            (
                "steps:\n- do: [{tool: bash, with: {cmd: 'sh -c \"lint {file}\"'}}]\n",
                "steps[0].do[0]: `{file}` is in quotes",
            ),
            ("steps:\n- do: [{manifest: {path: a, set: 1}}]\n", "give the step `files`"),
            (
                "steps:\n- files: ['*.toml']\n  do: [{manifest: {path: 'a[', set: 1}}]\n",
                "steps[0].do[0]: invalid `manifest`: invalid quotes or brackets",
            ),
            ("stpes: []\n", "did you mean `steps`?"),
        ] {
            assert!(error(text).contains(expected), "{text}\n{}", error(text));
        }
        assert!(
            Recipe::parse("steps:\n- do: [{tool: grep}, {tool: mcp_a_b}]\n", "r.yml")
                .is_ok_and(|it| it.turns() == 3)
        );
    }
}
