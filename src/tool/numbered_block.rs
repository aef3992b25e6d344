//! Blocks that are quoted with the numbers that `read_file` puts before lines, or in the form of another program.

use super::block_by_lines::by_lines;
use super::replace_block::{Edited, NotReplaced, exactly, line_of, not_unique, overlapping};

/// Most places at which a block with numbers is looked for.
const MAX_NUMBERED: usize = 100;

/// What stands between a number and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A tab, as `read_file` has it, or an arrow.
    Tab,
    /// A bar.
    Bar,
    /// A colon.
    Colon,
}

/// Block of which each line begins with a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    first: usize,
    lines: usize,
    is_consecutive: bool,
    mark: Mark,
    /// The lines without what is before them, and without the blank that may be behind the mark of each.
    exact: String,
    behind_blank: Option<String>,
}

/// Returns the number before a line, the mark behind it, and the rest; the mark is missing if there is nothing but the number.
pub(super) fn number_before(line: &str) -> Option<(usize, Option<Mark>, &str)> {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at(digits);
    let number = number.parse().ok()?;
    if rest.trim().is_empty() && !rest.contains('\t') {
        return Some((number, None, if rest.ends_with('\r') { "\r" } else { "" }));
    }
    let (mark, text) = if let Some(text) = rest.trim_start_matches(' ').strip_prefix(['\t', '→']) {
        (Mark::Tab, text)
    } else if let Some(text) = rest.trim_start_matches(' ').strip_prefix(['|', '│']) {
        (Mark::Bar, text)
    } else {
        (Mark::Colon, rest.strip_prefix(':')?)
    };
    Some((number, Some(mark), text))
}

impl Numbered {
    /// Returns the block if each of its lines has a number, with the same mark behind it. An empty line may lack the mark where the
    /// numbers around it say that it is one.
    pub(super) fn parse(block: &str) -> Option<Self> {
        let (text, end) = block.strip_suffix('\n').map_or((block, ""), |text| (text, "\n"));
        let lines: Vec<_> = text.split('\n').map(number_before).collect::<Option<_>>()?;
        let mark = lines.iter().find_map(|(_, mark, _)| *mark)?;
        let is_consecutive = lines.windows(2).all(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
        let is_other = |own: &Option<Mark>| own.map_or(!is_consecutive, |own| own != mark);
        if lines.iter().any(|(_, own, _)| is_other(own)) {
            return None;
        }
        let joined = |part: &dyn Fn(&str) -> Option<String>| {
            let lines: Option<Vec<String>> = lines.iter().map(|(.., text)| part(text)).collect();
            Some(lines?.join("\n") + end)
        };
        let behind = |text: &str| match text {
            "" | "\r" => Some(text.to_owned()),
            text => text.strip_prefix(' ').map(str::to_owned),
        };
        Some(Self {
            first: lines.first()?.0,
            lines: lines.len(),
            is_consecutive,
            mark,
            exact: joined(&|text| Some(text.to_owned()))?,
            behind_blank: if mark == Mark::Tab { None } else { joined(&behind) },
        })
    }

    /// Returns whether the numbers hardly belong to the text.
    fn is_quoted(&self) -> bool {
        self.mark == Mark::Tab || self.lines > 1
    }

    /// Returns whether the numbers are those of lines that follow each other, in the form of `read_file`.
    pub(super) fn is_as_read(&self) -> bool {
        self.is_consecutive && self.mark == Mark::Tab
    }

    /// Returns whether the block is several lines with the numbers that the lines of a whole file have, which no text of code has.
    pub(super) fn is_whole_file(&self) -> bool {
        self.is_consecutive && self.first == 1 && self.lines > 1 && self.mark != Mark::Colon
    }

    /// Returns whether the block is several lines, or the line of a number.
    pub(super) fn is_of_lines(&self, line: Option<usize>) -> bool {
        self.lines > 1 || line == Some(self.first)
    }

    /// Returns whether the block begins at a line.
    pub(super) fn begins_at(&self, line: usize) -> bool {
        self.first == line
    }

    /// Returns the lines without numbers, where nothing says whether a blank behind the mark is part of them: it is none if the first
    /// line has no other.
    pub(super) fn plain(self) -> String {
        match self.behind_blank {
            Some(behind) if !behind.starts_with([' ', '\t']) => behind,
            _ => self.exact,
        }
    }

    /// Returns the lines without numbers, in a form that whole lines of the text have, and where these begin.
    fn places(&self, content: &str) -> Option<(Form, Vec<usize>)> {
        let forms = [(Form::Exact, Some(&self.exact)), (Form::BehindBlank, self.behind_blank.as_ref())];
        let found = |(form, meant): (Form, Option<&String>)| {
            let meant = meant.filter(|meant| !meant.is_empty())?;
            let is_whole = |at: &usize| {
                let next = content[at + meant.len()..].chars().next();
                let ends = meant.ends_with('\n') || matches!(next, None | Some('\n'));
                ends && (*at == 0 || content[..*at].ends_with('\n'))
            };
            let places: Vec<usize> =
                overlapping(content, meant).take(MAX_NUMBERED).filter(is_whole).collect();
            (!places.is_empty()).then_some((form, places))
        };
        forms.into_iter().find_map(found)
    }

    fn form(&self, form: Form) -> Option<&str> {
        match form {
            Form::Exact => Some(&self.exact),
            Form::BehindBlank => self.behind_blank.as_deref(),
        }
    }
}

/// What belongs to a line of a block with numbers.
#[derive(Clone, Copy)]
enum Form {
    /// All that is behind the mark.
    Exact,
    /// What is behind a blank after the mark.
    BehindBlank,
}

/// Replaces whole lines that are given with their numbers; `None` if they are nowhere. Numbers behind which there is a colon or a bar
/// may be part of the text: they have to be those of the lines.
pub(super) fn by_numbers(content: &str, old: &str, new: &str) -> Option<Result<Edited, NotReplaced>> {
    let block = Numbered::parse(old)?;
    let (form, places) = block.places(content)?;
    let meant = block.form(form)?;
    let numbered = places.iter().copied().find(|at| line_of(content, *at) == block.first);
    let at = match places.as_slice() {
        _ if numbered.is_some() => numbered?,
        _ if block.mark != Mark::Tab => return None,
        [one] => *one,
        several => {
            let lines: Vec<usize> = several.iter().map(|at| line_of(content, *at)).collect();
            return Some(Err(NotReplaced::because(not_unique(&lines, several.len()))));
        }
    };
    let numbered = Numbered::parse(new).filter(|new| new.mark == block.mark);
    let new = match &numbered {
        Some(numbered) => numbered.form(form).unwrap_or(&numbered.exact),
        // Numbers before some of the lines would become part of the file.
        None if has_mark(new, block.mark) => {
            return Some(Err(NotReplaced::because(
                "the lines of old_str begin with their numbers, and only some of new_str do; give both without numbers",
            )));
        }
        None => new,
    };
    let (before, place) = content.split_at(at);
    let (place, behind) = place.split_at(meant.len());
    let note = Some("the line numbers in old_str were left out".to_owned());
    let edited = exactly(place, meant, new, false);
    let is_by_number = places.len() > 1;
    let content = |edited: &Edited| [before, &edited.content, behind].concat();
    Some(edited.map(|edited| Edited { content: content(&edited), times: 1, is_by_number, note }))
}

/// Returns why a block with numbers was not found, if it is one.
pub(super) fn not_found(content: &str, old: &str) -> Option<NotReplaced> {
    let block = Numbered::parse(old).filter(|block| block.is_consecutive && block.is_quoted())?;
    if has_mark(content, block.mark) {
        return None;
    }
    let reason = match by_lines(content, &block.plain(), "", false) {
        Ok(_) => "the file has it; give old_str and new_str without numbers".to_owned(),
        Err(error) => error.to_string(),
    };
    Some(NotReplaced::because(format!("old_str begins with line numbers; without them: {reason}")))
}

/// Returns whether a text has a line that begins with a number as `read_file` puts it there.
pub(super) fn has_numbers(text: &str) -> bool {
    has_mark(text, Mark::Tab)
}

/// Returns whether a text has a line that begins with a number and a mark.
pub(super) fn has_mark(text: &str, mark: Mark) -> bool {
    text.lines().any(|line| number_before(line).is_some_and(|(_, own, _)| own == Some(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_keys_are_those_of_no_line() {
        let pages = "a\n404: 'Not Found',\n410: 'Missing',\n";
        for (content, old, new, expected) in [
            (pages, "404: 'Missing',", "404: 'Gone',", None),
            ("x\n80: web\n443: web\n", "80: web", "80: api", None),
            ("10: alpha\n20: alphabet\n", "30: bet", "30: BET", None),
            ("a\nb c\n", "2: b", "2: x", None),
            ("a\nb\nc\n", "2: b", "2: x", Some("a\nx\nc\n")),
            ("a\nb\na\n", "3\ta", "3\tx", Some("a\nb\nx\n")),
            ("a\nb\nc\n", "9→b\n10→c\n", "9→x\n", Some("a\nx\n")),
            ("f:\n    a\n    b\n", "2|    a\n3|    b", "2|    A\n3|    b", Some("f:\n    A\n    b\n")),
            ("f:\n    a\n    b\n", " 2 |     a\n 3 |     b", " 2 |     A", Some("f:\n    A\n")),
            ("f:\n    a\n    b\n", "2:    a\n3:    b", "2:    A\n3:    b", Some("f:\n    A\n    b\n")),
            ("a\nb\n", "1|b", "1|c", None),
            ("alpha\n\nbeta\n", "1\talpha\n2\n3\tbeta", "1\tA\n2\n3\tbeta", Some("A\n\nbeta\n")),
            ("alpha\n\nbeta\n", "1\talpha\n7\n3\tbeta", "x", None),
            ("a\n1: b\n", "2\t1: b", "2\t1: c", Some("a\n1: c\n")),
            ("a\nb\n", "2\tb", "{\n  1: b\n}", Some("a\n{\n  1: b\n}\n")),
        ] {
            let edited = by_numbers(content, old, new).map(|edited| edited.expect("an edit").content);
            assert_eq!(edited.as_deref(), expected, "{old}");
        }
        let error = by_numbers("a\nb\na\n", "7\ta", "7\tx").expect("a block").expect_err("two places");
        assert!(error.to_string().contains("lines 1, 3"), "{error}");
    }

    #[test]
    fn numbers_decide_between_equal_places_alone() {
        for (content, old, expected) in [
            ("a\nb\na\n", "3\ta", Some(true)),
            ("a\nb\na\n", "2\tb", Some(false)),
            ("a\nb\na\n", "7\ta", None),
        ] {
            let edited = by_numbers(content, old, "x").expect("a place");
            assert_eq!(edited.ok().map(|edited| edited.is_by_number), expected, "{old}");
        }
    }
}
