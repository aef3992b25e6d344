//! Numbers and lengths of time that what is tested may not pass.

use crate::syntax::tokens::split;

/// Number that what is tested may not pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    /// Whether what is tested may not be above it; else it may not be below.
    is_upper: bool,
    value: f64,
    /// Whether it is a length of time, which slow machines may need more of.
    is_time: bool,
}

/// How many times as long a time limit has to be to mean nothing.
const MUCH_LONGER: f64 = 60.0;

impl Bound {
    /// Reads a condition: `n < 3`, with its tokens joined by blanks.
    pub(crate) fn of_condition(text: &str) -> Option<Self> {
        const SIGNS: &[(&str, bool)] = &[(" < ", true), (" <= ", true), (" > ", false), (" >= ", false)];
        if split(text, &[" || ", " && ", " and ", " or ", " if ", " ? "]).len() > 1 {
            return None;
        }
        SIGNS.iter().find_map(|(sign, is_upper)| match split(text, &[sign]).as_slice() {
            [_, end] => Some(Self { is_upper: *is_upper, value: number(end)?, is_time: false }),
            _ => None,
        })
    }

    /// Reads a call by its name without case and signs: `assertLess(n, 3)`.
    pub(crate) fn of_call(name: &str, arguments: &[String]) -> Option<Self> {
        let is_upper = ["lessthan", "assertless", "below", "atmost"].iter().any(|part| name.contains(part))
            || matches!(name, "most" | "lt" | "lte");
        let is_lower =
            ["greaterthan", "assertgreater", "above", "atleast"].iter().any(|part| name.contains(part))
                || matches!(name, "least" | "gt" | "gte");
        if name == "asserttrue" || name == "assert" || name == "true" {
            return Self::of_condition(arguments.first()?);
        }
        let value = || number(arguments.get(1)?);
        (is_upper != is_lower).then(|| Some(Self { is_upper, value: value()?, is_time: false }))?
    }

    /// Makes a time limit, in seconds.
    pub(crate) fn of_time(seconds: f64) -> Self {
        Self { is_upper: true, value: seconds, is_time: true }
    }

    /// Returns the bound of a condition that must not hold.
    pub(crate) fn opposite(self) -> Self {
        Self { is_upper: !self.is_upper, ..self }
    }

    /// Returns whether another bound of the same kind accepts more.
    pub(crate) fn is_within(self, other: Self) -> bool {
        if self.is_time || other.is_time {
            return self.is_time && other.is_time && other.value >= self.value * MUCH_LONGER;
        }
        self.is_upper == other.is_upper
            && if self.is_upper { other.value > self.value } else { other.value < self.value }
    }
}

pub(super) fn number(text: &str) -> Option<f64> {
    let text: String = text.chars().filter(|letter| !matches!(letter, '_' | ' ')).collect();
    text.trim_end_matches(['f', 'd', 'F', 'D', 'L', 'n']).parse().ok()
}

/// Returns the longest time that some tokens name, in seconds: `Duration . ofMillis ( 500 )`, `2 * time . Second`.
pub(crate) fn seconds(words: &[&str]) -> Option<f64> {
    const CALLS: &[(&str, f64)] = &[
        ("ofMillis", 0.001),
        ("ofSeconds", 1.0),
        ("ofMinutes", 60.0),
        ("ofHours", 3_600.0),
        ("ofDays", 86_400.0),
        ("from_millis", 0.001),
        ("from_secs", 1.0),
        ("from_mins", 60.0),
        ("from_hours", 3_600.0),
    ];
    const UNITS: &[(&str, f64)] =
        &[("Millisecond", 0.001), ("Second", 1.0), ("Minute", 60.0), ("Hour", 3_600.0)];
    const GIVEN: &[(&str, f64)] = &[
        ("milliseconds", 0.001),
        ("seconds", 1.0),
        ("minutes", 60.0),
        ("hours", 3_600.0),
        ("days", 86_400.0),
    ];
    let unit = |table: &[(&str, f64)], word: &str| {
        table.iter().find(|(name, _)| *name == word).map(|(_, seconds)| *seconds)
    };
    let times = (0..words.len()).filter_map(|at| {
        let word = |place: usize| words.get(place).copied().unwrap_or_default();
        let call = || Some(unit(CALLS, word(at))? * number(word(at + 2)).filter(|_| word(at + 1) == "(")?);
        let given = || Some(unit(GIVEN, word(at))? * number(word(at + 2)).filter(|_| word(at + 1) == "=")?);
        // Go multiplies units.
        let of_go = || {
            let one =
                unit(UNITS, word(at)).filter(|_| at >= 2 && word(at - 1) == "." && word(at - 2) == "time")?;
            let count = (at >= 4 && word(at - 3) == "*").then(|| number(word(at - 4))).flatten();
            Some(one * count.unwrap_or(1.0))
        };
        call().or_else(given).or_else(of_go)
    });
    times.reduce(f64::max)
}

/// Returns whether only the whole part of a number is looked at.
pub(crate) fn is_whole(words: &[&str]) -> bool {
    let by_call = words
        .windows(2)
        .any(|two| matches!(two, ["int" | "round" | "trunc" | "floor" | "ceil" | "parseInt", "("]));
    by_call || words.contains(&"//")
}

/// Returns the size of what `round(value, digits)` drops.
pub(super) fn rounded(words: &[&str]) -> Option<f64> {
    let start = words.iter().position(|word| *word == "round")?;
    let mut depth = 0_usize;
    let mut digits: Option<String> = None;
    for word in words.get(start + 1..)? {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 1 => digits = Some(String::new()),
            other => digits.iter_mut().for_each(|digits| digits.push_str(other)),
        }
        if depth == 0 {
            break;
        }
    }
    Some(10_f64.powf(-digits?.parse::<f64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_accept_more_in_one_direction() {
        let of = |text: &str| Bound::of_condition(text).expect("a bound");
        assert!(of("n < 3").is_within(of("n < 30")));
        assert!(!of("n < 3").is_within(of("n < 2")));
        assert!(of("n >= 1_000").is_within(of("n >= 1")));
        assert!(!of("n > 1").is_within(of("n < 5")));
        assert_eq!(Bound::of_condition("n < limit"), None);
        assert_eq!(Bound::of_condition("n < 3 or m < 4"), None);
    }

    #[test]
    fn lengths_of_time_are_read() {
        for (text, expected) in [
            ("Duration . ofMillis ( 500 )", Some(0.5)),
            ("time . Hour", Some(3_600.0)),
            ("2 * time . Second", Some(2.0)),
            ("Duration :: from_secs ( 10 )", Some(10.0)),
            ("timedelta ( minutes = 2 )", Some(120.0)),
            ("Second", None),
        ] {
            assert_eq!(seconds(&text.split(' ').collect::<Vec<_>>()), expected, "{text}");
        }
    }
}
