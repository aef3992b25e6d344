//! Values of arguments in the types and units that a tool takes.

use serde_json::{Value, json};

use super::arguments::Arguments;

/// Most seconds that a command may take.
const MAX_SECONDS: u64 = 600;

/// Takes a time with its unit as what it says, one that only makes sense in milliseconds as such, no limit as the usual one, and
/// more than there is as the most.
pub(super) fn in_seconds(arguments: &mut Arguments) {
    let seconds = match arguments.get("timeout") {
        Some(Value::String(text)) => duration(text),
        Some(given) => given.as_u64(),
        None => None,
    };
    let meant = match seconds {
        Some(0) => {
            arguments.shift_remove("timeout");
            return;
        }
        Some(milliseconds @ 3_601..) => milliseconds / 1_000,
        Some(seconds) => seconds,
        None => return,
    };
    arguments.insert("timeout".to_owned(), json!(meant.clamp(1, MAX_SECONDS)));
}

/// Returns the seconds of a time such as `90s`, `2m` or `1500 ms`, at least one.
fn duration(text: &str) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let milliseconds: f64 = match unit.trim() {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
        "ms" | "msec" | "millis" | "milliseconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hr" | "hour" | "hours" => 3_600_000.0,
        _ => return None,
    };
    let seconds = (number.parse::<f64>().ok()? * milliseconds / 1_000.0).ceil().clamp(1.0, 3_600.0);
    format!("{seconds:.0}").parse().ok()
}

/// Returns a value in the type that a schema asks for, if it can only be meant so.
pub(super) fn coerced(value: Value, schema: &Value) -> Value {
    let is = |kind: &str| {
        let own = &schema["type"];
        own == kind || own.as_array().is_some_and(|kinds| kinds.iter().any(|one| one == kind))
    };
    match &value {
        Value::String(text) if !is("string") => {
            let text = text.trim();
            if is("integer") || is("number") {
                // Marks between digits are those of thousands: `1,5` may be a range, or one and a half.
                let is_grouped = text.split([',', '_']).skip(1).all(|digits| digits.len() == 3);
                let number = text.replace([',', '_'], "").parse::<i64>().ok().filter(|_| is_grouped);
                return number.map_or(value, |number| json!(number));
            }
            if is("boolean") {
                return match text.to_lowercase().as_str() {
                    "true" | "yes" | "1" => json!(true),
                    "false" | "no" | "0" => json!(false),
                    _ => value,
                };
            }
            if is("array") {
                return match serde_json::from_slice(text.as_bytes()) {
                    Ok(list @ Value::Array(_)) => list,
                    _ => json!([text]),
                };
            }
            if is("object") {
                return serde_json::from_slice(text.as_bytes()).unwrap_or(value);
            }
            value
        }
        Value::Number(number) if is("integer") => match number.as_f64() {
            Some(real) if number.is_f64() && real.fract() == 0.0 => {
                format!("{real:.0}").parse::<i64>().map_or(value, |whole| json!(whole))
            }
            _ => value,
        },
        Value::Number(number) if is("boolean") => match number.as_i64() {
            Some(1) => json!(true),
            Some(0) => json!(false),
            _ => value,
        },
        Value::Number(_) | Value::Bool(_) if is("string") => json!(value.to_string()),
        Value::Object(object) if is("string") => match object.iter().collect::<Vec<_>>().as_slice() {
            [(name, Value::String(text))]
                if matches!(name.as_str(), "value" | "text" | "string" | "path" | "content" | "#text") =>
            {
                json!(text)
            }
            _ => value,
        },
        // A list of one is meant as the one, and a list of globs as all of them.
        Value::Array(items) if is("string") => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if texts.len() == items.len() && texts.len() == 1 { json!(texts[0]) } else { value }
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_in_any_unit() {
        for (given, seconds) in [
            (json!(90), json!(90)),
            (json!("2s"), json!(2)),
            (json!("2m"), json!(120)),
            (json!("1.5 min"), json!(90)),
            (json!("1500ms"), json!(2)),
            (json!("90"), json!(90)),
            (json!("1h"), json!(600)),
            (json!(120_000), json!(120)),
            (json!(1_800), json!(600)),
            (json!("soon"), json!("soon")),
        ] {
            let mut arguments = Arguments::from_iter([("timeout".to_owned(), given.clone())]);
            in_seconds(&mut arguments);
            assert_eq!(arguments["timeout"], seconds, "{given}");
        }
    }

    #[test]
    fn values_become_what_the_schema_asks_for() {
        let integer = json!({"type": ["integer", "null"]});
        for (value, schema, expected) in [
            (json!("12"), &integer, json!(12)),
            (json!("1,200"), &integer, json!(1200)),
            (json!("1,5"), &integer, json!("1,5")),
            (json!(3.0), &integer, json!(3)),
            (json!("many"), &integer, json!("many")),
            (json!("True"), &json!({"type": "boolean"}), json!(true)),
            (json!(0), &json!({"type": "boolean"}), json!(false)),
            (json!(5), &json!({"type": "string"}), json!("5")),
            (json!(["a"]), &json!({"type": "string"}), json!("a")),
            (json!("[\"a\"]"), &json!({"type": "array"}), json!(["a"])),
        ] {
            assert_eq!(coerced(value, schema), expected);
        }
    }
}
