//! Table of the places that a recipe changed: the first as data, and all of them as the rows of a CSV file.

use parking_lot::Mutex;
use sanitize::csv;
use workspace::WorkspacePath;

use super::edit::ChangedPlace;
use crate::base::text::shortened;
use crate::event::{RecipeMatch, RecipeMatches};

/// Maximum number of places that reports list.
const MAX_LISTED: usize = 200;

/// Maximum number of characters of a text.
const MAX_CHARACTERS: usize = 200;

/// Maximum size of all rows, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Columns of the CSV file.
const COLUMNS: [&str; 7] = ["action", "path", "line", "column", "key", "before", "after"];

/// Table that grows while a recipe is followed.
#[derive(Debug, Default)]
pub struct MatchTable {
    /// The way from the repository to the workspace: empty, or ending in `/`.
    prefix: String,
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    matches: RecipeMatches,
    csv: String,
    left_out: usize,
}

impl MatchTable {
    /// Creates an empty table, whose paths begin at the repository's root; `prefix` is the way from there to the workspace.
    pub fn new(prefix: String) -> Self {
        Self { prefix, rows: Mutex::default() }
    }

    /// Adds the places of one file that an action changed.
    pub(super) fn add(&self, action: &str, path: &WorkspacePath, places: Vec<ChangedPlace>) {
        let mut rows = self.rows.lock();
        let path = &WorkspacePath::parse(&format!("{}{path}", self.prefix)).unwrap_or_else(|_| path.clone());
        for place in places {
            let ChangedPlace { line, column, key, before, after } = place;
            let [before, after] = [before, after].map(|text| shortened(&text, MAX_CHARACTERS));
            rows.matches.total += 1;
            if rows.csv.len() < MAX_BYTES {
                let number =
                    |number: Option<usize>| number.map_or_else(String::new, |number| number.to_string());
                let (line, column) = (number(line), number(column));
                let key = key.as_deref().unwrap_or_default();
                rows.csv += &csv::row(&[action, path.as_str(), &line, &column, key, &before, &after]);
            } else {
                rows.left_out += 1;
            }
            if rows.matches.listed.len() < MAX_LISTED {
                let (action, path) = (action.to_owned(), path.clone());
                rows.matches.listed.push(RecipeMatch { action, path, line, column, key, before, after });
            }
        }
    }

    /// Returns the places; `None` if there are none.
    pub fn matches(&self) -> Option<RecipeMatches> {
        let rows = self.rows.lock();
        (rows.matches.total > 0).then(|| rows.matches.clone())
    }

    /// Takes the rows as the text of a CSV file; `None` if there are none.
    pub fn take_csv(&self) -> Option<String> {
        let mut rows = self.rows.lock();
        let mut text = std::mem::take(&mut rows.csv);
        if text.is_empty() {
            return None;
        }
        text.insert_str(0, &csv::row(&COLUMNS));
        if rows.left_out > 0 {
            text += &csv::row(&[&format!("… {} more", rows.left_out)]);
        }
        Some(text)
    }
}
