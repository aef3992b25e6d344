//! Ends of the process that something around them replaces or catches: a fixture or a hook, a decorator, a context manager of the file's
//! own, a thread.

use std::sync::LazyLock;

use regex::Regex;

use crate::syntax::At;

/// Most nodes of a file that are looked at.
const MAX_NODES: usize = 50_000;

/// Returns whether a node puts something else in the place of the function that a call ends the process by.
pub(super) fn replaces(at: At<'_>, call: At<'_>) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    static REPLACED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^[\w.]*(?:patch|spyOn|setattr|stub|replace|mock)(?:\.\w+)*\([^()\n]*?\b(_?[eE]xit)\b|^(?:sys|os|process)\.(_?exit)\s*=[^=]")
            .unwrap()
    });
    if !matches!(at.kind(), "call" | "call_expression" | "assignment" | "assignment_expression") {
        return false;
    }
    let ending = call.text().split('(').next().and_then(|name| name.rsplit('.').next()).map(str::trim);
    REPLACED
        .captures(at.text())
        .is_some_and(|found| found.iter().skip(1).flatten().next().map(|name| name.as_str()) == ending)
}

/// Returns whether what runs before a function has replaced the end of the process that a call in it asks for: a decorator, a fixture that
/// it is given, or a hook beside it.
pub(super) fn is_replaced_around(function: At<'_>, call: At<'_>) -> bool {
    let Some(root) = std::iter::successors(call.node.parent(), tree_sitter::Node::parent).last() else {
        return false;
    };
    let replaced = |at: At<'_>| at.descendants().into_iter().any(|below| replaces(below, call));
    let start = function.node.start_byte();
    let decorated = function.node.parent().filter(|above| above.kind() == "decorated_definition");
    let above = decorated.map(|above| call.with(above));
    let decorators = above.map_or("", |above| &above.text()[..start - above.node.start_byte()]);
    if above.is_some_and(|above| {
        above.children().into_iter().filter(|part| part.kind() == "decorator").any(replaced)
    }) {
        return true;
    }
    let asked = function.field("parameters").map_or("", At::text);
    let is_asked = |name: &str| {
        let mut words = [asked, decorators]
            .into_iter()
            .flat_map(|text| text.split(|sign: char| !sign.is_alphanumeric() && sign != '_'));
        words.any(|word| word == name)
    };
    call.with(root).descendants().into_iter().take(MAX_NODES).any(|at| match at.kind() {
        "decorated_definition" => {
            let Some(fixture) = at.field("definition") else { return false };
            let mark = &at.text()[..fixture.node.start_byte() - at.node.start_byte()];
            let is_own = fixture.node.id() == function.node.id();
            mark.contains("fixture")
                && !is_own
                && (mark.contains("autouse") || is_asked(fixture.field("name").map_or("", At::text)))
                && replaced(fixture)
        }
        "call_expression" => {
            let is_hook = at.field("function").is_some_and(|hook| {
                matches!(hook.text(), "beforeEach" | "beforeAll" | "before" | "test.beforeEach")
            });
            let (own, ending) = (at.node.byte_range(), call.node.byte_range());
            let block =
                at.node.parent().and_then(|statement| statement.parent()).map(|block| block.byte_range());
            is_hook
                && !(own.start <= ending.start && ending.end <= own.end)
                && block.is_some_and(|block| block.contains(&ending.start))
                && replaced(at)
        }
        _ => false,
    })
}

/// Returns whether a function of Python's is run by threads alone, of which `sys.exit` ends one.
pub(super) fn is_of_thread(function: At<'_>, call: At<'_>, text: &str) -> bool {
    let name = function.field("name").map_or("", At::text);
    let is_target = |start: &str| {
        let rest = text.split(start).skip(1);
        rest.into_iter().any(|rest| {
            let given = rest.split(')').next().unwrap_or_default();
            given.split("target").nth(1).is_some_and(|target| {
                target.trim_start_matches([' ', '=']).split([',', ' ', '\n']).next() == Some(name)
            })
        })
    };
    !name.is_empty()
        && call.text().starts_with("sys.exit")
        && text.matches(&format!("{name}(")).count() == 1
        && is_target("Thread(")
}

/// Returns whether a `with` statement is one of a context manager of the file's own that catches the end of the process.
pub(super) fn is_caught_by_own(head: &str, text: &str) -> bool {
    let mut managers = text.split("contextmanager\n").skip(1).filter_map(|rest| {
        let (name, body) = rest.trim_start().strip_prefix("def ")?.split_once('(')?;
        let body = body.split("\n\n\n").next().unwrap_or(body);
        (body.contains("except SystemExit") || body.contains("raises(SystemExit")).then_some(name)
    });
    managers.any(|name| {
        head.match_indices(&format!("{name}(")).any(|(at, _)| {
            !head[..at].ends_with(|sign: char| sign.is_alphanumeric() || sign == '_' || sign == '.')
        })
    })
}
