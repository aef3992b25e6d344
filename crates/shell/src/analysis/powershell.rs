//! Analysis of PowerShell scripts. The grammar shows which parts are commands. Whatever else a script may
//! contain (calls of .NET, functions, scripts that are read in) is not followed: such a script is unclear,
//! and so dangerous.
//!
//! Cmdlets that look at files become `cat`, and those that only process what they are given become `echo`, so
//! that one set of rules about files serves both shells.

use std::time::Duration;

use tree_sitter::Node;

use super::{Analysis, MAX_LENGTH, Nesting, Redirect, Simple, Word};
use crate::table::known_name;
use crate::wrappers::{is_shell, is_wrapper};
use grammar::parse;

/// Time limit for the parser.
const MAX_TIME: Duration = Duration::from_millis(500);
/// Maximum nesting depth of a script; each operator is a level of the grammar.
pub(super) const MAX_DEPTH: usize = 400;

/// Cmdlets that read the files they are given, with their aliases.
const READERS: &str = "get-content gc type get-childitem gci dir get-item gi test-path resolve-path rvpa get-filehash \
                       select-string sls import-csv ipcsv compare-object diff";

/// Cmdlets that process what they are given and touch nothing.
const PURE: &str = "write-output write echo write-host out-null out-string out-host out-default split-path join-path \
                    get-location gl pwd get-date get-member gm select-object select sort-object group-object group \
                    measure-object measure where-object where ? format-table ft format-list fl format-wide fw \
                    convertto-json convertfrom-json convertto-csv convertfrom-csv get-unique gu get-command gcm";

/// Cmdlets that run a block for each object. A word given to them is the name of a method: `% Delete`.
const LOOPS: &str = "foreach-object foreach %";

/// Node types of the grammar that do nothing by themselves.
const HARMLESS: &str = "program statement_list pipeline pipeline_chain empty_statement comment if_statement elseif_clauses \
                        elseif_clause else_clause statement_block foreach_statement while_statement logical_expression \
                        bitwise_expression comparison_expression additive_expression multiplicative_expression \
                        format_expression range_expression array_literal_expression unary_expression flow_control_statement \
                        expression_with_unary_operator parenthesized_expression sub_expression array_expression \
                        hash_literal_expression hash_literal_body hash_entry key_expression string_literal \
                        verbatim_string_characters verbatim_here_string_characters expandable_string_literal \
                        expandable_here_string_literal integer_literal decimal_integer_literal \
                        hexadecimal_integer_literal real_literal variable braced_variable member_name simple_name \
                        member_access element_access script_block_expression script_block script_block_body \
                        comparison_operator pipeline_chain_tail format_operator assignment_expression \
                        assignement_operator left_assignment_expression command_argument_sep pre_increment_expression \
                        post_increment_expression argument_list argument_expression_list argument_expression \
                        logical_argument_expression bitwise_argument_expression comparison_argument_expression \
                        additive_argument_expression multiplicative_argument_expression format_argument_expression \
                        range_argument_expression";

/// Node types that are named here in other words than in the grammar.
const NAMES: [(&str, &str); 4] = [
    ("invokation_foreach_expression", "a call of a method"),
    ("type_literal", "a .NET type"),
    ("function_statement", "a function"),
    ("assignement_operator", "an assignment"),
];

/// Returns a node type in words, with its article.
fn described(kind: &str) -> String {
    let known = NAMES.iter().find(|(name, _)| *name == kind).map(|(_, words)| (*words).to_owned());
    known.unwrap_or_else(|| {
        let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {}", kind.replace('_', " "))
    })
}

/// Analyzes a script. Never fails: [`Analysis::unclear`] says what was not understood.
pub fn analyse_powershell(script: &str) -> Analysis {
    let unclear = |reason: &str| Analysis { unclear: Some(reason.to_owned()), ..Analysis::default() };
    if script.len() > MAX_LENGTH {
        return unclear("it is too long");
    }
    if let Some(odd) = odd_character(script) {
        return unclear(&format!("it contains the character U+{:04X}", u32::from(odd)));
    }
    if DIRECTIVES.iter().any(|directive| script.to_ascii_lowercase().contains(directive)) {
        return unclear("it contains a directive to PowerShell itself");
    }
    let grammar = tree_sitter_powershell::LANGUAGE.into();
    let Some(tree) = parse(script, &grammar, MAX_TIME) else { return unclear("it takes too long to parse") };
    if tree.root_node().has_error() {
        return unclear("its grammar is not understood");
    }
    let mut walk = Walk { script, root: Some(tree.root_node()), analysis: Analysis::default() };
    walk.visit(tree.root_node(), 0);
    walk.analysis
}

/// Directives that make PowerShell read what follows differently, or load modules.
const DIRECTIVES: [&str; 2] = ["--%", "#requires"];

/// Returns the first character that PowerShell and the grammar read differently. PowerShell takes typographic
/// quotes and dashes, other spaces, and a lone CR for what they look like; the grammar does not, and would
/// see text where PowerShell sees its end.
fn odd_character(script: &str) -> Option<char> {
    let lone_cr = script.replace("\r\n", "\n").contains('\r').then_some('\r');
    let odd =
        |c: &char| !(c.is_ascii_graphic() || matches!(c, ' ' | '\t' | '\n' | '\r') || c.is_alphanumeric());
    lone_cr.or_else(|| script.chars().find(odd))
}

pub(super) struct Walk<'a> {
    script: &'a str,
    pub(super) root: Option<Node<'a>>,
    analysis: Analysis,
}

impl<'a> Walk<'a> {
    pub(super) fn text(&self, node: Node<'_>) -> &'a str {
        &self.script[node.byte_range()]
    }

    fn give_up(&mut self, reason: String) {
        self.analysis.unclear.get_or_insert(reason);
    }

    fn visit(&mut self, node: Node<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            self.give_up("it is nested too deeply".to_owned());
            return;
        }
        match node.kind() {
            "command" => return self.command(node, depth),
            "left_assignment_expression" if !is_plain_variable(self.text(node)) => {
                self.give_up(format!("it sets {}", self.text(node)));
            }
            kind if is_in(HARMLESS, kind) => {}
            "invokation_expression" if self.is_text_method(node, &mut Vec::new(), depth) => {}
            "invokation_expression" => self.give_up(self.unknown_method(node)),
            // What a statement that is no command prints goes to a file.
            "redirections" => return self.printed(node, depth),
            kind => self.give_up(format!("{} is not analyzed", described(kind))),
        }
        self.visit_children(node, depth);
    }

    fn visit_children(&mut self, node: Node<'_>, depth: usize) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.visit(child, depth + 1);
        }
    }

    /// Takes what is printed into a file as a command that prints.
    fn printed(&mut self, redirections: Node<'_>, depth: usize) {
        let mut simple = Simple {
            words: vec![Word::known("echo")],
            assignments: Vec::new(),
            redirects: Vec::new(),
            place: Nesting::Plain,
            piped_from: None,
        };
        self.elements(redirections, &mut simple, depth);
        self.analysis.commands.push(simple);
    }

    fn command(&mut self, node: Node<'_>, depth: usize) {
        let mut simple = Simple {
            words: Vec::new(),
            assignments: Vec::new(),
            redirects: Vec::new(),
            place: Nesting::Plain,
            piped_from: None,
        };
        let mut cursor = node.walk();
        for part in node.named_children(&mut cursor) {
            match part.kind() {
                "command_invokation_operator" if self.text(part).trim() != "&" => {
                    self.give_up("it loads a script".to_owned());
                }
                "command_invokation_operator" => {}
                // `& { … }` runs what is in it, and passes on what stands behind it.
                "command_name_expr" if self.text(part).trim_start().starts_with('{') => {
                    simple.words.push(Word::known("echo"));
                    self.visit_children(part, depth);
                }
                "command_name" | "command_name_expr" => {
                    let name = self.word(part);
                    simple.words.push(name);
                }
                "command_elements" => self.elements(part, &mut simple, depth),
                kind => self.give_up(format!("{} is not analyzed", described(kind))),
            }
        }
        let simple = canonical(simple);
        // The command that they run is in another language, or among their words, and is not followed from
        // here.
        if let Some(name) = simple.name().filter(|name| runs_others(name)).map(str::to_owned) {
            self.give_up(format!("{name} runs another command"));
        }
        self.analysis.commands.push(simple);
    }

    fn elements(&mut self, node: Node<'_>, simple: &mut Simple, depth: usize) {
        let mut cursor = node.walk();
        for element in node.named_children(&mut cursor) {
            match element.kind() {
                "command_argument_sep" => {}
                "command_parameter" => {
                    let text = self.text(element);
                    self.plain_token(text);
                    simple.words.push(self.word(element));
                    // `-Path:a.txt` passes a value like `-Path a.txt`.
                    if let Some((_, value)) = text.split_once(':').filter(|(_, value)| !value.is_empty()) {
                        simple.words.push(Word::unknown(value));
                    }
                }
                "generic_token" => {
                    self.plain_token(self.text(element));
                    simple.words.push(self.word(element));
                }
                "redirection" => self.redirect(element, simple),
                // A list of values, each of which may contain a script.
                "array_literal_expression" => {
                    let mut values = element.walk();
                    for value in element.named_children(&mut values) {
                        if value.kind() != "unary_expression" || !is_block(value) {
                            let word = self.word(value);
                            simple.words.push(word);
                        }
                        self.visit(value, depth + 1);
                    }
                }
                _ => {
                    simple.words.push(Word::unknown(self.text(element)));
                    self.visit(element, depth + 1);
                }
            }
        }
    }

    /// Gives up on a word that may contain a script, which the grammar does not show.
    fn plain_token(&mut self, text: &str) {
        if text.contains(['(', '{', '`', '"', '\'']) {
            self.give_up(format!("the word {text} is not analyzed"));
        }
    }

    fn redirect(&mut self, node: Node<'_>, simple: &mut Simple) {
        let mut cursor = node.walk();
        let target = node.named_children(&mut cursor).find(|part| part.kind() == "redirected_file_name");
        let Some(target) = target else { return };
        let mut cursor = target.walk();
        let name = target.named_children(&mut cursor).find(|part| part.kind() != "command_argument_sep");
        let target = name.map_or_else(|| Word::unknown(self.text(target)), |name| self.word(name));
        // `$null` is PowerShell's way to discard output.
        if target.raw != "$null" {
            simple.redirects.push(Redirect { target: file(target), writes: true });
        }
    }

    /// Returns a word as the command gets it, if it is written literally.
    fn word(&self, node: Node<'_>) -> Word {
        let raw = self.text(node).trim();
        let inner = |quote: char| raw.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        let plain = |text: &str| !text.contains(['$', '`', '(', '@', '{', '\'', '"', ',', '\n']);
        if let Some(text) = inner('\'').filter(|text| !text.contains('\'')) {
            return Word::quoted(raw, text);
        }
        if let Some(text) = inner('"').filter(|text| plain(text)) {
            return Word::quoted(raw, text);
        }
        if !plain(raw) {
            return Word::unknown(raw);
        }
        let mut word = Word::known(raw);
        word.glob = raw.contains(['*', '?', '[']);
        word
    }
}

fn runs_others(name: &str) -> bool {
    let name = known_name(name).unwrap_or(name);
    is_wrapper(name) || is_shell(name)
}

pub(super) fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|item| item == name)
}

/// Returns whether the text is a variable `$name`, other than PowerShell's own settings.
fn is_plain_variable(text: &str) -> bool {
    let Some(name) = text.trim().strip_prefix('$') else { return false };
    let own = ["ps", "executioncontext", "outputencoding", "ofs"];
    let lower = name.to_ascii_lowercase();
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !own.iter().any(|own| lower.starts_with(own))
}

/// Returns whether a value is nothing but a script block, whose commands are visited by themselves.
fn is_block(value: Node<'_>) -> bool {
    value.named_child_count() == 1
        && value.named_child(0).is_some_and(|child| child.kind() == "script_block_expression")
}

/// Returns a word that names a file, with `/` for `\`, which separates folders as well. What is on a drive is written as an address,
/// which is outside of the workspace.
fn file(word: Word) -> Word {
    let Some(text) = word.text() else { return word };
    let text = text.replace('\\', "/").replace(':', "://");
    let glob = word.glob;
    let mut word = Word::quoted(&word.raw, &text);
    word.glob = glob;
    word
}

/// Returns the command in the terms of the rules: names in lower case without `.exe`, and cmdlets by what
/// they do.
fn canonical(mut simple: Simple) -> Simple {
    let Some(name) = simple.name().map(str::to_ascii_lowercase) else { return simple };
    let name = name.strip_suffix(".exe").unwrap_or(&name).to_owned();
    let written = simple.words[0].raw.clone();
    let becomes = |simple: &mut Simple, program: &str| {
        simple.words.retain(|word| !word.is_option());
        simple.words.insert(0, Word::quoted(&written, program));
    };
    if is_in(READERS, &name) {
        simple.words.remove(0);
        simple.words = simple.words.into_iter().map(file).collect();
        becomes(&mut simple, "cat");
    } else if is_in(PURE, &name) {
        simple.words.remove(0);
        becomes(&mut simple, "echo");
    } else if is_in(LOOPS, &name) && simple.words.len() == 1 {
        simple.words = vec![Word::known("true")];
    } else {
        simple.words[0] = Word::quoted(&written, &name);
    }
    simple
}
