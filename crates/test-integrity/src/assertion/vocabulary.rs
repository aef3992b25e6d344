//! Words of test libraries: how much an assertion demands, by its name.

use super::Strength;
pub(crate) use super::tolerance::tolerance;

/// Names of assertions that demand one value, although a shorter name in them demands less.
const EXACT: &[&str] = &[
    "equalerror",
    "erroris",
    "isnone",
    "isnull",
    "beundefined",
    "benull",
    "isnil",
    "bewithin",
    "containsexactlyinorder",
    "containsentry",
    "containsonly",
    "inanyorderentriesof",
];
/// Parts of names that demand hardly more than that there is something.
const PRESENT: &[&str] = &[
    "truthy",
    "falsy",
    "defined",
    "exist",
    "notnone",
    "notnull",
    "notnil",
    "isinstance",
    "instanceof",
    "notempty",
    "isok",
    "beok",
    "nothrow",
    "doesnotthrow",
    "notpanics",
    "timeout",
    "visible",
    "attached",
    "inthedocument",
    "implements",
    "finite",
];
/// Names that demand a type alone.
const TYPES: &[&str] = &[
    "a",
    "an",
    "isa",
    "isarray",
    "isobject",
    "isstring",
    "isnumber",
    "isboolean",
    "isfunction",
    "iscallable",
    "isbigint",
    "issymbol",
    "isdate",
    "isinteger",
    "isint",
    "isfloat",
    "isbool",
    "isiterable",
];
/// Parts of names that accept many values.
const BOUNDED: &[&str] = &[
    "contain",
    "hasitem",
    "include",
    "match",
    "like",
    "greater",
    "less",
    "above",
    "below",
    "almost",
    "close",
    "delta",
    "epsilon",
    "within",
    "raise",
    "throw",
    "reject",
    "panic",
    "regex",
    "notequal",
    "notsame",
    "length",
    "count",
    "called",
    "awaited",
    "start",
    "ends",
    "between",
    "approx",
    "error",
    "warn",
    "type",
    "subset",
    "superset",
    "positive",
    "negative",
    "eventually",
    "inanyorder",
    "elementsmatch",
    "countequal",
    "members",
    "oneof",
    "satisf",
    "keys",
    "not",
];
/// Names of assertions on one value, which demand what the value says.
const OF_A_VALUE: &[&str] =
    &["assert", "asserttrue", "assertfalse", "true", "false", "ok", "notok", "istrue", "isfalse", "notokay"];

/// Names of exceptions that nearly everything is.
const BROAD_EXCEPTIONS: &[&str] =
    &["Exception", "BaseException", "Error", "Throwable", "RuntimeException", "StandardError"];

/// Returns a name without its path, case and underscores: `assertequal` of `self.assert_equal`.
pub(crate) fn plain(name: &str) -> String {
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    last.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns whether an assertion of this name is one on a single value.
pub(crate) fn is_of_a_value(name: &str) -> bool {
    OF_A_VALUE.contains(&plain(name).as_str())
}

/// Returns how much an assertion demands, by its name.
pub(crate) fn strength(name: &str) -> Strength {
    let name = plain(name);
    // Older libraries have the negation within the name: `toNotThrow`.
    let name = name.strip_prefix("tonot").map_or(name.clone(), |rest| format!("notto{rest}"));
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if let Some(opposite) = name.strip_prefix("not").filter(|rest| rest.starts_with("to")) {
        // What is not there is one value.
        if ["inthedocument", "bedefined", "exist", "attached"].iter().any(|word| opposite.contains(word)) {
            return Strength::Exact;
        }
        let is_presence = ["null", "undefined", "nil", "none", "empty", "throw", "nan"]
            .iter()
            .any(|word| opposite.contains(word));
        return if is_presence { Strength::Present } else { Strength::Bounded };
    }
    if has(EXACT)
        || name == "containsexactly"
        || (name.contains("called") || name.contains("awaited")) && name.contains("with")
    {
        Strength::Exact
    } else if has(PRESENT)
        || TYPES.contains(&name.as_str())
        || is_of_a_value(&name)
        || matches!(name.as_str(), "error" | "noerror" | "iferror")
    {
        Strength::Present
    } else if has(BOUNDED)
        || matches!(
            name.as_str(),
            "len"
                | "in"
                | "assertin"
                | "ne"
                | "assertne"
                | "toin"
                | "isin"
                | "most"
                | "least"
                | "gt"
                | "gte"
                | "lt"
                | "lte"
        )
    {
        Strength::Bounded
    } else {
        Strength::Exact
    }
}

/// Returns whether an assertion compares with a placeholder that equals everything, or everything of a type.
pub(super) fn accepts_anything(words: &[&str]) -> bool {
    words.windows(3).any(|three| {
        matches!(
            three,
            ["expect" | "jasmine" | "match", ".", "any" | "anything"]
                | ["mock", ".", "ANY"]
                | ["ArgumentMatchers", ".", "any"]
        )
    }) || words.iter().any(|word| {
        // `>> anything >>` stands for any number of lines in JUnit.
        matches!(*word, "ANY" | "anyObject" | "notNullValue") || word.starts_with("\">>")
    })
}

/// Returns whether an assertion compares with a placeholder that equals whatever has some parts.
pub(super) fn accepts_parts(words: &[&str]) -> bool {
    const PARTS: &[&str] =
        &["objectContaining", "arrayContaining", "stringContaining", "stringMatching", "closeTo"];
    words.windows(3).any(|three| matches!(three, ["expect" | "jasmine", ".", last] if PARTS.contains(last)))
}

/// Returns whether a pattern or a part of a text is one that everything has: `".*"`, `/./`, `""`.
pub(crate) fn is_vacuous(pattern: &str) -> bool {
    const ALL: &[&str] = &[
        "",
        ".",
        ".*",
        ".+",
        ".*?",
        ".+?",
        "[\\s\\S]*",
        "(.*)",
        "(.+)",
        "(?s).*",
        "(?s:.*)",
        "\\w*",
        "\\W*",
        "\\S*",
    ];
    let bare = pattern.trim().trim_start_matches(['r', 'b', 'R', 'u']);
    let inner = bare.strip_prefix('/').map_or_else(
        || {
            let quote = bare.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'));
            quote.and_then(|quote| bare.strip_prefix(quote)?.strip_suffix(quote))
        },
        |rest| rest.rsplit_once('/').map(|(inner, _)| inner),
    );
    inner.is_some_and(|inner| {
        let bare = inner.trim().trim_start_matches('^').trim_end_matches('$');
        ALL.contains(&bare)
            || super::vacuous::is_optional(bare) && !inner.ends_with('$')
            || !inner.is_empty()
                && !inner.contains("\\|")
                && bare.split('|').any(|part| ALL.contains(&part) && bare.contains('|'))
    })
}

/// Returns whether an exception's name is one that nearly every exception fits.
pub(super) fn is_broad_exception(name: &str) -> bool {
    // One broad kind in a list of several is as good as alone.
    if let Some(list) = name.strip_prefix("( ") {
        return list.split([' ', ',', ')']).any(|kind| BROAD_EXCEPTIONS.contains(&kind));
    }
    let name = name.strip_suffix(".class").or_else(|| name.strip_suffix(" . class")).unwrap_or(name);
    BROAD_EXCEPTIONS.contains(&name.rsplit(['.', ' ']).next().unwrap_or(name))
}

/// Returns whether a text is that of a literal, which says what is expected rather than what is tested.
pub(crate) fn is_literal(text: &str) -> bool {
    let text = text.trim_start_matches(['-', ' ', '(']);
    text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\'' | '`' | '[' | '{'))
        || matches!(text, "true" | "false" | "True" | "False" | "None" | "null" | "nil" | "undefined")
}

/// Returns whether a text of tokens is about a part of a value only: its length, its type, or its first digits.
pub(crate) fn is_of_a_part(subject: &str) -> bool {
    const PARTS: &[&str] = &[
        "len ( ",
        "type ( ",
        "bool ( ",
        "round ( ",
        "max ( ",
        "min ( ",
        "abs ( ",
        "any ( ",
        "all ( ",
        "callable ( ",
        "typeof ",
        "Object . keys ( ",
        "Boolean ( ",
        "Math . round ( ",
        "Math . floor ( ",
        "Math . sign ( ",
        "Math . min ( ",
        "Math . max ( ",
        "Math . abs ( ",
    ];
    const ENDS: &[&str] = &[
        " . length",
        " . size ( )",
        " . len ( )",
        " . length ( )",
        " . Len ( )",
        " . count ( )",
        " . keys ( )",
        " . is_ok ( )",
        " . is_err ( )",
        " . is_some ( )",
        " . is_none ( )",
        " . isPresent ( )",
        " . has_value ( )",
        " . status_code",
        " . statusCode",
    ];
    PARTS.iter().any(|part| subject.starts_with(part)) || ENDS.iter().any(|end| subject.ends_with(end))
}

/// Returns whether a condition is about the language alone: it calls what is built in, and names nothing else.
pub(crate) fn is_constant(text: &str) -> bool {
    const BUILT_IN: &[&str] =
        &["sum", "len", "min", "max", "abs", "round", "sorted", "list", "tuple", "set", "int", "str", "bool"];
    let is_name = |word: &&str| word.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let mut words = text.split(' ').filter(is_name).peekable();
    words.peek().is_some() && words.all(|word| BUILT_IN.contains(&word)) && !text.contains(['"', '\'', '`'])
}

/// Returns whether a word in front of a bracket is part of a statement rather than the name of a function.
pub(crate) fn is_statement(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "if", "for", "while", "switch", "match", "catch", "return", "function", "func", "fn", "def", "with",
        "class", "await", "import", "print", "describe", "it", "test", "raise", "throw", "new", "except",
        "yield", "lambda", "async",
    ];
    WORDS.contains(&word)
}

fn is_string(text: &str) -> bool {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'));
    quote.is_some_and(|quote| text.matches(quote).count() == 2 && text.ends_with(quote))
}

/// Returns whether a text is that of a value that is always true.
pub(crate) fn is_truth(text: &str) -> bool {
    let text = text.trim();
    matches!(text, "true" | "True" | "TRUE" | "! false" | "!false" | "not False")
        || (is_literal(text)
            && (!text.contains(' ') || is_string(text))
            && !matches!(
                text,
                "false" | "False" | "None" | "null" | "nil" | "undefined" | "0" | "\"\"" | "''"
            ))
}
