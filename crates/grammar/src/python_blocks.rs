//! Blocks of Python, whose grammar takes more than Python does: a block without a statement, lines of one block that begin with
//! different blanks, a `try` without what has to follow it, and a `return` in no function. On the other hand, it does not take
//! every line in brackets that is indented less than its block.

use std::time::Duration;

use tree_sitter::{Node, Tree};

use crate::{Language, parse};

/// Columns up to a line's first character: with tabs that lead to the next multiple of eight, and with tabs of one column. Python
/// takes only lines that are ordered in the same way by both.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Indent {
    wide: usize,
    narrow: usize,
}

impl Indent {
    fn of(line: &str) -> Self {
        let mut indent = Self::default();
        for character in line.trim_start_matches('\u{feff}').chars() {
            match character {
                ' ' => (indent.wide, indent.narrow) = (indent.wide + 1, indent.narrow + 1),
                '\t' => (indent.wide, indent.narrow) = ((indent.wide / 8 + 1) * 8, indent.narrow + 1),
                '\u{c}' => indent = Self::default(),
                _ => break,
            }
        }
        indent
    }
}

/// Block whose lines have been read up to one of them.
#[derive(Clone, Copy, Default)]
struct Block<'t> {
    indent: Indent,
    is_in_function: bool,
    /// First word of its last statement or clause so far.
    last: &'t str,
}

impl Block<'_> {
    /// Returns whether a line that begins with a word may be the next one. The grammar knows which clauses belong to which statement,
    /// but not where it went wrong if there is none.
    fn may_go_on_with(&self, word: &str) -> bool {
        match word {
            "elif" => matches!(self.last, "if" | "elif"),
            "else" => matches!(self.last, "if" | "elif" | "for" | "while" | "async" | "except"),
            "except" => matches!(self.last, "try" | "except"),
            "finally" => matches!(self.last, "try" | "except" | "else"),
            _ => self.last != "try",
        }
    }
}

/// Statement or clause that is being read.
#[derive(Clone, Copy, Default)]
struct Statement {
    start: usize,
    /// Whether it defines a function, or a class.
    is_function: bool,
    is_class: bool,
    /// Whether its last token so far is a colon in no brackets, which opens a block if it ends the line.
    opens_block: bool,
}

/// What is known of a text up to one of its tokens.
struct Reader<'t> {
    text: &'t str,
    /// The blocks that are open, from the outer to the inner ones.
    open: Vec<Block<'t>>,
    statement: Statement,
    /// Number of brackets that are open.
    brackets: usize,
    /// The byte behind the token before.
    end: usize,
}

/// Returns the byte of the first line of a text at which Python would refuse its blocks. Of a block that is empty, it is the line that
/// should open it.
///
/// ```
/// use std::time::Duration;
///
/// let grammar = grammar::Language::Python.grammar();
/// let broken = |text: &str| {
///     let tree = grammar::parse(text, &grammar, Duration::from_secs(10)).expect("it takes no time");
///     grammar::broken_block(&tree, text)
/// };
/// assert_eq!(broken("if a:\n    b()\n    c()\n"), None);
/// assert_eq!(broken("if a:\n    b()\n  c()\n"), Some(16));
/// assert_eq!(broken("a()\nif b:\nc()\n"), Some(4));
/// ```
pub fn broken_block(tree: &Tree, text: &str) -> Option<usize> {
    let mut reader = Reader::of(text);
    find_token(tree, |token| reader.broken_by(token)).or_else(|| reader.left_open())
}

/// Returns the byte of each line at which Python would refuse the blocks of a text, if it went on behind the first.
pub fn broken_blocks(tree: &Tree, text: &str) -> Vec<usize> {
    let mut reader = Reader::of(text);
    let mut broken = Vec::new();
    find_token(tree, |token| {
        broken.extend(reader.broken_by(token));
        None::<()>
    });
    broken.extend(reader.left_open());
    broken
}

/// Returns whether all that the grammar finds wrong in a text is lines in brackets that are indented less than their block, which Python
/// takes. `max_time` limits a second look.
pub fn errs_in_brackets_alone(tree: &Tree, text: &str, max_time: Duration) -> bool {
    let grammar = Language::Python.grammar();
    let is_clean =
        |text: &str| parse(text, &grammar, max_time).is_none_or(|tree| !tree.root_node().has_error());
    tree.root_node().has_error()
        && broken_block(tree, text).is_none()
        && with_indented_brackets(tree, text).is_some_and(|same| is_clean(&same))
}

/// Returns a text in which all lines that are in brackets are indented more than the blocks that they are in, which means the same;
/// `None` if they are already.
fn with_indented_brackets(tree: &Tree, text: &str) -> Option<String> {
    let mut reader = Reader::of(text);
    let (mut indented, mut copied) = (String::new(), 0);
    let broken = find_token(tree, |token| {
        let (start, end) = (reader.end, token.start_byte());
        if reader.brackets > 0
            && let Some(between) = text.get(start..end)
            && let Some(last) = between.rfind('\n')
        {
            let block = reader.open.last().copied().unwrap_or_default();
            if Indent::of(&between[last + 1..]).wide <= block.indent.wide {
                indented += &text[copied..start];
                indented += &between.replace('\n', &format!("\n{}", " ".repeat(block.indent.wide + 1)));
                copied = end;
            }
        }
        reader.broken_by(token)
    });
    (copied > 0 && broken.is_none()).then(|| indented + &text[copied..])
}

/// Calls a function with each token of a tree, in order, until it returns something.
fn find_token<T>(tree: &Tree, mut found: impl FnMut(Node<'_>) -> Option<T>) -> Option<T> {
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        // The text of a string is not all in nodes of its own.
        let is_token = node.child_count() == 0 || matches!(node.kind(), "string" | "string_content");
        if is_token && !node.is_extra() && !node.byte_range().is_empty() {
            let found = found(node);
            if found.is_some() {
                return found;
            }
        }
        if !is_token && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

impl<'t> Reader<'t> {
    fn of(text: &'t str) -> Self {
        let open = vec![Block::default()];
        Self { text, open, statement: Statement::default(), brackets: 0, end: 0 }
    }

    /// Goes on to a token. Returns the byte of the line that is broken, if the token shows that one is.
    fn broken_by(&mut self, token: Node<'_>) -> Option<usize> {
        let line = if self.brackets == 0 { self.line_begun_by(token) } else { None };
        let mut broken = line.and_then(|line| self.begin(line, token));
        match token.kind() {
            "(" | "[" | "{" => self.brackets += 1,
            ")" | "]" | "}" => self.brackets = self.brackets.saturating_sub(1),
            "def" => self.statement.is_function = true,
            "class" => self.statement.is_class = true,
            "return" if !self.is_in_function() => broken = broken.or(Some(token.start_byte())),
            _ => {}
        }
        self.statement.opens_block = self.brackets == 0 && token.kind() == ":";
        self.end = token.end_byte();
        broken
    }

    /// Returns the byte of the statement that the text ends in the midst of, if it does.
    fn left_open(&self) -> Option<usize> {
        let is_open = self.statement.opens_block || self.open.iter().any(|block| block.last == "try");
        is_open.then_some(self.statement.start)
    }

    /// Returns the byte at which the line begins whose first token is this one; `None` if it goes on with a line. A backslash at the
    /// end of a line joins it to the next one.
    fn line_begun_by(&self, token: Node<'_>) -> Option<usize> {
        let between = self.text.get(self.end..token.start_byte())?;
        let mut start = (self.end == 0).then_some(0);
        let mut at = self.end;
        for line in between.split_inclusive('\n') {
            at += line.len();
            let is_joined = line.trim_end().ends_with('\\') && !line.contains('#');
            if line.ends_with('\n') && !is_joined {
                start = Some(at);
            }
        }
        start
    }

    /// Begins a statement or a clause in the block that its line belongs to. Returns the byte of the line that is broken, if there is
    /// no such block.
    fn begin(&mut self, line: usize, token: Node<'_>) -> Option<usize> {
        let indent = Indent::of(&self.text[line..]);
        let inner = self.open.last().copied().unwrap_or_default();
        let header = std::mem::replace(
            &mut self.statement,
            Statement { start: token.start_byte(), ..Statement::default() },
        );
        let mut broken = None;
        if header.opens_block && (indent.wide < inner.indent.wide || indent == inner.indent) {
            broken = Some(header.start);
        } else if header.opens_block {
            let is_in_function = header.is_function || inner.is_in_function && !header.is_class;
            self.open.push(Block { indent, is_in_function, last: "" });
            let is_deeper = indent.wide > inner.indent.wide && indent.narrow > inner.indent.narrow;
            broken = (!is_deeper).then_some(token.start_byte());
        }
        while self.open.len() > 1 && self.open.last().is_some_and(|block| block.indent.wide > indent.wide) {
            if self.open.pop().is_some_and(|block| block.last == "try") {
                broken = broken.or(Some(token.start_byte()));
            }
        }
        let word = self.text.get(token.byte_range()).unwrap_or_default();
        let block = self.open.last_mut()?;
        let is_in_block = block.indent == indent && block.may_go_on_with(word);
        if block.indent.wide < indent.wide {
            // Lines that follow may belong to the same block, whatever opened it.
            let is_in_function = block.is_in_function;
            self.open.push(Block { indent, is_in_function, last: word });
        } else {
            (block.indent, block.last) = (indent, word);
        }
        broken.or((!is_in_block).then_some(token.start_byte()))
    }

    fn is_in_function(&self) -> bool {
        self.statement.is_function || self.open.last().is_some_and(|block| block.is_in_function)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Language, parse};

    #[test]
    fn blocks_are_broken_where_python_says_so() {
        for (text, line) in [
            ("if a:\n    b()\nelif c:\n        d()\nelse:\n  e()\n", None),
            ("if a:\n    b()\n  else:\n    c()\n", Some(3)),
            ("if a:\n    b()\n\n      # a comment\n  # another\n    c()\n", None),
            ("a = 1\n  b = 2\n", Some(2)),
            ("  a = 1\n", Some(1)),
            ("\u{feff}a = 1\nb = 2\n", None),
            ("def f():\n\n# nothing\n", Some(1)),
            ("class A:\n    def f(self):\n\n    def g(self):\n        pass\n", Some(2)),
            ("class A:\n    def f(self): pass\n    x: int = 1; y = 2;\n    z = 3\n", None),
            ("if a:  # why\n    b()\n", None),
            ("if a: b()\n    c()\n", Some(2)),
            ("for a in b: pass\nelse: c()\n", None),
            ("@a\n@b(\n  c,\n)\nasync def f(\n    x: int,\n) -> None:\n    pass\n", None),
            ("@a\n  @b\ndef f():\n    pass\n", Some(2)),
            ("def f():\n    x = [\n1,\n  2]\n    y = {a:\n b}\n    z = a[1:\n2]\n", None),
            ("def f():\n    x = 1 + \\\n2\n    return x\n", None),
            ("def f():\n    x = 1 # \\\n  return x\n", Some(3)),
            ("def f():\n    x = 1 \\\n\n  return x\n", Some(4)),
            ("if a:\n    \\\n  b()\n    c()\n", None),
            ("def f():\n    '''a\nb\n  c:\n'''\n    return f'''{x[\n1:]}\n'''\n", None),
            ("def f():\n\treturn {\n'a':\n1}\n", None),
            ("if a:\n\tb()\n        c()\n", Some(3)),
            ("if a:\n        b()\n\tc()\n", Some(3)),
            ("if a:\n\tif b:\n\t    c()\n\t    d()\n", None),
            ("if a:\n    if b:\n\tc()\n", Some(3)),
            ("if a:\n        if b:\n\tc()\n", Some(3)),
            ("if a:\n\tif b:\n        c()\n", Some(3)),
            ("if a:\n\tif b:\n         c()\n", None),
            ("if a:\n    b()\n\u{c}\nc()\n", None),
            ("if a:\n    b()\n  \u{c}    c()\n", None),
            ("if a:\r\n    b()\r\n\r\n    c()\r\n", None),
            ("if a:\r\n    b()\r\n   c()\r\n", Some(3)),
            ("match a:\n    case 1:\n        b()\n    case {'x': y} if y: c()\n", None),
            ("match a:\n    case 1:\n        b()\n   case 2:\n        c()\n", Some(4)),
            ("try:\n    a()\nexcept B as b:\n    pass\nelse:\n    d()\nfinally:\n    c()\n", None),
            ("try:\n    a()\nexcept B as b:\nfinally:\n    c()\n", Some(3)),
            ("try:\n    a()\nb()\n", Some(3)),
            ("def f():\n    try:\n        a()\nb()\n", Some(4)),
            ("b()\ntry:\n    a()\n", Some(3)),
            ("def f():\n    if a:\n        b()\nelse:\n    c()\n", Some(4)),
            ("def f():\n    class A:\n        def g(self): return 1\n    return A\n", None),
            ("class A:\n    def f(self):\n        a()\n    return 1\n", Some(4)),
            ("with a as b, \\\n        c as d:\n    pass\n", None),
            ("with (a as b,\n  c as d):\n    pass\n", None),
            ("x = lambda: (\n0)\ny: dict[str, int]\n", None),
            ("if a:\n    b()\n    if c:\n", Some(3)),
            ("", None),
            ("# nothing\n", None),
        ] {
            let tree = parse(text, &Language::Python.grammar(), Duration::from_secs(10)).expect("a tree");
            let broken = broken_block(&tree, text).map(|at| text[..at].matches('\n').count() + 1);
            assert_eq!(broken, line, "{text:?}");
        }
    }

    #[test]
    fn each_broken_block_is_found() {
        for (text, lines) in [
            ("if a:\n    b()\n", &[][..]),
            ("if a:\nb()\nif c:\nd()\n", &[1, 3]),
            ("if a:\n    b()\n  c()\n  d()\nif e:\n    f()\n      g()\n", &[3, 7]),
            ("def f():\n\ndef g():\n  else: h()\n", &[1, 4]),
            ("try:\n    a()\nreturn 1\nif b:\n", &[3, 4]),
        ] {
            let tree = parse(text, &Language::Python.grammar(), Duration::from_secs(10)).expect("a tree");
            let broken: Vec<usize> =
                broken_blocks(&tree, text).iter().map(|at| text[..*at].matches('\n').count() + 1).collect();
            assert_eq!(broken, lines, "{text:?}");
        }
    }

    #[test]
    fn lines_in_brackets_are_indented_for_the_grammar() {
        for (text, expected) in [
            ("x = (1 +\n2)\n", Some("x = (1 +\n 2)\n")),
            (
                "def f():\n    x = {'a':\n1, # b\n# c\n  'd':\n        2}\n",
                Some("def f():\n    x = {'a':\n     1, # b\n     # c\n       'd':\n        2}\n"),
            ),
            ("def f():\n    x = '''(\n'''\n    return (1 +\n            2)\n", None),
            ("x = (1 +\n2)\n  y = 2\n", None),
        ] {
            let grammar = Language::Python.grammar();
            let parsed = |text: &str| parse(text, &grammar, Duration::from_secs(10)).expect("a tree");
            let indented = with_indented_brackets(&parsed(text), text);
            assert_eq!(indented.as_deref(), expected, "{text:?}");
            if let Some(indented) = indented {
                assert!(!parsed(&indented).root_node().has_error(), "{indented:?}");
            }
        }
    }
}
