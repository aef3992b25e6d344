//! Walk through the syntax tree to simple commands, including everything that contains or runs another
//! command.

use brush_parser::ast::{
    AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, ExtendedTestExpr, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect,
    Pipeline, SeparatorOperator, SimpleCommand, Word as AstWord,
};
use brush_parser::{Parser, ParserOptions};

use super::word::{Variables, Word, WordParts, read};
use super::{Analysis, Nesting, Redirect, Simple, guarded, has_parentheses_apart, nesting};

/// Maximum depth of scripts within scripts.
const MAX_NESTING: usize = 12;
/// Maximum number of commands in one line.
const MAX_COMMANDS: usize = 500;

/// Builtins that give variables values that the line does not show.
const SETTERS: [&str; 12] = [
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "declare",
    "typeset",
    "local",
    "unset",
    "let",
    "eval",
    "source",
    ".",
];

fn sets_variables(simple: &Simple) -> bool {
    simple.name().is_some_and(|name| {
        let first = || simple.arguments().first().and_then(Word::text);
        SETTERS.contains(&name) || name == "printf" && first().is_none_or(|text| text.starts_with("-v"))
    })
}

/// The state of the walk through a command line.
#[derive(Default)]
pub(crate) struct Walk {
    pub(super) analysis: Analysis,
    variables: Variables,
    nesting: usize,
    /// Whether parentheses are separated by spaces anywhere: the parser takes `( ( ls ) )` for arithmetic.
    apart: bool,
}

impl Walk {
    /// Parses a script and walks through it.
    pub(super) fn script(&mut self, text: &str, place: &Nesting) {
        if self.nesting >= MAX_NESTING {
            return self.unclear("scripts are nested too deeply");
        }
        if let Err(reason) = nesting(text) {
            return self.unclear(&reason.to_string());
        }
        let parse = || Parser::new(text.as_bytes(), &ParserOptions::default()).parse_program();
        let program = guarded(parse);
        self.nesting += 1;
        self.apart |= has_parentheses_apart(text);
        match program {
            Some(Ok(program)) => program.complete_commands.iter().for_each(|list| self.list(list, place)),
            Some(Err(_)) | None => self.unclear("it cannot be parsed"),
        }
        self.nesting -= 1;
    }

    fn unclear(&mut self, reason: &str) {
        self.analysis.unclear.get_or_insert_with(|| reason.to_owned());
    }

    fn dynamic(&mut self, reason: &str) {
        self.analysis.dynamic.get_or_insert_with(|| reason.to_owned());
    }

    fn list(&mut self, list: &CompoundList, place: &Nesting) {
        for item in &list.0 {
            self.analysis.is_detached |= matches!(item.1, SeparatorOperator::Async);
            self.and_or(&item.0, place);
        }
    }

    fn and_or(&mut self, list: &AndOrList, place: &Nesting) {
        self.pipeline(&list.first, place);
        for next in &list.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
            self.pipeline(pipeline, place);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, place: &Nesting) {
        let mut source = None;
        for command in &pipeline.seq {
            let first = self.analysis.commands.len();
            self.command(command, place);
            for simple in &mut self.analysis.commands[first..] {
                simple.piped_from = simple.piped_from.or(source);
            }
            source = self.analysis.commands.len().checked_sub(1).filter(|last| *last >= first).map(|_| first);
        }
    }

    fn command(&mut self, command: &Command, place: &Nesting) {
        match command {
            Command::Simple(simple) => self.simple(simple, place),
            Command::Compound(compound, redirects) => {
                self.compound(compound, place);
                self.redirects_alone(redirects.as_ref().map_or(&[], |list| &list.0), place);
            }
            Command::Function(function) => {
                self.analysis.functions.push(function.fname.value.clone());
                self.compound(&function.body.0, &Nesting::Function);
                self.redirects_alone(function.body.1.as_ref().map_or(&[], |list| &list.0), place);
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr);
                self.redirects_alone(redirects.as_ref().map_or(&[], |list| &list.0), place);
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand, place: &Nesting) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, place),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list, place),
            CompoundCommand::ForClause(clause) => {
                let values: Vec<Word> =
                    clause.values.iter().flatten().map(|value| self.word(value)).collect();
                let first = values.first().cloned().unwrap_or_else(|| Word::known(""));
                self.sets(clause.variable_name.clone(), first, place);
                self.variables.insert(clause.variable_name.clone(), values);
                self.list(&clause.body.list, place);
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.text(&part.value);
                }
                self.list(&clause.body.list, place);
            }
            CompoundCommand::Arithmetic(arithmetic) => {
                self.text(&arithmetic.expr.value);
                if self.apart {
                    self.script(&arithmetic.expr.value, place);
                }
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value);
                for case in &clause.cases {
                    case.patterns.iter().for_each(|pattern| drop(self.word(pattern)));
                    if let Some(list) = &case.cmd {
                        self.list(list, place);
                    }
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition, place);
                self.list(&clause.then, place);
                for branch in clause.elses.iter().flatten() {
                    if let Some(condition) = &branch.condition {
                        self.list(condition, place);
                    }
                    self.list(&branch.body, place);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0, place);
                self.list(&clause.1.list, place);
            }
            CompoundCommand::Coprocess(_) => self.unclear("it starts a coprocess"),
        }
    }

    /// Adds an assignment that the grammar makes, rather than a command.
    fn sets(&mut self, name: String, value: Word, place: &Nesting) {
        let (words, redirects) = (Vec::new(), Vec::new());
        let assignments = vec![(name, value)];
        self.analysis.commands.push(Simple {
            words,
            assignments,
            redirects,
            place: place.clone(),
            piped_from: None,
        });
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(a, b) | ExtendedTestExpr::Or(a, b) => {
                self.test(a);
                self.test(b);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => drop(self.word(word)),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(left);
                self.word(right);
            }
        }
    }

    fn simple(&mut self, command: &SimpleCommand, place: &Nesting) {
        if self.analysis.commands.len() >= MAX_COMMANDS {
            return self.unclear("it results in too many commands");
        }
        let mut simple = Simple {
            words: Vec::new(),
            assignments: Vec::new(),
            redirects: Vec::new(),
            place: place.clone(),
            piped_from: None,
        };
        // Reserved now, so that commands inside its words follow it.
        let index = self.analysis.commands.len();
        self.analysis.commands.push(simple.clone());
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut simple);
        }
        if let Some(name) = &command.word_or_name {
            let name = self.word(name);
            simple.words.push(name);
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut simple);
        }
        if simple.words.is_empty() {
            for (name, value) in &simple.assignments {
                self.variables.insert(name.clone(), vec![value.clone()]);
            }
        }
        if sets_variables(&simple) {
            // The values that variables had are no longer certain.
            self.variables.clear();
        }
        self.analysis.commands[index] = simple.clone();
        crate::wrappers::unwrap(&simple, self);
    }

    /// Adds a command that another one runs.
    pub(crate) fn wrapped(&mut self, words: &[Word], by: &str) {
        self.inner(words, Nesting::Wrapped(by.to_owned()));
    }

    /// Adds a project's tool that a runner starts.
    pub(crate) fn tool(&mut self, words: &[Word], by: &str) {
        self.inner(words, Nesting::Tool(by.to_owned()));
    }

    fn inner(&mut self, words: &[Word], place: Nesting) {
        if self.nesting >= MAX_NESTING || self.analysis.commands.len() >= MAX_COMMANDS {
            return self.unclear("commands are nested too deeply");
        }
        let simple = Simple {
            words: words.to_vec(),
            assignments: Vec::new(),
            redirects: Vec::new(),
            place,
            piped_from: None,
        };
        self.analysis.commands.push(simple.clone());
        self.nesting += 1;
        crate::wrappers::unwrap(&simple, self);
        self.nesting -= 1;
    }

    /// Walks through a script that a command is given as text; `None` if it is composed at run time.
    pub(crate) fn eval(&mut self, script: Option<&str>, by: &str) {
        match script {
            Some(text) => self.script(text, &Nesting::Script(by.to_owned())),
            None => self.dynamic(&format!("the script for {by} is constructed at run time")),
        }
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, simple: &mut Simple) {
        match item {
            CommandPrefixOrSuffixItem::Word(word) => {
                let word = self.word(word);
                simple.words.push(word);
            }
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                self.assignment(assignment, simple);
                // For `export` and `env`, the assignment is an argument.
                if !simple.words.is_empty() {
                    let word = self.word(word);
                    simple.words.push(word);
                }
            }
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                let redirect = self.redirect(redirect);
                simple.redirects.extend(redirect);
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                self.list(&subshell.list, &Nesting::ProcessSubstitution);
                simple.words.push(Word::known("/dev/fd/63"));
            }
        }
    }

    fn assignment(&mut self, assignment: &Assignment, simple: &mut Simple) {
        let (AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _)) =
            &assignment.name;
        let values: Vec<&AstWord> = match &assignment.value {
            AssignmentValue::Scalar(value) => vec![value],
            AssignmentValue::Array(items) => {
                items.iter().flat_map(|(index, value)| index.iter().chain([value])).collect()
            }
        };
        for value in values {
            let value = self.word(value);
            simple.assignments.push((name.clone(), value));
        }
    }

    fn redirects_alone(&mut self, redirects: &[IoRedirect], place: &Nesting) {
        let redirects: Vec<Redirect> =
            redirects.iter().filter_map(|redirect| self.redirect(redirect)).collect();
        if !redirects.is_empty() {
            let (words, assignments, place) = (Vec::new(), Vec::new(), place.clone());
            self.analysis.commands.push(Simple { words, assignments, redirects, place, piped_from: None });
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect) -> Option<Redirect> {
        match redirect {
            IoRedirect::File(_, kind, target) => {
                let writes = !matches!(kind, IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput);
                match target {
                    IoFileRedirectTarget::Filename(word) => {
                        Some(Redirect { target: self.word(word), writes })
                    }
                    IoFileRedirectTarget::Fd(_) => None,
                    IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                        self.list(&subshell.list, &Nesting::ProcessSubstitution);
                        None
                    }
                    // `>&2` and `2>&-` copy or close; `>&file` writes.
                    IoFileRedirectTarget::Duplicate(word) => {
                        let target = self.word(word);
                        let copies = target
                            .text()
                            .is_some_and(|text| text.chars().all(|c| c.is_ascii_digit() || c == '-'));
                        (!copies).then_some(Redirect { target, writes })
                    }
                }
            }
            IoRedirect::OutputAndError(word, _) => Some(Redirect { target: self.word(word), writes: true }),
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.text(&document.doc.value);
                }
                None
            }
            IoRedirect::HereString(_, word) => {
                self.word(word);
                None
            }
        }
    }

    fn word(&mut self, word: &AstWord) -> Word {
        self.text(&word.value)
    }

    /// Parses a word and walks through the scripts in it.
    fn text(&mut self, raw: &str) -> Word {
        let mut found = WordParts::default();
        let word = read(raw, &self.variables, &mut found);
        if let Some(reason) = found.unclear {
            self.unclear(&reason);
        }
        // Arithmetic runs substitutions in an index, wherever the text came from.
        let indexed = |text: &str| {
            text.split_once('[').is_some_and(|(_, rest)| rest.contains("$(") || rest.contains('`'))
        };
        if word.text().is_some_and(indexed) {
            self.dynamic(&format!("{raw} may be evaluated as an index"));
        }
        if let Some(reason) = found.dynamic {
            self.dynamic(&reason);
        }
        for script in found.scripts {
            self.script(&script, &Nesting::Substitution);
        }
        if self.nesting >= MAX_NESTING {
            self.unclear("expansions are nested too deeply");
            return word;
        }
        self.nesting += 1;
        for inner in found.words {
            self.text(&inner);
        }
        self.nesting -= 1;
        word
    }
}
