//! `architect-ci recipe test`: runs the tests of recipes, without a checkout and without a model.

use std::path::{Path, PathBuf};

use sanitize::Masker;
use sanitize::untrusted::{log_lines, visible};
use serde::Serialize;
use serde_json::Value;

use super::print;
use super::run::runtime;
use super::style::{below, log_error, print_painted};
use crate::base::error::chain;
use crate::base::fs::read_at_most;
use crate::event::Exit;
use crate::recipe::{ExampleResult, MAX_RECIPE, Recipe, RecipeError, TestError};
use crate::report::masked::masked_fields;
use crate::request::{InputError, variables};

/// Work on recipes
#[derive(Debug, clap::Subcommand)]
pub(super) enum Recipes {
    Test(Test),
}

/// Run the tests of recipes: each starts with the files of `before`, and must end with those of `after`
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci recipe test clock.yml", "Runs the tests of a recipe"),
        ("architect-ci recipe test recipes/*.yml --json", "Prints the results as JSON"),
    ],
    "Exit codes: 0 all tests passed, 1 a test failed, 3 a recipe is invalid, cannot be read, or has no tests. Commands of \
     a recipe are not run in its tests.",
))]
pub(super) struct Test {
    /// Recipe files
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// Why a recipe's tests cannot be run.
#[derive(Debug, thiserror::Error)]
enum TestSetupError {
    #[error("could not read {0}")]
    Read(PathBuf, #[source] std::io::Error),
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    #[error("{0} has no tests; add `tests` with files `before` and `after`")]
    NoTests(PathBuf),
    #[error(transparent)]
    Test(#[from] TestError),
    #[error(transparent)]
    Runtime(#[from] InputError),
}

/// Results of one recipe.
#[derive(Serialize)]
struct Tested {
    recipe: String,
    tests: Vec<ExampleResult>,
    /// Whether a test shows that the recipe changes something.
    shows_a_change: bool,
}

/// Results of all recipes.
#[derive(Serialize)]
struct AllTested {
    recipes: Vec<Tested>,
}

impl Recipes {
    pub(super) fn execute(&self) -> Exit {
        let Self::Test(asked) = self;
        match asked.results() {
            Ok(results) => asked.print(&results),
            Err(error) => {
                log_error(&visible(&chain(&error)));
                Exit::Configuration
            }
        }
    }
}

impl Test {
    fn results(&self) -> Result<AllTested, TestSetupError> {
        let runtime = runtime()?;
        let recipes =
            self.files.iter().map(|file| runtime.block_on(tested(file))).collect::<Result<_, _>>()?;
        Ok(AllTested { recipes })
    }

    fn print(&self, results: &AllTested) -> Exit {
        let masker = Masker::from_environment(&variables(), &[], &[]);
        if self.json {
            if let Ok(Value::Object(fields)) = serde_json::to_value(results) {
                print(&format!("{:#}\n", masked_fields(fields, &masker)));
            }
        } else {
            print_painted(&log_lines(&masker.mask(&results.text())));
        }
        let has_failed = results.tests().any(|test| !test.faults.is_empty());
        if has_failed { Exit::Failed } else { Exit::Success }
    }
}

async fn tested(file: &Path) -> Result<Tested, TestSetupError> {
    let content = std::fs::File::open(file).and_then(|file| read_at_most(file, MAX_RECIPE));
    let text = content.and_then(|content| String::from_utf8(content).map_err(std::io::Error::other));
    let text = text.map_err(|error| TestSetupError::Read(file.to_owned(), error))?;
    let shown = file.display().to_string();
    let recipe = Recipe::parse(&text, &shown)?;
    if recipe.tests.is_empty() {
        return Err(TestSetupError::NoTests(file.to_owned()));
    }
    Ok(Tested { recipe: shown, tests: recipe.test().await?, shows_a_change: recipe.shows_a_change() })
}

impl AllTested {
    fn tests(&self) -> impl Iterator<Item = &ExampleResult> {
        self.recipes.iter().flat_map(|recipe| &recipe.tests)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for Tested { recipe, tests, shows_a_change } in &self.recipes {
            for test in tests {
                let sign = if test.faults.is_empty() { '✓' } else { '✗' };
                text += &format!("{sign} {}: {}", visible(recipe), visible(&test.name));
                if !test.not_run.is_empty() {
                    text += &format!(" (not run: {})", visible(&test.not_run.join(", ")));
                }
                text.push('\n');
                for fault in &test.faults {
                    for line in fault.to_string().lines() {
                        text += &format!("  {}\n", visible(line));
                    }
                }
            }
            if !shows_a_change {
                text += &format!(
                    "warning: {}: no test shows what the recipe changes; add files to `after`\n",
                    visible(recipe)
                );
            }
        }
        let failed = self.tests().filter(|test| !test.faults.is_empty()).count();
        text + &format!("{} passed, {failed} failed\n", self.tests().count() - failed)
    }
}
