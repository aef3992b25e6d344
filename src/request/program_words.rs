//! Words of a command line that could name a program of the checkout, found by the shell's grammar in whatever spelling.

use std::collections::{BTreeMap, BTreeSet};

use super::program_loading::{dotted_paths, loader_of};
use super::program_tables::{self as tables, Interpreter};
use shell::{Analysis, Nesting, Simple, Word, analyse};

/// The variable that names folders in which Python looks for modules.
const MODULE_PATH: &str = "PYTHONPATH";

/// The folder in which packages for JavaScript are installed.
pub(super) const PACKAGES: &str = "node_modules";

/// What a command line names, as paths that need not exist.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramWords {
    /// Everything that may be a file or a folder.
    pub(super) names: BTreeSet<String>,
    /// What is run, or loaded as code; a folder stands for all that is in it.
    pub(super) programs: BTreeSet<String>,
    /// Programs without a path, which `PATH` leads to.
    pub(super) plain: BTreeSet<String>,
    /// Files that say what a program such as `make` is to run, in the folder that it is started in.
    pub(super) task_files: BTreeSet<&'static str>,
    /// Files that change what a program such as `npx` runs.
    pub(super) settings: BTreeSet<&'static str>,
    /// What a package manager is to run, which it downloads if it is not installed.
    pub(super) packages: BTreeSet<String>,
    /// Whether packages are loaded from `node_modules` by whatever name a program knows.
    pub(super) loads_packages: bool,
    /// Whether Python looks for modules in the folder that it is started in.
    pub(super) imports_from_start: bool,
    /// Whether Python leaves out the folder of its script when it looks for modules.
    pub(super) is_isolated: bool,
    /// Folders that variables such as `PYTHONPATH` name for modules.
    pub(super) import_folders: BTreeSet<String>,
    /// Programs that load files from where they start, without an argument that names them.
    pub(super) loaders: BTreeSet<String>,
    /// Programs that are started by their paths.
    pub(super) started: BTreeSet<String>,
    /// The first part that only a shell knows and that decides which program runs.
    pub(super) unclear_program: Option<String>,
    /// The first part that only a shell knows.
    pub(super) unclear: Option<String>,
}

impl ProgramWords {
    /// Reads a command line for the shell.
    pub(super) fn of_line(line: &str) -> Self {
        let analysis = analyse(line);
        let mut found = Self::default();
        found.names.extend(pieces(line));
        found.names.extend(pieces(&with_variables(line, |_| Some(" "))));
        for (index, command) in analysis.commands.iter().enumerate() {
            let next = analysis.commands.get(index + 1).map(|next| &next.place);
            found.add(command, &analysis, matches!(next, Some(Nesting::Wrapped(_))));
        }
        let unclear = analysis.unclear.or(analysis.dynamic);
        found.unclear_program = found.unclear_program.or(unclear);
        found.unclear = found.unclear.or_else(|| found.unclear_program.clone());
        // A word that is an option or stands for the folder itself names nothing.
        let is_name = |name: &String| !name.is_empty() && name != "." && name != "-";
        found.names.retain(is_name);
        found.programs.retain(is_name);
        found
    }

    /// Reads the words of a program that is started without a shell, and the variables that it gets.
    pub(super) fn of_words(words: &[String], variables: &BTreeMap<String, String>) -> Self {
        let Ok(line) = shlex::try_join(words.iter().map(String::as_str)) else {
            let unclear = Some("a NUL character".to_owned());
            return Self { unclear_program: unclear.clone(), unclear, ..Self::default() };
        };
        let mut found = Self::of_line(&line);
        found.names.extend(variables.values().flat_map(|value| spellings(value)));
        let folders = variables.get(MODULE_PATH).into_iter().flat_map(|path| path.split(':'));
        found.import_folders.extend(folders.map(str::to_owned));
        found
    }

    fn add(&mut self, command: &Simple, analysis: &Analysis, is_wrapper: bool) {
        for (name, value) in &command.assignments {
            if let Some(text) = value.text().filter(|_| name == MODULE_PATH) {
                self.import_folders.extend(text.split(':').map(str::to_owned));
            }
            self.note(value);
        }
        for word in &command.words {
            self.note(word);
        }
        let reads = command.redirects.iter().filter(|redirect| !redirect.writes);
        for redirect in reads.clone() {
            self.note(&redirect.target);
        }
        let Some(first) = command.words.first() else { return };
        let Some(program) = first.text() else { return self.run(first) };
        let is_module = matches!(&command.place, Nesting::Tool(by) if by == "python -m");
        if is_module {
            self.note_loading(program, command);
            return self.module(program);
        }
        if !is_wrapper {
            self.note_loading(program, command);
        }
        if !analysis.functions.iter().any(|function| function == program) {
            self.run(first);
        }
        let name = tables::common_name(program);
        if let Some(interpreter) = tables::interpreter(name) {
            self.interpreted(interpreter, command.arguments());
            // `sh < ci/x`, `cat ci/x | sh`
            reads.for_each(|redirect| self.run(&redirect.target));
            if let Some(from) = command.piped_from.and_then(|index| analysis.commands.get(index)) {
                from.words.iter().skip(1).filter(|word| !word.is_option()).for_each(|word| self.run(word));
            }
        }
        self.steered(name, command.arguments());
    }

    /// Notes what a program may load by itself, and the modules that its words may name (`uvicorn ci.m:app`).
    fn note_loading(&mut self, program: &str, command: &Simple) {
        let loader = loader_of(program);
        let words = command.arguments().iter().chain(command.assignments.iter().map(|(_, value)| value));
        let mut arguments: BTreeSet<String> =
            words.clone().filter_map(Word::text).flat_map(spellings).collect();
        arguments.extend(words.filter(|word| word.glob).filter_map(Word::text).map(before_glob));
        for [module, path] in arguments.iter().filter_map(|word| dotted_paths(word)) {
            if loader.is_some_and(|loader| loader.is_python) {
                self.programs.extend([module.clone(), path.clone()]);
            }
            self.names.extend([module, path]);
        }
        if let Some(loader) = loader {
            self.loaders.insert(program.to_owned());
            self.imports_from_start |= loader.is_python;
            self.programs.extend(arguments.iter().filter(|word| loader.is_code(word)).cloned());
        }
        if program.contains('/') {
            self.started.insert(program.to_owned());
        }
    }

    /// Notes a word that may name something, or several things.
    fn note(&mut self, word: &Word) {
        let Some(text) = word.text() else {
            self.unclear.get_or_insert_with(|| word.raw.clone());
            return;
        };
        if word.glob {
            self.names.insert(before_glob(text));
        }
        self.names.extend(spellings(text));
    }

    /// Notes a word that names what is run.
    fn run(&mut self, word: &Word) {
        match word.text() {
            None => drop(self.unclear_program.get_or_insert_with(|| word.raw.clone())),
            // Whatever it stands for, it is in the folder before it.
            Some(text) if word.glob => {
                let folder = before_glob(text);
                if folder.is_empty() {
                    self.unclear_program.get_or_insert_with(|| word.raw.clone());
                }
                self.programs.insert(folder);
            }
            Some(text) if text.contains('/') => drop(self.programs.insert(text.to_owned())),
            Some(text) => drop(self.plain.insert(text.to_owned())),
        }
    }

    /// Records what an interpreter is to run: its first operand, and those that may be values of unknown options.
    fn interpreted(&mut self, interpreter: &Interpreter, arguments: &[Word]) {
        let mut rest = arguments.iter();
        let mut may_be_value = false;
        let mut is_isolated = false;
        while let Some(word) = rest.next() {
            let Some(text) = word.text() else {
                self.run(word);
                return;
            };
            if text == "--" {
                may_be_value = false;
                continue;
            }
            let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
                if text == "-" {
                    break;
                }
                if interpreter.takes_scripts() {
                    self.script(interpreter, word, text);
                    if !may_be_value {
                        return;
                    }
                }
                may_be_value = false;
                continue;
            };
            is_isolated |= interpreter.isolates(option);
            self.is_isolated |= is_isolated;
            if interpreter.ends_options(option) {
                // What follows is a module or code, and no script.
                break;
            }
            if interpreter.loads(option)
                && let Some(next) = rest.clone().next()
            {
                let text = next.text().unwrap_or_default();
                self.script(interpreter, next, text);
                rest.next();
                continue;
            }
            may_be_value = interpreter.may_have_value(option);
        }
        self.imports_from_start |= interpreter.imports_from_start && !is_isolated;
    }

    fn script(&mut self, interpreter: &Interpreter, word: &Word, text: &str) {
        self.run(word);
        if !word.glob {
            self.programs.insert(text.to_owned());
            self.programs.extend(interpreter.endings.iter().map(|ending| format!("{text}{ending}")));
            self.settings.extend(interpreter.settings);
            self.loads_packages |= interpreter.settings.contains(&PACKAGES);
        }
    }

    /// Notes a Python module: a file or a package, and the packages around it.
    fn module(&mut self, name: &str) {
        let path = name.replace('.', "/");
        for (at, _) in path.match_indices('/') {
            self.programs.insert(format!("{}/__init__.py", &path[..at]));
        }
        self.programs.extend([format!("{path}.py"), path]);
        self.names.extend(name.split_once('.').map(|(package, _)| package.to_owned()));
    }

    fn steered(&mut self, name: &str, arguments: &[Word]) {
        let texts: Vec<&str> = arguments.iter().filter_map(Word::text).collect();
        let sub = texts.iter().copied().find(|text| !text.starts_with(['-', '+'])).unwrap_or_default();
        let Some(runner) = tables::runner(name, sub) else { return };
        self.task_files.extend(runner.task_files);
        self.settings.extend(runner.settings);
        if runner.settings.contains(&PACKAGES) {
            self.loads_packages |= runner.is_project;
            let operands = texts.iter().filter(|text| !text.starts_with('-'));
            self.packages.extend(operands.map(|&text| text.to_owned()));
        }
        if runner.names_folder && !sub.is_empty() {
            self.programs.insert(sub.to_owned());
        }
    }
}

/// Returns the folder before the first name that is a pattern; empty where that is the first of all.
fn before_glob(text: &str) -> String {
    let names = text.split('/').take_while(|name| !name.contains(['*', '?', '[', '{']));
    names.collect::<Vec<_>>().join("/")
}

/// Returns the names that a word may hold: itself, what an option in it is set to (`--file=x`, `-Cdir`), and the parts
/// of a list.
fn spellings(text: &str) -> Vec<String> {
    let mut found = vec![text.to_owned()];
    let value = text.split_once('=').map(|(_, value)| value);
    let attached = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let attached = attached.into_iter().flat_map(|rest| {
        // The letter of the option may stand behind others.
        rest.char_indices().skip(1).take(4).map(|(at, _)| &rest[at..])
    });
    for part in std::iter::once(text).chain(value).chain(attached) {
        found.push(part.to_owned());
        found.extend(part.split([':', ',', ';', '=', '@']).map(str::to_owned));
        // A value may be a line of its own: `NODE_OPTIONS='--require ./x'`.
        found.extend(part.split_whitespace().map(str::to_owned));
    }
    found
}

/// Splits a command line at everything that has a meaning for a shell, so that no spelling hides a name: of
/// `$GITHUB_WORKSPACE/ci/x`, it leaves `/ci/x`, and `ci/x`.
fn pieces(line: &str) -> impl Iterator<Item = String> {
    let is_operator = |c: char| c.is_whitespace() || ";&|()<>`\"'${}=,:\\".contains(c);
    let pieces = line.split(is_operator).filter(|piece| !piece.is_empty());
    pieces.flat_map(|piece| {
        [piece, piece.trim_start_matches('/'), piece.trim_start_matches('-')].map(str::to_owned)
    })
}

/// Returns a command line with the values of variables in their places; those of which nothing is known stay.
pub(super) fn with_variables<'v>(line: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('$') {
        replaced.push_str(before);
        let braced = after.strip_prefix('{');
        let named = braced.unwrap_or(after);
        let end = named.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(named.len());
        let (name, behind) = named.split_at(end);
        let behind = if braced.is_some() { behind.strip_prefix('}') } else { Some(behind) };
        if let (Some(value), Some(behind)) = (value(name).filter(|_| !name.is_empty()), behind) {
            replaced.push_str(value);
            rest = behind;
        } else {
            replaced.push('$');
            rest = after;
        }
    }
    replaced + rest
}

/// Returns the words of a text that is not a command line but holds some, such as a Makefile.
pub(super) fn words_of_text(text: &str) -> BTreeSet<String> {
    pieces(text).flat_map(|piece| [piece.trim_start_matches('@').to_owned(), piece]).collect()
}

#[cfg(test)]
mod tests;
