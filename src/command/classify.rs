//! How dangerous a command line is: as dangerous as the worst of its commands.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::analysis::{Analysis, Place, Redirect, Simple, Word};
use super::policy::OwnCommands;
use super::table::{self, Operands, Rule};

/// The class of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// It looks at things.
    Safe,
    /// It builds, tests, formats: it runs the project's own code.
    Dev,
    /// Anything else.
    Dangerous,
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Safe => "safe",
            Self::Dev => "dev",
            Self::Dangerous => "dangerous",
        })
    }
}

/// A class and what decided it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The class.
    pub class: Class,
    /// The part of the line that decided; empty where there is nothing to say.
    pub reason: String,
}

/// Variables by which a command would load or run something else.
const VARIABLES: &str = "PATH IFS BASH_ENV ENV PS4 PROMPT_COMMAND SHELL SHELLOPTS BASHOPTS CDPATH PAGER MANPAGER LESSOPEN LESSCLOSE EDITOR VISUAL BROWSER PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT NODE_OPTIONS NODE_PATH RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC RUSTFLAGS CARGO_HOME PERL5OPT PERL5LIB PERLLIB RUBYOPT RUBYLIB GEM_HOME JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS CC CXX LD AR GOFLAGS GOROOT HOME";

/// Starts of names of such variables.
const VARIABLE_STARTS: [&str; 8] =
    ["LD_", "DYLD_", "GIT_", "BASH_FUNC_", "npm_config_", "NPM_CONFIG_", "CARGO_TARGET_", "PIP_"];

pub(super) fn is_loader(name: &str) -> bool {
    VARIABLES.split(' ').any(|known| known == name)
        || VARIABLE_STARTS.iter().any(|start| name.starts_with(start))
}

/// Where a line would run, and what the configuration says of commands.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The checkout; absolute paths below it count as the workspace's.
    pub(super) root: &'a Path,
    /// Levels of the line's folder below the root.
    pub(super) depth: i32,
    /// Commands that the configuration classifies.
    pub(super) own: &'a OwnCommands,
}

/// Classifies a line.
pub(super) fn classify(analysis: &Analysis, scope: Scope<'_>) -> Verdict {
    if let Some(reason) = &analysis.unclear {
        return dangerous(reason.clone());
    }
    let mut worst = Verdict { class: Class::Safe, reason: String::new() };
    for simple in &analysis.commands {
        let verdict = Judge { analysis, simple, scope }.verdict();
        if verdict.class > worst.class {
            worst = verdict;
        }
    }
    worst
}

fn dangerous(reason: String) -> Verdict {
    Verdict { class: Class::Dangerous, reason }
}

struct Judge<'a> {
    analysis: &'a Analysis,
    simple: &'a Simple,
    scope: Scope<'a>,
}

impl Judge<'_> {
    fn verdict(&self) -> Verdict {
        let checked = self.assignments().and_then(|()| self.program());
        let (class, reason) = match checked {
            Ok(verdict) => verdict,
            Err(reason) => return dangerous(format!("{reason}{}", self.simple.place)),
        };
        match self.redirects() {
            Err(reason) => dangerous(format!("{reason}{}", self.simple.place)),
            Ok(true) if class == Class::Safe => {
                Verdict { class: Class::Dev, reason: "it writes to a file".to_owned() }
            }
            Ok(_) => Verdict { class, reason },
        }
    }

    fn assignments(&self) -> Result<(), String> {
        match self.simple.assignments.iter().find(|(name, _)| is_loader(name)) {
            Some((name, _)) => Err(format!("it sets {name}, which decides what is loaded or run")),
            None => Ok(()),
        }
    }

    /// Whether a file is written.
    fn redirects(&self) -> Result<bool, String> {
        let mut writes = false;
        for Redirect { target, writes: writing } in &self.simple.redirects {
            if target.text().is_some_and(|text| STREAMS.contains(&text)) {
                continue;
            }
            self.inside(target).map_err(|reason| format!("the redirect to {reason}"))?;
            writes |= writing;
        }
        Ok(writes)
    }

    fn program(&self) -> Result<(Class, String), String> {
        let Some(first) = self.simple.words.first() else { return Ok((Class::Safe, String::new())) };
        let Some(name) = first.text().filter(|_| !first.glob || matches!(first.raw.as_str(), "[" | "[["))
        else {
            return Err(format!("the command name {} is decided at run time", first.raw));
        };
        if self.analysis.functions.iter().any(|function| function == name) {
            // Its body is judged where it is defined; but one that calls functions may never end.
            if self.simple.place == Place::Function {
                return Err(format!("the function {name} is called"));
            }
            return Ok((Class::Safe, String::new()));
        }
        if let Some(class) = self.scope.own.class(self.simple) {
            return Ok((class, reason(name, class)));
        }
        let not_allowed = || format!("'{name}' is not an allowed command");
        let known = table::known_name(name).ok_or_else(not_allowed)?;
        let is_in = |list: &str, word: &str| list.split(' ').any(|item| item == word);
        let arguments = self.simple.arguments();
        if let [only] = arguments {
            let asks = only.text().is_some_and(|text| is_in(table::VERSION_OPTIONS, text));
            if asks && is_in(table::VERSIONED, known) && (known != "python" || only.text() != Some("version"))
            {
                return Ok((Class::Safe, String::new()));
            }
        }
        if table::is_wrapper(known) {
            return wrapper(known, arguments);
        }
        if table::is_shell(known) {
            return shell(known, arguments);
        }
        match known {
            "python" | "python3" => return self.python(arguments),
            "node" => return node(arguments),
            "pip" | "pip3" if arguments.first().and_then(Word::text) == Some("install") => {
                return self.pip_install(arguments);
            }
            _ => {}
        }
        let rule = table::find(known).ok_or_else(not_allowed)?;
        self.rule(known, rule, arguments)
    }

    fn rule(&self, name: &str, rule: &Rule, arguments: &[Word]) -> Result<(Class, String), String> {
        let at = arguments.iter().position(|word| !word.is_option());
        let own = if rule.subs.is_empty() { arguments } else { &arguments[..at.unwrap_or(arguments.len())] };
        options(name, rule, own)?;
        if !rule.subs.is_empty() {
            let Some(at) = at else {
                // `yarn` alone installs, `git` alone shows its help.
                return Ok((rule.class, reason(name, rule.class)));
            };
            let word = arguments[at]
                .text()
                .ok_or_else(|| format!("the sub-command of {name} is decided at run time"))?;
            let sub = rule.subs.iter().find(|sub| sub.is_named(word));
            let sub = sub.ok_or_else(|| format!("'{name} {word}' is not an allowed command"))?;
            return self.rule(&format!("{name} {word}"), sub, &arguments[at + 1..]);
        }
        self.operands(name, rule, arguments)?;
        Ok((rule.class, reason(name, rule.class)))
    }

    fn operands(&self, name: &str, rule: &Rule, arguments: &[Word]) -> Result<(), String> {
        let operands: Vec<&Word> = arguments.iter().filter(|word| !word.is_option()).collect();
        let files = match rule.operands {
            Operands::Any => return Ok(()),
            Operands::Files | Operands::One => &operands[..],
            Operands::PatternThenFiles => operands.get(1..).unwrap_or_default(),
            Operands::None => {
                return match operands.first() {
                    Some(word) => Err(format!("'{name}' with {} is not allowed", word.raw)),
                    None => Ok(()),
                };
            }
        };
        if rule.operands == Operands::One && files.len() > 1 {
            return Err(format!("'{name}' writes to its second file"));
        }
        // What an option is given by `=` may be a file as well.
        for word in arguments.iter().filter(|word| word.is_option()) {
            let value = word.text().and_then(|text| text.split_once('=')).map(|(_, value)| value);
            if value.is_some_and(|value| leads_outside(value, self.scope)) {
                return Err(format!("{} of {name} lies outside of the workspace", word.raw));
            }
        }
        for word in files {
            self.inside(word).map_err(|reason| format!("{reason} (read by {name})"))?;
        }
        Ok(())
    }

    /// The word names something in the workspace.
    fn inside(&self, word: &Word) -> Result<(), String> {
        match word.text() {
            None => Err(format!("{} is decided at run time", word.raw)),
            Some(text) if leads_outside(text, self.scope) => {
                Err(format!("{} lies outside of the workspace", word.raw))
            }
            Some(_) => Ok(()),
        }
    }

    fn python(&self, arguments: &[Word]) -> Result<(Class, String), String> {
        let texts: Vec<Option<&str>> = arguments.iter().map(Word::text).collect();
        match texts.as_slice() {
            [Some("-m"), Some(module), ..]
                if table::PYTHON_MODULES.split(' ').any(|known| known == *module) =>
            {
                Ok((Class::Dev, reason(&format!("python -m {module}"), Class::Dev)))
            }
            [Some("-m"), Some("pip"), ..] => {
                let words: Vec<Word> = arguments[1..].to_vec();
                let simple = Simple { words, ..self.simple.clone() };
                Judge { simple: &simple, ..*self }.program()
            }
            [Some("-m"), Some(module), ..] => Err(format!("'python -m {module}' is not an allowed command")),
            [Some("-c"), ..] => Err("'python -c' runs code that is given as text".to_owned()),
            _ => Err("'python' runs a script or code that is not known".to_owned()),
        }
    }

    /// `pip install` of what a file of the workspace lists, or of the workspace itself.
    fn pip_install(&self, arguments: &[Word]) -> Result<(Class, String), String> {
        let mut rest = arguments[1..].iter();
        let mut listed = false;
        while let Some(word) = rest.next() {
            match word.text() {
                Some("-r" | "--requirement" | "-e" | "--editable" | "-c" | "--constraint") => {
                    let file = rest.next().ok_or("'pip install' without a file")?;
                    self.inside(file).map_err(|reason| format!("{reason} (read by pip)"))?;
                    if file.text().is_some_and(|text| text.contains("://")) {
                        return Err("'pip install' from an address is not allowed".to_owned());
                    }
                    listed |= word.text() != Some("-c");
                }
                Some(
                    "-q"
                    | "--quiet"
                    | "-U"
                    | "--upgrade"
                    | "--no-deps"
                    | "--no-cache-dir"
                    | "--disable-pip-version-check",
                ) => {}
                _ => return Err(format!("'pip install' with {} is not allowed", word.raw)),
            }
        }
        if listed {
            Ok((Class::Dev, reason("pip install", Class::Dev)))
        } else {
            Err("'pip install' needs -r or -e".to_owned())
        }
    }
}

/// No option is one that the rule denies, and none is unknown where that matters.
fn options(name: &str, rule: &Rule, arguments: &[Word]) -> Result<(), String> {
    if rule.deny.is_empty() {
        return Ok(());
    }
    for word in arguments {
        let Some(text) = word.text() else {
            if rule.class == Class::Safe {
                return Err(format!("the argument {} of {name} is decided at run time", word.raw));
            }
            continue;
        };
        if text == "--" {
            break;
        }
        if let Some(denied) = rule.deny.split(' ').find(|denied| is_option(text, denied)) {
            return Err(format!("'{name} {denied}' is not allowed"));
        }
    }
    Ok(())
}

fn wrapper(name: &str, arguments: &[Word]) -> Result<(Class, String), String> {
    if name == "sudo" || name == "doas" {
        return Err(format!("'{name}' is not an allowed command"));
    }
    for word in arguments {
        let Some(text) = word.text() else { continue };
        if name == "env" && table::is_assignment(text) {
            let (variable, _) = text.split_once('=').unwrap_or((text, ""));
            if is_loader(variable) {
                return Err(format!("it sets {variable}, which decides what is loaded or run"));
            }
        }
        if name == "xargs" && (is_option(text, "-a") || is_option(text, "--arg-file")) {
            return Err("'xargs -a' is not allowed".to_owned());
        }
    }
    // What it runs is judged by itself.
    Ok((Class::Safe, String::new()))
}

fn shell(name: &str, arguments: &[Word]) -> Result<(Class, String), String> {
    // The script after `-c` is judged by itself; a script file is not known.
    let script = arguments.iter().any(|word| {
        word.text().is_some_and(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('c'))
    });
    if script {
        Ok((Class::Safe, String::new()))
    } else {
        Err(format!("'{name}' runs a script that is not known"))
    }
}

fn node(arguments: &[Word]) -> Result<(Class, String), String> {
    let test = arguments.first().and_then(Word::text) == Some("--test");
    let inline = arguments.iter().filter_map(Word::text).any(|text| {
        ["-e", "--eval", "-p", "--print", "-r", "--require", "--import", "--loader", "--experimental-loader"]
            .iter()
            .any(|denied| is_option(text, denied))
    });
    if test && !inline {
        Ok((Class::Dev, reason("node --test", Class::Dev)))
    } else {
        Err("'node' runs a script or code that is not known".to_owned())
    }
}

fn reason(name: &str, class: Class) -> String {
    match class {
        Class::Safe => String::new(),
        _ => format!("'{name}' runs the project's own code"),
    }
}

/// Whether a word is an option: itself, with a value by `=`, in a cluster of short ones, or cut short.
fn is_option(word: &str, option: &str) -> bool {
    if word == option {
        return true;
    }
    let name = word.split('=').next().unwrap_or(word);
    if let Some(long) = option.strip_prefix("--") {
        // GNU programs take the start of a long option for the whole.
        return name.strip_prefix("--").is_some_and(|name| name.len() >= 3 && long.starts_with(name));
    }
    let letter = option.strip_prefix('-').filter(|letter| letter.chars().count() == 1);
    match letter {
        Some(letter) => {
            word.starts_with('-')
                && !word.starts_with("--")
                && word[1..].contains(letter)
                && !word[1..].starts_with(|c: char| c.is_ascii_digit())
        }
        None => name == option || name.strip_prefix('-').is_some_and(|name| name == option),
    }
}

/// Names of what a command has open anyway, and of nothing.
const STREAMS: [&str; 5] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Whether a path, as written, leaves the workspace. Links are the sandbox's business.
fn leads_outside(text: &str, scope: Scope<'_>) -> bool {
    if STREAMS.contains(&text) || text.starts_with("/dev/fd/") {
        return false;
    }
    if text.starts_with('~') || text.contains("://") {
        return true;
    }
    let (mut depth, path) = match text.strip_prefix('/') {
        Some(_) => match Path::new(text).strip_prefix(scope.root).ok().and_then(Path::to_str) {
            Some(below) => (0, below),
            None => return true,
        },
        None => (scope.depth, text),
    };
    // A brace list may hide a way out: `{..,a}/x`.
    if path.contains("..") && path.contains('{') {
        return true;
    }
    path.split('/').any(|name| {
        depth += match name {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth < 0
    }) || path.contains("{/")
        || path.contains(",/")
}
