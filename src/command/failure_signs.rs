//! Signs of failures that are common to programs, known or not: the words and phrases that they use for them, at the places
//! where they put them.

use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

use super::failure_lines::is_harmless;

/// Signs that mean a failure wherever they are, one kind each.
const STRONG: [&str; 21] = [
    // Verdicts and marks.
    r"\b(?:FAIL(?:ED|URE|URES)?|FATAL|ERROR|MISMATCH|PANIC|ABORT(?:ED)?|CRITICAL)\b",
    r"(?:^|[\s\[(>|]|─|│)(?:✘|✗|✖|✕|⨯|❌)(?:\s|$)",
    r"(?i)\[(?:error|fail|failed|failure|fatal|critical)\b[^\]]{0,60}\]|^\s*\[[-!]\] |^\s*==> X ",
    r"^(?:! |E: |F: |%?Error\b|\*{2,}\s*(?:error|fail))",
    // Signals and memory.
    r"\bSIG(?:SEGV|ABRT|BUS|ILL|FPE|KILL|TRAP|SYS)\b|\b(?i:segmentation fault|bus error|core dumped|illegal instruction)\b",
    r"(?i)\b(?:stack smashing|double free|(?:heap|memory|stack) corruption|buffer overflow|use[- ]after[- ]free|invalid pointer|out of memory)\b",
    r"(?i)\b(?:data race|race condition|dead ?lock(?:ed)?)\b",
    r"(?i)\b(?:terminate called|core dump|crashed|timed out|stack overflow|unhandled|uncaught)\b",
    // Exceptions by their names.
    r"\((?:\w+(?:::|\.))*[A-Z]\w*(?:Error|Exception|Failure)\)|(?:^|[\s:])(?:\w+(?:::|\.))*[A-Z]\w*(?:Error|Exception)(?::|\s*$)",
    r"(?i)\bassert(?:ion)?\b.{0,200}\bfail(?:ed|s|ure)?\b|\bassert(?:ion)? (?:error|violated)\b",
    // What languages say of code.
    r"(?i)\b(?:syntax|parse|type|link(?:er)?|compil(?:e|ation)|fatal|internal compiler) (?:errors?|mismatch|failed|failure)\b",
    r"(?i)(?:^|[:>!|\])] ?)\s*(?:unbound|undefined|undeclared|unresolved|unterminated|unexpected|unknown|unrecogni[sz]ed|incompatible|mismatched|duplicate|illegal|invalid|ambiguous) [\w`'(]",
    r#"(?i): ["'`\w.]+: (?:unbound|undefined|undeclared|unresolved|not found|not defined)\b"#,
    r#"(?i)["'`)] (?:is|was|are|were) (?:not|un|never) ?(?:defined|declared|found|known|recogni[sz]ed|supported|allowed|resolved|installed|available|valid|correct)\b"#,
    r"(?i)\b(?:no such (?:file|module|command|option|table|column|host|user|remote)|command not found|no rule to make)\b",
    // What could not be done.
    r"(?i)(?:^|[:>*] )(?:can'?t|cannot|could not|couldn't|unable to|failed to|refus(?:ed|ing) to|access denied|permission denied|not permitted)\b",
    r"(?i)\b(?:could not|cannot|can't|unable to) (?:be )?(?:resolved?|located?|found|find|opened|open|load(?:ed)?|connect|import|compiled?|parsed?|start|build|execute|satisfied)\b",
    r"(?i)\b(?:permission denied|access denied|connection (?:refused|reset)|unresolved (?:\w+ )?conflicts?|merge conflict)\b",
    r"(?i)\b(?:failed|failure|fails)[.!]?\s*$|\.\.\.\s*mismatch$|^\s*(?:abort(?:ed)?|fatal|panic|failed|failure)\b",
    // Ends of processes and requests.
    r"(?i)\b(?:exit(?:ed|ing|s)?|return(?:ed|s)?|status|code)\b.{0,24}\b(?:status|code|with)[:= ]+-?[1-9]|\bnon-?zero\b|\b(?:40[0134-9]|41\d|42[29]|50\d) [A-Z][a-z]+",
    // What was expected.
    r"(?i)\bexpected\b.{0,120}\b(?:but (?:was|got|found|received)|got|to equal|actual)\b|^\s*(?:expected|actual|got|received)\b\s*[:(]",
];

/// Signs that say little in a line like many others: a place in a file, and words that are used in passing as well.
const WEAK: [&str; 3] = [
    r"^\s*(?:\./|/)?[\w./\\@+-]*\.\w+[:(]\d+(?:[:,]\d+)?\)?(?:[:\s]|$)",
    r"(?i)\b(?:errors?|fail(?:s|ed|ures?|ing)?|fatal|exceptions?|warning|violations?|denied|rejected|refused|wrong|incorrect|bad|invalid|missing|unused|unexpected|unknown|undefined|mismatch(?:ed)?|conflicts?|abort(?:ed)?|misspell(?:ed|ing)|vulnerab\w+|leak(?:ed|s)?|does not|should (?:not )?be|must (?:not )?be)\b",
    r"(?:^|[\s(\[:])[A-Z]{1,8}-?\d{2,6}(?:[\s)\]:/]|$)",
];

/// Longest part of a line that is looked at, in bytes.
const MAX_LOOKED_AT: usize = 400;

struct Signs {
    strong: RegexSet,
    weak: RegexSet,
}

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    // Without Unicode, so that lines in any language are searched at the same speed.
    let set = |patterns: &[&str]| {
        RegexSetBuilder::new(patterns).unicode(false).build().unwrap_or_else(|_| RegexSet::empty())
    };
    Signs { strong: set(&STRONG), weak: set(&WEAK) }
});

/// Returns the kind of the first sign of a failure in a line. Weak ones count where the line `is_unlike_others`.
pub(super) fn sign(line: &str, is_unlike_others: bool) -> Option<usize> {
    let line = &line[..line.floor_char_boundary(MAX_LOOKED_AT)];
    let signs = &*SIGNS;
    let strong = || signs.strong.matches(line.as_bytes()).iter().next();
    let weak = || {
        let found = signs.weak.matches(line.as_bytes()).iter().next();
        found.filter(|_| is_unlike_others).map(|kind| STRONG.len() + kind)
    };
    strong().or_else(weak).filter(|_| !is_harmless(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert_eq!((SIGNS.strong.len(), SIGNS.weak.len()), (STRONG.len(), WEAK.len()));
    }

    #[test]
    fn prose_with_words_for_failures_is_no_sign() {
        for line in [
            "The module error_types was built with unexpected ease",
            "Cached the handler for missing pages and invalid input",
            "- docs: say what an exception is, and when a test fails first",
            "loaded 12 rows of failure_modes",
            "test fails_when_missing ... ok",
        ] {
            assert_eq!(sign(line, false), None, "{line}");
        }
    }
}
