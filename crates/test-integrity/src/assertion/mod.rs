//! One assertion of a test: what it is about, and how much it demands. It uses [`crate::syntax`] alone.

pub(crate) mod bounds;
mod failure;
pub(crate) mod origin;
mod sides;
mod single;
mod tolerance;
pub(crate) mod vacuous;
pub(crate) mod vocabulary;

use crate::syntax::tokens::{inner, is_object, outer_call, split};
use bounds::Bound;
pub(crate) use failure::is_mere_failure;
use origin::Origin;
use sides::sides_of;
use single::{pattern, single};
use vacuous::{formatted, is_attribute_of_mock, is_exhaustive, is_found_always, is_natural};

/// How much an assertion demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strength {
    /// It holds whatever the program does.
    Nothing,
    /// There is something.
    Present,
    /// The value is one of many.
    Bounded,
    /// A part of the value, such as its length, is this one.
    Partial,
    /// The value is this one.
    Exact,
}

/// Assertion of a test.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing about how it is made")]
#[derive(Clone, Debug)]
pub(crate) struct Assertion {
    pub(crate) line: usize,
    /// Its tokens, joined by blanks.
    pub(crate) text: String,
    /// Name by which it is called; empty for a condition.
    pub(crate) name: String,
    /// Both sides of a comparison that demands that they are the same.
    pub(crate) sides: Option<(String, String)>,
    /// What both sides stand for, where a name in the test is one of them.
    pub(crate) resolved: Option<(String, String)>,
    /// What the tested and the expected side come from.
    pub(crate) origins: Option<Box<(Origin, Origin)>>,
    /// Tokens of what is tested, joined by blanks.
    pub(crate) subject: String,
    pub(crate) strength: Strength,
    /// Largest difference that it accepts.
    pub(crate) tolerance: Option<f64>,
    /// Number or length of time that what is tested may not pass.
    pub(crate) bound: Option<Bound>,
    /// Whether it is made only under a condition.
    pub(crate) is_conditional: bool,
    /// Whether its failure is caught.
    pub(crate) is_swallowed: bool,
    /// Whether it stands where a failure is handled.
    pub(crate) is_handling: bool,
    /// Whether what it compares was sorted, or made a set of, before.
    pub(crate) is_unordered: bool,
    /// Whether what is expected comes from what is tested.
    pub(crate) is_recomputed: bool,
    /// Whether the program gave both sides to one function of the test.
    pub(crate) is_of_callback: bool,
}

/// Largest tolerance of an equality of numbers that is said to please the compiler.
pub(crate) const ROUNDING: f64 = 0.05;

/// What an assertion is about that expects a failure.
const FAILURE: &str = "(failure)";

impl Assertion {
    /// Makes an assertion of a call: its name, and its arguments as normal texts.
    pub(crate) fn of_call(name: &str, arguments: &[String], line: usize, words: &[&str]) -> Self {
        let plain = vocabulary::plain(name);
        let mut sides = None;
        let (subject, strength) = if vocabulary::is_of_a_value(name) {
            let first = arguments.first().map_or("", String::as_str);
            let negative = plain.contains("false") || plain.starts_with("not");
            let (subject, strength) = condition(first);
            sides = sides_of(first).filter(|_| !negative);
            let strength = match strength {
                // That a call with an empty text is false says no more than that it is with another one.
                Strength::Nothing if negative && is_of_empty(first) && !looks_for_part(first) => {
                    Strength::Present
                }
                Strength::Nothing if negative => Strength::Exact,
                Strength::Exact if negative && !first.contains(" != ") => Strength::Bounded,
                strength => strength,
            };
            (subject, strength)
        } else {
            let strength = awaited(&plain, arguments).unwrap_or_else(|| vocabulary::strength(name));
            let strength = match (plain.as_str(), arguments) {
                ("assertmatches", [subject, said, ..]) => {
                    pattern(&format!("matches ! ( {subject} , {said} )"))
                        .map_or(strength, |(_, of_all)| of_all)
                }
                _ => strength,
            };
            let (one, other) =
                (arguments.first().map_or("", String::as_str), arguments.get(1).map_or("", String::as_str));
            let is_equality = plain.contains("eq") || plain.ends_with("is") || plain.contains("same");
            let same = !one.is_empty() && one == other && is_equality && !plain.starts_with("not");
            let both_literal = vocabulary::is_literal(one) && one == other;
            // What a mock was called with are no two sides.
            let is_of_mock = ["called", "awaited", "anycall"].iter().any(|part| plain.contains(part));
            if strength >= Strength::Partial && !one.is_empty() && !other.is_empty() && !is_of_mock {
                sides = Some((one.to_owned(), other.to_owned()));
            }
            let mock = name.rsplit_once('.').filter(|_| is_of_mock).map(|(mock, _)| mock.replace('.', " . "));
            let is_list = ["List . of (", "Set . of (", "Map . of (", "Arrays . asList ("]
                .iter()
                .any(|start| one.starts_with(start));
            let is_expected = is_list || vocabulary::is_literal(one) || is_equality && is_object(one);
            let subject = if is_expected && !other.is_empty() { other } else { one };
            let subject = mock.as_deref().unwrap_or(subject);
            let is_of_part = OF_PARTS.iter().any(|part| plain.contains(part));
            let is_vacuous =
                is_of_part && arguments.iter().skip(1).any(|given| vocabulary::is_vacuous(given));
            // Whatever there is has no parts, or more.
            let is_any = other.starts_with('/') && vocabulary::is_vacuous(other);
            let is_bare = is_of_part && arguments.len() > 1 && matches!(other, "{ }" | "[ ]");
            let nothing = same || both_literal || is_vacuous || is_bare || is_any;
            // How many there are is a part of what there is; that there are none is all of it.
            let is_count = matches!(plain.as_str(), "tohavelength" | "lengthof" | "tohavecount");
            let is_partial =
                is_count && other.starts_with(|first: char| first.is_ascii_digit()) && other != "0";
            let strength = if is_partial { Strength::Partial } else { strength };
            // The name of a property without its value.
            let is_name =
                ["property", "attribute"].iter().any(|end| plain.ends_with(end)) && arguments.len() == 2;
            let strength = match is_name {
                true if plain.starts_with("not") => Strength::Exact,
                true => strength.min(Strength::Present),
                false => strength,
            };
            (subject.to_owned(), if nothing { Strength::Nothing } else { strength })
        };
        let tolerance = vocabulary::tolerance(name, words);
        // Of an equality, a small one is hardly more than rounding.
        let is_close = tolerance.is_some_and(|tolerance| plain != "isequalto" || tolerance > ROUNDING);
        let strength = if is_close { strength.min(Strength::Bounded) } else { strength };
        let bound = Bound::of_call(&plain, arguments);
        Self { name: name.to_owned(), sides, bound, ..Self::new(line, words, subject, strength, tolerance) }
    }

    /// Makes an assertion on a condition, such as Python's `assert` statement.
    pub(crate) fn of_condition(text: &str, line: usize, words: &[&str]) -> Self {
        let (subject, strength) = condition(text);
        let tolerance = vocabulary::tolerance("", words);
        let strength = if tolerance.is_some() { strength.min(Strength::Bounded) } else { strength };
        let bound = Bound::of_condition(text);
        Self { sides: sides_of(text), bound, ..Self::new(line, words, subject, strength, tolerance) }
    }

    /// Makes an assertion that something fails; `kind` is the type of the failure, `says` whether its text matters.
    pub(crate) fn of_failure(kind: &str, says: bool, line: usize, words: &[&str]) -> Self {
        let strength = match (vocabulary::is_broad_exception(kind) || kind.is_empty(), says) {
            (true, false) => Strength::Present,
            (true, true) | (false, false) => Strength::Bounded,
            (false, true) => Strength::Exact,
        };
        Self::new(line, words, FAILURE.to_owned(), strength, None)
    }

    fn new(line: usize, words: &[&str], subject: String, strength: Strength, tolerance: Option<f64>) -> Self {
        let text = words.join(" ");
        let is_partial = strength == Strength::Exact && vocabulary::is_of_a_part(&subject);
        let strength = if is_partial { Strength::Partial } else { strength };
        let strength = if vocabulary::accepts_anything(words) {
            strength.min(Strength::Present)
        } else if vocabulary::accepts_parts(words) {
            strength.min(Strength::Bounded)
        } else {
            strength
        };
        Self {
            line,
            text,
            name: String::new(),
            sides: None,
            resolved: None,
            origins: None,
            subject,
            strength,
            tolerance,
            bound: None,
            is_conditional: false,
            is_swallowed: false,
            is_handling: false,
            is_unordered: false,
            is_recomputed: false,
            is_of_callback: false,
        }
    }

    /// Returns whether it is one call of a chain that demands something of a response or a program: it has no subject of its own.
    pub(crate) fn is_link(&self) -> bool {
        self.subject.starts_with(". ")
    }

    /// Returns how much it demands of a value that is always true.
    pub(crate) fn truth(&self) -> Strength {
        if self.strength == Strength::Present { Strength::Nothing } else { self.strength }
    }

    /// Returns whether it expects a failure.
    pub(crate) fn is_failure(&self) -> bool {
        self.subject == FAILURE
    }

    /// Returns the name of what it calls, if it is a call of a plain name.
    pub(crate) fn callee(&self) -> Option<&str> {
        let name = self.text.split_once(" (")?.0;
        let name = name.rsplit(' ').next().unwrap_or(name);
        name.starts_with(char::is_alphabetic).then_some(name)
    }

    /// Returns its tokens that are names or literals.
    pub(crate) fn content(&self) -> impl Iterator<Item = &str> {
        self.text.split(' ').filter(|word| word.chars().any(char::is_alphanumeric))
    }
}

/// Parts of the names of calls that look for a part of a value.
const OF_PARTS: &[&str] =
    &["contain", "match", "regex", "include", "start", "ends", "like", "partial", "has"];

/// Returns how much an assertion demands that waits until a function returns that something holds.
fn awaited(name: &str, arguments: &[String]) -> Option<Strength> {
    const NAMES: &[&str] = &["eventually", "until", "waitfor", "condition", "eventuallywithcontext"];
    const STARTS: &[&str] =
        &["func ( ) bool { return ", "( ) => ", "( ) -> ", "async ( ) => ", "lambda : ", "| | "];
    let condition = |given: &String| {
        let inner = STARTS.iter().find_map(|start| given.strip_prefix(start))?;
        let inner = inner.strip_suffix(" }").unwrap_or(inner);
        // What does more than to return a condition says what it demands elsewhere.
        (!inner.contains(['{', ';'])).then(|| self::condition(inner).1)
    };
    NAMES.contains(&name.trim_end_matches('f')).then(|| arguments.iter().find_map(condition))?
}

/// Ends of conditions that hold for whatever there is.
const PRESENCE: &[&str] = &[" is not None", " != None", " !== null", " != null", " !== undefined", " != nil"];
/// Signs between two sides that have to be the same.
const EXACT: &[&str] = &[" === ", " == ", " is "];
/// Signs of conditions that many values meet, longer ones first.
const BOUNDED: &[&str] = &[" !== ", " != ", " >= ", " <= ", " > ", " < ", " not in ", " in ", " is not "];

/// Returns whether a condition is a call that is given an empty text alone.
fn is_of_empty(text: &str) -> bool {
    text.ends_with("( \"\" )") || text.ends_with("( '' )")
}

/// Returns whether a condition is a call that looks for a part of a value.
fn looks_for_part(text: &str) -> bool {
    let name =
        outer_call(text).map(|(callee, _)| vocabulary::plain(callee.rsplit(' ').next().unwrap_or(callee)));
    name.is_some_and(|name| OF_PARTS.iter().any(|part| name.contains(part)))
}

/// Returns what a condition is about, and how much it demands. `text` are its tokens, joined by blanks.
fn condition(text: &str) -> (String, Strength) {
    let whole = text.trim();
    if let Some(value) = formatted(whole) {
        return value;
    }
    // A list is true as soon as anything is in it.
    let is_list = whole.starts_with("[ ")
        && whole.ends_with(" ]")
        && split(&whole[2..], &[" ] "]).len() == 1
        && whole.contains(" for ");
    let is_function = is_list || whole.starts_with("lambda ") || whole.starts_with("( ) =>");
    let is_vacuous = whole.starts_with("\"\" in ") || is_of_empty(whole);
    if is_function || is_vacuous || is_of_nothing(whole) {
        return (whole.to_owned(), Strength::Nothing);
    }
    // `a == b if c else True`
    let is_true_otherwise = |parts: &[&str]| parts.get(1).is_some_and(|other| vocabulary::is_truth(other));
    if is_true_otherwise(&split(whole, &[" else "]))
        || whole.contains(" ? ") && is_true_otherwise(&split(whole, &[" : "]))
    {
        return (whole.to_owned(), Strength::Present);
    }
    let text = split(whole, &[" if "])[0];
    let bare = inner(text).unwrap_or(text);
    let parts = split(bare, &[" || ", " or "]);
    if parts.len() > 1 {
        let nothing = parts.iter().any(|part| vocabulary::is_truth(part)) || is_exhaustive(&parts);
        let (subject, strength) = condition(parts[0]);
        return (subject, if nothing { Strength::Nothing } else { strength.min(Strength::Bounded) });
    }
    let all = split(bare, &[" && ", " and "]);
    if all.len() > 1 {
        let of_parts: Vec<(String, Strength)> = all.iter().map(|part| condition(part)).collect();
        let strongest = of_parts.iter().map(|(_, strength)| *strength).max().unwrap_or(Strength::Present);
        return (of_parts[0].0.clone(), strongest);
    }
    if let Some(subject) = PRESENCE.iter().find_map(|end| bare.strip_suffix(end)) {
        return (subject.to_owned(), Strength::Present);
    }
    if is_natural(bare) || is_found_always(bare) || is_attribute_of_mock(bare) {
        return (bare.to_owned(), Strength::Nothing);
    }
    // Go's way to ask which error it is.
    if let Some(given) = bare.strip_prefix("errors . Is ( ") {
        return (given.split(" ,").next().unwrap_or(given).to_owned(), Strength::Exact);
    }
    if let Some((subject, strength)) = equality(bare).or_else(|| pattern(bare)).or_else(|| single(bare)) {
        return (subject.to_owned(), strength);
    }
    for (signs, strength) in [(BOUNDED, Strength::Bounded), (EXACT, Strength::Exact)] {
        for sign in signs {
            let sides = split(bare, &[sign]);
            if let [one, other, ..] = sides.as_slice() {
                let same = strength == Strength::Exact && (assigned(one) == assigned(other));
                let subject = if vocabulary::is_literal(one) { other } else { one };
                return ((*subject).to_owned(), if same { Strength::Nothing } else { strength });
            }
        }
    }
    if vocabulary::is_truth(bare) {
        (bare.to_owned(), Strength::Nothing)
    } else {
        (bare.to_owned(), Strength::Present)
    }
}

/// Returns what a call is about that tells whether two values are the same, and how much it demands: `a . equals ( b )`.
fn equality(text: &str) -> Option<(&str, Strength)> {
    const NAMES: &[&str] =
        &["eq", "equals", "Equal", "DeepEqual", "array_equal", "isEqual", "deepEqual", "deepEquals"];
    let (callee, given) = outer_call(text)?;
    let (receiver, name) = callee.rsplit_once(" . ")?;
    if !NAMES.contains(&name) || given.is_empty() {
        return None;
    }
    let (subject, other) = match split(given, &[" , "]).as_slice() {
        [other] => (receiver, *other),
        [one, other, ..] => (*one, *other),
        [] => return None,
    };
    let is_same = subject == other;
    Some((subject, if is_same { Strength::Nothing } else { Strength::Exact }))
}

/// Returns whether a condition is one on all items of a collection in which nothing is.
fn is_of_nothing(text: &str) -> bool {
    let inner = text.strip_prefix("all (").and_then(|rest| rest.strip_suffix(" )"));
    let items = inner.and_then(|inner| inner.rsplit_once(" in ")).map(|(_, items)| items);
    let receiver = text.rsplit_once(" . all (").map(|(receiver, _)| receiver);
    items.or(receiver).is_some_and(crate::syntax::is_empty)
}

/// Returns what an expression comes to where it names its value at once: `( x := 3 )` is `3`.
fn assigned(text: &str) -> &str {
    let bare = text.strip_prefix("( ").and_then(|text| text.strip_suffix(" )")).unwrap_or(text);
    bare.split_once(" := ").map_or(text, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_demands_what_its_operator_says() {
        let of = |text: &str| condition(text);
        assert_eq!(of("a == 1"), ("a".to_owned(), Strength::Exact));
        assert_eq!(of("1 == a . b"), ("a . b".to_owned(), Strength::Exact));
        assert_eq!(of("f ( x == 1 )"), ("f ( x == 1 )".to_owned(), Strength::Present));
        assert_eq!(of("a > 1"), ("a".to_owned(), Strength::Bounded));
        assert_eq!(of("a is not None"), ("a".to_owned(), Strength::Present));
        assert_eq!(of("a == 1 or True").1, Strength::Nothing);
        assert_eq!(of("a == a").1, Strength::Nothing);
        assert_eq!(of("True").1, Strength::Nothing);
        assert_eq!(of("\"a == b\"").1, Strength::Nothing);
        assert_eq!(of("f ( a ) == f ( a )").1, Strength::Nothing);
        assert_eq!(of("f ( a ) == f ( b )").1, Strength::Exact);
        assert_eq!(of("( x := 3 ) == 3").1, Strength::Nothing);
        assert_eq!(of("a . equals ( b ( c ) )"), ("a".to_owned(), Strength::Exact));
        assert_eq!(of("slices . Equal ( a , b )"), ("a".to_owned(), Strength::Exact));
        assert_eq!(of("a . equals ( a )").1, Strength::Nothing);
        assert_eq!(of("a . equalsIgnoreCase ( b )").1, Strength::Present);
        assert_eq!(of("matches ! ( e , Kind :: Short { had : 1 } )").1, Strength::Exact);
        assert_eq!(of("matches ! ( e , Kind :: Short { .. } )").1, Strength::Present);
        assert_eq!(of("matches ! ( e , Some ( _ ) )").1, Strength::Present);
    }
}
