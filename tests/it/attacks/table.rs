//! The tables of attacks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::effect::Effect;

/// A line, and what it is after.
#[derive(Debug, Clone)]
pub struct Attack {
    pub theme: String,
    pub line: String,
    pub aim: Effect,
    /// Programs that have to be there for the line to do anything.
    pub needs: Vec<String>,
    /// Whether it leaves nothing for another line to work with.
    pub alone: bool,
    /// Whether it does what it aims at where nothing stops it; some aim at the sandbox itself.
    pub plain: bool,
}

#[derive(Deserialize)]
struct Theme {
    theme: String,
    #[serde(flatten)]
    lines: BTreeMap<Effect, Vec<Row>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Row {
    Line(String),
    Full(Full),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Full {
    line: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    alone: bool,
    #[serde(default = "yes")]
    plain: bool,
}

fn yes() -> bool {
    true
}

/// Reads all tables.
pub fn attacks() -> Vec<Attack> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks/tables");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the tables").flatten().map(|file| file.path()).collect();
    files.sort();
    files.iter().flat_map(|file| table(file)).collect()
}

fn table(file: &Path) -> Vec<Attack> {
    let text = fs::read_to_string(file).expect("a table");
    let themes: Vec<Theme> =
        serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut attacks = Vec::new();
    for Theme { theme, lines } in themes {
        for (aim, rows) in lines {
            for row in rows {
                let full = match row {
                    Row::Line(line) => Full { line, needs: Vec::new(), alone: false, plain: true },
                    Row::Full(full) => full,
                };
                let Full { line, needs, alone, plain } = full;
                attacks.push(Attack { theme: theme.clone(), line, aim, needs, alone, plain });
            }
        }
    }
    attacks
}

impl Attack {
    /// Says whether this machine has the programs that it takes.
    pub fn is_possible(&self) -> bool {
        let folders = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(Path::new);
        let cargo = Path::new(env!("CARGO")).parent();
        self.needs.iter().all(|name| folders.iter().chain(&cargo).any(|folder| folder.join(name).exists()))
    }
}
