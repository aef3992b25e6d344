//! Reads what the annotations and modifiers of a Java declaration say about tests.

use crate::assertion::Assertion;
use crate::extract::{Skip, cells, rows, worse};
use crate::syntax::At;

/// Longest file in which the methods that give cases are looked for, in bytes.
const MAX_SOURCE: usize = 300_000;

/// What the annotations of a declaration say.
#[derive(Default)]
pub(super) struct Annotations {
    pub(super) is_test: bool,
    pub(super) skip: Option<Skip>,
    pub(super) cases: Option<usize>,
    /// Tokens of the cases.
    pub(super) cells: Vec<String>,
    pub(super) expected: Option<Assertion>,
    /// Whether it runs before the tests.
    pub(super) is_set_up: bool,
}

impl Annotations {
    pub(super) fn of(declaration: At<'_>) -> Self {
        let mut all = Self::default();
        let modifiers = declaration.children().into_iter().find(|child| child.kind() == "modifiers");
        for at in modifiers.map(crate::syntax::At::children).unwrap_or_default() {
            let Some(name) = at.field("name").map(At::text) else { continue };
            let text = at.text();
            let skip = |is_conditional| Some(Skip { line: at.line(), is_conditional, text: text.to_owned() });
            match name.rsplit('.').next().unwrap_or(name) {
                "Test" | "ParameterizedTest" | "RepeatedTest" | "TestFactory" | "TestTemplate"
                | "Property" | "Theory" => {
                    all.is_test = true;
                    let normal = at.normal();
                    if normal.contains("enabled = false") {
                        all.skip = worse(all.skip.take(), skip(false));
                    }
                    let expected = ["expected = ", "expectedExceptions = "]
                        .iter()
                        .find_map(|key| normal.split_once(key));
                    if let Some((_, kind)) = expected {
                        let kind = kind.split(" ,").next().unwrap_or(kind).trim_matches(['{', '}', ')', ' ']);
                        let says = normal.contains("MessageRegExp");
                        all.expected = Some(Assertion::of_failure(kind, says, at.line(), &at.words()));
                    }
                    if let Some((_, name)) = normal.split_once("dataProvider = ") {
                        let name = name.split('"').nth(1).unwrap_or_default();
                        all.add(provided(declaration, name));
                    }
                }
                "BeforeEach" | "BeforeAll" | "Before" | "BeforeClass" | "BeforeMethod" => {
                    all.is_set_up = true;
                }
                "MethodSource" => all.add(cases_of(declaration, at)),
                "Disabled" | "Ignore" => all.skip = worse(all.skip.take(), skip(false)),
                other
                    if other.starts_with("DisabledOn")
                        || other.starts_with("DisabledIf")
                        || other.starts_with("Enabled") =>
                {
                    all.skip = worse(all.skip.take(), skip(true));
                }
                "ValueSource" | "CsvSource" | "EnumSource" => {
                    let list = at
                        .descendants()
                        .into_iter()
                        .find(|below| below.kind() == "element_value_array_initializer");
                    // A block of text has a row on each line.
                    let block = at.text().split("\"\"\"").nth(1).filter(|_| list.is_none());
                    let lines = |block: &str| block.lines().filter(|line| !line.trim().is_empty()).count();
                    let rows = block.map(lines).or_else(|| Some(list?.children().len())).unwrap_or(1);
                    all.cases = Some(all.cases.unwrap_or(0) + rows);
                    all.cells.extend(cells::of_annotation(at));
                }
                _ => {}
            }
        }
        all
    }

    /// Takes the cases that a method gives: how many there are, and the method.
    fn add(&mut self, provided: Option<(Option<usize>, At<'_>)>) {
        let Some((rows, method)) = provided else { return };
        self.cases = rows.or(self.cases);
        self.cells.extend(method.words().into_iter().map(str::to_owned));
    }
}

/// Returns the number of cases that the method gives which `@MethodSource` names, and the method.
fn cases_of<'a>(test: At<'a>, annotation: At<'a>) -> Option<(Option<usize>, At<'a>)> {
    if test.source.len() > MAX_SOURCE {
        return None;
    }
    let named = annotation.text().split('"').nth(1);
    let name = named.or_else(|| test.field("name").map(At::text))?;
    let members = test.with(test.node.parent()?).children();
    let method =
        members.into_iter().find(|member| member.field("name").is_some_and(|own| own.text() == name))?;
    let returned = method.descendants().into_iter().find(|at| at.kind() == "return_statement")?;
    Some((returned.children().into_iter().next().and_then(rows::len), method))
}

/// Returns the number of cases that a provider of `TestNG` gives, and the provider.
fn provided<'a>(test: At<'a>, name: &str) -> Option<(Option<usize>, At<'a>)> {
    if test.source.len() > MAX_SOURCE {
        return None;
    }
    let members = test.with(test.node.parent()?).children();
    let method = members.into_iter().find(|member| {
        let is_named =
            || member.text().contains(&format!("\"{name}\"")) && member.text().contains("@DataProvider");
        member.field("name").is_some_and(|own| own.text() == name) || is_named()
    })?;
    let rows = method.descendants().into_iter().find(|at| at.kind() == "array_initializer")?;
    Some((Some(rows.children().len()), method))
}

/// Returns what a class inherits from, parted by commas.
pub(super) fn bases(class: At<'_>) -> String {
    let lists = [class.field("superclass"), class.field("interfaces")].into_iter().flatten();
    let names =
        lists.map(|list| list.text().trim_start_matches("extends ").trim_start_matches("implements "));
    names.collect::<Vec<_>>().join(",")
}

/// Returns a modifier of a declaration, if it has it.
pub(super) fn modifier(declaration: At<'_>, name: &str) -> Option<String> {
    let modifiers = declaration.children().into_iter().find(|child| child.kind() == "modifiers")?;
    modifiers.words().contains(&name).then(|| name.to_owned())
}

/// Returns why JUnit does not run a method as a test.
pub(super) fn not_run(method: At<'_>) -> Option<&'static str> {
    if modifier(method, "static").is_some() {
        return Some("it is static");
    }
    let has_result = method.field("type").is_some_and(|kind| {
        !matches!(kind.text(), "void") && !kind.text().contains("Stream") && !kind.text().contains("Dynamic")
    });
    let is_factory =
        || method.children().iter().any(|part| part.kind() == "modifiers" && part.text().contains("Factory"));
    (has_result && !is_factory()).then_some("it has a result")
}

/// Returns why JUnit does not look into a class that another one holds.
pub(super) fn not_nested(class: At<'_>) -> Option<&'static str> {
    let is_inner = class
        .node
        .parent()
        .and_then(|body| body.parent())
        .is_some_and(|outer| outer.kind() == "class_declaration");
    let is_of_jupiter = class.source.contains("org.junit.jupiter");
    let is_run = ["@Nested", "static"].iter().any(|word| {
        class.children().iter().any(|part| part.kind() == "modifiers" && part.text().contains(word))
    });
    (is_inner && is_of_jupiter && !is_run)
        .then_some("its class is within another one, and not marked as nested")
}
