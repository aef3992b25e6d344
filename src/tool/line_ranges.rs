//! Ranges of lines as models write them: `[2, 4]`, `"2-4"`, `"L2-L4"`, `"2..4"`, `{start: 2, end: 4}`, or several of these.

use serde_json::Value;

use super::argument_values::{number, parsed};

/// First and last line of a range; without one, it is open on that side.
pub(super) type Ends = (Option<i64>, Option<i64>);

/// Returns the ranges that a value means: none for the whole file. `None` if it does not mean one thing only.
pub(super) fn ranges(value: &Value) -> Option<Vec<Ends>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Number(_) => number(value).map(|line| vec![(Some(line), Some(line))]),
        Value::Object(_) => named(value).map(|ends| vec![ends]),
        Value::Array(items) => of_list(items),
        Value::String(text) if text.trim_start().starts_with('[') => match parsed(value.clone()) {
            Value::Array(items) => of_list(&items),
            _ => None,
        },
        Value::String(text) => of_text(text.trim()),
        Value::Bool(_) => None,
    }
}

fn of_list(items: &[Value]) -> Option<Vec<Ends>> {
    let numbers: Option<Vec<i64>> = items.iter().map(number).collect();
    match numbers.as_deref() {
        Some([]) => Some(Vec::new()),
        Some([first]) => Some(vec![(Some(*first), None)]),
        Some([first, last]) => Some(vec![(Some(*first), Some(*last))]),
        // Every line by its number.
        Some([first, .., last]) => {
            let numbers = numbers.as_deref().unwrap_or_default();
            let is_run = numbers.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(1));
            let each = || numbers.iter().map(|line| (Some(*line), Some(*line))).collect();
            Some(if is_run { vec![(Some(*first), Some(*last))] } else { each() })
        }
        None => {
            // The end of a pair may be open, or a word.
            if let [first, last @ (Value::Null | Value::String(_))] = items
                && let (Some(first), Some(last)) = (number(first), end(last.as_str().unwrap_or_default()))
            {
                return Some(vec![(Some(first), last)]);
            }
            let each: Option<Vec<Vec<Ends>>> = items.iter().map(ranges).collect();
            each.map(|each| each.concat())
        }
    }
}

fn named(range: &Value) -> Option<Ends> {
    let of = |names: &[&str]| names.iter().find_map(|name| range.get(*name).and_then(number));
    let start = of(&["start", "start_line", "startLine", "from", "first", "begin"]);
    let end = of(&["end", "end_line", "endLine", "to", "last"]);
    (start.is_some() || end.is_some()).then_some((start, end))
}

fn of_text(text: &str) -> Option<Vec<Ends>> {
    if matches!(text.to_lowercase().as_str(), "" | "all" | "full" | "*" | "-" | ":") {
        return Some(Vec::new());
    }
    if let Some(line) = line(text) {
        return Some(vec![(Some(line), Some(line))]);
    }
    let pair = ["..=", "...", "..", "–", "-", ":", " to ", ","].iter().find_map(|mark| {
        let (start, last) = text.split_once(mark)?;
        // `-5` may be the first five lines or the last.
        let start = match start.trim() {
            "" if *mark == "-" => return None,
            "" => None,
            start => Some(line(start)?),
        };
        Some((start, end(last)?))
    });
    if let Some(pair) = pair {
        return Some(vec![pair]);
    }
    let several: Vec<&str> = text.split([',', ';']).collect();
    let each: Option<Vec<Vec<Ends>>> =
        several.iter().filter(|_| several.len() > 1).map(|part| of_text(part.trim())).collect();
    each.map(|each| each.concat()).filter(|each| !each.is_empty())
}

/// Returns a number of a line, which may have a word or letter before it.
fn line(text: &str) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let number = ["lines", "line", "l"].iter().find_map(|word| text.strip_prefix(word)).unwrap_or(&text);
    number.trim().parse().ok().filter(|line| *line >= 0)
}

/// Returns the last line of a range, which may be open.
fn end(text: &str) -> Option<Option<i64>> {
    match text.trim().to_lowercase().as_str() {
        "" | "-1" | "end" | "eof" | "$" | "last" => Some(None),
        other => line(other).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ranges_are_written_in_many_ways() {
        let one = |start, end| Some(vec![(start, end)]);
        for (value, expected) in [
            (json!([5, 7]), one(Some(5), Some(7))),
            (json!("[5, 7]"), one(Some(5), Some(7))),
            (json!([[5, 7]]), one(Some(5), Some(7))),
            (json!([5, -1]), one(Some(5), Some(-1))),
            (json!([5, "end"]), one(Some(5), None)),
            (json!([5]), one(Some(5), None)),
            (json!("L10-L12"), one(Some(10), Some(12))),
            (json!("lines 10 to 12"), one(Some(10), Some(12))),
            (json!("10..12"), one(Some(10), Some(12))),
            (json!("10,12"), one(Some(10), Some(12))),
            (json!("10:"), one(Some(10), None)),
            (json!(":10"), one(None, Some(10))),
            (json!("7"), one(Some(7), Some(7))),
            (json!([10, 11, 12]), one(Some(10), Some(12))),
            (json!([1, 5, 9]), Some([1, 5, 9].map(|line| (Some(line), Some(line))).to_vec())),
            (json!(["1-2", "10-11"]), Some(vec![(Some(1), Some(2)), (Some(10), Some(11))])),
            (json!("1-2, 10-11"), Some(vec![(Some(1), Some(2)), (Some(10), Some(11))])),
            (json!([{"start": 1, "end": 2}]), one(Some(1), Some(2))),
            (json!("all"), Some(Vec::new())),
            (json!("-5"), None),
            (json!("the end"), None),
            (json!(["a"]), None),
            (json!({"top": 3}), None),
        ] {
            assert_eq!(ranges(&value), expected, "{value}");
        }
    }
}
