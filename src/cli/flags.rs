//! Flags for inputs, generated from the list of inputs, so that flags, Action inputs and documentation have one source.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{NonEmptyStringValueParser, PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, ValueHint};

use crate::request::{BATCH_INPUTS, INPUTS, Input, Lookup, variables};

/// Which inputs a sub-command takes as flags.
pub(super) trait InputSet {
    /// Returns whether an input is one of them.
    fn holds(name: &str) -> bool;
}

/// The flags that were given, by the names of their inputs.
#[derive(Clone, Debug)]
pub(super) struct InputFlags<S> {
    given: BTreeMap<String, String>,
    set: PhantomData<S>,
}

impl<S> InputFlags<S> {
    /// Returns a lookup in which these flags take precedence over the process's variables.
    pub(super) fn lookup(self) -> Lookup {
        Lookup::new(self.given, variables())
    }

    /// Returns these flags with another value for an input.
    pub(super) fn with(mut self, name: &str, value: String) -> Self {
        self.given.insert(name.to_owned(), value);
        self
    }
}

impl<S: InputSet> Args for InputFlags<S> {
    fn augment_args(command: Command) -> Command {
        command.args(inputs::<S>().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: InputSet> FromArgMatches for InputFlags<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self { given: all_given(matches, &inputs::<S>().collect::<Vec<_>>()), set: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn inputs<S: InputSet>() -> impl Iterator<Item = &'static Input> {
    BATCH_INPUTS.iter().chain(&INPUTS).filter(|input| S::holds(input.name))
}

/// The input whose flag is counted: `-vv`.
const COUNTED: &str = "verbose";

/// The input whose flag may be given several times.
const REPEATED: &str = "until";

fn arg(input: &'static Input) -> Arg {
    let arg = Arg::new(input.name).long(input.name).help(input.help).help_heading(input.group);
    let arg = match input.short {
        Some(short) => arg.short(short),
        None => arg,
    };
    let Some(value) = input.value else {
        return arg.action(if input.name == COUNTED { ArgAction::Count } else { ArgAction::SetTrue });
    };
    arg.value_name(value)
        .value_parser(Suggested { choices: input.choices, may_be_empty: input.name != REPEATED })
        .value_hint(match value {
            "FILE" => ValueHint::FilePath,
            "DIR" => ValueHint::DirPath,
            "URL" => ValueHint::Url,
            "CHECK" => ValueHint::CommandString,
            _ => ValueHint::Other,
        })
        // A task may well begin with a list's dash.
        .allow_hyphen_values(input.name == "task")
        // What is wrong with a number below 0 is said as for any other.
        .allow_negative_numbers(true)
        .action(if input.name == REPEATED { ArgAction::Append } else { ArgAction::Set })
}

/// Returns the values of the inputs that are given, by their names.
fn all_given(matches: &ArgMatches, inputs: &[&Input]) -> BTreeMap<String, String> {
    inputs.iter().filter_map(|input| Some((input.name.to_owned(), given(matches, input)?))).collect()
}

fn given(matches: &ArgMatches, input: &Input) -> Option<String> {
    match input.value {
        // As an Action input has several values: a line each.
        Some(_) => {
            let values = matches.get_many::<String>(input.name)?;
            Some(values.cloned().collect::<Vec<_>>().join("\n"))
        }
        None if input.name == COUNTED => match matches.get_count(input.name) {
            0 => None,
            1 => Some("true".to_owned()),
            // Beyond `-vv` there is nothing more to log.
            _ => Some("2".to_owned()),
        },
        None => matches.get_flag(input.name).then(|| "true".to_owned()),
    }
}

/// A text whose choices are listed in the help and in completions. The values are checked later, together with those of
/// Action inputs and variables.
#[derive(Clone)]
struct Suggested {
    choices: &'static [&'static str],
    may_be_empty: bool,
}

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        if self.may_be_empty {
            return StringValueParser::new().parse_ref(command, arg, value);
        }
        NonEmptyStringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        if self.choices.is_empty() {
            return None;
        }
        Some(Box::new(self.choices.iter().copied().map(PossibleValue::new)))
    }
}
