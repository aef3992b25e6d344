//! Code that asserts something for many tests at once: functions that run before or after each of them, steps of scenarios, and
//! matchers. It is read as if it were tests, so that it is compared in the same way.

use super::{Body, Test, arguments};
use crate::assertion::Assertion;
use crate::files::{Language, file_name, is_support};
use crate::syntax::At;

/// Functions of Python that run around tests without being asked for.
const AROUND: &[&str] = &[
    "setUp",
    "tearDown",
    "asyncSetUp",
    "asyncTearDown",
    "setUpClass",
    "tearDownClass",
    "setUpModule",
    "tearDownModule",
    "setup_method",
    "teardown_method",
    "setup_function",
    "teardown_function",
    "setup_class",
    "teardown_class",
    "setup_module",
    "teardown_module",
    "setup",
    "teardown",
];
/// Decorators of functions that run for scenarios or for states.
const STEPS: &[&str] = &["given", "when", "then", "step", "rule", "invariant"];
/// Functions of JavaScript that run another one around tests.
const OF_SCRIPTS: &[&str] = &[
    "before",
    "beforeEach",
    "beforeAll",
    "after",
    "afterEach",
    "afterAll",
    "suiteSetup",
    "suiteTeardown",
    "setup",
    "teardown",
    "Before",
    "BeforeAll",
    "After",
    "AfterAll",
];
/// Methods of testify's suites that run after tests, where mocks are asked what was called.
pub(super) const OF_SUITES: &[&str] = &["TearDownTest", "TearDownSubTest", "TearDownSuite", "AfterTest"];
/// Function of JavaScript that a step of a scenario is given to, with the words of the step.
const STEP_OF_SCRIPTS: &str = "Then";

/// Makes a hook of a function of Python, if it is one. `above` is what decorates it.
pub(super) fn of_python(path: &str, name: &str, at: At<'_>, above: &str, body: &Body) -> Option<Test> {
    let is_step = above.lines().any(|line| {
        let decorator = line.trim().trim_start_matches('@').split('(').next().unwrap_or_default();
        STEPS.contains(&decorator.rsplit('.').next().unwrap_or_default())
    });
    let is_hook = AROUND.contains(&name) || above.contains("autouse=True") || is_step;
    // What is registered here runs after each test.
    let mut body = body.clone();
    let registered = at.descendants().into_iter().filter(|below| {
        let is_call = below.kind() == "call"
            && below.field("function").is_some_and(|name| name.text().ends_with("addCleanup"));
        is_call && ["assert", "check", "verify"].iter().any(|verb| below.text().contains(verb))
    });
    let registered =
        registered.map(|call| Assertion::of_call("addCleanup", &arguments(call), call.line(), &call.words()));
    body.assertions.extend(registered);
    (is_hook && !name.starts_with("test")).then(|| hook(path, name, at.line(), body))
}

/// Makes a hook of a call of JavaScript: `afterEach(() => { … })`. `read` reads its function, as it must for no other call: of functions
/// within functions, each would be read as often as there are some around it.
pub(super) fn of_script(
    path: &str,
    names: &[String],
    parts: &[&str],
    at: At<'_>,
    read: impl FnOnce() -> Body,
) -> Option<Test> {
    let last = *parts.last()?;
    let is_step = parts.len() == 1 && last == STEP_OF_SCRIPTS;
    if parts.len() > 2 || !is_step && !OF_SCRIPTS.contains(&last) {
        return None;
    }
    let mut body = read();
    let mut failures =
        at.descendants().into_iter().filter(|below| below.kind() == "throw_statement").map(thrown);
    if is_support(path) {
        body.assertions.extend(failures);
    } else if body.assertions.is_empty() {
        // Beside assertions, what is thrown may be what a double does.
        body.assertions.extend(failures.next());
    }
    let words = arguments(at).into_iter().next().filter(|_| is_step).unwrap_or_default();
    let own = if is_step { format!("{last}({words})") } else { last.to_owned() };
    let name = [names.join(" > "), own].join(" > ");
    Some(hook(path, name.trim_start_matches(" > "), at.line(), body))
}

/// Returns a failure as an assertion: what is thrown, but not its text.
fn thrown(at: At<'_>) -> Assertion {
    let kind: Vec<&str> = at.words().into_iter().take_while(|word| *word != "(").collect();
    Assertion::of_call("fail", &[], at.line(), &kind)
}

/// Returns the matchers that a call of `expect.extend` makes, each with the condition under which it passes.
pub(super) fn matchers(path: &str, call: At<'_>) -> Vec<Test> {
    let is_extension = call.kind() == "call_expression"
        && call.field("function").is_some_and(|name| name.text() == "expect.extend");
    let given = call.field("arguments").filter(|_| is_extension).map(At::children).unwrap_or_default();
    let members = given.into_iter().flat_map(At::children);
    members
        .filter_map(|member| {
            let name = member.field("name").or_else(|| member.field("key"))?.text();
            let condition = passes(member)?;
            let words = condition.words();
            let assertion = Assertion::of_condition(&condition.normal(), condition.line(), &words);
            let words = member.words().into_iter().map(str::to_owned).collect();
            let body = Body { assertions: vec![assertion], words, ..Body::default() };
            Some(hook(path, &format!("expect.{name}"), member.line(), body))
        })
        .collect()
}

/// Returns the condition under which a matcher passes.
fn passes(matcher: At<'_>) -> Option<At<'_>> {
    let all = matcher.descendants();
    let named = all.iter().find(|at| {
        at.kind() == "variable_declarator" && at.field("name").is_some_and(|name| name.text() == "pass")
    });
    let pair = || {
        all.iter().find(|at| at.kind() == "pair" && at.field("key").is_some_and(|key| key.text() == "pass"))
    };
    named.or_else(pair).and_then(|at| at.field("value"))
}

pub(super) fn hook(path: &str, name: &str, line: usize, body: Body) -> Test {
    Test { path: path.to_owned(), name: name.to_owned(), line, body, focus: None, cases: None, hidden: None }
}

impl Test {
    /// Returns whether it is no test by itself, but what runs around or for tests.
    pub(crate) fn is_hook(&self) -> bool {
        let name = self.simple_name();
        match Language::of(&self.path) {
            Some(Language::Python) => !name.starts_with("test") && file_name(&self.path) != name,
            Some(Language::Go) => OF_SUITES.contains(&name),
            Some(Language::EcmaScript) => {
                let is_step = || name.strip_prefix(STEP_OF_SCRIPTS).is_some_and(|rest| rest.starts_with('('));
                OF_SCRIPTS.contains(&name) || name.starts_with("expect.") || is_step()
            }
            _ => false,
        }
    }
}
