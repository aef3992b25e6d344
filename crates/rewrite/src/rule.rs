//! Rules: how people write them, and what becomes of them for each language.

use std::collections::BTreeMap;

use ast_grep_config::{GlobalRules, RuleConfig, RuleConfigError, SerializableRuleConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::imports::Import;
use crate::language::{PatternLanguage, broken_pattern, with_contexts};
use crate::layout::Template;
use crate::matching::{self, Replacement, Rewritten};
use crate::whole::WholePatterns;
use crate::{Language, RewriteError, faults, imports};

/// A structural rule: what to find, and what to replace it with.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RewriteRule {
    /// The language; without it, that of each file, by its extension. Files of other languages are left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// What to find: an ast-grep rule object with `pattern`, `kind`, `regex`, `inside`, `has`, `follows`, `precedes`,
    /// `all`, `any`, `not` and `matches`. In patterns, `$NAME` stands for one node and `$$$NAME` for any number.
    pub rule: Map<String, Value>,
    /// Rules that the nodes of metavariables have to match, by the name of the metavariable.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub constraints: Map<String, Value>,
    /// Rules with names, for `matches`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub utils: Map<String, Value>,
    /// New metavariables, made of others by `replace`, `substring`, `convert` or `rewrite`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub transform: Map<String, Value>,
    /// Rules that `rewrite` transforms use, each with an `id`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewriters: Vec<Value>,
    /// The replacement of each match, with its metavariables: a text, or an object with `template`, `expandStart` and
    /// `expandEnd`. Without it, matches are only found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Value>,
    /// Imports that are added to and removed from the files that have a match.
    #[serde(default, skip_serializing_if = "Imports::is_empty")]
    pub imports: Imports,
}

/// Imports of the files that have a match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Imports {
    /// Import statements to add, unless they are there already.
    #[serde(default)]
    pub add: Vec<String>,
    /// Import statements to remove, if nothing in the file uses their names, or if one that is added has the same name.
    #[serde(default)]
    pub remove: Vec<String>,
}

impl Imports {
    fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }
}

/// Reason why a rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidRule {
    /// Something is not as rules have it.
    #[error("not a valid rule")]
    Form(#[source] serde_json::Error),
    /// The rule is not valid in its language, or in none at all.
    #[error("not a valid rule for {0:?}")]
    Rule(Language, #[source] Box<RuleConfigError>),
    /// A pattern with a syntax error, which nothing can match.
    #[error("the pattern `{0}` does not parse in {1:?}; write complete code, with `$NAME` for what varies")]
    Pattern(String, Language),
    /// A `fix` in several forms is for people to choose from.
    #[error("`fix` is a list; write a single replacement")]
    SeveralFixes,
    /// An import is none of the language.
    #[error(transparent)]
    Import(#[from] RewriteError),
    /// Nothing is found and nothing is changed.
    #[error("`imports` requires a `fix`")]
    ImportsAlone,
}

/// Rule that is ready to be applied.
pub struct Rewrite {
    rules: BTreeMap<Language, Compiled>,
}

struct Compiled {
    rule: RuleConfig<PatternLanguage>,
    replacement: Option<Replacement>,
    add: Vec<Import>,
    remove: Vec<Import>,
}

impl Rewrite {
    /// Compiles a rule: for its language, otherwise for all in which it is valid.
    pub fn new(rule: &RewriteRule) -> Result<Self, InvalidRule> {
        if rule.fix.is_none() && !rule.imports.is_empty() {
            return Err(InvalidRule::ImportsAlone);
        }
        if rule.fix.as_ref().is_some_and(Value::is_array) {
            return Err(InvalidRule::SeveralFixes);
        }
        let mut rules = BTreeMap::new();
        let mut failed = None;
        let languages = rule.language.map_or(Language::ALL.to_vec(), |language| vec![language]);
        for language in languages {
            match compile(rule, language) {
                Ok(compiled) => drop(rules.insert(language, compiled)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) if rules.is_empty() => Err(error),
            _ => Ok(Self { rules }),
        }
    }

    /// Returns the matches in a text, and the text with all of them replaced. A text without a match stays as it is.
    pub fn apply(&self, language: Language, text: &str) -> Result<Rewritten, RewriteError> {
        self.apply_until((language, ""), text, &|| false)
    }

    /// Does the same in a file of a name, whose imports other files may rely on, unless `stop` says that nobody waits any longer, which
    /// is asked before each node that could match: some rules take a time that grows with the square of the file.
    ///
    /// # Errors
    ///
    /// [`RewriteError::Stopped`], and what a file can be refused for.
    pub fn apply_until(
        &self,
        (language, file): (Language, &str),
        text: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Rewritten, RewriteError> {
        let Some(Compiled { rule, replacement, add, remove }) = self.rules.get(&language) else {
            return Err(RewriteError::OtherLanguage(language));
        };
        let (mut rewritten, mut parsed, places) =
            matching::rewrite(rule, replacement.as_ref(), (language, text), stop)?;
        if !rewritten.matches.is_empty() {
            let lines = |text: &str| text.matches('\n').count();
            let before = lines(&rewritten.text);
            let done = (rewritten.matches.as_slice(), places);
            imports::edit(&mut rewritten.text, &mut parsed, (language, file), (add, remove), done)?;
            // Imports stand above.
            let after = lines(&rewritten.text);
            for line in &mut rewritten.left {
                *line = (*line + after).saturating_sub(before).max(1);
            }
        }
        if rewritten.text != text {
            faults::check(&mut parsed, language, text, &rewritten.text)?;
        }
        Ok(rewritten)
    }

    /// Returns the languages in which the rule is valid.
    pub fn languages(&self) -> impl Iterator<Item = Language> + '_ {
        self.rules.keys().copied()
    }
}

fn compile(rule: &RewriteRule, language: Language) -> Result<Compiled, InvalidRule> {
    let form = as_ast_grep(rule, language);
    let mut compiled = parse(form.clone(), language)?;
    let fixer = std::mem::take(&mut compiled.fixer).into_iter().next();
    let replacement = fixer.zip(rule.fix.as_ref()).map(|(fixer, fix)| {
        let template = Template::new(fix, |name| rule.transform.contains_key(name));
        let mut form = form;
        with_contexts(&mut form, language);
        let sources =
            rule.transform.values().flat_map(|transform| transform.as_object().into_iter().flatten());
        let sources = sources.filter_map(|(_, form)| form["source"].as_str());
        let names: Vec<&str> = template
            .names()
            .into_iter()
            .chain(sources.map(|source| source.trim_start_matches('$')))
            .collect();
        let text = fix.get("template").unwrap_or(fix).as_str();
        let is_removed = text.is_some_and(|text| text.trim().is_empty());
        let whole = WholePatterns::new(&form, PatternLanguage(language), (&names, is_removed));
        Replacement { fixer, template, whole }
    });
    let imports =
        |all: &[String]| all.iter().map(|text| Import::parse(text, language)).collect::<Result<Vec<_>, _>>();
    let (add, remove) = (imports(&rule.imports.add)?, imports(&rule.imports.remove)?);
    Ok(Compiled { rule: compiled, replacement, add, remove })
}

fn parse(mut form: Value, language: Language) -> Result<RuleConfig<PatternLanguage>, InvalidRule> {
    let broken = broken_pattern(&form, language);
    with_contexts(&mut form, language);
    let form: SerializableRuleConfig<PatternLanguage> =
        serde_json::from_value(form).map_err(InvalidRule::Form)?;
    RuleConfig::try_from(form, &GlobalRules::default()).map_err(|error| match broken {
        Some(pattern) => InvalidRule::Pattern(pattern, language),
        None => InvalidRule::Rule(language, Box::new(error)),
    })
}

/// Returns the rule as ast-grep has it.
fn as_ast_grep(rule: &RewriteRule, language: Language) -> Value {
    let mut form = json!({ "id": "rule", "language": language, "rule": rule.rule });
    let mut set = |name: &str, value: Value, is_set: bool| {
        if is_set {
            form[name] = value;
        }
    };
    set("constraints", json!(rule.constraints), !rule.constraints.is_empty());
    set("utils", json!(rule.utils), !rule.utils.is_empty());
    set("transform", json!(rule.transform), !rule.transform.is_empty());
    set("rewriters", json!(rule.rewriters), !rule.rewriters.is_empty());
    set("fix", json!(rule.fix), rule.fix.is_some());
    form
}
