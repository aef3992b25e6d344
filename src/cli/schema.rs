//! `architect-ci schema`: the JSON Schemas of everything that is read or written.
//!
//! They are in `docs/schemas/`, where editors find them too; a test below generates them from the types. The
//! code that generates them is therefore not part of the program.

use clap::builder::PossibleValuesParser;

use super::print;
use super::style::below;
use crate::event::Exit;

macro_rules! formats {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../docs/schemas/", $name, ".json")))),*]
    };
}

/// The formats and their schemas.
const FORMATS: [(&str, &str); 10] = formats![
    "batch",
    "batch-report",
    "campaign",
    "campaign-report",
    "config",
    "manifest",
    "plan",
    "recipe",
    "report",
    "transcript"
];

/// Print the JSON Schema of a file format
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[("architect-ci schema config > architect.schema.json", "The schema of the configuration, for an editor")],
    "",
))]
pub(super) struct Schema {
    /// The file format; `transcript` is one line of transcript.jsonl
    #[arg(value_parser = PossibleValuesParser::new(FORMATS.map(|(name, _)| name)))]
    format: String,
}

impl Schema {
    pub(super) fn execute(&self) -> Exit {
        if let Some((_, schema)) = FORMATS.iter().find(|(name, _)| *name == self.format) {
            print(schema);
        }
        Exit::Success
    }
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, generate::SchemaSettings};

    use super::*;
    use crate::batch::{BatchFile, Manifest};
    use crate::campaign::{CampaignFile, CampaignReport};
    use crate::config::Config;
    use crate::event::Line;
    use crate::plan::Plan;
    use crate::recipe::Recipe;
    use crate::report::{BatchReport, RunReport};

    fn schema<T: JsonSchema>() -> String {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
        serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
    }

    #[test]
    fn the_files_are_the_schemas_of_the_types() {
        for (name, file) in FORMATS {
            let made = match name {
                "batch" => schema::<BatchFile>(),
                "batch-report" => schema::<BatchReport>(),
                "campaign" => schema::<CampaignFile>(),
                "campaign-report" => schema::<CampaignReport>(),
                "config" => schema::<Config>(),
                "manifest" => schema::<Manifest>(),
                "plan" => schema::<Plan>(),
                "recipe" => schema::<Recipe>(),
                "report" => schema::<RunReport>(),
                "transcript" => schema::<Line>(),
                other => panic!("{other} has no type"),
            };
            if std::env::var_os("UPDATE_DOCS").is_some() {
                let path = format!("{}/docs/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
                std::fs::write(path, made).expect("the file is written");
            } else {
                assert!(
                    made == file,
                    "docs/schemas/{name}.json is not up to date; UPDATE_DOCS=1 cargo test --lib schema writes it"
                );
            }
        }
    }
}
