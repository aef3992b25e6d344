//! Compares what the settings of old tools demanded with what those of the new ones do.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::ToolSettings;
use super::builds;
use super::demands::{Demand, Said, read};
use super::names::{is_of_layout, is_recommended};
use super::tools::Purpose;
use crate::files::file_name;
use crate::finding::{Finding, Kind};

/// Sides of a migration.
struct Sides<'a> {
    purpose: Purpose,
    /// What was said by settings that are gone.
    lost: Vec<(&'a ToolSettings<'a>, Said)>,
    /// What is said now.
    now: Vec<(&'a ToolSettings<'a>, Said)>,
    /// What was said before, by whatever settings.
    before: Vec<Said>,
    /// Whether both sides have the same tool.
    is_same_tool: bool,
    targets: &'a [&'a ToolSettings<'a>],
    way: String,
}

/// Returns what the settings of some sources demanded, and those of the targets do not.
pub(super) fn migration(
    purpose: Purpose,
    sources: &[&ToolSettings<'_>],
    targets: &[&ToolSettings<'_>],
    all: &[&ToolSettings<'_>],
) -> Vec<Finding> {
    if purpose == Purpose::JavaBuild {
        return builds::compare(sources, targets);
    }
    let names = |groups: &[&ToolSettings<'_>]| {
        let paths: BTreeSet<String> =
            groups.iter().map(|group| format!("`{}`", file_name(group.path))).collect();
        paths.into_iter().collect::<Vec<_>>().join(", ")
    };
    let old = |group: &ToolSettings<'_>| read(&group.old.iter().collect::<Vec<_>>(), purpose);
    let new = |group: &ToolSettings<'_>| read(&group.new.iter().collect::<Vec<_>>(), purpose);
    let sides = Sides {
        purpose,
        lost: sources.iter().flat_map(|group| old(group).into_iter().map(|said| (*group, said))).collect(),
        now: all.iter().flat_map(|group| new(group).into_iter().map(|said| (*group, said))).collect(),
        before: all.iter().flat_map(|group| old(group)).collect(),
        is_same_tool: sources.iter().all(|source| targets.iter().any(|target| target.tool == source.tool)),
        targets,
        way: format!("(moved from {} to {})", names(sources), names(targets)),
    };
    let mut found: Vec<Finding> =
        sides.lost.iter().filter_map(|(group, said)| sides.loses(group, said)).collect();
    // A threshold of the new settings is told once, at its own line.
    found.extend(sides.now.iter().filter_map(|(group, said)| sides.gains(group, said)));
    found.extend(sides.order(sources));
    found.dedup_by(|one, other| one.message == other.message);
    found
}

impl Sides<'_> {
    fn has(&self, is_it: impl Fn(&Demand, &str) -> bool) -> bool {
        self.now.iter().any(|(_, said)| is_it(&said.demand, &said.name))
    }

    /// Returns what is lost of a demand.
    fn loses(&self, group: &ToolSettings<'_>, said: &Said) -> Option<Finding> {
        let line = if group.texts.1.is_empty() { said.line } else { 1 };
        let finding = |kind: Kind, message: String| {
            Some(Finding::new(group.path, line, kind, format!("{message} {}", self.way)))
        };
        let (name, shown) = (said.name.as_str(), said.shown.as_str());
        match said.demand {
            Demand::Floor(old) if old > 0.0 => {
                let numbers = |all: bool| {
                    self.now.iter().filter_map(move |(_, said)| match said.demand {
                        Demand::Floor(new) if all || said.name == name => Some(percent(new)),
                        _ => None,
                    })
                };
                let best = numbers(false).reduce(f64::max);
                let is_renamed = || numbers(true).any(|new| (new - percent(old)).abs() < f64::EPSILON);
                match best {
                    Some(new) if new < percent(old) => finding(
                        Kind::LowerThreshold,
                        format!("a threshold is lower: `{shown}` was `{old}` and is `{new}`"),
                    ),
                    None if !is_renamed() => finding(
                        Kind::LowerThreshold,
                        format!("a threshold is gone: `{shown}`, which was `{old}`"),
                    ),
                    _ => None,
                }
            }
            Demand::Ceiling(old) => {
                let numbers = self.now.iter().filter_map(|(_, said)| match said.demand {
                    Demand::Ceiling(new) if said.name == name => Some(new),
                    _ => None,
                });
                match numbers.reduce(f64::min) {
                    Some(new) if new <= old && new >= 0.0 => None,
                    Some(new) => finding(
                        Kind::LowerThreshold,
                        format!("a limit is higher: `{shown}` was `{old}` and is `{new}`"),
                    ),
                    // What tests may be tried again, or how many of a browser's, is none at first.
                    None if self.purpose == Purpose::BrowserTests => None,
                    None => finding(
                        Kind::LowerThreshold,
                        format!("a limit is gone: `{shown}`, which was `{old}`"),
                    ),
                }
            }
            Demand::Rule(old) if old > 0 => {
                let levels = self.now.iter().filter_map(|(_, said)| match said.demand {
                    Demand::Rule(level) if said.name == name => Some(level),
                    _ => None,
                });
                match levels.max() {
                    Some(level) if level >= old => None,
                    Some(0) => finding(Kind::LooserRule, format!("a rule is off: `{shown}`")),
                    Some(_) => finding(Kind::LooserRule, format!("a rule is milder: `{shown}`")),
                    None if is_of_layout(name) => None,
                    None if is_recommended(name) && self.is_recommended() => None,
                    None => finding(Kind::LooserRule, format!("a rule is gone: `{shown}`")),
                }
            }
            Demand::Strict => {
                let is_whole = self.has(|demand, other| *demand == Demand::Strict && other == "strict");
                let is_kept = self.has(|demand, other| *demand == Demand::Strict && other == name)
                    || is_whole && self.purpose == Purpose::PythonTypes
                    // Thresholds are checked wherever there are some.
                    || name == "checkcoverage" && self.has(|demand, _| matches!(demand, Demand::Floor(_)))
                    // All warnings, rather than those of one kind.
                    || name.starts_with("filterwarningserror")
                        && self.has(|_, other| other == "filterwarningserror");
                if is_kept {
                    return None;
                }
                finding(Kind::LooserRule, format!("a check is off: `{shown}`"))
            }
            Demand::Selected => {
                let is_kept = self.has(|demand, other| {
                    *demand == Demand::Selected && (other == "ALL" || name.starts_with(other))
                });
                // What Ruff has on by itself.
                let is_default =
                    || ["E", "F", "W"].contains(&name) && !self.has(|demand, _| *demand == Demand::Selected);
                if is_kept || is_default() {
                    return None;
                }
                finding(Kind::LooserRule, format!("rules are gone: `{shown}`"))
            }
            Demand::Preset if !self.has_preset(name) => {
                finding(Kind::LooserRule, format!("a set of rules is gone: `{shown}`"))
            }
            _ => None,
        }
    }

    /// Returns what new settings take away that the old ones did not.
    fn gains(&self, group: &ToolSettings<'_>, said: &Said) -> Option<Finding> {
        // What a section gained that was there before is judged as any change of it.
        if !group.old.is_empty() {
            return None;
        }
        let (name, shown) = (said.name.as_str(), said.shown.as_str());
        let was = |demand: &Demand| {
            self.before.iter().any(|other| other.demand == *demand && other.name == said.name)
        };
        let message = match said.demand {
            Demand::LeftOut if !was(&Demand::LeftOut) && self.was_checked(name) => {
                format!("`{shown}` is newly left out")
            }
            Demand::Mild if !was(&Demand::Mild) => format!("a failure no longer counts: `{shown}`"),
            // What was off in one tool is not known of another one.
            Demand::Rule(0) if self.is_same_tool && !was(&Demand::Rule(0)) && !self.was_on(name) => {
                format!("a rule is newly off: `{shown}`")
            }
            Demand::OffForSome if !was(&Demand::OffForSome) && self.was_on(name) => {
                format!("a rule is newly off for some files: `{shown}`")
            }
            _ => return None,
        };
        let kind = if said.demand == Demand::Mild { Kind::WeakerCheck } else { Kind::LooserRule };
        Some(Finding::new(group.path, said.line, kind, format!("{message} {}", self.way)))
    }

    fn was_on(&self, name: &str) -> bool {
        self.lost.iter().any(|(_, said)| said.name == name && matches!(said.demand, Demand::Rule(1..)))
    }

    /// Returns whether something that is left out was looked at before: rules of Python's linters by the beginnings of their codes.
    fn was_checked(&self, name: &str) -> bool {
        if self.purpose != Purpose::PythonLint {
            return true;
        }
        let code = name.split(' ').next().unwrap_or(name);
        let is_code = code.chars().next().is_some_and(char::is_alphabetic)
            && code.len() > 1
            && code.trim_start_matches(char::is_alphabetic).chars().all(|letter| letter.is_ascii_digit());
        if !is_code {
            return true;
        }
        let letters = code.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_uppercase();
        let by_default = |tool: &str| match tool {
            "flake8" => matches!(letters.as_str(), "E" | "F" | "W" | "C"),
            "Ruff" => matches!(letters.as_str(), "E" | "F"),
            "pycodestyle" => matches!(letters.as_str(), "E" | "W"),
            _ => false,
        };
        self.lost.iter().any(|(group, said)| {
            by_default(group.tool.1)
                || said.demand == Demand::Selected && (said.name == "ALL" || letters.starts_with(&*said.name))
        })
    }

    fn is_recommended(&self) -> bool {
        self.targets.iter().any(|target| {
            matches!(target.tool.1, "Biome" | "oxlint")
                || target.texts.1.to_lowercase().contains("recommended")
        })
    }

    /// Returns whether a set of rules is on, by its name in code or text.
    fn has_preset(&self, name: &str) -> bool {
        static CORE: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r#"(?:js|eslint)\.configs(?:\.|\[['"])(?:recommended|all)|eslint:(?:recommended|all)"#)
                .ok()
        });
        let texts = || self.targets.iter().map(|target| target.texts.1);
        let is_other_tool =
            |tool: &str| self.targets.iter().any(|target| target.tool.1 != "ESLint") || tool == "tslint";
        // These only turn rules off, or are a file of the project's own.
        if name.starts_with("prettier")
            || name.ends_with("/prettier")
            || name.ends_with(":prettier")
            || name.starts_with('.')
        {
            return true;
        }
        if is_other_tool(name.split(':').next().unwrap_or(name)) {
            return texts().all(|text| !text.contains("\"recommended\": false"));
        }
        if name.starts_with("eslint:") {
            return CORE.as_ref().is_none_or(|core| texts().any(|text| core.is_match(text)));
        }
        let plain = |text: &str| {
            let letters: String = text.chars().filter(|letter| letter.is_alphanumeric()).collect();
            letters.to_lowercase()
        };
        let path = name.strip_prefix("plugin:").unwrap_or(name);
        let (plugin, set) = path.rsplit_once('/').unwrap_or((path, ""));
        let own = plugin.trim_start_matches("eslint-config-").trim_start_matches("eslint-plugin-");
        // Sets of the TypeScript plugin got new names.
        let set = plain(set.trim_end_matches("-requiring-type-checking"));
        texts().any(|text| {
            let imported = imports(text, own).into_iter();
            let names = [own, if own == "@typescript-eslint" { "tseslint" } else { own }].into_iter();
            let text = plain(text);
            names.chain(imported).map(plain).any(|name| {
                let ways = [
                    "",
                    "plugin",
                    "configs",
                    "pluginconfigs",
                    "flatconfigs",
                    "pluginflatconfigs",
                    "configsflat",
                    "pluginconfigsflat",
                ];
                match set.as_str() {
                    "" => text.contains(&name),
                    set => ways.iter().any(|way| text.contains(&format!("{name}{way}{set}"))),
                }
            })
        })
    }

    /// Returns whether imports are no longer looked at.
    fn order(&self, sources: &[&ToolSettings<'_>]) -> Option<Finding> {
        let isort = sources.iter().find(|group| group.tool.1 == "isort")?;
        let selects =
            |wanted: &[&str]| self.has(|demand, name| *demand == Demand::Selected && wanted.contains(&name));
        let is_target = self.targets.iter().any(|target| target.tool.1 == "Ruff");
        let is_lost = is_target && !selects(&["I", "I001", "ALL"]);
        is_lost.then(|| {
            let message = format!("the order of imports is no longer checked {}", self.way);
            Finding::new(isort.path, 1, Kind::LooserRule, message)
        })
    }
}

/// Returns the names by which code imports a plugin or a set of rules.
fn imports<'t>(text: &'t str, plugin: &str) -> Vec<&'t str> {
    static IMPORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?:import|const)\s+\{?\s*(\w+)\s*\}?\s*(?:from|=\s*require\()\s*['"]([^'"]+)['"]"#).ok()
    });
    let found = IMPORT.as_ref().into_iter().flat_map(|pattern| pattern.captures_iter(text));
    let named = found.filter_map(|found| Some((found.get(1)?.as_str(), found.get(2)?.as_str())));
    named
        .filter(|(_, module)| module.contains(plugin.trim_start_matches('@')))
        .map(|(name, _)| name)
        .collect()
}

/// Returns a share of one as one of a hundred.
pub(super) fn percent(number: f64) -> f64 {
    if number > 0.0 && number <= 1.0 { number * 100.0 } else { number }
}
