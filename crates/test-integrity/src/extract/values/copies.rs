//! Copies: expressions that come to the same as what they are made of.

/// Calls whose result equals what they are given.
const CALLS: &[&str] = &[
    "list (",
    "tuple (",
    "dict (",
    "copy . copy (",
    "copy . deepcopy (",
    "deepcopy (",
    "structuredClone (",
    "JSON . parse ( JSON . stringify (",
    "Array . from (",
    "Object . assign ( { } ,",
    "cloneDeep (",
    "_ . cloneDeep (",
    "_ . clone (",
    "slices . Clone (",
    "maps . Clone (",
    "bytes . Clone (",
    "strings . Clone (",
    "new ArrayList <> (",
    "new java . util . ArrayList <> (",
    "new LinkedList <> (",
    "List . copyOf (",
    "Set . copyOf (",
    "Map . copyOf (",
    "new HashMap <> (",
    "pytest . approx (",
    "json . loads ( json . dumps (",
    "pickle . loads ( pickle . dumps (",
];
/// Ends of expressions whose value equals what stands before them.
const ENDS: &[&str] = &[
    " . clone ( )",
    " . to_vec ( )",
    " . to_owned ( )",
    " . copied ( )",
    " . cloned ( )",
    " . copy ( )",
    " . slice ( )",
    " . concat ( )",
    " [ : ]",
    " [ .. ]",
    " . as_ref ( )",
    " . borrow ( )",
];
/// Most steps by which an expression is reduced.
const MAX_STEPS: usize = 12;

/// Strips what changes nothing of a value: references, copies and brackets.
pub(super) fn plain(text: &str) -> String {
    let mut text = text.trim().replace("< >", "<>");
    for _ in 0..MAX_STEPS {
        match step(&text) {
            Some(inner) => inner.trim().clone_into(&mut text),
            None => break,
        }
    }
    text
}

fn step(text: &str) -> Option<String> {
    let by_sign =
        text.strip_prefix("& ").or_else(|| text.strip_prefix("* ")).or_else(|| text.strip_prefix("await "));
    if let Some(inner) = by_sign.or_else(|| ENDS.iter().find_map(|end| text.strip_suffix(end))) {
        return Some(inner.to_owned());
    }
    for call in CALLS {
        let closing = " )".repeat(call.matches('(').count());
        let inner = text.strip_prefix(call).and_then(|rest| rest.strip_suffix(&closing));
        // Another argument may change something.
        if let Some(inner) = inner.filter(|inner| is_one(inner)) {
            return Some(inner.to_owned());
        }
    }
    // `append ( [ ] string ( nil ) , got ... )`
    if let Some(inner) = text.strip_prefix("append ( [ ] ").and_then(|rest| rest.strip_suffix(" ... )")) {
        let (start, copied) = inner.rsplit_once(" , ")?;
        return (start.ends_with("( nil )") || start.ends_with("{ }")).then(|| copied.to_owned());
    }
    for (open, close) in
        [("[ ... ", " ]"), ("{ ... ", " }"), ("[ * ", " ]"), ("{ ** ", " }"), ("[ ...", " ]")]
    {
        if let Some(inner) =
            text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).filter(|inner| is_one(inner))
        {
            return Some(inner.to_owned());
        }
    }
    if let Some(rest) = text.strip_prefix("getattr ( ") {
        let (object, rest) = rest.split_once(" , ")?;
        let (name, rest) = rest.split_once(" )")?;
        let quoted = name.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
        return Some(format!("{object} . {quoted}{rest}"));
    }
    // A text that is nothing but one value.
    for (open, close) in [("f\"{", "}\""), ("f'{", "}'"), ("`${", "}`")] {
        if let Some(inner) = text
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
            .filter(|inner| !inner.contains(['{', '}']))
        {
            return Some(inner.to_owned());
        }
    }
    let inner = text.strip_prefix("( ").and_then(|inner| inner.strip_suffix(" )"));
    inner.filter(|inner| !inner.contains(['(', ','])).map(str::to_owned)
}

/// Returns whether a text is one expression, whose brackets are closed where they were opened.
fn is_one(text: &str) -> bool {
    let mut depth = 0_i32;
    for word in text.split(' ') {
        match word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," | "for" if depth == 0 => return false,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// Returns whether two sides are the same, whatever their layout.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let squeezed = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
    one == other || one.len().abs_diff(other.len()) < one.len() && squeezed(one) == squeezed(other)
}

/// Returns whether a text changes what a name stands for, by counting or by adding to it: `calls += 1`, `calls++`.
pub(super) fn is_counted(name: &str, text: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (text[..at].trim_end(), text[at + name.len()..].trim_start());
        ["+=", "-=", "++", "--", "|=", "*="].iter().any(|sign| behind.starts_with(sign))
            || ["++", "--"].iter().any(|sign| before.ends_with(sign))
            || [".push(", ".append(", ".unshift("].iter().any(|call| behind.starts_with(call))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_come_to_what_they_are_made_of() {
        for (text, expected) in [
            ("list ( names )", "names"),
            ("JSON . parse ( JSON . stringify ( names ) )", "names"),
            ("append ( [ ] string ( nil ) , got ... )", "got"),
            ("cart . names ( ) [ : ]", "cart . names ( )"),
            ("[ ... names ]", "names"),
            ("[ ... names , 1 ]", "[ ... names , 1 ]"),
            ("getattr ( cart , 'total' ) ( )", "cart . total ( )"),
            ("f\"{label(x)}\"", "label(x)"),
            ("list ( a ) + list ( b )", "list ( a ) + list ( b )"),
            ("sorted ( names )", "sorted ( names )"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
