//! `CODEOWNERS`: who owns which files, by GitHub's rules.
//!
//! The syntax is that of `.gitignore`, except for some parts that GitHub says do not work: ranges in brackets, `!`, and a `#` behind a
//! backslash. Of others, such as braces or a leading `./`, it says nothing. A rule that can be read in several ways counts in
//! all of them: whoever owns a file in one of these has to agree, and so do the owners by the rules before.

use globset::{GlobBuilder, GlobMatcher};

/// The rules of a file, in order; the last that fits a path decides.
#[derive(Debug, Default)]
pub(crate) struct CodeOwners(Vec<Rule>);

/// In the place of an owner that is not known, and so has approved nothing.
const UNREADABLE: &str = "(a line that cannot be read)";

#[derive(Debug)]
struct Rule {
    /// What the pattern may mean; nothing in it where GitHub may skip the line.
    readings: Vec<Vec<GlobMatcher>>,
    owners: Vec<String>,
}

impl CodeOwners {
    /// Parses the text. A line that cannot be read at all is taken to be for all files, with an owner whom nobody is.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self(text.lines().filter_map(Rule::parse).collect())
    }

    /// Returns the owners of a file: `@login`, `@organization/team`, or an address. One of each list has to agree; several lists
    /// are those of rules that may be meant.
    pub(crate) fn of(&self, path: &str) -> Vec<&[String]> {
        let mut all = Vec::new();
        for rule in self.0.iter().rev() {
            let fitting =
                rule.readings.iter().filter(|reading| reading.iter().any(|glob| glob.is_match(path)));
            let count = fitting.count();
            if count > 0 && !rule.owners.is_empty() {
                all.push(rule.owners.as_slice());
            }
            if count == rule.readings.len() {
                break;
            }
        }
        all
    }
}

impl Rule {
    fn parse(line: &str) -> Option<Self> {
        let spaced = line.replace("\\ ", "\u{0}");
        let mut words = spaced.split_whitespace().take_while(|word| !word.starts_with('#'));
        let pattern = words.next()?.replace('\u{0}', " ");
        let owners: Vec<String> = words.map(str::to_owned).collect();
        let literal = |text: &str, signs: [(char, &str); 2]| {
            signs.iter().fold(text.to_owned(), |text, (sign, class)| text.replace(*sign, class))
        };
        let braces = [('{', "[{]"), ('}', "[}]")];
        let does_not_work =
            pattern.starts_with(['!', '#']) || pattern.starts_with("\\#") || pattern.contains('[');
        let mut texts = Vec::new();
        let mut readings = Vec::new();
        if does_not_work {
            readings.push(Vec::new());
            texts.push(pattern.replace('[', "\\[").replace(']', "\\]"));
            texts.push(pattern.trim_start_matches('!').to_owned());
        } else if let Some(rest) = pattern.strip_prefix("./") {
            readings.push(Vec::new());
            texts.push(format!("/{rest}"));
        } else {
            texts.push(literal(&pattern, braces));
        }
        if pattern.contains('{') && !does_not_work {
            texts.push(pattern.clone());
        }
        let parsed = texts.iter().filter_map(|text| reading(text));
        readings.extend(parsed);
        if readings.iter().all(Vec::is_empty) {
            return Some(Self { readings: vec![reading("**")?], owners: vec![UNREADABLE.to_owned()] });
        }
        Some(Self { readings, owners })
    }
}

/// Returns what a pattern fits: what it says and, unless it is for the entries of one folder alone, everything below that.
fn reading(pattern: &str) -> Option<Vec<GlobMatcher>> {
    let is_anchored = pattern.trim_end_matches('/').contains('/');
    let plain = pattern.trim_matches('/');
    let start = if is_anchored { plain.to_owned() } else { format!("**/{plain}") };
    let all = if pattern.ends_with('/') {
        vec![format!("{start}/**")]
    } else if pattern.ends_with("/*") {
        vec![start]
    } else {
        vec![format!("{start}/**"), start]
    };
    let glob =
        |text: &String| Some(GlobBuilder::new(text).literal_separator(true).build().ok()?.compile_matcher());
    all.iter().map(glob).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(owners: &CodeOwners, path: &str) -> String {
        owners.of(path).iter().map(|owners| owners.join(" ")).collect::<Vec<_>>().join(" + ")
    }

    #[test]
    fn last_rule_that_fits_decides() {
        let owners = CodeOwners::parse(
            "# everybody\n* @all\n*.js @js # inline\n/build/logs/ @doc\ndocs/* docs@example.com\napps/ @octo/cat\n\
             /scripts/ @doc @oct\n**/logs @logs\n/apps/github\nwith\\ space.txt @spaced\n",
        );
        for (path, expected) in [
            ("a.txt", "@all"),
            ("src/deep/a.js", "@js"),
            ("build/logs/a.js", "@logs"),
            ("docs/getting-started.md", "docs@example.com"),
            ("docs/build-app/troubleshooting.md", "@all"),
            ("deep/apps/x", "@octo/cat"),
            ("scripts/x/y.sh", "@doc @oct"),
            ("deeply/logs/x", "@logs"),
            ("apps/github/x", ""),
            ("with space.txt", "@spaced"),
        ] {
            assert_eq!(told(&owners, path), expected, "{path}");
        }
        assert!(CodeOwners::default().of("a").is_empty());
    }

    #[test]
    fn lines_are_read_as_github_reads_them() {
        let alice = "/src/ @alice\n";
        for (more, expected) in [
            ("/* @bob\n", "@alice"),
            ("/*\n", "@alice"),
            ("/src/ @carol\t# @bob\n", "@carol"),
            ("\t# /src/ @bob\n", "@alice"),
            ("/src/*.rs @bob\n", "@bob"),
            ("/src/a.rs\n", ""),
            // What does not work at GitHub, or may mean several things: all who could be meant have to agree.
            ("/a[ @bob\n", "@alice"),
            ("/[s]rc/ @bob\n", "@bob + @alice"),
            ("!/src/ @bob\n", "@bob + @alice"),
            ("/[s]rc/\n", "@alice"),
            ("!/src/\n", "@alice"),
            ("\\#a.rs @bob\n", "@alice"),
            ("/{src,x}/ @bob\n", "@bob + @alice"),
            ("*.{rs,md} @bob\n", "@bob + @alice"),
            ("*.{rs,md}\n", "@alice"),
            ("./src/a.rs @bob\n", "@bob + @alice"),
            ("./src/ @bob\n", "@bob + @alice"),
            ("./src/b.rs @bob\n", "@alice"),
            ("/src/{ @bob\n", "@alice"),
        ] {
            let owners = CodeOwners::parse(&format!("{alice}{more}"));
            assert_eq!(told(&owners, "src/a.rs"), expected, "{more}");
        }
        assert_eq!(told(&CodeOwners::parse(&format!("\u{feff}{alice}")), "src/a.rs"), "@alice");
        assert_eq!(told(&CodeOwners::parse("/{a}/ @braces\n"), "{a}/b"), "@braces");
        assert_eq!(told(&CodeOwners::parse("\\#a @sign\n"), "#a"), "@sign");
    }
}
