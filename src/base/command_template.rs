//! Command lines with placeholders. A value is quoted when it is inserted, so that the shell reads it as a word or a part of one,
//! whatever it contains. A placeholder is refused where quoting does not achieve that.

use std::borrow::Cow;
use std::fmt;

use super::template::{fill, places};

/// The language of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The language of POSIX shells and bash.
    Shell,
    /// The language of `pwsh`.
    PowerShell,
}

/// A command line whose placeholders are all in the place of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandTemplate {
    line: String,
    dialect: Dialect,
}

/// Error for a placeholder that stands where its value would not be a word of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{{{name}}}` is {place}; write it as a separate word without quotes, as in `lint \
     {{{name}}}`, because its value is quoted when it is inserted"
)]
pub struct MisplacedPlaceholder {
    name: String,
    place: QuotingContext,
}

/// Place in a command line in which a value would not be a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuotingContext {
    Quotes,
    Escape,
    Variable,
    Comment,
    HereDocument,
    Arithmetic,
    Unclear,
}

impl fmt::Display for QuotingContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quotes => "in quotes",
            Self::Escape => "after an escape character",
            Self::Variable => "after a `$`",
            Self::Comment => "in a comment",
            Self::HereDocument => "in a here-document or after one",
            Self::Arithmetic => "in arithmetic or after it",
            Self::Unclear => "in a line whose `case` and `$(…)` leave unclear what is quoted",
        })
    }
}

impl CommandTemplate {
    /// Parses a line; `is_placeholder` says which names in braces get a value.
    pub(crate) fn parse(
        line: &str,
        dialect: Dialect,
        is_placeholder: impl Fn(&str) -> bool,
    ) -> Result<Self, MisplacedPlaceholder> {
        let mut places = places(line).filter(|(_, name)| is_placeholder(name)).peekable();
        let mut scanner = Scanner::new(dialect);
        // A `)` in a `case` does not close a `(`.
        let has_case = line.split(|sign: char| !sign.is_alphanumeric()).any(|word| word == "case");
        scanner.spoiled = (has_case && line.contains("$(")).then_some(QuotingContext::Unclear);
        for (at, sign) in line.char_indices() {
            if let Some((_, name)) = places.next_if(|(start, _)| *start == at)
                && let Some(place) = scanner.place()
            {
                return Err(MisplacedPlaceholder { name: name.to_owned(), place });
            }
            scanner.take(sign);
        }
        Ok(Self { line: line.to_owned(), dialect })
    }

    /// Returns the line as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.line
    }

    /// Returns whether a placeholder is in the line.
    pub(crate) fn has(&self, name: &str) -> bool {
        places(&self.line).any(|(_, found)| found == name)
    }

    /// Returns the line with each placeholder replaced by its words, separated by spaces; a placeholder without a value stays.
    pub(crate) fn fill(&self, words: impl Fn(&str) -> Option<Vec<String>>) -> String {
        fill(&self.line, |name| {
            let quoted: Vec<String> = words(name)?.iter().map(|word| quote(word, self.dialect)).collect();
            Some(quoted.join(" "))
        })
    }
}

/// Returns a path in a form that no program takes for an option or for a file of arguments.
pub(crate) fn operand(path: &str) -> Cow<'_, str> {
    if path.starts_with(['-', '+', '@']) { Cow::Owned(format!("./{path}")) } else { Cow::Borrowed(path) }
}

/// Quotes a word. Null bytes, which no file and no argument can hold, are left out.
pub(crate) fn quote(word: &str, dialect: Dialect) -> String {
    let word = word.replace('\0', "");
    match dialect {
        Dialect::Shell => shlex::try_quote(&word).map_or_else(|_| "''".to_owned(), Into::into),
        Dialect::PowerShell => {
            let doubled = |c: char| if is_single(c) { vec![c, c] } else { vec![c] };
            format!("'{}'", word.chars().flat_map(doubled).collect::<String>())
        }
    }
}

/// Returns whether PowerShell takes a character for a single quote.
fn is_single(sign: char) -> bool {
    matches!(sign, '\'' | '\u{2018}'..='\u{201b}')
}

/// State of a shell in the middle of a line.
struct Scanner {
    dialect: Dialect,
    /// What ends the quotes and substitutions that are open, the innermost last, and whether signs are escaped in it.
    open: Vec<(char, bool)>,
    is_escaped: bool,
    in_comment: bool,
    /// Why no value can be a word in the rest of the line.
    spoiled: Option<QuotingContext>,
    before: [char; 2],
}

impl Scanner {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            open: Vec::new(),
            is_escaped: false,
            in_comment: false,
            spoiled: None,
            before: ['\n'; 2],
        }
    }

    /// Returns why a value would not be a word here.
    fn place(&self) -> Option<QuotingContext> {
        let found = [
            (self.is_escaped, QuotingContext::Escape),
            (self.in_comment, QuotingContext::Comment),
            (self.open.iter().any(|(end, _)| *end != ')'), QuotingContext::Quotes),
            (self.before[1] == '$', QuotingContext::Variable),
        ];
        found.into_iter().find(|(is_it, _)| *is_it).map(|(_, place)| place).or(self.spoiled)
    }

    fn take(&mut self, sign: char) {
        let [second, last] = self.before;
        self.before = [last, sign];
        if self.in_comment {
            self.in_comment = sign != '\n';
            return;
        }
        if std::mem::take(&mut self.is_escaped) {
            // An escaped line break counts as absent, and any other escaped character has no special meaning.
            self.before = if sign == '\n' { ['x', second] } else { ['x', 'x'] };
            return;
        }
        let is_powershell = self.dialect == Dialect::PowerShell;
        let sign = match sign {
            sign if is_powershell && is_single(sign) => '\'',
            '\u{201c}'..='\u{201e}' if is_powershell => '"',
            sign => sign,
        };
        let (end, escapes) = self.open.last().copied().unwrap_or((')', true));
        if escapes && sign == if is_powershell { '`' } else { '\\' } {
            self.is_escaped = true;
            return;
        }
        if self.open.last().is_some() && sign == end {
            self.open.pop();
            return;
        }
        let is_text = matches!(end, '\'' | '"');
        match sign {
            '(' if last == '$' && end != '\'' => self.open.push((')', true)),
            '{' if last == '$' && end != '\'' => self.open.push(('}', true)),
            '`' if !is_powershell && end != '\'' => self.open.push(('`', true)),
            _ if is_text => {}
            '\'' => self.open.push(('\'', last == '$')),
            '"' => self.open.push(('"', true)),
            '(' => {
                if last == '(' {
                    self.spoiled = Some(QuotingContext::Arithmetic);
                }
                self.open.push((')', true));
            }
            '[' if last == '$' => self.spoiled = Some(QuotingContext::Arithmetic),
            '#' if last.is_whitespace() || matches!(last, ';' | '&' | '|' | '(' | ')' | '<') => {
                self.in_comment = true;
            }
            '<' if last == '<' => self.spoiled = Some(QuotingContext::HereDocument),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(line: &str, dialect: Dialect) -> Result<String, QuotingContext> {
        let template = CommandTemplate::parse(line, dialect, |name| matches!(name, "file" | "files"))
            .map_err(|error| error.place)?;
        Ok(template.fill(|name| match name {
            "file" => Some(vec!["it's $(x)".to_owned()]),
            "files" => Some(vec!["{file}".to_owned(), "b c".to_owned()]),
            _ => None,
        }))
    }

    #[test]
    fn values_are_words_and_placeholders_elsewhere_are_refused() {
        for (line, expected) in [
            ("lint {file}", Ok("lint \"it's \"'$(x)'")),
            ("lint --name={file}.bak", Ok("lint --name=\"it's \"'$(x)'.bak")),
            ("lint {files} {filed} {{file}}", Ok("lint '{file}' 'b c' {filed} {file}")),
            ("echo \"it's\" \\\" 'a\"' {file}", Ok("echo \"it's\" \\\" 'a\"' \"it's \"'$(x)'")),
            ("x=\"$(date \"+%s\")\" lint {file}", Ok("x=\"$(date \"+%s\")\" lint \"it's \"'$(x)'")),
            ("(cd a && lint {file})", Ok("(cd a && lint \"it's \"'$(x)')")),
            ("for x in {files}; do a#b; done", Ok("for x in '{file}' 'b c'; do a#b; done")),
            ("cat <<< {file}", Err(QuotingContext::HereDocument)),
            ("lint \"{file}\"", Err(QuotingContext::Quotes)),
            ("lint '{file}'", Err(QuotingContext::Quotes)),
            ("sh -c 'lint {file}'", Err(QuotingContext::Quotes)),
            ("lint $'\\'{file}'", Err(QuotingContext::Quotes)),
            ("echo `lint {file}`", Err(QuotingContext::Quotes)),
            ("echo \"$(basename \"{file}\")\"", Err(QuotingContext::Quotes)),
            ("echo \"$(basename {file})\"", Err(QuotingContext::Quotes)),
            ("echo ${x:-{file}}", Err(QuotingContext::Quotes)),
            ("lint \\{file}", Err(QuotingContext::Escape)),
            ("lint ${file}", Err(QuotingContext::Variable)),
            ("lint # don't\nlint '{file}'", Err(QuotingContext::Quotes)),
            ("a\\ #\" {file}\"", Err(QuotingContext::Quotes)),
            ("a \\\n# don't\nlint '{file}'", Err(QuotingContext::Quotes)),
            ("lint # {file}", Err(QuotingContext::Comment)),
            ("cat <<E\n{file}\nE", Err(QuotingContext::HereDocument)),
            ("cat <<-'E'\n{file}\nE", Err(QuotingContext::HereDocument)),
            ("echo $(( {file} ))", Err(QuotingContext::Arithmetic)),
            ("(( {file} ))", Err(QuotingContext::Arithmetic)),
            ("echo $[ {file} ]", Err(QuotingContext::Arithmetic)),
            ("x=\"$(case a in a) echo \"{file}\";; esac)\"", Err(QuotingContext::Unclear)),
        ] {
            assert_eq!(filled(line, Dialect::Shell).as_deref(), expected.as_ref().map(|it| *it), "{line}");
        }
        for (line, expected) in [
            ("lint {file}", Ok("lint 'it''s $(x)'")),
            ("lint \"C:\\\" {file}", Ok("lint \"C:\\\" 'it''s $(x)'")),
            ("lint \"C:\\\" + \" {file}\"", Err(QuotingContext::Quotes)),
            ("lint `\"{file}", Ok("lint `\"'it''s $(x)'")),
            ("lint \u{2018}{file}\u{2019}", Err(QuotingContext::Quotes)),
            ("lint `{file}", Err(QuotingContext::Escape)),
        ] {
            let found = filled(line, Dialect::PowerShell);
            assert_eq!(found.as_deref(), expected.as_ref().map(|it| *it), "{line}");
        }
    }
}
