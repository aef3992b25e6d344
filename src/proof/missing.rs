//! Errors of builds and imports: which names they say are missing, and where.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// One error, as a compiler or an interpreter tells it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BuildError {
    /// Names that it says are missing.
    pub(super) names: Vec<String>,
    /// The file and the line where it is.
    pub(super) place: Option<(String, usize)>,
}

impl BuildError {
    /// Returns whether the error lies in this file, and where.
    pub(super) fn line_in(&self, path: &str) -> Option<usize> {
        let (file, line) = self.place.as_ref()?;
        let (file, path) = (Path::new(file), Path::new(path));
        (file.ends_with(path) || path.ends_with(file)).then_some(*line)
    }
}

/// Place in a file, as compilers and Python's tracebacks write it.
#[expect(clippy::unwrap_used, reason = "a constant")]
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?:\./)?([\w./@+-]+\.(?:rs|go|java|py|[cm]?[jt]sx?))(?::\[?|\()(\d+)|File "([^"]+)", line (\d+)"#,
    )
    .unwrap()
});

/// Ways to say that a name is missing. The group is the name, or several of them, never that of what lacks it. The first way
/// that fits a line counts.
#[expect(clippy::unwrap_used, reason = "constants")]
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    const QUOTE: &str = "[`'\"‘’]";
    [
        // Rust.
        "unresolved imports? (.+)$",
        "cannot find [a-zA-Z, ]+ Q([^Q]+)Q",
        "could not find Q([^Q]+)Q in ",
        "use of (?:undeclared|unresolved) [a-z ]+ Q([^Q]+)Q",
        "named Q([^Q]+)Q",
        "no field Q([^Q]+)Q on ",
        "no Q([^Q]+)Q in ",
        "Q([^Q]+)Q is private",
        "missing(?:: | fields? )Q([^Q]+)Q",
        "Q([^Q]+)Q is not a member of trait",
        // Python.
        "cannot import name Q([^Q]+)Q",
        "No module named Q([^Q]+)Q",
        "has no attribute Q([^Q]+)Q",
        "name Q([^Q]+)Q is not defined",
        "unexpected keyword argument Q([^Q]+)Q",
        // JavaScript and TypeScript.
        "[Cc]annot find (?:module|package) Q([^Q]+)Q",
        "Named export Q([^Q]+)Q not found",
        "has no (?:exported member|default export)[^Q]* Q([^Q]+)Q",
        "Property Q([^Q]+)Q does not exist",
        r"([\w.$]+) is not (?:defined|a function|a constructor)",
        // Go.
        r"undefined: ([\w.]+)",
        r"([\w.]+) undefined \(",
        r"unknown field (\w+)",
        r"provides package ([\w./-]+)",
        r"package ([\w./-]+) is not in",
        // Java, Kotlin, C# and C++.
        r"symbol: +(?:method|class|variable|constructor|interface|enum) (\w+)",
        r"package ([\w.]+) does not exist",
        "[Uu]nresolved reference:? Q?([\\w.]+)",
        "name Q([^Q]+)Q (?:does not exist|could not be found)",
        "does not contain a definition for Q([^Q]+)Q",
        "undeclared identifier Q([^Q]+)Q",
        "Q([^Q]+)Q was not declared",
        // Ruby.
        r"uninitialized constant ([\w:]+)",
        "undefined (?:local variable or )?method Q([^Q]+)Q",
    ]
    .map(|form| Regex::new(&form.replace("[^Q]", "[^`'\"‘’]").replace('Q', QUOTE)).unwrap())
    .into()
});

/// Returns the errors of an output. Warnings are none, and notes belong to the error above them.
pub(super) fn build_errors(output: &str) -> Vec<BuildError> {
    let mut found: Vec<BuildError> = Vec::new();
    // Whether the next `-->` is the place of the last error.
    let mut is_open = false;
    for line in output.lines() {
        let text = line.trim_start();
        if let Some(at) = text.strip_prefix("--> ") {
            if let Some(last) = found.last_mut().filter(|_| is_open) {
                last.place = place(at);
            }
            is_open = false;
        } else if text.contains("warning") || text.starts_with("note:") || text.starts_with("help:") {
            is_open = false;
        } else if is_error(line) {
            let error = BuildError { names: missing(line), place: place(line) };
            is_open = error.place.is_none();
            found.push(error);
        } else if let Some(place) = place(line) {
            found.push(BuildError { names: Vec::new(), place: Some(place) });
        }
    }
    found
}

fn place(line: &str) -> Option<(String, usize)> {
    let found = PLACE.captures(line)?;
    let (file, number) = found.get(1).zip(found.get(2)).or_else(|| found.get(3).zip(found.get(4)))?;
    Some((file.as_str().to_owned(), number.as_str().parse().ok()?))
}

/// Returns the names that a line says are missing; of a path, the last one.
fn missing(line: &str) -> Vec<String> {
    let Some(found) = FORMS.iter().find_map(|form| form.captures(line)) else { return Vec::new() };
    let named = found.get(1).map_or("", |name| name.as_str()).split(", ");
    named.filter_map(last_name).collect()
}

/// Returns the last name of a path: `vat` of `shop::vat`, `tax` of `../shop/tax.mjs`.
fn last_name(path: &str) -> Option<String> {
    let path = path.trim_matches(|sign: char| !sign.is_alphanumeric() && sign != '_');
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let is_script = Path::new(file).extension().is_some_and(|extension| {
        matches!(extension.to_str(), Some("js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx"))
    });
    let file = if is_script { file.split('.').next().unwrap_or(file) } else { file };
    let name = file.rsplit(['.', ':']).next().unwrap_or(file);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns whether a line tells of an error.
pub(super) fn is_error(line: &str) -> bool {
    let is_summary =
        line.starts_with("error: could not compile") || line.starts_with("error: aborting due to");
    !is_summary
        && (line.starts_with("error")
            || line.contains("Error: ")
            || line.contains("Error [")
            || line.contains(": error")
            || line.contains("undefined: ")
            || line.contains(" undefined (")
            || line.contains("unknown field ")
            || line.contains("symbol: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_counts_and_not_what_lacks_it() {
        for (line, expected) in [
            ("error[E0425]: cannot find function `vat` in crate `trs`", "vat"),
            ("error[E0425]: cannot find function, tuple struct or tuple variant `vat` in this scope", "vat"),
            ("error[E0432]: unresolved import `trs::vat`", "vat"),
            ("error[E0432]: unresolved imports `trs::vat`, `trs::tax::tip`", "vat tip"),
            ("error[E0433]: failed to resolve: could not find `tax` in `trs`", "tax"),
            ("error[E0433]: failed to resolve: use of undeclared type `Discount`", "Discount"),
            ("error[E0433]: failed to resolve: use of unresolved module or unlinked crate `tax`", "tax"),
            ("error[E0599]: no method named `total` found for struct `Shop` in the current scope", "total"),
            ("error[E0599]: no function or associated item named `open` found for struct `Shop`", "open"),
            ("error[E0560]: struct `Shop` has no field named `tax`", "tax"),
            ("error[E0609]: no field `tax` on type `Shop`", "tax"),
            ("error[E0603]: function `vat` is private", "vat"),
            ("error[E0277]: the trait bound `Shop: Debug` is not satisfied", ""),
            ("error[E0277]: `Shop` doesn't implement `Debug`", ""),
            ("error[E0369]: binary operation `==` cannot be applied to type `Shop`", ""),
            ("error[E0061]: this function takes 1 argument but 2 arguments were supplied", ""),
            ("error: could not compile `trs` (test \"it\") due to 1 previous error", ""),
            ("E   ImportError: cannot import name 'Discount' from 'shop' (/x/shop.py)", "Discount"),
            ("E   ModuleNotFoundError: No module named 'shop.tax'", "tax"),
            ("AttributeError: module 'shop' has no attribute 'Discount'", "Discount"),
            ("AttributeError: type object 'Shop' has no attribute 'of'. Did you mean: 'on'?", "of"),
            ("NameError: name 'Discount' is not defined", "Discount"),
            ("TypeError: Shop.__init__() got an unexpected keyword argument 'rate'", "rate"),
            (
                "SyntaxError: The requested module '../shop.mjs' does not provide an export named 'discount'",
                "discount",
            ),
            ("Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/x/tax.mjs' imported from /x/a.mjs", "tax"),
            ("TypeError: shop.discount is not a function", "discount"),
            ("ReferenceError: discount is not defined", "discount"),
            ("a.ts(1,10): error TS2305: Module '\"./shop\"' has no exported member 'discount'.", "discount"),
            ("a.ts(3,10): error TS2339: Property 'tax' does not exist on type 'Shop'.", "tax"),
            ("./shop_test.go:5:10: undefined: Discount", "Discount"),
            ("./shop_test.go:5:10: s.Total undefined (type Shop has no field or method Total)", "Total"),
            ("./shop_test.go:5:10: unknown field Tax in struct literal of type Shop", "Tax"),
            ("  symbol:   class Discount", "Discount"),
        ] {
            let found: Vec<String> = build_errors(line).into_iter().flat_map(|error| error.names).collect();
            assert_eq!(found.join(" "), expected, "{line}");
        }
    }

    #[test]
    fn places_are_those_of_errors() {
        let output = "warning: unused variable: `x`\n --> tests/it.rs:9:9\n\nerror[E0425]: cannot find function `vat` in crate `trs`\n \
                      --> tests/it.rs:3:21\n   |\nnote: declared here\n --> tests/it.rs:5:1\nATest.java:[12,5] cannot find\n  File \
                      \"/x/tests/test_a.py\", line 7, in <module>\na.test.ts(4,2): error TS1\nA.java:8: warning: old\n";
        let found = build_errors(output);
        for (path, expected) in [
            ("tests/it.rs", &[3][..]),
            ("src/ATest.java", &[12]),
            ("tests/test_a.py", &[7]),
            ("a.test.ts", &[4]),
            ("est_a.py", &[]),
            ("A.java", &[]),
        ] {
            let lines: Vec<usize> = found.iter().filter_map(|error| error.line_in(path)).collect();
            assert_eq!(lines, expected, "{path}");
        }
    }
}
