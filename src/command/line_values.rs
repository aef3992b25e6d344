//! Values at the places that lines of a shape have in common. Where such a place has one of a few values in all lines (a level, a
//! verdict, a status), a line with a value that hardly any other has there stands out, whatever the values mean.

use std::collections::HashMap;

use super::line_forms::{LineForms, shape, values};

/// Fewest lines of a shape whose values are compared.
const MIN_LINES: usize = 50;
/// Most values of a place that has one of a few.
const MAX_VALUES: usize = 8;
/// Most lines with a value that is rare, and the part of all lines that they are at most.
const MAX_RARE: usize = 24;
const RARE_PART: usize = 50;

/// Values by the shape of their lines and their place, with how many lines have them; `None` where there are many.
pub(super) struct LineValues(HashMap<(u64, usize), Option<HashMap<u64, usize>>>);

impl LineValues {
    /// Counts the values in the lines of an output.
    pub(super) fn of(lines: &[&str], forms: &LineForms) -> Self {
        let mut places: HashMap<(u64, usize), Option<HashMap<u64, usize>>> = HashMap::new();
        for line in lines.iter().filter(|line| forms.of_shape(line) >= MIN_LINES) {
            let shape = shape(line);
            for (at, value) in values(line).into_iter().enumerate() {
                let place = places.entry((shape, at)).or_insert_with(|| Some(HashMap::new()));
                if let Some(counts) = place {
                    *counts.entry(value).or_default() += 1;
                    if counts.len() > MAX_VALUES {
                        *place = None;
                    }
                }
            }
        }
        Self(places)
    }

    /// Returns whether a line of the output has a value that hardly any other line of its shape has at that place.
    pub(super) fn has_rare(&self, line: &str) -> bool {
        let shape = shape(line);
        values(line).into_iter().enumerate().any(|(at, value)| {
            let Some(Some(counts)) = self.0.get(&(shape, at)) else { return false };
            let all: usize = counts.values().sum();
            counts.get(&value).is_some_and(|count| *count <= MAX_RARE.min(all / RARE_PART))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_hardly_any_line_has_is_rare() {
        let with = |line: &str, other: &str| {
            let mut lines: Vec<String> = (0..500)
                .map(|n| line.replace("{n}", &n.to_string()).replace("{w}", &format!("w{n}x")))
                .collect();
            lines.insert(250, other.to_owned());
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let values = LineValues::of(&lines, &LineForms::of(&lines));
            lines.into_iter().filter(|line| values.has_rare(line)).map(str::to_owned).collect::<Vec<_>>()
        };
        for (line, other) in [
            ("{w} {w} ... OK", "cart total ... NG"),
            ("{w}/{w} exit=0", "cart/total exit=3"),
            ("GET /{w} 200 {n}ms", "GET /cart 500 12ms"),
            ("| {w} | {n} | ok |", "| total | 3 | KO |"),
            ("{w}.{w} 100%", "cart.total 83%"),
        ] {
            assert_eq!(with(line, other), [other], "{line}");
        }
        assert_eq!(with("{w} took {n} s", "total took 3 s"), Vec::<String>::new());
    }
}
