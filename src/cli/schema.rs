//! `architect-ci schema`: the JSON Schemas of everything that is read or written.

use clap::{Arg, ArgMatches, Command, builder::PossibleValuesParser};
use schemars::{JsonSchema, generate::SchemaSettings};

use super::print;
use crate::batch::{BatchFile, Manifest};
use crate::config::Config;
use crate::event::Line;
use crate::exit::Exit;
use crate::plan::Plan;
use crate::recipe::Recipe;
use crate::report::{BatchReport, RunReport};

pub(super) const NAME: &str = "schema";

pub(super) fn command() -> Command {
    Command::new(NAME).about("Print the JSON Schema of a file format").arg(
        Arg::new("format")
            .required(true)
            .value_parser(PossibleValuesParser::new([
                "batch",
                "batch-report",
                "config",
                "manifest",
                "plan",
                "recipe",
                "report",
                "transcript",
            ]))
            .help("A file that is read or written; `transcript` is a line of transcript.jsonl"),
    )
}

pub(super) fn execute(matches: &ArgMatches) -> Exit {
    let schema = match matches.get_one::<String>("format").map(String::as_str) {
        Some("config") => schema::<Config>(),
        Some("batch") => schema::<BatchFile>(),
        Some("batch-report") => schema::<BatchReport>(),
        Some("manifest") => schema::<Manifest>(),
        Some("plan") => schema::<Plan>(),
        Some("report") => schema::<RunReport>(),
        Some("recipe") => schema::<Recipe>(),
        _ => schema::<Line>(),
    };
    print(&schema);
    Exit::Success
}

fn schema<T: JsonSchema>() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    // A schema is JSON.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
