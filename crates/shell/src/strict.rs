//! Classification without a sandbox: whatever no row of the table knows to be harmless is dangerous.

use super::analysis::{Analysis, Nesting, Redirect, Simple, Word};
use super::class::Class;
use super::classify::{Scope, Verdict};
use super::options::{is_in, is_option};
use super::place::{is_stream, leads_outside};
use super::refusal::{Refusal, WayOut};
use super::table::{self, Operands, Rule};
use super::variables::is_loader;
use super::wrappers::{self, Script};
use super::{builtins, reach};

/// A class with its reason, or a refusal.
type Known = Result<(Class, String), Refusal>;

/// Refuses a line that defines functions.
pub(super) fn functions(analysis: &Analysis) -> Verdict {
    match analysis.functions.first() {
        // What the name then stands for is decided while the line runs.
        Some(name) => Refusal::new(format!("it defines the function {name}"), WayOut::InParts).into(),
        None => Verdict::safe(),
    }
}

/// Classifies one command of a line.
pub(super) fn verdict(analysis: &Analysis, simple: &Simple, scope: Scope<'_>) -> Verdict {
    Judge { analysis, simple, scope }.verdict()
}

/// Returns the class of a program with its arguments by the table alone, or `None` if it is refused.
pub(super) fn class(analysis: &Analysis, simple: &Simple, scope: Scope<'_>) -> Option<Class> {
    Judge { analysis, simple, scope }.program().ok().map(|(class, _)| class)
}

struct Judge<'a> {
    analysis: &'a Analysis,
    simple: &'a Simple,
    scope: Scope<'a>,
}

impl Judge<'_> {
    fn verdict(&self) -> Verdict {
        let judged =
            self.assignments().and_then(|()| self.program()).and_then(|known| Ok((known, self.redirects()?)));
        match judged {
            Err(refusal) => refusal.map(|reason| format!("{reason}{}", self.simple.place)).into(),
            Ok(((Class::Safe, _), true)) => Verdict::new(Class::Dev, "it writes to a file"),
            Ok(((class, reason), _)) => Verdict::new(class, reason),
        }
    }

    fn assignments(&self) -> Result<(), Refusal> {
        match self.simple.assignments.iter().find(|(name, _)| is_loader(name)) {
            Some((name, _)) => Err(Refusal::loader(name)),
            None => Ok(()),
        }
    }

    /// Checks the redirects. Returns whether one of them writes to a file.
    fn redirects(&self) -> Result<bool, Refusal> {
        let mut writes = false;
        for Redirect { target, writes: writing } in &self.simple.redirects {
            if target.text().is_some_and(is_stream) {
                continue;
            }
            self.inside(target)
                .map_err(|refusal| refusal.map(|reason| format!("the redirect to {reason}")))?;
            writes |= writing;
        }
        Ok(writes)
    }

    fn program(&self) -> Known {
        let Some(first) = self.simple.words.first() else { return Ok((Class::Safe, String::new())) };
        let Some(name) = first.text().filter(|_| !first.glob || matches!(first.raw.as_str(), "[" | "[["))
        else {
            return Err(Refusal::at_run_time(format_args!("the command name {}", first.raw)));
        };
        if self.analysis.functions.iter().any(|function| function == name) {
            // The line is refused because it defines the function.
            return Ok((Class::Safe, String::new()));
        }
        if let Some(class) = self.scope.own.class(self.simple) {
            return Ok((class, reason(name, class)));
        }
        if let Nesting::Tool(_) = self.simple.place {
            // The runner of the tool has a class of its own.
            return reach::beyond(self.simple).map_or(Ok((Class::Safe, String::new())), Err);
        }
        let known = table::known_name(name).ok_or_else(|| Refusal::unknown(self.shown(name)))?;
        let (class, said) = self.known(name, known)?;
        if let Some(refusal) = reach::beyond(self.simple) {
            return Err(refusal);
        }
        // Whatever its name, it is the project's own code.
        Ok(if table::is_of_checkout(name) { (Class::Dev, reason(name, Class::Dev)) } else { (class, said) })
    }

    fn known(&self, name: &str, known: &str) -> Known {
        let arguments = self.simple.arguments();
        if let [only] = arguments {
            let asks = only.text().is_some_and(|text| is_in(table::VERSION_OPTIONS, text));
            if asks && is_in(table::VERSIONED, known) && (known != "python" || only.text() != Some("version"))
            {
                return Ok((Class::Safe, String::new()));
            }
        }
        if wrappers::is_wrapper(known) {
            return wrapper(known, arguments);
        }
        if wrappers::is_shell(known) {
            return shell(known, arguments);
        }
        builtins::check(known, arguments)?;
        match known {
            "python" | "python3" => return self.python(arguments),
            "node" => return node(arguments),
            "pip" | "pip3" if arguments.first().and_then(Word::text) == Some("install") => {
                return self.pip_install(arguments);
            }
            _ => {}
        }
        let rule = table::find(known).ok_or_else(|| Refusal::unknown(self.shown(name)))?;
        self.rule(self.shown(known), rule, arguments)
    }

    /// Returns the name of the command for messages: that of the cmdlet, where a program stands for one.
    fn shown<'b>(&'b self, name: &'b str) -> &'b str {
        let written = self.simple.words.first().map_or(name, |word| word.raw.as_str());
        let is_cmdlet = written.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
            && table::find(written).is_none();
        if is_cmdlet { written } else { name }
    }

    fn rule(&self, name: &str, rule: &Rule, arguments: &[Word]) -> Known {
        let at = arguments.iter().position(|word| !word.is_option());
        let own = if rule.subs.is_empty() { arguments } else { &arguments[..at.unwrap_or(arguments.len())] };
        options(name, rule, own)?;
        if !rule.subs.is_empty() {
            let Some(at) = at else {
                // `yarn` alone installs, and `git` alone shows its help.
                return Ok((rule.class, reason(name, rule.class)));
            };
            let word = arguments[at]
                .text()
                .ok_or_else(|| Refusal::at_run_time(format_args!("the sub-command of {name}")))?;
            let sub = rule.subs.iter().find(|sub| sub.is_named(word));
            let sub = sub.ok_or_else(|| Refusal::unknown(&format!("{name} {word}")))?;
            return self.rule(&format!("{name} {word}"), sub, &arguments[at + 1..]);
        }
        self.operands(name, rule, arguments)?;
        Ok((rule.class, reason(name, rule.class)))
    }

    fn operands(&self, name: &str, rule: &Rule, arguments: &[Word]) -> Result<(), Refusal> {
        let operands: Vec<&Word> = arguments.iter().filter(|word| !word.is_option()).collect();
        let files = match rule.operands {
            Operands::Any => return Ok(()),
            Operands::Files | Operands::One => &operands[..],
            Operands::PatternThenFiles => match operands.split_first() {
                // The pattern came with an option: `-ePATTERN FILE`.
                _ if arguments
                    .iter()
                    .filter_map(Word::text)
                    .any(|text| ["-e", "--regexp"].iter().any(|option| is_option(text, option))) =>
                {
                    &operands[..]
                }
                Some((pattern, _)) if pattern.text().is_some_and(|text| text.contains("search:")) => {
                    return Err(Refusal::option(format_args!("{name} {}", pattern.raw)));
                }
                Some((_, files)) => files,
                None => &[],
            },
            Operands::None => {
                return match operands.first() {
                    Some(word) => Err(Refusal::new(
                        format!("'{name}' with {} is not allowed", word.raw),
                        WayOut::Configure,
                    )),
                    None => Ok(()),
                };
            }
        };
        if rule.operands == Operands::One && files.len() > 1 {
            return Err(Refusal::new(format!("'{name}' writes to its second file"), WayOut::FileTools));
        }
        // The value after `=` in an option may also be a file.
        for word in arguments.iter().filter(|word| word.is_option()) {
            let value = word.text().and_then(|text| text.split_once('=')).map(|(_, value)| value);
            if value.is_some_and(|value| leads_outside(value, self.scope)) {
                return Err(Refusal::outside(format_args!("{} of {name}", word.raw)));
            }
        }
        for word in files {
            self.inside(word)
                .map_err(|refusal| refusal.map(|reason| format!("{reason} (read by {name})")))?;
        }
        Ok(())
    }

    /// Checks that the word names something in the workspace.
    fn inside(&self, word: &Word) -> Result<(), Refusal> {
        match word.text() {
            None => Err(Refusal::at_run_time(&word.raw)),
            Some(text) if leads_outside(text, self.scope) => Err(Refusal::outside(&word.raw)),
            Some(_) => Ok(()),
        }
    }

    fn python(&self, arguments: &[Word]) -> Known {
        let texts: Vec<Option<&str>> = arguments.iter().map(Word::text).collect();
        match texts.as_slice() {
            [Some("-m"), Some(module), ..]
                if table::PYTHON_MODULES.split(' ').any(|known| known == *module) =>
            {
                for file in arguments[2..].iter().filter(|word| !word.is_option() && word.text().is_some()) {
                    self.inside(file)?;
                }
                Ok((Class::Dev, reason(&format!("python -m {module}"), Class::Dev)))
            }
            [Some("-m"), Some("pip"), ..] => {
                let words: Vec<Word> = arguments[1..].to_vec();
                let simple = Simple { words, ..self.simple.clone() };
                Judge { simple: &simple, ..*self }.program()
            }
            [Some("-m"), Some(module), ..] => Err(Refusal::unknown(&format!("python -m {module}"))),
            [Some("-c"), ..] => {
                Err(Refusal::new("'python -c' runs code from its arguments", WayOut::Configure))
            }
            _ => Err(Refusal::new("'python' runs an unknown script or code", WayOut::Configure)),
        }
    }

    /// Classifies `pip install`, which may install what a file of the workspace lists, or the workspace
    /// itself.
    fn pip_install(&self, arguments: &[Word]) -> Known {
        let mut rest = arguments[1..].iter();
        let mut listed = false;
        while let Some(word) = rest.next() {
            match word.text() {
                Some("-r" | "--requirement" | "-e" | "--editable" | "-c" | "--constraint") => {
                    let file = rest
                        .next()
                        .ok_or_else(|| Refusal::new("'pip install' without a file", WayOut::Configure))?;
                    self.inside(file)
                        .map_err(|refusal| refusal.map(|reason| format!("{reason} (read by pip)")))?;
                    if file.text().is_some_and(|text| text.contains("://")) {
                        return Err(Refusal::new(
                            "'pip install' from a URL is not allowed",
                            WayOut::Configure,
                        ));
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
                _ => {
                    return Err(Refusal::new(
                        format!("'pip install' with {} is not allowed", word.raw),
                        WayOut::Configure,
                    ));
                }
            }
        }
        if listed {
            Ok((Class::Dev, reason("pip install", Class::Dev)))
        } else {
            Err(Refusal::new("'pip install' requires -r or -e", WayOut::Configure))
        }
    }
}

/// Checks that no option is denied by the rule, and that none is unknown where that matters.
fn options(name: &str, rule: &Rule, arguments: &[Word]) -> Result<(), Refusal> {
    for word in arguments.iter().filter(|word| word.glob) {
        // `{-exec,evil}` becomes an option.
        if word.raw.contains("{-") || word.raw.contains(",-") {
            return Err(Refusal::option(format_args!("{name} {}", word.raw)));
        }
    }
    if rule.deny.is_empty() {
        return Ok(());
    }
    for word in arguments {
        let Some(text) = word.text() else {
            if rule.class == Class::Safe {
                return Err(Refusal::at_run_time(format_args!("the argument {} of {name}", word.raw)));
            }
            continue;
        };
        if text == "--" {
            break;
        }
        if let Some(denied) = rule.deny.split(' ').find(|denied| is_option(text, denied)) {
            return Err(Refusal::option(format_args!("{name} {denied}")));
        }
    }
    Ok(())
}

fn wrapper(name: &str, arguments: &[Word]) -> Known {
    if is_in("sudo doas", name) {
        return Err(Refusal::unknown(name));
    }
    if name == "xargs" {
        // The words that it appends come from elsewhere.
        return Err(Refusal::at_run_time("what 'xargs' passes on"));
    }
    if name == "env" {
        let variable = |text: &str| text.split_once('=').map(|(variable, _)| variable.to_owned());
        let set = arguments.iter().filter_map(Word::text).filter(|text| wrappers::is_assignment(text));
        if let Some(variable) = set.filter_map(variable).find(|variable| is_loader(variable)) {
            return Err(Refusal::loader(&variable));
        }
    }
    // The command that it runs is classified by itself.
    Ok((Class::Safe, String::new()))
}

fn shell(name: &str, arguments: &[Word]) -> Known {
    match wrappers::script_of(arguments) {
        // The script is classified by itself.
        Script::Text(_) => Ok((Class::Safe, String::new())),
        Script::File | Script::Unknown => {
            Err(Refusal::new(format!("'{name}' runs an unknown script"), WayOut::Configure))
        }
    }
}

fn node(arguments: &[Word]) -> Known {
    let test = arguments.first().and_then(Word::text) == Some("--test");
    let inline = arguments.iter().filter_map(Word::text).any(|text| {
        ["-e", "--eval", "-p", "--print", "-r", "--require", "--import", "--loader", "--experimental-loader"]
            .iter()
            .any(|denied| is_option(text, denied))
    });
    if test && !inline {
        Ok((Class::Dev, reason("node --test", Class::Dev)))
    } else {
        Err(Refusal::new("'node' runs an unknown script or code", WayOut::Configure))
    }
}

/// Returns the reason for a program's class; empty for a safe one.
pub(super) fn reason(name: &str, class: Class) -> String {
    match class {
        Class::Safe => String::new(),
        _ => format!("'{name}' runs the project's own code"),
    }
}
