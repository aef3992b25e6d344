//! Tolerances of assertions: how far a value may be from the one that is named.

/// Names in which the last number is the tolerance, and the larger the wider.
const TOLERANT: &[&str] = &["delta", "epsilon", "approximately", "closeto", "within", "offset"];
/// Names in which the last number counts digits: the smaller the wider.
const DIGITS: &[&str] = &["tobecloseto", "almostequal"];

/// Returns the largest difference that an assertion accepts, if it is one that accepts any.
///
/// `words` are the tokens of the whole assertion.
pub(crate) fn tolerance(name: &str, words: &[&str]) -> Option<f64> {
    /// What libraries accept if nobody says a number.
    const USUAL: f64 = 1e-6;
    const ARGUMENTS: &[&str] = &[
        "abs",
        "rel",
        "atol",
        "rtol",
        "delta",
        "tolerance",
        "tol",
        "eps",
        "epsilon",
        "abs_tol",
        "rel_tol",
        "maxDiffPixels",
        "maxDiffPixelRatio",
        "failureThreshold",
    ];
    const DIGIT_ARGUMENTS: &[&str] = &["places", "decimal", "significant", "precision"];

    let name = super::vocabulary::plain(name);
    let number = |word: &str| {
        let digits: String = word.chars().filter(|letter| *letter != '_').collect();
        let digits = digits.trim_end_matches(['f', 'd', 'F', 'D', 'L']);
        digits.parse::<f64>().ok()
    };
    let mut named: Vec<f64> = Vec::new();
    for three in words.windows(3) {
        let [word, sign, value] = three else { continue };
        let Some(value) = number(value).filter(|_| matches!(*sign, "=" | ":")) else { continue };
        if *word == "maxDiffPixelRatio" {
            // As many as in a picture of a million.
            named.push(value * 1e6);
        } else if ARGUMENTS.contains(word) {
            named.push(value);
        } else if DIGIT_ARGUMENTS.contains(word) {
            named.push(10_f64.powf(-value));
        }
    }
    if words.iter().any(|word| matches!(*word, "abs" | "fabs" | "Abs" | "abs_diff")) {
        let bounds = words.windows(2).filter(|two| matches!(two[0], "<" | "<="));
        named.extend(bounds.filter_map(|two| number(two[1])));
        // A multiple of a tolerance is one as well.
        let multiples = words.windows(4).filter(|four| matches!(four[0], "<" | "<=") && four[2] == "*");
        named.extend(multiples.filter_map(|four| Some(number(four[1])? * number(four[3])?)));
    }
    named.extend(super::bounds::rounded(words));
    named.extend(offset(words));
    // Nothing is further away than these.
    let is_endless = words.iter().any(|word| {
        matches!(
            *word,
            "INFINITY"
                | "MAX_VALUE"
                | "POSITIVE_INFINITY"
                | "Infinity"
                | "MaxFloat64"
                | "MAX"
                | "inf"
                | "\"inf\""
                | "'inf'"
        )
    });
    let is_bound =
        words.iter().any(|word| ARGUMENTS.contains(word) || matches!(*word, "abs" | "fabs" | "Abs"));
    if is_endless && is_bound {
        return Some(f64::INFINITY);
    }
    if let Some(widest) = named.into_iter().reduce(f64::max) {
        return Some(widest);
    }
    let numbers: Vec<f64> = words.iter().filter_map(|word| number(word)).collect();
    if name == "iscloseto" {
        return Some(USUAL);
    }
    if DIGITS.iter().any(|part| name.contains(part)) {
        // The value that is expected comes first, so that one number alone is no tolerance, unless it is behind something else.
        let is_second =
            name.contains("tobecloseto") && matches!(words, [.., ",", last, ")"] if number(last).is_some());
        let digits = numbers.last().filter(|_| numbers.len() >= 2 || is_second);
        return Some(digits.map_or(USUAL, |digits| 10_f64.powf(-digits)));
    }
    if ["duration", "within"].iter().any(|part| name.contains(part))
        && let Some(seconds) = super::bounds::seconds(words)
    {
        return Some(seconds);
    }
    if TOLERANT.iter().any(|part| name.contains(part)) {
        return Some(numbers.last().copied().unwrap_or(USUAL));
    }
    let is_near =
        |word: &&str| matches!(*word, "approx" | "Approx" | "isclose" | "allclose" | "assert_allclose");
    words.iter().any(is_near).then_some(USUAL)
}

/// Returns the difference that an object says which is given for it: `within ( 0.1 )`, `Percentage . withPercentage ( 5 )`,
/// `within ( 1 , ChronoUnit . SECONDS )`; or the smallest that a type of numbers knows: `f64 :: EPSILON`.
fn offset(words: &[&str]) -> Option<f64> {
    const CALLS: &[&str] = &["within", "offset", "withinPercentage", "withPercentage", "byLessThan"];
    const UNITS: &[(&str, f64)] = &[
        ("NANOS", 1e-9),
        ("MICROS", 1e-6),
        ("MILLIS", 0.001),
        ("SECONDS", 1.0),
        ("MINUTES", 60.0),
        ("HOURS", 3_600.0),
        ("DAYS", 86_400.0),
    ];
    const SMALLEST: &[(&str, f64)] =
        &[("f64", f64::EPSILON), ("f32", 1.192_092_9e-7), ("Number", f64::EPSILON)];
    let word = |place: usize| words.get(place).copied().unwrap_or_default();
    let given = |at: usize| {
        // What follows a point is a demand itself, unless it is the name of a class: `. within ( 1 , 5 )`.
        let is_object = match word(at.checked_sub(1)?) {
            "," => true,
            "." => word(at.checked_sub(2)?).starts_with(char::is_uppercase),
            _ => false,
        };
        let value = super::bounds::number(word(at + 2))
            .filter(|_| is_object && CALLS.contains(&word(at)) && word(at + 1) == "(")?;
        let unit =
            words[at + 3..].iter().take(4).find_map(|word| UNITS.iter().find(|(name, _)| name == word));
        Some(value * unit.map_or(1.0, |(_, seconds)| *seconds))
    };
    let smallest = |at: usize| {
        let of = SMALLEST.iter().find(|(name, _)| *name == word(at))?;
        (matches!(word(at + 1), "::" | ".") && word(at + 2) == "EPSILON").then_some(of.1)
    };
    let is_difference = words.iter().any(|word| matches!(*word, "abs" | "epsilon"));
    (0..words.len())
        .filter_map(|at| given(at).or_else(|| smallest(at).filter(|_| is_difference)))
        .reduce(f64::max)
}
