//! Selects the functions of a Python file that pytest and unittest take for tests, and those that they run before tests.

use crate::extract::Skip;
use crate::extract::classes::OF_BASE;
use crate::syntax::At;

/// What the class of a test says about it.
#[derive(Clone, Copy, Default)]
pub(super) struct Class {
    hidden: Option<&'static str>,
    /// Whether it is a test case of unittest, for which a coroutine is a test that passes.
    awaits_nothing: bool,
}

impl Class {
    pub(super) fn of(class: At<'_>) -> Self {
        let bases = class.field("superclasses").map_or("", At::text);
        let has_bases = !matches!(bases.trim_matches(['(', ')', ' ']), "" | "object");
        let is_named = class.field("name").is_some_and(|name| name.text().starts_with("Test"));
        let methods = class.field("body").map(At::children).unwrap_or_default();
        let makes = |method: &At<'_>| method.field("name").is_some_and(|name| name.text() == "__init__");
        let hidden = if has_bases {
            None
        } else if !is_named {
            Some(OF_BASE[0])
        } else {
            methods.iter().any(makes).then_some("its class has a constructor, so that pytest leaves it out")
        };
        Self { hidden, awaits_nothing: bases.contains("TestCase") && !bases.contains("Async") }
    }

    /// Returns whether runners look into it for tests.
    pub(super) fn is_read(self) -> bool {
        self.hidden.is_none()
    }
}

/// Returns why pytest or unittest takes a function for no test, or runs nothing of it.
pub(super) fn hidden(function: At<'_>, class: Class) -> Option<&'static str> {
    let is_decorated = function.node.parent().is_some_and(|parent| parent.kind() == "decorated_definition");
    let is_async = function.text().starts_with("async ");
    if class.hidden.is_some() {
        return class.hidden;
    } else if is_async && class.awaits_nothing {
        return Some("it is a coroutine, which its class does not await");
    }
    let body = function.field("body")?;
    let own = own_nodes(body);
    let has = |kinds: &[&str]| own.iter().any(|at| kinds.contains(&at.kind()));
    let waits = body.text().contains("await ") || body.text().contains("async ");
    if is_async && !is_decorated && !waits {
        Some("it is a coroutine that awaits nothing, which a runner may never start")
    } else if !is_decorated && has(&["yield"]) {
        Some("it is a generator, whose body a runner never runs")
    } else {
        None
    }
}

/// Returns the nodes of a body that are in no function within it.
fn own_nodes(body: At<'_>) -> Vec<At<'_>> {
    let (mut found, mut waiting) = (Vec::new(), vec![body]);
    while let Some(at) = waiting.pop() {
        found.push(at);
        waiting.extend(at.children().into_iter().filter(|child| !crate::extract::is_function(child.kind())));
    }
    found
}

/// Returns whether a function of this name runs before tests without being asked for.
pub(super) fn is_set_up(name: &str) -> bool {
    matches!(
        name,
        "setUp"
            | "setUpClass"
            | "setUpModule"
            | "asyncSetUp"
            | "setup_method"
            | "setup_function"
            | "setup_class"
            | "setup_module"
    )
}

/// Returns the skip of a class whose kind is chosen by a condition.
pub(super) fn chosen(class: At<'_>) -> Option<Skip> {
    let bases = class.field("superclasses")?;
    let is_chosen = bases.descendants().into_iter().any(|at| at.kind() == "conditional_expression");
    is_chosen.then(|| Skip { line: class.line(), is_conditional: true, text: bases.text().to_owned() })
}

/// Returns the skip of a class that says that it holds no tests.
pub(super) fn unset(class: At<'_>) -> Option<Skip> {
    let body = class.field("body")?;
    let statement = body.children().into_iter().find(|child| child.normal() == "__test__ = False")?;
    Some(Skip { line: statement.line(), is_conditional: false, text: statement.text().to_owned() })
}
